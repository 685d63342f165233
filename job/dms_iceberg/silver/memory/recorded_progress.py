"""Finds a table's progress among its snapshots. Pure, over the table's metadata."""

from collections.abc import Iterable, Mapping
from typing import Any

from dms_iceberg.errors import TargetError
from dms_iceberg.progress.progress import PROGRESS_KEY, Progress
from dms_iceberg.sql.quoting import quote_path, string_literal

_ROWS = "total-records"
_NOT_KNOWN = "is not known, and merging them again unseen could double rows or bring deleted ones back. Nothing was written."


def find_progress(
    parts: tuple[str, ...], lineage: Iterable[Mapping[str, str]], copy: Mapping[str, Any] | None, known: Iterable[tuple[int, bool]]
) -> Progress:
    """Return the progress of the table's current content.

    Args:
        parts: catalog, namespace and name of the table, for messages.
        lineage: for main's head and its ancestors, as far as metadata exists, newest first: summary plus ``parent-id``.
        copy: the copy in the table property (`{"snapshot": id, "progress": text}`), or None.
        known: all snapshots in the table's metadata, ancestors or not, oldest first: id, and whether the summary has progress.

    The newest ancestor with progress counts, never simply the newest snapshot: after a rollback that one is no ancestor. The property's
    copy counts only where expiry has removed ancestors before one with progress: if the copy is of the first removed ancestor; or if its
    snapshot has expired as well, and so was not merely rolled back (it would then still be among the known ones).

    Raises:
        TargetError: it is unknown what the content holds. Ancestors have expired and the copy does not count; or no ancestor has progress,
            and the table has rows: another writer has replaced the table (``CREATE OR REPLACE TABLE ... AS SELECT`` leaves no
            ancestors), or written to it before the first batch.
    """
    head: Mapping[str, str] | None = None
    parent = ""
    for summary in lineage:
        head = summary if head is None else head
        if PROGRESS_KEY in summary:
            return Progress.from_json(summary[PROGRESS_KEY])
        parent = summary.get("parent-id", "")
        if copy is not None and parent == str(copy["snapshot"]):
            return Progress.from_json(copy["progress"])
    snapshots = list(known) if head is not None else []
    if not parent:
        # The format allows a summary without the total; that does not mean that there are no rows.
        if head is None or head.get(_ROWS) == "0":
            return Progress()
        raise TargetError(_foreign(parts, head, snapshots))
    if copy is not None and int(copy["snapshot"]) not in {one for one, _ in snapshots}:
        return Progress.from_json(copy["progress"])
    raise TargetError(
        f"{quote_path(parts)}: the snapshots that carry its progress have expired, and the copy in the table properties belongs to a "
        f"snapshot that was rolled back: which files the content holds {_NOT_KNOWN} Roll the table back to a snapshot whose summary has "
        f"{PROGRESS_KEY}, or load it into a new target."
    )


def _foreign(parts: tuple[str, ...], head: Mapping[str, str], snapshots: Iterable[tuple[int, bool]]) -> str:
    carrier = next((one for one, carries in reversed(list(snapshots)) if carries), None)
    back = (
        f"go back to the content that the job made, CALL {parts[0]}.system.set_current_snapshot({string_literal('.'.join(parts[1:]))}, "
        f"{carrier}), which removes these rows"
        if carrier is not None
        else "load it into a new target, which leaves these rows as they are"
    )
    return (
        f"{quote_path(parts)}: has {head.get(_ROWS, 'an unknown number of')} rows, and nothing tells which files they are from: no "
        f"snapshot that its content descends from has {PROGRESS_KEY} in its summary. Someone has made the table again by hand (CREATE OR "
        f"REPLACE TABLE ... AS SELECT), or written to it before the first batch. What of bronze it holds {_NOT_KNOWN} "
        f"Either {back}; or drop the table, and the next run merges all of bronze again."
    )
