"""Keys as SQL literals: what prunes the target must be true for every key of a batch, or a row is doubled and a delete is lost."""

import datetime as dt
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from dms_iceberg.merge.statement import IN_LIST_KEYS, LONGEST_LITERAL, KeyRange, key_list_sql
from dms_iceberg.sql.quoting import string_literal, typed_literal
from support.lake import Lake
from support.text_files import cdc_name

T1, T2 = "20260301100100", "20260301100200"
SEED = 5

UGLY = [
    "",
    " ",
    "\x00",
    "\x0001",
    "a\x00017b",
    "\x00\x00777",
    "\\0",
    "\\u0000",
    "\\x0001",
    "\\",
    "\\\\'",
    "'",
    "\\' OR 1=1 --",
    '"',
    "${x} ${spark.sql.extensions}",
    "\b\t\n\r\x1a\x7f\x85\u2028",
    "\ufeffa",
    "\uffff\U0010ffff",
    "e\u0301 é",
    "100%_",
    "\\%\\_",
    "a" * LONGEST_LITERAL,
]
LONG = "k" * 70_000
ALPHABET = "\x00\x00\x00017\\'\"$`{}uUxN%_-ab \n\ré\uffff😀"


def words(rng: random.Random, count: int) -> list[str]:
    return ["".join(rng.choices(ALPHABET, k=rng.randint(1, 12))) for _ in range(count)]


def test_every_text_is_itself_as_a_literal(spark: SparkSession) -> None:
    texts = [*UGLY, *words(random.Random(SEED), 600)]
    for start in range(0, len(texts), 100):
        part = texts[start : start + 100]
        (row,) = spark.range(1).selectExpr(*(f"hex({string_literal(text)}) AS c{n}" for n, text in enumerate(part))).collect()
        assert [text for text, found in zip(part, row, strict=True) if text.encode().hex().upper() != found] == []


EXTREMES = {
    "date": ["DATE'-0044-03-15'", "DATE'0000-01-01'", "DATE'1582-10-10'", "DATE'9999-12-31'", "date_add(DATE'1970-01-01', 1000000000)"],
    "timestamp": [
        "timestamp_micros(-9223372036854775808)",
        "timestamp_micros(9223372036854775807)",
        "TIMESTAMP'1582-10-10 00:00:00.000001'",
        "TIMESTAMP'-0001-12-31 23:59:59.999999'",
        "TIMESTAMP'1969-12-31 23:59:59.999999'",
    ],
    "timestamp_ntz": [
        "TIMESTAMP_NTZ'0001-01-01 00:00:00.1'",
        "TIMESTAMP_NTZ'+10000-01-01 00:00:00'",
        "TIMESTAMP_NTZ'1900-01-01 00:00:00.000001'",
    ],
    "decimal(38,10)": ["CAST('1E-10' AS decimal(38,10))", "CAST('-9999999999999999999999999999.9999999999' AS decimal(38,10))"],
    "decimal(38,38)": ["CAST('0' AS decimal(38,38))", "CAST('1E-38' AS decimal(38,38))", "CAST('-0.5' AS decimal(38,38))"],
    "decimal(38,0)": ["CAST('99999999999999999999999999999999999999' AS decimal(38,0))"],
    "bigint": ["-9223372036854775808", "9223372036854775807"],
}


@pytest.mark.parametrize("type_", EXTREMES)
def test_every_value_is_itself_as_a_literal(spark: SparkSession, type_: str) -> None:
    values = EXTREMES[type_]
    (row,) = spark.range(1).selectExpr(*(f"CAST({value} AS string)" for value in values)).collect()
    same = [f"{typed_literal(text, type_)} <=> CAST({value} AS {type_})" for text, value in zip(row, values, strict=True)]
    assert list(spark.range(1).selectExpr(*same).collect()[0]) == [True] * len(values)


def test_what_has_no_exact_literal_is_left_out() -> None:
    assert typed_literal("a\ufffd", "string") is None, "it may stand for bytes that are no text"
    assert typed_literal("a" * (LONGEST_LITERAL + 1), "string") is not None
    assert key_list_sql("t", "k", "string", ["a", "a" * (LONGEST_LITERAL + 1)]) is None
    assert key_list_sql("t", "k", "string", ["a", "\ufffd"]) is None
    assert KeyRange("k", "string", "a", "\ufffd").sql() is None
    assert KeyRange("k", "string", "a", LONG).sql() is None


@attrs.frozen
class Shape:
    """A table for the same keys: how they get into its MERGE."""

    name: str
    key: tuple[str, ...] = ("k",)
    mode: str = "mirror"
    kept: bool = False


SHAPES = (
    Shape("listed"),
    Shape("ranged", ("k", "n")),
    Shape("marked", mode="soft_delete"),
    Shape("versions", ("k", "n"), mode="history"),
    Shape("filled", kept=True),
)
KEYS = [*UGLY, "\ufffd", "\ufffdx", LONG, LONG + "l", *dict.fromkeys(words(random.Random(SEED + 1), 60))]
COLUMNS = [("k", pa.string()), ("n", pa.int32()), ("v", pa.string())]


