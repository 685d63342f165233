"""Named points of a batch at which a test may kill the process, to prove that no moment loses or doubles a change."""

import os
import signal

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
    "after-property-copy",
    "before-state",
)
_VARIABLE = "DMS_ICEBERG_KILL_AT"


def reach(point: str, table: str = "") -> None:
    """Kill this process with SIGKILL when ``DMS_ICEBERG_KILL_AT`` names ``point`` or ``point@table``; else do nothing."""
    wanted = os.environ.get(_VARIABLE)
    if wanted and wanted in (point, f"{point}@{table}"):
        os.kill(os.getpid(), signal.SIGKILL)
