"""Columns that the configuration names and files lack: a typing error, or a column that the source adds later or has dropped.

Such a column is NULL: a filter on it lets no row pass, and a silver column has no values. If no file ever had it, that is an error; if
older files had it, a warning.
"""

import unicodedata
from collections.abc import Collection, Sequence

import attrs

from dms_iceberg.bronze.keys import BronzeFile, table_prefix
from dms_iceberg.bronze.listing import list_files
from dms_iceberg.bronze.schema_groups import inspect
from dms_iceberg.changes.frames import ReadGroup
from dms_iceberg.changes.mapping import silver_columns
from dms_iceberg.changes.shape import Shape
from dms_iceberg.config.check_context import RESERVED_PREFIX
from dms_iceberg.config.former_names import former_names
from dms_iceberg.config.image_names import mentioned_sources
from dms_iceberg.config.model import BronzeFormat, Table
from dms_iceberg.config.named_columns import Named, absent, meant_by, named_columns, nearest, resembling, table_path
from dms_iceberg.config.problems import below, item, quoted
from dms_iceberg.config.publish import published_columns
from dms_iceberg.context import RunContext
from dms_iceberg.errors import BronzeError, ConfigError
from dms_iceberg.progress.progress import Progress
from dms_iceberg.silver.memory.seen_columns import Seen
from dms_iceberg.silver.schema.diff import Types

_AT_ONCE = 64


@attrs.frozen
class Lacking:
    """Warnings about columns that a batch's files lack, and the columns that were found in other files."""

    warnings: tuple[str, ...] = ()
    found: frozenset[str] = frozenset()


@attrs.frozen
class KnownTable:
    """What is known of a table before a batch.

    Attributes:
        columns: its columns, empty when it does not exist.
        seen: the columns that merged files have had, as far as the table remembers.
        progress: its progress.
        is_new: nothing has been merged into it.
        held: source columns, in lower case, that are held back from it (`silver.memory.held_columns`).
    """

    columns: Types
    seen: Seen
    progress: Progress
    is_new: bool
    held: Collection[str] = ()

    def filled(self, table: Table) -> set[str]:
        """Return the silver columns with a backfill, in lower case, that have had values from a source column."""
        if self.is_new:
            return set()
        there = {name.lower() for name in self.columns}
        backfilled = {column.name.lower() for column in table.columns if column.backfill is not None}
        # A table that has the column but does not remember its backfill had it before the declaration.
        return {name for name in backfilled & there if self.progress.first_seen.get(name) != ""}

    def accepted(self, table: Table, names: Sequence[str]) -> set[str]:
        """Return, in lower case, columns that are not typing errors, though files with the columns ``names`` lack them."""
        if self.is_new:
            return set()
        known = set(self.seen.every)
        known |= {name.lower() for name in self.columns if name.lower() in {word.lower() for word in published_columns(table)}}
        return known | _by_new_names(table, known)


def check_named(context: RunContext, table: Table, groups: Sequence[ReadGroup], files: Sequence[BronzeFile], known: KnownTable) -> Lacking:
    """Return a warning for each column that these files lack, though others had it.

    Costs nothing unless the files lack a column that the table does not remember. Then its other files are inspected, newest first: only
    unmerged ones, as the table remembers the columns of merged files; all of them if it is being created.

    Args:
        context: the context of the run.
        table: the table's configuration.
        groups: the batch, opened.
        files: the batch's files.
        known: what is known of the table.

    Raises:
        ConfigError: no file ever had a column, or the files have it in another Unicode form.
    """
    names = list(dict.fromkeys(name for group in groups for name in group.columns.names))
    seen, is_new = known.seen, known.is_new
    lacking = absent(table, names, known.filled(table))
    json = context.config.bronze.format is BronzeFormat.JSON
    # Columns that Spark cannot read are not among a group's source columns, but ``drop`` may name them for that reason.
    every = dict.fromkeys([*names, *(name for group in groups for name in group.group.names)])
    refuse_other_forms(table, list(every))
    kept = [] if json and not is_new else misspelt_drops(table, [name for name in every if name.lower() not in known.held])
    kept += _awaited_and_alike(table, names, seen)
    if not lacking:
        return Lacking(tuple(kept))
    if json:
        every_name = {*seen.every, *(name.lower() for name in names)}
        _refuse_alike(table, _unseen(table, lacking, every_name), every_name)
    if json and not is_new:
        return Lacking((*_never_seen(table, lacking, seen), *kept))
    accepted = known.accepted(table, names)
    suspects = [named for named in lacking if named.column.lower() not in accepted]
    # A JSON line may omit columns that are NULL, so a file does not show which columns exist.
    unknown, found = ([], set[str]()) if json or not suspects else _search(context, table, suspects, files, known)
    if unknown:
        raise ConfigError([_error(named, names) for named in unknown])
    warnings = [_warning(named, names) for named in lacking if not named.is_word and named.awaited is None]
    return Lacking((*warnings, *kept), frozenset(found))


