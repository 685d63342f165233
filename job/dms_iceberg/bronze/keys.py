"""The grammar of the keys DMS writes (AWS DMS user guide, "Using Amazon S3 as a target").

``<schema>/<table>/[<segment>/]LOAD%08X.<ext>`` for a full load and ``<schema>/<table>/[<date folders>/]yyyyMMdd-HHmmssSSS.<ext>``
for changes; a CDC file is named after the time when it was closed, in UTC. Date folders have several layouts; those that put
the year first sort by time, and a listing can then begin near the frontier.
"""

import re
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from zlib import crc32

import attrs

_EXTENSION = r"(?P<extension>parquet|csv|csv\.gz|json|json\.gz|jsonl|jsonl\.gz)$"
_LOAD = re.compile(r"(?:SEGMENT(?P<segment>\d+)_)?LOAD(?P<number>[0-9A-F]{8})\." + _EXTENSION, re.ASCII)
_CDC = re.compile(r"(?P<day>\d{8})-(?P<time>\d{9})\." + _EXTENSION, re.ASCII)
_SKIPPED_FOLDER = "awsdms_"
REPAIR_FOLDER = "_repair/"
"""Folder that the operator's commands write to, beside the files of DMS: change files of ``verify --repair``, and truncates."""
_TRUNCATE = re.compile(REPAIR_FOLDER + r"TRUNCATE-(?P<day>\d{8})-(?P<time>\d{9})\.json", re.ASCII)
_FOREIGN = re.compile(r"(?:[_.].*|.*\.crc|.*_\$folder\$)", re.DOTALL)
"""Names that Hadoop, Spark and Athena ignore as well: markers and files that are being written, checksums, folders as objects."""
_FIRST_TIME = "00010101000000000"
SEGMENT_DIGITS = 9
AHEAD_HOURS = 48
"""How far a change's clock may be after its file's close time: names may be in a zone 14 hours from UTC, and clocks may be a day wrong."""
NAME_AHEAD_HOURS = 15
"""How far a file's name may be ahead of now: it may be in a zone 14 hours ahead of UTC (`DatePartitionTimezone`), and clocks differ."""

ZONE_HOURS = 12
"""How far a file's name may be behind UTC: with `DatePartitionTimezone` DMS names files in local time, and no zone is further behind."""


class Kind(StrEnum):
    """Which part of the task wrote a file."""

    LOAD = "load"
    CDC = "cdc"


@attrs.frozen(order=True)
class BronzeFile:
    """One change file of one table; sorts in the order of processing: full load first, then by close time.

    Attributes:
        order: 17 digits of the close time for CDC; for LOAD 17 characters that sort by segment and number.
        relative: the key below the table's folder.
        key: the key below the store's root.
        size: in bytes.
        modified: 17 digits, when the object was written, by the store's clock.
    """

    is_cdc: bool
    order: str
    relative: str
    key: str = attrs.field(order=False)
    size: int = attrs.field(order=False)
    etag: str = attrs.field(order=False)
    extension: str = attrs.field(order=False)
    modified: str = attrs.field(default="", order=False)

    @property
    def kind(self) -> Kind:
        """LOAD or CDC."""
        return Kind.CDC if self.is_cdc else Kind.LOAD

    @property
    def version(self) -> tuple[str, str]:
        """Key and ETag: a file that is uploaded again under its name with other content is another version."""
        return self.key, self.etag


@attrs.frozen(order=True)
class Truncate:
    """A TRUNCATE of the source table, which DMS does not report: an object whose key has its time, and whose content has nothing more.

    Attributes:
        at: 17 digits; the truncate deleted all rows that were committed before this time.
    """

    at: str


@attrs.frozen(order=True)
class Unread:
    """An object in a table's folder whose name is neither one that DMS gives its files nor one of another known kind."""

    key: str


def table_prefix(schema: str, table: str) -> str:
    """Return the folder of a table, with its trailing slash."""
    return f"{schema}/{table}/"


