"""A task can be cut off at any moment: nothing is lost and nothing is written twice."""

import io
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import boto3
import pyarrow.parquet as pq
import pytest
from moto import mock_aws

from dms_emulator import Emulator, EmulatorError
from dms_emulator.postgres import LocalPostgres
from dms_iceberg.storage.folders import Folders
from dms_iceberg.storage.open_store import open_store
from dms_iceberg.storage.store import ObjectStore, StoredObject
from emulator.bronze import Task, current_lsn, kill_while_it_writes, make_task, read, replay, run, source_rows

TABLES = ("public.a", "public.b")


class Broken(Exception):
    """Stands for the end of the process."""


class BreakingStore:
    """A store that fails at its n-th put, before or after the object is there."""

    def __init__(self, inner: ObjectStore, fail_at: int, *, after: bool) -> None:
        self._inner = inner
        self._left = fail_at
        self._after = after
        self.root = inner.root

    def list(self, prefix: str, start_after: str = "") -> Iterator[StoredObject]:
        return self._inner.list(prefix, start_after)

    def folders(self, prefix: str) -> Folders:
        return self._inner.folders(prefix)

    def read(self, key: str, start: int = 0, length: int | None = None) -> bytes:
        return self._inner.read(key, start, length)

    def delete(self, key: str) -> None:
        self._inner.delete(key)

    def put(self, key: str, data: bytes) -> None:
        self._left -= 1
        if self._left == 0 and not self._after:
            raise Broken
        self._inner.put(key, data)
        if self._left == 0:
            raise Broken


@pytest.fixture
def task(dsn: str, tmp_path: Path) -> Task:
    for name in "ab":
        run(dsn, f"create table {name} (id int primary key, n int)")
        run(dsn, f"insert into {name} select g, 0 from generate_series(1, 100) g")
    return make_task(dsn, tmp_path, *TABLES, max_kb=1)


def _check(task: Task) -> None:
    for table in TABLES:
        assert replay(task.rows(table), ("id",)) == source_rows(task.dsn, table, ("id",))


@pytest.mark.parametrize("after", [False, True], ids=["before the put", "after the put"])
@pytest.mark.parametrize("fail_at", [1, 2, 5])
def test_capture_goes_on_exactly_where_it_broke(task: Task, fail_at: int, after: bool) -> None:
    task.load()
    for round_ in range(3):
        run(
            task.dsn,
            f"begin; update a set n = n + 1; insert into b values (200 + {round_}, 1); update b set n = n + 1; commit",
            f"delete from b where id = {round_ + 1}",
        )
    store = BreakingStore(open_store(str(task.bronze)), fail_at, after=after)
    with Emulator(task.dsn, TABLES, store, task.settings) as emulator, pytest.raises(Broken):
        emulator.capture(until_lsn=current_lsn(task.dsn))
    task.catch_up()
    _check(task)
    # The same change has the same sequence when it is read again: no number is missing.
    counters = sorted(int(row["dms_change_seq"][16:]) for table in TABLES for row in task.changes(table))
    assert len(counters) == 3 * 100 + (101 + 101 + 101) + 3 + 3
    assert counters == _counters([100 + 1 + 101, 1] * 3)


def _counters(transactions: list[int]) -> list[int]:
    """The counters of transactions of so many changes each: 61, then 4 more, and 12 more at a new transaction."""
    counters = [49]
    for size in transactions:
        counters += [counters[-1] + 12 + 4 * number for number in range(size)]
    return counters[1:]


@pytest.mark.parametrize("after", [False, True])
def test_a_full_load_that_broke_is_done_again_without_left_overs(dsn: str, tmp_path: Path, after: bool) -> None:
    run(dsn, "create table a (id int primary key, n int)", "insert into a select g from generate_series(1, 50) g")
    task = make_task(dsn, tmp_path, "public.a", rows_per_load_file=10)
    store = BreakingStore(open_store(str(task.bronze)), 4, after=after)
    with Emulator(dsn, task.tables, store, task.settings) as emulator, pytest.raises(Broken):
        emulator.full_load()
    with task.emulator() as emulator:
        assert emulator.needs_full_load
        with pytest.raises(EmulatorError, match="no finished full load"):
            emulator.capture()
    run(dsn, "delete from a where id > 20")
    task.load()
    assert [path.name for path in task.files("public.a")] == ["LOAD00000001.parquet", "LOAD00000002.parquet"]
    run(dsn, "insert into a values (51, 1)")
    task.catch_up()
    assert replay(task.rows("public.a"), ("id",)) == source_rows(dsn, "a", ("id",))


