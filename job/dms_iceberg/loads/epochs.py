"""Which branch the next batch goes to, and when a reload becomes the table's content.

A load epoch is one full load: DMS writes each to its own folder (``.../epoch-2/``), and `bronze.uri` points to the current one. A new
epoch is built on a branch that begins without rows. Readers see the old content until the load is complete, and rows that were deleted
at the source while no task captured changes disappear in the same commit. Positions begin with the number of the load, so no change from
an earlier load can win over the new content.

A reload in place, into the folder of the previous load, is built the same way. Its files do not show which of them belong to it, nor
when it is complete: the operator states both.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

import attrs
import structlog

from dms_iceberg.bronze.keys import BronzeFile, digits_of, shown_time
from dms_iceberg.config.model import Table
from dms_iceberg.context import BranchState
from dms_iceberg.errors import BronzeError, TargetError
from dms_iceberg.failpoints import failpoint
from dms_iceberg.loads.kept_rows import kept_rows, switch_transaction
from dms_iceberg.loads.load_marker import MARKER_FOLDER
from dms_iceberg.loads.reload import load_transaction
from dms_iceberg.modes.lookup import table_mode
from dms_iceberg.progress.merged_loads import MergedLoads
from dms_iceberg.progress.pending import FileBatch
from dms_iceberg.progress.progress import PROGRESS_KEY, Progress
from dms_iceberg.silver.branch_summary import branch_summary, withheld_by
from dms_iceberg.silver.load_branches import branch_of, loads_by_branch, rebuild_branches
from dms_iceberg.silver.memory.cleaning import made_by
from dms_iceberg.silver.memory.held_columns import recorded_held
from dms_iceberg.silver.memory.name_changes import RETURNED_PROPERTY
from dms_iceberg.silver.memory.seen_columns import Seen
from dms_iceberg.silver.memory.withheld import Withheld
from dms_iceberg.silver.table import TargetTable
from dms_iceberg.silver.table_context import TableContext
from dms_iceberg.storage.store import ObjectStore

_LOG = structlog.get_logger("dms_iceberg")


def branch_state(here: TableContext, reload_started: str = "") -> BranchState:
    """Return the state of the branch that the next batch goes to: main, or the branch of a newer load than main's.

    Args:
        here: the table.
        reload_started: 17 digits, when DMS began to load the table again in place, as the operator stated; "" for no reload.

    Raises:
        BronzeError: the files belong to an older epoch than the table's content.
        TargetError: there is no load in this folder that a reload in place could follow.
    """
    config, table, target = here.context.config, here.table, here.target
    epoch = config.bronze.epoch
    head = target.head() if target.exists() else None
    if head is None:
        _refuse_reload(table, reload_started, f"{table.target} holds nothing yet: move LOAD files of an earlier load out of the folder")
        return BranchState(Progress(epoch=epoch), None)
    progress = target.progress()
    if progress.epoch > epoch:
        raise BronzeError(
            f"{table.source}: bronze.uri {config.bronze.uri} holds load epoch {epoch}, but {table.target} holds epoch {progress.epoch} "
            f"already. Its changes are older than the table. Set bronze.uri to the folder of epoch {progress.epoch} or of a later one."
        )
    if progress.epoch < epoch:
        _refuse_reload(table, reload_started, f"bronze.uri is the folder of load epoch {epoch}, which is being loaded for the first time")
        # No row of an older epoch was merged, so there is no content to protect.
        start = attrs.evolve(progress, epoch=epoch, reload=0, reloaded_at="", former_loads=MergedLoads()).start
        return BranchState(start, head.id) if progress.is_empty else _built(target, table, start)
    # Stated again, the begin of the content's own reload is known already.
    told = reload_started if reload_started != progress.reloaded_at else ""
    if told < progress.reloaded_at:
        since = f"{table.target} has the reload of {shown_time(progress.reloaded_at)} already, which is later"
        _refuse_reload(table, told, since)
    former = progress.former_loads.and_of(progress.loads)
    start = attrs.evolve(progress, reload=progress.reload + 1, reloaded_at=told, former_loads=former).start
    if target.head(branch_of(epoch, start.reload)) is not None or told:
        return _built(target, table, start)
    return BranchState(progress, head.id)


def discard_sql(target: TargetTable, found: BranchState) -> str:
    """Return the statement that discards what is built on a load's branch, "" for the table's content."""
    return target.drop_branch_sql(found.branch) if found.branch is not None else ""


def _refuse_reload(table: Table, reload_started: str, why: str) -> None:
    if reload_started:
        raise TargetError(f"{table.source}: --reload-started-at {shown_time(reload_started)}, but {why}. Leave the option out.")


def _built(target: TargetTable, table: Table, start: Progress) -> BranchState:
    """Return the state of a load's branch; it starts empty if another configuration built it, or it is a reload from another moment."""
    branch = branch_of(start.epoch, start.reload)
    built = target.head(branch)
    if built is None:
        return _begun(start, branch)
    progress = target.progress(branch)
    if start.reloaded_at not in ("", progress.reloaded_at):
        return _begun(start, branch, built.id)
    if progress.is_empty or not _is_built_by_configuration(target, table, branch):
        # The start of a reload in place is in the branch's progress: the operator does not state it again.
        return _begun(progress.start, branch, built.id)
    return BranchState(progress, built.id, branch)


