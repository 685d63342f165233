"""The order of changes that have neither commit time nor sequence: close time in the file's name, then place in the file. Pure.

DMS writes neither column by default. What such an order cannot tell is refused here: another order in one load, names that do not tell
when their files were closed, and the place of a truncate (``docs/adr/0018-order-by-file.md``).
"""

from collections.abc import Iterable, Sequence

from dms_iceberg.bronze.keys import BronzeFile, earlier
from dms_iceberg.config.model import Change, Table
from dms_iceberg.errors import BronzeError, TargetError
from dms_iceberg.progress.merged_loads import KEY_BYTES, fingerprint
from dms_iceberg.progress.progress import Progress

NAME_AHEAD_MINUTES = 30
"""DMS closes a file and writes it at once. Zones ahead of UTC are ahead by more, and clocks of AWS differ by less."""
NO_TRUNCATE = (
    "bronze.change.timestamp_column and sequence_column are null, so changes have no commit times, and nothing tells which of them were "
    "made before the truncate"
)


def refuse_other_order(table: Table, progress: Progress, change: Change) -> None:
    """Refuse to continue a load in another order: positions of the two cannot be compared.

    Args:
        progress: that of the content which the next batch goes to.
        change: how the files name the service columns now.

    Raises:
        TargetError: change files were merged in the other order.
    """
    if not progress.frontier or progress.by_file == change.orders_by_file:
        return
    was, now = ("by file", "by commit time") if progress.by_file else ("by commit time", "by file")
    raise TargetError(
        f"{table.source}: the changes in {table.target} are ordered {was}, and bronze.change now asks for an order {now} "
        f"(timestamp_column {change.timestamp_column!r}, sequence_column {change.sequence_column!r}). One load has one order. Set both "
        "columns as they were, or load the table again: start a new load epoch, whose files are all written by the changed task."
    )


def refuse_local_names(table: Table, files: Sequence[BronzeFile]) -> None:
    """Refuse change files that are named in a zone ahead of UTC: where clocks go back in autumn, their names do as well.

    Raises:
        BronzeError: a name is later than the time when the file was written.
    """
    for file in files:
        if file.is_cdc and file.modified and earlier(file.order, minutes=NAME_AHEAD_MINUTES) > file.modified:
            raise BronzeError(
                f"{file.key}: its name is more than {NAME_AHEAD_MINUTES} minutes later than the time when it was written "
                f"({file.modified[:14]}, UTC), so names are in a time zone (DatePartitionTimezone), which may go back an hour in autumn. "
                "Changes that have neither commit time nor sequence are ordered by these names. Let the task write names in UTC or, "
                f"better, TimestampColumnName or $AR_H_CHANGE_SEQ, and load {table.source} again."
            )


def is_tied(files: Sequence[BronzeFile], progress: Progress) -> bool:
    """Whether a change file of a batch may have the close time of another file of the table, in the batch or merged recently."""
    times = [file.order for file in files if file.is_cdc]
    keys = {(file.order, fingerprint(file)[:KEY_BYTES]) for file in files if file.is_cdc}
    return len(set(times)) < len(times) or any(time in times and (time, mark[:KEY_BYTES]) not in keys for time, mark in progress.recent)


def refuse_ties(table: Table, files: Sequence[BronzeFile], listing: Iterable[BronzeFile]) -> None:
    """Refuse a change file with the close time of another one that has other contents. Copies of a file are no harm.

    Args:
        table: the table.
        files: files of a batch.
        listing: all files of the table in the look-back.

    Raises:
        BronzeError: there is one.
    """
    sizes = {file.order: file for file in files if file.is_cdc}
    for other in listing:
        file = sizes.get(other.order)
        if other.is_cdc and file is not None and file.size != other.size:
            raise BronzeError(
                f"{file.key} and {other.key} have one close time and different sizes. Changes of {table.source} have neither commit time "
                "nor sequence, and are ordered by that time. If two tasks write to this folder, give each its own; else let the task write "
                "TimestampColumnName or $AR_H_CHANGE_SEQ, and load the table again."
            )


def refuse_truncates(table: Table, truncates: Sequence[str], change: Change) -> None:
    """Refuse truncates that somebody has recorded in bronze, where changes have no commit times.

    Raises:
        BronzeError: there is one.
    """
    if truncates and change.orders_by_file:
        raise BronzeError(f"{table.source}: a truncate of {truncates[0]} is recorded in bronze, but {NO_TRUNCATE}. Load the table again.")
