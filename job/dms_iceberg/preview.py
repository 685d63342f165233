"""What a run would do, found without changing anything: files, rows where footers tell, and schema changes as SQL."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

import attrs
from pyspark.sql import SparkSession

from dms_iceberg.analysis import check_expressions, expression_types
from dms_iceberg.config.model import Config, Table, Timestamps
from dms_iceberg.epochs import standing
from dms_iceberg.errors import DmsIcebergError
from dms_iceberg.job import Job
from dms_iceberg.runner import chosen_tables
from dms_iceberg.spark_errors import FAILURES, describe
from dms_iceberg.staging.keys import BronzeFile, table_prefix
from dms_iceberg.staging.listing import list_files
from dms_iceberg.staging.plan import FileBatch, next_batch, pending_files
from dms_iceberg.staging.store import open_store
from dms_iceberg.target.create import declared_types
from dms_iceberg.target.evolve import plan_evolution
from dms_iceberg.target.key import refuse_other_key
from dms_iceberg.target.schema_diff import AddColumn, Incompatible, Operation, Types
from dms_iceberg.target.switch import silver_types, switch_statements
from dms_iceberg.target.table import TargetTable, create_sql, ordered
from dms_iceberg.unknown_columns import check_named
from dms_iceberg.winners import open_files


@attrs.define(kw_only=True)
class TablePreview:
    """What a run would do to one table. ``rows`` is None where only reading the files would tell (CSV, JSON)."""

    table: str
    files: int = 0
    bytes: int = 0
    rows: int | None = 0
    batches: int = 0
    sql: list[str] = attrs.field(factory=list)
    warnings: list[str] = attrs.field(factory=list)
    error: str | None = None

    def to_document(self) -> dict[str, Any]:
        """Return the table's part of ``--json``."""
        return attrs.asdict(self)


def preview(spark: SparkSession, config: Config, only: Iterable[str] = ()) -> list[TablePreview]:
    """Return what `runner.run` would do, table by table."""
    job = Job(spark, config, open_store(config.bronze.uri), "plan")
    previews = []
    for table in chosen_tables(config, only):
        one = TablePreview(table=table.source)
        try:
            _preview_table(job, table, one)
        except DmsIcebergError as error:
            one.error = str(error)
        except FAILURES as error:
            one.error = f"{table.source}: {describe(error)}"
        previews.append(one)
    return previews


def _preview_table(job: Job, table: Table, one: TablePreview) -> None:
    target = TargetTable(job.spark, job.config.catalog.name, table.target)
    existing = silver_types(target, table)
    if existing is not None:
        target.refresh()
        refuse_other_key(table, target.properties())
        existing = silver_types(target, table)
    progress = standing(target, job.config, table).progress
    prefix = table_prefix(table.schema_name, table.table_name)
    listing = list(list_files(job.store, prefix, progress.since, job.config.bronze.format, progress.committed))
    found = pending_files(listing, progress, table.source, datetime.now(UTC))
    one.warnings += found.warnings(table.source)
    pending, fresh = found.files, existing is None or target.head() is None
    one.files, one.bytes = len(pending), sum(file.size for file in pending)
    if existing is not None and pending:
        one.sql += switch_statements(target, table)
    one.rows = 0
    left = pending
    while batch := next_batch(left, job.config.batch):
        one.batches += 1
        left = left[len(batch.files) :]
        existing = _preview_batch(job, table, target, batch, existing, one, found.loads, fresh=fresh)
        fresh = False
    if existing is not None and listing and not pending:
        _check_newest(job, table, max(listing), existing, one, found.loads)
    types = declared_types(table)
    if existing is None and types is not None:
        one.sql.append(create_sql(target.sql_name, types, table))


def _check_newest(job: Job, table: Table, file: BronzeFile, existing: Types, one: TablePreview, loads: Sequence[BronzeFile]) -> None:
    """Check the configuration against a file that is merged already: nothing is to be done, but a new text may be wrong."""
    read = open_files(job, table, [file])
    if read:
        one.warnings += check_named(job, table, read, existing, fresh=False, files=[file], loads=loads)
        ntz = job.config.timestamps is Timestamps.NTZ
        check_expressions(job, read, table, plan_evolution(table, read, expression_types(job, read, table), existing, ntz=ntz).shape)


def _preview_batch(
    job: Job,
    table: Table,
    target: TargetTable,
    batch: FileBatch,
    existing: Types | None,
    one: TablePreview,
    loads: Sequence[BronzeFile],
    *,
    fresh: bool,
) -> Types | None:
    """Add what one batch would do; returns the table's columns after it."""
    read = open_files(job, table, batch.files)
    rows = [group.group.rows for group in read]
    one.rows = None if one.rows is None or None in rows else one.rows + sum(row or 0 for row in rows)
    if not read:
        return existing
    named = check_named(job, table, read, existing, fresh=fresh, files=batch.files, loads=loads)
    evolution = plan_evolution(table, read, expression_types(job, read, table), existing, ntz=job.config.timestamps is Timestamps.NTZ)
    check_expressions(job, read, table, evolution.shape)
    one.warnings += [text for text in (*named, *evolution.warnings) if text not in one.warnings]
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
