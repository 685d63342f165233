"""What the snapshots of a branch record about the content that is being built there."""

from collections.abc import Mapping

from dms_iceberg.progress.progress import PROGRESS_KEY
from dms_iceberg.silver.memory.withheld import WITHHELD_PROPERTY, Withheld
from dms_iceberg.silver.table import TargetTable


def branch_summary(target: TargetTable, branch: str) -> Mapping[str, str]:
    """Return the summary of a branch's newest batch, which records what the content must remember; empty before the first batch.

    Snapshots that only resolve rejected rows, or apply a truncate, record the progress alone.
    """
    newest: Mapping[str, str] = {}
    for one in target.lineage(branch):
        if WITHHELD_PROPERTY in one.summary:
            return one.summary
        if PROGRESS_KEY in one.summary:
            newest = newest or one.summary
        elif one.summary.get("total-records") == "0":
            # At this snapshot the branch was emptied: those before it are main's.
            break
    return newest


def withheld_by(target: TargetTable, branch: str) -> dict[str, str]:
    """Return the table property `WITHHELD_PROPERTY` for the content of a branch; empty without batches of this version."""
    built = Withheld.from_properties(branch_summary(target, branch))
    return {WITHHELD_PROPERTY: built.to_text()} if built is not None else {}
