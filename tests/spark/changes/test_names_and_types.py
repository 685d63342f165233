"""Awkward names of tables and columns, and key columns of every type with awkward values, all in one run."""

import datetime as dt
import json
import math
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from dms_iceberg.config.check_context import ICEBERG_COLUMNS
from dms_iceberg.runs.report import RunReport
from support.lake import Lake
from support.text_files import cdc_name

T1, T2 = "20260301100100", "20260301100200"
UTC = dt.UTC

KEY_NAME = 'Order "Id`'
ODD_COLUMNS = [
    KEY_NAME,
    "select",
    "order",
    "it's",
    "two words",
    "dotted.name",
    "größe 😀",
    "a,b;(c)={d}",
    "CamelCase",
    "${x}",
    "t",
    "s",
    "back\\slash",
]
ODD = [(KEY_NAME, pa.int64()), *((name, pa.string()) for name in ODD_COLUMNS[1:])]
ODD_TABLES = {
    'Sales Dept.Ord"ers `2`': "odd_1",
    "öffentlich.größen%20 #1?": "_2",
    "public.dotted.name": "order",
    "public.select": "select",
    "Public.CamelCase": "CamelCase",
}


@attrs.frozen
class KeyCase:
    """Key values to load, each with its own name; those named in ``gone`` are deleted later, the others updated."""

    type: pa.DataType
    values: dict[str, Any]

    @property
    def gone(self) -> set[str]:
        return set(list(self.values)[1::2])


def at(year: int, month: int = 1, day: int = 1, *rest: int, zone: dt.tzinfo | None = UTC) -> dt.datetime:
    return dt.datetime(year, month, day, *rest, tzinfo=zone)


KEYS = {
    "smallint": KeyCase(pa.int16(), {"low": -(2**15), "zero": 0, "high": 2**15 - 1}),
    "int": KeyCase(pa.int32(), {"low": -(2**31), "zero": 0, "high": 2**31 - 1, "one": 1}),
    "bigint": KeyCase(pa.int64(), {"low": -(2**63), "zero": 0, "high": 2**63 - 1, "one": 1}),
    "decimal": KeyCase(
        pa.decimal128(38, 10),
        {"low": Decimal("-" + "9" * 28), "tiny": Decimal("0.0000000001"), "high": Decimal("9" * 28), "zero": Decimal(0)},
    ),
    "text": KeyCase(
        pa.string(),
        {
            "empty": "",
            "quote": "O'Neil",
            "double": 'say "hi"',
            "backslash": "C:\\temp\\",
            "escaped": "\\' OR 1=1 --",
            "variable": "${x} ${spark.sql.extensions}",
            "newline": "a\nb\r\nc\td",
            "unicode": "größe 😀 \u200b",
            "upper": "ABC",
            "lower": "abc",
            "null": "NULL",
            "percent": "100%_",
            "control": "\x01\x1a\x7f",
            "space": " ",
        },
    ),
    "uuid": KeyCase(pa.string(), {str(n): f"{n:08x}-1234-5678-9abc-def012345678" for n in (0, 1, 255)}),
    "date": KeyCase(
        pa.date32(), {"low": dt.date(1, 1, 1), "gap": dt.date(1582, 10, 10), "epoch": dt.date(1970, 1, 1), "high": dt.date(9999, 12, 31)}
    ),
    "timestamp": KeyCase(
        pa.timestamp("us", tz="UTC"),
        {"low": at(1), "micro": at(2026, 3, 1, 10, 0, 0, 1), "old": at(1899, 12, 31, 23), "high": at(9999, 12, 31, 23, 59, 59)},
    ),
    "wall": KeyCase(
        pa.timestamp("us"),
        {"low": at(1, zone=None), "gap": at(2026, 3, 29, 2, 30, zone=None), "high": at(9999, 12, 31, 23, 59, 59, 999999, zone=None)},
    ),
    "boolean": KeyCase(pa.bool_(), {"yes": True, "no": False}),
    "float": KeyCase(pa.float32(), {"tenth": 0.1, "nan": math.nan, "zero": 0.0, "inf": -math.inf, "big": 3e38}),
    "double": KeyCase(pa.float64(), {"tenth": 0.1, "nan": math.nan, "zero": 0.0, "inf": math.inf, "small": 5e-324}),
    "binary": KeyCase(pa.binary(), {"zero": b"\x00", "empty": b"", "high": b"\xff\xfe", "text": b"abc"}),
}

