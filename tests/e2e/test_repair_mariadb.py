"""Repairs from a MariaDB that is not what it seems, and from one whose settings would change texts and rows."""

import threading
import time
from collections.abc import Iterator

import attrs
import pyarrow as pa
import pytest

from dms_iceberg.config.model import Config
from dms_iceberg.source.address import parse_source
from dms_iceberg.verify.open_source import open_source
from dms_iceberg.verify.options import Options
from dms_iceberg.verify.run import verify
from dms_iceberg.verify.source import Throttle
from dms_iceberg.verify.verdict import TableVerdict
from support.lake import Lake
from support.mariadb import LocalMariaDb, skip_without_mariadb

pytestmark = pytest.mark.long

REPAIR = Options(tries=1, wait=lambda _: None, repair=True)
ROWS = ("create table shop.t (id bigint primary key, v char(9), at timestamp(6))", "set time_zone = '+00:00'")
FILLED = "insert into shop.t values (1, 'v1', '2026-03-01 12:00'), (2, 'v2', '2026-03-01 12:00'), (3, 'v3', '2026-03-01 12:00')"
COLUMNS = [("id", pa.int64()), ("v", pa.string()), ("at", pa.timestamp("us", "UTC"))]
NOON = 1_772_366_400_000_000
WRONG = [(1, "wrong"), (2, "v2"), (3, "v3")]
RIGHT = [(1, "v1"), *WRONG[1:]]


@pytest.fixture(scope="module")
def mariadb() -> Iterator[LocalMariaDb]:
    skip_without_mariadb()
    with LocalMariaDb() as server:
        yield server


@pytest.fixture
def shop(mariadb: LocalMariaDb) -> Iterator[LocalMariaDb]:
    mariadb.execute("create database shop", *ROWS, FILLED)
    yield mariadb
    mariadb.execute("drop database shop")


@pytest.fixture
def config(lake: Lake) -> Config:
    config = lake.config({"shop.t": {}}, state_uri=str(lake.folder / "state"))
    lake.load("shop.t", COLUMNS, [(*row, NOON) for row in WRONG])
    lake.run_one(config)
    return config


def repair(lake: Lake, config: Config, server: LocalMariaDb, options: Options = REPAIR) -> TableVerdict:
    source = open_source(parse_source(server.url()), Throttle(None))
    try:
        if options.repair and not options.accept_source:
            verify(lake.spark, config, source, options=attrs.evolve(options, repair=False))
        (one,) = verify(lake.spark, config, source, options=options).tables.values()
    finally:
        source.close()
    assert lake.run_one(config).warnings == []
    return one


def rows(lake: Lake) -> list[tuple[object, ...]]:
    return lake.rows("t", "id, v")


@pytest.mark.parametrize(
    ("make", "undo", "says"),
    [
        (
            "change master to master_host = '127.0.0.1', master_port = 1, master_user = 'x', master_use_gtid = no",
            "reset slave all",
            "is a replica",
        ),
        ("set global read_only = 1", "set global read_only = 0", "is read-only (@@read_only)"),
    ],
)
def test_a_replica_is_no_source_of_a_repair(lake: Lake, config: Config, shop: LocalMariaDb, make: str, undo: str, says: str) -> None:
    shop.execute(make)
    try:
        refused = repair(lake, config, shop)
    finally:
        shop.execute(undo)
    assert (says in str(refused.error), rows(lake)) == (True, WRONG)
    assert (repair(lake, config, shop).repaired, rows(lake)) == (1, RIGHT)


@pytest.mark.parametrize(
    ("statements", "says"),
    [
        (("create table shop.u like shop.t", "drop table shop.t", "create view shop.t as select * from shop.u"), "is a view"),
        (("drop table shop.t", "create sequence shop.t"), "is a sequence"),
    ],
)
def test_what_takes_the_tables_place_is_named(
    lake: Lake, config: Config, shop: LocalMariaDb, statements: tuple[str, ...], says: str
) -> None:
    shop.execute(*statements)
    assert says in str(repair(lake, config, shop).error)
    assert rows(lake) == WRONG


