"""What else happens to a table and its disk while the job works: compaction, expiry, a reader's long scan, and no room left."""

import resource
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pyarrow as pa
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from dms_iceberg.iceberg.commit_errors import is_conflict
from support.crash_books import check_books
from support.lake import Lake
from support.pause import Pause, pausing

pytestmark = pytest.mark.long

ID_V = [("id", pa.int64()), ("v", pa.string())]
CLOCKS = [f"2026030110{minute:02d}00" for minute in range(1, 5)]
FIRST = [(1, "a"), (2, "b"), (3, "c")]
Limit = Callable[[int], Any]


@pytest.fixture
def limited(spark: SparkSession) -> Limit:
    """`with limited(size)`: Spark's process can write no file beyond ``size`` bytes, as on a full disk; the system's word is another."""
    process = spark._jvm.java.lang.ProcessHandle.current().pid()  # type: ignore[union-attr]

    @contextmanager
    def limit(size: int) -> Iterator[None]:
        soft, hard = resource.prlimit(process, resource.RLIMIT_FSIZE)
        resource.prlimit(process, resource.RLIMIT_FSIZE, (size, hard))
        try:
            yield
        finally:
            resource.prlimit(process, resource.RLIMIT_FSIZE, (soft, hard))

    return limit


def silver(lake: Lake, table: str = "t") -> str:
    return f"lake.{lake.namespace}.`{table}`"


def cdc(number: int) -> str:
    return f"2026/03/01/10/20260301-10{number:02d}30000.parquet"


def load_in_three_files(lake: Lake, table: str = "public.t") -> None:
    for number, row in enumerate(FIRST, 1):
        lake.load(table, ID_V, [row], number=number)


def compact(session: SparkSession, lake: Lake) -> None:
    session.sql(f"CALL lake.system.rewrite_data_files(table => '{lake.namespace}.t', options => map('rewrite-all', 'true'))")


def expire(session: SparkSession, lake: Lake, older_than: str) -> None:
    when = f"older_than => TIMESTAMP '{older_than}', retain_last => 1"
    session.sql(f"CALL lake.system.expire_snapshots(table => '{lake.namespace}.t', {when})")


def test_compaction_races_with_many_batches(lake: Lake, other: SparkSession) -> None:
    config = lake.config({"public.t": {}}, batch={"max_files": 1})
    load_in_three_files(lake)
    lake.run_one(config)
    for n, clock in enumerate(CLOCKS[:4], 1):
        rows = [("U", clock, 61, 1, f"a{n}"), ("I", clock, 65, 10 + n, "new"), ("D", clock, 69, 9 + n, None)]
        lake.changes("public.t", cdc(n), ID_V, rows)

    def compactions() -> int:
        done = 0
        for _ in range(4):
            try:
                compact(other, lake)
                done += 1
            except Py4JJavaError as error:
                assert is_conflict(error), error
        return done

    with ThreadPoolExecutor(1) as pool:
        compacted = pool.submit(compactions)
        report = lake.run_one(config)
        assert compacted.result() > 0
    assert len(report.batches) == 4
    assert lake.rows("t", "id, v") == [(1, "a4"), (2, "b"), (3, "c"), (14, "new")]
    check_books(lake.spark, silver(lake), 15)


def test_expiry_between_plan_and_commit(lake: Lake, other: SparkSession, pause: Pause) -> None:
    """Once of all but the head, and once, after a compaction, of all that the batch was merged on."""
    config = lake.config({"public.t": {}}, batch={"max_files": 1})
    load_in_three_files(lake)
    lake.run_one(config)
    for n, clock in enumerate(CLOCKS[:2], 1):
        lake.changes("public.t", cdc(n), ID_V, [("U", clock, 61, 1, f"a{n}"), ("D", clock, 65, 1 + n, None)])
    pause("before-merge", lambda: expire(other, lake, older_than="2099-01-01"))
    pause("before-publish", lambda: (compact(other, lake), expire(other, lake, older_than="2099-01-01")))
    report = lake.run_one(config)
    assert [one.rows_read for one in report.batches] == [2, 2]
    assert lake.rows("t", "id, v") == [(1, "a2")]
    assert lake.run_one(config).batches == []


def test_reader_finishes_what_it_began_while_the_job_commits_and_compacts(lake: Lake, other: SparkSession) -> None:
    config = lake.config({"public.t": {}}, batch={"max_files": 1})
    load_in_three_files(lake)
    lake.run_one(config)
    scan = other.read.option("split-size", "1").table(silver(lake)).select("id", "v").toLocalIterator()
    read = [tuple(next(scan))]
    lake.changes("public.t", cdc(1), ID_V, [("U", CLOCKS[0], 61, 1, "A"), ("D", CLOCKS[0], 65, 2, None), ("U", CLOCKS[0], 69, 3, "C")])
    lake.run_one(config)
    compact(lake.spark, lake)
    expire(lake.spark, lake, older_than="2026-01-01")
    read += [tuple(row) for row in scan]
    assert sorted(read) == FIRST
    assert lake.rows("t", "id, v") == [(1, "A"), (3, "C")]


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="only Linux can limit another process")
def test_full_disk_fails_its_table_and_the_next_run_goes_on(lake: Lake, limited: Limit) -> None:
    """No room for a data file, then for the metadata of the commit."""
    config = lake.config({"public.t": {}})
    load_in_three_files(lake)
    lake.run_one(config)
    lake.changes("public.t", cdc(1), ID_V, [("U", CLOCKS[0], 61, 1, "A"), ("D", CLOCKS[0], 65, 2, None)])
    snapshots = lake.snapshots("t")
    for point, size in (("before-merge", 500), ("before-publish", 2500)):
        with limited_from(point, limited(size)):
            report = lake.run_one(config, fails=True)
        assert report.error is not None
        assert report.error.startswith("public.t: no room on a disk (File too large)"), report.error
        assert "next run goes on" in report.error
        assert lake.snapshots("t") == snapshots
    assert len(lake.run_one(config).batches) == 1
    assert lake.rows("t", "id, v") == [(1, "A"), (3, "c")]
    check_books(lake.spark, silver(lake), 5)


@contextmanager
def limited_from(point: str, limit: Any) -> Iterator[None]:
    with pausing() as pause:
        pause(point, limit.__enter__)
        try:
            yield
        finally:
            limit.__exit__(None, None, None)
