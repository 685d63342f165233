"""The real handler when AWS says no: what it keeps, starts once, and says; and the settings it begins with."""

import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError, ConnectTimeoutError

from completion import LoadWatch
from handler import Trigger
from settings import Settings
from support.dms_words import TASK, FakeDms
from support.notifications import CONFIG_URI, NOON, failure_body, message, s3_body, s3_record
from trigger.conftest import LogLines


class FakeAws:
    """Glue and SQS that answer as a test wants."""

    def __init__(self, *errors: Exception | None) -> None:
        self.errors = list(errors)
        self.hidden: list[tuple[str, int]] = []
        self.started = 0

    def _may_fail(self) -> None:
        error = self.errors.pop(0) if self.errors else None
        if error is not None:
            raise error

    def get_job_runs(self, **_: object) -> dict[str, Any]:
        self._may_fail()
        return {"JobRuns": []}

    def start_job_run(self, **_: object) -> dict[str, Any]:
        self._may_fail()
        self.started += 1
        return {"JobRunId": "jr_1"}

    def change_message_visibility(self, *, QueueUrl: str, ReceiptHandle: str, VisibilityTimeout: int) -> None:
        self._may_fail()
        assert QueueUrl == "https://queue"
        self.hidden.append((ReceiptHandle, VisibilityTimeout))

    def send_message(self, **_: object) -> None:
        self._may_fail()


def refusal(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "as wished"}}, "StartJobRun")


