"""Which tables DMS has loaded, by its own word, and the marker that the job reads."""

from pathlib import Path
from typing import Any

import pytest

from dms_iceberg.bronze.keys import parse_key
from dms_iceberg.config.parse import parse_config
from dms_iceberg.loads.load_marker import marker_key, read_marker
from dms_iceberg.progress.progress import Progress
from dms_iceberg.storage.open_store import open_store
from events import Bronze
from loads import LoadedTable, Replication, loaded_tables
from support.dms_words import TASK, statistics

ORDERS = LoadedTable("public", "orders", 3, "2026-03-14T11:50:00+00:00", "2026-03-14T11:58:00+00:00")
OVER = ["FULL_LOAD_ONLY_FINISHED", "STOPPED_AFTER_FULL_LOAD", "STOPPED_AFTER_CACHED_EVENTS"]
OTHERWISE = ["NORMAL", "FATAL_ERROR", "RECOVERABLE_ERROR", "STOPPED_DUE_TO_LOW_DISK", "RECONFIGURATION_RESTART", ""]


def replication(type_: str, status: str, reason: str | None, *, serverless: bool = False) -> Replication:
    kind = "ReplicationType" if serverless else "MigrationType"
    return Replication.of({kind: type_, "Status": status, "StopReason": reason})


class TestReplication:
    @pytest.mark.parametrize("serverless", [False, True])
    @pytest.mark.parametrize("type_", ["full-load", "full-load-and-cdc"])
    def test_that_runs_or_has_stopped_after_its_load_is_believed(self, type_: str, serverless: bool) -> None:
        assert replication(type_, "running", None, serverless=serverless).is_believed
        for reason in OVER:
            assert replication(type_, "stopped", f"Stop Reason {reason}", serverless=serverless).is_believed

    @pytest.mark.parametrize("reason", OTHERWISE)
    def test_that_stopped_for_another_reason_is_not(self, reason: str) -> None:
        assert not replication("full-load-and-cdc", "stopped", f"Stop Reason {reason}").is_believed

    @pytest.mark.parametrize("status", ["failed", "creating", "ready", "starting", "modifying", "deleting", "failed-move", ""])
    def test_that_neither_runs_nor_has_stopped_is_not(self, status: str) -> None:
        # The reason is that of its last stop.
        assert not replication("full-load", status, "Stop Reason FULL_LOAD_ONLY_FINISHED").is_believed

    @pytest.mark.parametrize("status", ["running", "stopped"])
    def test_that_only_captures_changes_is_not(self, status: str) -> None:
        assert not replication("cdc", status, "Stop Reason FULL_LOAD_ONLY_FINISHED").is_believed

    def test_that_stops_will_tell_more(self) -> None:
        assert replication("full-load", "stopping", None).is_stopping
        assert not replication("cdc", "stopping", None).is_stopping
        assert not replication("full-load", "stopped", None).is_stopping

    def test_of_which_nothing_is_told_is_not_believed(self) -> None:
        assert not Replication.of({}).is_believed


class TestTables:
    def test_loaded_one(self) -> None:
        assert loaded_tables([statistics("public.orders")]) == [ORDERS]

    def test_empty_one_is_loaded_as_well(self) -> None:
        [found] = loaded_tables([statistics("public.orders", rows=0)])
        assert found.rows == 0

    @pytest.mark.parametrize(
        "state", ["Table does not exist", "Before load", "Full load", "Table cancelled", "Table error", "Table is being reloaded", "", None]
    )
    def test_in_another_state_is_not(self, state: str) -> None:
        assert loaded_tables([statistics("public.orders", state)]) == []

    @pytest.mark.parametrize(
        "change",
        [
            {"FullLoadEndTime": None},
            {"FullLoadStartTime": None},
            {"FullLoadErrorRows": 1},
            {"FullLoadCondtnlChkFailedRows": 1},
            {"SchemaName": ""},
            {"TableName": None},
            {"TableName": "a/b"},
            {"SchemaName": "../other"},
        ],
    )
    def test_without_a_whole_load_is_not(self, change: dict[str, Any]) -> None:
        assert loaded_tables([statistics("public.orders", **change)]) == []

    def test_one_in_error_leaves_the_others(self) -> None:
        found = loaded_tables([statistics("public.a"), statistics("public.b", "Table error"), statistics("public.c")])
        assert [table.table for table in found] == ["a", "c"]


