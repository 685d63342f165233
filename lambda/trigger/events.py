"""What a message in the queue says: whether there are new change files in bronze, and since when.

It reads the notifications of S3, plain or in the envelope of SNS, and the events of EventBridge: `Object Created`, `Scheduled Event` as a
wake-up, DMS's state changes, Glue's of a run that failed, and what this function tells itself after an apply. The job's key grammar
determines which keys are change files (``dms_iceberg.bronze.keys``); a test compares the two.

It reads only source, detail-type and resources of a DMS event. `resources` has the ARN of a task, according to
https://docs.aws.amazon.com/dms/latest/userguide/CHAP_EventBridge.html; the detail-type of serverless replications is in
https://docs.aws.amazon.com/eventbridge/latest/ref/events-ref-dms.html, which does not document the content of their events. The reason
for a stop comes from DMS itself (`completion`).
"""

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote_plus

from decision import FAILURES
from loads import MARKER_FOLDER

_EXTENSION = r"\.(?:parquet|csv|csv\.gz|json|json\.gz|jsonl|jsonl\.gz)"
_CHANGE_FILE = re.compile(r"(?:(?:SEGMENT\d+_)?LOAD[0-9A-F]{8}|\d{8}-\d{9})" + _EXTENSION)
_DMS_FOLDER = "awsdms_"
"""Prefix of the folders of DMS's control tables, which are beside the tables' folders or below a control schema."""
REPORTING_TABLES = frozenset({"awsdms_suspended_tables", "awsdms_apply_exceptions", "awsdms_validation_failures_v1"})
"""Control tables in which DMS writes what it has not done: a table that it left out, a row, a difference. The task goes on meanwhile.
https://docs.aws.amazon.com/dms/latest/userguide/CHAP_Tasks.CustomizingTasks.TaskSettings.ControlTable.html"""
_EPOCH = re.compile(r"(?:^|/)epoch-(\d{1,9})/$")
_STATE_CHANGES = frozenset({"DMS Replication Task State Change", "DMS Replication State Change"})
"""For tasks, and for serverless replications."""
_RUN_STATE = "Glue Job State Change"
OWN_SOURCE = "dms-iceberg"
APPLIED, REPLICATION_WANTED = "Applied", "Replication Wanted"
"""Messages of this function to itself: Terraform has applied something, so a run is due; the replication may not be as it wants it."""


class UnreadableMessageError(ValueError):
    """A message that can never be read. Its text never quotes the message."""


@dataclass(frozen=True, slots=True)
class Bronze:
    """Where the change files of this pipeline are: a bucket, and a folder in it with its trailing slash, or "" for the whole bucket."""

    bucket: str
    prefix: str

    def holds(self, bucket: str, key: str) -> bool:
        """Whether an object is a change file of this pipeline: ``<prefix><schema>/<table>/[folders/]<a name DMS gives>``."""
        if bucket != self.bucket or not key.startswith(self.prefix):
            return False
        *folders, name = key.removeprefix(self.prefix).split("/")
        if len(folders) < 2 or any(folder.startswith(_DMS_FOLDER) for folder in folders):
            return False
        return _CHANGE_FILE.fullmatch(name) is not None

    def holds_marker(self, bucket: str, key: str) -> bool:
        """Whether an object is a marker, which shows the job that a table's full load is complete."""
        parts = key.removeprefix(self.prefix + MARKER_FOLDER).split("/")
        is_below = bucket == self.bucket and key.startswith(self.prefix + MARKER_FOLDER)
        return is_below and len(parts) == 2 and parts[1].endswith(".json")

    def reports(self, bucket: str, key: str) -> bool:
        """Whether an object is a file of one of `REPORTING_TABLES`."""
        if bucket != self.bucket or not key.startswith(self.prefix):
            return False
        *folders, name = key.removeprefix(self.prefix).split("/")
        return not REPORTING_TABLES.isdisjoint(folders) and _CHANGE_FILE.fullmatch(name) is not None

    @property
    def epoch(self) -> int | None:
        """Number of the full load that the files belong to; None for a folder without one."""
        found = _EPOCH.search(self.prefix)
        return int(found[1]) if found else None


@dataclass(frozen=True, slots=True)
class Failure:
    """A run of the job that ended badly: its id, and when."""

    run_id: str
    at: datetime


