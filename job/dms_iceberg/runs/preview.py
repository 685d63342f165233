"""What a run would do, without changing anything: steps, files, rows if footers have their number, and schema changes as SQL.

The actions are those of a run (`runs.plan`). Instead of executing one, the preview predicts its outcome (`runs.predict`).
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import attrs
from pyspark.sql import SparkSession

from dms_iceberg.bronze.corrupt_files import naming_corrupt_file
from dms_iceberg.changes.partial_updates import tables_with_kept_positions
from dms_iceberg.config.model import Config, Mode, Table
from dms_iceberg.context import NO_REQUEST, BatchPlan, RunContext, RunRequest
from dms_iceberg.errors import DmsIcebergError
from dms_iceberg.loads.epochs import completed
from dms_iceberg.loads.moments import UNMERGED, Effect
from dms_iceberg.loads.rebuilt_quarantine import has_unresolved
from dms_iceberg.loads.truncate import preview_truncate
from dms_iceberg.quarantine.tables import refuse_others_quarantine
from dms_iceberg.runs.actions import (
    Action,
    ApplyTruncate,
    CompleteLoad,
    CountRows,
    CreateTable,
    Done,
    EvolveSchema,
    MergeBatch,
    PublishRebuild,
    ReadFiles,
    RecordTruncate,
    RenameColumns,
    RestoreBackfills,
    SkipFiles,
    SwitchMode,
    Wait,
)
from dms_iceberg.runs.open_batch import open_batch
from dms_iceberg.runs.plan import is_truncate_seen, plan
from dms_iceberg.runs.predict import TO_COME, after
from dms_iceberg.runs.read_state import count_rows, read_state
from dms_iceberg.runs.request import check_request
from dms_iceberg.runs.state import OpenedBatch, RunMemory, TableState
from dms_iceberg.runs.wording import words
from dms_iceberg.silver.analysis import check_expressions
from dms_iceberg.silver.check_configuration import check
from dms_iceberg.silver.schema.backfill import restore_statements
from dms_iceberg.silver.schema.ddl import create_sql
from dms_iceberg.silver.schema.diff import AddColumn, Incompatible, Types
from dms_iceberg.silver.schema.first_seen import known_before, unknown_warnings
from dms_iceberg.silver.schema.unknown_columns import unused_drops
from dms_iceberg.silver.table_context import TableContext
from dms_iceberg.spark.failures import FAILURES, describe
from dms_iceberg.storage.open_store import open_store


@attrs.define(kw_only=True)
class TablePreview:
    """What a run would do to one table.

    Attributes:
        steps: what the run would do to the table, in plain words, in this order.
        rebuilt_files: those of ``files`` that are already merged, and that a rebuild reads again.
        rows: None if only reading the files would give their number (CSV, JSON).
        notes: what the files of a new table do not prove, and what is right in most set-ups, so that it is no warning.
        leaving: how many present rows a requested truncate or a complete load would take, where a run compares it; None for others.
        no_files: the message for a table without any file in bronze, for which a run would do nothing; None for others.
        renamed: old and new names of the columns that the run would rename. Not in the document.
        changes_rows: whether the run would change rows of the table or create it, as far as this is known without reading the files.
    """

    table: str
    steps: list[str] = attrs.field(factory=list)
    files: int = 0
    rebuilt_files: int = 0
    bytes: int = 0
    rows: int | None = 0
    batches: int = 0
    sql: list[str] = attrs.field(factory=list)
    warnings: list[str] = attrs.field(factory=list)
    notes: list[str] = attrs.field(factory=list)
    renamed: list[str] = attrs.field(factory=list)
    changes_rows: bool = False
    leaving: int | None = None
    no_files: str | None = None
    error: str | None = None

    @property
    def is_bad(self) -> bool:
        """Whether the run would fail, or do nothing because there are no files."""
        return self.error is not None or self.no_files is not None

    def to_document(self) -> dict[str, Any]:
        """Return the table's part of ``--json``."""
        return attrs.asdict(self, filter=attrs.filters.exclude("renamed"))


def preview(
    spark: SparkSession,
    config: Config,
    only: Iterable[str] = (),
    request: RunRequest = NO_REQUEST,
    begins: Callable[[str], None] = lambda _: None,
) -> list[TablePreview]:
    """Return what `runs.run.run` would do with the same arguments, table by table; it raises the same errors.

    ``begins`` is called with the name of each table before it is looked at.
    """
    check_request(config, only, request)
    context = RunContext(spark, config, open_store(config.bronze.uri), "plan", request)
    previews = []
    for table in tables_with_kept_positions(config, only):
        one = TablePreview(table=table.source)
        begins(table.source)
        try:
            _preview_table(TableContext.of(context, table), one)
        except DmsIcebergError as error:
            one.error = str(error)
        except FAILURES as error:
            one.error = f"{table.source}: {describe(error)}"
        previews.append(one)
    return previews


