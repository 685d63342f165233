"""What a run would do, found without changing anything: files, rows where footers tell, and schema changes as SQL."""

from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any

import attrs
from pyspark.sql import SparkSession

from dms_iceberg.bronze.corrupt_files import blame_corrupt_file
from dms_iceberg.bronze.keys import BronzeFile
from dms_iceberg.changes.open_files import open_files
from dms_iceberg.config.model import Config, Table
from dms_iceberg.config.salts import refuse_unset_salts
from dms_iceberg.context import NO_REQUEST, BranchState, RunContext, RunRequest
from dms_iceberg.errors import DmsIcebergError
from dms_iceberg.loads.epochs import branch_state, is_complete, is_replaced, made_otherwise, prospect
from dms_iceberg.loads.load_marker import read_marker
from dms_iceberg.loads.no_files import find_no_files
from dms_iceberg.loads.rebuild import files_to_rebuild
from dms_iceberg.loads.truncate import preview_truncate, refuse_truncate
from dms_iceberg.progress.pending import FileBatch, Pending, next_batch, pending_files
from dms_iceberg.progress.progress import Progress
from dms_iceberg.runs.runner import check_request, chosen_tables
from dms_iceberg.silver.analysis import analysed_evolution, check_expressions
from dms_iceberg.silver.checked import check
from dms_iceberg.silver.cleaning import refuse_other_key_mask
from dms_iceberg.silver.create import declared_types
from dms_iceberg.silver.ddl import create_sql, ordered
from dms_iceberg.silver.first_seen import known_before, unknown_warnings
from dms_iceberg.silver.key import refuse_other_key
from dms_iceberg.silver.remembered import guarded, refuse_declared, source_names
from dms_iceberg.silver.rename import RenameColumn, cleaning_warnings, renamed, renamed_progress, renamed_properties, renames
from dms_iceberg.silver.schema_diff import AddColumn, Incompatible, Operation, Types
from dms_iceberg.silver.switch_mode import silver_types, switch_statements
from dms_iceberg.silver.table import TargetTable
from dms_iceberg.silver.unknown_columns import by_hand, check_named
from dms_iceberg.spark.failures import FAILURES, describe
from dms_iceberg.storage.store import open_store


@attrs.define(kw_only=True)
class TablePreview:
    """What a run would do to one table.

    Attributes:
        rebuilt_files: those of ``files`` that are merged already, and that a rebuild reads again.
        rows: None where only reading the files would tell (CSV, JSON).
        no_files: what to say of a table without any file in bronze, whose run would do nothing; None for others.
        changes_rows: the run would change rows of the table or create it, as far as can be told without reading the files.
    """

    table: str
    files: int = 0
    rebuilt_files: int = 0
    bytes: int = 0
    rows: int | None = 0
    batches: int = 0
    sql: list[str] = attrs.field(factory=list)
    warnings: list[str] = attrs.field(factory=list)
    changes_rows: bool = False
    no_files: str | None = None
    error: str | None = None

    @property
    def is_bad(self) -> bool:
        """Whether the run would fail, or do nothing for lack of files."""
        return self.error is not None or self.no_files is not None

    def to_document(self) -> dict[str, Any]:
        """Return the table's part of ``--json``."""
        return attrs.asdict(self)


def preview(spark: SparkSession, config: Config, only: Iterable[str] = (), request: RunRequest = NO_REQUEST) -> list[TablePreview]:
    """Return what `runner.run` would do with the same arguments, table by table; see there for the errors raised."""
    check_request(config, only, request)
    context = RunContext(spark, config, open_store(config.bronze.uri), "plan", request)
    previews = []
    for table in chosen_tables(config, only):
        one = TablePreview(table=table.source)
        try:
            _preview_table(context, table, one)
        except DmsIcebergError as error:
            one.error = str(error)
        except FAILURES as error:
            one.error = f"{table.source}: {describe(error)}"
        previews.append(one)
    return previews


def _preview_table(context: RunContext, table: Table, one: TablePreview) -> None:
    target = TargetTable(context.spark, context.config.catalog.name, table.target)
    again: list[BronzeFile] = []
    found_renames: list[RenameColumn] = []
    refuse_unset_salts(table)
    if target.exists():
        target.refresh()
        refuse_declared(context, table, target)
    found_at = branch_state(target, context.config, table, context.request.reload_started)
    if target.exists():
        found_renames = renames(table, target.column_types())
        if table.source in context.request.rebuild:
            again = files_to_rebuild(context, table, target)
        else:
            _preview_properties(table, target, found_at, found_renames, one)
    existing = silver_types(target, table)
    if existing is not None:
        one.sql += [rename.sql(target.sql_name) for rename in found_renames]
        existing = renamed(existing, found_renames)
        found_at = attrs.evolve(found_at, progress=renamed_progress(found_at.progress, found_renames))
    progress = found_at.progress
    marker = read_marker(context.store, table) if found_at.branch is not None else None
    listing = list(context.listing(table, progress))
    found = pending_files(listing, progress, table.source, datetime.now(UTC))
    one.warnings += found.warnings(table.source)
    pending, fresh = [*again, *found.files], existing is None or target.head() is None
    one.rebuilt_files = len(again)
    reaches_main = True
    if found_at.branch is not None:
        one.warnings += filter(None, [made_otherwise(table, target, found_at)])
        behind = next_batch([file for file in found.files if file.is_cdc], context.config.batch)
        doubt = marker.doubt(progress, found.loads) if marker is not None else ""
        told = table.source in context.request.load_complete or (marker is not None and not doubt)
        reaches_main = is_complete(table, found_at, behind, found.loads, told=told)
        one.warnings.append(prospect(table, found_at, doubt, would_be_complete=reaches_main))
    truncates = _preview_truncates(context, table, target, found_at, found, one)
    one.files, one.bytes = len(pending), sum(file.size for file in pending)
    if existing is not None and pending:
        one.sql += switch_statements(target, table)
    one.rows = 0
    left = pending
    while batch := next_batch(left, context.config.batch):
        one.batches += 1
        left = left[len(batch.files) :]
        with blame_corrupt_file(context.spark, context.store, batch.files):
            existing = _preview_batch(context, table, target, batch, existing, one, found_at, progress, fresh=fresh)
    if existing is not None and not pending and found_at.branch is None and target.head() is not None:
        # Nothing is to be done, but a new text may be wrong.
        one.warnings += check(context, table, target, existing, progress).warnings
    may_be_made = _preview_no_files(context, table, target, found_at, found, one)
    if existing is None and may_be_made:
        one.sql += _creation(table, target)
    is_new = not target.exists() and bool(one.sql)
    one.changes_rows = reaches_main and bool(pending or truncates or is_new or found_at.branch is not None)


