"""Keep, wait, cancel or start: a pure function over what EMR Serverless reports of the application and of its watches."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

REST = timedelta(minutes=3)
"""How long an application that was stopped is left alone: Terraform stops it to change it, and a run would start it again."""
_FIRST_PAUSE, _LONGEST_PAUSE = timedelta(minutes=5), timedelta(hours=1)

ENDED = frozenset({"SUCCESS", "FAILED", "CANCELLED"})
"""States of runs that have ended. One of a state that is not known here counts as active: beside it no second watch may start."""


@dataclass(frozen=True, slots=True)
class Run:
    """A run of the watch.

    Attributes:
        version: the hash of all that it was started with; empty where it carries none.
        changed_at: when its state was last changed; of a run that has ended, when it ended.
        created_at: when it was asked for; None where that is not known.
        attempt: which of EMR Serverless's own attempts this is, from 1.
    """

    id: str
    state: str
    version: str
    changed_at: datetime
    attempt: int = 1
    created_at: datetime | None = None

    @property
    def is_active(self) -> bool:
        """Whether it has not ended."""
        return self.state not in ENDED

    @property
    def is_short(self) -> bool:
        """Whether it ended almost at once, however: a watch goes on until it is cancelled."""
        return not self.is_active and self.created_at is not None and self.changed_at - self.created_at < _FIRST_PAUSE


@dataclass(frozen=True, slots=True)
class Application:
    """The application, as far as the decision needs it."""

    id: str
    state: str
    changed_at: datetime


@dataclass(frozen=True, slots=True)
class Decision:
    """What to do: ``keep``, ``wait``, ``cancel`` (the runs named) or ``start``, and why."""

    action: str
    why: str
    cancelled: tuple[str, ...] = ()


def decide(runs: Sequence[Run], application: Application, version: str, now: datetime, *, applied: bool) -> Decision:
    """Return what brings about exactly one watch of this version, and never two.

    Args:
        runs: those of the watch, the newest first.
        application: what they run on.
        version: the hash of all that a watch is to be started with.
        now: the present time.
        applied: whether Terraform asks, at the end of an apply. It has changed the application if it wanted to.
    """
    active = [run for run in runs if run.is_active]
    if any(run.state == "CANCELLING" for run in active):
        return Decision("wait", "a watch is being cancelled")
    if active and active[0].version != version:
        return Decision("cancel", "it was started with other code, configuration or settings", tuple(run.id for run in active))
    if len(active) > 1:
        return Decision("cancel", "there are several; the newest goes on", tuple(run.id for run in active[1:]))
    if active:
        return Decision("keep", "the watch is active")
    if application.state == "STOPPING":
        return Decision("wait", "the application is being stopped")
    if application.state == "STOPPED" and now < application.changed_at + REST and not applied:
        return Decision("wait", "the application was stopped a moment ago, perhaps for a change by Terraform")
    failed = failures(runs)
    # What failed before the code or the configuration was changed may succeed now.
    if failed and runs[0].version == version and now < runs[0].changed_at + pause(failed):
        return Decision("wait", f"the last {failed} runs failed; the next begins {pause(failed)} after the last of them")
    # Not after an apply: it may have cancelled the last one itself, for a change of the application.
    if runs and runs[0].is_short and runs[0].version == version and now < runs[0].changed_at + _FIRST_PAUSE and not applied:
        return Decision("wait", f"the last run ended at once ({runs[0].state}); the next begins {_FIRST_PAUSE} after it")
    return Decision("start", "no watch is active")


def failures(runs: Sequence[Run]) -> int:
    """Return how many of the last runs failed in a row."""
    found = 0
    for run in runs:
        if run.state != "FAILED":
            break
        found += 1
    return found


def pause(failed: int) -> timedelta:
    """Return how long the watch is left alone after so many failures in a row: five minutes, and twice as long each time, up to an hour."""
    doubled: int = 2 ** min(max(failed - 1, 0), 8)
    return min(_FIRST_PAUSE * doubled, _LONGEST_PAUSE)


def token(application_id: str, newest: str) -> str:
    """Return the idempotency token of a start: one for each newest run that was seen.

    Two functions that look at once see the same runs, as do those that see a list which is behind. EMR Serverless then starts one run for
    both, or refuses the second if it asks for something else.
    """
    return hashlib.sha256(f"{application_id}/{newest}".encode()).hexdigest()