VALUES: list[tuple[str, pa.DataType, list[Any]]] = [
    ("b", pa.bool_(), [True, False]),
    ("i16", pa.int16(), [-(2**15), 2**15 - 1]),
    ("i32", pa.int32(), [-(2**31), 2**31 - 1]),
    ("i64", pa.int64(), [-(2**63), 2**63 - 1]),
    ("u8", pa.uint8(), [0, 255]),
    ("u16", pa.uint16(), [0, 2**16 - 1]),
    ("u32", pa.uint32(), [0, 2**32 - 1]),
    ("u64", pa.uint64(), [0, 2**64 - 1]),
    ("f32", pa.float32(), [-0.0, math.inf]),
    ("f64", pa.float64(), [5e-324, -math.inf]),
    ("n", pa.decimal128(38, 0), [Decimal("9" * 38), Decimal("-" + "9" * 38)]),
    ("text", pa.string(), ["", "\x00".join("nul") + "😀"]),
    ("bytes", pa.binary(), [b"", bytes(range(256))]),
    ("d", pa.date32(), [dt.date(1, 1, 1), dt.date(9999, 12, 31)]),
    ("ms", pa.timestamp("ms", tz="UTC"), [at(1), at(9999, 12, 31, 23, 59, 59)]),
    ("us", pa.timestamp("us", tz="UTC"), [at(1), at(9999, 12, 31, 23, 59, 59, 999999)]),
    ("wall", pa.timestamp("us"), [at(1, zone=None), at(9999, 12, 31, zone=None)]),
]


@attrs.frozen
class Ran:
    lake: Lake
    first: RunReport
    second: RunReport

    def check(self, table: str) -> None:
        for report in (self.first, self.second):
            one = report.tables[table]
            assert one.error is None, one.error
            assert one.quarantined == 0
            assert one.rows_read == one.applied


@pytest.fixture(scope="module")
def ran(spark: SparkSession, warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ran]:
    lake = Lake(spark, warehouse, tmp_path_factory.mktemp("names 100% größe"))
    tables: dict[str, dict[str, Any]] = {}
    for source, target in ODD_TABLES.items():
        tables[source] = {"target": f"{lake.namespace}.{target}", "key": [KEY_NAME]}
        lake.load(
            source, ODD, [(1, *(f"a {n}" for n in range(len(ODD) - 1))), (2, *["b"] * (len(ODD) - 1)), (None, *["bad"] * (len(ODD) - 1))]
        )
    for name, case in KEYS.items():
        tables[f"keys.{name}"] = {"target": f"{lake.namespace}.{name}", "key": ["k"]}
        lake.load(f"keys.{name}", [("k", case.type), ("v", pa.string())], [(value, word) for word, value in case.values.items()])
    lake.load(
        "public.everything",
        [("id", pa.int64()), *((n, t) for n, t, _ in VALUES)],
        [(1, *(v[0] for *_, v in VALUES)), (2, *[None] * len(VALUES))],
    )
    tables["public.everything"] = {}
    config = lake.config(tables, parallelism=2)
    first = lake.run(config)
    for source in ODD_TABLES:
        key = (KEY_NAME,)
        moved = ("U", T1, 65, 3, *["c"] * (len(ODD) - 1), 2)
        lake.changes(source, cdc_name(1), ODD, [("U", T1, 61, 1, *["A"] * (len(ODD) - 1), None), moved], key=key)
    for name, case in KEYS.items():
        rows = [
            ("D", T1, 61 + n, value, None) if word in case.gone else ("U", T1, 61 + n, value, word + "!")
            for n, (word, value) in enumerate(case.values.items())
        ]
        if name in ("float", "double"):
            rows.append(("U", T2, 99, -0.0, "zero!!"))
        lake.changes(f"keys.{name}", cdc_name(1), [("k", case.type), ("v", pa.string())], rows, key=("k",))
    changed = [("U", T1, 61, 2, *(v[1] for *_, v in VALUES)), ("I", T1, 65, 3, *[None] * len(VALUES))]
    lake.changes("public.everything", cdc_name(1), [("id", pa.int64()), *((n, t) for n, t, _ in VALUES)], changed)
    yield Ran(lake, first, lake.run(config))


