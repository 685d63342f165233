"""The SQL of gold models: which tables it reads, and where their names are in the text. No Spark.

sqlglot parses the SQL and gives the place of each table name in the text. Only these names are replaced; the rest of the text reaches
Spark unchanged.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache

import attrs
import sqlglot
from sqlglot import exp
from sqlglot.errors import ParseError

from dms_iceberg.config.check_context import ICEBERG_COLUMNS
from dms_iceberg.config.statements import parse_statements
from dms_iceberg.sql.quoting import quote_path


class ModelSqlError(ValueError):
    """The text is not one query over tables that are named ``namespace.table``."""


@attrs.frozen
class Reference:
    """A table in a model's SQL.

    Attributes:
        parts: its name in parts, without quotes.
        start: offset of the first character of the name.
        end: offset after its last character.
        alias: the name that the query uses for it.
        has_alias: whether the query declares that name.
    """

    parts: tuple[str, ...]
    start: int
    end: int
    alias: str
    has_alias: bool

    @property
    def name(self) -> str:
        """The table without its catalog, in folded case: ``namespace.table``."""
        return ".".join(self.parts[-2:]).casefold()


def references(sql: str) -> tuple[Reference, ...]:
    """Return the tables that a query reads, in the order of the text.

    Raises:
        ModelSqlError: it is not a query, or a table has no namespace.
    """
    tree = parse_query(sql)
    with_names = {cte.alias.casefold() for cte in tree.find_all(exp.CTE)}
    found = [_reference(table) for table in tree.find_all(exp.Table) if not _is_cte(table, with_names)]
    return tuple(sorted(found, key=lambda one: one.start))


def replaced(sql: str, text_of: Callable[[Reference], str]) -> str:
    """Return a query with each table's name replaced by another text; the names that the query uses for them stay.

    Raises:
        ModelSqlError: see `references`.
    """
    for one in reversed(references(sql)):
        sql = sql[: one.start] + text_of(one) + sql[one.end :]
    return sql


def pinned(sql: str, catalog: str, snapshots: Mapping[str, int]) -> str:
    """Return a query that reads its tables from a catalog, as of the given snapshots (by `Reference.name`)."""

    def text_of(one: Reference) -> str:
        path = quote_path((catalog, *one.parts[-2:]))
        return f"{path} VERSION AS OF {snapshots[one.name]}" if one.name in snapshots else path

    return replaced(sql, text_of)


def _is_cte(table: exp.Table, names: set[str]) -> bool:
    return not table.args.get("db") and table.name.casefold() in names


def _reference(table: exp.Table) -> Reference:
    identifiers = [table.args.get(key) for key in ("catalog", "db", "this")]
    parts = [one for one in identifiers if one is not None]
    if not all(isinstance(one, exp.Identifier) for one in parts):
        raise ModelSqlError(f"{table.sql(dialect='spark')}: only tables can be read here")
    if len(parts) == 1:
        raise ModelSqlError(f"{table.name}: name tables as namespace.table")
    if table.args.get("version"):
        raise ModelSqlError(f"{table.name}: a model reads the newest snapshot; leave out AS OF")
    names = tuple(one.name for one in parts)
    return Reference(names, parts[0].meta["start"], parts[-1].meta["end"] + 1, table.alias or names[-1], bool(table.alias))


def taken_columns(names: Iterable[str]) -> list[str]:
    """Return the columns of a model that have names of Iceberg's own columns: nobody could read the table."""
    return [name for name in names if name.casefold() in ICEBERG_COLUMNS]


def named_columns(sql: str) -> list[str]:
    """Return the names of a query's columns, as far as its select list shows them: ``*`` stands for names that it does not show.

    Raises:
        ModelSqlError: see `references`.
    """
    tree = parse_query(sql)
    return list(tree.named_selects) if isinstance(tree, exp.Query) else []


def words(sql: str) -> Iterator[tuple[str, bool, bool]]:
    """Yield the words of a query in lower case, whether a parenthesis follows, and whether it is closed at once.

    sqlglot renames functions when it parses them.
    """
    tokens = [*sqlglot.tokenize(sql, read="spark"), None, None]
    for token, after, then in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if token is not None and token.token_type not in (sqlglot.TokenType.STRING, sqlglot.TokenType.NUMBER):
            is_call = after is not None and after.token_type is sqlglot.TokenType.L_PAREN
            yield token.text.lower(), is_call, is_call and then is not None and then.token_type is sqlglot.TokenType.R_PAREN


@lru_cache(maxsize=1024)
def parse_query(sql: str) -> "exp.Expr":
    """Return the tree of one query.

    Raises:
        ModelSqlError: it is not one query.
    """
    statements = parse_statements(sql, ModelSqlError, _syntax_message)
    if len(statements) != 1:
        raise ModelSqlError("several statements; write one query, without ';'")
    tree = statements[0]
    if not isinstance(tree, exp.Query) or ";" in [token.text for token in sqlglot.tokenize(sql, read="spark")]:
        raise ModelSqlError("not a query; write SELECT ..., without ';'")
    return tree


def _syntax_message(error: ParseError) -> str:
    detail = error.errors[0]
    return f"syntax error at line {detail['line']}, column {detail['col']} near '{detail['highlight'] or ''}'"
