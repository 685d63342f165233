"""Wait, start, or covered: pure functions over what Glue reports about the job's runs. ADR 6 has the argument."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

SLACK = timedelta(seconds=10)
"""Allowed difference of the clocks of S3 and Glue. EventBridge has whole seconds only, which takes one of the ten."""

_ACTIVE = frozenset({"STARTING", "RUNNING", "STOPPING", "WAITING"})
_MERGES = frozenset({"STARTING", "RUNNING", "SUCCEEDED"})
"""States of runs that merge, or have merged, the files that existed when they began. Runs in other states may never have listed a file:
a run that Glue refused because another one was active is FAILED, and a queued run may become FAILED."""

FAILURES = frozenset({"FAILED", "TIMEOUT", "ERROR"})
"""States of runs that ended by themselves and badly. STOPPED is not one: a person stopped it."""
_FIRST_PAUSE, _LONGEST_PAUSE = timedelta(minutes=5), timedelta(hours=6)

_MERGING_COMMANDS = ("run", "watch")
"""A watch begins with a look at every table, as a run does."""

_LASTING = "Nothing to do unless it goes on: then look at the AWS Health Dashboard."
_THROTTLED = "Nothing to do unless it goes on: then another client of Glue in this account calls too often."
_PASSING = {
    "ResourceNumberLimitExceededException": "An account quota is reached: wait, or have Glue's quotas of runs and DPUs raised.",
    "OperationTimeoutException": _LASTING,
    "InternalServiceException": _LASTING,
    "InternalFailure": _LASTING,
    "ServiceUnavailable": _LASTING,
    "ThrottlingException": _THROTTLED,
    "Throttling": _THROTTLED,
    "TooManyRequestsException": _THROTTLED,
}
_LASTS = {
    "EntityNotFoundException": "The job named by JOB_NAME is not in this account and Region: apply Terraform again, or correct the name.",
    "AccessDeniedException": "Allow the function's role glue:StartJobRun and glue:GetJobRuns on the job named by JOB_NAME.",
    "InvalidInputException": "Glue refuses the job's settings or arguments: compare the error with the job's definition.",
}
_ASKING_PASSES = frozenset({"SlowDown", "InternalError", "RequestTimeout", "ConditionalRequestConflict", "KMSThrottlingFault"})
"""Error codes of DMS and S3, in addition to those that Glue has as well."""
_ASKING_LASTS = (
    "Allow the function's role to describe the replication named by REPLICATION_ARN and its tables, and s3:PutObject on _load_complete/ in "
    "bronze with the use of its key. Until then run the job with --load-complete for tables without changes."
)
_UNKNOWN = "An error that this function does not know: correct the cause it names. The message stays in the queue and is tried again."

_LONGEST_PASSING = 25
"""Receives, two hours in all, after which what should pass is an error. AWS names up to an hour for a start of a replication."""
_FIRST_WAIT, _WAIT_STEP, _LONGEST_WAIT = 30, 20, 900


@dataclass(frozen=True, slots=True)
class Run:
    """A run of the Glue job, as far as this decision needs it.

    Attributes:
        started_on: None while Glue does not report it.
        ended_on: None while Glue does not report it.
        merges_all: whether it merges all tables of this pipeline, not only some, and not another command.
    """

    id: str
    state: str
    started_on: datetime | None
    merges_all: bool
    ended_on: datetime | None = None

    @property
    def is_active(self) -> bool:
        """Whether it has not ended yet."""
        return self.state in _ACTIVE

    def covers(self, existed_at: datetime) -> bool:
        """Whether it sees a file that existed at that time.

        It lists files after it began, so a beginning after the file is proof. An active run proves nothing: its last listing may be over.
        """
        return self.merges_all and self.state in _MERGES and self.started_on is not None and self.started_on - SLACK >= existed_at


def merges_all(arguments: Mapping[str, str], config_uri: str) -> bool:
    """Whether a run with these arguments merges all tables of the document, as with the job's own defaults."""
    return (
        arguments.get("--command", "run") in _MERGING_COMMANDS
        and arguments.get("--config", config_uri) == config_uri
        and not any(name == "--table" or name.startswith("--table=") for name in arguments)
    )


