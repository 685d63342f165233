"""Choosing the next batch: pure functions over a listing and a table's progress."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

import attrs

from dms_iceberg.config.model import Batch
from dms_iceberg.errors import BronzeError
from dms_iceberg.progress import Progress
from dms_iceberg.staging.keys import NAME_AHEAD_HOURS, BronzeFile, Truncate, digits_of, is_credible, is_past


@attrs.frozen
class FileBatch:
    """An ordered batch: files of one kind, oldest first. ``remaining`` counts the new files behind it."""

    files: tuple[BronzeFile, ...]
    remaining: int

    @property
    def is_load(self) -> bool:
        """Whether these are full-load files."""
        return not self.files[0].is_cdc

    @property
    def size(self) -> int:
        """Bytes as listed (compressed)."""
        return sum(file.size for file in self.files)


@attrs.frozen
class RecordBatch:
    """Records from the quarantine that are tried again: rows that belong to no new file. ``size`` is in bytes."""

    size: int
    files: tuple[BronzeFile, ...] = ()
    remaining: int = 0
    is_load: bool = False


@attrs.frozen
class Pending:
    """What a listing holds that is not merged.

    Attributes:
        files: what can be merged, in order of processing.
        loads: every LOAD file, merged or not.
        incredible: change files that cannot have been closed when their names say.
        truncates: 17 digits each, in order: when the table was truncated since its load, applied or not.
        ahead: 17 digits, a frontier that this version would not have let in yet; "" for none.
    """

    files: list[BronzeFile]
    loads: list[BronzeFile]
    incredible: list[BronzeFile]
    truncates: list[str]
    ahead: str = ""

    def warnings(self, table: str) -> list[str]:
        """Return what the operator should know of the files that are left where they are."""
        found = []
        if self.incredible:
            found.append(
                f"{table}: {_some([file.key for file in self.incredible])}: named after a time that is no date, or lies more than "
                f"{NAME_AHEAD_HOURS} hours ahead of now. Not merged, as every file after it would count as late; what is ahead waits until "
                "its time has come. Correct the clock of whatever wrote it, and give the file the name of the time when it was closed."
            )
        if self.ahead:
            found.append(
                f"{table}: an earlier version has merged a file that is named {self.ahead[:14]} (UTC), more than {NAME_AHEAD_HOURS} hours "
                "ahead of now. Late files that came since may have been passed over: compare with the source (verify), or make the table "
                f"anew from bronze (run --rebuild {table}). This warning ends when that time comes near."
            )
        return found


def _some(keys: Sequence[str]) -> str:
    return ", ".join(keys[:3]) + (f" and {len(keys) - 3} more" if len(keys) > 3 else "")


def pending_files(listing: Iterable[BronzeFile | Truncate], progress: Progress, table: str, now: datetime) -> Pending:
    """Find the files that ``progress`` has not merged; keeps nothing of what it has.

    Raises:
        BronzeError: a LOAD file that was merged has changed since: a reload in place.
    """
    changes, loads, incredible, truncates = list[BronzeFile](), list[BronzeFile](), list[BronzeFile](), list[str]()
    for file in listing:
        if isinstance(file, Truncate):
            if file.at > progress.reloaded_at and is_past(file.at, now):
                truncates.append(file.at)
        elif not file.is_cdc:
            # After a reload in place, what is older is left over from the load before.
            if file.modified >= progress.reloaded_at:
                loads.append(file)
        elif not progress.has_merged(file):
            (changes if is_credible(file, now) else incredible).append(file)
    ahead = progress.frontier if progress.frontier > digits_of(now + timedelta(hours=NAME_AHEAD_HOURS)) else ""
    return Pending(new_loads(loads, progress, table) + sorted(changes), loads, incredible, sorted(truncates), ahead)


def next_truncate(truncates: Iterable[str], progress: Progress) -> str | None:
    """Return the first truncate that is not applied, None without any; an earlier one than those applied has no effect any more."""
    return min((at for at in truncates if at > progress.truncated), default=None)


def applied_truncates(truncates: Iterable[str], progress: Progress) -> list[str]:
    """Return the truncates that are applied."""
    return [at for at in truncates if at <= progress.truncated]


def until(files: Iterable[BronzeFile], truncate: str | None) -> list[BronzeFile]:
    """Return the files that go before a truncate: they hold nothing that was committed after it."""
    return [file for file in files if truncate is None or not file.is_cdc or file.order <= truncate]


def new_loads(loads: list[BronzeFile], progress: Progress, table: str) -> list[BronzeFile]:
    """Return the LOAD files not yet merged, sorted; refuses ones that were overwritten after they were merged."""
    loads = sorted(loads)
    changed = progress.loads.changed(loads)
    if changed:
        raise BronzeError(
            f"{table}: full-load file {changed} is not the one that was merged: its ETag changed, so DMS has loaded the table again "
            "in place. Which files belong to the new load cannot be told from them alone. Say when it began: run with --table "
            f"{table} --reload-started-at <time>, and with --load-complete {table} once DMS has loaded the table. Better, let DMS write a "
            "reload to a folder of its own (load_epoch)."
        )
    return [file for file in loads if not progress.loads.has(file)]


def next_batch(pending: list[BronzeFile], bounds: Batch) -> FileBatch | None:
    """Return the first files of ``pending`` that fit the bounds (at least one), or None when there is nothing to do.

    LOAD and CDC files never share a batch: a first load is appended, changes are merged.
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
    return FileBatch(tuple(chosen), len(pending) - len(chosen))
