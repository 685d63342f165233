"""PostgreSQL as a source whose rows are compared."""

from collections.abc import Iterator, Sequence
from typing import Any, Self

from dms_iceberg.dms.postgres import Choices, built_in
from dms_iceberg.dms.type_mapping import Mapped
from dms_iceberg.dms.types import DmsType, Kind
from dms_iceberg.source.address import Address
from dms_iceberg.source.postgres import close, columns_sql, connect, roll_back, translated
from dms_iceberg.source.quoting import quote_postgres as quote
from dms_iceberg.verify.columns import SourceColumn
from dms_iceberg.verify.source import Throttle, no_such_table

# Make texts of values what the columns' SQL expects, whatever the settings of the server and the role are.
_SESSION = (
    "SET timezone = 'UTC'",
    "SET datestyle = 'ISO'",
    "SET intervalstyle = 'postgres'",
    "SET bytea_output = 'hex'",
    "SET extra_float_digits = 1",
    "SET statement_timeout = 0",
    "SET idle_in_transaction_session_timeout = 0",
)
_TABLE = """
    SELECT c.oid::int8, c.relkind::text FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = :schema AND c.relname = :name AND c.relkind IN ('r', 'p')
"""
_COLUMNS = columns_sql("attrelid = :oid")
# Types whose cast to text gives the same as their output function. That of char(n) drops the padding, as DMS does.
_CAST = frozenset(
    (
        *("text", "varchar", "bpchar", "name", "json", "jsonb", "uuid", "int2", "int4", "int8", "oid", "numeric", "float4", "float8"),
        *("bool", "bytea", "date", "timestamp", "timestamptz", "time", "timetz"),
    )
)
# Spark cannot read Parquet's TIME, so a mapping rule makes it a string there.
_PARQUET, _TEXT = Choices(time_as_string=True), Choices()
_ANY = Mapped(DmsType(Kind.STRING))
_CURSOR = "dms_iceberg_verify"
# Rows per round trip: few at first, because a row may have megabytes; then as many as have about this many characters.
_FIRST_FETCH, _MOST_FETCHED, _FETCHED_CHARACTERS = 100, 10_000, 4 << 20


def map_column(name: str, type_: str, modifier: int, shown: str) -> SourceColumn:
    """Return how a column is read.

    Args:
        type_: name of a built-in type, "" for any other.
        modifier: ``atttypmod``.
        shown: the type as `format_type` shows it.
    """
    column = quote(name)
    if type_ == "money":
        # As a number, which does not depend on the server's locale.
        sql = f"{column}::numeric::text"
    elif type_ in _CAST:
        sql = f"{column}::text"
    else:
        # Arrays, enums, ranges, addresses, composites: the text of the type's output function, which a cast need not give (inet). For a
        # composite with a NULL field, both IS NULL and IS NOT NULL are false.
        sql = f"CASE WHEN num_nulls({column}) = 0 THEN format('%s', {column}) END"
    return SourceColumn.of(name, sql, built_in(type_, modifier, _PARQUET) or _ANY, shown, built_in(type_, modifier, _TEXT) or _ANY)


def row_sql(expressions: Sequence[str]) -> str:
    """Return the SQL of a row as a JSON array of texts. An ARRAY may have any number of elements; a function has at most 100 arguments."""
    return f"array_to_json(ARRAY[{', '.join(expressions)}]::text[])::text"


def lookup_sql(row: str, table: str, keys: Sequence[SourceColumn]) -> str:
    """Return the SELECT of the rows whose key is in the parameters ``key0``, ``key1``, ...: an array of texts for each key column.

    The texts are cast, not the columns, so that the query can use the primary key's index.
    """
    names = ", ".join(f"t.{quote(key.name)}" for key in keys)
    values = ", ".join(f"decode(k.k{n}, 'hex')" if key.type == "binary" else f"k.k{n}::{key.lookup_type}" for n, key in enumerate(keys))
    arrays = ", ".join(f":key{n}::text[]" for n in range(len(keys)))
    aliases = ", ".join(f"k{n}" for n in range(len(keys)))
    return f"SELECT {row} FROM {table} t WHERE ({names}) IN (SELECT {values} FROM unnest({arrays}) k({aliases}))"


class PostgresSource:
    """One connection to the server.

    Raises:
        SourceError: the server cannot be reached, or refuses the user.
    """

    def __init__(self, address: Address, throttle: Throttle) -> None:
        self.throttle = throttle
        self.connection = connect(address, "verify", _SESSION)

    def columns(self, schema: str, table: str) -> tuple[SourceColumn, ...]:
        """Return the columns of an ordinary or partitioned table."""
        with translated(f"{schema}.{table}"):
            found = self.connection.run(_TABLE, schema=schema, name=table)
            if not found:
                raise no_such_table(f"{schema}.{table}", "USAGE on the schema and SELECT on the table")
            rows = self.connection.run(_COLUMNS, oid=found[0][0])
        # Logical replication omits generated columns.
        return tuple(
            map_column(name, type_, modifier, shown) for _, name, _, generated, type_, modifier, shown, *_ in rows if not generated
        )

    def snapshot(self, schema: str, table: str, expressions: Sequence[str]) -> "PostgresReader":
        """Return a reader of the table, in its own snapshot."""
        return PostgresReader(self, schema, table, expressions)

    def close(self) -> None:
        """Close the connection."""
        close(self.connection)


class PostgresReader:
    """A table in a REPEATABLE READ READ ONLY transaction, read through a server-side cursor."""

    def __init__(self, source: PostgresSource, schema: str, table: str, expressions: Sequence[str]) -> None:
        self._source, self._name = source, f"{schema}.{table}"
        self._table = f"{quote(schema)}.{quote(table)}"
        self._row = row_sql(expressions)
        self.clock = ""

    def __enter__(self) -> Self:
        with translated(self._name):
            self._run("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
            ((self.clock,),) = self._run("SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYYMMDDHH24MISSUS')")
        return self

    def __exit__(self, *_: object) -> None:
        roll_back(self._source.connection)

    def _run(self, statement: str, **parameters: object) -> list[Any]:
        connection = self._source.connection
        # Without parameters, a colon in a name must not be taken for a placeholder.
        found = connection.run(statement, **parameters) if parameters else connection.execute_simple(statement).rows
        return list(found or [])

    def rows(self) -> Iterator[str]:
        """Yield every row, in the order that is cheapest for the server."""
        with translated(self._name):
            self._run(f"DECLARE {_CURSOR} NO SCROLL CURSOR FOR SELECT {self._row} FROM {self._table} t")
            size = _FIRST_FETCH
            while rows := self._run(f"FETCH FORWARD {size} FROM {_CURSOR}"):
                texts = [row[0] for row in rows]
                size = min(_MOST_FETCHED, max(1, _FETCHED_CHARACTERS * len(texts) // (sum(map(len, texts)) or 1)))
                yield from texts
                self._source.throttle.passed(len(texts))
            self._run(f"CLOSE {_CURSOR}")

    def rows_of(self, columns: Sequence[SourceColumn], keys: Sequence[Sequence[str]]) -> Iterator[str]:
        """Yield the rows that have one of ``keys``."""
        statement = lookup_sql(self._row, self._table, columns)
        with translated(self._name):
            parameters = {f"key{n}": [key[n] for key in keys] for n in range(len(columns))}
            yield from (row[0] for row in self._run(statement, **parameters))
            self._source.throttle.passed(len(keys))
