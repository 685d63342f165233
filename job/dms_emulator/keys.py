"""Names of the objects that DMS writes, relative to its bucket folder."""

import datetime as dt
from enum import StrEnum
from typing import Final
from zoneinfo import ZoneInfo

import attrs

_EPOCH: Final = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


class DateSequence(StrEnum):
    """``DatePartitionSequence`` of the S3 endpoint."""

    YYYYMMDD = "YYYYMMDD"
    YYYYMMDDHH = "YYYYMMDDHH"
    YYYYMM = "YYYYMM"
    MMYYYYDD = "MMYYYYDD"
    DDMMYYYY = "DDMMYYYY"


class DateDelimiter(StrEnum):
    """``DatePartitionDelimiter`` of the S3 endpoint."""

    SLASH = "SLASH"
    UNDERSCORE = "UNDERSCORE"
    DASH = "DASH"
    NONE = "NONE"


_PARTS: Final = {
    DateSequence.YYYYMMDD: ("%Y", "%m", "%d"),
    DateSequence.YYYYMMDDHH: ("%Y", "%m", "%d", "%H"),
    DateSequence.YYYYMM: ("%Y", "%m"),
    DateSequence.MMYYYYDD: ("%m", "%Y", "%d"),
    DateSequence.DDMMYYYY: ("%d", "%m", "%Y"),
}
_DELIMITERS: Final = {
    DateDelimiter.SLASH: "/",
    DateDelimiter.UNDERSCORE: "_",
    DateDelimiter.DASH: "-",
    DateDelimiter.NONE: "",
}


def _known_zone(_: object, attribute: "attrs.Attribute[str | None]", value: str | None) -> None:
    try:
        if value is not None:
            ZoneInfo(value)
    except (KeyError, ValueError, OSError):
        raise ValueError(
            f"emulator setting partition.{attribute.name}: {value!r} is no time zone; write Area/City, such as Asia/Seoul"
        ) from None


@attrs.frozen
class DatePartition:
    """``DatePartitionEnabled`` with its settings. A time zone changes folder *and* file name."""

    sequence: DateSequence = attrs.field(default=DateSequence.YYYYMMDDHH, converter=DateSequence)
    delimiter: DateDelimiter = attrs.field(default=DateDelimiter.SLASH, converter=DateDelimiter)
    timezone: str | None = attrs.field(default=None, validator=_known_zone)

    def folder(self, close_ms: int) -> str:
        """Return the folder, below the table's, of a file that was closed at ``close_ms`` milliseconds since 1970 UTC."""
        local = local_time(close_ms, self.timezone)
        return _DELIMITERS[self.delimiter].join(local.strftime(part) for part in _PARTS[self.sequence])


def local_time(close_ms: int, timezone: str | None = None) -> dt.datetime:
    """Return the time of ``close_ms`` milliseconds since 1970, in a zone; in UTC without one."""
    utc = _EPOCH + dt.timedelta(milliseconds=close_ms)
    return utc if timezone is None else utc.astimezone(ZoneInfo(timezone))


def load_key(schema: str, table: str, number: int, extension: str) -> str:
    """Return the key of a full-load file: the counter starts at 1 and has eight upper-case hexadecimal digits."""
    return f"{_folder(schema, table)}/LOAD{number:08X}.{extension}"


def cdc_key(schema: str, table: str, close_ms: int, extension: str, partition: DatePartition | None = None) -> str:
    """Return the key of a change file, named ``yyyyMMdd-HHmmssSSS`` after the moment when it was closed.

    Args:
        schema: the source's schema.
        table: the source's table.
        close_ms: milliseconds since 1970 UTC.
        extension: ``parquet``, ``csv``, ``csv.gz``, ...
        partition: date folders; None for files in the table's own folder.
    """
    local = local_time(close_ms, partition.timezone if partition else None)
    stamp = f"{local:%Y%m%d-%H%M%S}{close_ms % 1000:03d}"
    dates = f"{partition.folder(close_ms)}/" if partition else ""
    return f"{_folder(schema, table)}/{dates}{stamp}.{extension}"


def _folder(schema: str, table: str) -> str:
    # Control tables have no schema folder unless ``ControlSchema`` is set.
    return f"{schema}/{table}" if schema else table
