"""Values that no partition can have: their rows are quarantined by name, and the others of the batch are merged."""

from decimal import Decimal
from typing import Any

import pyarrow as pa

from dms_iceberg.config.model import Config
from dms_iceberg.silver.quarantine import quarantine_table
from support.lake import Lake
from support.text_files import cdc_name

T1 = "20260301100100"
COLUMNS = [("id", pa.int32()), ("number", pa.decimal128(4, 2)), ("text", pa.string()), ("bytes", pa.binary())]
LONG = "text" * 200
UMLAUTS = "ä" * 117
"""Each has six bytes in a path."""


def reasons(lake: Lake, config: Config, table: str) -> list[str]:
    name = quarantine_table(config, config.tables[f"public.{table}"])
    return [f"{row.reason}: {row.detail}" for row in lake.spark.table(name).collect()]


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
    assert reasons(lake, config, "numbers") == ["partition: number has a value below the lowest partition of truncate(7, number)"]
    assert reasons(lake, config, "texts") == ["partition: text has a value too long for a partition (700 bytes in a path at most)"]
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
    assert reasons(lake, config, "starts") == ["partition: text has a value too long for a partition (350 bytes in a path at most)"]
