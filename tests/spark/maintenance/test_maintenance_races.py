"""Maintenance while batches are merged by another session, and while one is in flight: nothing is lost, doubled or deleted."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from dms_iceberg.config.model import Config
from dms_iceberg.context import RunRequest
from dms_iceberg.maintenance.execute import execute
from dms_iceberg.runs.run import run
from support.crash_books import check_books
from support.lake import Lake
from support.maintained import EAGER, days_ago, files_below, kept_in_order
from support.pause import Pause

pytestmark = pytest.mark.release

ID_V = [("id", pa.int64()), ("v", pa.string())]


def cdc(number: int) -> str:
    return f"2026/03/01/10/20260301-10{number:02d}30000.parquet"


def clock(number: int) -> str:
    return f"2026030110{number:02d}00"


def write_batches(lake: Lake, first: int, last: int) -> list[tuple[int, str]]:
    """Files of small batches, the load first; returns the table's content after the last."""
    rows = {n: f"v{n}" for n in range(30)}
    if first == 0:
        lake.load("public.t", ID_V, list(rows.items()))
    for n in range(1, last + 1):
        if n >= first:
            lake.changes(
                "public.t",
                cdc(n),
                ID_V,
                [("U", clock(n), 61, n, f"u{n}"), ("I", clock(n), 65, 100 + n, "new"), ("D", clock(n), 69, 15 + n, None)],
            )
        rows |= {n: f"u{n}", 100 + n: "new"}
        rows.pop(15 + n, None)
    return sorted(rows.items())


def eager(lake: Lake) -> Config:
    return lake.config({"public.t": {}}, batch={"max_files": 1}, maintenance={**EAGER, "after_run": "nothing"})


def silver(lake: Lake) -> str:
    return f"lake.{lake.namespace}.t"


def folder(lake: Lake) -> Path:
    return lake.warehouse / lake.namespace / "t"


def check(lake: Lake, config: Config, expected: list[tuple[int, str]], batches: int) -> None:
    """Content, books, every file that a snapshot knows, and that nothing is left to merge."""
    assert lake.run_one(config).batches == []
    assert lake.rows("t", "id, v") == expected
    for snapshot in lake.spark.sql(f"SELECT snapshot_id FROM {silver(lake)}.snapshots").collect():
        lake.spark.sql(f"SELECT max(v) FROM {silver(lake)} VERSION AS OF {snapshot.snapshot_id}").collect()


@pytest.mark.usefixtures("hours_later")
def test_maintenance_and_batches_all_at_once(lake: Lake, other: SparkSession) -> None:
    config = eager(lake)
    write_batches(lake, 0, 3)
    lake.run_one(config)
    expected = write_batches(lake, 4, 12)

    def maintain_again_and_again() -> list[str]:
        return [step.outcome.value for _ in range(5) for report in kept_in_order(other, config) for step in report.steps]

    with ThreadPoolExecutor(1) as pool:
        maintained = pool.submit(maintain_again_and_again)
        report = lake.run_one(config)
        outcomes = maintained.result()
    assert set(outcomes) <= {"done", "gave_way"}
    assert "done" in outcomes
    assert sum(one.rows_read for one in report.batches) == 27
    check(lake, config, expected, 13)


@pytest.mark.parametrize("point", ["after-inspect", "before-merge", "before-publish"])
@pytest.mark.usefixtures("hours_later")
def test_maintenance_between_plan_and_commit_of_a_batch(lake: Lake, other: SparkSession, pause: Pause, point: str) -> None:
    """The batch is done again on what maintenance left, and counts once."""
    config = eager(lake)
    write_batches(lake, 0, 5)
    lake.run_one(config)
    expected = write_batches(lake, 6, 6)
    pause(point, lambda: assert_done(kept_in_order(other, config)))
    report = lake.run_one(config)
    assert [one.rows_read for one in report.batches] == [3]
    check(lake, config, expected, 7)


def assert_done(reports: list[object]) -> None:
    assert {"compact", "expire"} <= {step.step for report in reports for step in report.steps if step.outcome.value == "done"}  # type: ignore[attr-defined]


