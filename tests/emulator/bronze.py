"""Reads the emulator's files in plain Python and replays them, knowing nothing of how they were made."""

import csv
import datetime as dt
import io
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import attrs
import psycopg
import pyarrow.parquet as pq

from dms_emulator import Emulator, EmulatorSettings
from dms_emulator.open_source import is_mysql
from dms_iceberg.source.address import parse_source, with_credentials
from dms_iceberg.source.mysql import connect
from dms_iceberg.storage.open_store import open_store

Row = dict[str, Any]
SERVICE = ("Op", "dms_commit_ts", "dms_change_seq", "dms_stream_position")


@attrs.frozen
class Task:
    """One task of the tests: its bronze folder, its settings and how to make it."""

    dsn: str
    folder: Path
    tables: tuple[str, ...]
    settings: EmulatorSettings

    @property
    def bronze(self) -> Path:
        return self.folder / "bronze"

    def emulator(self) -> Emulator:
        return Emulator(self.dsn, self.tables, open_store(str(self.bronze)), self.settings)

    def load(self) -> None:
        with self.emulator() as emulator:
            emulator.full_load()

    def catch_up(self) -> int:
        """Capture everything committed so far; returns the number of changes."""
        with self.emulator() as emulator:
            return emulator.capture(until_lsn=current_lsn(self.dsn)).changes

    def files(self, table: str) -> list[Path]:
        """A table's files in the order of their names: LOAD first."""
        found = [path for path in (self.bronze / table.replace(".", "/", 1)).rglob("[!.]*.*") if path.is_file()]
        return sorted(found, key=lambda path: (not path.name.startswith("LOAD"), path.name))

    def rows(self, table: str) -> list[Row]:
        return [row for path in self.files(table) for row in read(path)]

    def changes(self, table: str) -> list[Row]:
        return [row for path in self.files(table) if not path.name.startswith("LOAD") for row in read(path)]


def make_task(dsn: str, folder: Path, *tables: str, **settings: Any) -> Task:
    settings = {"interval": 0.05, **settings}
    return Task(dsn, folder, tables, EmulatorSettings(state_dir=folder / "state", **settings))


def capture_beside(task: Task, write: Callable[[int, threading.Event], None], in_between: Callable[[], None] = lambda: None) -> None:
    """Load and capture while three threads write, with a run that is ended in the middle and resumed, until all is captured.

    Args:
        task: the task.
        write: writes until its event is set; its number is that of the thread.
        in_between: what happens while the first run captures.
    """
    stop_writing, stop_capture = threading.Event(), threading.Event()
    writers = [threading.Thread(target=write, args=(number, stop_writing)) for number in (1, 2, 3)]
    for writer in writers:
        writer.start()
    time.sleep(0.3)
    task.load()
    with task.emulator() as emulator:
        runner = threading.Thread(target=emulator.capture, args=(stop_capture,))
        runner.start()
        time.sleep(1.5)
        in_between()
        stop_capture.set()
        runner.join()
    time.sleep(0.5)
    stop_writing.set()
    for writer in writers:
        writer.join()
    task.catch_up()


def kill_while_it_writes(task: Task, more: Iterable[int], is_writing: Callable[[], bool]) -> None:
    """Kill the capture while it starts, in the full load, or in any stage of putting the next file.

    Args:
        task: the task.
        more: after how many more files each capture is killed.
        is_writing: whether the source is still written to.
    """

    def count() -> int:
        return sum(len(task.files(table)) for table in task.tables)

    command = [sys.executable, "-m", "support.capture_process", task.dsn, str(task.bronze), str(task.settings.state_dir), *task.tables]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    for files in more:
        before = count()
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"begun\n"
            deadline = time.monotonic() + 60
            while count() < before + files and time.monotonic() < deadline and is_writing():
                assert process.poll() is None
                time.sleep(0.001)
            assert count() >= before + files
            process.send_signal(signal.SIGKILL)


def current_lsn(dsn: str) -> str:
    if is_mysql(dsn):
        with mysql(dsn) as connection, connection.cursor() as cursor:
            cursor.execute("show master status")
            file, offset, *_ = cursor.fetchone()
            return f"{file}:{offset}"
    with psycopg.connect(dsn, autocommit=True) as connection:
        row = connection.execute("select pg_current_wal_insert_lsn()::text").fetchone()
        assert row is not None
        return str(row[0])


def mysql(dsn: str) -> Any:
    """A connection to a MySQL, each statement a transaction of its own."""
    return connect(with_credentials(parse_source(dsn), None))


def run(dsn: str, *statements: str) -> None:
    """Execute statements in one session, each in a transaction of its own."""
    if is_mysql(dsn):
        with mysql(dsn) as connection, connection.cursor() as cursor:
            for statement in statements:
                cursor.execute(statement)
        return
    with psycopg.connect(dsn, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


def read(path: Path) -> list[Row]:
    if path.suffix == ".parquet":
        # Not a dataset: its folder would become a partition column.
        return list(map(_naive, pq.ParquetFile(path).read().to_pylist()))
    text = path.read_text()
    if path.suffix == ".json":
        return [json.loads(line) for line in text.splitlines()]
    return list(csv.DictReader(io.StringIO(text, newline="")))


def _naive(row: Row) -> Row:
    return {name: value.replace(tzinfo=None) if isinstance(value, dt.datetime) else value for name, value in row.items()}


def replay(rows: list[Row], key: tuple[str, ...]) -> list[Row]:
    """The table after all changes, in file order.

    Strict: an insert of a present key, an update or delete of an absent one is an error. So is a sequence that does
    not rise, so a gap, an overlap or a repetition cannot go unseen.
    """
    state: dict[tuple[Any, ...], Row] = {}
    last = ""
    for row in rows:
        assert row["dms_change_seq"] == "" or row["dms_change_seq"] > last
        last = row["dms_change_seq"] or last
        now = tuple(row[name] for name in key)
        old = tuple(row[f"BI_{name}"] for name in key)
        moved = any(part not in (None, "") for part in old)
        if row["Op"] == "I":
            assert now not in state, f"insert of a key that is there: {now}"
        elif row["Op"] == "U":
            del state[old if moved else now]
        if row["Op"] == "D":
            del state[now]
        else:
            state[now] = {n: v for n, v in row.items() if n not in SERVICE and not n.startswith("BI_")}
    return [state[key] for key in sorted(state)]


def source_rows(dsn: str, table: str, key: tuple[str, ...]) -> list[Row]:
    """The table as psycopg sees it, times in UTC without zone."""
    with psycopg.connect(dsn, options="-c timezone=UTC", row_factory=psycopg.rows.dict_row) as connection:
        rows = connection.execute(f"select * from {table}").fetchall()
    return sorted((_naive(row) for row in rows), key=lambda row: tuple(row[name] for name in key))


def texts(rows: list[Row], *names: str) -> Iterator[tuple[Any, ...]]:
    """Some columns of rows."""
    for row in rows:
        yield tuple(row[name] for name in names)
