"""A reload that DMS says is complete becomes the table's content without a change file and without the operator."""

import json
import os
from collections.abc import Iterator
from typing import Any

import attrs
import pyarrow as pa
import pytest

from dms_iceberg.bronze.listing import list_bronze
from dms_iceberg.context import RunRequest
from dms_iceberg.runs.preview import preview
from dms_iceberg.runs.report import TableReport
from dms_iceberg.runs.run import run
from dms_iceberg.silver.load_branches import building
from support.lake import Lake

pytestmark = pytest.mark.long

ID_V = [("id", pa.int64()), ("v", pa.string())]
OLD, NEW = [(1, "a"), (2, "b")], [(1, "a2"), (3, "c2")]


def epoch_one(lake: Lake, *tables: str) -> None:
    lake.enter(1)
    for table in tables:
        lake.load(f"public.{table}", ID_V, OLD)
    merge(lake, *tables)


def reload_into(lake: Lake, epoch: int, *tables: str) -> None:
    lake.enter(epoch)
    for table in tables:
        lake.load(f"public.{table}", ID_V, NEW[:1])
        lake.load(f"public.{table}", ID_V, NEW[1:], number=2)


def mark(lake: Lake, table: str, epoch: int = 2, rows: int = 2, began: str = "2020-01-01T00:00:00+00:00") -> None:
    path = lake.bronze / "_load_complete" / "public" / f"{table}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"schema": "public", "table": table, "epoch": epoch, "rows": rows, "began": began}))


def merge(lake: Lake, *tables: str, **options: object) -> dict[str, TableReport]:
    # One file a batch: a load has to be merged whole before the marker counts.
    config = lake.config({f"public.{table}": dict(options) for table in tables}, batch={"max_files": 1})
    found = {name.removeprefix("public."): one for name, one in run(lake.spark, config).tables.items()}
    for report in found.values():
        for batch in report.batches:
            assert batch.rows_read == batch.applied + batch.superseded + batch.stale + batch.filtered + batch.quarantined
    return found


def test_idle_table_is_completed_by_its_marker_alone(lake: Lake) -> None:
    epoch_one(lake, "t", "other")
    reload_into(lake, 2, "t", "other")
    mark(lake, "t")
    plans = preview(lake.spark, lake.config({"public.t": {}, "public.other": {}}))
    assert "load epoch 2 would be complete" in plans[0].warnings[0]
    assert "load epoch 2 is built and becomes the content" in plans[1].warnings[0]
    reports = merge(lake, "t", "other")
    assert (reports["t"].error, reports["t"].rows_read, reports["t"].warnings) == (None, 2, [])
    assert (lake.rows("t", "id, v"), building(lake.target("t"))) == (NEW, [])
    assert lake.target("t").progress().epoch == 2
    # What is said of one table is said of no other.
    assert "--load-complete public.other" in reports["other"].warnings[0]
    assert (lake.rows("other", "id, v"), building(lake.target("other"))) == (OLD, ["2"])

    mark(lake, "other")
    [_, plan] = preview(lake.spark, lake.config({"public.t": {}, "public.other": {}}))
    assert "load epoch 2 would be complete" in plan.warnings[0]
    assert (plan.files, plan.sql, plan.changes_rows) == (0, [], True)
    reports = merge(lake, "t", "other")
    assert [(one.error, one.batches, one.warnings) for one in reports.values()] == [(None, [], [])] * 2
    assert lake.rows("other", "id, v") == NEW
    # The changes of later go on from there.
    lake.changes("public.t", "2026/03/01/10/20260301-100230000.parquet", ID_V, [("D", "20260301100200", 61, 3, None)])
    assert merge(lake, "t")["t"].applied == 1
    assert lake.rows("t", "id, v") == NEW[:1]


@pytest.mark.parametrize("mode", ["soft_delete", "history", "append"])
def test_modes_that_keep_more_get_what_the_marked_load_changes(lake: Lake, mode: str) -> None:
    lake.enter(1)
    lake.load("public.t", ID_V, OLD)
    merge(lake, "t", mode=mode)
    reload_into(lake, 2, "t")
    mark(lake, "t")
    report = merge(lake, "t", mode=mode)["t"]
    assert (report.error, report.warnings) == (None, [])
    present = {"soft_delete": "NOT _cdc_deleted", "history": "_is_current", "append": "_cdc_position LIKE '00002%'"}[mode]
    rows = lake.rows("t", f"id, v, {present}")
    assert sorted({row[:2] for row in rows if row[2]}) == NEW or mode == "append"
    assert {row[:2] for row in rows} >= set(NEW)
    assert building(lake.target("t")) == []


def test_marker_over_no_file_wipes_nothing(lake: Lake) -> None:
    epoch_one(lake, "t", "u")
    lake.enter(2)
    mark(lake, "t", rows=0)
    mark(lake, "u", rows=7)
    reports = merge(lake, "t", "u")
    assert [(one.error, one.batches) for one in reports.values()] == [(None, [])] * 2
    assert "says that the table was empty" in reports["t"].warnings[0]
    assert "--load-complete public.t" in reports["t"].warnings[0]
    assert "7 rows were loaded" in reports["u"].warnings[0]
    assert [lake.rows(table, "id, v") for table in ("t", "u")] == [OLD, OLD]
    # Nor does the operator, while there is nothing in the folder but markers.
    config = lake.config({"public.t": {}})
    report = run(lake.spark, config, request=RunRequest(load_complete=frozenset({"public.t"}))).tables["public.t"]
    assert report.error is not None
    assert "is empty" in report.error
    lake.load("public.u", ID_V, NEW)
    word = RunRequest(load_complete=frozenset({"public.t"}))
    assert "--confirm-rows 2" in str(run(lake.spark, config, request=word).tables["public.t"].error)
    report = run(lake.spark, config, request=attrs.evolve(word, confirm_rows={"public.t": 2})).tables["public.t"]
    assert (report.error, lake.rows("t", "id, v")) == (None, [])