def test_file_names_rise_over_runs_even_when_the_clock_does_not(task: Task, monkeypatch: pytest.MonkeyPatch) -> None:
    task.load()
    run(task.dsn, "update a set n = 1 where id = 1")
    task.catch_up()
    frozen = time.time_ns() - 3_600_000_000_000
    monkeypatch.setattr("dms_emulator.writer.time.time_ns", lambda: frozen)
    for number in (2, 3):
        run(task.dsn, f"update a set n = {number} where id = 1")
        task.catch_up()
    names = [path.name for path in task.files("public.a")]
    assert len(names) == 4
    assert [row["n"] for path in task.files("public.a")[1:] for row in read(path)] == [1, 2, 3]


def test_sigkill_at_random_moments_loses_and_doubles_nothing(task: Task) -> None:
    stop = threading.Event()

    def write() -> None:
        number = 1000
        while not stop.is_set():
            number += 1
            run(
                task.dsn,
                f"begin; insert into a values ({number}, 0); update b set n = n + 1 where id < {number % 7}; commit",
                f"update a set id = -id where id = {number}",
                f"delete from a where id = {-number + 5}",
            )

    with ThreadPoolExecutor(1) as pool:
        writer = pool.submit(write)
        kill_while_it_writes(task, (0, 1, 3, 8, 4), lambda: not writer.done())
        stop.set()
        writer.result()
    with task.emulator() as emulator:
        assert not emulator.needs_full_load
    task.catch_up()
    assert len(task.changes("public.a")) > 20
    _check(task)
    leftovers = [path for path in task.bronze.rglob("*") if path.is_file() and path.name.startswith(".")]
    # A file cut off while it was written stays under a hidden name, which readers pass over.
    assert len(leftovers) <= 6


def test_a_server_that_ends_is_an_error_and_the_task_goes_on_later(tmp_path: Path) -> None:
    with LocalPostgres(tmp_path / "pg") as server:
        dsn = server.dsn()
        run(dsn, "create table a (id int primary key)", "insert into a values (1)")
        task = make_task(dsn, tmp_path, "public.a", interval=0.01)
        task.load()
        run(dsn, "insert into a values (2)")
        with task.emulator() as emulator:
            failures: list[BaseException] = []

            def capture() -> None:
                try:
                    emulator.capture()
                except EmulatorError as error:
                    failures.append(error)

            runner = threading.Thread(target=capture)
            runner.start()
            deadline = time.monotonic() + 30
            while not task.changes("public.a") and time.monotonic() < deadline:
                time.sleep(0.05)
            server.stop()
            runner.join(30)
        assert "source: " in str(failures[0])
        server.start()
        run(dsn, "insert into a values (3)")
        task.catch_up()
        assert [row["id"] for row in task.changes("public.a")] == [2, 3]


def test_the_same_holds_on_s3(dsn: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("ACCESS_KEY_ID", "test"), ("SECRET_ACCESS_KEY", "test"), ("DEFAULT_REGION", "us-east-1")):
        monkeypatch.setenv(f"AWS_{name}", value)
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    run(dsn, "create table a (id int primary key)", "insert into a values (1)")
    task = make_task(dsn, tmp_path, "public.a", interval=0)
    with mock_aws():
        boto3.client("s3").create_bucket(Bucket="bronze")
        store = open_store("s3://bronze/dms/shop")
        with Emulator(dsn, task.tables, store, task.settings) as emulator:
            emulator.full_load()
        run(dsn, "insert into a values (2)")
        broken = BreakingStore(store, 1, after=True)
        with Emulator(dsn, task.tables, broken, task.settings) as emulator, pytest.raises(Broken):
            emulator.capture(until_lsn=current_lsn(dsn))
        run(dsn, "insert into a values (3)")
        with Emulator(dsn, task.tables, store, task.settings) as emulator:
            assert emulator.capture(until_lsn=current_lsn(dsn)).changes == 1
        keys = [item.key for item in store.list("")]
        assert keys[-1] == "public/a/LOAD00000001.parquet"
        rows = [pq.read_table(io.BytesIO(store.read(key)))["id"].to_pylist() for key in keys]
        assert rows == [[2], [3], [1]]