@pytest.fixture(scope="module")
def merged(spark: SparkSession, warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    """Half of the keys updated, the other half deleted, in a batch of so few that they are listed."""
    assert len(KEYS) <= IN_LIST_KEYS
    lake = Lake(spark, warehouse, tmp_path_factory.mktemp("literals"))
    keys, tables = list(dict.fromkeys(KEYS)), {}
    for shape in SHAPES:
        source, key = f"public.{shape.name}", shape.key
        columns = [{"name": "v", "null_in_update": "keep"}] if shape.kept else []
        tables[source] = {"key": list(key), "mode": shape.mode, "columns": columns}
        lake.load(source, COLUMNS, [(text, 1, "old") for text in keys])
        changes = [
            ("D" if number % 2 else "U", T1, 61 + 4 * number, text, 1, None if number % 2 else "new", *[None] * len(key))
            for number, text in enumerate(keys)
        ]
        lake.changes(source, cdc_name(1), COLUMNS, changes, key=key)
    report = lake.run(lake.config(tables, batch={"max_files": 1}, parallelism=2))
    assert report.errors == {}
    assert all(table.quarantined == 0 for table in report.tables.values())
    return lake


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_awkward_text_keys_are_updated_and_deleted_once(merged: Lake, shape: Shape) -> None:
    current = {"soft_delete": "NOT _cdc_deleted", "history": "_is_current"}.get(shape.mode, "true")
    rows = merged.rows(shape.name, f"hex(k), v, {current}")
    expected = sorted(text.encode().hex().upper() for text in list(dict.fromkeys(KEYS))[::2])
    assert sorted(key for key, v, is_current in rows if is_current) == expected
    assert {v for _, v, is_current in rows if is_current} == {"new"}


def test_keys_that_are_no_text_are_updated_and_deleted_once(lake: Lake) -> None:
    columns = [("k", pa.string()), ("v", pa.string())]
    entry = {"key": ["k"], "columns": [{"name": "k", "expr": "CAST(unhex(k) AS string)", "type": "string"}]}
    config = lake.config({"public.t": entry})
    lake.load("public.t", columns, [("61FF", "a"), ("61FE", "b"), ("62", "c")])
    lake.run_one(config)
    lake.changes("public.t", cdc_name(1), columns, [("U", T1, 61, "61FF", "A"), ("D", T1, 65, "61FE", None)], key=("k",))
    lake.run_one(config)
    assert lake.rows("t", "hex(k), v") == [("61FF", "A"), ("62", "c")]


def test_keys_at_the_ends_of_their_types_are_pruned_right(lake: Lake) -> None:
    columns = [("d", pa.date32()), ("n", pa.decimal128(38, 10)), ("v", pa.string())]
    rows = [
        (dt.date(1, 1, 1), Decimal("-9999999999999999999999999999.9999999999"), "low"),
        (dt.date(9999, 12, 31), Decimal("9999999999999999999999999999.9999999999"), "high"),
    ]
    config = lake.config({"public.t": {"key": ["d", "n"]}})
    lake.load("public.t", columns, rows)
    lake.run_one(config)
    lake.changes("public.t", cdc_name(1), columns, [("D", T1, 61 + n, d, k, None) for n, (d, k, _) in enumerate(rows)], key=("d", "n"))
    lake.run_one(config)
    assert lake.rows("t", "v") == []


LEAST = {"int": -(2**31), "long": -(2**63)}
WIDTHS = {"int": 100_000_000, "long": 100}


@pytest.mark.parametrize(("type_", "arrow"), [("int", pa.int32()), pytest.param("long", pa.int64(), marks=pytest.mark.long)])
def test_integers_whose_partition_overflows_are_pruned_right(lake: Lake, type_: str, arrow: pa.DataType) -> None:
    """``truncate(n, column)`` of a value near the least one is a high number for Iceberg, and leaves out partitions of a range."""
    columns = [("id", arrow), ("n", pa.int32()), ("v", pa.string())]
    ids = [LEAST[type_] + 7, *range(-IN_LIST_KEYS, IN_LIST_KEYS)]
    partitions = {"partition_by": [f"truncate({WIDTHS[type_]}, id)"]}
    tables: dict[str, dict[str, Any]] = {
        "public.ranged": partitions,
        "public.composite": {**partitions, "key": ["id", "n"], "write_mode": "copy-on-write"},
        "public.rewritten": {**partitions, "write_mode": "copy-on-write"},
        "public.marked": {**partitions, "mode": "soft_delete", "write_mode": "copy-on-write"},
        "public.versions": {**partitions, "mode": "history"},
    }
    sql = f"SELECT id, count(*) AS n, max(v) AS v FROM {lake.namespace}.ranged GROUP BY id"
    model = {f"gold_{lake.namespace}.m": {"sql": sql, "refresh": "incremental", **partitions}}
    config = lake.config(tables, gold=model, parallelism=2)
    for name in tables:
        lake.load(name, columns, [(id_, 1, "old") for id_ in ids])
    assert lake.run(config).errors == {}
    for name, table in tables.items():
        key = table.get("key", ["id"])
        changes = [
            (*(("D", T1) if number % 2 else ("U", T1)), 61 + 4 * number, id_, 1, None if number % 2 else "new", *[None] * len(key))
            for number, id_ in enumerate(ids)
        ]
        lake.changes(name, cdc_name(1), columns, changes, key=key)
    report = lake.run(config)
    assert report.errors == {}
    assert {one.applied for one in report.tables.values()} == {len(ids)}
    present = {"marked": "NOT _cdc_deleted", "versions": "_is_current"}
    expected = sorted((id_, "new") for id_ in ids[::2])
    for name in (one.removeprefix("public.") for one in tables):
        found = lake.rows(name, f"id, v, {present.get(name, 'true')}")
        assert sorted((id_, v) for id_, v, is_current in found if is_current) == expected, name
        versions = {"marked": len(ids), "versions": len(ids) + len(expected)}
        assert len(found) == versions.get(name, len(expected)), name
    rows = lake.spark.sql(f"SELECT id, v, n FROM lake.gold_{lake.namespace}.m ORDER BY id").collect()
    assert [tuple(row) for row in rows] == [(*one, 1) for one in expected]
