"""S3 -> SQS -> this function -> one run of the merge job per burst of change files.

README.md beside this file has the infrastructure that it needs, docs/adr/0006-one-run-per-burst.md why nothing is lost.
It also records which full loads are complete (`completion`).
"""

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from math import ceil
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from clients import Glue, Sqs
from completion import LoadWatch, Noted
from decision import (
    RESTS,
    Judgement,
    Run,
    active_run,
    is_covered,
    is_followed,
    judge,
    judge_asking,
    merges_all,
    pause,
    rest,
    wait_seconds,
)
from events import Failure, UnreadableMessageError, read_message
from settings import Settings

_RUNS_LOOKED_AT = 50
"""Glue lists the newest runs first. A missing one can only cost an unnecessary run, never a file."""
_REPORTED = (
    "DMS goes on, but has left out a table or a row, or found a difference: read the file. A suspended table gets no more changes: correct "
    "the cause, then load it again."
)
_TABLES_NAMED = 50
"""Maximum in one log line."""


@dataclass(frozen=True, slots=True)
class Message:
    """A message that asks for a run; its files exist since ``newest``, or a run failed then (``is_failure``)."""

    id: str
    receipt_handle: str
    receives: int
    newest: datetime
    is_failure: bool = False


@dataclass(frozen=True, slots=True)
class Answer:
    """The answer to the messages that ask for a run: the fields of a log line, and the message that waits."""

    level: str
    outcome: str
    facts: Mapping[str, Any] = field(default_factory=dict)
    waiting: Message | None = None


@dataclass(slots=True)
class Batch:
    """What a batch of messages says.

    Attributes:
        messages: those that ask for a run.
        states: records about the replication's state.
        failed: records about runs that failed.
        kept: ids of messages that stay in the queue.
        files: number of change files.
        ignored: number of other objects and events.
    """

    messages: list[Message] = field(default_factory=list)
    states: list[Mapping[str, Any]] = field(default_factory=list)
    failed: list[tuple[Mapping[str, Any], Failure]] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    files: int = 0
    ignored: int = 0


def _now() -> datetime:
    return datetime.now(UTC)


def handler(event: Mapping[str, Any], _context: object) -> dict[str, Any]:
    """Answer one batch of SQS messages. Lambda calls this."""
    return trigger().handle(event["Records"])


@cache
def trigger() -> "Trigger":
    """Return the trigger of this process, whose clients are reused from event to event."""
    # Few and short tries: the queue tries again, and the function has 60 s.
    config = Config(connect_timeout=3, read_timeout=10, retries={"mode": "standard", "total_max_attempts": 2})
    settings = Settings.from_environment(os.environ)
    glue, sqs = boto3.client("glue", config=config), boto3.client("sqs", config=config)
    epoch = settings.bronze.epoch
    if not settings.replication_arn or epoch is None:
        return Trigger(glue, sqs, settings)
    # A run must not wait for requests to DMS and S3.
    quick = Config(connect_timeout=2, read_timeout=5, retries={"mode": "standard", "total_max_attempts": 2})
    dms, s3 = boto3.client("dms", config=quick), boto3.client("s3", config=quick)
    return Trigger(glue, sqs, settings, LoadWatch(dms, s3, settings.bronze, epoch, settings.replication_arn))


