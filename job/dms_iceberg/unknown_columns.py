"""Columns that the configuration names and files lack: a typing error, or a column that the source adds later or has dropped.

Such a column is NULL, which empties a table by its filter and fills a column with nothing. Where no file tells of it, that is an error;
where older files may have had it, a warning.
"""

import difflib
from collections.abc import Sequence

from dms_iceberg.changes.frames import ReadGroup
from dms_iceberg.changes.inspect import inspect
from dms_iceberg.config.model import BronzeFormat, Table
from dms_iceberg.config.named_columns import Named, absent, nearest, table_path
from dms_iceberg.config.problems import below, item
from dms_iceberg.errors import BronzeError, ConfigError
from dms_iceberg.job import Job
from dms_iceberg.staging.keys import BronzeFile, table_prefix
from dms_iceberg.staging.listing import list_files
from dms_iceberg.target.evolve import is_kept
from dms_iceberg.target.schema_diff import Types

_AT_ONCE = 64
_ALIKE = 0.75


def check_named(
    job: Job,
    table: Table,
    groups: Sequence[ReadGroup],
    existing: Types | None,
    *,
    fresh: bool,
    files: Sequence[BronzeFile],
    loads: Sequence[BronzeFile],
) -> tuple[str, ...]:
    """Return a warning for each column that these files lack, though others may have it.

    Costs nothing but for a table that lacks something: then its other files are looked into, newest first, when it is made; and one file
    of the full load when the filter of an existing table is concerned.

    Args:
        groups: the batch, opened.
        existing: the table's columns, None when it does not exist.
        fresh: nothing has been merged into the table.
        files: the batch's files.
        loads: all files of the full load.

    Raises:
        ConfigError: no file has a column.
    """
    names = list(dict.fromkeys(name for group in groups for name in group.columns.names))
    lacking = absent(table, names)
    json = job.config.bronze.format is BronzeFormat.JSON
    # What Spark cannot read is in no group's columns, and dropped for that very reason.
    every = dict.fromkeys([*names, *(name for group in groups for name in group.group.names)])
    kept = [] if json and not fresh else misspelt_drops(table, list(every), fresh=fresh)
    if not lacking or (json and not fresh):
        return tuple(kept)
    # A line of JSON may leave out what is NULL, so that nothing is known from a file.
    had = set() if fresh else {name.lower() for name in existing or {} if is_kept(table, names, name)}
    suspects = [named for named in lacking if fresh or (named.is_filter and named.column.lower() not in had)]
    unknown = [] if json else _unknown(job, table, suspects, fresh=fresh, files=files, loads=loads)
    if unknown:
        raise ConfigError([_error(named, names) for named in unknown])
    return (*(_warning(named, names) for named in lacking), *kept)


def misspelt_drops(table: Table, source: Sequence[str], *, fresh: bool) -> list[str]:
    """Return a warning for each name in ``drop`` that no file of the batch has, and that a column which silver keeps resembles.

    Without such a column the source may have dropped it, or `defaults` name it for other tables: that is told once, when a table is made.
    """
    there = {name.lower() for name in source}
    dropped = {name.lower() for name in table.drop}
    kept = [name for name in source if name.lower() not in dropped and is_kept(table, source, name)]
    found = []
    for index, name in enumerate(table.drop):
        resembles = difflib.get_close_matches(name.casefold(), [one.casefold() for one in kept], n=1, cutoff=_ALIKE)
        if name.lower() not in there and (resembles or fresh):
            found.append(
                f"{item(below(table_path(table), 'drop'), index)}: the files have no column {name!r}, so nothing is dropped by it. "
                f"{nearest(name, kept)}"
            )
    return found


def _unknown(
    job: Job, table: Table, suspects: Sequence[Named], *, fresh: bool, files: Sequence[BronzeFile], loads: Sequence[BronzeFile]
) -> list[Named]:
    if fresh:
        own = {file.key for file in files}
        prefix = table_prefix(table.schema_name, table.table_name)
        others = [file for file in list_files(job.store, prefix, "", job.config.bronze.format) if file.key not in own]
        return _nowhere(job, table, suspects, sorted(others, reverse=True))
    return _nowhere(job, table, suspects, sorted(loads)[-1:]) if loads else []


def _nowhere(job: Job, table: Table, lacking: Sequence[Named], files: Sequence[BronzeFile]) -> list[Named]:
    """Return those that none of ``files`` has. What is in a damaged file is told when its turn comes, and may be anything until then."""
    left = list(lacking)
    for start in range(0, len(files), _AT_ONCE):
        if not left:
            break
        try:
            groups = inspect(job.store, files[start : start + _AT_ONCE], job.config.bronze, table)
        except BronzeError:
            return []
        found = {name.lower() for group in groups for name in group.names}
        left = [named for named in left if named.column.lower() not in found]
    return left


def _error(named: Named, names: Sequence[str]) -> str:
    return (
        f"{named.path}: no file has the column {named.column!r}, so it would be NULL in every row. {nearest(named.column, names)} "
        "Correct the name; or leave it out until the source has the column."
    )


def _warning(named: Named, names: Sequence[str]) -> str:
    effect = "the filter lets no row pass whose condition is NULL" if named.is_filter else "it is NULL for their rows"
    return f"{named.path}: the new files lack the column {named.column!r}: {effect}. {nearest(named.column, names)}"
