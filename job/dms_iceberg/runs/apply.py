"""Execute an action, with at most one commit that changes rows, and return what to report of it."""

from collections.abc import Sequence

import attrs
import structlog

from dms_iceberg.changes.identity import known_clock
from dms_iceberg.config.model import Table
from dms_iceberg.context import BatchPlan, RunContext
from dms_iceberg.loads.epochs import begin_load, complete
from dms_iceberg.loads.rebuild import publish_rebuild
from dms_iceberg.loads.rebuilt_quarantine import resolve_rejected
from dms_iceberg.loads.takeover import take_over
from dms_iceberg.loads.truncate import apply_truncate, record_truncate
from dms_iceberg.merge.batch_context import BatchContext
from dms_iceberg.runs.actions import (
    Action,
    ApplyTruncate,
    BeginLoad,
    CompleteLoad,
    CreateTable,
    Done,
    DropBranches,
    EvolveSchema,
    MergeBatch,
    PublishRebuild,
    RecordTruncate,
    RenameColumns,
    ResolveRejected,
    RestoreBackfills,
    SkipFiles,
    SwitchMode,
    TakeOver,
    Wait,
)
from dms_iceberg.runs.batch import merge_batch, skip_files
from dms_iceberg.runs.replay_batch import replay_batch
from dms_iceberg.runs.report import LOAD, NO_FILE, REBUILD, TRUNCATE, BatchReport
from dms_iceberg.runs.state import TableState
from dms_iceberg.silver.check_configuration import check_changed
from dms_iceberg.silver.row_counts import RowCounts, summary_properties
from dms_iceberg.silver.schema.backfill import restore_backfills
from dms_iceberg.silver.schema.evolve import evolve
from dms_iceberg.silver.schema.rename import rename_columns
from dms_iceberg.silver.schema.switch_mode import switch_mode
from dms_iceberg.silver.table import TargetTable
from dms_iceberg.silver.table_context import TableContext

_LOG = structlog.get_logger("dms_iceberg")


@attrs.frozen
class Outcome:
    """What an action did.

    Attributes:
        statements: the schema statements that were executed.
        batch: the report of a batch.
        warnings: for the operator.
        more: whether the table must be planned again.
        waits: whether the table waits for the end of a load.
        lost_versions: whether rows left with a load or rebuild that may have only rejected them.
        content: what replaced or ended the table's content, in words for a person; "" for nothing.
    """

    statements: tuple[str, ...] = ()
    batch: BatchReport | None = None
    warnings: tuple[str, ...] = ()
    more: bool = True
    waits: bool = False
    lost_versions: bool = False
    content: str = ""


def apply(here: TableContext, state: TableState, action: Action) -> Outcome:
    """Execute an action that was planned on ``state``.

    Raises:
        DmsIcebergError: the action failed; the table is unchanged.
        PlanIsStaleError: another writer committed after the state was read.
    """
    match action:
        case MergeBatch() | SkipFiles():
            return _batch(here, state, action)
        case RenameColumns() | RestoreBackfills() | SwitchMode() | EvolveSchema():
            statements = _schema(here.target, state, action)
            _LOG.info("schema_changed", table=here.table.source, run_id=here.context.run_id, statements=list(statements))
            return Outcome(statements, warnings=state.opened.warnings if state.opened is not None else ())
        case TakeOver(tables):
            _take_over(here, tables)
            return Outcome()
        case Wait(warnings):
            return Outcome(warnings=warnings, more=False, waits=True)
        case Done(warnings, checks):
            if checks:
                check_changed(here, state.branch.progress)
            return Outcome(warnings=warnings, more=False)
        case CompleteLoad(branch, main):
            warnings = complete(here, branch, main)
            return Outcome(warnings=warnings, lost_versions=bool(warnings), content=LOAD)
        case PublishRebuild(branch, main):
            state.memory.comparisons += 1
            warnings = publish_rebuild(here, branch, main)
            state.memory.rebuilt = True
            return Outcome(warnings=warnings, lost_versions=bool(warnings), content=REBUILD)
        case _:
            return Outcome(_content(here, state, action), content=_published(action))


