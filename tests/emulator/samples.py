"""Layouts and rows that several tests use."""

import datetime as dt
from decimal import Decimal

from dms_emulator.files import Change, Column, FileShape, TableLayout


def micros(text: str) -> int:
    return int(dt.datetime.fromisoformat(text + "+00:00").timestamp()) * 1_000_000 + int(text.split(".")[1])


# The sample of real CSV: Op, timestamp, id, name, note, price REAL, sequence, BI_id. Values changed, layout exact.
ITEMS = TableLayout(
    "public",
    "items",
    (
        Column("id", "int4", key=True),
        Column("name", "wstring"),
        Column("note", "nclob"),
        Column("price", "real4"),
    ),
)
REAL_SHAPE = FileShape(format="csv", stream_position_column=None)
SAMPLE = [
    Change("I", micros("2024-06-12T10:28:16.741253"), (1, "Davies", "Manager, Sales", 32.38)),
    Change(
        "U",
        micros("2024-06-28T07:19:01.482931"),
        (2, "O'Neil", r"line one\ntwo", None),
        "20240628071901480000000000000000121",
    ),
    Change(
        "U",
        micros("2024-07-05T20:20:58.442667"),
        (18, "x", "y", 0.0),
        "20240705202058440000000000000000177",
        before=(17,),
    ),
    Change(
        "D",
        micros("2024-06-12T10:35:53.495770"),
        (2, None, None, None),
        "20240612103553490000000000000000421",
    ),
]


ALL_TYPES = TableLayout(
    "public",
    "types",
    (
        Column("id", "int8", key=True),
        Column("small", "int2"),
        Column("tiny", "int1"),
        Column("number", "numeric(15,2)"),
        Column("money", "numeric(38,4)"),
        Column("single", "real4"),
        Column("double", "real8"),
        Column("text", "wstring(20)"),
        Column("doc", "nclob"),
        Column("raw", "blob"),
        Column("at", "datetime"),
        Column("day", "date"),
        Column("clock", "time"),
        Column("flag", "boolean"),
        Column("huge", "uint8"),
    ),
)
FULL_ROW = (
    2**40,
    -7,
    5,
    Decimal("1234.50"),
    Decimal("-1.2500"),
    0.1,
    0.1,
    "t",
    '{"a": 1}',
    b"\x00\xff",
    dt.datetime(2024, 2, 29, 23, 59, 59, 123456),
    dt.date(1999, 12, 31),
    dt.time(1, 2, 3, 456000),
    True,
    2**64 - 1,
)