class TestMarker:
    def test_the_job_reads_it(self, tmp_path: Path) -> None:
        document = {
            "version": 1,
            "pipeline": "shop",
            "bronze": {"uri": str(tmp_path)},
            "catalog": {"name": "lake", "type": "hadoop", "warehouse": "silver"},
            "tables": {"Vertrieb Süd.a.b": {"target": "silver.orders", "key": ["id"]}},
        }
        table = parse_config(document).tables["Vertrieb Süd.a.b"]
        [told] = loaded_tables([statistics("Vertrieb Süd.a.b", rows=7)])
        assert told.key == marker_key(table)
        path = tmp_path / told.key
        path.parent.mkdir(parents=True)
        path.write_bytes(told.marker(2, TASK))
        marker = read_marker(open_store(str(tmp_path)), table)
        assert marker is not None
        assert (marker.epoch, marker.rows, marker.began) == (2, 7, "20260314115000000")
        assert "has no file" in marker.doubt(Progress(epoch=2), [])

    def test_it_is_no_change_file(self) -> None:
        assert parse_key("public/orders/", ORDERS.key, 1, "etag") is None
        bronze = Bronze("bronze", "dms/shop/epoch-2/")
        assert not bronze.holds("bronze", f"dms/shop/epoch-2/{ORDERS.key}")
        assert bronze.holds_marker("bronze", f"dms/shop/epoch-2/{ORDERS.key}")

    @pytest.mark.parametrize(
        ("bucket", "key"),
        [
            ("silver", "dms/shop/epoch-2/_load_complete/public/orders.json"),
            ("bronze", "dms/shop/epoch-1/_load_complete/public/orders.json"),
            ("bronze", "dms/shop/epoch-2/_load_complete/orders.json"),
            ("bronze", "dms/shop/epoch-2/_load_complete/public/a/b.json"),
            ("bronze", "dms/shop/epoch-2/_load_complete/public/orders.json.tmp"),
            ("bronze", "dms/shop/epoch-2/public/_load_complete/orders.json"),
        ],
    )
    def test_other_objects_are_none(self, bucket: str, key: str) -> None:
        assert not Bronze("bronze", "dms/shop/epoch-2/").holds_marker(bucket, key)

    @pytest.mark.parametrize(
        ("prefix", "epoch"), [("dms/shop/epoch-12/", 12), ("epoch-0/", 0), ("dms/shop/", None), ("", None), ("dms/epoch-1/shop/", None)]
    )
    def test_epoch_is_that_of_the_job(self, prefix: str, epoch: int | None) -> None:
        assert Bronze("bronze", prefix).epoch == epoch
        document = {
            "version": 1,
            "pipeline": "shop",
            "bronze": {"uri": f"s3://bronze/{prefix}"},
            "catalog": {"name": "lake", "type": "hadoop", "warehouse": "silver"},
            "tables": {"a.b": {"target": "silver.orders", "key": ["id"]}},
        }
        assert parse_config(document).bronze.epoch == (epoch or 0)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("cannot reach postgresql://doc:s3cr@et@db.internal:5432/shop", "cannot reach postgresql://doc:***@db.internal:5432/shop"),
        ("Driver={x};UID=doc;Password=geheim;Port=1", "Driver={x};UID=doc;Password=***;Port=1"),
        ("password = 'two words' host=db", "password = *** host=db"),
        ('{"password": "geheim"}', '{"password": ***}'),
        ("no route to host", "no route to host"),
        ("https://docs.aws.amazon.com/dms: read it", "https://docs.aws.amazon.com/dms: read it"),
        ("x" * 501, "x" * 500),
    ],
)
def test_failures_are_short_and_without_passwords(said: str, shown: str) -> None:
    assert Replication.of({"FailureMessages": [said]}).failures == (shown,)