def _published(action: Action) -> str:
    match action:
        case ApplyTruncate(branch):
            return "" if branch.rebuild else TRUNCATE
        case CreateTable(is_loaded=True):
            return NO_FILE
    return ""


def _content(here: TableContext, state: TableState, action: Action) -> tuple[str, ...]:
    """Replace or end the table's content, or prepare for it; return the statements to report."""
    match action:
        case RecordTruncate(at):
            record_truncate(here.context, here.table, at)
        case ApplyTruncate(branch, at):
            statements = apply_truncate(here, branch, at)
            # A rebuild applies the truncate to old rows only: there is nothing to report.
            return () if branch.rebuild else statements
        case DropBranches(names):
            for name in names:
                here.target.remove_branch(name)
        case BeginLoad(branch):
            begin_load(here, branch)
        case ResolveRejected(branch):
            resolve_rejected(here, branch)
        case CreateTable():
            _create(here, state, action)
        case _:
            raise TypeError(f"no action to apply: {action!r}")
    return ()


def _take_over(here: TableContext, tables: Sequence[str]) -> None:
    take_over(here)
    _LOG.warning("table_taken_over", table=here.table.source, run_id=here.context.run_id, former=list(tables))


def _create(here: TableContext, state: TableState, action: CreateTable) -> None:
    target = here.target
    if action.columns is not None:
        target.create(action.columns, here.table)
    if action.is_loaded:
        transaction = target.transaction(state.main.head)
        told = attrs.evolve(state.branch.progress, load_told=True)
        transaction.touch(summary_properties(told, RowCounts(), 0, here.context.run_id))
        target.commit(transaction)


def _schema(
    target: TargetTable, state: TableState, action: RenameColumns | RestoreBackfills | SwitchMode | EvolveSchema
) -> tuple[str, ...]:
    """Change the table's columns; return the statements."""
    match action:
        case RenameColumns(columns):
            return tuple(rename_columns(target, columns))
        case RestoreBackfills(columns, branch):
            return tuple(restore_backfills(target, columns, state.table.mode, branch))
        case SwitchMode():
            return switch_mode(target, state.table, state.main.head)
        case EvolveSchema(plan):
            return evolve(target, state.table, plan, state.main.head, max(known_clock(one.progress) for one in (state.main, state.branch)))


def _batch(here: TableContext, state: TableState, action: MergeBatch | SkipFiles) -> Outcome:
    planned, opened = action.plan, state.opened
    if opened is None:
        raise TypeError("a batch is merged once its files were read")
    if isinstance(action, SkipFiles):
        report = skip_files(here, planned, opened.began)
    else:
        batch = BatchContext(here.context, opened.merged_as, here.target, planned, opened.groups, opened.evolved.shape)
        if planned.is_replay:
            report = replay_batch(batch, opened)
            return Outcome(batch=report, warnings=report.warnings, more=False)
        report = merge_batch(batch, action, opened)
    _log_batch(here.context, here.table, planned, report)
    is_skipped = report.snapshot_id is None
    if is_skipped:
        # Files without columns do not create a table, so only this run can remember them.
        state.memory.skipped.update(file.version for file in planned.batch.files)
    # Plan a branch once more: its last file may have completed the load.
    is_awaited = bool(planned.following) or not state.memory.truncate_seen or state.then is not None
    more = is_skipped or planned.batch.remaining > 0 or is_awaited or planned.branch_state.branch is not None
    return Outcome(batch=report, warnings=report.warnings, more=more)


def _log_batch(context: RunContext, table: Table, planned: BatchPlan, report: BatchReport) -> None:
    if planned.branch_state.rebuild:
        # Metrics count the rows of the other log line. These rows were counted when they were first merged.
        _LOG.info("batch_rebuilt", table=table.source, run_id=context.run_id, files=report.files, rows_read=report.rows_read)
        return
    _LOG.info(
        "batch_merged",
        table=table.source,
        run_id=context.run_id,
        files=report.files,
        rows_read=report.rows_read,
        applied=report.applied,
        stale=report.stale,
        quarantined=report.quarantined,
        seconds=report.seconds,
        lag_seconds=report.lag_seconds,
        path=report.path,
    )
