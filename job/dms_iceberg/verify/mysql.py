"""MySQL and MariaDB as a source whose rows are compared."""

from collections.abc import Iterator, Sequence
from typing import Self

import pymysql.cursors

from dms_iceberg.dms.mysql import map_type, text_sql
from dms_iceberg.source.address import Address
from dms_iceberg.source.errors import SourceError
from dms_iceberg.source.mysql import READING_SESSION, close, connect, roll_back, translated
from dms_iceberg.sql.quoting import quote  # MySQL quotes names as Spark does.
from dms_iceberg.verify.columns import SourceColumn
from dms_iceberg.verify.source import Throttle, no_such_table

_COLUMNS = """
    SELECT COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, NUMERIC_PRECISION, NUMERIC_SCALE FROM information_schema.COLUMNS
    WHERE TABLE_SCHEMA = %s AND TABLE_NAME = %s ORDER BY ORDINAL_POSITION
"""
_GEOMETRY = "geometry, of which nobody has said in which form DMS writes it"
_BATCH = 1000


def map_column(name: str, type_: str, shown: str, precision: int | None, scale: int | None) -> SourceColumn:
    """Return how a column is read.

    Args:
        type_: ``DATA_TYPE``.
        shown: ``COLUMN_TYPE``, which has UNSIGNED and lengths.
    """
    column, type_, shown = f"t.{quote(name)}", type_.lower(), shown.lower()
    mapped = map_type(type_, shown, precision, scale)
    if mapped is None:
        return SourceColumn(name, "NULL", "binary", unknown=_GEOMETRY)
    return SourceColumn.of(name, text_sql(column, type_, shown, mapped), mapped)


def row_sql(expressions: Sequence[str]) -> str:
    """Return the SQL of a row as a JSON array of texts."""
    return f"CAST(JSON_ARRAY({', '.join(expressions)}) AS CHAR)"


def lookup_sql(row: str, table: str, keys: Sequence[SourceColumn], count: int) -> str:
    """Return the SELECT of the rows that have one of ``count`` keys, with a placeholder for every key value in turn."""
    names = ", ".join(f"t.{quote(key.name)}" for key in keys)
    marks = ", ".join("UNHEX(%s)" if key.type == "binary" else "%s" for key in keys)
    # With values, the driver would take any other percent sign for a placeholder.
    doubled = f"SELECT {row} FROM {table} t WHERE ({names}) IN ".replace("%", "%%")
    return f"{doubled}({', '.join([f'({marks})'] * count)})"


class MySqlSource:
    """One connection to the server.

    Raises:
        SourceError: the server cannot be reached, or refuses the user.
    """

    def __init__(self, address: Address, throttle: Throttle) -> None:
        self.throttle = throttle
        self.connection = connect(address, READING_SESSION)

    def columns(self, schema: str, table: str) -> tuple[SourceColumn, ...]:
        """Return the columns of a table; MySQL's databases are the schemas."""
        with translated(f"{schema}.{table}"), self.connection.cursor() as cursor:
            cursor.execute(_COLUMNS, (schema, table))
            found = cursor.fetchall()
        if not found:
            raise no_such_table(f"{schema}.{table}", "SELECT on the table")
        return tuple(map_column(*row) for row in found)

    def snapshot(self, schema: str, table: str, expressions: Sequence[str]) -> "MySqlReader":
        """Return a reader of the table, in its own snapshot."""
        return MySqlReader(self, schema, table, expressions)

    def close(self) -> None:
        """Close the connection."""
        close(self.connection)


class MySqlReader:
    """A table in a read-only transaction with a consistent snapshot, read through an unbuffered cursor."""

    def __init__(self, source: MySqlSource, schema: str, table: str, expressions: Sequence[str]) -> None:
        self._source, self._name = source, f"{schema}.{table}"
        self._table = f"{quote(schema)}.{quote(table)}"
        self._row = row_sql(expressions)
        self.clock = ""

    def __enter__(self) -> Self:
        with translated(self._name), self._source.connection.cursor() as cursor:
            cursor.execute("SELECT DATE_FORMAT(UTC_TIMESTAMP(6), '%Y%m%d%H%i%s%f')")
            self.clock = str(cursor.fetchone()[0])
            cursor.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT, READ ONLY")
        return self

    def __exit__(self, *_: object) -> None:
        roll_back(self._source.connection)

    def rows(self) -> Iterator[str]:
        """Yield every row, in the order of the primary key, as InnoDB stores them."""
        yield from self._select(f"SELECT {self._row} FROM {self._table} t", None)

    def rows_of(self, columns: Sequence[SourceColumn], keys: Sequence[Sequence[str]]) -> Iterator[str]:
        """Yield the rows that have one of ``keys``."""
        yield from self._select(lookup_sql(self._row, self._table, columns, len(keys)), [value for key in keys for value in key])

    def _select(self, statement: str, values: Sequence[str] | None) -> Iterator[str]:
        with translated(self._name), self._source.connection.cursor(pymysql.cursors.SSCursor) as cursor:
            cursor.execute(statement, values)
            while rows := cursor.fetchmany(_BATCH):
                for row in rows:
                    if row[0] is None:
                        raise SourceError(f"{self._name}: a row is longer than max_allowed_packet of the server; raise that setting")
                    yield row[0]
                self._source.throttle.passed(len(rows))
