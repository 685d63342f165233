"""Tables without any file in bronze: mostly a wrong `bronze.uri` or a wrong name, sometimes a source table without rows.

DMS writes nothing for an empty source table, yet readers expect its target. Bronze does not show whether the source table is empty or the
job looks in the wrong place. So the job creates the empty table only if DMS (`load_marker`) or the operator says that its load is complete.
"""

import contextlib

import attrs

from dms_iceberg.bronze.keys import is_foreign, shown_time, table_prefix
from dms_iceberg.bronze.nearest_folders import nameless, neighbour, whereabouts
from dms_iceberg.config.model import Table
from dms_iceberg.context import BranchState, RunContext
from dms_iceberg.loads.epochs import has_bronze
from dms_iceberg.loads.load_marker import read_marker
from dms_iceberg.progress.pending import Pending
from dms_iceberg.spark.failures import FAILURES
from dms_iceberg.storage.store import join


@attrs.frozen
class NoFiles:
    """A table's folder without any object of the table.

    Attributes:
        text: the message for the operator, "" if all is well: the source table is known to be empty.
        has_content: whether files were merged into the table.
        has_bronze: whether there is any object below `bronze.uri`.
    """

    text: str
    has_content: bool = False
    has_bronze: bool = True

    @property
    def is_wrong(self) -> bool:
        """Whether the configuration must be wrong, or the table does not exist yet: no run would do anything for it."""
        return bool(self.text) and not (self.has_content and self.has_bronze)


def find_no_files(context: RunContext, table: Table, found: BranchState, pending: Pending) -> NoFiles | None:
    """Return what is known of a table with nothing to merge; None if its folder has any file, merged or not.

    Costs one request if the listing from the frontier was empty, and some more if the folder is empty.

    Args:
        found: the state of the branch that the next batch would go to.
        pending: what the listing has for it.
    """
    prefix = table_prefix(table.schema_name, table.table_name)
    if not pending.is_nothing or any(not is_foreign(one.key.removeprefix(prefix)) for one in context.store.list(prefix)):
        return None
    is_there = has_bronze(context.store)
    nothing = f"{table.source}: no files under {join(context.store.root, prefix)}"
    with contextlib.suppress(*FAILURES):
        if odd := nameless(context.store, table.schema_name, table.table_name):
            return NoFiles(f"{nothing}; {odd}.", not found.progress.is_empty or found.branch is not None, is_there)
    # Permission to list the folders of the tables may not extend to other folders, and these texts are only hints.
    with contextlib.suppress(*FAILURES):
        nothing += f"; {whereabouts(context.store, table.schema_name, table.table_name)}"
    with contextlib.suppress(*FAILURES):
        nothing += neighbour(context.store) if not is_there else ""
    nothing += "" if nothing.endswith("?") else "."
    if not found.progress.is_empty:
        upto = f" up to {shown_time(found.progress.frontier)}" if found.progress.frontier else ""
        text = (
            f"{nothing} Files{upto} are merged into {table.target}. Correct bronze.uri unless it is the folder that DMS writes to, and has "
            "lost them all since."
        )
        return NoFiles(text, True, is_there)
    if found.branch is not None:
        return NoFiles(nothing, True, is_there)
    reported = _dms_report(context, table, found)
    if reported is None:
        return NoFiles("", has_bronze=is_there)
    return NoFiles(
        f"{nothing} Wait if DMS has yet to begin; else correct bronze.uri, or the table's name. If the source table has no row and DMS has "
        f"loaded it, say so once: run with --load-complete {table.source} makes the empty table.{reported}",
        has_bronze=is_there,
    )


def _dms_report(context: RunContext, table: Table, found: BranchState) -> str | None:
    """Return what DMS reports of a table that was never merged into, with a leading blank; None if it is known to be empty."""
    # A snapshot without a file in its progress records an earlier statement of the operator.
    if table.source in context.request.load_complete or found.head is not None:
        return None
    marker = read_marker(context.store, table)
    if marker is None or marker.epoch != found.progress.epoch:
        return ""
    return None if marker.rows == 0 else f" {marker.uri} says that {marker.rows:,} rows were loaded."
