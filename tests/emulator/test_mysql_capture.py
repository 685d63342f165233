"""Capture of a real MariaDB: what ends in files is what happened, once and in order."""

import contextlib
import datetime as dt
import random
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import ANY

import pyarrow as pa
import pymysql
import pytest
from structlog.testing import capture_logs

from dms_emulator import EmulatorError, Profile
from dms_emulator.files import BeforeImages, CsvShape, FileShape
from dms_emulator.mysql_source import MySqlSource
from dms_emulator.settings import EmulatorSettings, Ugly
from dms_iceberg.source.address import parse_source
from emulator.bronze import Row, Task, capture_beside, current_lsn, kill_while_it_writes, make_task, mysql, read, replay, run, texts
from support.mariadb import LocalMariaDb
from support.value_cases import MARIADB, SAME

pytestmark = pytest.mark.long

ORDERS = "create table orders (id bigint primary key, n int, note text, at timestamp(6) default current_timestamp(6))"
LINES = "create table `lines` (a int, b int, amount decimal(10,2), primary key (a, b))"
KEYS = {"shop.orders": ("id",), "shop.lines": ("a", "b")}


def rows_of(dsn: str, table: str, key: tuple[str, ...]) -> list[Row]:
    with mysql(dsn) as connection, connection.cursor() as cursor:
        cursor.execute("set time_zone = '+00:00'")
        cursor.execute(f"select * from {table}")
        names = [column[0] for column in cursor.description]
        found = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    return sorted(found, key=lambda row: tuple(row[name] for name in key))


def write(dsn: str, worker: int, stop: threading.Event) -> None:
    """Random transactions over both tables; every worker has keys of its own, and moves them."""
    dice = random.Random(worker)
    base = worker * 1_000_000
    with mysql(dsn) as connection, connection.cursor() as cursor:
        connection.autocommit(False)
        while not stop.is_set():
            for _ in range(dice.randint(1, 5)):
                number = base + dice.randrange(200)
                match dice.randrange(6):
                    case 0 | 1:
                        text = dice.choice(["x", "", None, 'a,"b\n', "Grüße 🙂"])
                        insert = "insert into orders (id, n, note) values (%s, %s, %s) on duplicate key update n = values(n)"
                        cursor.execute(insert, (number, dice.randrange(1000), text))
                    case 2:
                        cursor.execute("delete from orders where id = %s", (number,))
                    case 3:
                        cursor.execute("update ignore orders set id = %s where id = %s", (base + dice.randrange(200, 400), number))
                    case 4:
                        cursor.execute("insert ignore into `lines` values (%s, %s, %s)", (worker, number, dice.randrange(10**6)))
                    case _:
                        cursor.execute("update ignore `lines` set b = -b, amount = amount + 1 where b = %s", (number,))
            connection.rollback() if dice.random() < 0.1 else connection.commit()


def write_until(dsn: str, worker: int, stop: threading.Event) -> None:
    """A deadlock ends a transaction, and all that it has done."""
    while not stop.is_set():
        with contextlib.suppress(pymysql.OperationalError):
            write(dsn, worker, stop)


def test_no_gap_and_no_overlap_under_concurrent_writers(shop: str, tmp_path: Path) -> None:
    run(shop, ORDERS, LINES, "insert into orders (id, n, note) select -seq, seq, 'seed' from seq_1_to_5000")
    task = make_task(shop, tmp_path, *KEYS, rows_per_load_file=1500)

    def begin_file() -> None:
        run(shop, "flush binary logs")
        time.sleep(0.3)

    capture_beside(task, partial(write_until, shop), begin_file)
    for table, key in KEYS.items():
        assert replay(task.rows(table), key) == rows_of(shop, table.replace("lines", "`lines`"), key)
    assert len(task.changes("shop.orders")) > 100
    assert [path.name for path in task.files("shop.orders")][:4] == [f"LOAD0000000{number}.parquet" for number in (1, 2, 3, 4)]


