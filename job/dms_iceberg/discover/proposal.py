"""What is proposed for a table: an entry of the configuration, or the reasons why there is none. Values only."""

from collections.abc import Iterable

import attrs


@attrs.frozen(kw_only=True)
class Declared:
    """An entry of ``columns``, and why it is there.

    ``source`` is the column that it copies, where that has another name; ``expression`` is the SQL that it has instead.
    """

    name: str
    source: str = ""
    expression: str = ""
    type: str = ""
    why: str


@attrs.frozen(kw_only=True)
class Entry:
    """A table that can be replicated.

    Attributes:
        table: ``schema.table``.
        key: source columns, in the order of the index.
        key_from: where the key is from.
        dropped: columns that silver does not get, with the reason.
        as_text: columns that DMS must write as text, with the reason.
        notes: what else a person should know.
        suggested: entries of ``columns`` that a person must decide on; printed as comments.
        source_columns: all source columns, for CSV without a header.
        key_confirmed: False for a key that is only proposed.
    """

    table: str
    key: tuple[str, ...]
    key_from: str
    declared: tuple[Declared, ...] = ()
    dropped: tuple[tuple[str, str], ...] = ()
    as_text: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()
    suggested: tuple[Declared, ...] = ()
    source_columns: tuple[str, ...] = ()
    key_confirmed: bool = True


@attrs.frozen(kw_only=True)
class LeftOut:
    """A table without an entry, why, and what to do."""

    table: str
    reasons: tuple[str, ...]


Proposal = Entry | LeftOut


def shown(name: str) -> str:
    """Return a name for a text of one line: as it is if nobody can misread it, else in quotes, with escapes."""
    plain = name.isprintable() and name == name.strip() and name and not set(name) & set("'\"\\,:;()")
    return name if plain else ascii(name)


def shown_names(names: Iterable[str]) -> str:
    """Return names as ``a, b``."""
    return ", ".join(shown(name) for name in names)


def grouped(reasons: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    """Return ``a, b: reason`` for each reason of ``(column, reason)``, in the order in which they come."""
    columns: dict[str, list[str]] = {}
    for column, reason in reasons:
        columns.setdefault(reason, []).append(column)
    return tuple(f"{shown_names(names)}: {reason}" for reason, names in columns.items())