def test_marker_of_another_epoch_does_nothing(lake: Lake) -> None:
    epoch_one(lake, "t")
    reload_into(lake, 2, "t")
    mark(lake, "t", epoch=1)
    assert "names load epoch 1" in merge(lake, "t")["t"].warnings[0]
    assert lake.rows("t", "id, v") == OLD
    # The folder of an epoch before is not looked at any more, marked or not.
    mark(lake, "t")
    reload_into(lake, 3, "t")
    assert "--load-complete public.t" in merge(lake, "t")["t"].warnings[0]
    assert (lake.rows("t", "id, v"), building(lake.target("t"))) == (OLD, ["2", "3"])
    lake.enter(1)
    mark(lake, "t", epoch=1)
    assert merge(lake, "t")["t"].batches == []
    assert lake.rows("t", "id, v") == OLD


def test_load_that_goes_on_after_the_marker_is_not_complete(lake: Lake) -> None:
    epoch_one(lake, "t")
    reload_into(lake, 2, "t")
    mark(lake, "t")
    later = (lake.bronze / "_load_complete/public/t.json").stat().st_mtime + 60
    path = lake.load("public.t", ID_V, [(9, "again")], number=3)
    os.utime(path, (later, later))
    report = merge(lake, "t")["t"]
    assert (report.error, "LOAD00000003.parquet was written after" in report.warnings[0]) == (None, True)
    assert (lake.rows("t", "id, v"), building(lake.target("t"))) == (OLD, ["2"])


def test_load_among_files_of_another_one_is_not_complete_by_itself(lake: Lake) -> None:
    """A load was begun again in the same folder, and the files of the first attempt that have no successor are still there."""
    epoch_one(lake, "t")
    reload_into(lake, 2, "t")
    left = lake.load("public.t", ID_V, [(9, "gone since")], number=3)
    os.utime(left, (1_700_000_000, 1_700_000_000))
    mark(lake, "t", began="2024-01-01T00:00:00Z")
    report = merge(lake, "t")["t"]
    assert (report.error, "LOAD00000003.parquet was written before the load" in report.warnings[0]) == (None, True)
    assert (lake.rows("t", "id, v"), building(lake.target("t"))) == (OLD, ["2"])


@pytest.mark.parametrize("mode", ["mirror", "history"])
def test_file_of_the_load_that_comes_after_all_loses_nothing(lake: Lake, mode: str) -> None:
    lake.enter(1)
    lake.load("public.t", ID_V, OLD)
    merge(lake, "t", mode=mode)
    reload_into(lake, 2, "t")
    mark(lake, "t")
    merge(lake, "t", mode=mode)
    # One key has a change by then, which is newer than any row of the load.
    lake.changes("public.t", "2026/03/01/10/20260301-100230000.parquet", ID_V, [("I", "20260301100200", 61, 5, "newer")])
    merge(lake, "t", mode=mode)
    lake.load("public.t", ID_V, [(4, "d2"), (5, "older")], number=3)
    report = merge(lake, "t", mode=mode)["t"]
    assert (report.error, report.rows_read) == (None, 2)
    present = "_is_current" if mode == "history" else "true"
    assert [row[:2] for row in lake.rows("t", f"id, v, {present}") if row[2]] == [*NEW, (4, "d2"), (5, "newer")]


def test_reload_in_place_waits_for_the_operator_all_the_same(lake: Lake) -> None:
    lake.enter(1)
    lake.load("public.t", ID_V, OLD)
    mark(lake, "t", epoch=1)
    for path in lake.bronze.rglob("*.*"):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    merge(lake, "t")
    lake.load("public.t", ID_V, NEW)
    mark(lake, "t", epoch=1)
    config = lake.config({"public.t": {}})
    report = run(lake.spark, config, ["public.t"], request=RunRequest(reload_started="20260101000000000")).tables["public.t"]
    assert report.error is None
    assert "the reload of 2026-01-01T" in report.warnings[0]
    assert (lake.rows("t", "id, v"), building(lake.target("t"))) == (OLD, ["1.1"])


def test_files_that_a_listing_shows_after_the_marker_was_read_are_merged_first(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """DMS writes the last LOAD file and is called done between two calls of the job."""
    epoch_one(lake, "t")
    lake.enter(2)
    lake.load("public.t", ID_V, NEW[:1])
    listed, seen = list_bronze, list[int]()

    def list_then_write(*arguments: Any) -> Iterator[Any]:
        if len(seen) < 2:
            files = list(listed(*arguments))
            seen.append(len(files))
            if len(seen) == 2:
                lake.load("public.t", ID_V, NEW[1:], number=2)
                mark(lake, "t")
            return iter(files)
        return listed(*arguments)

    monkeypatch.setattr("dms_iceberg.context.list_bronze", list_then_write)
    report = merge(lake, "t")["t"]
    assert (report.error, seen) == (None, [1, 1])
    assert lake.rows("t", "id, v") == OLD, "the run did not know of the marker when it listed for the last time"
    assert merge(lake, "t")["t"].error is None
    assert lake.rows("t", "id, v") == NEW
