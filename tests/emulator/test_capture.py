"""Capture of a real PostgreSQL: what ends in files is what happened, once and in order."""

import datetime as dt
import random
import threading
import time
from functools import partial
from pathlib import Path

import psycopg
import pytest

from dms_emulator import EmulatorError, Profile
from dms_emulator.files import CsvShape, FileShape
from emulator.bronze import capture_beside, current_lsn, make_task, read, replay, run, source_rows, texts

ORDERS = "create table orders (id bigint primary key, n int, note text, at timestamptz default now())"
LINES = "create table lines (a int, b int, amount numeric(10,2), primary key (a, b))"
KEYS = {"public.orders": ("id",), "public.lines": ("a", "b")}


def _write(dsn: str, worker: int, stop: threading.Event) -> None:
    """Random transactions over both tables; every worker has keys of its own, and moves them."""
    dice = random.Random(worker)
    base = worker * 1_000_000
    with psycopg.connect(dsn) as connection:
        while not stop.is_set():
            for _ in range(dice.randint(1, 5)):
                number = base + dice.randrange(200)
                match dice.randrange(6):
                    case 0 | 1:
                        connection.execute(
                            "insert into orders values (%s, %s, %s) on conflict (id) do update set n = excluded.n",
                            (number, dice.randrange(1000), dice.choice(["x", "", None, 'a,"b\n'])),
                        )
                    case 2:
                        connection.execute("delete from orders where id = %s", (number,))
                    case 3:
                        free = base + dice.randrange(200, 400)
                        connection.execute(
                            "update orders set id = %s where id = %s and not exists (select from orders where id = %s)",
                            (free, number, free),
                        )
                    case 4:
                        connection.execute(
                            "insert into lines values (%s, %s, %s) on conflict do nothing",
                            (worker, number, dice.randrange(10**6)),
                        )
                    case _:
                        connection.execute(
                            "update lines set b = -b, amount = amount + 1 where b = %s and not exists (select from lines where b = -%s)",
                            (number, number),
                        )
            if dice.random() < 0.1:
                connection.rollback()
            else:
                connection.commit()


def test_no_gap_and_no_overlap_under_concurrent_writers(dsn: str, tmp_path: Path) -> None:
    run(dsn, ORDERS, LINES, "insert into orders select -g, g, 'seed' from generate_series(1, 5000) g")
    task = make_task(dsn, tmp_path, *KEYS, rows_per_load_file=1500)
    capture_beside(task, partial(_write, dsn))
    for table, key in KEYS.items():
        assert replay(task.rows(table), key) == source_rows(dsn, table, key)
    assert len(task.changes("public.orders")) > 100
    moments = [path.name for path in task.files("public.orders")]
    assert moments[:4] == [f"LOAD0000000{number}.parquet" for number in (1, 2, 3, 4)]
    assert len(set(moments)) == len(moments)
    load_times = {row["dms_commit_ts"] for row in task.rows("public.orders") if not row["dms_change_seq"]}
    assert len(load_times) == 1
    assert max(load_times) < min(row["dms_commit_ts"] for row in task.changes("public.orders"))


@pytest.mark.parametrize("shape", ["csv", "json"])
def test_text_formats_hold_the_same_changes(dsn: str, tmp_path: Path, shape: str) -> None:
    run(dsn, "create table t (id int primary key, v text)", "insert into t values (1, 'a,\"b')")
    task = make_task(dsn, tmp_path, "public.t", files=FileShape(format=shape, csv=CsvShape(header=True)))
    task.load()
    run(dsn, "insert into t values (2, 'x')", "update t set v = 'y' where id = 1", "delete from t where id = 2")
    assert task.catch_up() == 3
    assert [(row["Op"], str(row["id"]), row["v"] or "") for row in task.rows("public.t")] == [
        ("I", "1", 'a,"b'),
        ("I", "2", "x"),
        ("U", "1", "y"),
        ("D", "2", ""),
    ]
    assert [row["dms_change_seq"][16:] for row in task.changes("public.t")] == [f"{number:019d}" for number in (61, 73, 85)]