def refuse_other_forms(table: Table, source: Sequence[str]) -> None:
    """Refuse names that differ from those of the files only in how Unicode writes them: both look alike, and would be two columns.

    Raises:
        ConfigError: the configuration has such names.
    """
    path, there = table_path(table), {name.lower() for name in source}
    drops = [Named(item(below(path, "drop"), index), name) for index, name in enumerate(table.drop)]
    named = [*named_columns(table), *drops]
    told = {one.column.lower() for one in named}
    forms = {_form(name): name for name in source if name.lower() not in told}
    found = [(one, forms[_form(one.column)]) for one in named if one.column.lower() not in there and _form(one.column) in forms]
    if found:
        raise ConfigError(
            [
                f"{one.path}: the name {one.column!a} is written in another Unicode form than the files have it ({name!a}), so it "
                "names none of their columns, though both look alike. Write it as the files do. Nothing was written."
                for one, name in found
            ]
        )


def _form(name: str) -> str:
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())


def _awaited_and_alike(table: Table, names: Sequence[str], seen: Seen) -> list[str]:
    """Return a warning for each column whose source column is still awaited and resembles one that the configuration does not name."""
    there = {name.lower() for name in names}
    claimed = {(column.source_name or column.name).lower() for column in table.columns}
    free = [name.casefold() for name in names if name.lower() not in claimed and name.lower() not in {key.lower() for key in table.key}]
    return [
        f"{named.path}: no file has had the column {named.column!r} yet, so rows have the backfill. {nearest(named.column, free)}"
        for named in named_columns(table)
        if named.awaited is not None and named.column.lower() not in there | seen.every and resembling(named.column, free)
    ]


def _unseen(table: Table, lacking: Sequence[Named], seen: set[str]) -> list[Named]:
    """Return those of ``lacking`` that are not among the columns ``seen``, by their old or new names."""
    known = seen | _by_new_names(table, seen)
    return [named for named in lacking if named.column.lower() not in known and not named.is_word]


def _refuse_alike(table: Table, unseen: Sequence[Named], seen: set[str]) -> None:
    """Refuse a column that no JSON line had if it resembles one that lines have and the configuration does not name: a typing error.

    Raises:
        ConfigError: there is such a column.
    """
    left = sorted(seen - mentioned_sources(table) - {key.lower() for key in table.key})
    without_backfill = [named for named in unseen if named.awaited is None]
    if misspelt := [named for named in without_backfill if resembling(named.column, left)]:
        raise ConfigError([_error(named, left) for named in misspelt])


def _never_seen(table: Table, lacking: Sequence[Named], seen: Seen) -> list[str]:
    """Return a warning for each column that no JSON line had so far; all its values may have been NULL."""
    return [
        f"{named.path}: no line so far has had the column {named.column!r}. {nearest(named.column, sorted(seen.every))}"
        for named in _unseen(table, lacking, set(seen.every))
    ]


def _by_new_names(table: Table, names: set[str]) -> set[str]:
    """Return the new names of those of ``names`` that have a declared rename."""
    return {new.lower() for old, new in former_names(table) if old.lower() in names}


def by_hand(table: Table, shape: Shape, names: Sequence[str], seen: Seen) -> list[str]:
    """Return a warning for each column of a table that neither files nor the configuration ever had: it was added by hand.

    Args:
        table: the table's configuration.
        shape: the table's columns.
        names: source columns of the batch's files.
        seen: source columns of merged files.
    """
    known = {*seen.every, *(name.lower() for name in names), *(column.name.lower() for column in table.columns)}
    known |= _by_new_names(table, known)
    ordinary = (column for column in shape.columns if column.source is not None and not column.retired and not column.family)
    return [
        f"{table.source}: {table.target} has a column {column.name!r} that no file and no configuration ever had, so it was added "
        "by hand. It is NULL in every row that is written from now on. Keep values of your own in another table, or let a gold model make "
        "them."
        for column in ordinary
        if column.name.lower() not in known and not column.name.startswith(RESERVED_PREFIX)
    ]


