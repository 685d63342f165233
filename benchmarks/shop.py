"""The benchmark's source table: ``shop.orders`` with ten columns; every row is a pure function of its key and version.

So the table's state is one number per key, numpy builds any number of rows at once, and the expected content after any changes is known
without asking a contestant. No Spark here.
"""

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Keys = npt.NDArray[np.int64]

SCHEMA_NAME: Final = "shop"
TABLE_NAME: Final = "orders"
KEY: Final = "order_id"

ROW_SCHEMA: Final = pa.schema(
    [
        (KEY, pa.int64()),
        ("customer_id", pa.int32()),
        ("quantity", pa.int32()),
        ("warehouse_id", pa.int32()),
        ("amount", pa.decimal128(12, 2)),
        ("status", pa.string()),
        ("note", pa.string()),
        # DMS marks every timestamp as adjusted to UTC.
        ("ordered_at", pa.timestamp("us", tz="UTC")),
        ("updated_at", pa.timestamp("us", tz="UTC")),
        ("is_gift", pa.bool_()),
    ]
)

COLUMN_TYPES: Final = {
    KEY: "bigint",
    "customer_id": "int",
    "quantity": "int",
    "warehouse_id": "int",
    "amount": "decimal(12,2)",
    "status": "string",
    "note": "string",
    "ordered_at": "timestamp",
    "updated_at": "timestamp",
    "is_gift": "boolean",
}
"""The same columns as Spark SQL types, for the job's configuration and for the hand-written casts."""

LOADED: Final = 0
ABSENT: Final = -1

_FIRST_ORDER: Final = 1_600_000_000_000_000  # microseconds since 1970
_STATUS: Final = pa.array(["new", "paid", "packed", "shipped", "delivered", "returned"])
_NOUNS: Final = ("parcel", "box", "letter", "crate", "gift", "flower", "book", "lamp")
_PLACES: Final = ("at the door", "with a neighbour", "in the garden shed", "at the office", "on the porch", "behind the gate")
_WISHES: Final = ("ring twice", "call before, please", "no rush", 'mark it "fragile"', "keep upright", "mind the dog, he bites")
_NOTES: Final = pa.array([f"leave the {noun} {place}; {wish}" for noun in _NOUNS for place in _PLACES for wish in _WISHES])


def _mixed(keys: Keys, versions: Keys, salt: int) -> npt.NDArray[np.uint64]:
    """Hash key, version and salt to 64 bits (the finaliser of SplitMix64)."""
    with np.errstate(over="ignore"):
        z = keys.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15) + versions.astype(np.uint64) * np.uint64(0xD1B54A32D192ED03)
        z += np.uint64(salt) * np.uint64(0x8CB92BA72F3D8DD7)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        mixed: npt.NDArray[np.uint64] = z ^ (z >> np.uint64(31))
    return mixed


def below(limit: int, keys: Keys, versions: Keys, salt: int) -> Keys:
    """Return a number from 0 to less than ``limit`` for each key and version; another ``salt`` gives other numbers."""
    return (_mixed(keys, versions, salt) % np.uint64(limit)).astype(np.int64)


def _decimals(cents: Keys) -> pa.Array:
    # Two little-endian words per value; the upper one is zero, as no amount is negative.
    words = np.zeros((len(cents), 2), dtype=np.int64)
    words[:, 0] = cents
    return pa.Array.from_buffers(pa.decimal128(12, 2), len(cents), [None, pa.py_buffer(words.tobytes())])


def rows(keys: Keys, versions: Keys) -> pa.Table:
    """Return the rows of ``keys`` at ``versions``, in that order, with `ROW_SCHEMA`. One note in ten is NULL."""
    pick = below(10 * len(_NOTES), keys, versions, 6)
    phrases = pc.take(_NOTES, pa.array(pick // 10))
    reference = pc.cast(pa.array(below(1_000_000, keys, versions, 7)), pa.string())
    notes = pc.if_else(pa.array(pick % 10 == 0), pa.scalar(None, pa.string()), pc.binary_join_element_wise(phrases, reference, " #"))
    ordered = _FIRST_ORDER + keys * 7_000_000
    columns: Sequence[pa.Array] = [
        pa.array(keys),
        pa.array(below(1_000_000, keys, versions, 1).astype(np.int32)),
        pa.array((1 + below(50, keys, versions, 2)).astype(np.int32)),
        pa.array(below(400, keys, versions, 3).astype(np.int32)),
        _decimals(below(10_000_000, keys, versions, 4)),
        pc.take(_STATUS, pa.array(below(len(_STATUS), keys, versions, 5))),
        notes,
        pa.array(ordered).cast(pa.timestamp("us", tz="UTC")),
        pa.array(ordered + 1 + below(86_400_000_000, keys, versions, 8)).cast(pa.timestamp("us", tz="UTC")),
        pa.array(below(2, keys, versions, 9) == 1),
    ]
    return pa.Table.from_arrays(list(columns), schema=ROW_SCHEMA)
