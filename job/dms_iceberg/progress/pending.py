"""Chooses the next batch: pure functions over a listing and a table's progress."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

import attrs

from dms_iceberg.bronze.keys import (
    NAME_AHEAD_HOURS,
    ZONE_HOURS,
    BronzeFile,
    Truncate,
    Unread,
    digits_of,
    earlier,
    folder_time,
    is_credible,
    is_past,
    shown_time,
)
from dms_iceberg.bronze.listing import Found
from dms_iceberg.bronze.moved_keys import Moved
from dms_iceberg.bronze.position import ZONE_MINUTES
from dms_iceberg.config.model import Batch
from dms_iceberg.config.problems import first_of
from dms_iceberg.errors import BronzeError
from dms_iceberg.progress.late_loads import former_warning, late_loads, of_former_load
from dms_iceberg.progress.load_gaps import Gaps, find_gaps
from dms_iceberg.progress.moved_files import moved_warnings
from dms_iceberg.progress.progress import Progress

_SHOWN = 3


@attrs.frozen
class FileBatch:
    """A batch of files of one kind, oldest first.

    Attributes:
        remaining: the number of new files after it.
        pending_since: 17 digits, when the oldest date folder begins of all that was listed and is left to later batches; "" for none.
    """

    files: tuple[BronzeFile, ...]
    remaining: int
    pending_since: str = ""

    @property
    def is_load(self) -> bool:
        """Whether these are full-load files."""
        return not self.files[0].is_cdc

    @property
    def size(self) -> int:
        """Bytes of all files, as listed (compressed)."""
        return sum(file.size for file in self.files)

    def first(self, count: int) -> "FileBatch":
        """Return a batch of the first ``count`` files; the others are left to later ones."""
        left = self.files[count:]
        since = min(filter(None, [self.pending_since, *map(folder_time, left)]), default="")
        return FileBatch(self.files[:count], self.remaining + len(left), since)


@attrs.frozen
class RecordBatch:
    """A batch of quarantined records for a replay: rows that belong to no new file. ``size`` is in bytes."""

    size: int
    files: tuple[BronzeFile, ...] = ()
    remaining: int = 0
    is_load: bool = False
    pending_since: str = ""


@attrs.frozen
class Pending:
    """What a listing holds that is not merged.

    Attributes:
        files: files that can be merged, in order of processing.
        loads: every LOAD file, merged or not.
        left: LOAD files that were written before the reload in place began, so they are not read.
        incredible: change files that cannot have been closed at the time in their names.
        truncates: 17 digits each, in order: when the table was truncated since its load, applied or not.
        unread: the first keys, in order, whose names are not those of DMS's files; ``unread_count`` is their number.
        ahead: 17 digits, a frontier so far ahead of now that this version would not have merged its file yet; "" for none.
        gaps: LOAD files that are neither listed nor merged.
        moved: files that lie in another folder of the table than the one from which they were merged.
        behind: change files that were written after a reload in place began, and have names from before it (`is_named_before_reload`).
        late: LOAD files among ``files`` that appeared after the load of the table's content was complete (`late_loads`).
        former: LOAD files that are not read, as they are of a load that a reload in place has replaced.
        reloaded_at: 17 digits, when that reload began.
    """

    files: list[BronzeFile]
    loads: list[BronzeFile]
    incredible: list[BronzeFile]
    truncates: list[str]
    unread: list[str] = attrs.field(factory=list)
    unread_count: int = 0
    ahead: str = ""
    gaps: Gaps = attrs.field(factory=Gaps)
    left: Sequence[BronzeFile] = ()
    moved: Sequence[Moved] = ()
    behind: Sequence[BronzeFile] = ()
    late: Sequence[BronzeFile] = ()
    former: Sequence[BronzeFile] = ()
    reloaded_at: str = ""

    @property
    def is_nothing(self) -> bool:
        """Whether the listing has no object of the table, apart from merged change files."""
        return not (self.files or self.loads or self.incredible or self.truncates or self.unread)

    def warnings(self, table: str, reported: int = 0) -> list[str]:
        """Return warnings about files that the job does not merge.

        Args:
            table: the table's source name.
            reported: the number of unread objects in earlier warnings: later listings skip old ones.
        """
        found = []
        if self.incredible:
            keys = first_of([file.key for file in self.incredible], _SHOWN)
            found.append(
                f"{table}: {keys}: named after a time that is no date, or lies more than {NAME_AHEAD_HOURS} hours ahead of now. Not "
                "merged, as every file after it would count as late; what is ahead waits until its time has come. Correct the clock of "
                "whatever wrote it, and give the file the name of the time when it was closed."
            )
        if self.unread_count > reported:
            keys = first_of(self.unread, len(self.unread), self.unread_count)
            found.append(
                f"{table}: {keys}: not read, as DMS names no file so. It writes LOAD00000001 (eight "
                "digits, hexadecimal in upper case) and 20260301-100130000 (eight digits and nine), and extensions in lower case. Give a "
                "change file the name that DMS gave it; move anything else out of the table's folder, or begin its name with an underscore."
            )
        found += moved_warnings(table, self.moved)
        found += [former_warning(table, self.former, self.reloaded_at)] if self.former else []
        if self.gaps.keys:
            found.append(
                f"{table}: {', '.join(self.gaps.keys)}{' and more' if self.gaps.more else ''}: not there, although LOAD files with higher "
                "numbers are. DMS numbers the files of a load from 1 without a gap, so rows are missing, unless it is still writing them. "
                "Restore what was deleted (an earlier version of the object) or moved away, or load the table again."
            )
        if self.ahead:
            found.append(
                f"{table}: a merged file is named {shown_time(self.ahead[:14])}, more than {NAME_AHEAD_HOURS} hours ahead of now: a clock "
                "was wrong. Late files that came since may have been passed over: compare with the source (verify), or make the table "
                f"again from bronze (run --rebuild {table}). This warning ends when that time comes near."
            )
        return found


def pending_files(listing: Iterable[Found], progress: Progress, table: str, now: datetime, discard: str = "") -> Pending:
    """Find the files that are not merged by ``progress``; does not keep merged change files in memory.

    Args:
        listing: what bronze has for the table.
        progress: what is merged.
        table: the table's source name.
        now: names of change files are compared with it.
        discard: the statement that discards the branch that ``progress`` is of; "" for the table's content.

    Raises:
        BronzeError: a LOAD file that was merged has changed since: a reload in place.
    """
    changes, loads, incredible, truncates = list[BronzeFile](), list[BronzeFile](), list[BronzeFile](), list[str]()
    left, behind = list[BronzeFile](), list[BronzeFile]()
    unread, unread_count = list[str](), 0
    moved, there = list[Moved](), set[str]()
    for file in listing:
        if isinstance(file, Unread):
            unread_count += 1
            unread += [file.key] if unread_count <= _SHOWN else []
        elif isinstance(file, Truncate):
            if file.at > progress.reloaded_at and is_past(file.at, now):
                truncates.append(file.at)
        elif not file.is_cdc:
            # After a reload in place, older files are left over from the load before.
            (loads if file.modified >= progress.reloaded_at else left).append(file)
        elif not progress.has_merged(file):
            (changes if is_credible(file, now) else incredible).append(file)
        elif is_named_before_reload(file, progress):
            behind.append(file)
        elif (former := progress.moved_from(file)) is not None:
            moved.append(Moved(file, former, True))
        elif file.order > progress.since:
            there.add(file.key)
    of_former = [] if discard else of_former_load(loads, progress)
    loads = [file for file in loads if file not in of_former]
    ahead = progress.frontier if progress.frontier > digits_of(now + timedelta(hours=NAME_AHEAD_HOURS)) else ""
    # A copy beside the merged file is nothing to speak of.
    moved = [one for one in moved if one.former.key not in there] + progress.loads.moved(loads)
    places = {one.file.key: one.former for one in moved if one.is_same}
    files = new_loads(loads, progress, table, discard) + sorted(changes)
    late = [] if discard else late_loads(loads, progress)
    gaps = find_gaps([places.get(file.key, file) for file in loads if file not in late], progress.loads)
    return Pending(
        files,
        loads,
        incredible,
        sorted(truncates),
        unread,
        unread_count,
        ahead,
        gaps,
        left,
        moved,
        behind=behind,
        late=late,
        former=of_former,
        reloaded_at=progress.reloaded_at,
    )


def is_named_before_reload(file: BronzeFile, progress: Progress) -> bool:
    """Whether a change file was written after a reload in place began, and its name is from before: as in a time zone behind UTC.

    DMS uploads a file within minutes after the time in its name. What is older than any zone is a copy.
    """
    least, most = (earlier(file.modified, hours=hours, minutes=ZONE_MINUTES) for hours in (ZONE_HOURS, 0))
    return least <= file.order < most and file.order <= progress.reloaded_at < file.modified


def changes_until(listing: Iterable[Found], progress: Progress, table: str, until: str, now: datetime) -> Pending:
    """Find the change files and truncates up to ``until`` (17 digits) that are not merged, or applied, by ``progress``."""

    def is_before(one: Found) -> bool:
        return (one.is_cdc and one.order <= until) if isinstance(one, BronzeFile) else isinstance(one, Truncate) and one.at <= until

    return pending_files(filter(is_before, listing), progress, table, now)


def next_truncate(truncates: Iterable[str], progress: Progress) -> str | None:
    """Return the first truncate that is not applied, None without any; one that is older than an applied one has no effect any more."""
    return min((at for at in truncates if at > progress.truncated), default=None)


def applied_truncates(truncates: Iterable[str], progress: Progress) -> list[str]:
    """Return the truncates that are applied, those that bronze has lost among them."""
    return sorted({*progress.truncates, *(at for at in truncates if at <= progress.truncated)})


def until(files: Iterable[BronzeFile], truncate: str | None) -> list[BronzeFile]:
    """Return the files to merge before a truncate: they hold nothing that was committed after it."""
    return [file for file in files if truncate is None or not file.is_cdc or file.order <= truncate]


def new_loads(loads: list[BronzeFile], progress: Progress, table: str, discard: str = "") -> list[BronzeFile]:
    """Return the LOAD files that are not merged, sorted; ``discard`` as in `pending_files`.

    Raises:
        BronzeError: a merged LOAD file was overwritten.
    """
    loads = sorted(loads)
    changed = progress.loads.changed(loads)
    if changed:
        again = (
            f"Say when it began: run with --table {table} --reload-started-at <time>, and with --load-complete {table} once DMS has loaded "
            "the table. Better, let DMS write a reload to a folder of its own (load_epoch)."
        )
        if discard and not progress.reload:
            # A moment is for the reload of a table's content; what is built of a new epoch is nobody's content yet.
            again = (
                "Let DMS write it to a folder of its own (load_epoch, one higher). Or remove the LOAD files that it wrote before the new "
                f"load began, and discard what is built of them; the next run builds the load again from the folder: {discard}."
            )
        raise BronzeError(
            f"{table}: full-load file {changed} is not the one that was merged: its ETag changed, so DMS has loaded the table again "
            f"in place. Which files belong to the new load cannot be told from them alone. {again} "
            "If DMS has loaded nothing: local files were copied or touched, which counts as a "
            "new ETag; or bronze.uri is now the folder of another task, whose tables need targets of their own"
            + ("; or some of these files were deleted or moved: put them back." if changed.startswith("(") else ".")
        )
    return [file for file in loads if not progress.loads.has(file)]


def next_batch(pending: list[BronzeFile], bounds: Batch, blocked: Iterable[BronzeFile] = ()) -> FileBatch | None:
    """Return the first files of ``pending`` that fit the bounds (at least one), or None when there is nothing to do.

    LOAD and CDC files never share a batch: a first load is appended, changes are merged.

    Args:
        pending: the files that may be merged now.
        bounds: limits of the batch.
        blocked: listed files that are not merged before a truncate, or before the time in their names.
    """
    if not pending:
        return None
    chosen: list[BronzeFile] = []
    size = 0
    for file in pending:
        full = len(chosen) >= bounds.max_files or size + file.size > bounds.max_bytes
        if chosen and (full or file.is_cdc != chosen[0].is_cdc):
            break
        chosen.append(file)
        size += file.size
    left = pending[len(chosen) :]
    return FileBatch(tuple(chosen), len(left), min(filter(None, map(folder_time, [*left, *blocked])), default=""))
