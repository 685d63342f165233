"""Tables that show the source's rows and are made of change files alone: rows that have not changed since are missing, unseen.

DMS writes no file for a source table that is empty when its load begins. So the operator, or DMS's own statement (`load_marker`), must tell
that such a table has all of its rows.
"""

import attrs

from dms_iceberg.config.model import Table
from dms_iceberg.context import BranchState, RunContext
from dms_iceberg.loads.load_marker import LoadMarker, read_marker
from dms_iceberg.modes.lookup import table_mode
from dms_iceberg.progress.merged_loads import MergedLoads
from dms_iceberg.progress.pending import Pending
from dms_iceberg.progress.progress import Progress


@attrs.frozen
class Told:
    """What is known of the load of a table without a file of it.

    Attributes:
        progress: the table's, with the statement that the load is complete, if there is one.
        is_new: the operator says so now, and the table does not remember it yet.
        warnings: for the operator.
    """

    progress: Progress
    is_new: bool = False
    warnings: tuple[str, ...] = ()


def told_load(context: RunContext, table: Table, found: BranchState, pending: Pending) -> Told:
    """Return what is known of a table's load; costs a request where it has no file of one.

    Args:
        context: the run.
        table: its configuration.
        found: the state of the branch that the next batch goes to.
        pending: what is listed for it.
    """
    progress = found.progress
    if found.branch is not None or not is_of_changes_alone(table, progress, pending):
        return Told(progress)
    if table.source in context.request.load_complete:
        return Told(attrs.evolve(progress, load_told=True), is_new=found.head is not None)
    marker = read_marker(context.store, table)
    marker = marker if marker is not None and marker.epoch == progress.epoch else None
    if marker is not None and marker.rows == 0:
        return Told(attrs.evolve(progress, load_told=True))
    return Told(progress, warnings=(_warning(table, marker),))


def is_of_changes_alone(table: Table, progress: Progress, pending: Pending) -> bool:
    """Whether a table that shows rows has change files, and no file of a full load was merged or is listed. Pure.

    A truncate is as good as a load: the source table was empty then. A log of changes (``append``) needs neither.
    """
    is_known = progress.load_told or progress.truncated or progress.loads != MergedLoads() or pending.loads
    return not table_mode(table.mode).is_log and not is_known and bool(progress.frontier or any(file.is_cdc for file in pending.files))


def _warning(table: Table, marker: LoadMarker | None) -> str:
    loaded = f" {marker.uri} says that {marker.rows:,} rows were loaded." if marker is not None else ""
    return (
        f"{table.source}: there are change files, but no file of a full load was merged or is in bronze. So rows that were at the source "
        f"before, and have not changed since, are missing in {table.target}.{loaded} Let DMS load the table, into a folder of its own "
        "(load_epoch). If the source table was empty when its capture began, or such rows are not wanted, say so once: run with "
        f"--load-complete {table.source}."
    )
