"""S3 -> SQS -> this function -> one run of the merge job per burst of change files.

README.md beside this file has the infrastructure that it needs, docs/adr/0006-one-run-per-burst.md why nothing is lost.
It also records which full loads are complete (`completion`), and starts the replication after an apply (`starter`).
"""

import os
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from math import ceil
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from batch import Answer, Batch, Message
from changes_queue import ChangesQueue, receives, sent_at
from clients import Glue, Sqs, code_of
from completion import LoadWatch, Noted
from decision import (
    PAUSES,
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
    pause_left,
    rest,
    wait_seconds,
)
from events import Failure, UnreadableMessageError, read_message
from logs import log
from settings import Settings
from starter import Starter

_RUNS_LOOKED_AT = 50
"""Glue lists the newest runs first. A missing one can only cost an unnecessary run, never a file."""
_REPORTED = (
    "DMS goes on, but has left out a table or a row, or found a difference: read the file. A suspended table gets no more changes: correct "
    "the cause, then load it again."
)
_NOT_READ = "DMS or S3 gave an answer that this function cannot read. Report the error; until then run the job with --load-complete."
_TABLES_NAMED = 50
"""Maximum in one log line."""
_TRIES, _SECONDS_BETWEEN_TRIES = 5, 8
"""Of messages after an apply: IAM knows a role's new rights only after seconds, and the function has 60."""


def _now() -> datetime:
    return datetime.now(UTC)


def handler(event: Mapping[str, Any], _context: object) -> dict[str, Any]:
    """Answer one batch of SQS messages, or what Terraform calls the function with after an apply. Lambda calls this.

    Raises:
        ValueError: the event is neither of the two.
        RuntimeError: the messages that follow an apply could not be sent, so the apply must fail.
    """
    if "Records" in event:
        return trigger().handle(event["Records"])
    if "applied" in event:
        return {"sent": trigger().applied(run=bool(event.get("run", True)), replication=bool(event.get("replication", True)))}
    raise ValueError(
        f"unknown event with the keys {sorted(event)}. Allowed: Records of SQS, or applied as the Terraform module trigger sends it"
    )


@cache
def trigger() -> "Trigger":
    """Return the trigger of this process, whose clients are reused from event to event."""
    # Few and short tries: the queue tries again, and the function has 60 s.
    config = Config(connect_timeout=3, read_timeout=10, retries={"mode": "standard", "total_max_attempts": 2})
    settings = Settings.from_environment(os.environ)
    glue, sqs = boto3.client("glue", config=config), boto3.client("sqs", config=config)
    if not settings.replication_arn:
        return Trigger(glue, sqs, settings)
    # A run must not wait for requests to DMS and S3.
    quick = Config(connect_timeout=2, read_timeout=5, retries={"mode": "standard", "total_max_attempts": 2})
    dms, s3 = boto3.client("dms", config=quick), boto3.client("s3", config=quick)
    starter = Starter(dms, s3, settings, _now) if settings.start is not None else None
    # The job gives a folder without an epoch the number 0.
    loads = LoadWatch(dms, s3, settings.bronze, settings.bronze.epoch or 0, settings.replication_arn)
    return Trigger(glue, sqs, settings, loads, starter)


