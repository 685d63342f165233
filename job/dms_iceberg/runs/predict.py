"""The state of a table after an action, without executing it. Pure: `plan` uses it to show what a run would do."""

import attrs

from dms_iceberg.context import BranchState
from dms_iceberg.progress.progress import Progress
from dms_iceberg.runs.actions import (
    Action,
    ApplyTruncate,
    BeginLoad,
    CompleteLoad,
    CreateTable,
    DropBranches,
    EvolveSchema,
    MergeBatch,
    ReadFiles,
    RecordTruncate,
    RenameColumns,
    ResolveRejected,
    RestoreBackfills,
    SkipFiles,
    SwitchMode,
    TakeOver,
)
from dms_iceberg.runs.state import OpenedBatch, TableState
from dms_iceberg.silver.schema.diff import AddColumn
from dms_iceberg.silver.schema.rename import renamed, renamed_progress

TO_COME = 0
"""Stands for the id of a snapshot that a run would create."""


def after(state: TableState, action: Action) -> TableState:
    """Return the state after ``action``.

    Raises:
        TypeError: the next state must be read instead: from files (`open_batch`), or from main after a rebuild is published.
    """
    state = attrs.evolve(state, begins=False) if isinstance(action, BeginLoad) else _after(state, action)
    if state.then is None or state.files or state.truncate is not None:
        return state
    # What came before the reload in place is merged.
    kept = {name: getattr(state, name) for name in ("main", "columns", "memory", "foreseen", "begins")}
    return attrs.evolve(state.then, **kept)


def _after(state: TableState, action: Action) -> TableState:
    match action:
        case RenameColumns() | RestoreBackfills() | SwitchMode() | EvolveSchema():
            return _changed(state, action)
        case SkipFiles() | MergeBatch():
            return _merged(state, action)
        case RecordTruncate(at):
            pending = attrs.evolve(state.pending, truncates=sorted({*state.pending.truncates, at}))
            return attrs.evolve(state, pending=pending)
        case TakeOver():
            return attrs.evolve(state, to_take_over=())
        case DropBranches():
            return attrs.evolve(state, outdated=())
        case ApplyTruncate(branch, at):
            return _moved(state, branch.progress.with_truncate(at), branch.head)
        case CompleteLoad(branch, _):
            main = BranchState(branch.progress, branch.head or TO_COME)
            return attrs.evolve(state, main=main, branch=main)
        case ResolveRejected():
            return attrs.evolve(state, unresolved=False)
        case CreateTable(columns, is_loaded):
            state = attrs.evolve(state, columns=dict(columns) if columns is not None else state.columns, tells_load=False)
            progress = attrs.evolve(state.branch.progress, load_told=state.branch.progress.load_told or is_loaded)
            return _moved(state, progress, TO_COME if is_loaded else state.branch.head)
        case _:
            raise TypeError(f"what comes after {type(action).__name__} is not predicted, but read")


def _changed(state: TableState, action: RenameColumns | RestoreBackfills | SwitchMode | EvolveSchema) -> TableState:
    """Return the state after a change of the table's columns."""
    match action:
        case RenameColumns(columns):
            state = attrs.evolve(state, columns=renamed(state.columns or {}, columns), renames=())
            return _moved(state, renamed_progress(state.branch.progress, columns), state.branch.head)
        case RestoreBackfills(_, branch):
            if branch is None:
                return attrs.evolve(state, lost_backfills=())
            return attrs.evolve(state, opened=attrs.evolve(_opened(state), lost_backfills=()))
        case SwitchMode():
            return attrs.evolve(state, switch=())
        case EvolveSchema(schema):
            types = {one.name: one.type if isinstance(one, AddColumn) else one.new for one in schema.operations}
            opened = _opened(state)
            evolution = attrs.evolve(opened.evolved, plan=attrs.evolve(schema, operations=()))
            return attrs.evolve(state, columns={**(state.columns or {}), **types}, opened=attrs.evolve(opened, evolution=evolution))


def _opened(state: TableState) -> OpenedBatch:
    if state.opened is None:
        raise TypeError(f"planned before the files were read ({ReadFiles.__name__})")
    return state.opened


def _merged(state: TableState, action: SkipFiles | MergeBatch) -> TableState:
    files = action.plan.batch.files
    foreseen = state.opened.foreseen if state.opened is not None else None
    state = attrs.evolve(state, opened=None, foreseen=foreseen or state.foreseen)
    if isinstance(action, MergeBatch) and action.creates is not None:
        state = attrs.evolve(state, columns=dict(action.creates))
    if not state.exists:
        skipped = state.memory.skipped | {file.version for file in files}
        return attrs.evolve(state, memory=attrs.evolve(state.memory, skipped=skipped))
    # A batch records what the operator says with it.
    state = attrs.evolve(state, tells_load=False)
    left = [file for file in state.pending.files if file not in files]
    state = attrs.evolve(state, pending=attrs.evolve(state.pending, files=left), records=None)
    progress = state.branch.progress.after(files, state.look_back, state.pending.loads)
    return _moved(state, progress, TO_COME)


def _moved(state: TableState, progress: Progress, head: int | None) -> TableState:
    """Return the state with the branch's progress and head replaced, and main's if the branch is main."""
    branch = attrs.evolve(state.branch, progress=progress, head=head)
    return attrs.evolve(state, branch=branch, main=branch if branch.branch is None else state.main)
