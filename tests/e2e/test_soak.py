"""A live PostgreSQL, the emulated DMS and the job, while S3 and Glue fail at random and the job is killed again and again.

``make soak`` does it for half an hour, the ordinary suite for seconds. SOAK_SEED repeats the faults and kills of a run that failed, as far
as the order of requests allows.
"""

import io
import os
import random
import secrets
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pyarrow.parquet as pq
import pytest

from dms_emulator import Emulator, EmulatorSettings
from dms_emulator.postgres import LocalPostgres
from dms_emulator.settings import Ugly
from dms_iceberg.storage.open_store import open_store
from support.cloud import BRONZE, Cloud, open_cloud
from support.log_settings import logs_for
from support.warm_job import WarmJob

pytestmark = pytest.mark.release

SECONDS = float(os.environ.get("SOAK_SECONDS", "12"))
SEED = int(os.environ.get("SOAK_SEED") or secrets.randbelow(1_000_000))
# A late batch with crowded keys reads every older file again, so with more files a run would take longer than the files after it.
INTERVAL = max(0.5, SECONDS / 300)
RATE = 0.03
NAME = "soak"
KEYS = {"accounts": ("id",), "pairs": ("a", "b")}
SCHEMA = """
create table accounts (id bigint primary key, v text, n int);
create table pairs (a text, b int, v text, primary key (a, b));
insert into accounts select n, 'row ' || n, n from generate_series(1, 200) n;
"""
STATEMENTS = (
    "insert into accounts values (%(id)s, %(v)s, 0) on conflict (id) do update set n = accounts.n + 1",
    "update accounts set v = %(v)s, n = n + 1 where id = %(id)s",
    "update accounts set id = %(new)s where id = %(id)s and not exists (select from accounts where id = %(new)s)",
    "delete from accounts where id = %(id)s",
    "insert into pairs values (%(a)s, %(b)s, %(v)s) on conflict (a, b) do update set v = excluded.v",
    "delete from pairs where a = %(a)s and b = %(b)s",
)


def say(text: str) -> None:
    sys.stdout.write(f"soak: {text}\n")
    sys.stdout.flush()


class Writer(threading.Thread):
    """One writer, so that no statement can fail: transactions of several statements until the time is over."""

    def __init__(self, dsn: str, until: float) -> None:
        super().__init__()
        self.dsn, self.until, self.chance, self.transactions = dsn, until, random.Random(SEED), 0
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            with psycopg.connect(self.dsn) as connection:
                while time.monotonic() < self.until:
                    for _ in range(self.chance.randint(1, 5)):
                        connection.execute(self.chance.choice(STATEMENTS), self.values())
                    connection.rollback() if self.chance.random() < 0.1 else connection.commit()
                    self.transactions += 1
                    time.sleep(0.02)
        except BaseException as error:
            self.error = error

    def values(self) -> dict[str, Any]:
        number = self.chance.randint
        return {
            "id": number(1, 300),
            "new": number(1, 300),
            "v": f"v {number(1, 9999)}",
            "a": self.chance.choice("xyz"),
            "b": number(1, 20),
        }


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[Cloud]:
    with open_cloud(tmp_path) as cloud:
        yield cloud


class Soak:
    """The job under faults: runs follow each other, and a process is killed after some of them, in the middle of one."""

    def __init__(self, cloud: Cloud, document: Path) -> None:
        self.cloud, self.document, self.chance = cloud, document, random.Random(SEED)
        self.runs, self.failed, self.kills, self.faults = 0, 0, 0, Counter[str]()
        self.job = WarmJob(cloud.environment, cloud.folder)

    def suffer(self, until: float) -> None:
        """Run, fail and be killed until the time is over; at least one kill and a run after it."""
        spared, seconds = self.chance.randint(1, 2), 1.0
        while time.monotonic() < until or not self.kills or spared == 0:
            started = time.monotonic()
            if spared == 0:
                self.kill(self.chance.uniform(0, seconds))
                spared = self.chance.randint(1, 10)
                continue
            self.finish(self.job.run(self.document))
            seconds, spared = time.monotonic() - started, spared - 1

    def kill(self, after: float) -> None:
        """Kill the process so many seconds after a run began, or once it has ended."""
        self.job.start(self.document)
        if (report := self.job.finish(after)) is not None:
            self.finish(report)
        self.end()
        self.kills += 1
        say(f"killed {after:.2f} s after run {self.runs + 1} began")
        self.job = WarmJob(self.cloud.environment, self.cloud.folder)

    def finish(self, report: dict[str, Any]) -> None:
        """Look at the report of a run."""
        self.runs += 1
        self.faults.update(text.partition(" /")[0] for text in self.cloud.proxy.take_injected())
        errors = [table["error"] for table in report["tables"].values() if table["error"]]
        self.failed += bool(errors)
        assert report["exit_code"] == bool(errors)
        for error in errors:
            say(f"run {self.runs}: {error}")
        # Outages say so; anything else is a defect.
        assert not [error for error in errors if "unexpected" in error], errors

    def end(self) -> None:
        """End the process; nothing outlives it."""
        self.job.__exit__()


