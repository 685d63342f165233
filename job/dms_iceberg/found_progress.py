"""Finding a table's progress among its snapshots: pure, over what the table's metadata tells of them."""

from collections.abc import Iterable, Mapping
from typing import Any

from dms_iceberg.errors import TargetError
from dms_iceberg.progress import PROGRESS_KEY, Progress


def find_progress(lineage: Iterable[Mapping[str, str]], copy: Mapping[str, Any] | None, known_ids: Iterable[str]) -> Progress:
    """Return the progress of the table's current content.

    Args:
        lineage: for main's head and its ancestors, as far as anything tells of them, newest first: summary plus ``parent-id``.
        copy: the table property's copy (`{"snapshot": id, "progress": text}`), or None.
        known_ids: ids of all snapshots in the table's metadata, ancestors or not.

    The first carrier among the ancestors counts, never simply the newest snapshot: after a rollback that one is off the line. The
    property's copy counts only where the line of ancestors is cut by expiry before a carrier: at the copy's own snapshot; or elsewhere, if
    that one was not merely rolled back (it would then still be among the known ones).

    Raises:
        TargetError: the line is cut and the copy does not count, so nothing tells what the content holds.
    """
    parent = ""
    for summary in lineage:
        if PROGRESS_KEY in summary:
            return Progress.from_json(summary[PROGRESS_KEY])
        parent = summary.get("parent-id", "")
        if copy is not None and parent == str(copy["snapshot"]):
            return Progress.from_json(copy["progress"])
    if not parent:
        return Progress()
    if copy is not None and str(copy["snapshot"]) not in set(known_ids):
        return Progress.from_json(copy["progress"])
    raise TargetError(
        "the snapshots that carry the table's progress have expired, and its copy in the table properties belongs to a snapshot that "
        "was rolled back: which files the content holds is not known, and merging them again unseen could bring deleted rows back. Roll "
        "the table back to a snapshot whose summary has dms-iceberg.progress, or load it into a new target."
    )
