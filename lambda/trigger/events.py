"""What a message in the queue says: whether change files are new in bronze, and since when.

Read are the notifications of S3, plain or in the envelope of SNS, and the events of EventBridge: `Object Created`, and `Scheduled Event`
as a wake-up. Which keys are change files follows the job's key grammar (``dms_iceberg.staging.keys``); a test compares the two.
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote_plus

_EXTENSION = r"\.(?:parquet|csv|csv\.gz|json|json\.gz|jsonl|jsonl\.gz)"
_CHANGE_FILE = re.compile(r"(?:(?:SEGMENT\d+_)?LOAD[0-9A-F]{8}|\d{8}-\d{9})" + _EXTENSION)
_DMS_FOLDER = "awsdms_"
"""Beginning of the folders of DMS's control tables, which lie beside the tables' or below a control schema."""


class UnreadableMessageError(ValueError):
    """A message that nobody can read, however often it is tried. Its text never quotes the message."""


@dataclass(frozen=True, slots=True)
class Bronze:
    """Where the change files of this pipeline lie: a bucket, and a folder in it with its trailing slash, or "" for all."""

    bucket: str
    prefix: str

    def holds(self, bucket: str, key: str) -> bool:
        """Say whether an object is a change file of this pipeline: ``<prefix><schema>/<table>/[folders/]<a name DMS gives>``."""
        if bucket != self.bucket or not key.startswith(self.prefix):
            return False
        *folders, name = key.removeprefix(self.prefix).split("/")
        if len(folders) < 2 or any(folder.startswith(_DMS_FOLDER) for folder in folders):
            return False
        return _CHANGE_FILE.fullmatch(name) is not None


@dataclass(frozen=True, slots=True)
class News:
    """What one message says.

    Attributes:
        newest: when the newest change file came to be, or the wake-up was due; None when there is nothing to merge.
    """

    files: int
    ignored: int
    newest: datetime | None


def read_message(body: str, bronze: Bronze) -> News:
    """Return what a message's body says.

    Raises:
        UnreadableMessageError: it has none of the known forms.
    """
    document = _load(body)
    if document.get("Type") == "Notification" and isinstance(document.get("Message"), str):
        document = _load(document["Message"])
    try:
        return _read(document, bronze)
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UnreadableMessageError(f"not a notification of S3, SNS or EventBridge: {type(error).__name__} while it was read") from error


def _load(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadableMessageError("not JSON, or nested too deeply") from error
    if not isinstance(document, dict):
        raise UnreadableMessageError(f"not a JSON object but {type(document).__name__}")
    return document


def _read(document: dict[str, Any], bronze: Bronze) -> News:
    if document.get("Event") == "s3:TestEvent":  # S3 sends one whenever the notification is configured.
        return News(0, 0, None)
    if "Records" in document:
        return _news([_of_record(record) for record in document["Records"]], bronze)
    kind = (document["source"], document["detail-type"])
    if kind == ("aws.events", "Scheduled Event"):
        return News(0, 0, _time(document["time"]))
    if kind == ("aws.s3", "Object Created"):
        detail = document["detail"]  # EventBridge, unlike S3 itself, does not encode the key.
        return _news([(detail["bucket"]["name"], detail["object"]["key"], _time(document["time"]))], bronze)
    if document["source"] == "aws.s3":
        return News(0, 1, None)
    raise ValueError


def _of_record(record: dict[str, Any]) -> tuple[str, str, datetime] | None:
    """Return bucket, key and time of a new object; None for other events of S3."""
    if not record["eventName"].startswith("ObjectCreated:"):
        return None
    s3 = record["s3"]
    return s3["bucket"]["name"], unquote_plus(s3["object"]["key"]), _time(record["eventTime"])


def _news(objects: Iterable[tuple[str, str, datetime] | None], bronze: Bronze) -> News:
    found = list(objects)
    times = [one[2] for one in found if one is not None and bronze.holds(one[0], one[1])]
    return News(len(times), len(found) - len(times), max(times, default=None))


def _time(text: str) -> datetime:
    time = datetime.fromisoformat(text)
    return time if time.tzinfo else time.replace(tzinfo=UTC)
