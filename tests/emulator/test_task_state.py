"""What a task knows of itself, and of the source: its slot, its publication, its tables and its state."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from dms_emulator import EmulatorError
from dms_emulator.postgres_source import PostgresSource
from emulator.bronze import make_task, run


def test_a_reload_fails_no_statement_of_others(dsn: str, tmp_path: Path) -> None:
    """A publication dropped and made again failed updates that ran meanwhile: ``cache lookup failed for publication``."""
    run(dsn, "create table a (id int primary key, n int)", "insert into a values (1, 0)")
    task = make_task(dsn, tmp_path, "public.a")
    task.load()
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            run(dsn, "update a set n = n + 1")

    with ThreadPoolExecutor(1) as pool, closing(PostgresSource(dsn, task.settings)) as source:
        writer = pool.submit(write)
        deadline = time.monotonic() + 3
        while time.monotonic() < deadline and not writer.done():
            source.publish(["public.a"])
        stop.set()
        writer.result()


def test_a_task_does_not_take_what_is_not_its_own(dsn: str, tmp_path: Path) -> None:
    run(dsn, "create table a (id int primary key)", "create table b (id int primary key)")
    task = make_task(dsn, tmp_path / "one", "public.a")
    task.load()
    with task.emulator() as emulator, pytest.raises(EmulatorError, match="captures already"):
        emulator.full_load()
    stranger = make_task(dsn, tmp_path / "two", "public.a")
    with stranger.emulator() as emulator, pytest.raises(EmulatorError, match="knows nothing of it"):
        emulator.full_load()
    wider = make_task(dsn, tmp_path / "one", "public.a", "public.b")
    with wider.emulator() as emulator, pytest.raises(EmulatorError, match=r"public\.b.*not part of the task"):
        emulator.capture(until_lsn="0/0")


def test_a_slot_that_was_moved_or_dropped_is_an_error(dsn: str, tmp_path: Path) -> None:
    run(dsn, "create table a (id int primary key)")
    task = make_task(dsn, tmp_path, "public.a")
    task.load()
    run(
        dsn,
        "set synchronous_commit = on",  # a slot moves over flushed WAL only
        "insert into a values (1)",
        "select count(*) from pg_replication_slot_advance('dms_iceberg', pg_current_wal_lsn())",
    )
    with task.emulator() as emulator, pytest.raises(EmulatorError, match="changes are lost"):
        emulator.capture(until_lsn="0/0")
    run(dsn, "select pg_drop_replication_slot('dms_iceberg')")
    with task.emulator() as emulator, pytest.raises(EmulatorError, match="does not exist any more"):
        emulator.capture(until_lsn="0/0")


def test_a_reload_starts_over_and_leaves_old_files(dsn: str, tmp_path: Path) -> None:
    run(dsn, "create table a (id int primary key)", "insert into a select generate_series(1, 20)")
    task = make_task(dsn, tmp_path, "public.a", rows_per_load_file=10)
    task.load()
    run(dsn, "insert into a values (21)")
    task.catch_up()
    run(dsn, "delete from a where id > 10")
    with task.emulator() as emulator:
        assert emulator.full_load(reload=True) == {"public.a": 10}
    run(dsn, "insert into a values (99)")
    task.catch_up()
    names = [path.name for path in task.files("public.a")]
    assert names[:2] == ["LOAD00000001.parquet", "LOAD00000002.parquet"]  # the second is stale, as DMS leaves it
    assert [row["dms_change_seq"][16:] for row in task.changes("public.a")] == ["0" * 17 + "61"] * 2
    with task.emulator() as emulator:
        emulator.drop()


def test_a_damaged_state_is_named(dsn: str, tmp_path: Path) -> None:
    run(dsn, "create table a (id int primary key)")
    task = make_task(dsn, tmp_path, "public.a")
    task.load()
    (tmp_path / "state" / "task.json").write_text('{"version": 1, "tables": 3}')
    with task.emulator() as emulator, pytest.raises(EmulatorError, match=r"task\.json: not a state"):
        emulator.capture()
