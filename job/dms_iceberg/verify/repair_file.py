"""The change file of a repair: the changes in it, and its bytes, as DMS would write them. Pure."""

import datetime as dt
import json
import math
from collections.abc import Callable, Sequence
from decimal import Decimal
from io import BytesIO
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dms_iceberg.bronze.position import CLOCK_DIGITS, COUNTER_DIGITS
from dms_iceberg.config.model import Change as ChangeNames
from dms_iceberg.sql.types import decimal_of
from dms_iceberg.verify.columns import SourceColumn

Change = tuple[str, dict[str, Any]]
"""Operation (I or D) and values by source column."""


def changes(
    columns: Sequence[SourceColumn], key: Sequence[SourceColumn], wanted: Sequence[Sequence[str]], found: Sequence[str]
) -> list[Change]:
    """Return a change for each of the ``wanted`` keys: the row that the source has, or a delete if it has none.

    Args:
        key: the source columns whose texts a wanted key has.
        found: rows of the source as JSON arrays of texts; a loose collation may have found more keys than were wanted.
    """
    missing = {tuple(_value(column.type, text) for column, text in zip(key, texts, strict=True)) for texts in wanted}
    inserts: list[Change] = []
    for text in found:
        row = {column.name: _value(column.type, cell) for column, cell in zip(columns, json.loads(text), strict=True)}
        own = tuple(row[column.name] for column in key)
        if own in missing:
            missing.remove(own)
            inserts.append(("I", row))
    return inserts + [("D", dict(zip((column.name for column in key), values, strict=True))) for values in missing]


def encode(columns: Sequence[SourceColumn], names: ChangeNames, rows: Sequence[Change], clock: str) -> bytes:
    """Return a change file as DMS would write it; all its changes have the commit time ``clock`` (20 digits)."""
    words = {op: word for word, op in reversed(names.op_words.items())}
    committed = dt.datetime.strptime(clock, "%Y%m%d%H%M%S%f").isoformat(" ", "microseconds")
    arrays = {names.op_column: pa.array([words[op] for op, _ in rows], pa.string())}
    if names.timestamp_column is not None:
        arrays[names.timestamp_column] = pa.array([committed] * len(rows), pa.string())
    for column in columns:
        arrays[column.name] = pa.array([row.get(column.name) for _, row in rows], _arrow_type(column.type))
    arrays[str(names.sequence_column)] = pa.array([clock[:CLOCK_DIGITS] + "0" * COUNTER_DIGITS] * len(rows), pa.string())
    buffer = BytesIO()
    pq.write_table(pa.table(arrays), buffer)
    return buffer.getvalue()


def _float(text: str) -> float:
    """Return the number; NaN is always the same object, because two NaN objects would be different keys in a set."""
    value = float(text)
    return math.nan if math.isnan(value) else value


_INTEGERS = {"tinyint": pa.int8(), "smallint": pa.int16(), "int": pa.int32(), "bigint": pa.int64()}
_TYPES: dict[str, tuple[pa.DataType, Callable[[str], Any]]] = {
    **{name: (type_, int) for name, type_ in _INTEGERS.items()},
    "float": (pa.float32(), _float),
    "double": (pa.float64(), _float),
    "boolean": (pa.bool_(), lambda text: text == "true"),
    "binary": (pa.binary(), bytes.fromhex),
    "date": (pa.date32(), dt.date.fromisoformat),
    "timestamp": (pa.timestamp("us", "UTC"), lambda text: dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC)),
    "string": (pa.string(), str),
}


def _arrow_type(type_: str) -> pa.DataType:
    decimal = decimal_of(type_)
    return pa.decimal128(*decimal) if decimal else _TYPES[type_][0]


def _value(type_: str, text: str | None) -> Any:
    """Return the value of a text, None if the type does not have it, as with Spark's try_cast."""
    if text is None:
        return None
    try:
        return Decimal(text) if type_.startswith("decimal(") else _TYPES[type_][1](text)
    except ValueError:
        return None
