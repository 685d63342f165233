"""The columns that a table's entry names, and where: for checks against the columns that files have."""

import difflib
import re
from collections.abc import Collection, Iterable, Iterator

import attrs

from dms_iceberg.config import problems
from dms_iceberg.config.check_context import RESERVED_PREFIX
from dms_iceberg.config.expressions import referenced_columns
from dms_iceberg.config.model import Table
from dms_iceberg.config.problems import below, item, listed
from dms_iceberg.config.publish import published_columns

_SHOWN = 30
_ALIKE = 0.75
_WORD = re.compile(r"[^\W_]+")


@attrs.frozen
class Named:
    """A column, and the key path of the text that names it.

    Attributes:
        condition: whether the text is the filter or a rule, where silver columns are visible too.
        is_filter: whether it is the filter, where NULL means that the row is not in silver.
        is_word: whether it is in ``publish``, which accepts names of either side and computes no value.
        awaited: the silver column with a ``backfill``: it may be declared before the source has it.
    """

    path: str
    column: str
    condition: bool = False
    is_filter: bool = False
    is_word: bool = False
    awaited: str | None = None


def declared_sources(table: Table) -> set[str]:
    """Return, in lower case, the source columns that the entries of ``columns`` are of."""
    return {column.source_name.lower() for column in table.columns if column.source_name is not None}


def table_path(table: Table) -> str:
    """Return the key path of a table's entry."""
    return below("tables", table.source)


def named_columns(table: Table) -> Iterator[Named]:
    """Yield the columns that columns, filter, rules and ``publish`` name, except the job's own. Keys are checked when files are opened."""
    for named in _named(table):
        if not named.column.lower().startswith(RESERVED_PREFIX):
            yield named


def _named(table: Table) -> Iterator[Named]:
    path = table_path(table)
    for index, column in enumerate(table.columns):
        where = item(below(path, "columns"), index)
        if column.expr is not None:
            yield from (Named(f"{where}.expr", name) for name in sorted(referenced_columns(column.expr)))
        else:
            awaited = column.name.lower() if column.backfill is not None else None
            yield Named(f"{where}.{'from' if column.source else 'name'}", column.source or column.name, awaited=awaited)
    if table.filter is not None:
        yield from (Named(below(path, "filter"), name, True, True) for name in sorted(referenced_columns(table.filter)))
    for index, rule in enumerate(table.rules):
        where = item(below(path, "rules"), index)
        yield from (Named(f"{where}.expr", name, True) for name in sorted(referenced_columns(rule.expr)))
    yield from (Named(below(path, "publish"), name, True, is_word=True) for name in published_columns(table))


def absent(table: Table, source: Iterable[str], filled: Collection[str] = ()) -> list[Named]:
    """Return named columns that are neither a source column nor, in conditions, a declared one.

    Args:
        table: its configuration.
        source: columns of files.
        filled: silver columns with a backfill, in lower case, that the source has already added.
    """
    sources = {name.lower() for name in source}
    visible = sources | {column.name.lower() for column in table.columns}
    # If the source already has the awaited column, or has had it, this name is an error: it is not a column that the source will add.
    due = (named for named in named_columns(table) if named.awaited is None or named.awaited in filled or named.awaited in sources)
    return [named for named in due if named.column.lower() not in (visible if named.condition else sources)]


def resembling(name: str, names: Iterable[str]) -> list[str]:
    """Return those of ``names`` of which ``name`` may be a misspelling, the most similar one first."""
    by_fold = {one.casefold(): one for one in names}
    return [by_fold[one] for one in difflib.get_close_matches(name.casefold(), by_fold, n=max(len(by_fold), 1), cutoff=_ALIKE)]


def meant_by(name: str, names: Iterable[str]) -> list[str]:
    """Return those of ``names`` that ``name`` may have been written for: similar names, then those with its words and more, or with fewer.

    ``ssn`` may have been written for ``ssn_number``, which is no similar name.
    """
    names = list(names)
    alike, words = resembling(name, names), _words(name)
    return [*alike, *(one for one in names if one not in alike and (words <= _words(one) or _words(one) <= words))]


def _words(name: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(name)} or {name.casefold()}


def nearest(name: str, names: Iterable[str]) -> str:
    """Return ``Did you mean 'x'?`` for a similar name, otherwise the first of the names."""
    words = list({one.casefold(): one for one in names}.values())
    if near := problems.nearest(name, words):
        return f"Did you mean {near!r}?"
    more = f" and {len(words) - _SHOWN} more" if len(words) > _SHOWN else ""
    return f"They have {listed(words[:_SHOWN])}{more}."
