"""Columns that a condition uses as another type than text: in a cast, comparison or function. A value that does not fit is NULL there."""

from collections.abc import Iterator

from sqlglot import exp

from dms_iceberg.config.expressions import parsed_expression
from dms_iceberg.config.numeric_text import COMPARISONS, bare_columns, columns_as_numbers

NUMBER = "decimal(12,2)"
"""Stands for the type of a number, whatever it is at the source."""
_DATE, _TIME, _TRUTH = "date", "timestamp", "boolean"
_OF_DATES = (exp.TsOrDsToDate, exp.TsOrDsAdd)
_OF_TIMES = (exp.Hour, exp.Minute, exp.Second, exp.TimestampTrunc)
_TEXTS = ("CHAR", "VARCHAR", "NCHAR", "NVARCHAR", "TEXT")


def columns_as_types(condition: str) -> dict[str, str]:
    """Return the columns that a condition uses as a number, date, time or boolean, or casts, with the type to declare.

    A `try_cast` shows intent, and so does a cast that is compared with NULL: they are not reported.

    Raises:
        ExpressionError: the text is not one expression.
    """
    root = parsed_expression(condition)
    found = dict.fromkeys(columns_as_numbers(condition), NUMBER)
    operands = [(operand, _TRUTH) for operand in [root, *_truths(root)]]
    for node in root.walk():
        operands += _cast_operands(node)
    for operand, type_ in operands:
        for name in bare_columns(operand):
            found.setdefault(name, type_)
    return found


def _cast_operands(node: "exp.Expr") -> Iterator[tuple["exp.Expr", str]]:
    """Yield the operands of a node that Spark casts if they are text, with the type."""
    if isinstance(node.parent, exp.Is):
        return
    if isinstance(node, exp.Cast | exp.TryCast):
        if not node.args.get("safe") and node.to.this.name not in _TEXTS:
            yield node.this, node.to.sql("spark").lower()
    elif isinstance(node, _OF_DATES):
        yield node.this, _DATE
    elif isinstance(node, _OF_TIMES):
        yield node.this, _TIME
    elif isinstance(node, (*COMPARISONS, exp.Between, exp.In)):
        compared = [node.this, *filter(None, (node.args.get(part) for part in ("expression", "low", "high"))), *node.expressions]
        type_ = next(filter(None, map(_type_of, compared)), None)
        if type_ is not None:
            yield from ((one, type_) for one in compared)


def _type_of(node: "exp.Expr") -> str | None:
    """Return the type that a part of a condition obviously has; None for text, numbers and unknown types."""
    if isinstance(node, exp.Boolean):
        return _TRUTH
    if isinstance(node, exp.CurrentDate | exp.TsOrDsAdd | exp.TsOrDsToDate):
        return _DATE
    if isinstance(node, exp.CurrentTimestamp | exp.TimestampTrunc) or (isinstance(node, exp.Anonymous) and node.name.lower() == "now"):
        return _TIME
    if isinstance(node, exp.Cast):
        name = node.to.this.name
        return _DATE if name == "DATE" else _TIME if name.startswith("TIMESTAMP") else None
    return None


def _truths(root: "exp.Expr") -> Iterator["exp.Expr"]:
    for node in root.walk():
        if isinstance(node, exp.And | exp.Or):
            yield from (node.this, node.expression)
        asked = isinstance(node, exp.Is) and isinstance(node.expression, exp.Boolean)
        decides = isinstance(node, exp.If) and not isinstance(node.parent, exp.Case)
        if asked or decides or isinstance(node, exp.Not):
            yield node.this