@pytest.mark.usefixtures("hours_later")
@pytest.mark.parametrize("step", ["compact", "progress", "expire"])
def test_a_step_that_loses_its_race_gives_way(lake: Lake, other: SparkSession, monkeypatch: pytest.MonkeyPatch, step: str) -> None:
    config = eager(lake)
    write_batches(lake, 0, 5)
    lake.run_one(config)
    expected = write_batches(lake, 6, 6)
    merged = []

    def overtaken(name: object, table: object, facts: object, counts: object) -> None:
        if name == step and not merged:
            # The statement has read the table, and its commit finds another.
            merged.append(True)
            (report,) = run(other, config).tables.values()
            assert report.error is None and len(report.batches) == 1
        execute(name, table, facts, counts)  # type: ignore[arg-type]

    monkeypatch.setattr("dms_iceberg.maintenance.run.execute", overtaken)
    (report,) = kept_in_order(lake.spark, config)
    outcomes = {one.step: one.outcome.value for one in report.steps}
    assert merged
    # Iceberg's own procedures plan on what is there by then; a commit on a state that was read before gives way.
    assert outcomes[step] == ("gave_way" if step == "progress" else "done")
    check(lake, config, expected, 7)


@pytest.mark.usefixtures("hours_later")
def test_files_of_a_batch_in_flight_stay(lake: Lake, other: SparkSession, pause: Pause) -> None:
    """Written and not committed, they belong to no snapshot; only their age tells them from orphans."""
    config = eager(lake)
    write_batches(lake, 0, 5)
    lake.run_one(config)
    kept_in_order(lake.spark, config)
    committed = files_below(folder(lake))
    days_ago(30, *committed)
    orphan = folder(lake) / "data" / "left-behind.parquet"
    orphan.write_bytes(b"killed")
    days_ago(4, orphan)
    expected = write_batches(lake, 6, 6)
    in_flight = set[Path]()

    def clean() -> None:
        in_flight.update(files_below(folder(lake)) - committed - {orphan})
        assert {path.suffix for path in in_flight} >= {".parquet", ".avro"}
        # Almost as old as the bound.
        days_ago(0.99, *in_flight)
        (report,) = kept_in_order(other, config)
        (step,) = [one for one in report.steps if one.step == "orphan_files"]
        assert (step.outcome.value, step.counts) == ("done", {"files": 1})
        assert all(path.exists() for path in in_flight)

    pause("before-publish", clean)
    report = lake.run_one(config)
    assert len(report.batches) == 1
    assert in_flight
    assert not orphan.exists()
    check(lake, config, expected, 7)


def test_live_files_stay_however_old(lake: Lake, other: SparkSession) -> None:
    """Of every snapshot, branch and tag, and of tables whose path begins alike."""
    tables = {"public.t": {}, "public.t_2": {}}
    config = lake.config(tables, batch={"max_files": 1}, maintenance={"orphan_files_older_than_hours": 24})
    write_batches(lake, 0, 4)
    lake.load("public.t_2", ID_V, [(1, "other")])
    lake.run(config)
    for statement in ("CREATE TAG kept", "CREATE BRANCH tried"):
        other.sql(f"ALTER TABLE {silver(lake)} {statement}")
    other.sql(f"INSERT INTO {silver(lake)}.branch_tried SELECT * FROM {silver(lake)} WHERE id = 1")
    lake.changes("public.t", cdc(9), ID_V, [("U", clock(9), 61, 1, "last")])
    lake.run(config, "public.t")
    first = other.sql(f"SELECT snapshot_id FROM {silver(lake)}.snapshots ORDER BY committed_at LIMIT 1").collect()[0][0]
    second = folder(lake).with_name("t_2")
    files = files_below(folder(lake)) | files_below(second)
    days_ago(400, *files)
    for session in (lake.spark, other):
        kept_in_order(session, config)
        left = files_below(folder(lake)) | files_below(second)
        # Metadata files beyond the log of the newest are the only ones that may have gone: there are none here.
        assert left == files
    for version in ("'kept'", "'tried'", first):
        assert other.sql(f"SELECT * FROM {silver(lake)} VERSION AS OF {version}").count() >= 30
    assert lake.rows("t_2", "id, v") == [(1, "other")]


