"""What comes next for a table: a pure function of its state and of the operator's request.

A run executes the action, reads the state again and plans again, until nothing is left. `plan` shows the same actions and executes none.
"""

import attrs

from dms_iceberg.bronze.keys import shown_time
from dms_iceberg.context import BatchPlan, RunRequest
from dms_iceberg.errors import BronzeError, TargetError
from dms_iceberg.loads.epochs import incomplete_warning, is_complete
from dms_iceberg.loads.moments import Effect, has_load_file, load_doubt, refuse_ignored_load, refuse_unconfirmed, truncate_doubt
from dms_iceberg.loads.truncate import refuse_later_loads, refuse_truncate
from dms_iceberg.loads.zone_names import refuse_names_before_reload
from dms_iceberg.modes.lookup import table_mode
from dms_iceberg.progress.late_loads import refuse_late_loads
from dms_iceberg.progress.pending import FileBatch, RecordBatch, applied_truncates, next_batch
from dms_iceberg.runs.actions import (
    Action,
    ApplyTruncate,
    BeginLoad,
    CompleteLoad,
    CountRows,
    CreateTable,
    Done,
    DropBranches,
    EvolveSchema,
    MergeBatch,
    PublishRebuild,
    ReadFiles,
    RecordTruncate,
    RenameColumns,
    ResolveRejected,
    RestoreBackfills,
    SkipFiles,
    SwitchMode,
    TakeOver,
    Wait,
)
from dms_iceberg.runs.state import OpenedBatch, TableState
from dms_iceberg.silver.schema.create import declared_types, untyped
from dms_iceberg.silver.schema.ddl import ordered

MOST_COMPARISONS = 8
"""How often a rebuild's content is compared with the table before the run gives up, when commits of other writers prevent publishing it."""


def is_rebuild_next(state: TableState, request: RunRequest) -> bool:
    """Whether a requested rebuild comes next. It decides which branch is read, so ``state`` has nothing but main's yet.

    A truncate that is requested as well is recorded first, because main's state tells whether it can be; it is applied after the rebuild.
    """
    main = state.main
    has_content = main.head is not None and not main.progress.is_empty
    is_asked_for = state.table.source in request.rebuild and not state.memory.rebuilt
    return is_asked_for and has_content and not _is_truncate_first(state, request)


def _is_truncate_first(state: TableState, request: RunRequest) -> bool:
    """Whether the run has not looked yet at a request for a truncate."""
    return state.table.source in request.truncate and not state.memory.truncate_seen


def _with_told(state: TableState, request: RunRequest) -> TableState:
    """Return the state with the truncate that the operator tells: no file from after it comes next, and nothing else is changed by it."""
    return attrs.evolve(state, told=request.truncated_at if _is_truncate_first(state, request) else "")


def is_truncate_seen(state: TableState, request: RunRequest) -> bool:
    """Whether no request for a truncate is left to look at after the next action.

    A truncate waits until the files that were closed before it are merged: their rows leave as well, so they are counted, too. One that
    bronze has was confirmed before, and no row leaves a log.
    """
    at = request.truncated_at
    if not _is_truncate_first(state, request) or at in state.pending.truncates or table_mode(state.table.mode).is_log:
        return True
    return at <= state.main.progress.truncated or not _with_told(state, request).files


def plan(state: TableState, request: RunRequest) -> Action:
    """Return the next action.

    Raises:
        BronzeError: bronze lacks what the state or the request needs.
        TargetError: the request contradicts the table's state.
    """
    if request.replay is not None:
        return _replay(state)
    doubt = _doubt(state)
    first = _preparation(state, request)
    if first is not None:
        return first
    if not is_truncate_seen(state, request):
        state = _with_told(state, request)
    refuse_later_loads(state.table, state.branch.progress, state.pending)
    source = state.table.source
    confirmed = request.confirm_rows.get(source) if source in request.load_complete else None
    refuse_late_loads(state.table, state.branch.progress, state.pending.late, confirmed)
    if state.truncate is not None and not state.files:
        return SwitchMode(state.switch) if state.switch and not state.is_rebuilding else ApplyTruncate(state.branch, state.truncate)
    batch = next_batch(state.files, state.bounds, state.blocked_files)
    if state.branch.branch is not None and not state.is_rebuilding:
        return _load(state, request, batch, doubt)
    if batch is not None:
        return _batch(state, batch)
    return _end_of_rebuild(state) if state.is_rebuilding else _idle(state, request)