def repair_key(prefix: str, clock: str) -> str:
    """Return the key of a repair written at ``clock`` (17 digits or more); it is named, listed and merged like any other change file."""
    return f"{prefix}{REPAIR_FOLDER}{clock[:8]}-{clock[8:17]}.parquet"


def truncate_key(prefix: str, at: str) -> str:
    """Return the key that records a truncate of the table at ``at`` (17 digits)."""
    return f"{prefix}{REPAIR_FOLDER}TRUNCATE-{at[:8]}-{at[8:]}.json"


def parse_truncate(prefix: str, key: str) -> Truncate | None:
    """Return the truncate that ``key`` records, None when it is the key of another object."""
    found = _TRUNCATE.fullmatch(key.removeprefix(prefix))
    return Truncate(found["day"] + found["time"]) if found else None


def parse_key(prefix: str, key: str, size: int, etag: str, modified: str = "") -> BronzeFile | None:
    """Return the change file with this key, or None when it is not one (control tables, markers, foreign objects)."""
    relative = key.removeprefix(prefix)
    folder, _, name = relative.rpartition("/")
    if any(part.startswith(_SKIPPED_FOLDER) for part in folder.split("/")):
        return None
    if found := _CDC.fullmatch(name):
        return BronzeFile(True, found["day"] + found["time"], relative, key, size, etag, found["extension"], modified)
    if found := _LOAD.fullmatch(name):
        segment = f"{folder}/{found['segment'] or ''}" if folder or found["segment"] else ""
        order = f"{crc32(segment.encode()):09d}"[-9:] + found["number"] if segment else "0" * 9 + found["number"]
        return BronzeFile(False, order, relative, key, size, etag, found["extension"], modified)
    return None


def is_foreign(relative: str) -> bool:
    """Whether an object below a table's folder that is not a change file is of a known kind: a marker, or one of DMS's own tables."""
    *folders, name = relative.removeprefix(REPAIR_FOLDER).split("/")
    return any(part.startswith((_SKIPPED_FOLDER, "_", ".")) for part in folders) or _FOREIGN.fullmatch(name) is not None


def time_of(digits: str) -> datetime:
    """Return the UTC time of 17 digits ``yyyyMMddHHmmssSSS``.

    Raises:
        ValueError: the digits are not a time.
    """
    return datetime.strptime(digits[:14], "%Y%m%d%H%M%S").replace(tzinfo=UTC) + timedelta(milliseconds=int(digits[14:17]))


def digits_of(time: datetime) -> str:
    """Return 17 digits for a UTC time."""
    # Where the C library is glibc, "%Y" does not pad years below 1000.
    return f"{time.year:04d}{time:%m%d%H%M%S}{time.microsecond // 1000:03d}"


def shown_time(digits: str) -> str:
    """Return 17 digits as people read a time, and as the options of commands take one: ``2026-03-01T10:00:00.5Z``.

    Digits that are no time are returned unchanged.
    """
    try:
        time = time_of(digits.ljust(17, "0"))
    except (ValueError, OverflowError):
        return digits
    fraction = f".{time.microsecond // 1000:03d}".rstrip("0") if time.microsecond else ""
    return f"{time.replace(microsecond=0, tzinfo=None).isoformat()}{fraction}Z"


def is_time(digits: str) -> bool:
    """Whether 17 digits are a time."""
    try:
        time_of(digits)
    except ValueError:
        return False
    return True


def is_past(digits: str, now: datetime) -> bool:
    """Whether 17 digits are a time that is not after ``now``."""
    return is_time(digits) and time_of(digits) <= now


def is_credible(file: BronzeFile, now: datetime) -> bool:
    """Whether a CDC file may have been closed at the time in its name: a valid time, at most `NAME_AHEAD_HOURS` ahead of ``now``."""
    return is_past(file.order, now + timedelta(hours=NAME_AHEAD_HOURS))


def earlier(digits: str, **delta: float) -> str:
    """Return ``digits`` moved back by a `timedelta`, as in ``earlier(frontier, hours=24)``, at most to the first time there is.

    Invalid times are returned unchanged.
    """
    try:
        time = time_of(digits)
    except (ValueError, OverflowError):
        return digits
    try:
        return digits_of(time - timedelta(**delta))
    except OverflowError:
        return _FIRST_TIME


