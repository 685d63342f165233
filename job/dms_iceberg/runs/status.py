"""The status of every table: from Iceberg's metadata, state files and a listing; it counts only position deletes and the quarantine.

Where these are small, no Spark job is run: the first one of a session takes seconds.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

import attrs
from pyspark.sql import SparkSession

from dms_iceberg.changes.partial_updates import tables_with_kept_positions
from dms_iceberg.config.model import Config, Table
from dms_iceberg.context import RunContext
from dms_iceberg.errors import DmsIcebergError
from dms_iceberg.iceberg.rows.live_files import FileCache, live_files
from dms_iceberg.iceberg.rows.not_possible import NotPossibleError, reading_files
from dms_iceberg.loads.changes_alone import told_load
from dms_iceberg.loads.epochs import branch_state, discard_sql
from dms_iceberg.loads.no_files import find_no_files
from dms_iceberg.loads.rebuild import is_rebuilding
from dms_iceberg.loads.zone_names import refuse_names_before_reload
from dms_iceberg.maintenance.execute import needed
from dms_iceberg.merge.absent_keys import absent_warnings
from dms_iceberg.progress.late_loads import refuse_late_loads
from dms_iceberg.progress.pending import next_truncate, pending_files
from dms_iceberg.progress.progress import Progress
from dms_iceberg.quarantine.open_count import count_open_and_keys
from dms_iceberg.quarantine.rejected_rows import open_rows
from dms_iceberg.quarantine.tables import refuse_moved
from dms_iceberg.runs.state_file import read_state_file
from dms_iceberg.silver.check_configuration import check, is_checked
from dms_iceberg.silver.load_branches import building
from dms_iceberg.silver.memory.cleaning import refuse_other_key_values
from dms_iceberg.silver.memory.key import refuse_other_key
from dms_iceberg.silver.memory.late_declarations import refuse_late_renames, standing_warnings
from dms_iceberg.silver.memory.recorded_declarations import refuse_declared
from dms_iceberg.silver.schema.rename import renamed, renamed_properties, renames
from dms_iceberg.silver.schema.switch_mode import silver_types, switch_statements
from dms_iceberg.silver.table import TargetTable
from dms_iceberg.silver.table_context import TableContext
from dms_iceberg.spark.failures import FAILURES, describe
from dms_iceberg.spark.threads import at_once
from dms_iceberg.storage.open_store import open_store
from dms_iceberg.storage.store import ObjectStore

_MOST_DELETE_FILES = 100
"""So many are read one after the other; of more, Spark reads several at a time. A first Spark job takes some four seconds."""


@attrs.frozen(kw_only=True)
class TableStatus:
    """The status of one table.

    Attributes:
        rows: live rows, None for a table without a snapshot.
        building: what is being built beside the content: loads (epoch, or epoch.reload), and ``rebuild``.
        lag_seconds: lag of the last batch, from source commit to snapshot.
        quarantined: open rows of the quarantine, which no replay has resolved.
            quarantined_keys: number of their keys; rows with an unknown key count as one. Silver may lack the newest change of these keys.
        maintenance: what `maintain` would do for the table, except for orphan files: the reason by step.
        last_error: the error of the last run, or what is wrong with its state file; None if it succeeded.
        problem: why the next run will fail, as far as the configuration shows: it was changed and contradicts the table.
        warnings: settings that older rows of the table do not follow, and objects in bronze that are not read.
        new_files: files and truncates that a run would merge; None if bronze has no file of the table, or none could be looked for. Not in
            the document.
    """

    table: str
    target: str
    exists: bool = False
    epoch: int = 0
    building: list[str] = attrs.field(factory=list)
    frontier: str = ""
    rows: int | None = None
    lag_seconds: float | None = None
    snapshots: int = 0
    delete_files: int = 0
    quarantined: int = 0
    quarantined_keys: int = 0
    maintenance: dict[str, str] = attrs.field(factory=dict)
    last_run: str | None = None
    last_error: str | None = None
    problem: str | None = None
    warnings: list[str] = attrs.field(factory=list)
    new_files: int | None = 0

    def to_document(self) -> dict[str, Any]:
        """Return the table's part of ``--json``."""
        return attrs.asdict(self, filter=attrs.filters.exclude("new_files"))


def table_statuses(
    spark: SparkSession, config: Config, only: Iterable[str] = (), begins: Callable[[str], None] = lambda _: None
) -> list[TableStatus]:
    """Return the status of every (chosen) table; ``begins`` is called with the name of each before it is looked at."""
    context, state = RunContext(spark, config, open_store(config.bronze.uri), "status"), open_store(config.state_uri)

    def look(table: Table) -> TableStatus:
        begins(table.source)
        return _isolated(TableContext.of(context, table), state)

    return at_once(spark, config.parallelism, tables_with_kept_positions(config, only), lambda table: table.source, look)


def _isolated(here: TableContext, state: ObjectStore) -> TableStatus:
    table = here.table
    try:
        return _status(here, state)
    except FAILURES as error:
        return TableStatus(table=table.source, target=table.target, last_error=describe(error))
    except DmsIcebergError as error:
        return TableStatus(table=table.source, target=table.target, last_error=str(error))


