"""What the end-to-end tests of all sources share: the emulated DMS as a process, and the comparison of both sides."""

import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import attrs

from dms_iceberg.config.load import load_config
from dms_iceberg.config.model import Config
from dms_iceberg.runs.run import run
from support.lake import Lake

Columns = dict[str, tuple[str, str]]
"""By its name, each column as text in both worlds: the left is the source's SQL, the right is Spark's."""
RUNS = 2
TRANSACTIONS = 100
WORDS = ["plain", "comma, quote \" and 'single'", "line\nbreak", "back\\slash\\", "Grüße 中文 🙂", "", "NULL", "${spark.master}"]


class Writer(threading.Thread):
    """Transactions of several statements, some rolled back; they go on until the table is altered, and a while after that.

    Args:
        seed: of what it draws.
        altered: whether the table is altered.
        expected: the errors that end a transaction and nothing else: duplicate keys and deadlocks.
    """

    def __init__(self, seed: int, altered: threading.Event, expected: Callable[[Exception], bool]) -> None:
        super().__init__()
        self.chance, self.transactions = random.Random(seed), 0
        self.altered, self.expected = altered, expected
        self.error: BaseException | None = None

    def session(self) -> AbstractContextManager[tuple[Any, Any]]:
        """A connection that is not in autocommit mode, and what runs statements."""
        raise NotImplementedError

    def statement(self, runs: Any) -> None:
        """Run a random statement or two."""
        raise NotImplementedError

    def run(self) -> None:
        try:
            with self.session() as (connection, runs):
                while not self.altered.is_set():
                    self.transaction(connection, runs)
                for _ in range(TRANSACTIONS):
                    self.transaction(connection, runs)
        except BaseException as error:
            self.error = error

    def transaction(self, connection: Any, runs: Any) -> None:
        try:
            for _ in range(self.chance.randint(1, 6)):
                self.statement(runs)
            connection.rollback() if self.chance.random() < 0.15 else connection.commit()
            self.transactions += 1
        except Exception as error:
            if not self.expected(error):
                raise
            connection.rollback()
        # However slow the job is on a busy machine, the work stays about the same.
        time.sleep(0.02 if self.transactions < TRANSACTIONS else 0.5 if not self.altered.is_set() else 0.02)


@attrs.frozen
class Source:
    """A source that is written to.

    Attributes:
        address: of the database, for the emulated DMS.
        execute: runs a statement.
        log_end: returns the end of the log, as the emulated DMS understands it.
    """

    address: str
    execute: Callable[[str], Any]
    log_end: Callable[[], str]


def follow(lake: Lake, path: Path, source: Source, writers: Sequence[Writer]) -> Config:
    """Let writers, the emulated DMS and runs of the job work together, and alter a table; at the end everything is merged.

    Args:
        lake: where the job writes.
        path: the document.
        source: the database.
        writers: not started yet; all have one event for the table that is altered.
    """
    config = load_config(str(path))
    for writer in writers:
        writer.start()
    dms = emulate(path, source.address)
    until_loaded(dms, lake.bronze, len(config.tables))
    for number in range(RUNS):
        time.sleep(1)
        if number == RUNS // 2:
            source.execute("alter table everything add column extra int, add column given int default 5")
            writers[0].altered.set()
        report = run(lake.spark, config)
        assert not report.failed, [table.error for table in report.tables.values()]
    for writer in writers:
        writer.join()
    assert [writer.error for writer in writers] == [None] * len(writers)
    dms.send_signal(signal.SIGTERM)
    ends_well(dms)
    ends_well(emulate(path, source.address, "--until-lsn", source.log_end()))
    run(lake.spark, config)
    assert sum(writer.transactions for writer in writers) > 100
    return config


def emulate(config: Path, dsn: str, *options: str) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "dms_iceberg.cli.app", "emulate", str(config), "--source", dsn, "--interval", "300ms", *options]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def until_loaded(dms: "subprocess.Popen[bytes]", bronze: Path, tables: int) -> None:
    """Wait for the full load: on a busy machine the emulated DMS may take longer to start than all runs of the job."""
    deadline = time.monotonic() + 120
    while len({file.parent for file in bronze.rglob("LOAD*")}) < tables:
        assert dms.poll() is None, "the emulated DMS has ended"
        assert time.monotonic() < deadline, "no full load in two minutes"
        time.sleep(0.1)


def ends_well(dms: "subprocess.Popen[bytes]") -> None:
    _, said = dms.communicate(timeout=60)
    assert dms.returncode == 0, said.decode()


def silver_rows(lake: Lake, table: str, columns: Columns) -> list[tuple[Any, ...]]:
    return sorted(lake.rows(table, ", ".join(sql for _, sql in columns.values())), key=repr)


def differences(source: list[tuple[Any, ...]], silver: list[tuple[Any, ...]], names: list[str]) -> list[str]:
    """Say per key and column what differs."""
    left, right = {row[0]: row for row in source if row not in silver}, {row[0]: row for row in silver if row not in source}
    found = [f"only one side has {key}" for key in left.keys() ^ right.keys()]
    for key in left.keys() & right.keys():
        found += [
            f"{key}.{n}: {a!r} at the source, {b!r} in silver" for n, a, b in zip(names, left[key], right[key], strict=True) if a != b
        ]
    return found
