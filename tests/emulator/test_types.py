"""PostgreSQL types become what DMS makes of them, in LOAD and in change files alike."""

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from emulator.bronze import make_task, run, source_rows

COLUMNS = """
    id bigint primary key, small smallint, normal int, num numeric(12,3), wide numeric(40,2), free numeric,
    negative numeric(5,-2), fine numeric(3,5), cash money, single real, double double precision, flag boolean,
    line text, name varchar(10), padded char(5), raw bytea, ident uuid, doc json, docb jsonb, tags text[],
    numbers int[], day date, at timestamp, zoned timestamptz, clock time, span interval, mood mood, addr inet,
    bits bit(3), positive positive, label label, made int generated always as (normal * 2) stored, words tsvector
"""
ROW = """
    (1, -2, 3, 4.5, 12345678901234567890123456789012345678.25, 1.23456789, 12345, 0.00123, -1234.5, 0.1, 1e-300, true,
     'a"b', 'żółć', 'ab', '\\x00ff', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '{"a": 1}', '{"b":2}', '{x,NULL,"y z"}',
     '{1,2}', '2024-02-29', '2024-02-29 12:00:00.5', '2024-02-29 12:00:00.123456+02', '01:02:03.5', '1 day 2 hours',
     'happy', '10.0.0.1/32', '101', 7, 'tag', default, 'fat cat')
"""
EXPECTED: dict[str, tuple[str, Any]] = {
    "id": ("int64", 1),
    "small": ("int16", -2),
    "normal": ("int32", 3),
    "num": ("decimal128(12, 3)", Decimal("4.500")),
    "wide": ("string", "12345678901234567890123456789012345678.25"),
    "free": ("decimal128(28, 6)", Decimal("1.234568")),
    "negative": ("decimal128(7, 0)", Decimal("12300")),
    "fine": ("decimal128(5, 5)", Decimal("0.00123")),
    "cash": ("decimal128(38, 4)", Decimal("-1234.5000")),
    "single": ("float", pytest.approx(0.1, rel=1e-7)),
    "double": ("double", 1e-300),
    "flag": ("bool", True),
    "line": ("string", 'a"b'),
    "name": ("string", "żółć"),
    "padded": ("string", "ab"),
    "raw": ("binary", b"\x00\xff"),
    "ident": ("string", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"),
    "doc": ("string", '{"a": 1}'),
    "docb": ("string", '{"b": 2}'),
    "tags": ("string", '{x,NULL,"y z"}'),
    "numbers": ("string", "{1,2}"),
    "day": ("date32[day]", dt.date(2024, 2, 29)),
    "at": ("timestamp[us, tz=UTC]", dt.datetime(2024, 2, 29, 12, 0, 0, 500_000, dt.UTC)),
    "zoned": ("timestamp[us, tz=UTC]", dt.datetime(2024, 2, 29, 10, 0, 0, 123_456, dt.UTC)),
    "clock": ("time32[ms]", dt.time(1, 2, 3, 500_000)),
    "span": ("string", "1 day 02:00:00"),
    "mood": ("string", "happy"),
    "addr": ("string", "10.0.0.1"),
    "bits": ("string", "101"),
    "positive": ("int32", 7),
    "label": ("string", "tag"),
    "words": ("string", "'cat' 'fat'"),
}


def test_every_type_in_load_and_change_files(dsn: str, tmp_path: Path) -> None:
    run(
        dsn,
        "create type mood as enum ('sad', 'happy')",
        "create domain positive as int check (value > 0)",
        "create domain label as varchar(5)",
        f"create table t ({COLUMNS})",
        f"insert into t values {ROW}",
    )
    task = make_task(dsn, tmp_path, "public.t")
    task.load()
    run(dsn, "update t set id = 2", "update t set id = 1", "insert into t (id) values (3)")
    task.catch_up()
    load, changes = task.files("public.t")
    for path, row in ((load, 0), (changes, 1)):
        table = pq.ParquetFile(path).read()
        found = {name: (str(table.schema.field(name).type), table[name][row].as_py()) for name in EXPECTED}
        assert found == EXPECTED
        assert "made" not in table.column_names  # generated columns are not captured
    nulls = pq.ParquetFile(changes).read().to_pylist()[2]
    assert {name for name in EXPECTED if nulls[name] is not None} == {"id"}


def test_values_at_the_edges(dsn: str, tmp_path: Path) -> None:
    run(
        dsn,
        "create table t (id int primary key, d date, ts timestamp, n numeric, m numeric(5,2), f real, g float8, t time, z timetz)",
        "insert into t values"
        " (1, 'infinity', 'infinity', 'NaN', 'NaN', 'NaN', 'Infinity', '24:00', '10:00+02'),"
        " (2, '-infinity', '-infinity', 1e25, -0.005, '-Infinity', '-0', '23:59:59.999999', '10:00-11:30'),"
        " (3, '0044-03-15 BC', '10000-01-01', -1.0000005, 999.99, 3.4e38, 1.7976931348623157e308, '00:00', '00:00Z')",
    )
    task = make_task(dsn, tmp_path, "public.t", time_as_string=False)
    task.load()
    one, two, three = task.rows("public.t")
    assert one["d"] == dt.date(9999, 12, 31)
    assert one["ts"] == dt.datetime(9999, 12, 31, 23, 59, 59, 999_999)
    assert (one["n"], one["m"]) == (None, None)
    assert one["f"] != one["f"]
    assert one["g"] == float("inf")
    assert one["t"] == dt.time(23, 59, 59, 999_000)
    assert one["z"] == dt.time(10, 0)
    assert two["d"] == dt.date(1, 1, 1)
    assert two["ts"] == dt.datetime(1, 1, 1)
    assert two["n"] is None  # more digits than DMS's NUMERIC(28,6)
    assert two["m"] == Decimal("-0.01")
    assert three["d"] == dt.date(1, 1, 1)
    assert three["ts"].year == 9999
    assert three["n"] == Decimal("-1.000001")  # rounded
    assert three["g"] == 1.7976931348623157e308


def test_mapping_settings(dsn: str, tmp_path: Path) -> None:
    run(
        dsn,
        "create table t (id int primary key, flag boolean, clock time, padded char(4))",
        "insert into t values (1, false, '01:02:03.000004', 'x')",
    )
    settings = {"boolean_as_boolean": False, "time_as_string": True, "trim_char": False}
    task = make_task(dsn, tmp_path, "public.t", **settings)
    task.load()
    (row,) = task.rows("public.t")
    assert (row["flag"], row["clock"], row["padded"]) == ("false", "01:02:03.000004", "x   ")


def test_names_with_capitals_spaces_quotes_and_reserved_words(dsn: str, tmp_path: Path) -> None:
    run(
        dsn,
        'create schema "My Schema"',
        'create table "My Schema"."Order ""x""" ("Select" int primary key, "a b" text, "ż" int)',
        'insert into "My Schema"."Order ""x""" values (1, \'v\', 2)',
    )
    name = 'My Schema.Order "x"'
    task = make_task(dsn, tmp_path, name)
    task.load()
    run(dsn, 'update "My Schema"."Order ""x""" set "ż" = 3')
    task.catch_up()
    assert [(row["Select"], row["a b"], row["ż"]) for row in task.rows(name)] == [(1, "v", 2), (1, "v", 3)]


def test_source_settings_do_not_change_the_files(dsn: str, tmp_path: Path) -> None:
    run(
        dsn,
        "alter role postgres set datestyle = 'German, DMY'",
        "alter role postgres set timezone = 'Asia/Seoul'",
        "alter role postgres set bytea_output = 'escape'",
        "alter role postgres set extra_float_digits = -5",
    )
    try:
        run(dsn, "create table t (id int primary key, at timestamptz, day date, raw bytea, f float8)")
        run(dsn, "insert into t values (1, '2024-01-02 03:04:05+00', '2024-01-02', '\\x01ff', 0.1)")
        task = make_task(dsn, tmp_path, "public.t")
        task.load()
        run(dsn, "update t set id = 2")
        task.catch_up()
    finally:
        run(dsn, "alter role postgres reset all")
    for row in task.rows("public.t"):
        assert row["at"] == dt.datetime(2024, 1, 2, 3, 4, 5)
        assert (row["day"], row["raw"], row["f"]) == (dt.date(2024, 1, 2), b"\x01\xff", 0.1)
    assert [row["id"] for row in source_rows(dsn, "t", ("id",))] == [2]