def _begun(start: Progress, branch: str, there: int | None = None) -> BranchState:
    return BranchState(attrs.evolve(start, built_since=digits_of(datetime.now(UTC))), None, branch, begun=there)


def _is_built_by_configuration(target: TargetTable, table: Table, branch: str) -> bool:
    # Older snapshots on the branch, from before the load's first batch, have other content.
    newest = next((one.summary for one in target.lineage(branch) if PROGRESS_KEY in one.summary), {})
    summary = branch_summary(target, branch)
    withheld, seen = Withheld.from_properties(summary), Seen.from_properties(summary)
    # The load's rows lack a column that was held back until the document said what it is.
    is_released = withheld is not None and recorded_held(table, withheld, seen) != withheld.held
    return made_by(table).items() <= newest.items() and not is_released


def built_by_other_configuration(table: Table, target: TargetTable, found: BranchState) -> str | None:
    """Return the warning that a load is built again, by another configuration or from another moment; None if it is not."""
    if found.branch is None or found.begun is None:
        return None
    built = target.progress(found.branch)
    before = built.reloaded_at
    if found.progress.reloaded_at == before and built.is_empty and _is_built_by_configuration(target, table, found.branch):
        return None
    if found.progress.reloaded_at != before:
        return (
            f"{table.source}: the reload that was stated to have begun at {shown_time(before)} is built again from its first file, as it "
            f"is now stated to have begun at {shown_time(found.progress.reloaded_at)}."
        )
    return (
        f"{table.source}: what was built of load epoch {found.progress.epoch} was made with another configuration of mode, key, columns, "
        "drop, publish, other_columns, new_columns, filter or rules, so it is built again from its first file. "
        f"Readers see the old content of {table.target} until it is complete."
    )


def is_complete(table: Table, found: BranchState, batch: FileBatch | None, loads: Sequence[BronzeFile], *, confirmed: bool) -> bool:
    """Whether a reload is complete: nothing of the load is left to merge, and changes have begun, or the operator or DMS says so.

    Args:
        found: the state of the branch.
        batch: the next batch to merge; None if nothing is left.
        loads: all files of the load that bronze has; it may have lost merged ones.
        confirmed: whether the operator (``--load-complete``) or DMS (`load_marker`) says that the load is complete.

    Raises:
        BronzeError: there are changes, but no full load that they could belong to.
    """
    if batch is not None and batch.is_load:
        return False
    if confirmed or batch is None:
        return confirmed
    if not loads and found.progress.loads == MergedLoads():
        raise BronzeError(
            f"{table.source}: {batch.files[0].key} holds changes of load epoch {found.progress.epoch}, but there is no file of a full load "
            f"of this table in it, so {table.target} keeps the content it has. If the task only captures changes, leave bronze.uri in the "
            "folder of the epoch before; if the source table was empty when the load began, run with "
            f"--load-complete {table.source} once."
        )
    # During a reload in place, a change file may have been open when the load began.
    return not found.progress.reload


