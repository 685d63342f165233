"""Maintenance of tables that many small batches have written: what it does, what it keeps, and that it does no more than is needed."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from dms_iceberg.config.model import Config
from dms_iceberg.context import RunRequest
from dms_iceberg.errors import TargetError
from dms_iceberg.loads.rebuild import is_rebuilding
from dms_iceberg.progress.progress import PROGRESS_KEY
from dms_iceberg.quarantine.tables import quarantine_name
from dms_iceberg.runs.replay import replay
from dms_iceberg.runs.run import run
from dms_iceberg.silver.table import TargetTable
from support.lake import Lake
from support.maintained import EAGER, days_ago, files_below, kept_in_order, taken

ID_V = [("id", pa.int64()), ("v", pa.string())]
BATCHES = 24


def cdc(number: int) -> str:
    return f"2026/03/01/10/20260301-10{number:02d}30000.parquet"


def clock(number: int) -> str:
    return f"2026030110{number:02d}00"


def small_batches(lake: Lake, config: Config, table: str = "public.t", batches: int = BATCHES) -> list[tuple[Any, ...]]:
    """A load and many batches with an update, an insert and a delete each; returns what silver must hold."""
    rows = {n: f"v{n}" for n in range(50)}
    lake.load(table, ID_V, list(rows.items()))
    for n in range(1, batches + 1):
        lake.changes(
            table, cdc(n), ID_V, [("U", clock(n), 61, n, f"u{n}"), ("I", clock(n), 65, 100 + n, "new"), ("D", clock(n), 69, 24 + n, None)]
        )
        rows |= {n: f"u{n}", 100 + n: "new"}
        rows.pop(24 + n)
    lake.run(config)
    return sorted(rows.items())


def folder(lake: Lake, table: str) -> Path:
    return lake.warehouse / lake.namespace / table


@pytest.mark.long
@pytest.mark.usefixtures("hours_later")
def test_many_small_batches_are_put_in_order_once(lake: Lake) -> None:
    config = lake.config({"public.t": {}}, batch={"max_files": 1}, maintenance=EAGER)
    expected = small_batches(lake, config)
    before = lake.target("t").progress()
    assert lake.count("t", "data_files") > BATCHES
    assert lake.count("t", "delete_files") > 0
    assert lake.snapshots("t") == BATCHES + 1
    days_ago(30, *files_below(folder(lake, "t")))

    reports = kept_in_order(lake.spark, config)
    assert taken(reports).items() >= {("t", step): "done" for step in ("compact", "progress", "expire")}.items()
    assert lake.rows("t", "id, v") == expected
    assert lake.count("t", "data_files") == 1
    # One that speaks of files that are gone is not worth a rewrite.
    assert lake.count("t", "delete_files") <= 1
    assert lake.snapshots("t") <= 5, "two, and their way to a snapshot that carries the progress"
    assert lake.target("t").progress() == before
    head = lake.target("t").head()
    assert head is not None and PROGRESS_KEY in head.summary

    assert taken(kept_in_order(lake.spark, config)) == {}, "in order, a table needs nothing"
    assert lake.run_one(config).batches == []
    live = {Path(row.file_path.removeprefix("file:")) for row in lake.spark.table(f"lake.{lake.namespace}.t.all_data_files").collect()}
    assert files_below(folder(lake, "t") / "data") >= live
    assert len(files_below(folder(lake, "t") / "data")) <= len(live) + 2


@pytest.mark.long
@pytest.mark.usefixtures("hours_later")
def test_changes_that_come_late_are_judged_as_before(lake: Lake) -> None:
    config = lake.config({"public.t": {}}, batch={"max_files": 1}, maintenance=EAGER)
    expected = dict(small_batches(lake, config, batches=6))
    kept_in_order(lake.spark, config)
    lake.changes(
        "public.t",
        "2026/03/01/10/20260301-100430500.parquet",
        ID_V,
        [("U", clock(0), 1, 1, "older"), ("U", clock(0), 3, 26, "deleted since"), ("U", clock(0), 5, 40, "late and new")],
    )
    lake.run_one(config)
    assert lake.rows("t", "id, v") == sorted((expected | {40: "late and new"}).items())


@pytest.mark.long
@pytest.mark.usefixtures("hours_later")
def test_what_is_kept_can_be_rolled_back_to(lake: Lake) -> None:
    config = lake.config({"public.t": {}}, batch={"max_files": 1}, maintenance={**EAGER, "snapshots_kept": 4})
    expected = small_batches(lake, config, batches=8)
    kept_in_order(lake.spark, config)
    ids = [row.snapshot_id for row in lake.spark.sql(f"SELECT * FROM lake.{lake.namespace}.t.snapshots ORDER BY committed_at").collect()]
    assert 4 <= len(ids) <= 7
    for snapshot in ids:
        lake.spark.sql(f"CALL lake.system.set_current_snapshot('{lake.namespace}.t', {snapshot}L)")
        lake.run_one(config)
        assert lake.rows("t", "id, v") == expected
    kept_in_order(lake.spark, config)
    assert lake.rows("t", "id, v") == expected


def test_young_snapshots_stay(lake: Lake) -> None:
    config = lake.config({"public.t": {}}, batch={"max_files": 1}, maintenance={**EAGER, "snapshots_max": 2})
    small_batches(lake, config, batches=4)
    assert ("t", "expire") not in taken(kept_in_order(lake.spark, config))


def test_nothing_begins_when_the_budget_is_used_up(lake: Lake) -> None:
    config = lake.config({"public.t": {}}, batch={"max_files": 1}, maintenance=EAGER)
    expected = small_batches(lake, config, batches=4)
    snapshots = lake.snapshots("t")
    (report,) = kept_in_order(lake.spark, config, budget=0)
    assert {step.outcome.value for step in report.steps} == {"no_time"}
    assert "compact" in {step.step for step in report.steps}
    assert lake.snapshots("t") == snapshots
    assert lake.rows("t", "id, v") == expected


@pytest.mark.long
def test_one_table_in_trouble_leaves_the_others_alone(lake: Lake) -> None:
    config = lake.config({"public.t": {}, "public.u": {}}, batch={"max_files": 1}, maintenance=EAGER)
    expected = small_batches(lake, config, "public.u", batches=4)
    small_batches(lake, config, "public.t", batches=4)
    for path in (folder(lake, "t") / "metadata").glob("snap-*"):
        path.unlink()
    first, second = kept_in_order(lake.spark, config, fails=True)
    assert first.error is not None and second.error is None
    assert lake.rows("u", "id, v") == expected


@pytest.mark.release
@pytest.mark.usefixtures("hours_later")
def test_quarantine_is_kept_in_order_and_resolved_rows_go_for_good(lake: Lake) -> None:
    tables = {"public.t": {"columns": [{"name": "id", "type": "bigint"}, {"name": "v", "type": "int"}]}}
    config = lake.config(tables, batch={"max_files": 1}, maintenance=EAGER)
    lake.load("public.t", ID_V, [(n, str(n)) for n in range(5)])
    for n in range(1, 7):
        lake.changes("public.t", cdc(n), ID_V, [("U", clock(n), 61, n, f"bad {n}"), ("I", clock(n), 65, 100 + n, "7")])
    lake.run(config)
    assert len(lake.open_quarantine(config, "t")) == 6
    mended = lake.config(
        {
            "public.t": {
                "columns": [{"name": "id", "type": "bigint"}, {"name": "v", "type": "int", "expr": "coalesce(try_cast(v AS int), -1)"}]
            }
        },
        batch={"max_files": 1},
        maintenance=EAGER,
    )
    kept_in_order(lake.spark, config)
    assert len(lake.quarantine("t")) == 6, "open rows stay"
    (replayed,) = replay(lake.spark, mended).tables.values()
    assert replayed.error is None
    assert lake.open_quarantine(mended, "t") == []
    kept_in_order(lake.spark, mended)
    assert len(lake.quarantine("t")) == 6, "silver can be rolled back behind the replay"
    for n in range(7, 12):
        lake.changes("public.t", cdc(n), ID_V, [("U", clock(n), 61, 1, str(n))])
        lake.run(mended)
        kept_in_order(lake.spark, mended)
    expected = lake.rows("t", "id, v")
    assert len(lake.quarantine("t")) == 6, "they were rejected within the last hour, as clocks may tell it"
    name = f"lake.quarantine_{lake.namespace}.{lake.namespace}__t"
    lake.spark.sql(f"UPDATE {name} SET quarantined_at = quarantined_at - INTERVAL 2 HOURS")
    assert (f"{lake.namespace}__t", "resolved_rows") in taken(kept_in_order(lake.spark, mended))
    assert lake.quarantine("t") == []
    assert lake.open_quarantine(mended, "t") == []
    assert lake.rows("t", "id, v") == expected
    quarantine = TargetTable(lake.spark, "lake", quarantine_name(mended, mended.tables["public.t"]))
    assert quarantine.properties()["write.metadata.delete-after-commit.enabled"] == "true"
    assert taken(kept_in_order(lake.spark, mended)) == {}


@pytest.mark.long
def test_deletion_vectors_go_with_their_files(lake: Lake) -> None:
    config = lake.config({"public.t": {"format_version": 3}}, batch={"max_files": 1}, maintenance=EAGER)
    expected = small_batches(lake, config, batches=8)
    assert taken(kept_in_order(lake.spark, config)).items() >= {("t", "compact"): "done", ("t", "progress"): "done"}.items()
    assert lake.rows("t", "id, v") == expected
    assert (lake.count("t", "data_files"), lake.count("t", "delete_files")) == (1, 0)
    assert taken(kept_in_order(lake.spark, config)) == {}


@pytest.mark.long
def test_partitions_are_compacted_one_by_one(lake: Lake) -> None:
    config = lake.config({"public.t": {"partition_by": ["bucket(2, id)"]}}, batch={"max_files": 1}, maintenance=EAGER)
    expected = small_batches(lake, config, batches=8)
    assert taken(kept_in_order(lake.spark, config))[("t", "compact")] == "done"
    assert lake.rows("t", "id, v") == expected
    assert lake.count("t", "data_files") == 2
    assert taken(kept_in_order(lake.spark, config)) == {}


@pytest.mark.long
def test_metadata_files_are_bounded(lake: Lake) -> None:
    config = lake.config({"public.t": {}}, batch={"max_files": 1}, maintenance={**EAGER, "after_run": "nothing"})
    small_batches(lake, config, batches=2)
    name = f"lake.{lake.namespace}.t"
    lake.spark.sql(f"ALTER TABLE {name} UNSET TBLPROPERTIES ('write.metadata.delete-after-commit.enabled')")
    assert taken(kept_in_order(lake.spark, config))[("t", "settings")] == "done"
    for n in range(60):
        lake.spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('n' = '{n}')")
    assert len(list((folder(lake, "t") / "metadata").glob("*.metadata.json"))) == 51


@pytest.mark.long
def test_a_rebuild_under_way_keeps_its_books(lake: Lake, monkeypatch: pytest.MonkeyPatch, hours_later: None) -> None:
    table = {"filter": "v <> 'v7'"}
    config = lake.config({"public.t": table}, batch={"max_files": 1}, maintenance=EAGER)
    expected = small_batches(lake, lake.config({"public.t": {}}, batch={"max_files": 1}), batches=4)
    seen = list[str]()

    class Stopped(Exception):
        pass

    def listener(name: str, batch: Any) -> None:
        seen.append(name)
        kept_in_order(lake.spark, config)
        if len(seen) == 3:
            raise Stopped

    word = RunRequest(rebuild=frozenset({"public.t"}))
    (report,) = run(lake.spark, config, listener=listener, request=word).tables.values()
    assert report.error is not None
    assert is_rebuilding(lake.target("t"))
    (report,) = run(lake.spark, config, request=word).tables.values()
    assert report.error is None, report.error
    assert lake.rows("t", "id, v") == [row for row in expected if row != (7, "v7")]


def test_report_is_plain_data(lake: Lake) -> None:
    config = lake.config({"public.t": {}}, batch={"max_files": 1}, maintenance=EAGER)
    small_batches(lake, config, batches=3)
    (report,) = kept_in_order(lake.spark, config)
    document = json.loads(json.dumps(report.to_document()))
    assert document["steps"][0] == {
        "name": f"{lake.namespace}.t",
        "step": "compact",
        "reason": document["steps"][0]["reason"],
        "outcome": "done",
        "counts": document["steps"][0]["counts"],
        "seconds": document["steps"][0]["seconds"],
    }
    assert document["steps"][0]["counts"]["data_files_after"] == 1


def test_the_session_sees_what_others_committed(lake: Lake, spark: SparkSession) -> None:
    """Its catalog keeps tables as they were; files that were committed since then would look like orphans."""
    config = lake.config({"public.t": {}}, batch={"max_files": 1}, maintenance=EAGER)
    expected = small_batches(lake, config, batches=2)
    other = spark.newSession()
    other.sql(f"SELECT * FROM lake.{lake.namespace}.t").collect()
    lake.changes("public.t", cdc(9), ID_V, [("I", clock(9), 61, 900, "later")])
    lake.run_one(config)
    days_ago(30, *files_below(folder(lake, "t")))
    kept_in_order(other, config)
    assert lake.rows("t", "id, v") == sorted([*expected, (900, "later")])


@pytest.mark.long
@pytest.mark.usefixtures("hours_later")
@pytest.mark.parametrize(("after_run", "files"), [("all", 1), ("metadata", None), ("nothing", None)])
def test_a_run_does_what_it_is_told_to_at_its_end(lake: Lake, after_run: str, files: int | None) -> None:
    rules = {**EAGER, "after_run": after_run, "snapshots_max": 30}
    config = lake.config({"public.t": {}}, batch={"max_files": 1}, maintenance=rules)
    expected = small_batches(lake, config)
    assert lake.rows("t", "id, v") == expected
    assert lake.snapshots("t") == BATCHES + 1 if after_run == "nothing" else lake.snapshots("t") <= 6
    assert files is None or lake.count("t", "data_files") == files
    assert files is not None or lake.count("t", "data_files") > BATCHES
    count = lake.snapshots("t")
    assert lake.run_one(config).batches == []
    assert lake.snapshots("t") == count


def test_trouble_at_the_end_of_a_run_is_a_warning(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise TargetError("public.t: out of order")

    monkeypatch.setattr("dms_iceberg.maintenance.run.execute", fails)
    config = lake.config({"public.t": {}}, batch={"max_files": 1}, maintenance={**EAGER, "after_run": "all"})
    lake.load("public.t", ID_V, [(1, "a")])
    lake.changes("public.t", cdc(1), ID_V, [("U", clock(1), 61, 1, "b")])
    report = lake.run_one(config)
    assert report.warnings == ["maintenance: public.t: out of order"]
    assert lake.rows("t", "id, v") == [(1, "b")]
