"""Which line of a table's snapshots the next batch goes to, and when a reload becomes the table's content.

A load epoch is one full load: DMS writes each to a folder of its own (``.../epoch-2/``), and `bronze.uri` points to the current one. A new
epoch is built on a branch that begins without a row, so readers see the old content until the load is complete, and rows that vanished
from the source while nobody watched are gone in the same commit. Positions begin with the number of the load, so no change from before
can ever win over the new content.

A reload in place, into the folder of the load before, is built the same way. Its files do not tell which of them belong to it, nor
when it is complete: the operator says both.
"""

from collections.abc import Sequence

import structlog

from dms_iceberg.config.model import Config, Mode, Table
from dms_iceberg.errors import BronzeError
from dms_iceberg.faults import reach
from dms_iceberg.job import Job, Standing
from dms_iceberg.progress import PROGRESS_KEY, Progress
from dms_iceberg.staging.keys import BronzeFile
from dms_iceberg.staging.plan import FileBatch
from dms_iceberg.target.table import TargetTable

_LOG = structlog.get_logger("dms_iceberg")
_BRANCH = "dms_iceberg_epoch_"


def branch_of(epoch: int, reload: int = 0) -> str:
    """Return the branch on which a load is built: of an epoch, or of the n-th reload in place in it."""
    return f"{_BRANCH}{epoch}_{reload}" if reload else f"{_BRANCH}{epoch}"


def building(target: TargetTable) -> list[str]:
    """Return the loads that are being built beside the table's content, as ``epoch`` or ``epoch.reload``, in order."""
    return [".".join(map(str, load)) for load in sorted(_loads(target))]


def _loads(target: TargetTable) -> dict[tuple[int, ...], str]:
    names = [name for name in target.branches() if name.startswith(_BRANCH)]
    return {tuple(map(int, name.removeprefix(_BRANCH).split("_"))): name for name in names}


def standing(target: TargetTable, config: Config, table: Table, reload_started: str = "") -> Standing:
    """Return where the next batch goes: to main, or to the branch of a newer load than main's.

    Args:
        reload_started: 17 digits, when the table was loaded again in place by the operator's word; "" for never.

    Raises:
        BronzeError: the files belong to an older epoch than the table's content, or the table's mode cannot be loaded again.
    """
    epoch = config.bronze.epoch
    head = target.head() if target.exists() else None
    if head is None:
        return Standing(Progress(epoch=epoch), None)
    progress = target.progress()
    if progress.epoch > epoch:
        raise BronzeError(
            f"{table.source}: bronze.uri {config.bronze.uri} holds load epoch {epoch}, but {table.target} holds epoch {progress.epoch} "
            f"already. Its changes are older than the table. Set bronze.uri to the folder of epoch {progress.epoch} or of a later one."
        )
    if progress.epoch < epoch:
        # Without a row of an older epoch there is no content to protect.
        start = Progress(epoch=epoch)
        return Standing(start, head.id) if progress.is_empty else _built(target, table, start)
    start = Progress(epoch=epoch, reload=progress.reload + 1, reloaded_at=reload_started, since=reload_started)
    if target.head(branch_of(epoch, start.reload)) is not None or reload_started > progress.reloaded_at:
        return _built(target, table, start)
    return Standing(progress, head.id)


def _built(target: TargetTable, table: Table, start: Progress) -> Standing:
    if table.mode is not Mode.MIRROR:
        raise BronzeError(
            f"{table.source}: the source was loaded again, and a table of mode {table.mode.value} keeps what a load does not have. "
            "Building it from a second load is not available in this version: give the new load a new target, or go on with the epoch "
            "before."
        )
    branch = branch_of(start.epoch, start.reload)
    built = target.head(branch)
    return Standing(target.progress(branch), built.id, branch) if built is not None else Standing(start, None, branch)


def is_complete(table: Table, found: Standing, batch: FileBatch | None, loads: Sequence[BronzeFile], *, told: bool) -> bool:
    """Say whether a reload is complete: nothing of the load is left to merge, and changes have begun or the operator says so.

    Args:
        found: the branch's standing.
        batch: what is to be merged next.
        loads: all files of the load.
        told: the operator's word (``--load-complete``).

    Raises:
        BronzeError: there are changes, but no full load that they could belong to.
    """
    if batch is not None and batch.is_load:
        return False
    if told or batch is None:
        return told
    if not loads:
        raise BronzeError(
            f"{table.source}: {batch.files[0].key} holds changes of load epoch {found.progress.epoch}, but there is no file of a full load "
            f"of this table in it, so {table.target} keeps the content it has. If the task only captures changes, leave bronze.uri in the "
            "folder of the epoch before; if the source table was empty when the load began, run with "
            f"--load-complete {table.source} once."
        )
    # In place, a change file may have been open when the load began.
    return not found.progress.reload


def complete(job: Job, table: Table, target: TargetTable, found: Standing, planned_on: int | None) -> None:
    """Make a complete load the content of the table.

    Raises:
        BronzeError: the folder of the epoch is empty, so it is probably not what the operator meant.
        PlanIsStaleError: somebody committed since ``planned_on``, main's head when the reload was found complete.
    """
    progress = found.progress
    branch = branch_of(progress.epoch, progress.reload)
    if found.head is None:
        if next(iter(job.store.list("", "")), None) is None:
            raise BronzeError(
                f"{table.source}: --load-complete, but {job.config.bronze.uri} is empty. {table.target} keeps the content it has. "
                "Correct bronze.uri, or wait for the first file of any table."
            )
        draft = target.draft(None, branch)
        draft.touch({PROGRESS_KEY: progress.to_json()})
        target.publish(draft)
    reach("before-switch", table.source)
    done = [name for load, name in _loads(target).items() if load <= (progress.epoch, progress.reload)]
    target.replace_main(branch, planned_on, remove=done)
    _LOG.info("load_complete", table=table.source, run_id=job.run_id, epoch=progress.epoch, reload=progress.reload)


def waiting(table: Table, found: Standing) -> str:
    """Return the warning of a reload that is not complete and has nothing left to merge."""
    progress = found.progress
    known = "is built" if found.head is not None else "has no file yet"
    if progress.reload:
        return (
            f"{table.source}: the reload of {progress.reloaded_at[:14]} {known}. It becomes the content of {table.target} with "
            f"--load-complete {table.source}: say so once DMS has loaded the table. Until then no change is merged."
        )
    return (
        f"{table.source}: load epoch {progress.epoch} {known} and becomes the content of {table.target} with its first change file. If the "
        f"source table is idle and its full load is complete, run with --load-complete {table.source} once."
    )
