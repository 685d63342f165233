"""How a serverless replication gets to run, or to stand still: pure functions over what DMS and bronze say. ADR 17 has the argument.

States are those of https://docs.aws.amazon.com/dms/latest/userguide/CHAP_Serverless.Components.html in the spelling of the API, kinds of a
start those of https://docs.aws.amazon.com/dms/latest/APIReference/API_StartReplication.html. `reload-target` is none of them here: an epoch
has one full load.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from decision import wait_seconds
from loads import LOADED, Replication

START, RESUME, STOP = "start-replication", "resume-processing", "stop"
WAIT, DONE, REFUSE = "wait", "done", "refuse"

_RUNS = "running"
ABSENT = "absent"
"""Said here of a replication that DMS does not list."""
_NEW = frozenset({"created", "ready"})
_RESTS = frozenset({*_NEW, "stopped", "failed", "deprovisioned"})
_GOING = "deleting"

NEXT_EPOCH = (
    "Set load_epoch to the next number and apply: a new replication then loads everything into a new folder. Nothing in this folder is "
    "written again."
)
_REPLACED = (
    "This replication has never run, but the folder of its load epoch holds files: Terraform has replaced the replication that wrote "
    "them, and its place in the source is lost. To start this one would load everything over files that may be merged. " + NEXT_EPOCH
)
_NOT_RESUMED = "DMS cannot resume a replication of type full-load, and a second load would write over the files of the first. " + NEXT_EPOCH
_LOAD_INTERRUPTED = (
    "Its first load was not complete when it stopped, as far as DMS says: see load_statistics (FullLoadFinishDate is missing, or "
    "tables are loading or queued), and each table in output commands.tables. DMS resumes no table that is loaded in part, so a "
    "resumed replication would leave rows out. "
    + NEXT_EPOCH
    + " Only if every table there is completed, resume it by hand: output commands.resume."
)
DELETE_FIRST = (
    " DMS has taken its capacity away, and Terraform can neither change nor delete it in this state: run output commands.delete before "
    "that apply."
)

LONGEST_CHANGE = timedelta(hours=2)
"""Time after which a state that should pass is an error, where no receives are counted."""
LONGEST_ABSENCE = 8
"""Receives, ten minutes in all: a replacement takes less."""
AFTER_A_REFUSAL = 3600
_FAILURES_WAIT_LONGER = 5
_AFTER_AN_APPLY = timedelta(minutes=1)
"""Allowed difference of the clocks of DMS and of this function."""
STANDS_STILL_AFTER = timedelta(minutes=30)
"""A change of settings stops a replication for some minutes."""


@dataclass(frozen=True, slots=True)
class Step:
    """What to do now: a kind of start, ``STOP``, ``WAIT`` for DMS, nothing any more, or refuse to start, with what a person can do."""

    does: str
    advice: str = ""


def rests(replication: Replication) -> bool:
    """Whether it does nothing, and will do nothing by itself."""
    return replication.status in _RESTS


def is_new(replication: Replication) -> bool:
    """Whether DMS says that it was never started. One that has stopped was: perhaps by a person."""
    return replication.status in _NEW and not replication.has_run and replication.stopped_at is None


def next_step(replication: Replication, *, wanted: bool, has_files: bool) -> Step:
    """Return the next step towards a replication that runs, or does not.

    Args:
        replication: as DMS describes it now.
        wanted: whether it should run.
        has_files: whether the folder of its load epoch holds a change file, or a marker of a complete load.
    """
    if replication.status == _GOING:
        return Step(DONE)
    if replication.status == ABSENT:
        return Step(WAIT if wanted else DONE)
    if replication.status == _RUNS:
        return Step(DONE if wanted else STOP)
    if not rests(replication):
        return Step(WAIT)
    return _step_from_rest(replication, has_files=has_files) if wanted else Step(DONE)


def _step_from_rest(replication: Replication, *, has_files: bool) -> Step:
    if replication.type == "full-load" and replication.stop_reason in LOADED:
        return Step(DONE)
    if not replication.has_run and not has_files:
        return Step(START)
    if not replication.has_run and replication.status in _NEW:
        return Step(REFUSE, _REPLACED)
    if replication.type == "full-load":
        return _refuse(_NOT_RESUMED, replication)
    if replication.type != "cdc" and not replication.load.is_over:
        return _refuse(_LOAD_INTERRUPTED, replication)
    return Step(RESUME)


def _refuse(advice: str, replication: Replication) -> Step:
    return Step(REFUSE, advice + (DELETE_FIRST if replication.status == "deprovisioned" else ""))


def has_failed(replication: Replication) -> bool:
    """Whether it ended by itself and badly."""
    return replication.status == "failed" or (rests(replication) and replication.stop_reason in ("FATAL_ERROR", "RECOVERABLE_ERROR"))


def pause(step: Step, replication: Replication, receives: int) -> int:
    """Return how many seconds to wait after a step for the next look; 0 if it was the last. More with each receive, and after a failure."""
    if step.does == DONE:
        return 0
    if step.does == REFUSE:
        return AFTER_A_REFUSAL
    return wait_seconds(receives) * (_FAILURES_WAIT_LONGER if has_failed(replication) else 1)


def is_missed(receives: int) -> bool:
    """Whether a replication that DMS does not list has been missing for longer than Terraform takes to make another one."""
    return receives >= LONGEST_ABSENCE


def is_stuck(replication: Replication, now: datetime) -> bool:
    """Whether DMS has left it for long in a state that should pass."""
    passes = not rests(replication) and replication.status not in (_RUNS, ABSENT)
    return passes and replication.updated_at is not None and now - replication.updated_at > LONGEST_CHANGE


def is_stopped_by_hand(replication: Replication, wanted_at: datetime) -> bool:
    """Whether a person has stopped it since an apply wanted it to run. Terraform's own stop, for a change, comes before its message."""
    if not rests(replication) or replication.stop_reason != "NORMAL" or replication.stopped_at is None:
        return False
    return replication.stopped_at - wanted_at > _AFTER_AN_APPLY


def stands_still(replication: Replication, step: Step, now: datetime) -> bool:
    """Whether a replication that should run has done nothing for longer than a change of settings takes."""
    since = replication.stopped_at
    return step.does in (START, RESUME, REFUSE) and (since is None or now - since > STANDS_STILL_AFTER)
