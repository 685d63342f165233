"""What the result of a model's query depends on beside the rows of its tables: what its names mean, and the clock. Pure."""

import json
import re
from collections.abc import Mapping
from enum import StrEnum

from sqlglot import exp

from dms_iceberg.config.constant_texts import constant_texts
from dms_iceberg.config.model_sql import parse_query, words
from dms_iceberg.config.sql_functions import (
    CLOCK_CALLS,
    DAY_CALLS,
    RANDOM_CALLS,
    REFUSED_WORDS,
    UNIX_TIMESTAMP,
    is_clock_text,
    is_moment_text,
)
from dms_iceberg.storage.store import digest

_PLAIN = re.compile(r"[a-z_]\w*", re.ASCII)
_ANY_NAME = "identifier"
"""``IDENTIFIER(...)`` makes a name of a text."""


class Clock(StrEnum):
    """How often the clock gives a query another result."""

    DAY = "day"
    MOMENT = "moment"


def names_in(sql: str) -> frozenset[str] | None:
    """Return all names that a query may have for columns, in folded case; None if it may take columns that it does not name.

    More names are returned than are columns: aliases and words of SQL are among them.
    """
    tree = parse_query(sql)
    if any(_takes_unnamed(node) for node in tree.walk()):
        return None
    found = [(text, is_call) for text, is_call, _ in words(sql)]
    if (_ANY_NAME, True) in found:
        return None
    return frozenset(text.casefold() for text, _ in found) | {one.name.casefold() for one in tree.find_all(exp.Identifier)}


def _takes_unnamed(node: "exp.Expr") -> bool:
    if isinstance(node, exp.Star):
        return not isinstance(node.parent, exp.Count)
    # A PIVOT groups by every column that it does not name; a natural join compares all columns that both sides have.
    return isinstance(node, exp.Pivot) or (isinstance(node, exp.Join) and str(node.args.get("method", "")).upper() == "NATURAL")


def meaning_of_names(sql: str, fields: Mapping[str, tuple[int, str]]) -> str:
    """Return a digest of what a query's names mean in a table.

    Names alone do not show it: after two renames another column has the name, and a column that is dropped and added again begins anew. A
    new column may change what a name means as well: it comes before an alias, and before a column of an outer query.

    Args:
        sql: the model's query.
        fields: id and type by name of the table's columns, in their order.
    """
    names = names_in(sql)
    columns = [[name.casefold(), *field] for name, field in fields.items()]
    if names is not None:
        # Of a name that needs quotes the text may show another spelling.
        columns = sorted(one for one in columns if one[0] in names or not _PLAIN.fullmatch(str(one[0])))
    return digest(json.dumps(columns), 8).hex()


def random_calls(sql: str) -> list[str]:
    """Return the functions that a query calls and that give other values at each refresh, without duplicates."""
    return sorted({word for word, is_call, _ in words(sql) if is_call and word in RANDOM_CALLS})


def clock_of(sql: str) -> Clock | None:
    """Return how often the clock gives a query another result; None if it does not read the clock."""
    found = list(words(sql))
    asked = {word for word, is_call, _ in found if is_call or word in REFUSED_WORDS}
    texts = list(constant_texts(parse_query(sql)))
    times = [text for text in texts if text is not None and is_clock_text(text)]
    # Of a text that only Spark can compute, nothing shows which it is.
    is_moment = None in texts or any(map(is_moment_text, times))
    if asked & CLOCK_CALLS or (UNIX_TIMESTAMP, True, True) in found or is_moment:
        return Clock.MOMENT
    return Clock.DAY if asked & DAY_CALLS or times else None