def source_rows(dsn: str, table: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(dsn) as connection:
        return sorted(connection.execute(f"select * from {table}").fetchall())


def silver_rows(cloud: Cloud, table: str) -> list[tuple[Any, ...]]:
    columns = {"accounts": ("id", "v", "n"), "pairs": ("a", "b", "v")}[table]
    found = cloud.load_table(NAME, table).scan().to_arrow()
    return sorted(zip(*(found[column].to_pylist() for column in columns), strict=True))


def rows_in_bronze(cloud: Cloud, table: str) -> int:
    s3 = cloud.client("s3")
    pages = s3.get_paginator("list_objects_v2").paginate(Bucket=BRONZE, Prefix=f"{NAME}/public/{table}/")
    keys = [item["Key"] for page in pages for item in page.get("Contents", [])]
    return sum(pq.read_metadata(io.BytesIO(s3.get_object(Bucket=BRONZE, Key=key)["Body"].read())).num_rows for key in keys)


@pytest.fixture
def quiet() -> Iterator[None]:
    """The emulator tells of every file, which is too much for half an hour."""
    with logs_for(terminal=True):
        yield


@pytest.fixture
def soak(cloud: Cloud) -> Iterator[Soak]:
    soak = Soak(cloud, cloud.document(NAME, {table: {"key": list(key)} for table, key in KEYS.items()}))
    yield soak
    soak.end()


@pytest.mark.usefixtures("quiet")
@pytest.mark.timeout(SECONDS + 600)
def test_source_and_silver_are_equal_after_random_faults_and_kills(cloud: Cloud, soak: Soak, tmp_path: Path) -> None:
    say(f"SOAK_SEED={SEED} SOAK_SECONDS={SECONDS:g}")
    settings = EmulatorSettings(state_dir=tmp_path / "task", interval=INTERVAL, slot="soak", ugly=Ugly(late_every=4, overlap=True))
    stop = threading.Event()
    with LocalPostgres() as server, psycopg.connect(server.dsn(), autocommit=True) as connection:
        connection.execute(SCHEMA)
        store = open_store(f"s3://{BRONZE}/{NAME}")
        with Emulator(server.dsn(), [f"public.{table}" for table in KEYS], store, settings) as dms:
            dms.full_load()
            capture = threading.Thread(target=dms.capture, args=(stop,))
            until = time.monotonic() + SECONDS
            writer = Writer(server.dsn(), until)
            capture.start()
            writer.start()
            cloud.proxy.randomly(SEED, RATE)
            try:
                soak.suffer(until)
            finally:
                writer.join()
                stop.set()
                capture.join()
            (lsn,) = connection.execute("select pg_current_wal_insert_lsn()::text").fetchone() or ("",)
            dms.capture(until_lsn=lsn)
        say(f"{writer.transactions} transactions, {soak.runs} runs, {soak.failed} of them with failed tables, {soak.kills} kills")
        say(f"injected: {dict(soak.faults)}")
        assert writer.error is None
        assert soak.faults
        cloud.proxy.plan()
        report = soak.job.run(soak.document)
        assert report["exit_code"] == 0, report
        again = soak.job.run(soak.document)
        for table in KEYS:
            source = source_rows(server.dsn(), table)
            assert len(source) > 10
            assert silver_rows(cloud, table) == source, table
            assert again["tables"][f"public.{table}"]["batches"] == 0
            assert sum(cloud.books(NAME, table)) == rows_in_bronze(cloud, table), table