def test_a_transactions_rows_share_time_and_step_by_four_over_tables(dsn: str, tmp_path: Path) -> None:
    run(dsn, ORDERS, LINES)
    task = make_task(dsn, tmp_path, *KEYS)
    task.load()
    assert task.files("public.orders") == []  # an empty table has no file
    with psycopg.connect(dsn) as connection:
        connection.execute("insert into orders values (1, 1, 'a')")
        connection.execute("insert into lines values (1, 1, 2)")
        connection.execute("update orders set n = 2")
        connection.execute("delete from orders")
        connection.execute("insert into orders values (1, 3, 'again')")
    task.catch_up()
    orders, lines = task.changes("public.orders"), task.changes("public.lines")
    assert [row["Op"] for row in orders] == ["I", "U", "D", "I"]
    assert [int(row["dms_change_seq"][16:]) for row in orders] == [61, 69, 73, 77]
    assert [int(row["dms_change_seq"][16:]) for row in lines] == [65]
    assert len({row["dms_commit_ts"] for row in orders + lines}) == 1
    positions = [row["dms_stream_position"] for row in orders + lines]
    assert len({position.rpartition(".")[0] for position in positions}) == 1
    assert sorted(int(position.rpartition(".")[2]) for position in positions) == [1, 2, 3, 4, 5]


def test_key_changes_have_before_images_and_others_do_not(dsn: str, tmp_path: Path) -> None:
    run(dsn, LINES, "insert into lines values (1, 1, 1), (1, 2, 2)")
    task = make_task(dsn, tmp_path, "public.lines")
    task.load()
    run(
        dsn,
        "update lines set amount = 9 where b = 1",
        "update lines set b = 3 where b = 1",
        "begin; update lines set b = 1 where b = 2; update lines set b = 2 where b = 3; commit",
        "delete from lines where b = 2",
    )
    task.catch_up()
    assert list(texts(task.changes("public.lines"), "Op", "a", "b", "amount", "BI_a", "BI_b")) == [
        ("U", 1, 1, 9, None, None),
        ("U", 1, 3, 9, 1, 1),
        ("U", 1, 1, 2, 1, 2),
        ("U", 1, 2, 9, 1, 3),
        ("D", 1, 2, None, None, None),
    ]
    assert replay(task.rows("public.lines"), ("a", "b")) == source_rows(dsn, "lines", ("a", "b"))


@pytest.mark.parametrize("identity", ["default", "full"])
def test_postgres_deletes_carry_the_key_only(dsn: str, tmp_path: Path, identity: str) -> None:
    run(dsn, ORDERS, f"alter table orders replica identity {identity}", "insert into orders values (1, 2, 'x')")
    task = make_task(dsn, tmp_path, "public.orders")
    task.load()
    run(dsn, "update orders set n = 3", "update orders set id = 5", "delete from orders")
    task.catch_up()
    assert list(texts(task.changes("public.orders"), "Op", "id", "n", "note", "BI_id")) == [
        ("U", 1, 3, "x", None),
        ("U", 5, 3, "x", 1),
        ("D", 5, None, None, None),
    ]


def test_mysql_deletes_carry_the_row_and_times_are_whole_seconds(dsn: str, tmp_path: Path) -> None:
    run(dsn, ORDERS, "alter table orders replica identity full", "insert into orders values (1, 2, 'x')")
    task = make_task(dsn, tmp_path, "public.orders", profile=Profile.MYSQL)
    task.load()
    run(dsn, "delete from orders")
    task.catch_up()
    (row,) = task.changes("public.orders")
    assert (row["Op"], row["id"], row["n"], row["note"]) == ("D", 1, 2, "x")
    assert row["dms_commit_ts"].endswith(".000000")
    assert row["dms_change_seq"][14:16] == "00"


def test_rollbacks_savepoints_and_truncates_leave_no_trace(dsn: str, tmp_path: Path) -> None:
    run(dsn, ORDERS, "insert into orders values (1, 1, 'kept')")
    task = make_task(dsn, tmp_path, "public.orders")
    task.load()
    run(dsn, "begin; insert into orders values (2, 2, 'x'); rollback")
    run(dsn, "begin; insert into orders values (3, 3, 'x'); savepoint s; delete from orders; rollback to s; commit")
    run(dsn, "truncate orders")
    task.catch_up()
    assert list(texts(task.changes("public.orders"), "Op", "id")) == [("I", 3)]