def test_files_of_a_reload_under_way_stay(lake: Lake, other: SparkSession) -> None:
    lake.enter(1)
    config = eager(lake)
    write_batches(lake, 0, 2)
    lake.run_one(config)
    lake.enter(2)
    config = eager(lake)
    lake.load("public.t", ID_V, [(1, "again"), (2, "again")])
    lake.run_one(config)
    days_ago(400, *files_below(folder(lake)))
    kept_in_order(other, config)
    (report,) = run(lake.spark, config, request=RunRequest(load_complete=frozenset({"public.t"}))).tables.values()
    assert report.error is None
    assert lake.rows("t", "id, v") == [(1, "again"), (2, "again")]


def test_a_table_in_the_tables_folder_stops_the_cleaning(lake: Lake, other: SparkSession) -> None:
    config = eager(lake)
    expected = write_batches(lake, 0, 2)
    lake.run_one(config)
    # A Hadoop catalog knows no other location than its own; a namespace in the table's folder comes to the same.
    inner = f"lake.{lake.namespace}.t.data.inner"
    other.sql(f"CREATE TABLE {inner} (id bigint) USING iceberg")
    other.sql(f"INSERT INTO {inner} VALUES (1)")
    days_ago(400, *files_below(folder(lake)))
    (report,) = kept_in_order(lake.spark, config, fails=True)
    assert report.error is not None
    assert "looks like a file of another table" in report.error
    assert other.table(inner).count() == 1
    check(lake, config, expected, 3)


def test_a_table_that_was_renamed_away_keeps_its_files(lake: Lake, other: SparkSession) -> None:
    """Glue leaves a renamed table in its folder, and the next one of its name gets the same."""
    config = eager(lake)
    write_batches(lake, 0, 2)
    lake.run_one(config)
    other.sql(f"CREATE TABLE lake.{lake.namespace}.renamed (id bigint) USING iceberg")
    other.sql(f"INSERT INTO lake.{lake.namespace}.renamed VALUES (1)")
    away, here = lake.warehouse / lake.namespace / "renamed", folder(lake)
    (data,) = (away / "data").glob("*.parquet")
    live, metadata = here / "data" / data.name, here / "metadata" / "00002-another.metadata.json"
    shutil.copy(data, live)
    days_ago(400, live)
    # It is in use: its newest metadata are younger than any bound.
    shutil.copy(away / "metadata" / "v2.metadata.json", metadata)
    (here / "metadata" / "00001-half.metadata.json").write_text('{"format-version": 2, "table-')
    (report,) = kept_in_order(lake.spark, config, fails=True)
    assert report.error is not None
    assert "metadata of another table" in report.error
    assert live.exists()
    # As the message says: without its metadata nobody needs the rest.
    metadata.unlink()
    kept_in_order(lake.spark, config)
    assert not live.exists()


def test_orphan_files_that_iceberg_cannot_tell_are_an_error(lake: Lake, spark: SparkSession) -> None:
    config = eager(lake)
    write_batches(lake, 0, 1)
    lake.run_one(config)
    doubtful = folder(lake) / "data" / "doubtful.parquet"
    doubtful.write_bytes(b"?")
    days_ago(400, doubtful)
    table = lake.target("t").iceberg
    jvm: Any = spark._jvm
    builder = jvm.org.apache.iceberg.DataFiles.builder(table.spec()).withPath(f"hdfs://elsewhere{doubtful}").withFormat("parquet")
    table.newAppend().appendFile(builder.withFileSizeInBytes(1).withRecordCount(1).build()).commit()
    (report,) = kept_in_order(lake.spark, lake.config({"public.t": {}}), fails=True)
    assert report.error is not None
    assert "orphan" in report.error
    assert doubtful.exists()


def test_books_are_complete_while_snapshots_are_kept(lake: Lake, other: SparkSession) -> None:
    config = lake.config({"public.t": {}}, batch={"max_files": 1}, maintenance={**EAGER, "snapshots_max_age_hours": 24})
    write_batches(lake, 0, 6)
    lake.run_one(config)
    kept_in_order(other, config)
    check_books(lake.spark, silver(lake), 48)
