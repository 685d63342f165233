"""The real handler against S3, SQS and Glue of a local AWS: what it starts, keeps, gives up and says."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import boto3
import pytest
from moto import mock_aws
from moto.backends import get_backend
from moto.moto_api import state_manager

import handler
from support.notifications import CONFIG_URI, FILE, failure_body, s3_body, s3_record
from trigger.conftest import LogLines

REGION = "eu-central-1"
JOB = "shop-merge"


class Aws:
    """A pipeline's AWS: bucket with notification, queue with dead-letter queue, Glue job; Lambda's poller is `poll`."""

    def __init__(self) -> None:
        self.s3, self.sqs, self.glue = (boto3.client(name, region_name=REGION) for name in ("s3", "sqs", "glue"))
        self.dead = self.sqs.create_queue(QueueName="shop-trigger-dead")["QueueUrl"]
        redrive = {"deadLetterTargetArn": self.arn(self.dead), "maxReceiveCount": 1000}
        attributes = {"RedrivePolicy": json.dumps(redrive), "VisibilityTimeout": "420"}
        self.queue = self.sqs.create_queue(QueueName="shop-trigger", Attributes=attributes)["QueueUrl"]
        self.create_job()
        self.s3.create_bucket(Bucket="bronze", CreateBucketConfiguration={"LocationConstraint": REGION})
        self.notify()

    def notify(self) -> None:
        """Configure the notification; S3 sends a test event each time."""
        notification = {"QueueArn": self.arn(self.queue), "Events": ["s3:ObjectCreated:*"]}
        self.s3.put_bucket_notification_configuration(Bucket="bronze", NotificationConfiguration={"QueueConfigurations": [notification]})

    def arn(self, queue: str) -> str:
        return str(self.sqs.get_queue_attributes(QueueUrl=queue, AttributeNames=["QueueArn"])["Attributes"]["QueueArn"])

    def create_job(self) -> None:
        defaults = {"--config": CONFIG_URI, "--datalake-formats": "iceberg"}
        self.glue.create_job(Name=JOB, Role="r", Command={"Name": "glueetl"}, DefaultArguments=defaults)

    def put(self, key: str = FILE) -> None:
        self.s3.put_object(Bucket="bronze", Key=key, Body=b"x")

    def send(self, body: str) -> None:
        self.sqs.send_message(QueueUrl=self.queue, MessageBody=body)

    def poll(self) -> dict[str, Any]:
        """What Lambda does: receive, call, delete what is done."""
        received = self.sqs.receive_message(QueueUrl=self.queue, MaxNumberOfMessages=10, AttributeNames=["All"]).get("Messages", [])
        records = [
            {"messageId": m["MessageId"], "receiptHandle": m["ReceiptHandle"], "body": m["Body"], "attributes": m["Attributes"]}
            for m in received
        ]
        answer = handler.handler({"Records": records}, None)
        kept = {item["itemIdentifier"] for item in answer["batchItemFailures"]}
        for one in received:
            if one["MessageId"] not in kept:
                self.sqs.delete_message(QueueUrl=self.queue, ReceiptHandle=one["ReceiptHandle"])
        return answer

    def time_comes(self) -> None:
        """Hidden messages are visible again."""
        for one in get_backend("sqs")["123456789012"][REGION].queues["shop-trigger"]._messages:
            one.visible_at = 0

    def in_queue(self) -> tuple[int, int]:
        """Messages that are visible, and hidden ones."""
        names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
        attributes = self.sqs.get_queue_attributes(QueueUrl=self.queue, AttributeNames=names)["Attributes"]
        return int(attributes[names[0]]), int(attributes[names[1]])

    def dead_letters(self) -> list[dict[str, Any]]:
        return self.sqs.receive_message(QueueUrl=self.dead, MessageAttributeNames=["All"]).get("Messages", [])

    def runs(self) -> list[Any]:
        return get_backend("glue")["123456789012"][REGION].jobs[JOB].job_runs

    def run_ends(self, state: str) -> None:
        self.runs()[-1].status = state


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[Aws]:
    for name in ("AWS_PROFILE", "AWS_SESSION_TOKEN", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    environment = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_DEFAULT_REGION": REGION, "AWS_REGION": REGION}
    with mock_aws():
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        one = Aws()
        ours = {"JOB_NAME": JOB, "CONFIG_URI": CONFIG_URI, "BRONZE_BUCKET": "bronze", "BRONZE_PREFIX": "dms/shop/"}
        for name, value in (ours | {"QUEUE_URL": one.queue, "DEAD_LETTER_QUEUE_URL": one.dead}).items():
            monkeypatch.setenv(name, value)
        handler.trigger.cache_clear()
        # A run stays active until a test ends it.
        state_manager.set_transition("glue::job_run", {"progression": "manual", "times": 1_000_000})
        one.poll()  # the test event of the notification
        yield one
        state_manager.unset_transition("glue::job_run")
    handler.trigger.cache_clear()


class TestOnAws:
    def test_a_burst_is_one_run_that_merges_everything(self, aws: Aws, log_lines: LogLines) -> None:
        for n in range(8):
            aws.put(f"dms/shop/public/t{n}/2026/03/14/20260314-11595912{n}.parquet")
        log_lines()
        assert aws.poll() == {"batchItemFailures": []}
        (run,) = aws.glue.get_job_runs(JobName=JOB)["JobRuns"]
        assert run["Arguments"] == {"--command": "run", "--config": CONFIG_URI, "--datalake-formats": "iceberg"}
        assert aws.in_queue() == (0, 0)
        (line,) = log_lines()
        expected = {"level": "INFO", "event": "batch", "outcome": "started", "messages": 8, "files": 8, "ignored": 0, "covered": 0}
        assert line == expected | {"run_id": run["Id"]}

    def test_a_run_is_started_with_the_arguments_of_the_environment(self, aws: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("RUN_ARGUMENTS", '{"--command": "watch", "--for": "3h"}')
        handler.trigger.cache_clear()
        aws.put()
        aws.poll()
        (run,) = aws.glue.get_job_runs(JobName=JOB)["JobRuns"]
        expected = {"--command": "watch", "--for": "3h", "--config": CONFIG_URI}
        assert run["Arguments"].items() >= expected.items()

    def test_test_event_and_foreign_objects_ask_for_nothing(self, aws: Aws, log_lines: LogLines) -> None:
        aws.notify()
        for key in ("dms/shop/awsdms_status/awsdms_status/LOAD00000001.csv", "dms/shop/public/orders/", "other/a/b/LOAD00000001.csv"):
            aws.put(key)
        log_lines()
        aws.poll()
        assert aws.runs() == []
        assert aws.in_queue() == (0, 0)
        (line,) = log_lines()
        assert line == {"level": "INFO", "event": "batch", "outcome": "ignored", "messages": 4, "files": 0, "ignored": 3}

    def test_a_suspended_table_is_an_error_that_starts_nothing(self, aws: Aws, log_lines: LogLines) -> None:
        key = "dms/shop/awsdms_suspended_tables/20260314-115959123.csv"
        aws.put(key)
        log_lines()
        aws.poll()
        assert (aws.runs(), aws.in_queue()) == ([], (0, 0))
        reported, batch = log_lines()
        assert (reported["level"], reported["event"], reported["key"]) == ("ERROR", "reported_by_dms", key)
        assert "load it again" in reported["advice"]
        assert (batch["outcome"], batch["ignored"]) == ("ignored", 1)

    def test_files_soon_after_a_run_wait_for_its_rest_and_are_one_run(
        self, aws: Aws, log_lines: LogLines, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("MIN_MINUTES_BETWEEN_RUNS", "5")
        handler.trigger.cache_clear()
        aws.put()
        aws.poll()
        aws.run_ends("SUCCEEDED")
        aws.runs()[0].started_on -= timedelta(minutes=1)
        for _ in range(3):
            aws.put()
        log_lines()
        assert len(aws.poll()["batchItemFailures"]) == 1
        (line,) = log_lines()
        assert (line["outcome"], 230 <= line["wait_seconds"] <= 240, aws.in_queue()) == ("waiting", True, (0, 1))
        aws.runs()[0].started_on -= timedelta(minutes=4)
        aws.time_comes()
        assert aws.poll()["batchItemFailures"] == []
        assert (len(aws.runs()), aws.in_queue()) == (2, (0, 0))

    def test_a_run_that_failed_is_tried_again_after_a_pause(self, aws: Aws, log_lines: LogLines) -> None:
        aws.put()
        aws.poll()
        (first,) = aws.runs()
        aws.run_ends("FAILED")
        failed_at = datetime.now(UTC) + timedelta(seconds=20)
        aws.send(failure_body(first.job_run_id, failed_at))
        log_lines()
        assert len(aws.poll()["batchItemFailures"]) == 1
        assert (len(aws.runs()), aws.in_queue()) == (1, (0, 1))
        waiting, _ = log_lines()
        assert (waiting["event"], waiting["outcome"], 280 <= waiting["wait_seconds"] <= 321) == ("failures", "waiting", True)
        aws.sqs.purge_queue(QueueUrl=aws.queue)
        aws.send(failure_body(first.job_run_id, datetime.now(UTC) - timedelta(minutes=6)))
        first.started_on -= timedelta(minutes=9)
        assert aws.poll()["batchItemFailures"] == []
        assert (len(aws.runs()), aws.in_queue()) == (2, (0, 0))

    def test_a_failure_that_another_run_followed_asks_for_nothing(self, aws: Aws) -> None:
        aws.put()
        aws.poll()
        aws.run_ends("FAILED")
        aws.send(failure_body("jr_before", datetime.now(UTC) - timedelta(hours=1)))
        assert aws.poll()["batchItemFailures"] == []
        assert (len(aws.runs()), aws.in_queue()) == (1, (0, 0))

    def test_a_failed_run_of_another_command_is_not_followed_by_a_merge(self, aws: Aws) -> None:
        run_id = aws.glue.start_job_run(JobName=JOB, Arguments={"--command": "doctor", "--config": CONFIG_URI})["JobRunId"]
        aws.run_ends("FAILED")
        aws.send(failure_body(run_id, datetime.now(UTC) - timedelta(hours=1)))
        assert aws.poll()["batchItemFailures"] == []
        assert (len(aws.runs()), aws.in_queue()) == (1, (0, 0))

    @pytest.mark.parametrize("changed", [{"jobName": "another"}, {"state": "STOPPED"}, {"state": "SUCCEEDED"}])
    def test_other_jobs_and_other_ends_ask_for_nothing(self, aws: Aws, changed: dict[str, str]) -> None:
        body = json.loads(failure_body("jr_1", datetime.now(UTC) - timedelta(hours=1)))
        aws.send(json.dumps({**body, "detail": {**body["detail"], **changed}}))
        assert aws.poll()["batchItemFailures"] == []
        assert (aws.runs(), aws.in_queue(), aws.dead_letters()) == ([], (0, 0), [])

    def test_files_during_a_run_wait_as_one_message_and_start_the_next(self, aws: Aws, log_lines: LogLines) -> None:
        aws.put()
        aws.poll()
        aws.put()
        aws.put()
        aws.put()
        log_lines()
        assert len(aws.poll()["batchItemFailures"]) == 1
        assert aws.in_queue() == (0, 1)
        (line,) = log_lines()
        assert (line["outcome"], line["wait_seconds"], line["run_id"]) == ("waiting", 30, aws.runs()[0].job_run_id)
        assert (line["files"], line["covered"]) == (3, 0)
        aws.time_comes()
        aws.poll()
        assert log_lines()[0]["wait_seconds"] == 50
        aws.run_ends("SUCCEEDED")
        aws.time_comes()
        assert aws.poll() == {"batchItemFailures": []}
        assert len(aws.runs()) == 2
        assert aws.in_queue() == (0, 0)

    @pytest.mark.parametrize("state", ["RUNNING", "SUCCEEDED"])
    def test_file_from_before_a_run_is_done(self, aws: Aws, state: str, log_lines: LogLines) -> None:
        aws.put()
        aws.poll()
        aws.run_ends(state)
        aws.send(s3_body(s3_record(at=datetime.now(UTC) - timedelta(minutes=5))))
        log_lines()
        assert aws.poll() == {"batchItemFailures": []}
        assert len(aws.runs()) == 1
        assert (log_lines()[0]["outcome"], aws.in_queue()) == ("covered", (0, 0))

    @pytest.mark.parametrize("state", ["FAILED", "TIMEOUT", "STOPPED", "ERROR"])
    def test_run_that_came_to_nothing_counts_for_nothing(self, aws: Aws, state: str) -> None:
        aws.put()
        aws.poll()
        aws.run_ends(state)
        aws.send(s3_body(s3_record(at=datetime.now(UTC) - timedelta(minutes=5))))
        aws.poll()
        assert len(aws.runs()) == 2

    def test_run_of_one_table_is_waited_for_and_does_not_count(self, aws: Aws, log_lines: LogLines) -> None:
        aws.glue.start_job_run(JobName=JOB, Arguments={"--table": "public.orders"})
        aws.send(s3_body(s3_record(at=datetime.now(UTC) - timedelta(minutes=5))))
        log_lines()
        assert len(aws.poll()["batchItemFailures"]) == 1
        (line,) = log_lines()
        assert (line["level"], line["outcome"]) == ("INFO", "waiting")
        assert "ConcurrentRunsExceeded" in line["error"]
        aws.run_ends("SUCCEEDED")
        aws.time_comes()
        aws.poll()
        assert len(aws.runs()) == 2

    def test_missing_job_keeps_the_message_and_says_what_to_do(self, aws: Aws, log_lines: LogLines) -> None:
        aws.glue.delete_job(JobName=JOB)
        aws.put()
        log_lines()
        assert len(aws.poll()["batchItemFailures"]) == 1
        (line,) = log_lines()
        assert (line["level"], line["outcome"]) == ("ERROR", "failed")
        assert "EntityNotFound" in line["error"]
        assert "apply Terraform" in line["advice"]
        aws.create_job()
        aws.time_comes()
        assert aws.poll() == {"batchItemFailures": []}
        assert len(aws.runs()) == 1

    def test_wake_up_starts_a_run_and_only_when_none_began_since(self, aws: Aws) -> None:
        def wake_up(at: datetime) -> None:
            aws.send(json.dumps({"source": "aws.events", "detail-type": "Scheduled Event", "time": at.isoformat(), "detail": {}}))
            aws.poll()

        wake_up(datetime.now(UTC))
        aws.run_ends("SUCCEEDED")
        wake_up(datetime.now(UTC) - timedelta(minutes=5))
        assert len(aws.runs()) == 1

    def test_unreadable_message_is_dead_lettered_at_once_and_stops_no_other(self, aws: Aws, log_lines: LogLines) -> None:
        aws.send("secret {")
        aws.put()
        log_lines()
        assert aws.poll() == {"batchItemFailures": []}
        assert len(aws.runs()) == 1
        (letter,) = aws.dead_letters()
        assert letter["Body"] == "secret {"
        assert letter["MessageAttributes"]["reason"]["StringValue"].startswith("not JSON")
        lines = log_lines()
        assert (lines[0]["level"], lines[0]["event"]) == ("ERROR", "dead_lettered")
        assert "by hand" in lines[0]["advice"]
        assert "secret" not in json.dumps(lines)

    def test_unreadable_message_stays_when_it_cannot_be_moved(self, aws: Aws, log_lines: LogLines) -> None:
        aws.sqs.delete_queue(QueueUrl=aws.dead)
        aws.send("secret {")
        log_lines()
        assert len(aws.poll()["batchItemFailures"]) == 1
        assert aws.in_queue() == (0, 1)
        assert (log_lines()[0]["level"], len(aws.runs())) == ("ERROR", 0)