def test_ddl_closes_the_file_and_the_next_has_the_new_structure(dsn: str, tmp_path: Path) -> None:
    run(dsn, "create table t (id int primary key, a int, b text)", "insert into t values (1, 1, 'x')")
    task = make_task(dsn, tmp_path, "public.t", interval=60)
    task.load()
    run(
        dsn,
        "update t set a = 2",
        "analyze t",  # repeats the structure without changing it
        "update t set a = 3",
        "alter table t add column c numeric(8,3) default 1.5",
        "alter table t alter column a type bigint",
        "insert into t values (2, 5000000000, 'y', 2.25)",
        "alter table t drop column b",
        "alter table t rename column a to amount",
        "insert into t values (3, 7, 0.125)",
    )
    task.catch_up()
    shapes = [
        [name for name in row if not name.startswith(("dms_", "BI_"))] for path in task.files("public.t")[1:] for row in read(path)[:1]
    ]
    assert shapes == [["Op", "id", "a", "b"], ["Op", "id", "a", "b", "c"], ["Op", "id", "amount", "c"]]
    assert len(task.files("public.t")) == 4
    assert replay(task.rows("public.t"), ("id",))[1:] == [
        {"id": 2, "a": 5_000_000_000, "b": "y", "c": pytest.approx(2.25)},
        {"id": 3, "amount": 7, "c": pytest.approx(0.125)},
    ]


def test_unchanged_toast_is_not_supplied_unless_the_identity_is_full(dsn: str, tmp_path: Path) -> None:
    run(dsn, "create table t (id int primary key, n int, big text)", "alter table t alter big set storage external")
    csv = CsvShape(header=True, null="<null>", no_supplement="<none>")
    task = make_task(dsn, tmp_path, "public.t", files=FileShape(format="csv", csv=csv))
    task.load()
    run(
        dsn,
        "insert into t values (1, 1, repeat('x', 10000))",
        "update t set n = 2",
        "update t set big = null",
        "update t set big = repeat('y', 10000)",
        "alter table t replica identity full",
        "update t set n = 3",
    )
    task.catch_up()
    assert [row["big"][:6] for row in task.changes("public.t")] == ["xxxxxx", "<none>", "<null>", "yyyyyy", "yyyyyy"]


def test_each_table_has_its_own_timer(dsn: str, tmp_path: Path) -> None:
    run(dsn, ORDERS, LINES)
    task = make_task(dsn, tmp_path, *KEYS, interval=3)
    task.load()
    stop = threading.Event()
    with task.emulator() as emulator:
        runner = threading.Thread(target=emulator.capture, args=(stop,))
        runner.start()
        run(dsn, "insert into orders values (1)")
        time.sleep(1.5)
        run(dsn, "begin; insert into lines values (1, 1); insert into orders values (2); commit")
        deadline = time.monotonic() + 20
        while not (task.files("public.lines") and task.files("public.orders")) and time.monotonic() < deadline:
            time.sleep(0.05)
        stop.set()
        runner.join()
    (orders,), (lines,) = task.files("public.orders"), task.files("public.lines")
    # One transaction, two files: that of orders was due first.
    assert [len(read(orders)), len(read(lines))] == [2, 1]
    assert _close_time(lines) - _close_time(orders) > 0.3
    assert _close_time(lines) - _seconds(read(lines)[0]["dms_commit_ts"]) > 2.9


def _close_time(path: Path) -> float:
    stamp = dt.datetime.strptime(path.name.split(".")[0] + "000 +0000", "%Y%m%d-%H%M%S%f %z")
    assert path.parent.relative_to(path.parents[4]).as_posix() == stamp.strftime("%Y/%m/%d/%H")
    return stamp.timestamp()


def _seconds(text: str) -> float:
    return dt.datetime.fromisoformat(text + "+00:00").timestamp()


