"""Files from before a rename that was done in a table and that the document no longer declares: it knows one former name at most."""

from collections.abc import Collection, Iterable, Mapping, Sequence

import attrs

from dms_iceberg.bronze.schema_groups import SchemaGroup
from dms_iceberg.config.model import Table
from dms_iceberg.config.named_columns import declared_sources, table_path
from dms_iceberg.errors import SchemaChangeError
from dms_iceberg.silver.memory.cleaning import Cleaning, declared_renames


@attrs.frozen
class _Names:
    """The names that a silver column has had at the source, in lower case.

    Attributes:
        column: the silver column.
        source: its present name at the source.
        declared: its former name that the document declares; "" without one.
        earlier: its names before these, by the renames that were done.
    """

    column: str
    source: str
    declared: str
    earlier: frozenset[str]


def refuse_forgotten_names(
    table: Table,
    groups: Sequence[SchemaGroup],
    older: Collection[SchemaGroup],
    made: Cleaning | None,
    existing: Iterable[str],
    *,
    by_row: bool,
) -> None:
    """Refuse files that have a column under a name which it had before an earlier rename, by which nobody would find it.

    Args:
        table: the table's configuration.
        groups: the files, or rejected rows.
        older: those of them whose place is not after the merged files: late ones, and all of a rebuild or replay.
        made: what the table's content was made with, hence which renames were done; None if there is none, or nothing is known of it.
        existing: the table's columns.
        by_row: rows may leave out columns (JSON lines).

    Raises:
        SchemaChangeError: there are such files.
    """
    told = {name.lower() for name in table.drop} | declared_sources(table)
    every = _names_of(table, made.renames, {name.lower() for name in existing}) if made is not None else []
    for one in every:
        earlier = one.earlier - told
        for group in groups:
            names, is_older = {name.lower() for name in group.names}, group in older
            # Of JSON lines other rows of the batch may have the present name.
            is_before = not names & {one.source, one.declared} or (by_row and not one.declared)
            if earlier & names and is_before and (one.declared or is_older):
                raise _error(table, one, group, min(earlier & names))
            if is_older and one.source in names and names & {one.declared, *earlier}:
                # Both names: the former one is that of another column by now, or the present one was another column's then.
                others = (other for other in every if other != one and one.source in other.earlier and other.source not in names)
                if (other := next(others, None)) is not None:
                    raise _error(table, other, group, one.source)


def _names_of(table: Table, renames: Mapping[str, str], existing: Collection[str]) -> list[_Names]:
    declared, sources = declared_renames(table), {one.name.lower(): (one.source_name or "").lower() for one in table.columns}
    there = {*existing, *sources}
    columns = {name: source for name in {**declared, **renames} if name in there and (source := sources.get(name, name))}
    return [
        _Names(name, source, declared.get(name, ""), frozenset(_earlier(renames, declared.get(name, name), there)))
        for name, source in columns.items()
    ]


def _earlier(renames: Mapping[str, str], name: str, there: Collection[str]) -> list[str]:
    found = list[str]()
    # The former names of another column are none of this one's.
    while (name := renames.get(name, "")) and name not in found:
        found.append(name)
        if name in there:
            break
    return found


def _error(table: Table, one: _Names, group: SchemaGroup, found: str) -> SchemaChangeError:
    lacks = f"neither {one.source!r} nor {one.declared!r}" if one.declared else f"no {one.source!r}"
    epoch = "let DMS load the table into a new load epoch: its files have present names"
    if found in declared_sources(table):
        way_out = f"{epoch[0].upper()}{epoch[1:]}."
    elif one.declared:
        way_out = f'For late files and rejected rows run once with "renamed_from": "{found}"; for a rebuild {epoch}.'
    else:
        way_out = (
            f'If it is that column, put "renamed_from": "{found}" back in the entry of {one.column!r}. If it is another column, name it in '
            f'columns, as {{"name": "{found}"}}.'
        )
    where = group.files[0].key if group.files else "a rejected row"
    return SchemaChangeError(
        f"{table_path(table)}.columns: {where} has {lacks}, and {found!r} instead, which is what {one.source!r} was called "
        f"before a rename that the document does not declare any more, so {one.column!r} would be NULL in its rows. Nothing was written. "
        f"{way_out}"
    )