class TestFaults:
    @pytest.mark.parametrize("call", [0, 1], ids=["listing", "start"])
    @pytest.mark.parametrize(
        ("error", "level"),
        [
            (refusal("ThrottlingException"), "WARNING"),
            (refusal("OperationTimeoutException"), "WARNING"),
            (refusal("InternalServiceException"), "WARNING"),
            (refusal("ResourceNumberLimitExceededException"), "WARNING"),
            (ConnectTimeoutError(endpoint_url="https://glue"), "WARNING"),
            (refusal("AccessDeniedException"), "ERROR"),
            (refusal("EntityNotFoundException"), "ERROR"),
            (refusal("InvalidInputException"), "ERROR"),
            (refusal("NeverSeen"), "ERROR"),
        ],
        ids=str,
    )
    def test_newest_message_is_kept_for_all(self, settings: Settings, error: Exception, level: str, call: int, log_lines: LogLines) -> None:
        aws = FakeAws(*[None] * call, error)
        minutes = [3, 7, 5]
        records = [message(s3_body(s3_record(at=NOON + timedelta(minutes=m))), f"m-{m}", receives=2) for m in minutes]
        assert Trigger(aws, aws, settings).handle(records) == {"batchItemFailures": [{"itemIdentifier": "m-7"}]}
        assert aws.hidden == [("handle-m-7-2", 50)]
        (line,) = log_lines()
        assert line["level"] == level
        assert line["error"]
        assert line["advice"]
        assert "orders" not in json.dumps(line)

    def test_of_equally_new_messages_the_least_received_is_kept(self, settings: Settings) -> None:
        aws = FakeAws(refusal("ThrottlingException"))
        records = [message(s3_body(s3_record()), f"m-{n}", receives=n) for n in (900, 3, 40)]
        assert Trigger(aws, aws, settings).handle(records)["batchItemFailures"] == [{"itemIdentifier": "m-3"}]

    def test_message_is_kept_even_if_it_cannot_be_hidden(self, settings: Settings, log_lines: LogLines) -> None:
        aws = FakeAws(None, refusal("ConcurrentRunsExceededException"), refusal("AccessDenied"))
        answer = Trigger(aws, aws, settings).handle([message(s3_body(s3_record()))])
        assert answer == {"batchItemFailures": [{"itemIdentifier": "m-1"}]}
        assert "sqs:ChangeMessageVisibility" in log_lines()[0]["advice"]

    def test_a_thousand_messages_are_one_start_and_one_line(self, settings: Settings, log_lines: LogLines) -> None:
        aws = FakeAws()
        records = [message(s3_body(s3_record()), f"m-{n}") for n in range(1000)]
        assert Trigger(aws, aws, settings).handle(records) == {"batchItemFailures": []}
        assert (aws.started, len(log_lines())) == (1, 1)

    @pytest.mark.parametrize("body", [s3_body(s3_record()), failure_body("jr_1", NOON)], ids=["file", "failure"])
    def test_what_should_pass_and_does_not_is_an_error_at_last(self, settings: Settings, body: str, log_lines: LogLines) -> None:
        for receives in (24, 25, 900):
            aws = FakeAws(refusal("ThrottlingException"))
            assert Trigger(aws, aws, settings).handle([message(body, receives=receives)])["batchItemFailures"]
        found = [line["level"] for line in log_lines() if "error" in line]
        assert found == ["WARNING", "ERROR", "ERROR"]

    def test_waiting_for_another_run_is_never_one(self, settings: Settings, log_lines: LogLines) -> None:
        aws = FakeAws(None, refusal("ConcurrentRunsExceededException"))
        Trigger(aws, aws, settings).handle([message(s3_body(s3_record()), receives=900)])
        assert [line["level"] for line in log_lines()] == ["INFO"]

    @pytest.mark.parametrize("at", [NOON + timedelta(hours=48), NOON.replace(year=9999, month=12, day=31, hour=23)])
    def test_failure_dated_in_the_future_waits_as_one_of_now(self, settings: Settings, at: datetime) -> None:
        record = message(failure_body("jr_1", at))  # SQS says that it was sent at noon.
        aws = FakeAws()
        assert Trigger(aws, aws, settings, clock=lambda: NOON).handle([record])["batchItemFailures"]
        assert aws.hidden == [("handle-m-1-1", 300)]
        assert not Trigger(aws, aws, settings, clock=lambda: NOON + timedelta(minutes=5)).handle([record])["batchItemFailures"]
        assert aws.started == 1

    def test_failure_dated_long_ago_stops_no_batch(self, settings: Settings) -> None:
        class Glue(FakeAws):
            def get_job_runs(self, **_: object) -> dict[str, Any]:
                return {"JobRuns": [{"Id": "jr_2", "JobRunState": "SUCCEEDED", "StartedOn": NOON}]}

        body = failure_body("jr_1", NOON).replace("2026-", "0001-")
        body = body.replace("-03-14T12:00:00", "-01-01T00:00:00")
        assert Trigger(Glue(), FakeAws(), settings).handle([message(body)]) == {"batchItemFailures": []}

    @pytest.mark.parametrize(("state", "waits"), [("FAILED", [300]), ("SUCCEEDED", []), ("STOPPED", [])])
    def test_clock_leaves_a_job_alone_for_a_while_after_a_failure(self, settings: Settings, state: str, waits: list[int]) -> None:
        class Glue(FakeAws):
            def get_job_runs(self, **_: object) -> dict[str, Any]:
                began = NOON - timedelta(minutes=10)
                return {"JobRuns": [{"Id": "jr_1", "JobRunState": state, "StartedOn": began, "CompletedOn": NOON}]}

        clock = '{"source": "aws.events", "detail-type": "Scheduled Event", "time": "2026-03-14T12:00:00Z", "detail": {}}'
        for body, expected in ((clock, waits), (s3_body(s3_record()), [])):
            aws = Glue()
            Trigger(aws, aws, settings, clock=lambda: NOON).handle([message(body)])
            assert [seconds for _, seconds in aws.hidden] == expected
            assert aws.started == (not expected)
        aws = Glue()
        Trigger(aws, aws, settings, clock=lambda: NOON + timedelta(minutes=5)).handle([message(clock)])
        assert aws.started == 1

    def test_fault_in_reading_dms_keeps_back_no_run(self, settings: Settings, log_lines: LogLines) -> None:
        class Dms(FakeDms):
            def describe_replication_tasks(self, **_: object) -> dict[str, Any]:
                raise KeyError("ReplicationTasks")

        aws = FakeAws()
        loads = LoadWatch(Dms(), aws, settings.bronze, 2, TASK)  # type: ignore[arg-type]
        assert Trigger(aws, aws, settings, loads).handle([message(s3_body(s3_record()))]) == {"batchItemFailures": []}
        assert aws.started == 1
        assert [(line["level"], line["event"]) for line in log_lines()] == [("ERROR", "loads"), ("INFO", "batch")]

    def test_message_without_a_receive_count(self, settings: Settings) -> None:
        aws = FakeAws(refusal("ThrottlingException"))
        record = message(s3_body(s3_record()))
        del record["attributes"]
        Trigger(aws, aws, settings).handle([record])
        assert aws.hidden == [("handle-m-1-1", 30)]


ENVIRONMENT = {
    "JOB_NAME": "shop-merge",
    "CONFIG_URI": CONFIG_URI,
    "BRONZE_BUCKET": "bronze",
    "BRONZE_PREFIX": "dms/shop/",
    "QUEUE_URL": "https://queue",
    "DEAD_LETTER_QUEUE_URL": "https://dead",
}


class TestSettings:
    @pytest.mark.parametrize("prefix", ["dms/shop/", "dms/shop", "/dms/shop/"])
    def test_prefix_with_and_without_slashes(self, settings: Settings, prefix: str) -> None:
        assert Settings.from_environment(ENVIRONMENT | {"BRONZE_PREFIX": prefix}) == settings

    def test_no_prefix_is_the_whole_bucket(self) -> None:
        assert Settings.from_environment(ENVIRONMENT | {"BRONZE_PREFIX": ""}).bronze.prefix == ""

    def test_all_missing_variables_are_named(self) -> None:
        with pytest.raises(ValueError, match=r"not set: CONFIG_URI, QUEUE_URL\. .*apply it again"):
            Settings.from_environment(ENVIRONMENT | {"CONFIG_URI": "", "QUEUE_URL": ""})
