"""The open rows of the quarantine are counted without a Spark job, and are those that Spark finds."""

import uuid
from typing import Any

import pyarrow as pa
import pytest

from dms_iceberg.config.model import Config
from dms_iceberg.context import RunContext
from dms_iceberg.iceberg.rows import few_rows
from dms_iceberg.quarantine.open_count import count_open, count_open_and_keys
from dms_iceberg.runs.replay import replay
from dms_iceberg.silver.table_context import TableContext
from dms_iceberg.storage.open_store import open_store
from support.lake import Lake

ID_V = [("id", pa.int64()), ("v", pa.int64())]
T1, T2 = "20260301100100", "20260301100200"


def cdc(minute: int) -> str:
    return f"2026/03/01/10/20260301-10{minute:02d}30000.parquet"


def below(most: int, **entry: Any) -> dict[str, Any]:
    return {"public.t": {"rules": [{"name": "small", "expr": f"v < {most}", "on_fail": "quarantine"}], **entry}}


def counted(lake: Lake, config: Config) -> int | None:
    """Count all open rows, and see that no job of Spark ran."""
    tracker = lake.spark.sparkContext.statusTracker()
    group = str(uuid.uuid4())
    lake.spark.sparkContext.setJobGroup(group, "count")
    try:
        here = TableContext.of(RunContext(lake.spark, config, open_store(config.bronze.uri), "test"), config.tables["public.t"])
        found = count_open(here)
        with_keys = None if found is None else count_open_and_keys(here, here.target.progress())
        assert list(tracker.getJobIdsForGroup(group)) == []
        rows = lake.open_quarantine(config, "t", "key")
        assert rows == [] or list(tracker.getJobIdsForGroup(group)), "Spark's own count would be noticed"
        assert with_keys in (None, (len(rows), len(set(rows))))
    finally:
        lake.spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)
    return found


def test_a_run_knows_what_earlier_runs_have_left_open(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    lake.enter(1)
    config = lake.config(below(5))
    lake.load("public.t", ID_V, [(1, 1), (2, 2)])
    assert (lake.run_one(config).older, counted(lake, config)) == (0, 0), "there is no quarantine yet"
    lake.changes("public.t", cdc(1), ID_V, [("U", T1, 1, 1, 7), ("I", T1, 2, 3, 9)])
    first = lake.run_one(config)
    assert (first.quarantined, first.older, counted(lake, config)) == (2, 0, 2)
    lake.changes("public.t", cdc(2), ID_V, [("I", T2, 3, 4, 8), ("I", T2, 4, 5, 4)])
    second = lake.run_one(config)
    assert (second.quarantined, second.older, counted(lake, config)) == (1, 2, 3)
    idle = lake.run_one(config)
    assert (idle.batches, idle.older) == ([], 3)

    mended = lake.config(below(9))
    assert replay(lake.spark, mended).errors == {}
    assert counted(lake, mended) == len(lake.open_quarantine(mended, "t")) == 1
    assert lake.run_one(mended).older == 1

    with monkeypatch.context() as patch:
        patch.setattr(few_rows, "_SIZES", {"total-records": 1})
        assert counted(lake, mended) is None
        assert lake.run_one(mended).older is None
        lake.changes("public.t", cdc(3), ID_V, [("I", T2, 5, 6, 9)])
        assert lake.run_one(mended).older is None

    lake.enter(2)
    lake.load("public.t", ID_V, [(1, 1)])
    lake.changes("public.t", cdc(4), ID_V, [("I", T2, 5, 6, 1)])
    reloaded = lake.config(below(9))
    assert lake.run_one(reloaded).older == len(lake.open_quarantine(reloaded, "t")) == 0, "those rows were of the former load"


def test_what_cannot_be_counted_is_not_a_number_and_no_rows_of_its_own_run_are_older(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(few_rows, "_SIZES", {"total-records": 0})
    config = lake.config(below(5))
    path = lake.load("public.t", ID_V, [(1, 1), (2, 7)])
    report = lake.run_one(config)
    assert (report.quarantined, report.older, counted(lake, config)) == (1, 0, None)
    assert path.exists()


def test_versions_of_a_file_are_left_to_spark(lake: Lake) -> None:
    """Their records have to be compared: a row that both have counts once."""
    config = lake.config(below(5))
    lake.load("public.t", ID_V, [(1, 1)])
    lake.changes("public.t", cdc(1), ID_V, [("I", T1, 1, 2, 9), ("I", T1, 2, 3, 8)])
    lake.run_one(config)
    assert counted(lake, config) == 2
    lake.changes("public.t", cdc(1), ID_V, [("I", T1, 1, 2, 9), ("I", T1, 2, 3, 8), ("I", T1, 3, 4, 7)])
    lake.run_one(config)
    assert len(lake.quarantine("t")) == 5
    assert counted(lake, config) is None
