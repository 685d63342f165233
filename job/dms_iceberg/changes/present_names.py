"""Gives columns of files from before a declared rename at the source (``columns[].renamed_from``) their present names. Pure.

A file of Parquet or CSV has one structure, so its columns tell whether it is from before the rename. JSON lines of all files are read
together, and a line may omit what is NULL: there each row is known by its values.
"""

from collections.abc import Iterable, Mapping, Sequence

import attrs

from dms_iceberg.config.image_names import image_of
from dms_iceberg.config.model import Change, Column, Table
from dms_iceberg.sql.quoting import quote, string_literal
from dms_iceberg.sql.types import VOID


@attrs.frozen
class PresentNames:
    """How a frame gets the present names of its columns.

    Attributes:
        select: the select list over the frame; None where nothing is to be done.
        former: columns, in lower case, that have a value in ambiguous rows only. The quarantine stores them, and nothing else reads them.
        problem: SQL, over the result, of the problem of an ambiguous row, NULL for others; None where no row can be ambiguous.
    """

    select: tuple[str, ...] | None = None
    former: frozenset[str] = frozenset()
    problem: str | None = None


def present_names(columns: Sequence[tuple[str, str]], table: Table, change: Change, *, by_row: bool) -> PresentNames:
    """Return how a frame with ``columns`` (name, Spark type) gets the names of now.

    Args:
        columns: the columns of the frame.
        table: the table's configuration.
        change: how the files name before-images.
        by_row: rows of the frame may be of different structure, and lack columns that are NULL.
    """
    present = {name.lower(): name for name, _ in columns}
    selected = {name: [quote(name)] for name, _ in columns}
    former: set[str] = set()
    problems = []
    for column in table.columns:
        old, new = column.renamed_from, column.source_name
        if old is None or new is None or old.lower() == new.lower():
            continue
        pairs = [(old, new)]
        of_old, of_new = image_of(change, old), image_of(change, new)
        # A name cannot be both a column's and an image's.
        if of_old is not None and of_new is not None and len({name.lower() for name in (old, new, of_old, of_new)}) == 4:
            pairs.append((of_old, of_new))
        found = [(present[was.lower()], present.get(now.lower(), now)) for was, now in pairs if was.lower() in present]
        newer = [present[now.lower()] for _, now in pairs if now.lower() in present]
        if not by_row:
            # With both names, the source uses the old one again, and its image is that column's. Else the image can only be the new one's.
            uses_again = old.lower() in present and new.lower() in present
            found = [] if uses_again else [(was, now) for was, now in found if now.lower() not in present]
        if not found:
            continue
        if not by_row or not newer:
            selected |= {was: [f"{quote(was)} AS {quote(now)}"] for was, now in found}
            continue
        is_both = f"({_has_value(was for was, _ in found)}) AND ({_has_value(newer)})"
        read = _alike({name: type_ for name, type_ in columns if name in {*newer, *(was for was, _ in found)}})
        for was, now in found:
            if now in selected:
                selected[now] = [f"CASE WHEN {is_both} THEN {read[now]} ELSE coalesce({read[now]}, {read[was]}) END AS {quote(now)}"]
                selected[was] = []
            else:
                selected[was] = [f"CASE WHEN NOT ({is_both}) THEN {read[was]} END AS {quote(now)}"]
            selected[was].append(f"CASE WHEN {is_both} THEN {read[was]} END AS {quote(was)}")
            former.add(was.lower())
        problems.append(f"CASE WHEN {_has_value(was for was, _ in found)} THEN {string_literal(_problem(column))} END")
    select = tuple(sql for sqls in selected.values() for sql in sqls)
    if select == tuple(quote(name) for name, _ in columns):
        return PresentNames()
    return PresentNames(select, frozenset(former), f"coalesce({', '.join(problems)})" if problems else None)


def _has_value(names: Iterable[str]) -> str:
    return " OR ".join(f"{quote(name)} IS NOT NULL" for name in names)


def _alike(types: Mapping[str, str]) -> dict[str, str]:
    """Return SQL of columns in one type: files may have the two names in different types."""
    is_one = len(set(types.values()) - {VOID}) <= 1
    return {name: quote(name) if is_one else f"CAST({quote(name)} AS string)" for name in types}


def _problem(column: Column) -> str:
    old, new = column.renamed_from, column.source_name
    return (
        f"ambiguous_rename: the row has values of {new} and of {old}, its former name (renamed_from). If the source uses the name {old} "
        "again, declare both columns without renamed_from, and replay"
    )