def _doubt(state: TableState) -> str:
    """Return why nothing proves that a load is the new content, "" for main and rebuilds.

    A moment that the files contradict is refused before what was built of another one is dropped, and before older files are merged.
    """
    if state.is_rebuilding:
        return ""
    building = state.then or state
    if building.branch.branch is not None:
        return load_doubt(state.table, state.main, building.branch, building.pending)
    refuse_names_before_reload(state.table, state.main.progress, state.pending)
    return ""


def _preparation(state: TableState, request: RunRequest) -> Action | None:
    """Return what must precede any file: the operator's requests, and changes of the table that the configuration requires."""
    is_first = _is_truncate_first(state, request)
    is_new = is_first and not refuse_truncate(state.table, state.branch, state.pending, request.truncated_at)
    if is_new and is_truncate_seen(state, request):
        return _told(state, request)
    if state.to_take_over:
        return TakeOver(state.to_take_over)
    if state.renames:
        return RenameColumns(state.renames)
    if state.outdated:
        return DropBranches(state.outdated)
    if state.begins:
        return BeginLoad((state.then or state).branch)
    return RestoreBackfills(state.lost_backfills) if state.lost_backfills else None


def _told(state: TableState, request: RunRequest) -> CountRows | RecordTruncate:
    """Return what a truncate needs that the operator tells: to be counted and confirmed, unless bronze has it."""
    at, is_recorded = request.truncated_at, request.truncated_at in state.pending.truncates
    doubt = truncate_doubt(state.table, state.main.progress, at)
    if is_recorded or (state.effect is not None and state.effect.leave == 0 and state.table.source not in request.confirm_rows):
        return RecordTruncate(at)
    return _confirmed(state, request, doubt, CountRows(state.main, at), f"--truncated-at {shown_time(at)} ") or RecordTruncate(at)


def _confirmed(state: TableState, request: RunRequest, doubt: str, count: CountRows, option: str = "") -> CountRows | None:
    """Return the action that counts rows, None if the number is confirmed or need not be; ``option`` goes before ``--confirm-rows``."""
    stated = request.confirm_rows.get(state.table.source)
    if not doubt and stated is None:
        return None
    if state.effect is None:
        return count
    is_alone = len(request.load_complete | request.truncate) < 2
    refuse_unconfirmed(state.table, doubt, state.effect, stated, f"{option}--confirm-rows {'' if is_alone else f'{state.table.source}='}")
    return None


def _load(state: TableState, request: RunRequest, batch: FileBatch | None, doubt: str) -> Action:
    """Return what a load on a branch needs; ``doubt``: why nothing proves that it is the new content."""
    table, branch, pending = state.table, state.branch, state.pending
    marker_doubt = state.marker.doubt(branch.progress, pending.loads) if state.marker is not None else ""
    is_confirmed = table.source in request.load_complete or (state.marker is not None and not marker_doubt)
    if is_complete(table, branch, batch, pending.loads, confirmed=is_confirmed):
        refuse_ignored_load(table, branch, pending)
        _refuse_empty_bronze(state)
        if state.switch:
            return SwitchMode(state.switch)
        if not has_load_file(branch, pending) and state.effect == Effect(0):
            doubt = ""
        return _confirmed(state, request, doubt, CountRows(branch)) or CompleteLoad(branch, state.main.head)
    if batch is not None and batch.is_load:
        return _batch(state, batch)
    nothing = [state.no_files.text] if state.no_files is not None and branch.head is None else []
    nothing += [f"{table.source}: {doubt} It will need --confirm-rows."] if doubt and has_load_file(branch, pending) else []
    return Wait((incomplete_warning(table, branch, marker_doubt, state.discard), *nothing))