def test_a_position_taken_under_a_lock_is_as_good(shop: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As with Oracle's MySQL, which does not show the position of a snapshot."""
    monkeypatch.setattr("dms_emulator.mysql_source._snapshot_position", lambda _: None)
    run(shop, ORDERS, "insert into orders (id, n) values (1, 1)")
    task = make_task(shop, tmp_path, "shop.orders")
    stop = threading.Event()
    writer = threading.Thread(target=write_orders, args=(shop, stop))
    writer.start()
    time.sleep(0.2)
    with task.emulator() as emulator:
        emulator.prepare()
        time.sleep(0.3)
        loaded = emulator.full_load()["shop.orders"]
    stop.set()
    writer.join()
    task.catch_up()
    assert 1 < loaded < len(task.rows("shop.orders"))
    assert replay(task.rows("shop.orders"), ("id",)) == rows_of(shop, "orders", ("id",))


def write_orders(dsn: str, stop: threading.Event) -> None:
    number = 1
    while not stop.is_set():
        number += 1
        run(dsn, f"insert into orders (id, n) values ({number}, {number})")


def test_a_transactions_rows_share_time_and_step_by_four_over_tables(shop: str, tmp_path: Path) -> None:
    run(shop, ORDERS, LINES)
    task = make_task(shop, tmp_path, *KEYS)
    task.load()
    assert task.files("shop.orders") == []  # an empty table has no file
    run(
        shop,
        "begin",
        "insert into orders (id, n, note) values (1, 1, 'a')",
        "insert into `lines` values (1, 1, 2)",
        "update orders set n = 2",
        "delete from orders",
        "insert into orders (id, n, note) values (1, 3, 'again')",
        "commit",
    )
    task.catch_up()
    orders, lines = task.changes("shop.orders"), task.changes("shop.lines")
    assert [row["Op"] for row in orders] == ["I", "U", "D", "I"]
    assert [int(row["dms_change_seq"][16:]) for row in orders] == [61, 69, 73, 77]
    assert [int(row["dms_change_seq"][16:]) for row in lines] == [65]
    assert len({row["dms_commit_ts"] for row in orders + lines}) == 1
    assert orders[0]["dms_commit_ts"].endswith(".000000")
    assert orders[0]["dms_change_seq"][14:16] == "00"
    positions = [row["dms_stream_position"] for row in orders + lines]
    assert len({position.rpartition(".")[0] for position in positions}) == 1
    assert positions[0].startswith("binlog.0000")
    assert sorted(int(position.rpartition(".")[2]) for position in positions) == [1, 2, 3, 4, 5]


def test_deletes_have_the_whole_row_and_key_changes_a_before_image(shop: str, tmp_path: Path) -> None:
    run(shop, LINES, "insert into `lines` values (1, 1, 1), (1, 2, 2)")
    task = make_task(shop, tmp_path, "shop.lines")
    task.load()
    run(
        shop,
        "update `lines` set amount = 9 where b = 1",
        "update `lines` set b = 3 where b = 1",
        "begin",
        "update `lines` set b = 1 where b = 2",
        "update `lines` set b = 2 where b = 3",
        "commit",
        "replace into `lines` values (1, 1, 5)",
        "delete from `lines` where b = 2",
    )
    task.catch_up()
    found = list(texts(task.changes("shop.lines"), "Op", "a", "b", "amount", "BI_a", "BI_b"))
    assert found[:4] == [("U", 1, 1, 9, None, None), ("U", 1, 3, 9, 1, 1), ("U", 1, 1, 2, 1, 2), ("U", 1, 2, 9, 1, 3)]
    assert found[-1] == ("D", 1, 2, 9, None, None)
    assert replay(task.rows("shop.lines"), ("a", "b")) == rows_of(shop, "`lines`", ("a", "b"))


def test_spellings_that_are_one_key_for_the_server_are_changes_of_the_key(shop: str, tmp_path: Path) -> None:
    """The log has the spelling that is stored, so whoever compares bytes ends with the same rows."""
    run(shop, "create table t (k varchar(9) collate utf8mb4_unicode_ci primary key, n int)", "insert into t values ('key', 0), ('é', 0)")
    task = make_task(shop, tmp_path, "shop.t")
    task.load()
    run(
        shop,
        "update t set n = 1 where k = 'KEY '",
        "insert into t values ('KEY', 2) on duplicate key update n = 2",
        "update t set k = 'Key' where k = 'key'",
        "update t set k = 'Key  ' where k = 'key'",
        "replace into t values ('KEY', 3)",
        "delete from t where k = 'E'",
        "insert into t values ('E ', 4)",
    )
    task.catch_up()
    found = list(texts(task.changes("shop.t"), "Op", "k", "n", "BI_k"))
    assert found[:4] == [("U", "key", 1, None), ("U", "key", 2, None), ("U", "Key", 2, "key"), ("U", "Key  ", 2, "Key")]
    assert found[-2:] == [("D", "é", 0, None), ("I", "E ", 4, None)]
    assert replay(task.rows("shop.t"), ("k",)) == rows_of(shop, "t", ("k",)) == [{"k": "E ", "n": 4}, {"k": "KEY", "n": 3}]


def test_what_a_foreign_key_cascades_is_lost_and_said(shop: str, tmp_path: Path) -> None:
    run(shop, "create table a (id int primary key)", "insert into a values (1)")
    run(shop, "create table b (id int primary key, a int, foreign key follows (a) references a (id) on delete cascade)")
    run(shop, "insert into b values (1, 1)")
    task = make_task(shop, tmp_path, "shop.a", "shop.b")
    with capture_logs() as said:
        task.load()
    assert [entry for entry in said if entry["log_level"] == "warning"] == [
        {"event": "what a foreign key cascades is not in the binary log", "table": "shop.b", "constraint": ANY, "log_level": "warning"}
    ]
    run(shop, "delete from a")
    task.catch_up()
    assert [row["Op"] for row in task.changes("shop.a")] == ["D"]
    assert task.changes("shop.b") == []


def test_before_images_of_all_columns_are_those_of_the_row_before(shop: str, tmp_path: Path) -> None:
    run(shop, "create table t (id int primary key, v varchar(9), big longtext)", "insert into t values (1, 'a', 'b')")
    task = make_task(shop, tmp_path, "shop.t", files=FileShape(before_images=BeforeImages.ALL))
    task.load()
    run(shop, "update t set v = 'c', big = 'd'")
    task.catch_up()
    (row,) = task.changes("shop.t")
    assert (row["BI_id"], row["BI_v"], row["v"], row["big"]) == (1, "a", "c", "d")
    assert "BI_big" not in row  # LOBs have none


def test_rollbacks_savepoints_and_truncates_leave_no_trace(shop: str, tmp_path: Path) -> None:
    run(shop, ORDERS, "insert into orders (id, n, note) values (1, 1, 'kept')")
    task = make_task(shop, tmp_path, "shop.orders")
    task.load()
    run(shop, "begin", "insert into orders (id) values (2)", "rollback")
    run(shop, "begin", "insert into orders (id) values (3)", "savepoint s", "delete from orders", "rollback to s", "commit")
    run(shop, "truncate orders")
    run(shop, "create table other (id int primary key)", "insert into other values (1)")
    task.catch_up()
    assert list(texts(task.changes("shop.orders"), "Op", "id")) == [("I", 3)]


def test_ddl_closes_the_file_and_the_next_has_the_new_structure(shop: str, tmp_path: Path) -> None:
    run(shop, "create table t (id int primary key, a int, b text)", "insert into t values (1, 1, 'x')")
    task = make_task(shop, tmp_path, "shop.t", interval=60)
    task.load()
    run(
        shop,
        "update t set a = 2",
        "analyze table t",  # no other structure
        "update t set a = 3",
        "alter table t add column c decimal(8,3) default 1.5",
        "alter table t modify a bigint unsigned",
        "insert into t values (2, 18446744073709551615, 'y', 2.25)",
        "alter table t drop column b",
        "alter table t change a amount bigint unsigned",
        "alter table t add column g int as (id * 2) stored, add column v int as (id * 3) virtual, add column mood enum('a', 'b') first",
        "insert into t (id, amount, c, mood) values (3, 7, 0.125, 'b')",
    )
    task.catch_up()
    shapes = [[name for name in row if not name.startswith(("dms_", "BI_"))] for path in task.files("shop.t")[1:] for row in read(path)[:1]]
    # Generated columns are left out.
    assert shapes == [["Op", "id", "a", "b"], ["Op", "id", "a", "b", "c"], ["Op", "mood", "id", "amount", "c"]]
    assert replay(task.rows("shop.t"), ("id",))[1:] == [
        {"id": 2, "a": 2**64 - 1, "b": "y", "c": pytest.approx(2.25)},
        {"id": 3, "amount": 7, "c": pytest.approx(0.125), "mood": "b"},
    ]


def test_a_generated_column_that_becomes_an_ordinary_one_is_captured(shop: str, tmp_path: Path) -> None:
    """The log describes it as before."""
    run(shop, "create table t (id int primary key, a int, g int as (a + 1) stored)", "insert into t (id, a) values (1, 1)")
    task = make_task(shop, tmp_path, "shop.t")
    task.load()
    stop = threading.Event()
    with task.emulator() as emulator:
        runner = threading.Thread(target=emulator.capture, args=(stop,))
        runner.start()
        run(shop, "update t set a = 5")
        wait_for(lambda: bool(task.changes("shop.t")))
        run(shop, "alter table t modify g int", "update t set g = 77", "insert into t values (2, 2, 9)")
        wait_for(lambda: len(task.changes("shop.t")) == 3)
        stop.set()
        runner.join()
    assert replay(task.rows("shop.t"), ("id",)) == [{"id": 1, "a": 5, "g": 77}, {"id": 2, "a": 2, "g": 9}]


def test_system_versioning_that_is_added_stops_the_task(shop: str, tmp_path: Path) -> None:
    """Its deletes are updates in the log, and its old rows inserts with the same key."""
    run(shop, "create table t (id int primary key, a int)", "insert into t values (1, 1), (2, 2)")
    task = make_task(shop, tmp_path, "shop.t")
    task.load()
    run(shop, "update t set a = 3 where id = 2", "alter table t add system versioning", "delete from t where id = 1")
    with pytest.raises(EmulatorError, match=r"shop[.]t: is no ordinary table \(system versioned\)"):
        task.catch_up()


def test_each_value_is_the_same_in_load_and_changes_and_that_of_the_table_of_cases(shop: str, tmp_path: Path) -> None:
    columns = ", ".join(f"c{number} {case[0]}" for number, case in enumerate(MARIADB))
    values = ", ".join(case[1] for case in MARIADB)
    session = ("set sql_mode = ''", "set time_zone = '+00:00'")
    run(shop, *session, f"create table t (id int primary key, {columns})", f"insert into t values (1, {values})")
    shapes = {"parquet": FileShape(), "csv": FileShape(format="csv", csv=CsvShape(header=True, null="<null>"))}
    tasks = {name: make_task(shop, tmp_path / name, "shop.t", files=shape, slot=name) for name, shape in shapes.items()}
    for task in tasks.values():
        task.load()
    run(shop, *session, f"insert into t values (2, {values})", "insert into t (id) values (3)", "delete from t where id = 2")
    for task in tasks.values():
        assert task.catch_up() == 3
    for row in tasks["parquet"].rows("shop.t"):
        found = [row[f"c{number}"] for number in range(len(MARIADB))]
        assert found == [None] * len(MARIADB) if row["id"] == 3 else found == [case[3] if case[2] is SAME else case[2] for case in MARIADB]
    for line in tasks["csv"].rows("shop.t"):
        shown = [line[f"c{number}"] for number in range(len(MARIADB))]
        wanted = ["<null>" if case[3] is None or line["id"] == "3" else case[3] for case in MARIADB]
        assert shown == wanted


MORE_VALUES = {
    "time(1)": ["-00:00:00.5", "00:00:00.1", "838:59:59.9"],
    "time(6)": ["-00:00:01.000001", "-838:59:59", "12:00:00.123456"],
    "time": ["-00:00:01", "00:00:00"],
    "datetime(5)": ["1000-01-01 00:00:00.00001", "9999-12-31 23:59:59.99999"],
    "timestamp(1)": ["1970-01-01 00:00:01.5", "2038-01-19 03:14:07.9"],
    "decimal(65,30)": ["0.000000000000000000000000000001", "-99999999999999999999999999999999999.999999999999999999999999999999", "-0.5"],
    "decimal(38,0)": ["99999999999999999999999999999999999999", "-1"],
    "decimal(9,9)": ["-0.123456789", "0"],
    "float": ["1.17549435e-38", "-3.40282347e38", "0.1"],
    "double": ["5e-324", "-1.7976931348623157e308", "0.30000000000000004"],
    "set('a','b','c')": ["", "a,c"],
    "char(4)": ["a  ", "  a"],
    "binary(3)": ["a", "\0b"],
    "varchar(300)": ["x" * 300, ""],
    "varbinary(300)": ["y" * 300],
    "text": ["ü" * 300],
    "bit(17)": ["a", "b"],
    "year": ["1901", "2155"],
    "enum('','x')": ["", "x"],
    "mediumblob": ["z" * 70_000],
    "date": ["0001-01-01", "9999-12-31"],
}


def test_a_value_of_the_log_is_the_one_that_a_query_shows(shop: str, tmp_path: Path) -> None:
    """Rows of the full load come from queries, those of the capture from the log."""
    names = {type_: f"c{number}" for number, type_ in enumerate(MORE_VALUES)}
    session = ("set sql_mode = ''", "set time_zone = '+00:00'")
    run(shop, *session, f"create table t (id int primary key, {', '.join(f'{name} {type_}' for type_, name in names.items())})")
    inserts = []
    for number in range(3):
        cells = {names[type_]: values[number] for type_, values in MORE_VALUES.items() if number < len(values)}
        listed = ", ".join("'" + value.replace("\0", "\\0") + "'" for value in cells.values())
        inserts.append(f"insert into t (id, {', '.join(cells)}) values ({number}, {listed})")
    run(shop, *session, *inserts)
    first = make_task(shop, tmp_path / "one", "shop.t")
    first.load()
    run(shop, "begin", "create temporary table kept select * from t", "delete from t", "insert into t select * from kept", "commit")
    first.catch_up()
    loaded = {row["id"]: without_service(row) for row in first.rows("shop.t") if not row["dms_change_seq"]}
    changes = first.changes("shop.t")
    assert [row["Op"] for row in changes] == ["D"] * 3 + ["I"] * 3
    for row in changes:
        assert without_service(row) == loaded[row["id"]]


def without_service(row: Row) -> Row:
    return {name: value for name, value in row.items() if name.startswith("c") or name == "id"}


def test_character_sets_are_decoded_as_the_server_does(shop: str, tmp_path: Path) -> None:
    """Every single byte of each character set of one byte, and letters beyond in those of several."""
    one_byte = "select character_set_name from information_schema.character_sets where maxlen = 1 and character_set_name <> 'binary'"
    texts = {row[0]: f"convert(_{row[0]} x'{bytes(range(1, 256)).hex()}' using {row[0]})" for row in query(shop, one_byte)}
    assert len(texts) > 20
    texts |= dict.fromkeys(("utf8mb3", "ucs2"), "'aüž中'") | dict.fromkeys(("utf8mb4", "utf16", "utf16le", "utf32"), "'aüž中🙂'")
    columns = ", ".join(f"{name} varchar(300) character set {name}" for name in texts)
    run(shop, f"create table t (id int primary key, {columns})")
    run(shop, "set sql_mode = ''", f"insert into t values (1, {', '.join(texts.values())})")
    task = make_task(shop, tmp_path, "shop.t")
    task.load()
    run(shop, "update t set id = 2")
    task.catch_up()
    loaded, changed = task.rows("shop.t")
    for name in texts:
        assert changed[name] == loaded[name], name
    assert (loaded["latin1"][-2:], loaded["utf32"]) == ("þÿ", "aüž中🙂")


def query(dsn: str, text: str) -> list[tuple[Any, ...]]:
    with mysql(dsn) as connection, connection.cursor() as cursor:
        cursor.execute(text)
        return list(cursor.fetchall())


def test_types_from_the_catalog_and_from_the_log_are_the_same(shop: str, tmp_path: Path) -> None:
    columns = ", ".join(f"c{number} {case[0]}" for number, case in enumerate(MARIADB))
    run(shop, "set sql_mode = ''", f"create table t (id int, k varchar(9), {columns}, primary key (k, id))")
    task = make_task(shop, tmp_path, "shop.t")
    with task.emulator() as emulator:
        emulator.skip_full_load()
    run(shop, "set sql_mode = ''", "insert into t (id, k) values (1, 'x')")
    source = MySqlSource(parse_source(shop), task.settings)
    start = task_point(task)
    stream = source.stream(["shop.t"])
    stream.start(start)
    messages: list[Any] = []
    while not messages:
        messages = stream.poll(1).messages
    assert messages[1].table.layout == source.table("shop.t").layout
    stream.close()
    source.close()


def task_point(task: Task) -> int:
    from dms_emulator.state import StateFolder

    state = StateFolder(task.settings.state_dir).load()
    assert state is not None
    return state.point.lsn


def test_lobs_are_cut(shop: str, tmp_path: Path) -> None:
    run(shop, "create table t (id int primary key, a longtext, b longblob, c text)")
    run(shop, "insert into t values (1, repeat('ü', 2000), repeat('x', 3000), repeat('z', 3000))")
    task = make_task(shop, tmp_path, "shop.t", lob_max_kb=1)
    task.load()
    run(shop, "update t set id = 2")
    task.catch_up()
    for row in task.rows("shop.t"):
        assert (len(row["a"]), len(row["b"]), len(row["c"])) == (512, 1024, 3000)


@pytest.mark.parametrize(
    ("ddl", "reason"),
    [
        ("create table bad (id int primary key, g point)", "column g is a geometry, of which nobody has said"),
        ("create table bad (id int primary key, u uuid)", "column u is of type uuid"),
        ("create table bad (id int primary key, t text character set gbk)", "column t has character set gbk"),
        ("create table bad (id int primary key, t text compressed)", "column t is compressed"),
        ("create table bad (id int)", "has no primary key"),
        ("create table bad (id varchar(100), primary key (id(5)))", "the primary key has only a part of id"),
        ("create table bad (id int primary key) engine = MyISAM", "engine MyISAM, which has neither snapshots"),
        ("create view bad as select 1", "is no ordinary table"),
        ("create table bad (id int primary key) with system versioning", "is no ordinary table"),
        ("select 1", "does not exist"),
    ],
)
def test_what_cannot_be_captured_is_refused_by_name(shop: str, tmp_path: Path, ddl: str, reason: str) -> None:
    run(shop, ddl)
    with make_task(shop, tmp_path, "shop.bad").emulator() as emulator, pytest.raises(EmulatorError, match=f"shop.bad: {reason}"):
        emulator.full_load()


def test_a_column_that_cannot_be_captured_stops_the_task_when_it_comes(shop: str, tmp_path: Path) -> None:
    run(shop, "create table t (id int primary key)")
    task = make_task(shop, tmp_path, "shop.t")
    task.load()
    run(shop, "alter table t add column u uuid", "insert into t values (1, uuid())")
    with pytest.raises(EmulatorError, match=r"shop\.t: column u is of type uuid"):
        task.catch_up()
    run(shop, "alter table t drop column u")
    # The change with it is still in the log.
    assert task.catch_up() == 1


def test_a_server_that_logs_too_little_is_refused(shop: str, mariadb: LocalMariaDb, tmp_path: Path) -> None:
    run(shop, "create table t (id int primary key)")
    changed = {"binlog_row_image": "MINIMAL", "binlog_row_metadata": "MINIMAL", "binlog_format": "MIXED"}
    usual = {"binlog_row_image": "FULL", "binlog_row_metadata": "FULL", "binlog_format": "ROW"}
    mariadb.execute(*(f"set global {name} = '{value}'" for name, value in changed.items()))
    try:
        with make_task(shop, tmp_path, "shop.t").emulator() as emulator, pytest.raises(EmulatorError) as refused:
            emulator.full_load()
    finally:
        mariadb.execute(*(f"set global {name} = '{value}'" for name, value in usual.items()))
    for name, value in changed.items():
        assert f"the server's {name} is '{value}'; it must be {usual[name]}" in str(refused.value)


@pytest.mark.parametrize(
    ("session", "reason"),
    [
        ("set binlog_format = 'STATEMENT'", "statements instead of rows"),
        ("set binlog_row_image = 'MINIMAL'", r"changes of shop\.t without some columns"),
    ],
)
def test_a_session_that_logs_too_little_stops_the_task(shop: str, tmp_path: Path, session: str, reason: str) -> None:
    run(shop, "create table t (id int primary key, a int, b int)", "insert into t values (1, 1, 1)")
    task = make_task(shop, tmp_path, "shop.t")
    task.load()
    run(shop, session, "update t set a = 2 where id = 1")
    with pytest.raises(EmulatorError, match=reason):
        task.catch_up()


def test_a_compressed_log_stops_the_task(shop: str, mariadb: LocalMariaDb, tmp_path: Path) -> None:
    run(shop, "create table t (id int primary key, a text)")
    task = make_task(shop, tmp_path, "shop.t")
    task.load()
    mariadb.execute("set global log_bin_compress = ON")
    try:
        run(shop, "insert into t values (1, repeat('x', 5000))")
    finally:
        mariadb.execute("set global log_bin_compress = OFF")
    with pytest.raises(EmulatorError, match="the log may be compressed: set log_bin_compress"):
        task.catch_up()


def test_an_xa_transaction_stops_the_task(shop: str, tmp_path: Path) -> None:
    run(shop, "create table t (id int primary key)")
    task = make_task(shop, tmp_path, "shop.t")
    task.load()
    run(shop, "xa start 'x'", "insert into t values (1)", "xa end 'x'", "xa prepare 'x'", "xa rollback 'x'")
    with pytest.raises(EmulatorError, match=r"prepared and committed apart \(XA\)"):
        task.catch_up()


def test_a_clock_that_goes_back_does_not_take_the_sequence_along(shop: str, tmp_path: Path) -> None:
    """MySQL's commit times may go backwards; the time part of the sequence stays where it was, also over a restart."""
    run(shop, "create table t (id int primary key, n int)")
    task = make_task(shop, tmp_path, "shop.t")
    task.load()
    noon = int(dt.datetime(2026, 3, 1, 12, tzinfo=dt.UTC).timestamp())
    run(shop, f"set timestamp = {noon}", "insert into t values (1, 1)", f"set timestamp = {noon - 90}", "update t set n = 2")
    task.catch_up()
    run(shop, f"set timestamp = {noon - 5}", "update t set n = 3", f"set timestamp = {noon + 1}", "update t set n = 4")
    task.catch_up()
    rows = task.changes("shop.t")
    assert [row["dms_commit_ts"][11:] for row in rows] == ["12:00:00.000000", "11:58:30.000000", "11:59:55.000000", "12:00:01.000000"]
    assert [row["dms_change_seq"][8:16] for row in rows] == ["12000000", "12000000", "12000000", "12000100"]
    assert replay(task.rows("shop.t"), ("id",)) == [{"id": 1, "n": 4}]


@pytest.mark.parametrize("overlap", [False, True])
def test_changes_during_the_load_come_once_or_with_overlap_twice(shop: str, tmp_path: Path, overlap: bool) -> None:
    run(shop, "create table t (id int primary key)", "insert into t values (1)")
    task = make_task(shop, tmp_path, "shop.t", ugly=Ugly(overlap=overlap))
    with task.emulator() as emulator:
        emulator.prepare()
        run(shop, "insert into t values (2)")
        emulator.full_load()
    task.catch_up()
    loaded = [row["id"] for row in task.rows("shop.t") if not row["dms_change_seq"]]
    assert loaded == ([1, 2] if overlap else [1])
    assert [row["id"] for row in task.changes("shop.t")] == [2]


def test_a_restart_writes_changes_of_the_same_second_again(shop: str, tmp_path: Path) -> None:
    run(shop, "create table t (id int primary key, n int)", "insert into t values (1, 0)")
    task = make_task(shop, tmp_path, "shop.t", ugly=Ugly(reemit_changes=2, reset_counter=True))
    task.load()
    run(shop, "set timestamp = 1700000000", *(f"update t set n = {number}" for number in (1, 2, 3)))
    task.catch_up()
    run(shop, "set timestamp = 1700000000", "update t set n = 4")
    task.catch_up()
    found = list(texts(task.changes("shop.t"), "n", "dms_change_seq", "dms_stream_position"))
    assert [n for n, _, _ in found] == [1, 2, 3, 2, 3, 4]
    assert [int(sequence[16:]) for _, sequence, _ in found] == [61, 73, 85, 61, 73, 85]
    assert len({sequence[:16] for _, sequence, _ in found}) == 1
    # The same change has the same place in the log.
    assert [position for _, _, position in found[1:3]] == [position for _, _, position in found[3:5]]


def test_a_server_that_restarts_is_an_error_and_the_task_goes_on_later(tmp_path: Path) -> None:
    with LocalMariaDb() as server:
        dsn = server.url("shop")
        server.execute("create database shop", "create table shop.t (id int primary key)", "insert into shop.t values (1)")
        task = make_task(dsn, tmp_path, "shop.t", interval=0.01)
        task.load()
        run(dsn, "insert into t values (2)")
        failures: list[BaseException] = []
        with task.emulator() as emulator:
            runner = threading.Thread(target=catching, args=(emulator.capture, failures))
            runner.start()
            wait_for(lambda: bool(task.changes("shop.t")))
            server.stop()
            runner.join(30)
        assert "source: " in str(failures[0])
        server.start()
        run(dsn, "insert into t values (3)")
        task.catch_up()
        assert [row["id"] for row in task.changes("shop.t")] == [2, 3]
        server.execute("flush binary logs")
        newest = current_lsn(dsn).partition(":")[0]

        def purged() -> bool:
            # Not while the thread that sent the log still ends.
            server.execute(f"purge binary logs to '{newest}'")
            return len(query(dsn, "show binary logs")) == 1

        wait_for(purged)
        with pytest.raises(EmulatorError, match=r"its binary log has no binlog\.0000.*changes are lost"):
            task.catch_up()


def test_sigkill_at_random_moments_loses_and_doubles_nothing(shop: str, tmp_path: Path) -> None:
    run(shop, "create table a (id int primary key, n int)", "create table b (id int primary key, n int)")
    run(shop, "insert into a select seq, 0 from seq_1_to_100", "insert into b select seq, 0 from seq_1_to_7")
    tables = {"shop.a": "a", "shop.b": "b"}
    task = make_task(shop, tmp_path, *tables, interval=0.01, max_kb=1)
    stop = threading.Event()

    def write_both() -> None:
        number = 1000
        while not stop.is_set():
            number += 1
            run(
                shop,
                "begin",
                f"insert into a values ({number}, 0)",
                f"update b set n = n + 1 where id < {number % 7}",
                "commit",
                f"update a set id = -id where id = {number}",
                f"delete from a where id = {-number + 5}",
            )

    writer = threading.Thread(target=write_both)
    writer.start()
    kill_while_it_writes(task, (0, 1, 3, 8), writer.is_alive)
    stop.set()
    writer.join()
    task.catch_up()
    assert len(task.changes("shop.a")) > 10
    for table, name in tables.items():
        assert replay(task.rows(table), ("id",)) == rows_of(shop, name, ("id",))


def catching(capture: Callable[[], Any], failures: list[BaseException]) -> None:
    try:
        capture()
    except EmulatorError as error:
        failures.append(error)


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_odd_names_come_out_right(shop: str, mariadb: LocalMariaDb, tmp_path: Path) -> None:
    mariadb.execute('create database `odd "db`')
    try:
        mariadb.execute('use `odd "db`', "create table `a``b %s` (`k: #1` int primary key, `x``y` varchar(5))")
        mariadb.execute('use `odd "db`', "insert into `a``b %s` values (1, 'x')")
        task = make_task(shop, tmp_path, 'odd "db.a`b %s')
        task.load()
        mariadb.execute('use `odd "db`', "update `a``b %s` set `x``y` = 'y'")
        assert task.catch_up() == 1
        assert [row["x`y"] for row in task.rows('odd "db.a`b %s')] == ["x", "y"]
    finally:
        mariadb.execute('drop database `odd "db`')


def test_profiles_of_other_engines_are_refused(shop: str, tmp_path: Path) -> None:
    settings = EmulatorSettings(state_dir=tmp_path, profile=Profile.POSTGRES)
    with pytest.raises(EmulatorError, match="files of a MySQL show the habits of mysql only"):
        MySqlSource(parse_source(shop), settings)


def test_an_unsigned_bigint_stays_whole_in_parquet(shop: str, tmp_path: Path) -> None:
    run(shop, "create table t (id bigint unsigned primary key)", "insert into t values (18446744073709551615)")
    task = make_task(shop, tmp_path, "shop.t")
    task.load()
    import pyarrow.parquet as pq

    assert pq.read_schema(task.files("shop.t")[0]).field("id").type == pa.uint64()
    assert task.rows("shop.t")[0]["id"] == 2**64 - 1
