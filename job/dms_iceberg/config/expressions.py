"""Check the document's SQL expressions, and find the columns that they use, without Spark.

sqlglot parses them. It accepts a little more than Spark, so Spark may still refuse an expression that passes here.
"""

from functools import lru_cache

import sqlglot
from sqlglot import Token, TokenType, exp
from sqlglot.errors import ParseError

from dms_iceberg.config.sql_functions import REFUSED_CALLS, REFUSED_WORDS, is_clock_literal, is_clock_text
from dms_iceberg.config.statements import parse_statements

_PREFIX = "SELECT "
_LIKES = (TokenType.LIKE, TokenType.ILIKE, TokenType.RLIKE)
_NO_NAMES = (TokenType.STRING, TokenType.NUMBER)


class ExpressionError(ValueError):
    """The text is not one Spark SQL expression over one row."""


def referenced_columns(expr: str) -> frozenset[str]:
    """Return the columns that an expression reads, spelled as in the expression.

    For a field of a struct (``address.city``) the column is the first part. Lambda variables are not columns.

    Raises:
        ExpressionError: the text is not one expression.
    """
    columns = parsed_expression(expr).find_all(exp.Column)
    return frozenset(column.parts[0].name for column in columns)


def expression_problems(expr: str) -> list[str]:
    """Return what is wrong with an expression: at most one syntax error, or every refused construct."""
    try:
        tree = parsed_expression(expr)
    except ExpressionError as error:
        return [str(error)]
    return [*_tree_problems(tree), *_token_problems(_tokens(expr))]


@lru_cache(maxsize=4096)
def parsed_expression(expr: str) -> "exp.Expr":
    """Return an expression as sqlglot's tree, which the caller must not change.

    Raises:
        ExpressionError: the text is not one expression.
    """
    # Without SELECT, sqlglot would take a bare text such as `set` for a statement.
    statements = parse_statements(_PREFIX + expr, ExpressionError, _syntax_message)
    if len(statements) != 1:
        raise ExpressionError("several statements; write one expression, without ';'")
    return _single_expression(statements[0])


def _single_expression(statement: "exp.Expr | None") -> "exp.Expr":
    if not isinstance(statement, exp.Select):
        raise ExpressionError("not an expression")
    if not statement.expressions:
        raise ExpressionError("empty; write an expression")
    clauses = [key.rstrip("_") for key, value in statement.args.items() if value and key != "expressions"]
    if clauses:
        raise ExpressionError(f"a query, not an expression: '{clauses[0]}' is not allowed here")
    if len(statement.expressions) != 1:
        raise ExpressionError(f"{len(statement.expressions)} expressions; write one, without a comma at the top")
    root: exp.Expr = statement.expressions[0]
    if isinstance(root, exp.Alias):
        raise ExpressionError(f"two expressions side by side, or an alias ('{root.alias}'); write the expression alone")
    return root


def _syntax_message(error: ParseError) -> str:
    detail = error.errors[0]
    near, line = detail["highlight"] or "", detail["line"] or 1
    # sqlglot counts to the end of the token, and our prefix is on the first line.
    column = max(1, (detail["col"] or 1) - max(len(near), 1) + 1 - (len(_PREFIX) if line == 1 else 0))
    what = detail["description"] or "unexpected text"
    if what.startswith("Required keyword"):
        what = "something is missing"
    what = what.replace("Invalid expression / Unexpected token", "unexpected text")
    return f"syntax error at line {line}, column {column} near '{near}': {what}"


@lru_cache(maxsize=4096)
def _tokens(expr: str) -> tuple[Token, ...]:
    return tuple(sqlglot.tokenize(expr, read="spark"))


def _tree_problems(tree: "exp.Expr") -> list[str]:
    found: list[str] = []
    for node in tree.walk():
        if isinstance(node, exp.Query | exp.Subquery):
            found.append("a subquery is not allowed; an expression sees one row")
        elif isinstance(node, exp.Window):
            found.append("a window (OVER) is not allowed; an expression sees one row")
        elif isinstance(node, exp.Star):
            found.append("'*' is not allowed; name the columns")
        elif isinstance(node, exp.Parameter | exp.Placeholder):
            found.append("parameters and variables are not allowed; write the value")
        elif isinstance(node, exp.Cast) and (is_clock_literal(node.this) or _is_time_of_day(node)):
            found.append(f"'{node.this.name}' as a date or time {REFUSED_CALLS['now']}")
    return list(dict.fromkeys(found))


def _is_time_of_day(cast: "exp.Cast") -> bool:
    is_time = cast.to.is_type(*exp.DataType.TEMPORAL_TYPES)
    return is_time and isinstance(cast.this, exp.Literal) and cast.this.is_string and is_clock_text(cast.this.name)


def _token_problems(tokens: tuple[Token, ...]) -> list[str]:
    found: list[str] = []
    for before, token, after in zip((None, *tokens[:-1]), tokens, (*tokens[1:], None), strict=True):
        if token.comments:
            found.append("comments are not allowed; the expression becomes part of a longer line of SQL")
        if token.token_type is TokenType.SEMICOLON:
            found.append("';' is not allowed; the expression becomes part of a longer line of SQL")
        if token.token_type is TokenType.DCOLON:
            found.append("'::' is not Spark 3.5 SQL; write CAST(value AS type)")
        name = token.text.lower()
        reason = _refusal(before, token, after)
        if reason is not None:
            found.append(f"{name} {reason}")
    if any(_is_clock_call(three) for three in zip(tokens, tokens[1:], tokens[2:], strict=False)):
        found.append(f"unix_timestamp() {REFUSED_CALLS['now']}")
    return list(dict.fromkeys(found))


def _refusal(before: Token | None, token: Token, after: Token | None) -> str | None:
    if token.token_type in _NO_NAMES:
        return None
    name = token.text.lower()
    if after is not None and after.token_type is TokenType.L_PAREN:
        # LIKE ANY ('a%', 'b%') is a comparison, not an aggregate.
        return None if before is not None and before.token_type in _LIKES else REFUSED_CALLS.get(name)
    bare = token.token_type is not TokenType.IDENTIFIER
    qualified = before is not None and before.token_type is TokenType.DOT
    return REFUSED_CALLS[name] if name in REFUSED_WORDS and bare and not qualified else None


def _is_clock_call(tokens: tuple[Token, ...]) -> bool:
    kinds = [token.token_type for token in tokens[1:]]
    return tokens[0].text.lower() == "unix_timestamp" and kinds == [TokenType.L_PAREN, TokenType.R_PAREN]
