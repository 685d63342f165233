"""`dms-iceberg watch` as a process: told by an SQS queue, through an outage, until SIGTERM."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dms_iceberg.config.load import load_config
from dms_iceberg.watch.queue import NotificationQueue
from support.cloud import BRONZE, Cloud, open_cloud
from support.fault_proxy import Fault, Rule

PATIENCE = 180


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    with open_cloud(tmp_path_factory.mktemp("watch")) as cloud:
        yield cloud


def notified(cloud: Cloud) -> str:
    """A queue that bronze notifies."""
    queue = cloud.client("sqs").create_queue(QueueName="watch")["QueueUrl"]
    notification = {"QueueArn": "arn:aws:sqs:us-east-1:123456789012:watch", "Events": ["s3:ObjectCreated:*"]}
    configuration = {"QueueConfigurations": [notification]}
    cloud.client("s3").put_bucket_notification_configuration(Bucket=BRONZE, NotificationConfiguration=configuration)
    return str(queue)


class WatchProcess:
    def __init__(self, process: "subprocess.Popen[bytes]", log: Path) -> None:
        self.process, self._log = process, log

    def lines(self, event: str | None) -> list[dict[str, object]]:
        """What it logged of one kind."""
        texts = [text for text in self._log.read_text().splitlines() if text.startswith("{")]
        return [line for text in texts if (line := json.loads(text)).get("event") == event]

    def reports(self) -> list[dict[str, object]]:
        """What it said that is no event."""
        return self.lines(None)

    def until(self, seen: Callable[[], object]) -> None:
        deadline = time.monotonic() + PATIENCE
        while not seen():
            assert self.process.poll() is None, self._log.read_text()[-4000:]
            assert time.monotonic() < deadline, self._log.read_text()[-4000:]
            time.sleep(0.1)

    def merged(self) -> int:
        """Rows of all batches."""
        return sum(int(str(line["rows_read"])) for line in self.lines("batch_merged"))


@contextmanager
def watch(cloud: Cloud, document: Path, *options: str) -> Iterator[WatchProcess]:
    path = cloud.folder / "watch.log"
    command = [sys.executable, "-m", "dms_iceberg.cli.app", "watch", str(document), *options]
    environment = {**os.environ, **cloud.environment, "DMS_ICEBERG_DRIVER_MEMORY": "1g"}
    with path.open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, env=environment, start_new_session=True)
    try:
        yield WatchProcess(process, path)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.mark.long
def test_a_queue_spares_the_listings_an_outage_passes_and_sigterm_leaves_nothing_half_done(cloud: Cloud) -> None:
    document = cloud.document("shop", ["t", "u"])
    url = notified(cloud)
    cloud.load("shop", "t", [1, 2, 3])
    with watch(cloud, document, "--queue", url, "--interval", "200ms", "--json") as job:
        job.until(lambda: job.merged() == 3)
        # What was told of before is looked at, and then there is nothing to ask for.
        job.until(lambda: cloud.proxy.count("ReceiveMessage", "") >= 2)
        time.sleep(1)
        cloud.proxy.plan()
        time.sleep(3)
        assert cloud.proxy.count("ListObjectsV2", "") == 0
        assert cloud.proxy.count("GetTable", "") == 0

        cloud.load("shop", "u", [1, 2])
        job.until(lambda: job.merged() == 5)
        cloud.proxy.plan(Rule(Fault.SERVER_ERROR, "S3", times=None), Rule(Fault.SLOW_DOWN, "Glue", times=None))
        cloud.changes("shop", "t", 1, [("U", 1, "new"), ("D", 2, None)])
        job.until(lambda: job.lines("table_failed"))
        cloud.proxy.plan()
        job.until(lambda: job.merged() == 7)
        job.until(lambda: job.lines("table_recovered"))

        job.process.send_signal(signal.SIGTERM)
        assert job.process.wait(PATIENCE) == 0
        (report,) = job.reports()
        assert set(report) >= {"run_id", "seconds"}, "the alarm on a pipeline without runs counts these lines"
        assert report["failed"] == []
    assert cloud.rows("shop", "t") == [(1, "new"), (3, "row 3")]
    assert cloud.rows("shop", "u") == [(1, "row 1"), (2, "row 2")]
    assert cloud.books("shop", "t") == [3, 2]


def test_tables_are_looked_at_while_the_queue_does_not_answer(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dms_iceberg.watch.queue._WAIT_SECONDS", 0)
    document = load_config(str(cloud.document("silent", ["t"])))
    made = cloud.client("sqs").create_queue(QueueName="gone")["QueueUrl"]
    queue = NotificationQueue(made, document)
    assert queue.receive() == set()
    cloud.client("sqs").delete_queue(QueueUrl=made)
    assert queue.receive() is None


def test_a_queue_is_asked_in_its_own_region(cloud: Cloud) -> None:
    url = "https://sqs.eu-central-1.amazonaws.com/123456789012/news"
    queue = NotificationQueue(url, load_config(str(cloud.document("region", ["t"]))))
    assert queue._client.meta.region_name == "eu-central-1"


@pytest.mark.parametrize(
    ("body", "tables"),
    [
        ({"Records": [{"s3": {"bucket": {"name": BRONZE}, "object": {"key": "forms/public/t/a+b%3D.parquet"}}}]}, {"public.t"}),
        ({"Records": [{"s3": {"bucket": {"name": "another"}, "object": {"key": "forms/public/t/a.parquet"}}}]}, set()),
        ({"Records": [{"s3": {"bucket": {"name": BRONZE}, "object": {"key": "forms/public/unknown/a.parquet"}}}]}, set()),
        ({"Records": [{"s3": {"bucket": {"name": BRONZE}, "object": {"key": "forms/public"}}}]}, set()),
        ({"Records": [{"s3": {"bucket": {"name": BRONZE}, "object": {"key": "forms/_load_complete/public/t.json"}}}]}, {"public.t"}),
        ({"Records": [{"s3": {"bucket": {"name": BRONZE}, "object": {"key": "forms/_load_complete/public/x.json"}}}]}, set()),
        ({"Event": "s3:TestEvent"}, set()),
        ({"detail": {"bucket": {"name": BRONZE}, "object": {"key": "forms/public/t/a b.parquet"}}}, {"public.t"}),
        ({"Type": "Notification", "Message": '{"Records": []}'}, set()),
        ({"Type": "Notification"}, None),
        ({"Records": [{}]}, None),
        ([], None),
        ("text", None),
    ],
)
def test_forms_of_a_message(cloud: Cloud, body: object, tables: set[str] | None) -> None:
    queue = NotificationQueue("unused", load_config(str(cloud.document("forms", ["t"]))))
    assert queue.tables_of(json.dumps(body)) == tables
