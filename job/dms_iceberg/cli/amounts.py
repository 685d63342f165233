"""Numbers, sizes and times as people read them. Pure."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from dms_iceberg.config.problems import first_of

_UNITS: Final = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))
_NAMED: Final = 5
_SIZES: Final = ("kB", "MB", "GB", "TB")


def counted(number: int, one: str, many: str = "") -> str:
    """Return ``1 table`` or ``40 tables``; ``many`` is the plural if it is not made by an s."""
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def named(names: Sequence[str]) -> str:
    """Return the first names of a list, and how many more there are."""
    return first_of(names, _NAMED)


def are(number: int) -> str:
    """Return the verb for a number of things."""
    return "is" if number == 1 else "are"


def lasting(seconds: float) -> str:
    """Return a time of some seconds by its two largest units: ``0.4 s``, ``42 s``, ``1 min 5 s``, ``1 h 4 min``, ``3 d 2 h``."""
    sign, seconds = ("-", -seconds) if seconds < 0 else ("", seconds)
    if round(seconds, 1) < 10:
        return f"{sign}{seconds:.1f} s"
    rest, parts = round(seconds), list[str]()
    for size, unit in _UNITS:
        number, rest = divmod(rest, size)
        if parts or number:
            parts.append(f"{number} {unit}" if number else "")
    return sign + " ".join(part for part in parts[:2] if part)


def ago(moment: datetime, now: datetime) -> str:
    """Return how long ago a moment was: ``1 h 4 min ago``, or ``in 3 min`` where a clock is ahead."""
    seconds = (now - moment).total_seconds()
    return f"{lasting(seconds)} ago" if seconds >= 0 else f"in {lasting(-seconds)}"


def size(number: int) -> str:
    """Return a number of bytes in the largest unit of a thousand that it fills: ``812 bytes``, ``2.3 MB``."""
    value, unit = float(number), ""
    for larger in _SIZES:
        if round(value, 1) < 1000:
            break
        value, unit = value / 1000, larger
    return f"{value:.1f} {unit}" if unit else counted(number, "byte")
