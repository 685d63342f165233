"""Named points of a batch at which a test may kill the process, to prove that no kill loses or doubles a change."""

import os
import signal
import threading

POINTS = (
    "after-listing",
    "after-inspect",
    "after-create",
    "before-backfill",
    "after-backfill",
    "after-evolve",
    "after-collapse",
    "before-quarantine",
    "after-quarantine",
    "before-merge",
    "before-publish",
    "after-commit",
    "before-state",
    "before-switch",
    "after-switch",
    "after-truncate-recorded",
    "before-resolve",
    "after-resolve",
    "within-take-over",
)
_VARIABLE = "DMS_ICEBERG_KILL_AT"
_arrived: set[str] = set()
_arrival = threading.Lock()


def failpoint(point: str, table: str = "") -> None:
    """Kill this process with SIGKILL when ``DMS_ICEBERG_KILL_AT`` names ``point`` or ``point@table``; else do nothing.

    The variable may name several, separated by commas. A thread that reaches one waits there, and the last to arrive kills the process: one
    kill meets many tables at as many points.

    Args:
        point: one of `POINTS`.
        table: the source table, or the target where only that is known; within a takeover the table that was just taken over.
    """
    wanted = os.environ.get(_VARIABLE)
    if not wanted:
        return
    names = set(wanted.split(","))
    here = names & {point, f"{point}@{table}"}
    if not here:
        return
    with _arrival:
        _arrived.update(here)
        complete = _arrived >= names
    if complete:
        os.kill(os.getpid(), signal.SIGKILL)
    threading.Event().wait()
