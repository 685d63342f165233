"""Notifications of new files from an SQS queue that S3 notifies, so that idle tables need no listing.

A message only says that a table is worth a look: new files are found by listing from the frontier, as always. So messages may be lost,
duplicated or out of order. They are deleted as soon as they are read, because the next watch begins with a look at every table.
"""

import json
import re
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote_plus, urlparse

import boto3
import structlog
from botocore.config import Config as ClientConfig

from dms_iceberg.bronze.keys import table_prefix
from dms_iceberg.config.model import Config
from dms_iceberg.loads.load_marker import marker_key
from dms_iceberg.spark.failures import describe

_LOG = structlog.get_logger("dms_iceberg")
_WAIT_SECONDS = 5
_URL = re.compile(r"https://sqs(?:-fips)?\.(?P<region>[a-z0-9-]+)\.")
_MOST_MESSAGES = 10
_CLIENT_SETTINGS = ClientConfig(connect_timeout=5, read_timeout=_WAIT_SECONDS + 10, retries={"mode": "standard", "total_max_attempts": 2})


class NotificationQueue:
    """A queue of ``ObjectCreated`` notifications: of S3 itself, through SNS, or from EventBridge.

    Args:
        url: URL of the queue. Only one watch may use it: a message that another consumer receives is not seen here.
        config: the configuration with the bronze that the files are in.
    """

    def __init__(self, url: str, config: Config) -> None:
        self._url = url
        # Use the region in the queue's URL: not every machine has a default region.
        place = _URL.match(url)
        self._client = boto3.client("sqs", region_name=place["region"] if place else None, config=_CLIENT_SETTINGS)
        bronze = urlparse(config.bronze.uri)
        self._bucket, folder = bronze.netloc, bronze.path.strip("/")
        self._folder = f"{folder}/" if folder else ""
        self._tables = {table_prefix(table.schema_name, table.table_name): name for name, table in config.tables.items()}
        self._markers = {marker_key(table): name for name, table in config.tables.items()}

    def receive(self) -> set[str] | None:
        """Wait up to five seconds; return the tables that have new files according to the messages, None if it may be any table.

        It is None for an unreadable message, and while the queue does not answer, which is logged. The watch then looks at the tables by
        time, as without a queue.
        """
        try:
            answer = self._client.receive_message(QueueUrl=self._url, MaxNumberOfMessages=_MOST_MESSAGES, WaitTimeSeconds=_WAIT_SECONDS)
        except Exception as error:
            # Whatever the error is, the watch must still look for files.
            self._failed("receive", error)
            time.sleep(_WAIT_SECONDS)
            return None
        messages = answer.get("Messages", [])
        named = [self.tables_of(message["Body"]) for message in messages]
        if messages:
            self._delete([message["ReceiptHandle"] for message in messages])
        return None if None in named else {name for names in named for name in names or ()}

    def peek(self) -> str:
        """Look at one message, which stays in the queue; return whether there is one. Raises what boto3 raises."""
        answer = self._client.receive_message(QueueUrl=self._url, MaxNumberOfMessages=1, WaitTimeSeconds=0, VisibilityTimeout=0)
        return f"{self._url}: answers, {'a message is' if answer.get('Messages') else 'no message was'} there"

    def _delete(self, handles: list[str]) -> None:
        entries = [{"Id": str(number), "ReceiptHandle": handle} for number, handle in enumerate(handles)]
        try:
            self._client.delete_message_batch(QueueUrl=self._url, Entries=entries)
        except Exception as error:
            # The messages come again, which does no harm.
            self._failed("delete", error)

    def _failed(self, what: str, error: Exception) -> None:
        _LOG.error("queue_failed", queue=self._url, operation=what, error=describe(error))

    def tables_of(self, body: str) -> set[str] | None:
        """Return the configured tables with files in a message, None if the message cannot be read."""
        try:
            document = json.loads(body)
            if document.get("Type") == "Notification":
                document = json.loads(document["Message"])
            return {name for bucket, key in _objects(document) if (name := self._table_of(bucket, key))}
        except (AttributeError, KeyError, TypeError, ValueError, RecursionError):
            return None

    def _table_of(self, bucket: str, key: str) -> str | None:
        if bucket != self._bucket or not key.startswith(self._folder):
            return None
        below = key.removeprefix(self._folder)
        if marked := self._markers.get(below):
            return marked
        parts = below.split("/", 2)
        return self._tables.get(table_prefix(parts[0], parts[1])) if len(parts) == 3 else None


def _objects(document: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield bucket and key of the objects in a notification; S3's test event has none."""
    if document.get("Event") == "s3:TestEvent":
        return
    if "Records" not in document:  # EventBridge, which does not URL-encode the key.
        yield document["detail"]["bucket"]["name"], document["detail"]["object"]["key"]
        return
    for record in document["Records"]:
        yield record["s3"]["bucket"]["name"], unquote_plus(record["s3"]["object"]["key"])
