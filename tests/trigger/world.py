"""A world in which the real trigger works: S3, a queue that delivers at least once, Glue and its runs, and a clock that nobody reads right.

Everything AWS may do to the protocol happens here on command: late, repeated and shuffled messages, functions that run at once or die
at any point, Glue answers that lag behind, refuse or fail, runs of other kinds, and runs whose last listing comes long before their end.
"""

import contextlib
import io
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from botocore.exceptions import ClientError, ReadTimeoutError

from decision import SLACK
from events import Bronze
from handler import Trigger
from settings import Settings
from support.notifications import CONFIG_URI, NOON, failure_body, message, s3_body, s3_record

ALL = {"--command": "run", "--config": CONFIG_URI}
VISIBILITY_TIMEOUT = 420
MAX_RECEIVES = 1000
RETENTION = timedelta(days=14).total_seconds()
FOREVER = float("inf")
NO_ANSWER = "no answer"
"""In place of an error's code: Glue did what it was asked for, but the answer never came."""


class KilledError(Exception):
    """The function died: nothing it wanted to answer reaches Lambda."""


@dataclass(frozen=True)
class Plan:
    """What becomes of a run: seconds until it begins, from there to the last listing of each table, from there to its end."""

    boots: int = 30
    lists: tuple[int, int] = (5, 20)
    merges: int = 30
    ends: str = "SUCCEEDED"


@dataclass
class GlueRun:
    id: str
    asked_at: float
    arguments: dict[str, str]
    plan: Plan
    stopped_at: float = FOREVER

    @property
    def begins_at(self) -> float:
        return self.asked_at + self.plan.boots

    @property
    def ends_at(self) -> float:
        return min(self.begins_at + max(self.plan.lists) + self.plan.merges, self.stopped_at)

    @property
    def does_all(self) -> bool:
        return self.arguments == ALL and self.plan.ends == "SUCCEEDED" and self.stopped_at == FOREVER

    def state(self, now: float) -> str:
        if now >= self.ends_at:
            return self.plan.ends if self.stopped_at == FOREVER else "STOPPED"
        return "RUNNING" if now >= self.begins_at else "STARTING"

    def sees(self, table: int, created: float) -> bool:
        """Whether the last listing of the table comes after the file."""
        return self.does_all and self.begins_at + self.plan.lists[table] >= created


@dataclass
class Letter:
    """A message in the queue."""

    id: str
    body: str
    told: float
    sent_at: float
    visible_at: float
    receives: int = 0
    done: bool = False


@dataclass
class Visit:
    """What happens around one call of the function: before it asks Glue, before it starts a run, and before it answers."""

    happens: tuple[tuple[Callable[[], None], ...], ...] = ((), (), ())
    dies: int | None = None
    errors: tuple[str | None, str | None] = (None, None)
    lag: int = 0
    newest: float = 0
    known: int = 0
    """How many runs there were when it asked Glue: one that has come and gone since then can stop nobody."""


