"""Values that no partition can have: their rows are quarantined by name, and the others of the batch are merged."""

from decimal import Decimal
from typing import Any

import pyarrow as pa

from support.lake import Lake
from support.text_files import cdc_name

T1 = "20260301100100"
COLUMNS = [("id", pa.int32()), ("number", pa.decimal128(4, 2)), ("text", pa.string()), ("bytes", pa.binary())]
LONG = "text" * 200
MODES = ("mirror", "soft_delete", "history", "append")
UMLAUTS = "ä" * 117
"""Each has six bytes in a path."""


def test_what_no_partition_can_have_is_quarantined(lake: Lake) -> None:
    tables: dict[str, dict[str, Any]] = {
        # 9,996 is the highest multiple of 7 with four digits.
        "public.numbers": {"partition_by": ["truncate(7, number)"]},
        "public.texts": {"partition_by": ["text"]},
        "public.starts": {"partition_by": ["truncate(100, text)", "bucket(4, id)"]},
        "public.binaries": {"partition_by": ["bytes"]},
        "public.keyed": {"key": ["text"], "partition_by": ["text"]},
    }
    config = lake.config(tables)
    low, lowest = Decimal("-99.97"), Decimal("-99.96")
    for name in tables:
        lake.load(name, COLUMNS, [(1, lowest, "a", b"a"), (2, low, LONG, LONG.encode()), (3, Decimal("99.99"), UMLAUTS[:30], None)])
    report = lake.run(config)
    assert report.errors == {}
    assert {name: one.quarantined for name, one in report.tables.items()} == dict.fromkeys(tables, 1) | {"public.starts": 0}
    assert lake.rows("numbers", "id, number") == [(1, lowest), (3, Decimal("99.99"))]
    assert lake.rows("texts", "id, text") == [(1, "a"), (3, UMLAUTS[:30])]
    assert lake.quarantine("numbers") == [("partition", "number has a value below the lowest partition of truncate(7, number)")]
    assert lake.quarantine("texts") == [("partition", "text has a value too long for a partition (700 bytes in a path at most)")]
    # An update sets a row aside, and silver keeps its last good version; a delete carries no such value.
    for name, table in tables.items():
        key = table.get("key", ["id"])
        old = [None] * len(key)
        rows = [
            ("U", T1, 61, 1, low, "a" if key == ["text"] else UMLAUTS, LONG.encode(), *old),
            ("D", T1, 65, 3, low, UMLAUTS[:30], None, *old),
        ]
        lake.changes(name, cdc_name(1), COLUMNS, rows, key=key)
    report = lake.run(config)
    assert report.errors == {}
    assert {name: one.quarantined for name, one in report.tables.items()} == dict.fromkeys(tables, 1) | {
        "public.starts": 1,
        "public.keyed": 0,
    }
    assert lake.rows("numbers", "id, number") == [(1, lowest)]
    assert lake.rows("texts", "id, text") == [(1, "a")]
    assert lake.quarantine("starts") == [("partition", "text has a value too long for a partition (350 bytes in a path at most)")]


def test_a_delete_of_a_key_that_no_partition_can_have(lake: Lake) -> None:
    """It needs no partition but in a log, where it is a row. Of masks, one leaves a text as long as it was."""
    modes = {
        f"public.{mode}": {"key": ["text"], "mode": mode, "partition_by": ["text"]}
        for mode in ("mirror", "soft_delete", "history", "append")
    }
    masked = {"columns": [{"name": "text", "mask": "partial"}], "partition_by": ["text"]}
    config = lake.config({**modes, "public.masked": masked}, parallelism=2)
    number = Decimal("1.00")
    for name in config.tables:
        lake.load(name, COLUMNS, [(1, number, "a", None), (2, number, LONG, None)])
        rows = [("D", T1, 61, 2, None, LONG, None, None), ("U", T1, 65, 1, number, "a", b"x", None)]
        lake.changes(name, cdc_name(1), COLUMNS, rows, key=("text",) if name in modes else ("id",))
    report = lake.run(config)
    assert report.errors == {}
    quarantined = {name: one.quarantined for name, one in report.tables.items()}
    assert quarantined == {**dict.fromkeys(modes, 1), "public.append": 2, "public.masked": 1}
    assert [lake.rows(mode, "DISTINCT id") for mode in MODES] == [[(1,)]] * len(MODES)
    assert lake.rows("masked", "id, text") == [(1, "*")]
