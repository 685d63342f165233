"""Whether silver equals the source: code paths that share nothing turn both into texts, which are compared row by row.

The database cleans the source's side, with hand-written SQL that follows the meaning of the configuration. Spark reads the silver
side from Iceberg. Each row becomes a list of texts, and the sorted rows give one MD5 per side.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from typing import Final

import attrs
from pyspark.sql import SparkSession

from dms_demo.database import Database
from dms_demo.shop import BAD_ORDER, is_orders
from dms_iceberg.sql.quoting import quote, quote_path

Row = tuple[str | None, ...]

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


def last_good_order(database: Database, salt: str) -> Row:
    """Return the order that will go bad, as it is before that: silver must still show this in the end."""
    _, rows = _source_rows(database, f"{database.schema}.orders", salt)
    return next(row for row in rows if row[0] == str(BAD_ORDER))


def compare(spark: SparkSession, database: Database, salt: str, source: str, target: tuple[str, ...], last_good: Row) -> Comparison:
    """Compare one table.

    Args:
        spark: the session with the catalog.
        database: has the shop; nothing may write to it meanwhile.
        salt: the salt of the masked e-mail addresses.
        source: ``schema.table``.
        target: the parts of the silver table's name, catalog first.
        last_good: the result of `last_good_order`. A quarantined change leaves the row in silver unchanged, so this row
            replaces the source's row in the comparison.
    """
    columns, rows = _source_rows(database, source, salt)
    substituted: tuple[str, ...] = ()
    if is_orders(source):
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


def _source_rows(database: Database, table: str, salt: str) -> tuple[tuple[str, ...], list[Row]]:
    columns, rows = database.expected(table.partition(".")[2], salt)
    return columns, [tuple(_text(value) for value in row) for row in rows]


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