def test_settings_of_the_server_change_neither_texts_nor_rows(lake: Lake, config: Config, shop: LocalMariaDb) -> None:
    before = {"sql_select_limit": "18446744073709551615", "sql_mode": "''", "time_zone": "'SYSTEM'"}
    shop.execute(
        "set global sql_select_limit = 1", "set global sql_mode = 'PAD_CHAR_TO_FULL_LENGTH,ANSI_QUOTES'", "set global time_zone = '-07:00'"
    )
    try:
        found = repair(lake, config, shop)
    finally:
        shop.execute(*(f"set global {name} = {value}" for name, value in before.items()))
    assert (found.error, found.rows_source, found.repaired, rows(lake)) == (None, 3, 1, RIGHT)


def test_a_statement_that_will_commit_under_the_time_it_began_stops_a_repair(lake: Lake, config: Config, shop: LocalMariaDb) -> None:
    """Where each statement commits itself, the log has the time at which it began, though it waited for a lock since."""
    other = shop.connect(autocommit=False)
    other.cursor().execute("select * from shop.t where id = 1 for update")
    waiting = threading.Thread(target=shop.execute, args=("update shop.t set v = 'new' where id = 1",))
    waiting.start()
    while not shop.script("select 1 from information_schema.INNODB_TRX where trx_state = 'LOCK WAIT'"):
        time.sleep(0.1)
    refused = repair(lake, config, shop)
    other.rollback()
    other.close()
    waiting.join()
    assert ("a statement that may write has been running since" in str(refused.error), rows(lake)) == (True, WRONG)
    assert (repair(lake, config, shop).error, rows(lake)) == (None, [(1, "new"), *WRONG[1:]])


def test_a_query_that_runs_since_before_the_look_stops_a_repair(lake: Lake, config: Config, shop: LocalMariaDb) -> None:
    """It may call a function that writes, by itself or through a view."""
    running = threading.Thread(target=shop.execute, args=("select sleep(20)",))
    running.start()
    while not shop.script("select 1 from information_schema.PROCESSLIST where STATE = 'User sleep'"):
        time.sleep(0.1)
    refused = repair(lake, config, shop)
    running.join()
    assert ("a statement that may write has been running since" in str(refused.error), rows(lake)) == (True, WRONG)
    assert (repair(lake, config, shop).error, rows(lake)) == (None, RIGHT)


def test_zero_keeps_its_sign(lake: Lake, shop: LocalMariaDb) -> None:
    shop.execute(
        "drop table shop.t", "create table shop.t (id bigint primary key, f float, d double)", "insert into shop.t values (1, -0e0, -0e0)"
    )
    config = lake.config({"shop.t": {}}, state_uri=str(lake.folder / "state"))
    lake.load("shop.t", [("id", pa.int64()), ("f", pa.float32()), ("d", pa.float64())], [(1, -0.0, -0.0)])
    lake.run_one(config)
    assert repair(lake, config, shop, Options(tries=0)).equal


def test_rows_as_of_a_time_are_not_the_source(lake: Lake, config: Config, shop: LocalMariaDb) -> None:
    shop.execute("set global system_versioning_asof = '2020-01-01'")
    try:
        found = repair(lake, config, shop)
    finally:
        shop.execute("set global system_versioning_asof = default")
    assert "system_versioning_asof" in str(found.error)
    assert rows(lake) == WRONG


