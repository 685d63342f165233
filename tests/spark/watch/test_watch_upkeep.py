"""A watch beside its batches: models follow, tables are kept in order, and nothing is left behind."""

import gc
import time
import weakref
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from dms_iceberg.context import RunContext
from dms_iceberg.spark.arrow_allocators import forget_readers
from dms_iceberg.storage.open_store import open_store
from dms_iceberg.watch.table import WatchedTable
from support.lake import Lake
from support.maintained import EAGER
from support.watching import ID_V, change, watching


def persisted(spark: SparkSession) -> set[int]:
    return set(spark.sparkContext._jsc.getPersistentRDDs().keySet())  # type: ignore[attr-defined]


def known_readers(spark: SparkSession) -> int:
    root: Any = spark._jvm.org.apache.iceberg.arrow.ArrowAllocation.rootAllocator()  # type: ignore[union-attr]
    return int(root.getChildAllocators().size())


def test_a_draft_that_was_published_is_let_go(lake: Lake) -> None:
    """Py4J keeps what was handed to Java until Java's collector finds it: with it were all snapshots of a table, for each batch."""
    config = lake.config({"public.t": {}})
    lake.load("public.t", ID_V, [(1, "a")])
    lake.run_one(config)
    target = lake.target("t")
    head = target.head()
    assert head is not None
    draft = target.transaction(head.id)
    draft.execute(lambda name: f"UPDATE {name} SET v = 'b'", {})
    target.commit(draft)
    there = weakref.ref(draft)
    del draft
    gc.collect()
    assert there() is None
    assert lake.rows("t", "v") == [("b",)]


def test_readers_that_have_ended_are_forgotten(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dms_iceberg.watch.run.TIDY_SECONDS", 0.1)
    config = lake.config({"public.t": {}})
    lake.load("public.t", ID_V, [(1, "a")])
    with watching(lake, config) as job:
        for minute in range(1, 3):
            job.until_rows(minute)
            lake.spark.table(f"lake.{lake.namespace}.t").collect()
            change(lake, "public.t", minute, 1, f"{minute}")
        job.until_rows(3)
        job.until(lambda: known_readers(lake.spark) == 0)
    assert lake.rows("t", "v") == [("2",)]
    assert known_readers(lake.spark) > 0, "nothing leaves readers behind any more: forget_readers can go"


def test_another_iceberg_ends_no_watch() -> None:
    forget_readers(SimpleNamespace(_jvm=SimpleNamespace(org=None)))  # type: ignore[arg-type]


@pytest.mark.release
def test_nothing_is_left_behind_by_many_batches(lake: Lake) -> None:
    spark = lake.spark
    models = {
        "groups": {"sql": f"SELECT v, count(*) AS n FROM {lake.namespace}.t GROUP BY v", "refresh": "incremental", "refresh_seconds": 1},
        "all": {"sql": f"SELECT max(v) AS v FROM {lake.namespace}.t", "refresh_seconds": 1},
    }
    gold = f"gold_{lake.namespace}"
    config = lake.config({"public.t": {}}, gold={f"{gold}.{name}": model for name, model in models.items()})

    def followed(v: str) -> bool:
        names = [f"lake.{gold}.{name}" for name in models if spark.catalog.tableExists(f"lake.{gold}.{name}")]
        for name in names:
            spark.sql(f"REFRESH TABLE {name}")
        return len(names) == len(models) and all([row.v for row in spark.table(name).collect()] == [v] for name in names)

    lake.load("public.t", ID_V, [(1, "a")])
    # Two sessions of one process that merge the same batch share what they cache, and one of them leaves it: other tests do so.
    before = persisted(spark)
    with watching(lake, config) as job:
        job.until_rows(1)
        for minute in range(1, 13):
            change(lake, "public.t", minute, 1, f"{minute}")
            job.until_rows(1 + minute)
            job.until(lambda minute=minute: followed(f"{minute}"))
        views = [row.viewName for row in spark.sql("SHOW VIEWS").collect() if row.isTemporary]
    assert persisted(spark) <= before
    assert views == []
    assert lake.rows("t", "v") == [("12",)]


def test_models_follow_their_tables(lake: Lake) -> None:
    gold = f"gold_{lake.namespace}"
    models = {
        f"{gold}.count": {"sql": f"SELECT count(*) AS n FROM {lake.namespace}.t", "refresh_seconds": 1},
        f"{gold}.wrong": {"sql": f"SELECT no_such_column FROM {lake.namespace}.t", "refresh_seconds": 1},
    }
    config = lake.config({"public.t": {}}, gold=models)

    def count() -> list[int]:
        name = f"lake.{gold}.count"
        if not lake.spark.catalog.tableExists(name):
            return []
        lake.spark.sql(f"REFRESH TABLE {name}")
        return [row.n for row in lake.spark.table(name).collect()]

    lake.load("public.t", ID_V, [(1, "a")])
    with watching(lake, config) as job:
        job.until(lambda: count() == [1])
        lake.changes("public.t", "2026/03/01/10/20260301-100130000.parquet", ID_V, [("I", "20260301100100", 1, 2, "b")])
        job.until(lambda: count() == [2])
    assert job.failed == [f"{gold}.wrong"]


@pytest.mark.release
def test_tables_are_kept_in_order_between_batches(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dms_iceberg.watch.table.STATE_SECONDS", 0.2)
    config = lake.config({"public.t": {"table_properties": {"write.metadata.previous-versions-max": "9"}, "maintenance": {"manifests": 2}}})
    lake.load("public.t", ID_V, [(1, "a")])
    with watching(lake, config) as job:
        for minute in range(1, 7):
            change(lake, "public.t", minute, 1, f"{minute}")
            job.until_rows(1 + minute)
            time.sleep(0.3)
    operations = [row.operation for row in lake.spark.sql(f"SELECT operation FROM lake.{lake.namespace}.t.snapshots").collect()]
    assert "replace" in operations
    assert lake.rows("t", "v") == [("6",)]


@pytest.mark.usefixtures("hours_later")
def test_a_watch_maintains_between_two_batches(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    config = lake.config({"public.t": {}}, batch={"max_files": 1}, maintenance={**EAGER, "after_run": "all"})
    rows = [(n, f"v{n}") for n in range(3)]
    for n, row in enumerate(rows, 1):
        lake.load("public.t", ID_V, [row], number=n)
    job = RunContext(lake.spark, config, open_store(config.bronze.uri), "watch")
    table = WatchedTable(job, config.tables["public.t"], open_store(config.state_uri), 0.1, None)
    assert table.maintenance_due is None
    for _ in rows:
        table.turn()
    assert (table.maintenance_due or 0) > time.monotonic(), "the first minute is not over"
    assert lake.snapshots("t") == 3
    table.maintain()
    assert table.error is None
    assert table.maintenance_due is None
    assert lake.count("t", "data_files") == 1
    count = lake.snapshots("t")
    assert count > 3
    assert lake.rows("t", "id, v") == rows
    monkeypatch.setattr(table, "_began", 0.0)
    table.turn()
    assert lake.snapshots("t") == count
