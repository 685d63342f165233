"""Tables without any file in bronze: mostly a wrong `bronze.uri` or a wrong name, now and then a source table without a row.

DMS writes nothing for an empty source table, yet readers expect its target. Nothing in bronze tells one from a table that is looked for in
the wrong place, so its empty table is made only when somebody says that its load is complete: DMS (`load_marker`), or the operator.
"""

import contextlib

import attrs

from dms_iceberg.bronze.keys import is_foreign, table_prefix
from dms_iceberg.bronze.nearest_folders import neighbour, whereabouts
from dms_iceberg.config.model import Table
from dms_iceberg.context import BranchState, RunContext
from dms_iceberg.loads.epochs import has_bronze
from dms_iceberg.loads.load_marker import read_marker
from dms_iceberg.progress.pending import Pending
from dms_iceberg.silver.table import TargetTable
from dms_iceberg.spark.failures import FAILURES
from dms_iceberg.storage.store import join


@attrs.frozen
class NoFiles:
    """A table's folder without a single object that is the table's.

    Attributes:
        text: what to say of it, "" when it is as it should be: the source table is known to be empty.
        has_content: files were merged into the table.
        has_bronze: there is something below `bronze.uri`.
    """

    text: str
    has_content: bool = False
    has_bronze: bool = True

    @property
    def is_wrong(self) -> bool:
        """Whether the configuration cannot be right, or the table is not there yet: no run would do anything for it."""
        return bool(self.text) and not (self.has_content and self.has_bronze)


def find_no_files(context: RunContext, table: Table, target: TargetTable, found: BranchState, pending: Pending) -> NoFiles | None:
    """Look at a table with nothing to merge; None when there is anything in its folder, merged or not.

    Costs one request where the listing from the frontier held nothing, and some more where the folder is empty.

    Args:
        found: where the next batch would go.
        pending: what the listing held for it.
    """
    prefix = table_prefix(table.schema_name, table.table_name)
    if not pending.is_nothing or any(not is_foreign(one.key.removeprefix(prefix)) for one in context.store.list(prefix)):
        return None
    is_there = has_bronze(context.store)
    nothing = f"{table.source}: no files under {join(context.store.root, prefix)}"
    # Who may list the folders of the tables may not be allowed to list others, and these are only hints.
    with contextlib.suppress(*FAILURES):
        nothing += f"; {whereabouts(context.store, table.schema_name, table.table_name)}"
    with contextlib.suppress(*FAILURES):
        nothing += neighbour(context.store) if not is_there else ""
    nothing += "" if nothing.endswith("?") else "."
    if not found.progress.is_empty:
        upto = f" up to {found.progress.frontier[:14]} (UTC)" if found.progress.frontier else ""
        text = (
            f"{nothing} Files{upto} are merged into {table.target}. Correct bronze.uri unless it is the folder that DMS writes to, and has "
            "lost them all since."
        )
        return NoFiles(text, True, is_there)
    if found.branch is not None:
        return NoFiles(nothing, True, is_there)
    said = _said(context, table, found)
    if said is None:
        return NoFiles("", has_bronze=is_there)
    return NoFiles(
        f"{nothing} Wait if DMS has yet to begin; else correct bronze.uri, or the table's name. If the source table has no row and DMS has "
        f"loaded it, say so once: run with --load-complete {table.source} makes the empty table.{said}",
        has_bronze=is_there,
    )


def _said(context: RunContext, table: Table, found: BranchState) -> str | None:
    """Return what DMS says of a table that was never merged into, with a blank before it; None when it is known to be empty."""
    # A snapshot without a file in its progress is the operator's word, given before.
    if table.source in context.request.load_complete or found.head is not None:
        return None
    marker = read_marker(context.store, table)
    if marker is None or marker.epoch != found.progress.epoch:
        return ""
    return None if marker.rows == 0 else f" {marker.uri} says that {marker.rows:,} rows were loaded."