def misspelt_drops(table: Table, source: Sequence[str]) -> list[str]:
    """Return a warning for each name in ``drop`` that no file of the batch has, if it may have been written for a column that silver keeps.

    A name alone shows no error: the source may have dropped the column, `defaults` name it for other tables, or files may never have it, as
    columns that the source computes. So a column that the entry names elsewhere is meant to be there, whatever it resembles.
    """
    # Files of one batch may spell a column in more than one way.
    there = {name.lower(): name for name in source}
    meant = {name.lower() for name in (*table.drop, *table.key)} | mentioned_sources(table)
    silver = {column.name.lower() for column in silver_columns(table, list(there.values()))}
    kept = [name for name in there.values() if name.lower() in silver and name.lower() not in meant]
    return [
        f"{item(below(table_path(table), 'drop'), index)}: the files have no column {name!r}, so nothing is dropped by it, and "
        f"{table.target} has {alike[0]!r}. If {alike[0]!r} was to be left out, correct the name. If it is to be there, declare it in "
        f'columns, as {{"name": "{alike[0]}"}}.'
        for index, name in enumerate(table.drop)
        if name.lower() not in there and (alike := meant_by(name, kept))
    ]


def unused_drops(table: Table, source: Sequence[str]) -> list[str]:
    """Return a note for the names in ``drop`` that no file of a new table has, though nothing shows an error (`misspelt_drops`)."""
    there = {name.lower() for name in source}
    unused = [name for name in dict.fromkeys(table.drop) if name.lower() not in there]
    return [
        f"{below(table_path(table), 'drop')}: leaves out nothing by {quoted(unused)}: no file has such a column. That is right for one "
        "that the source computes, or has no more; a misspelt name would leave its column in."
    ] * bool(unused)


def _search(
    context: RunContext, table: Table, suspects: Sequence[Named], files: Sequence[BronzeFile], known: KnownTable
) -> tuple[list[Named], set[str]]:
    """Inspect other files for columns; return those that no file ever had, and the names of those that were found."""
    progress, own = known.progress, {file.key for file in files}
    prefix = table_prefix(table.schema_name, table.table_name)
    listing = list(list_files(context.store, prefix, "" if known.is_new else progress.since, context.config.bronze.format))
    others = [file for file in listing if file.key not in own and (known.is_new or not progress.holds(file))]
    nowhere = _nowhere(context, table, suspects, sorted(others, reverse=True))
    found = {named.column.lower() for named in suspects} - {named.column.lower() for named in nowhere}
    return nowhere, found


def _nowhere(context: RunContext, table: Table, lacking: Sequence[Named], files: Sequence[BronzeFile]) -> list[Named]:
    """Return those that none of ``files`` has; none if a file is damaged: it may have any column, and is reported when it is merged."""
    left = list(lacking)
    for start in range(0, len(files), _AT_ONCE):
        if not left:
            break
        try:
            groups = inspect(context.store, files[start : start + _AT_ONCE], context.config.bronze, table)
        except BronzeError:
            return []
        found = {name.lower() for group in groups for name in group.names}
        found |= _by_new_names(table, found)
        left = [named for named in left if named.column.lower() not in found]
    return left


def _error(named: Named, names: Sequence[str]) -> str:
    if named.is_word:
        return f"{named.path}: neither the table nor any file has the column {named.column!r}. {nearest(named.column, names)}"
    effect = "NULL" if named.awaited is None else "its backfill or NULL"
    return (
        f"{named.path}: no file has the column {named.column!r}, so it would be {effect} in every row. {nearest(named.column, names)} "
        "Correct the name; or leave it out until the source has the column."
    )


def _warning(named: Named, names: Sequence[str]) -> str:
    effect = "the filter lets no row pass whose condition is NULL" if named.is_filter else "it is NULL for their rows"
    return f"{named.path}: the new files lack the column {named.column!r}: {effect}. {nearest(named.column, names)}"