def is_covered(existed_at: datetime, runs: Iterable[Run]) -> bool:
    """Whether some run sees a file that existed at that time."""
    return any(run.covers(existed_at) for run in runs)


def active_run(runs: Iterable[Run]) -> Run | None:
    """Return a run whose end is a reason to look again. Runs that merge other things do not prevent a start: Glue decides."""
    return next((run for run in runs if run.merges_all and run.is_active), None)


def rest(runs: Iterable[Run], gap: timedelta, now: datetime) -> timedelta:
    """Return how long the next run has to wait, so that no two begin within ``gap`` of each other; zero or less if it need not."""
    began = [run.started_on for run in runs if run.merges_all and run.started_on is not None]
    return max(began) + gap - now if began else timedelta(0)


def is_followed(failed: str, at: datetime, runs: Iterable[Run]) -> bool:
    """Whether another run has begun after a run failed, or is active: if it fails as well, its own failure asks for the next.

    Args:
        failed: id of the run that failed.
        at: when it failed.
        runs: those of the job.
    """
    others = [run for run in runs if run.merges_all and run.id != failed]
    return any(run.is_active or (run.started_on is not None and run.started_on + SLACK >= at) for run in others)


def pause(runs: Iterable[Run]) -> timedelta:
    """Return how long a job is left alone after a failure: five minutes, and twice as long for each failure before it, up to six hours.

    Args:
        runs: those of the job, the newest first. Failures are counted back to the last run that succeeded.
    """
    failures = 0
    for run in runs:
        if run.merges_all and run.state == "SUCCEEDED":
            break
        failures += run.merges_all and run.state in FAILURES
    doubled: int = 2 ** min(max(failures - 1, 0), 16)
    return min(_FIRST_PAUSE * doubled, _LONGEST_PAUSE)


def lasts_too_long(receives: int) -> bool:
    """Whether a state or an error that should pass has not."""
    return receives >= _LONGEST_PASSING


def pause_left(runs: Sequence[Run], now: datetime) -> timedelta:
    """Return how long a job is left alone still, if the last of its runs, the newest first, failed; zero or less if it need not be."""
    last = next((run for run in runs if run.merges_all), None)
    if last is None or last.state not in FAILURES or last.ended_on is None:
        return timedelta(0)
    return min(last.ended_on, now) + pause(runs) - now


@dataclass(frozen=True, slots=True)
class Judgement:
    """The meaning of an error of Glue: ``waiting`` if it passes by itself, ``failed`` if it needs a person. Both keep the message."""

    level: str
    outcome: str
    advice: str

    def level_after(self, receives: int) -> str:
        """Return the level after so many receives of the message: what should have passed and has not needs a person as well."""
        return "ERROR" if self.level == "WARNING" and lasts_too_long(receives) else self.level


PAUSES = Judgement("INFO", "waiting", "Nothing to do: the last run failed, the next begins after a pause. Correct what that run reports.")
RESTS = Judgement("INFO", "waiting", "Nothing to do: the next run begins min_minutes_between_runs after the last one.")


def judge(code: str) -> Judgement:
    """Return the meaning of an error code."""
    if code == "ConcurrentRunsExceededException":
        return Judgement("INFO", "waiting", "Nothing to do: another run is active, and the message waits for its end.")
    if code in _PASSING:
        return Judgement("WARNING", "waiting", _PASSING[code])
    return Judgement("ERROR", "failed", _LASTS.get(code, _UNKNOWN))


def judge_asking(code: str) -> Judgement:
    """Return the meaning of an error of DMS or S3 while loads are recorded; ``ignored`` if there is nothing to ask."""
    if code == "ResourceNotFoundFault":
        return Judgement("WARNING", "ignored", "There is no replication of the name REPLICATION_ARN. If that lasts, apply Terraform again.")
    if code in _PASSING or code in _ASKING_PASSES:
        return Judgement("WARNING", "waiting", _LASTING)
    return Judgement("ERROR", "failed", _ASKING_LASTS)


def wait_seconds(receives: int) -> int:
    """Return how many seconds a message stays hidden when it must wait after its n-th receive.

    Few at first, as most runs are short; 15 minutes in the end, so that the queue's 1000 receives last longer than a run may (7 days).
    """
    return min(_FIRST_WAIT + _WAIT_STEP * (max(receives, 1) - 1), _LONGEST_WAIT)
