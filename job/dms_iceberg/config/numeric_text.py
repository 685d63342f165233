"""Columns that a condition uses as numbers. If such a column is text, a value that is not a number silently becomes NULL there."""

from collections.abc import Iterator

from sqlglot import exp

from dms_iceberg.config.expressions import parsed_expression

COMPARISONS = (exp.GT, exp.GTE, exp.LT, exp.LTE, exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ)
"""In these, Spark casts each operand to the type of the other."""
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod)
_OF_NUMBERS = (exp.Neg, exp.Abs, exp.Round, exp.Ceil, exp.Floor, exp.Sqrt, exp.Sign)
_FUNCTIONS_OF_NUMBERS = ("pmod", "mod", "positive", "negative", "bround", "cbrt")


def columns_as_numbers(condition: str) -> frozenset[str]:
    """Return the columns that a condition compares with a number, or computes with, and does not cast.

    Raises:
        ExpressionError: the text is not one expression.
    """
    found: set[str] = set()
    for node in parsed_expression(condition).walk():
        for operand in _number_operands(node):
            found.update(bare_columns(operand))
    return frozenset(found)


def _number_operands(node: "exp.Expr") -> list["exp.Expr"]:
    """Return the operands that Spark casts to numbers if they are text."""
    if isinstance(node, _ARITHMETIC):
        return [node.this, node.expression] if _is_number(node) else []
    if isinstance(node, _OF_NUMBERS):
        return [node.this]
    if isinstance(node, exp.Anonymous):
        return node.expressions if node.name.lower() in _FUNCTIONS_OF_NUMBERS else []
    if isinstance(node, COMPARISONS):
        compared = [node.this, node.expression]
    elif isinstance(node, exp.Between):
        compared = [node.this, node.args["low"], node.args["high"]]
    elif isinstance(node, exp.In | exp.Greatest | exp.Least):
        compared = [node.this, *node.expressions]
    else:
        return []
    return compared if any(_is_number(one) for one in compared) else []


def _is_number(node: "exp.Expr") -> bool:
    if isinstance(node, exp.Paren | exp.Neg):
        return _is_number(node.this)
    if isinstance(node, _ARITHMETIC):
        # A time and an interval give a time.
        return not isinstance(node.this, exp.Interval) and not isinstance(node.expression, exp.Interval)
    return isinstance(node, exp.Literal) and not node.is_string


def bare_columns(node: "exp.Expr") -> Iterator[str]:
    """Yield the columns whose plain value may be the value of a part of an expression; fields of structs have a type already."""
    if isinstance(node, exp.Column):
        if len(node.parts) == 1:
            yield node.name
        return
    parts: list[exp.Expr] = []
    if isinstance(node, exp.Paren):
        parts = [node.this]
    elif isinstance(node, exp.Coalesce | exp.Greatest | exp.Least):
        parts = [node.this, *node.expressions]
    elif isinstance(node, exp.If):
        parts = [node.args["true"], *filter(None, [node.args.get("false")])]
    elif isinstance(node, exp.Nullif):
        parts = [node.this]
    elif isinstance(node, exp.Case):
        parts = [*(one.args["true"] for one in node.args["ifs"]), *filter(None, [node.args.get("default")])]
    for part in parts:
        yield from bare_columns(part)
