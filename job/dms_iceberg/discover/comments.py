"""What the printed texts say in comments, the same in each syntax. Pure."""

import textwrap
from collections.abc import Iterable, Sequence

from dms_iceberg.discover.catalog import Catalog
from dms_iceberg.discover.proposal import Entry, LeftOut, Proposal, shown
from dms_iceberg.source.address import Engine

_WIDTH = 100
_ENGINES = {Engine.POSTGRESQL: "PostgreSQL", Engine.MYSQL: "MySQL"}


def comments(texts: Iterable[str]) -> list[str]:
    """Return texts as comment lines. Nothing in a text ends a line, whatever a name has in it."""
    return [f"# {line}" for text in texts for line in textwrap.wrap(one_line(text), _WIDTH, break_long_words=False, break_on_hyphens=False)]


def one_line(text: str) -> str:
    """Return a text in which nothing ends a line or moves the cursor."""
    return "".join(character if character.isprintable() else "?" for character in text)


def head(catalog: Catalog, proposals: Sequence[Proposal]) -> str:
    """Return where a text is from, and how many tables it has."""
    entries = sum(isinstance(one, Entry) for one in proposals)
    database = f", database {shown(catalog.database)}" if catalog.database else ""
    rest = len(proposals) - entries
    end = f"; {rest} left out, at the end with the reasons" if rest else ""
    return f"Written by dms-iceberg discover from {_ENGINES[catalog.engine]}{database}: {entries} table{'s' * (entries != 1)}{end}."


def of_entry(entry: Entry) -> list[str]:
    """Return what a person should know of an entry as a whole."""
    return [f"key: {entry.key_from}", *entry.notes]


def left_out(proposals: Iterable[Proposal]) -> list[str]:
    """Return which tables have no entry, why, and what to do."""
    return [f"{shown(one.table)}: {reason}" for one in proposals if isinstance(one, LeftOut) for reason in one.reasons]


def end(proposals: Iterable[Proposal]) -> list[str]:
    """Return the last lines of a text."""
    lines = comments(f"- {text}" for text in left_out(proposals))
    return ["", "# Left out:", *lines] if lines else []