def _preview_properties(
    table: Table, target: TargetTable, found: BranchState, found_renames: list[RenameColumn], one: TablePreview
) -> None:
    if not is_replaced(table, found):
        properties = target.properties() | renamed_properties(found_renames, target.properties())
        refuse_other_key(table, properties)
        refuse_other_key_mask(table, properties)
    one.warnings += cleaning_warnings(target, table)


def _preview_no_files(
    context: RunContext, table: Table, target: TargetTable, found: BranchState, pending: Pending, one: TablePreview
) -> bool:
    """Add what is to be said of a table without any file; return whether the table may be made without a row."""
    if one.files:
        return True
    nothing = find_no_files(context, table, target, found, pending)
    if nothing is not None and nothing.is_wrong:
        one.no_files = nothing.text
    elif nothing is not None and nothing.text:
        one.warnings.append(nothing.text)
    return nothing is not None and not nothing.text


def _creation(table: Table, target: TargetTable) -> list[str]:
    types = declared_types(table)
    return [create_sql(target.sql_name, types, table)] if types is not None else []


def _preview_truncates(
    context: RunContext, table: Table, target: TargetTable, found: BranchState, pending: Pending, one: TablePreview
) -> bool:
    """Add what truncates would do; returns whether there are any."""
    told = {context.request.truncated_at} if table.source in context.request.truncate else set()
    told = {at for at in told if not refuse_truncate(context, table, target, at)}
    if found.head is None or found.branch is not None:
        return False
    times = sorted(told | {at for at in pending.truncates if at > found.progress.truncated})
    for at in times:
        sql, effect = preview_truncate(table, target, found, at)
        one.sql += [sql] if sql is not None else []
        one.warnings.append(effect)
    return bool(times)


def _preview_batch(
    context: RunContext,
    table: Table,
    target: TargetTable,
    batch: FileBatch,
    existing: Types | None,
    one: TablePreview,
    found: BranchState,
    progress: Progress,
    *,
    fresh: bool,
) -> Types | None:
    """Add what one batch would do; returns the table's columns after it."""
    read = open_files(context, table, batch.files, existing or ())
    rows = [group.group.rows for group in read]
    one.rows = None if one.rows is None or None in rows else one.rows + sum(row or 0 for row in rows)
    if not read:
        return existing
    anew = found.branch is not None or table.source in context.request.rebuild
    # Salts are the same for all batches, and each look at a secret is a request.
    first = one.batches == 1
    memory = guarded(context, table, target if target.exists() else None, read, found.branch, anew=anew, with_salts=first)
    named = check_named(context, table, read, existing, memory.seen, fresh=fresh, files=batch.files, progress=found.progress)
    evolution = analysed_evolution(context, table, read, existing, memory.texts, memory.salts)
    check_expressions(context, read, table, evolution.shape)
    unknown = unknown_warnings(table, read, known_before(table, progress, existing))
    # Later batches are planned on a table that has columns of files which it does not remember yet.
    foreign = by_hand(table, evolution.shape, source_names(read), memory.seen) if first and existing is not None else []
    one.warnings += [text for text in (*named.warnings, *evolution.warnings, *unknown, *foreign) if text not in one.warnings]
    if existing is None:
        columns = ordered([column.name for column in evolution.shape.columns], evolution.shape.types)
        one.sql.append(create_sql(target.sql_name, columns, table))
        return columns
    one.sql += [operation.sql(target.sql_name) for operation in evolution.plan.operations]
    added = [operation for operation in evolution.plan.operations if isinstance(operation, AddColumn)]
    one.sql += [sql for operation in added if (sql := operation.backfill_sql(target.sql_name)) is not None]
    one.warnings += [_explain(table, change) for change in evolution.plan.incompatible]
    one.warnings += [f"{table.source}: rows of some files would be quarantined: {why}" for why in evolution.shape.refused.values()]
    return existing | {operation.name: _type_after(operation) for operation in evolution.plan.operations}


def _type_after(operation: Operation) -> str:
    return operation.type if isinstance(operation, AddColumn) else operation.new


def _explain(table: Table, change: Incompatible) -> str:
    return (
        f"{table.source}: column {change.name} is {change.file_type} in the files and {change.table_type} in the table, which cannot "
        "be widened to it; values that do not fit will be quarantined"
    )
