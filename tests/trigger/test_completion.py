"""Markers of complete loads: what is written, when a run follows, and what becomes of DMS's messages."""

import json
from collections.abc import Iterator
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, ReadTimeoutError
from botocore.stub import Stubber
from moto import mock_aws

from completion import LoadWatch, Noted
from events import Bronze, News, UnreadableMessageError, read_message
from handler import Trigger
from settings import Settings
from support.dms_words import SERVERLESS, TASK, FakeDms, state_change, statistics
from support.notifications import CONFIG_URI, NOON, message, s3_body, s3_record
from trigger.conftest import LogLines
from trigger.test_faults import FakeAws, refusal

BRONZE = Bronze("bronze", "dms/shop/epoch-2/")
SETTINGS = Settings("shop-merge", CONFIG_URI, BRONZE, "https://queue", "https://dead", TASK)
ORDERS = "dms/shop/epoch-2/_load_complete/public/orders.json"
WAKE_UP = '{"source": "aws.events", "detail-type": "Scheduled Event", "time": "2026-03-14T12:00:00Z", "detail": {}}'


@pytest.fixture
def s3(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    with mock_aws():
        client = boto3.client("s3", region_name="us-east-1")
        client.create_bucket(Bucket="bronze")
        yield client


def markers(s3: Any) -> list[str]:
    return [one["Key"] for one in s3.list_objects_v2(Bucket="bronze").get("Contents", [])]


def watch(dms: FakeDms, s3: Any, arn: str = TASK) -> LoadWatch:
    return LoadWatch(dms, s3, BRONZE, 2, arn)


class TestMarkers:
    @pytest.mark.parametrize("arn", [TASK, SERVERLESS])
    def test_one_for_each_loaded_table(self, s3: Any, arn: str) -> None:
        dms = FakeDms([statistics("public.orders"), statistics("public.bad", "Table error")], [statistics("shop.lines", rows=0)])
        noted = watch(dms, s3, arn).note()
        assert noted == Noted("stopped", ("public.orders", "shop.lines"), 2, 1)
        assert markers(s3) == [ORDERS, "dms/shop/epoch-2/_load_complete/shop/lines.json"]
        told = json.loads(s3.get_object(Bucket="bronze", Key=ORDERS)["Body"].read())
        assert told == {
            "schema": "public",
            "table": "orders",
            "epoch": 2,
            "rows": 3,
            "began": "2026-03-14T11:50:00+00:00",
            "ended": "2026-03-14T11:58:00+00:00",
            "said_by": arn,
        }
        assert dms.asked == [arn]

    def test_is_never_written_anew(self, s3: Any) -> None:
        watch(FakeDms([statistics("public.orders", rows=3)]), s3).note()
        assert watch(FakeDms([statistics("public.orders", rows=4)]), s3).note() == Noted("stopped", (), 1, 0)
        assert json.loads(s3.get_object(Bucket="bronze", Key=ORDERS)["Body"].read())["rows"] == 3

    def test_tables_of_a_running_load_come_one_by_one(self, s3: Any) -> None:
        dms = FakeDms([statistics("public.orders"), statistics("public.lines", "Full load")], status="running", reason="")
        dms.type = "full-load-and-cdc"
        one = watch(dms, s3)
        assert one.note().tables == ("public.orders",)
        assert one.note() == Noted("running", (), 1, 1)
        dms.pages[0][1] = statistics("public.lines")
        assert one.note().tables == ("public.lines",)
        assert one.note() == Noted(known=2)
        assert len(dms.asked) == 3, "once everything is loaded, nobody is asked"

    @pytest.mark.parametrize(
        ("type_", "status", "reason"),
        [
            ("cdc", "running", ""),
            ("full-load", "failed", ""),
            ("full-load-and-cdc", "stopped", "FATAL_ERROR"),
            ("full-load", "stopped", "NORMAL"),
        ],
    )
    def test_none_for_what_a_replication_says_that_is_not_believed(self, s3: Any, type_: str, status: str, reason: str) -> None:
        dms = FakeDms([statistics("public.orders")], status=status, reason=reason)
        dms.type = type_
        assert watch(dms, s3).note() == Noted(status)
        assert markers(s3) == []

    def test_none_while_nothing_is_told(self, s3: Any) -> None:
        dms = FakeDms()
        assert watch(dms, s3).note() == Noted("stopped")
        one = watch(dms, s3)
        one.note()
        dms.pages = [[statistics("public.orders")]]
        assert one.note().tables == ("public.orders",)

    def test_many_are_written_and_one_that_fails_is_tried_again(self, s3: Any) -> None:
        dms = FakeDms([statistics(f"public.t{n}") for n in range(40)])

        class Failing:
            def __init__(self) -> None:
                self.left = 1

            def put_object(self, **given: Any) -> object:
                if given["Key"].endswith("/t7.json") and self.left:
                    self.left -= 1
                    raise refusal("SlowDown")
                return s3.put_object(**given)

        one = LoadWatch(dms, Failing(), BRONZE, 2, TASK)
        with pytest.raises(ClientError, match="SlowDown"):
            one.note()
        one.note()
        assert len(markers(s3)) == 40


def test_requests_and_answers_have_the_shapes_of_the_api(s3: Any) -> None:
    """botocore's model of DMS checks both."""
    for arn, kind in ((TASK, "replication-task-arn"), (SERVERLESS, "replication-config-arn")):
        dms = boto3.client("dms", region_name="eu-central-1")
        only = {"Filters": [{"Name": kind, "Values": [arn]}]}
        with Stubber(dms) as stubber:
            if arn == TASK:
                described = {"MigrationType": "full-load", "Status": "stopped", "StopReason": "Stop Reason FULL_LOAD_ONLY_FINISHED"}
                stubber.add_response("describe_replication_tasks", {"ReplicationTasks": [described]}, only | {"WithoutSettings": True})
                tables = {"TableStatistics": [statistics("a.task")], "Marker": "next"}
                asked: dict[str, Any] = {"ReplicationTaskArn": arn, "MaxRecords": 500}
                stubber.add_response("describe_table_statistics", tables, asked)
                stubber.add_response("describe_table_statistics", {"TableStatistics": []}, asked | {"Marker": "next"})
            else:
                described = {"ReplicationType": "full-load", "Status": "stopped", "StopReason": "Stop Reason FULL_LOAD_ONLY_FINISHED"}
                stubber.add_response("describe_replications", {"Replications": [described]}, only)
                tables = {"ReplicationTableStatistics": [statistics("a.serverless")]}
                asked = {"ReplicationConfigArn": arn, "MaxRecords": 500}
                stubber.add_response("describe_replication_table_statistics", tables, asked)
            assert len(LoadWatch(dms, s3, BRONZE, 2, arn).note().tables) == 1
            stubber.assert_no_pending_responses()


class TestMessages:
    @pytest.mark.parametrize("arn", [TASK, SERVERLESS])
    def test_of_our_replication(self, arn: str) -> None:
        assert read_message(state_change(arn), BRONZE, arn) == News(0, 0, None, of_replication=True)

    def test_in_the_envelope_of_sns_as_the_others(self) -> None:
        body = json.dumps({"Type": "Notification", "Message": state_change()})
        assert read_message(body, BRONZE, TASK).of_replication

    @pytest.mark.parametrize(
        ("body", "arn"),
        [
            (state_change(), SERVERLESS),
            (state_change(), ""),
            (state_change(TASK + "x"), TASK),
            (state_change(resources=[]), TASK),
            (state_change(resources=[None, 1]), TASK),
            (state_change(**{"detail-type": "DMS Replication Instance State Change"}), TASK),
            (state_change(**{"detail-type": None}), TASK),
        ],
    )
    def test_of_others_are_ignored(self, body: str, arn: str) -> None:
        assert read_message(body, BRONZE, arn) == News(0, 1, None)

    @pytest.mark.parametrize(
        "change", [{"resources": TASK}, {"resources": None}, {"resources": {"secret": 1}}, {"detail-type": ["secret"]}]
    )
    def test_malformed_ones_are_refused(self, change: dict[str, Any]) -> None:
        body = state_change(**change)
        with pytest.raises(UnreadableMessageError) as raised:
            read_message(body, BRONZE, TASK)
        assert "secret" not in str(raised.value)

    def test_that_lacks_its_resources_is_refused(self) -> None:
        document = json.loads(state_change())
        del document["resources"]
        with pytest.raises(UnreadableMessageError, match="KeyError"):
            read_message(json.dumps(document), BRONZE, TASK)

    def test_a_new_marker_is_news_like_a_change_file(self) -> None:
        assert read_message(s3_body(s3_record(ORDERS)), BRONZE) == News(1, 0, NOON)


class TestHandler:
    def test_state_change_is_done_with_the_markers_whose_news_start_the_run(self, s3: Any, log_lines: LogLines) -> None:
        aws = FakeAws()
        trigger = Trigger(aws, aws, SETTINGS, watch(FakeDms([statistics("public.orders")]), s3))
        assert trigger.handle([message(state_change())]) == {"batchItemFailures": []}
        assert (aws.started, markers(s3)) == (0, [ORDERS])
        noted, batch = log_lines()
        assert (noted["event"], noted["outcome"], noted["tables"], noted["written"]) == ("loads", "noted", ["public.orders"], 1)
        assert (batch["outcome"], batch["ignored"]) == ("ignored", 0)
        trigger.handle([message(s3_body(s3_record(ORDERS)))])
        assert (aws.started, log_lines()[0]["outcome"]) == (1, "started")

    @pytest.mark.parametrize("body", [WAKE_UP, s3_body(s3_record("dms/shop/epoch-2/public/lines/20260314-115959123.parquet"))])
    def test_dms_is_asked_before_a_run_so_that_the_run_sees_the_markers(self, s3: Any, body: str) -> None:
        """A load that goes over into changes ends without an event."""
        dms = FakeDms([statistics("public.orders")], status="running", reason="")
        dms.type = "full-load-and-cdc"

        class Glue(FakeAws):
            def start_job_run(self, **given: object) -> dict[str, Any]:
                assert markers(s3) == [ORDERS]
                return super().start_job_run(**given)

        aws = Glue()
        assert Trigger(aws, aws, SETTINGS, watch(dms, s3)).handle([message(body)]) == {"batchItemFailures": []}
        assert aws.started == 1

    def test_nobody_is_asked_without_a_replication(self) -> None:
        aws = FakeAws()
        assert Trigger(aws, aws, SETTINGS).handle([message(state_change()), message(WAKE_UP, "m-2")]) == {"batchItemFailures": []}
        assert aws.started == 1

    @pytest.mark.parametrize(
        ("error", "level", "outcome"),
        [
            (refusal("ThrottlingException"), "WARNING", "waiting"),
            (refusal("SlowDown"), "WARNING", "waiting"),
            (ReadTimeoutError(endpoint_url="https://dms"), "WARNING", "waiting"),
            (refusal("AccessDeniedException"), "ERROR", "failed"),
            (refusal("AccessDenied"), "ERROR", "failed"),
        ],
    )
    def test_state_change_waits_where_dms_or_s3_does_not_answer(
        self, s3: Any, log_lines: LogLines, error: Exception, level: str, outcome: str
    ) -> None:
        aws, dms = FakeAws(), FakeDms([statistics("public.orders")])
        dms.error = error
        trigger = Trigger(aws, aws, SETTINGS, watch(dms, s3))
        both = [message(state_change(), receives=2), message(WAKE_UP, "m-2")]
        assert trigger.handle(both) == {"batchItemFailures": [{"itemIdentifier": "m-1"}]}
        assert aws.hidden == [("handle-m-1-2", 50)]
        assert aws.started == 1, "runs do not wait for it"
        line = log_lines()[0]
        assert (line["event"], line["level"], line["outcome"]) == ("loads", level, outcome)
        assert line["advice"]
        dms.error = None
        assert trigger.handle([message(state_change(), receives=3)]) == {"batchItemFailures": []}
        assert markers(s3) == [ORDERS]

    def test_state_change_of_a_task_that_is_stopping_waits_for_the_reason(self, s3: Any) -> None:
        aws, dms = FakeAws(), FakeDms([statistics("public.orders")], status="stopping", reason="")
        trigger = Trigger(aws, aws, SETTINGS, watch(dms, s3))
        assert trigger.handle([message(state_change())]) == {"batchItemFailures": [{"itemIdentifier": "m-1"}]}
        assert (aws.hidden, markers(s3)) == ([("handle-m-1-1", 30)], [])
        dms.status, dms.reason = "stopped", "FULL_LOAD_ONLY_FINISHED"
        assert trigger.handle([message(state_change())]) == {"batchItemFailures": []}
        assert markers(s3) == [ORDERS]

    def test_replication_that_is_gone_is_told_and_forgotten(self, s3: Any, log_lines: LogLines) -> None:
        aws, dms = FakeAws(), FakeDms()
        dms.error = refusal("ResourceNotFoundFault")
        assert Trigger(aws, aws, SETTINGS, watch(dms, s3)).handle([message(state_change())]) == {"batchItemFailures": []}
        assert (log_lines()[0]["level"], aws.hidden) == ("WARNING", [])


def test_replication_is_a_setting_that_may_be_missing() -> None:
    environment = {"JOB_NAME": "j", "CONFIG_URI": "c", "BRONZE_BUCKET": "b", "QUEUE_URL": "q", "DEAD_LETTER_QUEUE_URL": "d"}
    assert Settings.from_environment(environment).replication_arn == ""
    assert Settings.from_environment(environment | {"REPLICATION_ARN": TASK}).replication_arn == TASK


def test_beside_a_watch_loads_are_noted_and_no_run_is_started(s3: Any, log_lines: LogLines) -> None:
    """A watch on EMR Serverless merges: neither a wake-up nor a file asks Glue for anything."""
    environment = {"JOB_NAME": "shop-merge", "CONFIG_URI": CONFIG_URI, "BRONZE_BUCKET": "bronze", "BRONZE_PREFIX": BRONZE.prefix}
    environment |= {"QUEUE_URL": "https://queue", "DEAD_LETTER_QUEUE_URL": "https://dead", "REPLICATION_ARN": TASK, "STARTS_RUNS": "false"}
    aws = FakeAws(refusal("AccessDeniedException"))
    dms = FakeDms([statistics("public.orders")])
    one = Trigger(aws, aws, Settings.from_environment(environment), watch(dms, s3), clock=lambda: NOON)
    assert one.handle([message(WAKE_UP)]) == {"batchItemFailures": []}
    assert (markers(s3), aws.started, len(aws.errors)) == ([ORDERS], 0, 1)
    assert log_lines()[-1]["outcome"] == "left_to_watch"
