"""The constant texts of a query: Spark computes them before it runs the query, and may take one for a time of the clock. Pure."""

from collections.abc import Callable, Iterator

from sqlglot import exp
from sqlglot.optimizer.annotate_types import annotate_types

_TEXTS = (exp.RawString, exp.National)
_SOURCES = (*_TEXTS, exp.HexString, exp.Chr)
_VARIABLE = (exp.Column, exp.Identifier, exp.Query, exp.Star, exp.Placeholder, exp.Parameter, exp.AggFunc, exp.Window, exp.UDTF)
_NO_TEXT = (exp.TimestampTrunc, exp.DateTrunc, exp.FromTimeZone, exp.TimestampFromParts, exp.WidthBucket)
_NO_TEXT_CALLS = frozenset(
    {"date_part", "datepart", "hash", "xxhash64", "window", "try_to_timestamp", "to_timestamp_ltz", "to_timestamp_ntz"}
)
"""Functions whose values are no texts, which sqlglot does not know."""


def constant_texts(tree: "exp.Expr") -> Iterator[str | None]:
    """Yield each text that a query has, or computes from constants alone; None for one that only Spark can compute.

    Of a text that is computed, its parts are yielded as well.
    """
    nodes = list(tree.walk(prune=_is_computed))
    for node in nodes:
        if _is_computed(node):
            yield folded(node)
            yield from filter(None, map(literal_text, node.walk()))
        elif (text := literal_text(node)) is not None:
            yield text


def literal_text(node: "exp.Expr") -> str | None:
    """Return the value of a text literal, also of a raw one; None for another node."""
    return node.name if isinstance(node, _TEXTS) or (isinstance(node, exp.Literal) and node.is_string) else None


def folded(node: "exp.Expr") -> str | None:
    """Return the value of an expression of text constants, None where it is not one of the simple ones."""
    if isinstance(node, exp.Literal):
        return node.name
    if (text := literal_text(node)) is not None:
        return text
    parts = _parts(node)
    texts = [folded(part) for part in parts]
    return _made(node, "".join(text for text in texts if text is not None)) if parts and None not in texts else None


_CASES: dict[type["exp.Expr"], Callable[[str], str]] = {exp.Upper: str.upper, exp.Lower: str.lower}


def _made(node: "exp.Expr", text: str) -> str:
    return _CASES.get(type(node), str)(text)


def _parts(node: "exp.Expr") -> "list[exp.Expr]":
    """Return the expressions whose values, one after the other, are that of ``node``; none where it is computed in another way."""
    if isinstance(node, exp.Concat):
        return list(node.expressions)
    if isinstance(node, exp.DPipe):
        return [node.left, node.right]
    if isinstance(node, exp.Cast):
        return [node.this] if node.to.this is exp.DataType.Type.TEXT else []
    return [node.this] if isinstance(node, exp.Paren | exp.Upper | exp.Lower) else []


def _is_computed(node: "exp.Expr") -> bool:
    """Whether a node is no literal, and may be a text that does not depend on any row."""
    if isinstance(node, (exp.Literal, *_TEXTS, exp.DataType, *_VARIABLE)) or not isinstance(node, exp.Condition):
        return False
    if isinstance(node, exp.If) and isinstance(node.parent, exp.Case):
        # A branch, which sqlglot has as a node of its own.
        return False
    below = list(node.walk())
    if any(isinstance(one, _VARIABLE) for one in below):
        return False
    return any(isinstance(one, _SOURCES) or literal_text(one) is not None for one in below) and _may_be_text(node)


def _may_be_text(node: "exp.Expr") -> bool:
    if isinstance(node, _NO_TEXT) or (isinstance(node, exp.Anonymous) and _is_known(node.name.lower())):
        return False
    kind = annotate_types(node.copy(), dialect="spark").type
    return kind is None or kind.is_type(*exp.DataType.TEXT_TYPES, exp.DataType.Type.UNKNOWN, exp.DataType.Type.NULL)


def _is_known(name: str) -> bool:
    return name in _NO_TEXT_CALLS or name.startswith(("timestamp_", "make_", "unix_"))
