"""What orders the changes of a load: the sequence, the commit time, or files; and what each order cannot tell, which is refused. Pure.

DMS writes neither sequence nor commit time by default. Then the close time in a file's name and the place in the file are the order
(``docs/adr/0018-order-by-file.md``).
"""

from collections.abc import Iterable, Sequence

from dms_iceberg.bronze.keys import BronzeFile, earlier, shown_time
from dms_iceberg.bronze.position import FILE_DIGITS, SEQUENCE_DIGITS, is_load_position, sequence_position
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


def is_by_sequence(progress: Progress) -> bool:
    """Whether the newest merged change has a sequence: its position is shorter than that of a change with a commit time only."""
    high = progress.high_water
    if progress.by_file or not high or is_load_position(high, progress.load):
        return False
    return len(high) == len(sequence_position(progress.load, "0" * SEQUENCE_DIGITS, "0" * FILE_DIGITS))


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
        "columns as they were; or rebuild the table, if all files of the load have the columns that are named; or load it again: start a "
        "new load epoch, whose files are all written by the changed task."
    )


def refuse_lost_sequence(table: Table, progress: Progress, files: Iterable[tuple[BronzeFile, bool]], column: str | None) -> None:
    """Refuse change files without a sequence where earlier ones have it.

    Positions of both kinds compare by the first 16 digits of the clock. Within these, the file's time of the one would be compared with the
    microseconds of the other. Files without a sequence before those that have it are no harm: their positions are lower there.

    Args:
        table: the table.
        progress: that of the content which the files go to.
        files: change files of a batch, each with whether its rows have a sequence.
        column: the column that the configuration names, None for none.

    Raises:
        BronzeError: there is such a file.
    """
    listed = sorted(files, key=lambda one: one[0])
    first = next((place for place, (_, sequenced) in enumerate(listed) if sequenced), len(listed))
    later = listed if is_by_sequence(progress) else listed[first:]
    lost = next((file for file, sequenced in later if not sequenced), None)
    if lost is not None:
        named = (
            f"the column {column!r} of bronze.change.sequence_column" if column else "a sequence (bronze.change.sequence_column is null)"
        )
        raise BronzeError(
            f"{lost.key}: has not {named}, by which earlier changes of {table.source} are ordered. One load has one order. Let the task "
            "write the sequence, and the document name it, as before; or load the table again: start a new load epoch, whose files are all "
            "written in one way."
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
                f"({shown_time(file.modified)}), so names are in a time zone (DatePartitionTimezone), which may go back an hour in autumn, "
                "or the clock by which they are given is ahead. Changes that have neither commit time nor sequence are ordered by these "
                "names. Let the task write names in UTC or, better, TimestampColumnName or $AR_H_CHANGE_SEQ, and load "
                f"{table.source} again."
            )


def is_tied(files: Sequence[BronzeFile], progress: Progress) -> bool:
    """Whether a change file of a batch may have the close time of another file of the table, in the batch or merged recently."""
    times = [file.order for file in files if file.is_cdc]
    keys = {(file.order, fingerprint(file)[:KEY_BYTES]) for file in files if file.is_cdc}
    return len(set(times)) < len(times) or any(time in times and (time, mark[:KEY_BYTES]) not in keys for time, mark in progress.recent)


def refuse_ties(table: Table, files: Sequence[BronzeFile], listing: Iterable[BronzeFile]) -> None:
    """Refuse a change file with the close time of another one of another size. Copies of a file are no harm, and have its size.

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
    """Refuse recorded truncates where changes have no commit times.

    Raises:
        BronzeError: there is one.
    """
    if truncates and change.orders_by_file:
        raise BronzeError(
            f"{table.source}: a truncate of {shown_time(truncates[0])} is recorded in bronze, but {NO_TRUNCATE}. Load the table again."
        )