def _preview_table(here: TableContext, one: TablePreview) -> None:
    context = here.context
    state = _read(here, RunMemory())
    if not state.to_take_over:
        refuse_others_quarantine(here)
    begin, merges = state, False
    recorded: RecordTruncate | None = None
    one.warnings += state.warnings
    while True:
        action = plan(state, context.request)
        if isinstance(action, CountRows):
            # Rows that a run would first merge into the load are not there to be counted.
            to_come = UNMERGED if action.at else Effect(None)
            effect = to_come if TO_COME in (action.branch.head, state.main.head) else count_rows(here, action)
            one.leaving = effect.leave
            one.warnings += [f"{here.table.source}: {effect.text(here.table)}"] if not action.at else []
            state = attrs.evolve(state, effect=effect)
            continue
        state.memory.truncate_seen = is_truncate_seen(state, context.request)
        one.steps += [text] if (text := words(action)) is not None else []
        if isinstance(action, Wait | Done):
            break
        merges = merges or isinstance(action, MergeBatch | SkipFiles | ApplyTruncate | CompleteLoad | CreateTable)
        if isinstance(action, ReadFiles):
            with naming_corrupt_file(context.spark, context.store, action.batch.files):
                opened = open_batch(here, state, action.batch, predicted=bool(one.batches))
                if opened.evolution is not None:
                    check_expressions(context, opened.groups, opened.merged_as, opened.evolution.shape)
            state = attrs.evolve(state, opened=opened)
            _show_opened(begin, state.columns, opened, one)
            continue
        _show(here, state, action, one)
        if isinstance(action, RecordTruncate):
            # A requested rebuild comes before it is applied, as in a run.
            recorded, state = action, _read(here, state.memory)
        elif isinstance(action, PublishRebuild):
            state.memory.rebuilt = True
            rebuilt, state = state, read_state(here, state.memory, predicted_rebuild=True)
            state = attrs.evolve(state, columns=rebuilt.columns, switch=rebuilt.switch, renames=(), to_take_over=())
            one.warnings += [text for text in state.warnings if text not in one.warnings]
        else:
            state = after(state, action)
        if recorded is not None and not state.is_rebuilding:
            state, recorded = after(state, recorded), None
    _show_end(here, state, action, one)
    reaches_main = state.branch.branch is None
    one.changes_rows = (reaches_main or begin.then is not None) and merges and (begin.exists or state.exists)


def _read(here: TableContext, memory: RunMemory) -> TableState:
    """Read the state. Which rows a rebuild will reject again is not known, so all that it can resolve are taken to be left for its end."""
    state = read_state(here, memory)
    return attrs.evolve(state, unresolved=state.is_rebuilding and has_unresolved(here, state.branch))


def _show(here: TableContext, state: TableState, action: Action, one: TablePreview) -> None:
    """Add what an action would do."""
    table, target = here.table, here.target
    name = target.sql_name
    match action:
        case ApplyTruncate(branch, at) if not branch.rebuild:
            sql, effect = preview_truncate(table, target, branch, at)
            one.sql += [sql] if sql is not None else []
            one.warnings.append(effect)
        case CompleteLoad(branch, _):
            one.warnings.append(completed(table, branch))
        case CreateTable(columns, _) if columns is not None:
            one.sql.append(create_sql(name, columns, table, target.owned))
        case MergeBatch(planned, creates):
            if creates is not None:
                one.sql.append(create_sql(name, creates, table, target.owned))
            _count(planned, state, one)
        case SkipFiles(planned):
            _count(planned, state, one)
        case RenameColumns(columns):
            one.renamed += [name for column in columns for name in (column.old, column.new)]
            one.sql += [column.sql(name) for column in columns]
        case _:
            one.sql += _schema_statements(name, action, table.mode)


def _schema_statements(name: str, action: Action, mode: Mode) -> Sequence[str]:
    match action:
        case RestoreBackfills(columns, branch):
            return restore_statements(name, columns, mode, branch)
        case SwitchMode(statements):
            return statements
        case EvolveSchema(schema):
            added = [operation for operation in schema.operations if isinstance(operation, AddColumn)]
            backfills = [sql for column in added if (sql := column.backfill_sql(name, mode)) is not None]
            return [operation.sql(name) for operation in schema.operations] + backfills
        case _:
            return ()


def _count(planned: BatchPlan, state: TableState, one: TablePreview) -> None:
    one.batches += 1
    one.files += len(planned.batch.files)
    one.rebuilt_files += len(planned.batch.files) if state.is_rebuilding else 0
    one.bytes += planned.batch.size


def _show_opened(begin: TableState, columns: Types | None, opened: OpenedBatch, one: TablePreview) -> None:
    """Add what the columns of a batch tell.

    Args:
        begin: the state before any batch: since when the source has a column is not predicted.
        columns: those of the table, as earlier batches leave them.
        opened: the batch.
        one: what it is added to.
    """
    table = begin.table
    rows = [group.group.rows for group in opened.groups]
    one.rows = None if one.rows is None or None in rows else one.rows + sum(row or 0 for row in rows)
    if opened.evolution is None:
        return
    evolution = opened.evolution
    unknown = unknown_warnings(table, opened.groups, known_before(table, begin.branch.progress, columns))
    incompatible = [_explain(table, change) for change in evolution.plan.incompatible]
    refused = [f"{table.source}: rows of some files would be quarantined: {one.problem}" for one in evolution.shape.refused.values()]
    texts = (*opened.warnings, *unknown, *incompatible, *refused)
    one.warnings += [text for text in texts if text not in one.warnings]
    if columns is None:
        one.notes += unused_drops(table, [name for group in opened.groups for name in (*group.columns.names, *group.group.names)])


def _show_end(here: TableContext, state: TableState, action: Wait | Done, one: TablePreview) -> None:
    """Add what to report of a table once nothing is left to merge."""
    nothing = state.no_files
    if nothing is not None and nothing.is_wrong and not one.files:
        one.no_files = nothing.text
    one.warnings += [text for text in action.warnings if text != one.no_files and text not in one.warnings]
    if not one.batches and state.branch.branch is None and state.main.head not in (None, TO_COME) and state.columns is not None:
        # There is nothing to do, but an expression that was changed may be wrong.
        one.warnings += check(here, state.columns, state.branch.progress).warnings


def _explain(table: Table, change: Incompatible) -> str:
    return (
        f"{table.source}: column {change.name} is {change.file_type} in the files and {change.table_type} in the table, which cannot "
        "be widened to it; values that do not fit will be quarantined"
    )