def _status(here: TableContext, state: ObjectStore) -> TableStatus:
    context, table, target = here.context, here.table, here.target
    last, damage = read_state_file(state, context.config, table)
    status = TableStatus(
        table=table.source,
        target=table.target,
        lag_seconds=last.get("lag_seconds"),
        last_run=last.get("ended_at"),
        last_error=damage or last.get("error"),
    )
    if not target.exists():
        warnings, new_files = _bronze(here)
        return attrs.evolve(status, warnings=warnings, new_files=new_files or None)
    target.refresh()
    if conflict := target.conflict():
        return attrs.evolve(status, exists=True, problem=conflict.text, new_files=0)
    head, progress = target.head(), target.progress()
    summary = head.summary if head else {}
    rows, keys = _quarantined(here, progress)
    warnings, new_files = _bronze(here)
    return attrs.evolve(
        status,
        exists=True,
        epoch=progress.epoch,
        building=building(target) + (["rebuild"] if is_rebuilding(target) else []),
        frontier=progress.frontier,
        rows=_live_rows(target, summary) if head else None,
        snapshots=target.snapshot_count(),
        delete_files=int(summary.get("total-delete-files", 0)),
        problem=_problem(here),
        warnings=[*standing_warnings(target, table), *absent_warnings(here, rows), *warnings],
        new_files=new_files,
        quarantined=rows,
        quarantined_keys=keys,
        maintenance=needed(context.spark, table.maintenance, target),
    )


def _problem(here: TableContext) -> str | None:
    """Return why a run would fail even with nothing to merge. Salts are not checked: they are available where the job runs."""
    table, target = here.table, here.target
    try:
        refuse_moved(here.context.config, table, target)
        if target.head() is None or is_checked(here):
            return None
        found = branch_state(here)
        if found.branch is not None:
            return None
        refuse_declared(here)
        done = renames(table, target.column_types())
        properties = target.properties() | renamed_properties(done, target.properties())
        refuse_other_key(table, properties)
        refuse_other_key_values(table, properties)
        refuse_late_renames(table, properties, target.column_types())
        check(here, renamed(silver_types(target, table) or {}, done), found.progress, with_salts=False)
        switch_statements(target, table)
    except DmsIcebergError as error:
        return str(error)
    except FAILURES as error:
        return f"{table.source}: {describe(error)}"
    return None


def _bronze(here: TableContext) -> tuple[list[str], int | None]:
    """Return the warnings of the next run about files that it does not read or find, and what it would merge: costs a listing."""
    context, table = here.context, here.table
    try:
        found = branch_state(here)
        listing, discard = context.listing(table, found.progress), discard_sql(here.target, found)
        pending = pending_files(listing, found.progress, table.source, datetime.now(UTC), discard)
        refuse_late_loads(table, found.progress, pending.late, None)
        nothing = find_no_files(context, table, found, pending)
        if found.branch is None:
            refuse_names_before_reload(table, found.progress, pending)
    except FAILURES as error:
        return [f"{table.source}: bronze could not be looked at: {describe(error)}"], None
    except DmsIcebergError as error:
        return [str(error)], None
    new = len(pending.files) + (next_truncate(pending.truncates, found.progress) is not None)
    missing = [nothing.text] if nothing is not None and nothing.text else []
    return [*pending.warnings(table.source), *told_load(context, table, found, pending).warnings, *missing], None if missing else new


def _live_rows(target: TargetTable, summary: Mapping[str, str]) -> int:
    """Count rows from metadata and position deletes, without reading data.

    The summary's ``total-position-deletes`` cannot be used. If two tasks both add deletes to a data file, both write its earlier deletes
    again, into separate files, and the summary counts these twice.
    """
    records, deletes = int(summary.get("total-records", 0)), int(summary.get("total-position-deletes", 0))
    if not deletes:
        return records
    if int(summary.get("total-delete-files", _MOST_DELETE_FILES + 1)) <= _MOST_DELETE_FILES:
        try:
            with reading_files():
                files = live_files(target.spark._jvm, target.iceberg, (), FileCache())
                return sum(file.rows - len(file.deleted) for file in files.data.values())
        except NotPossibleError:
            pass
    name = target.sql_name
    there = f"SELECT file_path FROM {name}.data_files"
    sql = f"SELECT count(DISTINCT file_path, pos) AS deleted FROM {name}.position_deletes WHERE file_path IN ({there})"
    return records - int(target.spark.sql(sql).collect()[0].deleted)


def _quarantined(here: TableContext, progress: Progress) -> tuple[int, int]:
    """Return the number of open rows, and of their keys."""
    try:
        return count_open_and_keys(here, progress)
    except NotPossibleError:
        found = open_rows(here.context.spark, here.context.config, here.table, progress)
    if found is None:
        return 0, 0
    row = found.selectExpr("count(1) AS n", "count(DISTINCT key) AS keys").collect()[0]
    return row.n, row.keys
