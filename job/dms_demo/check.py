"""Whether silver equals the source: code paths that share nothing turn both into texts, which are compared row by row.

PostgreSQL cleans the source's side, with the hand-written SQL below, which follows the meaning of the configuration. Spark reads the
silver side from Iceberg. Each row becomes a list of texts, and the sorted rows give one MD5 per side.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, Final

import attrs
import psycopg
from psycopg import sql
from pyspark.sql import SparkSession

from dms_demo.shop import BAD_ORDER
from dms_iceberg.sql.quoting import quote, quote_path

Row = tuple[str | None, ...]

_INSTANT: Final = "'YYYY-MM-DD HH24:MI:SS.US'"
_EXPECTED: Final[Mapping[str, str]] = {
    "public.customers": f"""
        SELECT customer_id, trim(full_name) AS full_name,
               encode(sha256(convert_to(%(salt)s || email, 'UTF8')), 'hex') AS email,
               trim(split_part(location, ',', 1)) AS city, trim(split_part(location, ',', -1)) AS country,
               to_char(to_timestamp(registered, 'DD.MM.YYYY HH24:MI'), {_INSTANT}) AS registered_at,
               to_date(birth_date, 'DD/MM/YYYY') AS birth_date, newsletter,
               to_char(updated_at, {_INSTANT}) AS updated_at, loyalty_points
        FROM customers""",
    "public.orders": f"""
        SELECT order_id, customer_id, status, amount, to_char(ordered_at, {_INSTANT}) AS ordered_at,
               to_char(promised_for, {_INSTANT}) AS promised_for
        FROM orders""",
    "public.order_lines": "SELECT order_id, line_no, product, quantity, unit_price FROM order_lines",
}
_SHOWN_DIFFERENCES: Final = 5


@attrs.frozen(kw_only=True)
class Comparison:
    """The comparison of one table.

    Attributes:
        columns: the compared columns.
        differing: number of rows that only one side has; a row with another value counts on both sides.
        examples: keys of some of these rows.
        substituted: keys for which the source's row was replaced by its last good version.
    """

    source_rows: int
    silver_rows: int
    source_md5: str
    silver_md5: str
    columns: tuple[str, ...]
    differing: int = 0
    examples: tuple[str, ...] = ()
    substituted: tuple[str, ...] = ()

    @property
    def equal(self) -> bool:
        """Whether both sides hold the same rows."""
        return self.source_md5 == self.silver_md5


def last_good_order(dsn: str, salt: str) -> Row:
    """Return the order that will go bad, as it is before that: silver must still show this in the end."""
    _, rows = _source_rows(dsn, "public.orders", salt)
    return next(row for row in rows if row[0] == str(BAD_ORDER))


def compare(spark: SparkSession, dsn: str, salt: str, source: str, target: tuple[str, ...], last_good: Row) -> Comparison:
    """Compare one table.

    Args:
        spark: the session with the catalog.
        dsn: the shop; nothing may write to it meanwhile.
        salt: the salt of the masked e-mail addresses.
        source: ``schema.table``.
        target: the parts of the silver table's name, catalog first.
        last_good: the result of `last_good_order`. A quarantined change leaves the row in silver unchanged, so this row
            replaces the source's row in the comparison.
    """
    columns, rows = _source_rows(dsn, source, salt)
    substituted: tuple[str, ...] = ()
    if source == "public.orders":
        rows = [last_good if row[0] == str(BAD_ORDER) else row for row in rows]
        substituted = (f"order_id {BAD_ORDER}",)
    found_columns, found = _silver_rows(spark, target, columns)
    here, there = Counter(rows), Counter(found)
    different = (here - there) + (there - here) if columns == found_columns else here + there
    return Comparison(
        source_rows=len(rows),
        silver_rows=len(found),
        source_md5=_checksum(columns, rows),
        silver_md5=_checksum(found_columns, found),
        columns=columns,
        differing=different.total(),
        examples=tuple(sorted({str(row[0]) for row in different})[:_SHOWN_DIFFERENCES]),
        substituted=substituted,
    )


def _source_rows(dsn: str, table: str, salt: str) -> tuple[tuple[str, ...], list[Row]]:
    with psycopg.connect(dsn, options="-c timezone=UTC") as connection:
        query = _EXPECTED[table]
        if "loyalty_points" in query and not _has_loyalty_points(connection):
            query = query.replace(", loyalty_points", "")
        cursor = connection.execute(sql.SQL(query), {"salt": salt})
        columns = tuple(column.name for column in cursor.description or ())
        return columns, [tuple(_text(value) for value in row) for row in cursor]


def _has_loyalty_points(connection: "psycopg.Connection[Any]") -> bool:
    query = "SELECT 1 FROM pg_attribute WHERE attrelid = 'customers'::regclass AND attname = 'loyalty_points'"
    return connection.execute(query).fetchone() is not None


def _text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return str(value).lower() if isinstance(value, bool) else str(value)


def _silver_rows(spark: SparkSession, target: tuple[str, ...], expected: tuple[str, ...]) -> tuple[tuple[str, ...], list[Row]]:
    """Return rows of the table, in the order of the expected columns; unexpected columns come last and make the tables unequal."""
    frame = spark.table(quote_path(target))
    types = {name: type_ for name, type_ in frame.dtypes if not name.startswith("_cdc_")}
    columns = tuple(sorted(types, key=lambda name: (expected.index(name) if name in expected else len(expected), name)))
    rows = frame.selectExpr(*(_silver_text(name, types[name]) for name in columns)).collect()
    return columns, [tuple(row) for row in rows]


def _silver_text(name: str, type_: str) -> str:
    if type_.startswith("timestamp"):
        return f"date_format({quote(name)}, 'yyyy-MM-dd HH:mm:ss.SSSSSS')"
    return f"CAST({quote(name)} AS string)"


def _checksum(columns: tuple[str, ...], rows: Iterable[Row]) -> str:
    digest = hashlib.md5(json.dumps(columns).encode(), usedforsecurity=False)
    for line in sorted(json.dumps(row) for row in rows):
        digest.update(line.encode())
    return digest.hexdigest()