@dataclass(frozen=True, slots=True)
class News:
    """The content of one message.

    Attributes:
        newest: when the newest change file was created, or the wake-up was due; None if there is nothing to merge.
        of_replication: whether the replication has changed its state.
        reports: keys of new files in which DMS reports what it has not done.
        failure: the run that failed; None without one.
        is_clock: whether it is a wake-up by the clock.
        wanted_at: when Terraform asked for the replication in the state that it wants; None if it did not.
    """

    files: int
    ignored: int
    newest: datetime | None
    of_replication: bool = False
    reports: tuple[str, ...] = ()
    failure: Failure | None = None
    is_clock: bool = False
    wanted_at: datetime | None = None


def read_message(body: str, bronze: Bronze, replication_arn: str = "", job_name: str = "") -> News:
    """Return the content of a message's body; ``replication_arn`` and ``job_name`` are those of this pipeline, "" for none.

    Raises:
        UnreadableMessageError: the body has none of the known forms.
    """
    document = _load(body)
    if document.get("Type") == "Notification" and isinstance(document.get("Message"), str):
        document = _load(document["Message"])
    try:
        return _read(document, bronze, replication_arn, job_name)
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


def _read(document: dict[str, Any], bronze: Bronze, replication_arn: str, job_name: str) -> News:
    if document.get("Event") == "s3:TestEvent":  # S3 sends one whenever the notification is configured.
        return News(0, 0, None)
    if "Records" in document:
        return _news([_of_record(record) for record in document["Records"]], bronze)
    kind = (document["source"], document["detail-type"])
    if kind == ("aws.events", "Scheduled Event"):
        return News(0, 0, _time(document["time"]), is_clock=True)
    if kind == (OWN_SOURCE, APPLIED):
        return News(0, 0, _time(document["time"]))
    if kind == (OWN_SOURCE, REPLICATION_WANTED):
        return News(0, 0, None, wanted_at=_time(document["time"]))
    if kind == ("aws.s3", "Object Created"):
        detail = document["detail"]  # EventBridge, unlike S3 itself, does not URL-encode the key.
        return _news([(detail["bucket"]["name"], detail["object"]["key"], _time(document["time"]))], bronze)
    if document["source"] == "aws.dms":
        return _of_replication(document, replication_arn)
    if kind == ("aws.glue", _RUN_STATE):
        return _of_run(document, job_name)
    if document["source"] == "aws.s3":
        return News(0, 1, None)
    raise ValueError


def _of_replication(document: dict[str, Any], arn: str) -> News:
    resources = document["resources"]
    if not isinstance(resources, list):
        raise TypeError
    is_ours = bool(arn) and arn in resources and document["detail-type"] in _STATE_CHANGES
    return News(0, 0, None, of_replication=True) if is_ours else News(0, 1, None)


def _of_run(document: dict[str, Any], job_name: str) -> News:
    """Read https://docs.aws.amazon.com/glue/latest/dg/automating-awsglue-with-cloudwatch-events.html."""
    detail = document["detail"]
    if not job_name or detail["jobName"] != job_name or detail["state"] not in FAILURES:
        return News(0, 1, None)
    return News(0, 0, None, failure=Failure(str(detail["jobRunId"]), _time(document["time"])))


def _of_record(record: dict[str, Any]) -> tuple[str, str, datetime] | None:
    """Return bucket, key and time of a new object; None for other events of S3."""
    if not record["eventName"].startswith("ObjectCreated:"):
        return None
    s3 = record["s3"]
    return s3["bucket"]["name"], unquote_plus(s3["object"]["key"]), _time(record["eventTime"])


def _news(objects: Iterable[tuple[str, str, datetime] | None], bronze: Bronze) -> News:
    found = list(objects)
    times = [one[2] for one in found if one is not None and (bronze.holds(*one[:2]) or bronze.holds_marker(*one[:2]))]
    reports = tuple(one[1] for one in found if one is not None and bronze.reports(*one[:2]))
    return News(len(times), len(found) - len(times), max(times, default=None), reports=reports)


def _time(text: str) -> datetime:
    time = datetime.fromisoformat(text)
    return time if time.tzinfo else time.replace(tzinfo=UTC)
