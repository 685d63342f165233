"""Since when the source has a column that is declared with a ``backfill``, which decides what it means that a file lacks it.

A file without the column, or a JSON line without the member, looks the same whether the column was not yet added, was dropped since, or is
NULL in every row. The position of the first change that had the column decides. Below it the source had not added the column yet, and gave
the row the backfill when it did; from this position on the value is NULL.

A table stores that position with its progress, as `Progress.first_seen`: it is a fact about the source, so it outlives loads and rebuilds.
"""

from collections.abc import Collection, Mapping, Sequence

from dms_iceberg.bronze.position import load_position
from dms_iceberg.changes.frames import ReadGroup
from dms_iceberg.changes.identity import clock_prefix
from dms_iceberg.changes.normalise import normalise_sql
from dms_iceberg.config.model import Bronze, BronzeFormat, Column, Table
from dms_iceberg.config.named_columns import table_path
from dms_iceberg.config.problems import below, item
from dms_iceberg.progress.progress import Progress
from dms_iceberg.sql.cdc_columns import OLD_KEY, POSITION, PROBLEM
from dms_iceberg.sql.quoting import quote

FirstSeen = Mapping[str, str | None]
"""By silver column in lower case: the position of the first change that had it, "" if none had it so far, None if that is unknown."""


def known_before(table: Table, progress: Progress, existing: Collection[str] | None = None) -> FirstSeen:
    """Return what is known about a table's columns with a backfill before a batch. Without a merged file, all is known: no file had them.

    Args:
        existing: the table's columns, if they may lack declared ones, which the batch will add.
    """
    there = {name.lower() for name in existing} if existing is not None else {column.name.lower() for column in table.columns}
    return {
        column.name.lower(): _known(column, progress.first_seen, "" if progress.is_empty or column.name.lower() not in there else None)
        for column in _backfilled(table)
    }


def _backfilled(table: Table) -> list[Column]:
    return [column for column in table.columns if column.backfill is not None and column.expr is None]


def _known(column: Column, seen: Mapping[str, str], nothing: str | None) -> str | None:
    names = (column.name, column.renamed_from or column.name)
    return next((seen[name.lower()] for name in names if name.lower() in seen), nothing)


def remembered(progress: Progress, found: FirstSeen) -> dict[str, str]:
    """Return `Progress.first_seen` after a batch is merged for which ``found`` was known."""
    return {**progress.first_seen, **{name: first for name, first in found.items() if first is not None}}


def seen_with(table: Table, groups: Sequence[ReadGroup], bronze: Bronze, progress: Progress) -> FirstSeen:
    """Return what is known with the files of a batch. Takes a Spark job if change files have a column that no file had before.

    Args:
        table: the table's configuration.
        groups: the batch, opened.
        bronze: how its files are written.
        progress: the progress before the batch.
    """
    found, load = dict(known_before(table, progress)), progress.load
    new: dict[str, str] = {}
    for name, source in _sources(table).items():
        having = [group for group in groups if source in _columns(group)]
        loaded = [_loaded(group, bronze, load) for group in having if not group.group.is_cdc]
        if found[name] is not None:
            found[name] = min(filter(None, [found[name], *loaded]), default="")
        if having and found[name] == "":
            new[name] = source
    return found | _first_positions(groups, bronze, table, load, new)


def seen_in_late(table: Table, groups: Sequence[ReadGroup], bronze: Bronze, progress: Progress, found: FirstSeen, low: str) -> FirstSeen:
    """Correct ``found``, the result of `seen_with`, for a batch whose lowest position is ``low``.

    A late file may have a column earlier than known. Takes a Spark job where that is possible.
    """
    known = known_before(table, progress)
    late = {name: source for name, source in _sources(table).items() if low and known[name] and low < str(found[name])}
    earlier = _first_positions(groups, bronze, table, progress.load, late)
    return {**found, **{name: min(position, str(found[name])) for name, position in earlier.items() if position}}


def _sources(table: Table) -> dict[str, str]:
    return {column.name.lower(): (column.source_name or "").lower() for column in _backfilled(table)}


def _columns(group: ReadGroup) -> dict[str, str]:
    return {name.lower(): name for name in group.columns.names}


def _loaded(group: ReadGroup, bronze: Bronze, load: int) -> str:
    """Return the lowest position at which a full load has a column; for JSON that of the load, as a file may omit a column that is NULL."""
    if bronze.format is BronzeFormat.JSON or not group.group.files:
        return clock_prefix("", load)
    return min(load_position(load, file.order) for file in group.group.files)


def _first_positions(groups: Sequence[ReadGroup], bronze: Bronze, table: Table, load: int, wanted: Mapping[str, str]) -> dict[str, str]:
    """Return the lowest position of a change with each of the ``wanted`` columns (source column by name), "" where there is none."""
    found = dict.fromkeys(wanted, "")
    for group in groups:
        present = {name: _columns(group)[source] for name, source in wanted.items() if source in _columns(group)}
        if not present or not group.group.is_cdc:
            continue
        conditions = [f"{PROBLEM} IS NULL" + (f" AND {quote(name)} IS NOT NULL" if _is_sparse(bronze) else "") for name in present.values()]
        lowest = [f"min(CASE WHEN {condition} THEN {POSITION} END)" for condition in conditions]
        frame = group.frame.selectExpr("*", f"0 AS {OLD_KEY}")
        for step in normalise_sql(group.group, group.columns, bronze.change, table, load):
            frame = frame.selectExpr(*step)
        row = frame.selectExpr(*lowest).collect()[0]
        found |= {name: min(filter(None, [found[name], row[n]]), default="") for n, name in enumerate(present)}
    return found


def _is_sparse(bronze: Bronze) -> bool:
    """Whether a row may leave out a column that another row of its file has."""
    return bronze.format is BronzeFormat.JSON


def unknown_warnings(table: Table, groups: Sequence[ReadGroup], known: FirstSeen) -> list[str]:
    """Return a warning for each column that these files lack if it is unknown since when the source has it."""
    warnings = []
    for index, column in enumerate(table.columns):
        source = (column.source_name or "").lower()
        if known.get(column.name.lower(), "") is None and any(source not in _columns(group) for group in groups):
            warnings.append(
                f"{item(below(table_path(table), 'columns'), index)}.backfill: the files lack the column {column.source_name!r}, and "
                f"{table.target} does not know since when the source has it, as the backfill was declared "
                "later. It is NULL in their rows, which is wrong if the source has not added it yet. To let the table know, run "
                f"with --rebuild {table.source}; if the source has dropped the column, remove the backfill."
            )
    return warnings


def earlier_warnings(table: Table, bronze: Bronze, known: FirstSeen, found: FirstSeen) -> list[str]:
    """Return a warning for each column that a late file had earlier than known: rows in between may have the backfill instead of NULL."""
    if not _is_sparse(bronze):
        # In other formats a file from before the change lacks the column, whenever it arrives.
        return []
    moved = sorted(name for name, first in found.items() if known.get(name) and first and first < str(known[name]))
    return [
        f"{table.source}: a late file has the column {name!r} earlier than any other. Rows of {table.target} without it that were changed "
        f"since, and merged before, have the backfill instead of NULL. To mend them run with --rebuild {table.source}."
        for name in moved
    ]