# A folder is named after a commit: near midnight, or in another time zone, it may be that of the day before. So folders get a day of slack.
_FOLDER_SLACK = {"days": 1.0}
_YEAR_FIRST = re.compile(
    r"(?P<year>(?:19|20)\d\d)(?P<sep>[-_/]?)(?P<month>0[1-9]|1[0-2])(?:(?P=sep)(?P<day>[0-3]\d))?(?:(?P=sep)[0-2]\d)?/", re.ASCII
)
_ROOT_FILE = re.compile(r"(?:19|20)\d{6}-\d{9}\.", re.ASCII)


def folder_time(file: BronzeFile) -> str:
    """Return when the day or month of a file's date folder begins, 17 digits; "" where no layout that sorts by time names one."""
    found = _YEAR_FIRST.match(file.relative)
    return f"{found['year']}{found['month']}{found['day'] or '01'}000000000" if found else ""


def resume_after(relative: str, since: str, committed: str | None = None) -> str | None:
    """Return the key (below the table's folder) after which a listing that has reached ``relative`` may continue.

    Args:
        committed: 17 digits, the commit time of the oldest change that is still to come, if that may be before ``since``: a task that
            catches up after days writes files that are closed now into the folders of those days.

    None when ``relative`` itself may be needed: it is at or after ``since`` (17 digits), or its layout does not sort by time
    (``MMYYYYDD``, ``DDMMYYYY``, LOAD files), so nothing may be skipped.
    """
    if not since:
        return None
    day = earlier(since if committed is None else min(since, committed), **_FOLDER_SLACK)
    name = f"{since[:8]}-{since[8:]}"
    if _ROOT_FILE.match(relative):
        targets = [name, max(day[:8], relative[:8]) + "/", _later_month(relative, "", day)]
    elif found := _YEAR_FIRST.match(relative):
        sep, of_day = found["sep"], found["day"] is not None
        targets = [sep.join([day[:4], day[4:6], day[6:8]] if of_day else [day[:4], day[4:6]])]
        if of_day and sep in ("", "_"):
            targets.append(_later_month(relative, sep, day))
        if of_day and sep == "/":
            targets.append(f"{day[:4]}/{day[4:6]}/{name}")
    else:
        return None
    if targets[0] <= relative:
        return None
    # Where the layout of a table was changed, keys of two layouts alternate, so no jump goes past the first key that another layout may
    # have: the other targets are folders by day among files, folders by month among those by day, and the year.
    return min(target for target in (*targets, day[:4]) if target > relative)


def _later_month(relative: str, sep: str, day: str) -> str:
    """Return the first folder of a month that sorts after ``relative`` and is not before the month of ``day``."""
    digits = relative.replace(sep, "") if sep else relative
    year, month = divmod(int(digits[:4]) * 12 + int(digits[4:6]), 12)
    wanted = max(day[:6], f"{year:04d}{month + 1:02d}")
    return f"{wanted[:4]}{sep}{wanted[4:]}/"


def layout_starts(relative: str, year: str) -> list[str]:
    """Return the keys (below the table's folder) after which the files of each layout that sorts by time begin, in a year (4 digits).

    Empty when ``relative`` has no such layout.
    """
    if _ROOT_FILE.match(relative) is None and _YEAR_FIRST.match(relative) is None:
        return []
    # Keys of files in the table's own folder and of folders without a delimiter alternate: others of the month and day may be older.
    days = [relative[:digits] + end for digits in (6, 8) for end in "/0" if relative[:digits].isdecimal() and relative.startswith(year)]
    # A coarser layout has its files beside the folders of a finer one.
    folder = relative.rpartition("/")[0]
    parts = folder.split("/")
    above = ["/".join(parts[:count]) + f"/{year}" for count in range(1, len(parts))]
    for delimiter in "-_":
        parts = folder.split(delimiter)
        above += [delimiter.join(parts[:count]) + "/" for count in range(2, len(parts))]
    return [f"{year}-", f"{year}/", f"{year}0", f"{year}_", *days, *above]