def test_size_closes_a_file_inside_a_transaction(dsn: str, tmp_path: Path) -> None:
    run(dsn, ORDERS)
    task = make_task(dsn, tmp_path, "public.orders", interval=60, max_kb=50)
    task.load()
    run(dsn, "insert into orders select g, g, repeat('x', 100) from generate_series(1, 2000) g")
    task.catch_up()
    counts = [len(read(path)) for path in task.files("public.orders")]
    assert len(counts) > 3
    assert sum(counts) == 2000
    assert replay(task.rows("public.orders"), ("id",)) == source_rows(dsn, "orders", ("id",))


def test_the_slot_moves_on_when_nothing_of_ours_happens(dsn: str, tmp_path: Path) -> None:
    run(dsn, ORDERS, "create table other (x int)")
    task = make_task(dsn, tmp_path, "public.orders")
    task.load()
    run(dsn, "insert into other select generate_series(1, 1000)")
    before = current_lsn(dsn)
    assert task.catch_up() == 0
    # The server notes the position some time after it was sent.
    until = time.monotonic() + 30
    moved = False
    with psycopg.connect(dsn, autocommit=True) as connection:
        while not moved and time.monotonic() < until:
            ((moved,),) = connection.execute("select confirmed_flush_lsn >= %s::pg_lsn from pg_replication_slots", (before,)).fetchall()
            time.sleep(0.05)
    assert moved
    assert task.files("public.orders") == []


def test_partitions_are_tables_of_their_own(dsn: str, tmp_path: Path) -> None:
    """PostgreSQL logs changes under the names of the partitions that hold the rows; an update between two is a delete and an insert."""
    run(
        dsn,
        "create table events (id int, day date, note text, primary key (id, day)) partition by range (day)",
        "create table events_2025 partition of events for values from ('2025-01-01') to ('2026-01-01')",
        "create table events_2026 partition of events for values from ('2026-01-01') to ('2027-01-01') partition by list (id)",
        "create table events_2026_1 partition of events_2026 for values in (1, 2)",
        "create table events_2026_9 partition of events_2026 default",
        "insert into events values (1, '2025-05-01', 'a'), (2, '2026-05-01', 'b'), (7, '2026-05-01', 'c')",
    )
    leaves = ("public.events_2025", "public.events_2026_1", "public.events_2026_9")
    task = make_task(dsn, tmp_path, *leaves)
    task.load()
    run(
        dsn,
        "insert into events values (3, '2025-06-01', 'd')",
        "update events set day = '2026-06-01' where id = 1",
        "update events set id = 8 where id = 2",
        "update events set note = 'changed' where id = 7",
        "delete from events where id = 3",
    )
    task.catch_up()
    for leaf in leaves:
        assert replay(task.rows(leaf), ("id", "day")) == source_rows(dsn, leaf, ("id", "day"))
    assert [(row["Op"], row["id"]) for row in task.changes("public.events_2025")] == [("I", 3), ("D", 1), ("D", 3)]
    assert [(row["Op"], row["id"]) for row in task.changes("public.events_2026_1")] == [("I", 1), ("D", 2)]
    moved = task.changes("public.events_2025")[1]["dms_commit_ts"]
    assert moved == task.changes("public.events_2026_1")[0]["dms_commit_ts"]


@pytest.mark.parametrize("name", ["events", "events_2026"])
def test_a_partitioned_table_is_refused_with_its_partitions(dsn: str, tmp_path: Path, name: str) -> None:
    run(
        dsn,
        "create table events (id int, day date, primary key (id, day)) partition by range (day)",
        "create table events_2025 partition of events for values from ('2025-01-01') to ('2026-01-01')",
        "create table events_2026 partition of events for values from ('2026-01-01') to ('2027-01-01') partition by list (id)",
        "create table events_2026_1 partition of events_2026 for values in (1, 2)",
    )
    with pytest.raises(EmulatorError, match=rf"public\.{name}: is a partitioned table.*public\.events_2026_1"):
        make_task(dsn, tmp_path, f"public.{name}").load()