class Trigger:
    """Starts runs for messages. All state between two batches is in the queue and in Glue."""

    def __init__(
        self,
        glue: Glue,
        sqs: Sqs,
        settings: Settings,
        loads: LoadWatch | None = None,
        starter: Starter | None = None,
        clock: Callable[[], datetime] = _now,
    ) -> None:
        self._glue = glue
        self._queue = ChangesQueue(sqs, settings)
        self._settings = settings
        self._loads = loads
        self._starter = starter
        self._clock = clock

    def applied(self, *, run: bool, replication: bool = True, sleep: Callable[[float], None] = time.sleep) -> list[str]:
        """Send the messages that follow an apply to the queue; return their kinds.

        Args:
            run: whether a run is asked for.
            replication: whether the replication is to be brought to the state that Terraform wants.
            sleep: waits for so many seconds.

        Raises:
            RuntimeError: they could not be sent.
        """
        for left in reversed(range(_TRIES)):
            try:
                kinds = self._queue.send_after_apply(run=run, replication=replication, now=self._clock())
            except (ClientError, BotoCoreError) as error:
                if not left:
                    what = f"no message to {self._settings.queue_url}: {error}"
                    raise RuntimeError(f"{what}. Allow the function's role sqs:SendMessage on that queue, and apply again") from error
                sleep(_SECONDS_BETWEEN_TRIES)
            else:
                break
        log("INFO", "applied", outcome="sent", sent=kinds)
        return kinds

    def handle(self, records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Answer a batch: Lambda deletes the messages that the answer does not name."""
        read = self._read(records)
        messages, kept = read.messages, read.kept
        if read.failed:
            due, waiting = self._due_again(read.failed)
            messages, kept = messages + due, kept + waiting
        answer = self._ask_for_run(messages) if messages else Answer("INFO", "ignored")
        if answer.waiting is not None:
            kept.append(answer.waiting.id)
        # Only now: a run must not wait for DMS. A message of DMS is done with the markers: each is an object in bronze, whose notification
        # asks for a run that begins after it.
        if read.states and not self._note_loads():
            kept += [self._queue.hide_for_a_while(record) for record in read.states]
        if read.starts:
            kept += self._start_replication(read.starts)
        elif read.has_clock and self._starter is not None:
            self._starter.look()
        counts = {"messages": len(records), "files": read.files, "ignored": read.ignored}
        log(answer.level, "batch", outcome=answer.outcome, **counts, **answer.facts)
        return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in kept]}

    def _read(self, records: Sequence[Mapping[str, Any]]) -> Batch:
        batch, settings = Batch(), self._settings
        for record in records:
            try:
                news = read_message(record["body"], settings.bronze, settings.replication_arn, settings.job_name)
            except UnreadableMessageError as error:
                if not self._queue.set_aside(record, str(error)):
                    batch.kept.append(record["messageId"])
                continue
            batch.files += news.files
            batch.ignored += news.ignored
            batch.has_clock |= news.is_clock
            if news.wanted_at is not None:
                batch.starts.append((record, news.wanted_at))
            for key in news.reports:
                log("ERROR", "reported_by_dms", key=key, advice=_REPORTED)
            if news.of_replication:
                batch.states.append(record)
            if news.failure is not None:
                batch.failed.append((record, news.failure))
            if news.newest is not None:
                batch.messages.append(_message(record, news.newest, is_clock=news.is_clock))
        return batch

    def _start_replication(self, starts: Sequence[tuple[Mapping[str, Any], datetime]]) -> list[str]:
        """Bring the replication to the state that is wanted; return the id of the message that comes again for the rest.

        They all ask for the same. The newest goes on, which a new apply lets wait least.
        """
        newest, _ = min(starts, key=lambda start: receives(start[0]))
        wanted_at = max(at for _, at in starts)
        seconds = self._starter.go_on(receives(newest), wanted_at) if self._starter is not None else 0
        return [self._queue.hide_for(newest, seconds)] if seconds else []

    def _due_again(self, failed: Sequence[tuple[Mapping[str, Any], Failure]]) -> tuple[list[Message], list[str]]:
        """Return messages about failed runs that ask for the next one now, and the ids of those that wait; others are done."""
        due, waiting = list[Message](), list[str]()
        try:
            runs = self._runs()
        except (ClientError, BotoCoreError) as error:
            why = judge(code_of(error))
            level = why.level_after(max(receives(record) for record, _ in failed))
            log(level, "failures", outcome=why.outcome, error=str(error), advice=why.advice)
            return due, [self._queue.hide_for_a_while(record) for record, _ in failed]
        now = self._clock()
        others = {run.id for run in runs if not run.merges_all}
        for record, failure in failed:
            # Of an event that is dated in the future SQS's time counts: no message may wait for years.
            at = failure.at if failure.at <= now else min(sent_at(record), now)
            left = at + pause(runs) - now
            if failure.run_id in others or is_followed(failure.run_id, at, runs):
                continue
            if left > timedelta(0):
                self._queue.hide(record["messageId"], record["receiptHandle"], ceil(left.total_seconds()))
                waiting.append(record["messageId"])
                log("INFO", "failures", outcome="waiting", run_id=failure.run_id, wait_seconds=ceil(left.total_seconds()))
            else:
                due.append(_message(record, at, is_failure=True))
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
            # New files may be what the job needs; the clock alone would start one that fails again and again.
            left_of_pause = pause_left(runs, self._clock()) if all(message.is_clock for message in left) else timedelta(0)
            if left_of_pause > timedelta(0):
                return self._wait(left, PAUSES, facts, ceil(left_of_pause.total_seconds()))
            # Before the run, so that it sees the markers. A load that goes over into changes ends without an event.
            self._note_loads()
            return Answer("INFO", "started", facts | {"run_id": self._start()})
        except (ClientError, BotoCoreError) as error:
            return self._wait(left, judge(code_of(error)), facts | {"error": str(error)})

    def _wait(self, left: list[Message], why: Judgement, facts: Mapping[str, Any], seconds: int | None = None) -> Answer:
        """Keep the newest message and hide it for a while. A run that covers it covers the other messages, so they are deleted.

        A message about a failed run is dropped in favour of those of files: it is deleted as soon as another run is active.
        """
        newest = max(left, key=lambda message: (not message.is_failure, message.newest, -message.receives))
        seconds = wait_seconds(newest.receives) if seconds is None else seconds
        self._queue.hide(newest.id, newest.receipt_handle, seconds)
        waiting = {"wait_seconds": seconds, "receives": newest.receives, "message_id": newest.id, "advice": why.advice}
        return Answer(why.level_after(newest.receives), why.outcome, {**facts, **waiting}, newest)

    def _note_loads(self) -> bool:
        """Record which full loads are complete; return False if DMS or S3 should be asked again soon. An error stops nothing else."""
        try:
            noted = self._loads.note() if self._loads is not None else Noted()
        except (ClientError, BotoCoreError) as error:
            why = judge_asking(code_of(error))
            log(why.level, "loads", outcome=why.outcome, error=str(error), advice=why.advice)
            return why.outcome == "ignored"
        except Exception as error:
            log("ERROR", "loads", outcome="failed", error=f"{type(error).__name__}: {error}", advice=_NOT_READ)
            return False
        if noted.tables:
            shown = {"tables": noted.tables[:_TABLES_NAMED], "status": noted.status, "known": noted.known, "unfinished": noted.unfinished}
            log("INFO", "loads", outcome="noted", written=len(noted.tables), **shown)
        return not noted.ask_again

    def _runs(self) -> list[Run]:
        answer = self._glue.get_job_runs(JobName=self._settings.job_name, MaxResults=_RUNS_LOOKED_AT)
        config = self._settings.config_uri
        return [
            Run(run["Id"], run["JobRunState"], run.get("StartedOn"), merges_all(run.get("Arguments", {}), config), run.get("CompletedOn"))
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


def _message(record: Mapping[str, Any], newest: datetime, *, is_failure: bool = False, is_clock: bool = False) -> Message:
    return Message(record["messageId"], record["receiptHandle"], receives(record), newest, is_failure, is_clock)