class Trigger:
    """Starts runs for messages. All state between two batches is in the queue and in Glue."""

    def __init__(
        self, glue: Glue, sqs: Sqs, settings: Settings, loads: LoadWatch | None = None, clock: Callable[[], datetime] = _now
    ) -> None:
        self._glue = glue
        self._sqs = sqs
        self._settings = settings
        self._loads = loads
        self._clock = clock

    def handle(self, records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Answer a batch: Lambda deletes the messages that the answer does not name."""
        read = self._read(records)
        messages, kept = read.messages, read.kept
        # A message of DMS is done with the markers: each is an object in bronze, whose notification asks for a run that begins after it.
        if read.states and not self._note_loads():
            kept += [self._hide_for_a_while(record) for record in read.states]
        if read.failed:
            due, waiting = self._due_again(read.failed)
            messages, kept = messages + due, kept + waiting
        answer = self._ask_for_run(messages) if messages else Answer("INFO", "ignored")
        if answer.waiting is not None:
            kept.append(answer.waiting.id)
        counts = {"messages": len(records), "files": read.files, "ignored": read.ignored}
        _log(answer.level, "batch", outcome=answer.outcome, **counts, **answer.facts)
        return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in kept]}

    def _read(self, records: Sequence[Mapping[str, Any]]) -> Batch:
        batch, settings = Batch(), self._settings
        for record in records:
            try:
                news = read_message(record["body"], settings.bronze, settings.replication_arn, settings.job_name)
            except UnreadableMessageError as error:
                if not self._dead_letter(record, str(error)):
                    batch.kept.append(record["messageId"])
                continue
            batch.files += news.files
            batch.ignored += news.ignored
            for key in news.reports:
                _log("ERROR", "reported_by_dms", key=key, advice=_REPORTED)
            if news.of_replication:
                batch.states.append(record)
            if news.failure is not None:
                batch.failed.append((record, news.failure))
            if news.newest is not None:
                batch.messages.append(_message(record, news.newest))
        return batch

    def _due_again(self, failed: Sequence[tuple[Mapping[str, Any], Failure]]) -> tuple[list[Message], list[str]]:
        """Return messages about failed runs that ask for the next one now, and the ids of those that wait; others are done."""
        due, waiting = list[Message](), list[str]()
        try:
            runs = self._runs()
        except (ClientError, BotoCoreError) as error:
            why = judge(_code_of(error))
            _log(why.level, "failures", outcome=why.outcome, error=str(error), advice=why.advice)
            return due, [self._hide_for_a_while(record) for record, _ in failed]
        now = self._clock()
        others = {run.id for run in runs if not run.merges_all}
        for record, failure in failed:
            left = failure.at + pause(runs) - now
            if failure.run_id in others or is_followed(failure.run_id, failure.at, runs):
                continue
            if left > timedelta(0):
                self._hide(record["messageId"], record["receiptHandle"], ceil(left.total_seconds()))
                waiting.append(record["messageId"])
                _log("INFO", "failures", outcome="waiting", run_id=failure.run_id, wait_seconds=ceil(left.total_seconds()))
            else:
                due.append(_message(record, failure.at, is_failure=True))
        return due, waiting

    def _ask_for_run(self, messages: list[Message]) -> Answer:
        """Make sure that a run begins after the files of these messages, or return the one message that waits for all."""
        if not self._settings.starts_runs:  # The watch finds files by itself. What a message still asks for is the markers.
            return Answer("INFO", "left_to_watch", {"noted": self._note_loads()})
        left = messages
        facts: dict[str, Any] = {"covered": 0}
        try:
            runs = self._runs()
            left = [message for message in messages if not is_covered(message.newest, runs)]
            facts["covered"] = len(messages) - len(left)
            if not left:
                return Answer("INFO", "covered", facts)
            active = active_run(runs)
            if active is not None:
                return self._wait(left, judge("ConcurrentRunsExceededException"), facts | {"run_id": active.id})
            left_of_rest = rest(runs, self._settings.gap, self._clock())
            if left_of_rest > timedelta(0):
                return self._wait(left, RESTS, facts, ceil(left_of_rest.total_seconds()))
            # Before the run, so that it sees the markers. A load that goes over into changes ends without an event.
            self._note_loads()
            return Answer("INFO", "started", facts | {"run_id": self._start()})
        except (ClientError, BotoCoreError) as error:
            return self._wait(left, judge(_code_of(error)), facts | {"error": str(error)})

    def _wait(self, left: list[Message], why: Judgement, facts: Mapping[str, Any], seconds: int | None = None) -> Answer:
        """Keep the newest message and hide it for a while. A run that covers it covers the other messages, so they are deleted.

        A message about a failed run gives way to those of files: it is deleted as soon as another run is active.
        """
        newest = max(left, key=lambda message: (not message.is_failure, message.newest, -message.receives))
        seconds = wait_seconds(newest.receives) if seconds is None else seconds
        self._hide(newest.id, newest.receipt_handle, seconds)
        waiting = {"wait_seconds": seconds, "receives": newest.receives, "message_id": newest.id, "advice": why.advice}
        return Answer(why.level, why.outcome, {**facts, **waiting}, newest)

    def _hide_for_a_while(self, record: Mapping[str, Any]) -> str:
        """Hide a message, longer with each receive; return its id."""
        self._hide(record["messageId"], record["receiptHandle"], wait_seconds(_receives(record)))
        return str(record["messageId"])

    def _hide(self, message_id: str, receipt_handle: str, seconds: int) -> None:
        try:
            self._sqs.change_message_visibility(QueueUrl=self._settings.queue_url, ReceiptHandle=receipt_handle, VisibilityTimeout=seconds)
        except (ClientError, BotoCoreError) as error:
            advice = "The message comes back after the queue's visibility timeout. Allow the function's role sqs:ChangeMessageVisibility."
            _log("WARNING", "visibility", message_id=message_id, error=str(error), advice=advice)

    def _note_loads(self) -> bool:
        """Record which full loads are complete; return False if DMS or S3 should be asked again soon. An error stops nothing else."""
        try:
            noted = self._loads.note() if self._loads is not None else Noted()
        except (ClientError, BotoCoreError) as error:
            why = judge_asking(_code_of(error))
            _log(why.level, "loads", outcome=why.outcome, error=str(error), advice=why.advice)
            return why.outcome == "ignored"
        if noted.tables:
            shown = {"tables": noted.tables[:_TABLES_NAMED], "status": noted.status, "known": noted.known, "unfinished": noted.unfinished}
            _log("INFO", "loads", outcome="noted", written=len(noted.tables), **shown)
        return not noted.ask_again

    def _runs(self) -> list[Run]:
        answer = self._glue.get_job_runs(JobName=self._settings.job_name, MaxResults=_RUNS_LOOKED_AT)
        config = self._settings.config_uri
        return [
            Run(run["Id"], run["JobRunState"], run.get("StartedOn"), merges_all(run.get("Arguments", {}), config))
            for run in answer["JobRuns"]
        ]

    def _start(self) -> str:
        answer = self._glue.start_job_run(
            JobName=self._settings.job_name,
            Arguments={**self._settings.run_arguments, "--config": self._settings.config_uri},
            # A queued run may fail without having run, and its messages would be lost.
            JobRunQueuingEnabled=False,
        )
        return str(answer["JobRunId"])

    def _dead_letter(self, record: Mapping[str, Any], reason: str) -> bool:
        """Move an unreadable message to the dead-letter queue at once; return False if that failed."""
        facts = {"message_id": record["messageId"], "reason": reason}
        try:
            self._sqs.send_message(
                QueueUrl=self._settings.dead_letter_queue_url,
                MessageBody=record["body"],
                MessageAttributes={"reason": {"DataType": "String", "StringValue": reason}},
            )
        except (ClientError, BotoCoreError) as error:
            advice = "The message stays in the queue. Allow the function's role sqs:SendMessage on the dead-letter queue."
            _log("ERROR", "dead_letter_failed", **facts, error=str(error), advice=advice)
            return False
        advice = "Find who sends such messages. If one named a change file, start a run of the job by hand; then delete the message."
        _log("ERROR", "dead_lettered", **facts, advice=advice)
        return True


def _code_of(error: ClientError | BotoCoreError) -> str:
    """Return the error's code; that of an outage where there was no connection, no answer in time, or no credentials."""
    return str(error.response["Error"]["Code"]) if isinstance(error, ClientError) else "ServiceUnavailable"


def _message(record: Mapping[str, Any], newest: datetime, *, is_failure: bool = False) -> Message:
    return Message(record["messageId"], record["receiptHandle"], _receives(record), newest, is_failure)


def _receives(record: Mapping[str, Any]) -> int:
    return int(record.get("attributes", {}).get("ApproximateReceiveCount", 1))


def _log(level: str, event: str, **facts: Any) -> None:
    # Not with logging: its lines are JSON only with one of Lambda's log formats.
    sys.stdout.write(json.dumps({"level": level, "event": event, **facts}) + "\n")
