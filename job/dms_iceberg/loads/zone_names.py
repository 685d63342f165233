"""Change files with names in another time zone than UTC, beside a reload in place: no moment tells which of them belong to it. Pure."""

from collections.abc import Sequence

from dms_iceberg.bronze.keys import BronzeFile, earlier, shown_time
from dms_iceberg.bronze.position import ZONE_MINUTES
from dms_iceberg.config.model import Table
from dms_iceberg.config.problems import first_of
from dms_iceberg.errors import BronzeError
from dms_iceberg.progress.pending import Pending
from dms_iceberg.progress.progress import Progress

NEW_EPOCH = "let DMS load the table into a folder of its own (load_epoch), which needs no moment"


def refuse_local_names(table: Table, main: Progress, pending: Pending) -> None:
    """Refuse where change files have names in another zone than UTC: no moment tells which of them belong to the reload.

    Raises:
        BronzeError: there are such files.
    """
    odd = [file for file in pending.files if file.is_cdc and file.modified and earlier(file.order, minutes=ZONE_MINUTES) > file.modified]
    # What was merged before the reload is known by name, whenever it was copied.
    odd += [file for file in pending.behind if not main.has_merged_version(file)]
    if odd or main.named_behind_utc:
        example = f" (such as {odd[0].key}, written at {shown_time(odd[0].modified)})" if odd else ""
        raise BronzeError(
            f"{table.source}: change files have names in a time zone other than UTC{example}, so no moment tells which of them belong to "
            f"a reload in place. Instead, {NEW_EPOCH}.{_copied(pending.behind)}"
        )


def refuse_names_before_reload(table: Table, progress: Progress, pending: Pending) -> None:
    """Refuse change files that were written since the content's own reload in place began, and whose names count as merged with it.

    Raises:
        BronzeError: there are such files.
    """
    behind = pending.behind
    if behind:
        raise BronzeError(
            f"{table.source}: {first_of([file.key for file in behind], 1)}, written at {shown_time(behind[0].modified)}, has a name from "
            f"before the reload in place of {shown_time(progress.reloaded_at)}, so DMS names files in a time zone other than UTC, and no "
            f"moment tells which of them belong to the reload. Nothing is merged. Instead, {NEW_EPOCH}.{_copied(behind)}"
        )


def _copied(files: Sequence[BronzeFile]) -> str:
    if not files:
        return ""
    return " If the file was only copied or restored, and its changes are from before the reload, move it out of the table's folder."
