"""Which line of a table's snapshots the next batch goes to, and when a reload becomes the table's content.

A load epoch is one full load: DMS writes each to a folder of its own (``.../epoch-2/``), and `bronze.uri` points to the current one. A new
epoch is built on a branch that begins without a row, so readers see the old content until the load is complete, and rows that vanished
from the source while nobody watched are gone in the same commit. Positions begin with the epoch, so no change of an older epoch can ever
win over the new content.
"""

from collections.abc import Sequence

import structlog

from dms_iceberg.config.model import Config, Table
from dms_iceberg.errors import BronzeError
from dms_iceberg.faults import reach
from dms_iceberg.job import Job, Standing
from dms_iceberg.progress import PROGRESS_KEY, Progress
from dms_iceberg.staging.keys import BronzeFile
from dms_iceberg.staging.plan import FileBatch
from dms_iceberg.target.table import TargetTable

_LOG = structlog.get_logger("dms_iceberg")
_BRANCH = "dms_iceberg_epoch_"


def branch_of(epoch: int) -> str:
    """Return the branch on which a load epoch is built."""
    return f"{_BRANCH}{epoch}"


def building(target: TargetTable) -> list[int]:
    """Return the epochs that are being built beside the table's content."""
    return sorted(int(name.removeprefix(_BRANCH)) for name in target.branches() if name.startswith(_BRANCH))


def standing(target: TargetTable, config: Config, table: Table) -> Standing:
    """Return where the next batch goes: to main, or to the branch of a newer epoch than main's.

    Raises:
        BronzeError: the files belong to an older epoch than the table's content.
    """
    epoch = config.bronze.epoch
    head = target.head() if target.exists() else None
    if head is None:
        return Standing(Progress(epoch=epoch), None)
    progress = target.progress()
    if progress.epoch == epoch:
        return Standing(progress, head.id)
    if progress.is_empty and progress.epoch < epoch:
        # Without a row of an older epoch there is no content to protect.
        return Standing(Progress(epoch=epoch), head.id)
    if progress.epoch > epoch:
        raise BronzeError(
            f"{table.source}: bronze.uri {config.bronze.uri} holds load epoch {epoch}, but {table.target} holds epoch {progress.epoch} "
            f"already. Its changes are older than the table. Set bronze.uri to the folder of epoch {progress.epoch} or of a later one."
        )
    branch = branch_of(epoch)
    built = target.head(branch)
    if built is None:
        return Standing(Progress(epoch=epoch), None, branch)
    return Standing(target.progress(branch), built.id, branch)


def is_complete(table: Table, found: Standing, batch: FileBatch | None, loads: Sequence[BronzeFile], *, told: bool) -> bool:
    """Say whether a reload is complete: nothing of the load is left to merge, and changes have begun or the operator says so.

    Args:
        found: the branch's standing.
        batch: what is to be merged next.
        loads: all LOAD files of the epoch.
        told: the operator's word (``--load-complete``).

    Raises:
        BronzeError: there are changes, but no full load that they could belong to.
    """
    if batch is not None and batch.is_load:
        return False
    if told:
        return True
    if batch is not None and not loads:
        raise BronzeError(
            f"{table.source}: {batch.files[0].key} holds changes of load epoch {found.progress.epoch}, but the epoch has no full-load "
            f"file of this table, so {table.target} keeps the content it has. If the task only captures changes, leave bronze.uri in the "
            "folder of the epoch before; if the source table was empty when the load began, run with "
            f"--load-complete {table.source} once."
        )
    return batch is not None


def complete(job: Job, table: Table, target: TargetTable, found: Standing, planned_on: int | None) -> None:
    """Make a complete epoch the content of the table.

    Raises:
        BronzeError: the folder of the epoch is empty, so it is probably not what the operator meant.
        PlanIsStaleError: somebody committed since ``planned_on``, main's head when the reload was found complete.
    """
    branch = branch_of(found.progress.epoch)
    if found.head is None:
        if next(iter(job.store.list("", "")), None) is None:
            raise BronzeError(
                f"{table.source}: --load-complete, but {job.config.bronze.uri} is empty. {table.target} keeps the content it has. "
                "Correct bronze.uri, or wait for the first file of any table."
            )
        draft = target.draft(None, branch)
        draft.touch({PROGRESS_KEY: found.progress.to_json()})
        target.publish(draft)
    reach("before-switch", table.source)
    done = [branch_of(epoch) for epoch in building(target) if epoch <= found.progress.epoch]
    target.replace_main(branch, planned_on, remove=done)
    _LOG.info("load_epoch_complete", table=table.source, run_id=job.run_id, epoch=found.progress.epoch)


def waiting(table: Table, found: Standing) -> str:
    """Return the warning of a reload that is neither complete nor has anything left to merge."""
    epoch = found.progress.epoch
    known = "is built" if found.head is not None else "has no file yet"
    return (
        f"{table.source}: load epoch {epoch} {known} and becomes the content of {table.target} with its first change file. If the source "
        f"table is idle and its full load is complete, run with --load-complete {table.source} once."
    )