def test_another_server_or_a_log_that_begins_again_is_not_the_source_until_it_is_accepted(
    lake: Lake, config: Config, shop: LocalMariaDb
) -> None:
    repair(lake, config, shop, attrs.evolve(REPAIR, repair=False))
    with LocalMariaDb() as other:
        other.execute("create database shop", *ROWS, FILLED)
        refused = repair(lake, config, other)
        assert f"port {other.port}, before {shop.port}" in str(refused.error)
    shop.execute("reset master")
    again = repair(lake, config, shop)
    assert ("its log is shorter than before" in str(again.error), rows(lake)) == (True, WRONG)
    accepted = repair(lake, config, shop, attrs.evolve(REPAIR, accept_source=again.source))
    assert (accepted.error, accepted.repaired, rows(lake)) == (None, 1, RIGHT)


def keyed(lake: Lake, shop: LocalMariaDb, type_: str, texts: tuple[str, ...], files: list[tuple[object, str]], **table: object) -> Config:
    """A table with this type of key, and rows v1, v2 ...; ``files`` are the rows that silver gets."""
    shop.execute("drop table shop.t", f"create table shop.t (id {type_} primary key, v char(9))")
    shop.execute(*(f"insert into shop.t values ('{text}', 'v{number}')" for number, text in enumerate(texts, start=1)))
    config = lake.config({"shop.t": table}, state_uri=str(lake.folder / "state"))
    type_in_file = pa.binary() if isinstance(files[0][0], bytes) else pa.string()
    lake.load("shop.t", [("id", type_in_file), ("v", pa.string())], files)
    lake.run_one(config)
    return config


WHOLE = attrs.evolve(REPAIR, insert_missing=True, max_repair=1.0)


def test_a_key_that_the_collation_calls_equal_is_not_deleted_alone(lake: Lake, shop: LocalMariaDb) -> None:
    files: list[tuple[object, str]] = [("AA-1", "v1"), ("aa-2", "v2"), ("aa-3", "v3"), ("aa-4", "v4")]
    config = keyed(lake, shop, "char(36)", ("aa-1", "aa-2", "aa-3", "aa-4"), files)
    refused = repair(lake, config, shop, attrs.evolve(WHOLE, insert_missing=False))
    assert "it would delete 1 rows and leave out 1 that silver lacks" in str(refused.error)
    assert rows(lake) == files
    done = repair(lake, config, shop, WHOLE)
    assert (done.error, done.repaired) == (None, 2)
    assert "('AA-1' in silver, 'aa-1' at the source)" in done.warnings[-1]
    assert rows(lake) == [("aa-1", "v1"), *files[1:]]


def test_a_key_change_on_its_way_is_repaired_whole_or_not_at_all(lake: Lake, shop: LocalMariaDb) -> None:
    files: list[tuple[object, str]] = [(f"k{number}", f"v{number}") for number in range(1, 5)]
    config = keyed(lake, shop, "varchar(9)", ("k1", "k22", "k3", "k4"), files)
    refused = repair(lake, config, shop, attrs.evolve(WHOLE, insert_missing=False))
    assert ("leave out 1 that silver lacks" in str(refused.error), rows(lake)) == (True, files)
    assert repair(lake, config, shop, WHOLE).repaired == 2
    assert sorted(rows(lake)) == [("k1", "v1"), ("k22", "v2"), ("k3", "v3"), ("k4", "v4")]


def test_text_in_bytes_is_found_by_its_bytes(lake: Lake, shop: LocalMariaDb) -> None:
    files: list[tuple[object, str]] = [(f"key-{number}".encode(), f"v{number}") for number in (1, 2, 3, 4, 5, 6, 7, 9)]
    files[0] = (b"key-1", "wrong")
    keys = tuple(f"key-{number}" for number in range(1, 9))
    config = keyed(lake, shop, "varbinary(20)", keys, files, columns=[{"name": "id", "type": "string"}])
    done = repair(lake, config, shop, WHOLE)
    assert (done.error, done.unsettled, done.repaired) == (None, 0, 3)
    assert done.differing == {"missing": 1, "surplus": 1, "collided": 0, "different": 1}
    assert sorted(rows(lake)) == [(f"key-{number}", f"v{number}") for number in range(1, 9)]