def _batch(state: TableState, batch: FileBatch | RecordBatch) -> Action:
    """Return what a batch needs: to read its columns first, then to merge."""
    opened = state.opened
    if opened is None:
        return ReadFiles(batch)
    if state.switch and state.exists:
        return SwitchMode(state.switch)
    if opened.lost_backfills:
        return RestoreBackfills(opened.lost_backfills, state.branch.branch)
    planned = _batch_plan(state, opened)
    if opened.evolution is None:
        return SkipFiles(planned)
    if state.columns is None:
        names = [column.name for column in opened.evolution.shape.columns]
        return MergeBatch(planned, ordered(names, opened.evolution.shape.types))
    if opened.evolution.plan.operations:
        return EvolveSchema(opened.evolution.plan)
    return MergeBatch(planned)


def _batch_plan(state: TableState, opened: OpenedBatch) -> BatchPlan:
    progress, truncates = state.branch.progress, state.pending.truncates
    return BatchPlan(
        opened.batch,
        state.branch,
        state.main.head,
        state.pending.loads,
        applied_truncates(truncates, progress),
        # A table that this batch creates may have truncates after it, and within it.
        following=[at for at in truncates if at > progress.truncated],
        untried=state.records.untried if state.records is not None else None,
    )


def _end_of_rebuild(state: TableState) -> Action:
    table = state.table
    if state.branch.head is None:
        raise BronzeError(f"{table.source}: no file to rebuild {table.target} of below {state.uri}. Nothing was written.")
    if state.unresolved:
        return ResolveRejected(state.branch)
    if state.memory.comparisons >= MOST_COMPARISONS:
        raise TargetError(
            f"{table.source}: gave up after {MOST_COMPARISONS} tries to publish the rebuilt content, because others kept committing to "
            f"{table.target} while it was compared with the old one. Readers see the old content; nothing is lost. Pause the runs of this "
            f"table, and run with --rebuild {table.source} once more: it goes on where it is."
        )
    return PublishRebuild(state.branch, state.main.head)


def _idle(state: TableState, request: RunRequest) -> Action:
    """Nothing is left to merge into main. A table without any file may still have to be created."""
    table, nothing = state.table, state.no_files
    if state.tells_load:
        return CreateTable(None, is_loaded=True)
    checks = not state.is_checked
    if nothing is not None and (nothing.text or nothing.has_content):
        return Done((nothing.text,) if nothing.text else (), checks)
    if nothing is None and not state.pending.files:
        # There are objects that the job does not read, and it warned about them; or everything is merged.
        return Done(checks=checks)
    # Files without columns do not create a table, but they belong to it.
    is_loaded = nothing is not None and table.source in request.load_complete and state.branch.head is None
    if is_loaded:
        _refuse_empty_bronze(state)
    if not state.exists:
        types = declared_types(table)
        return CreateTable(types, is_loaded) if types is not None else Done((untyped(table),), checks)
    return CreateTable(None, is_loaded) if is_loaded else Done(checks=checks)


def _refuse_empty_bronze(state: TableState) -> None:
    """Refuse the word that a load without a file is complete where bronze has no file of any table: it is probably a mistake."""
    if state.no_files is not None and not state.no_files.has_bronze:
        raise BronzeError(
            f"{state.table.source}: --load-complete, but {state.uri} is empty. {state.table.target} stays as it is. Correct bronze.uri, or "
            "wait for the first file of any table."
        )


def _replay(state: TableState) -> Action:
    table = state.table
    if state.main.head is None:
        return Done()
    if state.lost_backfills:
        return RestoreBackfills(state.lost_backfills)
    if state.branch.branch is not None:
        raise TargetError(
            f"{table.source}: is being loaded again, and the new load replaces the rows that its quarantine holds. Run the job until the "
            "load is complete; what the new load rejects can be replayed then."
        )
    if state.records is None or not state.records.layouts:
        return Done()
    return _batch(state, state.records.batch)
