"""`verify` against a real MariaDB: its types are equal in silver, and tampered rows are found."""

import datetime as dt
import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from dms_iceberg.config.model import Bronze, BronzeFormat
from dms_iceberg.source.address import parse_source
from dms_iceberg.verify.columns import shown_rows
from dms_iceberg.verify.open_source import open_source
from dms_iceberg.verify.options import Options
from dms_iceberg.verify.repair_file import _value
from dms_iceberg.verify.run import verify
from dms_iceberg.verify.source import Throttle
from support.lake import Lake
from support.mariadb import LocalMariaDb, skip_without_mariadb
from support.value_cases import MARIADB as MARIADB_CASES
from support.value_cases import SAME
from support.verify_world import NOON

pytestmark = pytest.mark.long


@pytest.fixture(scope="module")
def mariadb() -> Iterator[LocalMariaDb]:
    skip_without_mariadb()
    with LocalMariaDb() as server:
        yield server


MARIADB = """
create table items (
    id bigint unsigned primary key, tiny tinyint, num decimal(14,3), f float, d double, bin varbinary(20), doc json, txt text,
    at datetime(6), day date, yr year, mood enum('fine', 'tired'))
"""


def test_mariadb(lake: Lake, mariadb: LocalMariaDb) -> None:
    rows: list[tuple[Any, ...]] = [
        (
            2**64 - 1,
            -128,
            Decimal("-1.500"),
            0.1,
            1e300,
            b"\x00\xff'",
            '{"k": [1, "%s"]}',
            'Grüße 🙂 "q" \\ \n\t\x01',
            NOON,
            NOON.date(),
            2026,
            "fine",
        ),
        (1, None, None, None, None, None, None, None, None, None, None, None),
        (7, 0, Decimal("0.001"), -3.4e38, -0.1, b"", "null", "", dt.datetime(1000, 1, 1), dt.date(9999, 12, 31), 1901, "tired"),
    ]
    marks = ", ".join(["%s"] * len(rows[0]))
    mariadb.execute("create database `sh'op` character set utf8mb4", "use `sh'op`", MARIADB)
    mariadb.execute("use `sh'op`", *((f"insert into items values ({marks})", row) for row in rows))
    types = [pa.uint64(), pa.int8(), pa.decimal128(14, 3), pa.float32(), pa.float64(), pa.binary(), pa.string(), pa.string()]
    types += [pa.timestamp("us", "UTC"), pa.date32(), pa.int16(), pa.string()]
    names = ["id", "tiny", "num", "f", "d", "bin", "doc", "txt", "at", "day", "yr", "mood"]
    config = lake.config({"sh'op.items": {"target": f"{lake.namespace}.items"}})
    lake.load("sh'op.items", list(zip(names, types, strict=True)), rows)
    lake.run_one(config)

    def check() -> tuple[int, ...]:
        source = open_source(parse_source(f"mysql://root@127.0.0.1:{mariadb.port}"), Throttle(None))
        try:
            (one,) = verify(lake.spark, config, source, options=Options(tries=1, settle=0)).tables.values()
        finally:
            source.close()
        assert one.error is None
        return tuple(one.differing[kind] for kind in ("missing", "surplus", "different"))

    assert check() == (0, 0, 0)
    changes = ["update items set txt = ' ' where id = 7", "delete from items where id = 1", "insert into items (id) values (3)"]
    mariadb.execute("use `sh'op`", *changes)
    assert check() == (1, 1, 1)


def test_a_spelling_that_is_one_key_for_the_server_is_a_surplus_row(lake: Lake, mariadb: LocalMariaDb) -> None:
    """As when an update of the spelling came without a before-image: looked up again, the server finds the other spelling."""
    mariadb.execute("create database loose", "create table loose.t (k varchar(9) collate utf8mb4_unicode_ci primary key, n int)")
    mariadb.execute("insert into loose.t values ('A', 2), ('b ', 3)")
    config = lake.config({"loose.t": {"key": ["k"]}})
    lake.load("loose.t", [("k", pa.string()), ("n", pa.int32())], [("a", 1), ("A", 2), ("b ", 3)])
    lake.run_one(config)

    def differing(*, repair: bool) -> tuple[int, ...]:
        source = open_source(parse_source(mariadb.url()), Throttle(None))
        try:
            (one,) = verify(
                lake.spark, config, source, options=Options(tries=1, settle=1, repair=repair, insert_missing=True)
            ).tables.values()
        finally:
            source.close()
        assert one.error is None
        return tuple(one.differing[kind] for kind in ("missing", "surplus", "different"))

    assert differing(repair=False) == differing(repair=True) == (0, 1, 0)
    lake.run_one(config)
    assert differing(repair=False) == (0, 0, 0)
    assert lake.rows("t", "k, n") == [("A", 2), ("b ", 3)]


def test_values_of_every_type_are_those_of_the_table_of_cases(mariadb: LocalMariaDb) -> None:
    columns = ", ".join(f"c{number} {case[0]}" for number, case in enumerate(MARIADB_CASES))
    mariadb.execute("create database cases character set utf8mb4", "use cases")
    values = ", ".join(case[1] for case in MARIADB_CASES)
    mariadb.execute(
        "use cases", "set sql_mode = ''", "set time_zone = '+00:00'", f"create table t (id int primary key, {columns}, g point)"
    )
    mariadb.execute("use cases", "set sql_mode = ''", "set time_zone = '+00:00'", f"insert into t values (1, {values}, point(1, 2))")
    mariadb.execute("use cases", "insert into t (id) values (2)")
    source = open_source(parse_source(f"mysql://root@127.0.0.1:{mariadb.port}"), Throttle(None))
    found = source.columns("cases", "t")
    with source.snapshot("cases", "t", [column.sql for column in found]) as reader:
        rows = sorted(reader.rows(), key=lambda row: int(json.loads(row)[0]))
    source.close()
    csv = Bronze(uri="b", format=BronzeFormat.CSV)
    texts = json.loads(shown_rows(found, csv)(rows[0]))[1:-1]
    assert texts == [case[3] for case in MARIADB_CASES]
    assert set(json.loads(shown_rows(found, csv)(rows[1]))[1:]) == {None}
    in_parquet = json.loads(shown_rows(found, Bronze(uri="b"))(rows[0]))[1:-1]
    plain = [_plain(column.type, text) for column, text in zip(found[1:-1], in_parquet, strict=True)]
    assert plain == [case[3] if case[2] is SAME else case[2] for case in MARIADB_CASES]
    assert [column.name for column in found if column.unknown is not None] == ["g"]


def _plain(type_: str, text: str | None) -> Any:
    value = _value(type_, text)
    if type_ == "float":
        return pa.array([value], pa.float32())[0].as_py()
    return value.replace(tzinfo=None) if isinstance(value, dt.datetime) else value