def begin_load(here: TableContext, found: BranchState) -> None:
    """Begin a load's branch without a file, in place of what was built there before: it knows when a reload in place began.

    Raises:
        PlanIsStaleError: another writer committed to the branch after ``found`` was read.
    """
    transaction = here.target.transaction_on(found)
    transaction.touch({PROGRESS_KEY: found.progress.to_json()} | made_by(here.table))
    here.target.commit(transaction)


def complete(here: TableContext, found: BranchState, planned_on: int | None) -> tuple[str, ...]:
    """Publish a complete load as the table's content; return warnings about rows that left though the load only rejected them.

    In a mirror the load replaces the content. In other modes the content stays, and what the load changes is merged into it (`reload`).

    Raises:
        PlanIsStaleError: another writer committed since ``planned_on``, main's head when the reload was found complete.
    """
    context, table, target = here.context, here.table, here.target
    progress = found.progress
    branch = branch_of(progress.epoch, progress.reload)
    if found.head is None:
        begin_load(here, attrs.evolve(found, progress=attrs.evolve(progress, load_told=True)))
    done = [name for load, name in loads_by_branch(target).items() if load <= (progress.epoch, progress.reload)]
    done += rebuild_branches(target)
    kept = kept_rows(here, found, branch)
    warnings = kept.warnings(here)
    if table_mode(table.mode).is_replaced_by_load:
        transaction = switch_transaction(here, found, branch, planned_on, kept)
    else:
        transaction = load_transaction(here, found, branch, planned_on, kept)
        target.record_properties(transaction, withheld_by(target, branch))
    transaction.set_properties(_seen_by(target, branch, found).to_properties())
    transaction.remove_properties([RETURNED_PROPERTY] if RETURNED_PROPERTY in target.properties() else [])
    transaction.remove_branches(done)
    failpoint("before-switch", table.source)
    target.commit(transaction)
    failpoint("after-switch", table.source)
    _LOG.info("load_complete", table=table.source, run_id=context.run_id, epoch=progress.epoch, reload=progress.reload)
    return warnings


def _seen_by(target: TargetTable, branch: str, found: BranchState) -> Seen:
    """Return which columns the table's files have had, those of the load included."""
    before = Seen.from_properties(target.properties())
    if found.head is None:
        return before
    return Seen.from_properties(branch_summary(target, branch), otherwise=before)


def has_bronze(store: ObjectStore) -> bool:
    """Whether bronze has any object except markers."""
    return any(not one.key.startswith(MARKER_FOLDER) for one in store.list(""))


def is_replaced(table: Table, found: BranchState) -> bool:
    """Whether a load is being built that will replace the table's content, with its rows and its key."""
    return found.branch is not None and table_mode(table.mode).is_replaced_by_load


def completed(table: Table, found: BranchState) -> str:
    """Return the message that a run would publish a complete load."""
    progress = found.progress
    name = f"the reload of {shown_time(progress.reloaded_at)}" if progress.reload else f"load epoch {progress.epoch}"
    return f"{table.source}: {name} would be complete and become the content of {table.target}"


def incomplete_warning(table: Table, found: BranchState, doubt: str, discard: str) -> str:
    """Return the warning for an incomplete reload with nothing left to merge; ``doubt``: why DMS's marker does not complete it."""
    progress = found.progress
    known = "is built" if found.head is not None else "has no file yet"
    if progress.reload:
        return (
            f"{table.source}: the reload of {shown_time(progress.reloaded_at)} {known}. It becomes the content of {table.target} with "
            f"--load-complete {table.source}: say so once DMS has loaded the table. Until then no later change is merged. If DMS does not "
            f"load it again, take the word back: {discard}."
        )
    return (
        f"{table.source}: load epoch {progress.epoch} {known} and becomes the content of {table.target} with its first change file. If the "
        f"source table is idle and its full load is complete, run with --load-complete {table.source} once.{doubt and f' {doubt}'}"
    )