@pytest.mark.long
@pytest.mark.parametrize("source", ODD_TABLES)
def test_awkward_names(ran: Ran, source: str) -> None:
    first, second = ran.first.tables[source], ran.second.tables[source]
    assert (first.error, first.applied, first.quarantined) == (None, 2, 1)
    assert (second.error, second.applied, second.quarantined) == (None, 2, 0)
    ((file, record),) = ran.lake.quarantine(ODD_TABLES[source], "file, record")
    assert file == f"{source.replace('.', '/', 1)}/LOAD00000001.parquet"
    assert json.loads(record)["two words"] == "bad"
    name = f"lake.{ran.lake.namespace}.`{ODD_TABLES[source]}`"
    rows = [tuple(row)[: len(ODD)] for row in ran.lake.spark.sql(f"SELECT * FROM {name} ORDER BY 1").collect()]
    assert rows == [(1, *["A"] * (len(ODD) - 1)), (3, *["c"] * (len(ODD) - 1))]
    assert ran.lake.spark.table(name).columns[: len(ODD)] == ODD_COLUMNS


@pytest.mark.parametrize("name", KEYS)
def test_key_of_every_type(ran: Ran, name: str) -> None:
    case = KEYS[name]
    one = ran.second.tables[f"keys.{name}"]
    assert one.error is None, one.error
    assert one.quarantined == 0
    left = {word + "!" for word in case.values if word not in case.gone}
    if name in ("float", "double"):
        left = (left - {"zero!"}) | {"zero!!"}
    assert {v for (v,) in ran.lake.rows(name, "v")} == left


def test_values_of_every_type(ran: Ran) -> None:
    ran.check("public.everything")
    # As text: Python has no year beyond its local zone's 0001 and no NaN that equals itself.
    columns = ", ".join(f"hex({n})" if n in ("bytes", "text") else f"CAST({n} AS string)" for n, *_ in VALUES)
    one, two, three = ran.lake.rows("everything", f"id, {columns}")
    low = ["true", "-32768", str(-(2**31)), str(-(2**63)), "0", "0", "0", "0", "-0.0", "4.9E-324", "9" * 38, "", "", "0001-01-01"]
    assert one[1:] == (*low, "0001-01-01 00:00:00", "0001-01-01 00:00:00", "0001-01-01 00:00:00")
    high = [
        "false",
        "32767",
        str(2**31 - 1),
        str(2**63 - 1),
        "255",
        "65535",
        str(2**32 - 1),
        str(2**64 - 1),
        "Infinity",
        "-Infinity",
        "-" + "9" * 38,
    ]
    high += [("n\x00u\x00l😀").encode().hex().upper(), bytes(range(256)).hex().upper(), "9999-12-31"]
    assert two[1:] == (*high, "9999-12-31 23:59:59", "9999-12-31 23:59:59.999999", "9999-12-31 00:00:00")
    assert three[1:] == (None,) * len(VALUES)


def test_icebergs_own_names_are_known(spark: SparkSession) -> None:
    own = spark._jvm.org.apache.iceberg.MetadataColumns  # type: ignore[union-attr]
    assert [name for name in sorted(ICEBERG_COLUMNS) if not own.isMetadataColumn(name)] == []