@dataclass
class World:
    """Two tables; ``skews`` are the errors of the clocks of S3 and Glue, in seconds."""

    skews: tuple[int, int] = (0, 0)
    started_on_tells_the_begin: bool = False
    healthy: bool = True
    gap: int = 0
    now: float = 0
    files: list[tuple[int, float]] = field(default_factory=list)
    letters: list[Letter] = field(default_factory=list)
    waiting: list[Letter] = field(default_factory=list)
    runs: list[GlueRun] = field(default_factory=list)
    dead: list[Letter] = field(default_factory=list)
    plan: Plan = field(default_factory=Plan)
    visits: list[Visit] = field(default_factory=list)
    tells_failures: bool = True
    told_failures: set[str] = field(default_factory=set)

    def settings(self) -> Settings:
        bronze = Bronze("bronze", "dms/shop/")
        return Settings("shop-merge", CONFIG_URI, bronze, "https://queue", "https://dead", gap=timedelta(minutes=self.gap))

    # S3

    def write(self, table: int, delay: int = 0, copies: int = 1) -> None:
        """A file is new; S3 tells so after a while, perhaps twice."""
        self.files.append((table, self.now))
        told = self.now + self.skews[0]
        body = s3_body(s3_record(f"dms/shop/public/t{table}/20260314-{len(self.files):09d}.csv", NOON + timedelta(seconds=told)))
        for _ in range(copies):
            self.send(body, told, delay)

    def wake_up(self) -> None:
        """The scheduled event."""
        time = (NOON + timedelta(seconds=self.now)).isoformat()
        self.send(f'{{"source": "aws.events", "detail-type": "Scheduled Event", "time": "{time}", "detail": {{}}}}', self.now)

    def tell_failures(self) -> None:
        """Glue's events of runs that have failed meanwhile; a run that somebody stopped has none."""
        for run in self.runs:
            if run.id not in self.told_failures and run.state(self.now) == "FAILED":
                self.told_failures.add(run.id)
                if not self.tells_failures:
                    continue
                self.send(failure_body(run.id, NOON + timedelta(seconds=run.ends_at)), run.ends_at)

    # SQS

    def send(self, body: str, told: float, delay: float = 0) -> None:
        letter = Letter(f"m-{len(self.letters)}", body, told, self.now, self.now + delay)
        self.letters.append(letter)
        self.waiting.append(letter)

    def receive(self, chosen: list[Letter]) -> list[dict[str, Any]]:
        records = []
        for letter in chosen:
            letter.receives += 1
            if letter.receives > MAX_RECEIVES or self.now - letter.sent_at > RETENTION:
                letter.done = True
                self.dead.append(letter)
                self.waiting.remove(letter)
                continue
            letter.visible_at = self.now + VISIBILITY_TIMEOUT
            records.append(message(letter.body, letter.id, letter.receives))
        return records

    def change_message_visibility(self, *, QueueUrl: str, ReceiptHandle: str, VisibilityTimeout: int) -> None:
        self.letters[int(ReceiptHandle.split("-")[2])].visible_at = self.now + VisibilityTimeout

    def send_message(self, **_: object) -> None:
        raise AssertionError("there are no unreadable messages in this world")

    # Lambda

    def deliver(self, visit: Visit | None = None, limit: int = 1000, *, newest_first: bool = False, again: bool = False) -> None:
        """Call the function with messages that are visible, and, if ``again``, one that should not be: SQS may do that."""
        self.tell_failures()
        chosen = [letter for letter in self.waiting if letter.visible_at <= self.now]
        chosen = (chosen[::-1] if newest_first else chosen)[:limit]
        if again and self.letters:
            chosen += [letter for letter in self.letters[:1] if letter not in chosen]
        records = self.receive(chosen)
        if not records:
            return
        self.visits.append(visit or Visit())
        self.visits[-1].newest = max(letter.told for letter in chosen)
        try:
            with contextlib.redirect_stdout(io.StringIO()):
                answer = Trigger(self, self, self.settings(), clock=lambda: NOON + timedelta(seconds=self.now)).handle(records)
            self.passes(2)
        except KilledError:
            return
        finally:
            self.visits.pop()
        kept = {item["itemIdentifier"] for item in answer["batchItemFailures"]}
        for letter in chosen:
            letter.done = letter.done or letter.id not in kept
        self.waiting = [letter for letter in self.waiting if not letter.done]

    def passes(self, stage: int) -> None:
        """Let happen what was to happen around this call of the function."""
        visit = self.visits[-1]
        for happens in visit.happens[stage]:
            happens()
        if visit.dies == stage:
            raise KilledError
        code = visit.errors[stage] if stage < 2 else None
        if code is not None and code != NO_ANSWER:
            raise ClientError({"Error": {"Code": code, "Message": "as wished"}}, "Glue")

    # Glue

    def get_job_runs(self, *, JobName: str, MaxResults: int) -> dict[str, Any]:
        then = self.now - self.visits[-1].lag
        self.visits[-1].known = len(self.runs)
        known = [run for run in self.runs if run.asked_at <= then]
        answer = {"JobRuns": [self._describe(run, then) for run in reversed(known)][:MaxResults]}
        self.passes(0)
        if self.visits[-1].errors[0] == NO_ANSWER:
            raise ReadTimeoutError(endpoint_url="https://glue")
        return answer

    def _describe(self, run: GlueRun, then: float) -> dict[str, Any]:
        described: dict[str, Any] = {"Id": run.id, "JobRunState": run.state(then), "Arguments": run.arguments}
        if not self.started_on_tells_the_begin:
            described["StartedOn"] = NOON + timedelta(seconds=run.asked_at + self.skews[1])
        elif run.begins_at <= then:
            described["StartedOn"] = NOON + timedelta(seconds=run.begins_at + self.skews[1])
        return described

    def start_job_run(self, *, JobName: str, Arguments: dict[str, str], JobRunQueuingEnabled: bool) -> dict[str, Any]:
        assert not JobRunQueuingEnabled
        self.passes(1)
        if any(run.ends_at > self.now for run in self.runs):
            raise ClientError({"Error": {"Code": "ConcurrentRunsExceededException", "Message": ""}}, "StartJobRun")
        self._check_that_it_is_asked_for()
        run = self.run(Arguments)
        if self.visits[-1].errors[1] == NO_ANSWER:
            raise ReadTimeoutError(endpoint_url="https://glue")
        return {"JobRunId": run.id}

    def run(self, arguments: dict[str, str]) -> GlueRun:
        run = GlueRun(f"jr_{len(self.runs)}", self.now, arguments, self.plan)
        self.runs.append(run)
        return run

    def run_by_others(self, arguments: dict[str, str]) -> None:
        """Somebody else wants a run. Glue's own triggers leave a failed one behind when it is refused."""
        refused = any(run.ends_at > self.now for run in self.runs)
        run = self.run(arguments)
        if refused:
            run.plan = Plan(0, (0, 0), 0, "FAILED")

    def _check_that_it_is_asked_for(self) -> None:
        """Economy: something in this batch is newer than the beginning of the last run that did everything."""
        before = [run for run in self.runs[: self.visits[-1].known] if run.does_all]
        if before:
            began = before[-1].begins_at if self.started_on_tells_the_begin else before[-1].asked_at
            assert self.visits[-1].newest > began + self.skews[1] - SLACK.total_seconds(), "a run that nothing asked for"

    # What must come true

    def lost(self) -> list[tuple[int, float]]:
        """Files that no listing saw. A run that fails in the end does not count as having listed."""
        return [(table, created) for table, created in self.files if not any(run.sees(table, created) for run in self.runs)]

    def settle(self) -> None:
        """Let time pass, without new files and faults, until the queue is empty and all runs are over."""
        while self.waiting:
            self.now = max(self.now, min(letter.visible_at for letter in self.waiting))
            self.deliver()
            if not self.waiting:
                self.now = max([self.now, *(run.ends_at for run in self.runs)])
                self.tell_failures()
        self.now = max([self.now, *(run.ends_at for run in self.runs)])
        if self.told_failures != {run.id for run in self.runs if run.state(self.now) == "FAILED"}:
            self.tell_failures()
            self.settle()
