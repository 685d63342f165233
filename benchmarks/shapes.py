"""The tables of the benchmarks: the ten columns of `shop`, the same with forty more, or with a key of two strings.

A row is a pure function of a number and a version; the shapes differ only in the key for that number, and in the other columns.
"""

from collections.abc import Callable
from typing import Final

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.shop import COLUMN_TYPES, KEY, ROW_SCHEMA, SCHEMA_NAME, TABLE_NAME, Keys, below, rows

_REGIONS: Final = pa.array(["africa", "asia-east", "asia-south", "australia", "europe-central", "europe-north", "us-east", "us-west"])
_WIDE_COLUMNS: Final = 40
_KINDS: Final = ("int", "bigint", "string", "double")
_ARROW: Final = {"int": pa.int32(), "bigint": pa.int64(), "string": pa.string(), "double": pa.float64()}
_WORDS: Final = pa.array(
    [f"{first}-{second}" for first in ("red", "blue", "old", "new", "small") for second in ("cat", "oak", "sun", "key")]
)


@attrs.frozen(eq=False)
class Shape:
    """A table of the source.

    Attributes:
        table: its name below the schema `shop.SCHEMA_NAME`.
        key: columns of the primary key.
        schema: columns as DMS's Parquet files have them.
        types: the same as Spark SQL types.
        rows: builds the rows for numbers at versions.
    """

    table: str
    key: tuple[str, ...]
    schema: pa.Schema
    types: dict[str, str]
    rows: Callable[[Keys, Keys], pa.Table]

    @property
    def source(self) -> str:
        """Schema and table, as the job's configuration names them."""
        return f"{SCHEMA_NAME}.{self.table}"


def _wide_types() -> dict[str, str]:
    return {f"extra_{number:02d}": _KINDS[number % len(_KINDS)] for number in range(_WIDE_COLUMNS)}


def _wide_column(kind: str, keys: Keys, versions: Keys, salt: int) -> pa.Array:
    if kind == "string":
        return pc.take(_WORDS, pa.array(below(len(_WORDS), keys, versions, salt)))
    numbers = below(100_000, keys, versions, salt)
    return pa.array(numbers / 100 if kind == "double" else numbers.astype(np.int32 if kind == "int" else np.int64))


def _wide_rows(keys: Keys, versions: Keys) -> pa.Table:
    more = [_wide_column(kind, keys, versions, 20 + number) for number, kind in enumerate(_wide_types().values())]
    return pa.Table.from_arrays([*rows(keys, versions).columns, *more], schema=WIDE.schema)


def _composite_rows(keys: Keys, versions: Keys) -> pa.Table:
    # Each string repeats; only the two together identify a row.
    numbers = pc.utf8_lpad(pc.cast(pa.array(keys // len(_REGIONS)), pa.string()), 10, "0")
    key = [pc.take(_REGIONS, pa.array(keys % len(_REGIONS))), pc.binary_join_element_wise("SO", numbers, "-")]
    return pa.Table.from_arrays([*key, *rows(keys, versions).columns[1:]], schema=COMPOSITE.schema)


ORDERS: Final = Shape(TABLE_NAME, (KEY,), ROW_SCHEMA, COLUMN_TYPES, rows)
WIDE: Final = Shape(
    "orders_wide",
    (KEY,),
    pa.schema([*ROW_SCHEMA, *((name, _ARROW[kind]) for name, kind in _wide_types().items())]),
    COLUMN_TYPES | _wide_types(),
    _wide_rows,
)
COMPOSITE: Final = Shape(
    "orders_by_region",
    ("region", "order_no"),
    pa.schema([("region", pa.string()), ("order_no", pa.string()), *list(ROW_SCHEMA)[1:]]),
    {"region": "string", "order_no": "string"} | {name: type_ for name, type_ in COLUMN_TYPES.items() if name != KEY},
    _composite_rows,
)
SHAPES: Final = {shape.table: shape for shape in (ORDERS, WIDE, COMPOSITE)}
