"""Parse the document's SQL with sqlglot, and describe what is wrong with it."""

from collections.abc import Callable

import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError, SqlglotError, TokenError


def parse_statements(sql: str, refusal: type[ValueError], syntax_message: Callable[[ParseError], str]) -> "list[exp.Expr | None]":
    """Return the trees of the statements in a text of Spark SQL.

    Args:
        refusal: the error to raise.
        syntax_message: builds the text for a syntax error.

    Raises:
        ValueError: as ``refusal``; sqlglot cannot parse the text.
    """
    try:
        return sqlglot.parse(sql, read="spark")
    except ParseError as error:
        raise refusal(syntax_message(error)) from error
    except TokenError as error:
        raise refusal("syntax error: a quote is opened and not closed") from error
    except SqlglotError as error:
        raise refusal(f"syntax error: {error}") from error
    except (AttributeError, IndexError, KeyError, TypeError) as error:
        # Where sqlglot's parser itself stumbles, as over `0{:}`.
        raise refusal("syntax error: the text is no SQL of Spark's") from error
    except RecursionError as error:
        raise refusal("nested too deeply") from error
