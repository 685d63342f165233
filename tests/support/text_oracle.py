"""Which texts are values of which type, in Python: what ``docs/configuration.md`` says, with nothing of the job in it."""

import re
import struct
from collections.abc import Callable
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from fractions import Fraction
from math import inf, isnan, nan

_EDGE = "".join(map(chr, range(33)))
# Of these Spark's casts to integers and booleans pass over one more.
_WIDE_EDGE = _EDGE + "\x7f"
_ZONE = re.compile(r"(?:UTC|GMT)?([+-])(\d{1,2})(?::(\d\d)(?::(\d\d))?)?|(?:UTC|GMT)?([+-])(\d\d)(\d\d)(\d\d)?", re.ASCII)
_MOMENT = re.compile(
    r"([+-]?)(\d{4,7})-(\d{1,2})-(\d{1,2})(?:[ T](\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:[.](\d*))?(?: ?([ZUG+-].*))?)?)?", re.ASCII
)
_FARTHEST_ZONE = 18 * 3600
_EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
NONE = None
"""What is no value of the type."""


def integer(text: str, bits: int) -> int | None:
    found = text.strip(_WIDE_EDGE)
    if not re.fullmatch(r"[+-]?[0-9]+", found):
        return NONE
    return int(found) if -(1 << (bits - 1)) <= int(found) < 1 << (bits - 1) else NONE


def _number(text: str) -> Decimal | None:
    found = text.strip(_EDGE)
    return Decimal(found) if re.fullmatch(r"[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]{1,9})?", found) else NONE


def decimal(text: str, precision: int, scale: int) -> Decimal | None:
    found = _number(text)
    if found is None or found == 0:
        return found
    if not -1000 < found.adjusted() < 1000:
        return NONE
    kept = found.scaleb(scale, _EXACT)
    fits = kept == kept.to_integral_value() and kept.copy_abs() < 10**precision
    return found if fits else NONE


def double(text: str) -> float | None:
    return _floating(text, float)


def single(text: str) -> float | None:
    return _floating(text, _nearest_single)


def _floating(text: str, nearest: Callable[[str], float]) -> float | None:
    word = text.strip(_EDGE).lower()
    if word.lstrip("+-") in ("nan", "inf", "infinity") and word[1:2] not in ("+", "-"):
        return nan if "nan" in word else -inf if word.startswith("-") else inf
    found = _number(text)
    if found is None:
        return NONE
    value = nearest(word)
    return NONE if abs(value) == inf or (value == 0 and found != 0) else value


def _nearest_single(text: str) -> float:
    """The nearest 32-bit value to the text itself, and not to the nearest 64-bit value."""
    number = Decimal(text)
    if number and number.adjusted() > 100:
        return inf
    exact = Fraction(number) if number.adjusted() > -100 else Fraction(0)
    try:
        (about,) = struct.unpack("<i", struct.pack("<f", float(abs(exact))))
    except OverflowError:
        return inf
    near = [struct.unpack("<f", struct.pack("<i", bits))[0] for bits in (about - 1, about, about + 1) if 0 <= bits <= 0x7F7FFFFF]
    best = min(near, key=lambda one: (abs(Fraction(one) - abs(exact)), struct.unpack("<i", struct.pack("<f", one))[0] & 1))
    return -best if text.startswith("-") else best


def day(text: str) -> int | None:
    """Days since 1970; a time of day is left out."""
    moment = _moment(text, fraction=99)
    if moment is None or moment[2] not in (None, 0):
        return NONE
    if ":" in text and _in_range(moment[0] * 86_400_000_000 + moment[1]) is None:
        return NONE
    return moment[0] if -(1 << 31) <= moment[0] < 1 << 31 else NONE


def instant(text: str) -> int | None:
    """Microseconds since 1970."""
    moment = _moment(text, fraction=6)
    return NONE if moment is None else _in_range(moment[0] * 86_400_000_000 + moment[1] - (moment[2] or 0) * 1_000_000)


def wall_clock(text: str) -> int | None:
    """Microseconds since 1970 as if it were UTC."""
    moment = _moment(text, fraction=6)
    return _in_range(moment[0] * 86_400_000_000 + moment[1]) if moment is not None and moment[2] in (None, 0) else NONE


def _in_range(micros: int) -> int | None:
    return micros if -(1 << 63) <= micros < 1 << 63 else NONE


def _moment(text: str, fraction: int) -> tuple[int, int, int | None] | None:
    """Day, microsecond of the day, and the zone's offset in seconds if there is one."""
    found = _MOMENT.fullmatch(text.strip(_EDGE))
    if found is None:
        return None
    sign, year, month, of_month, hour, minute, second, digits, zone = found.groups()
    offset = None if zone is None else _offset(zone)
    if zone is not None and offset is None:
        return None
    date = _days(int(sign + year), int(month), int(of_month))
    kept, lost = (digits or "")[:fraction], (digits or "")[fraction:]
    clock = int(hour or 0), int(minute or 0), int(second or 0)
    if date is None or clock[0] > 23 or clock[1] > 59 or clock[2] > 59 or lost.strip("0"):
        return None
    return date, ((clock[0] * 60 + clock[1]) * 60 + clock[2]) * 1_000_000 + int(kept[:6].ljust(6, "0")), offset


def _offset(zone: str) -> int | None:
    if zone in ("Z", "UTC", "GMT"):
        return 0
    found = _ZONE.fullmatch(zone)
    if found is None:
        return None
    sign, *parts = found.groups()[:4] if found[1] else found.groups()[4:]
    hours, minutes, seconds = (int(part or 0) for part in parts)
    total = hours * 3600 + minutes * 60 + seconds
    if minutes > 59 or seconds > 59 or total > _FARTHEST_ZONE:
        return None
    return -total if sign == "-" else total


def _days(year: int, month: int, of_month: int) -> int | None:
    """The proleptic Gregorian calendar, by cycles of 400 years."""
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    lengths = [31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    if not (1 <= month <= 12 and 1 <= of_month <= lengths[month - 1]):
        return None
    before = year - 1
    return before * 365 + before // 4 - before // 100 + before // 400 + sum(lengths[: month - 1]) + of_month - 1 - 719_162


def same(found: object, expected: object) -> bool:
    """Whether two values are one, -0.0 and NaN told apart."""
    if isinstance(found, float) and isinstance(expected, float):
        return (isnan(found) and isnan(expected)) or struct.pack("<d", found) == struct.pack("<d", expected)
    return found == expected and (found is None) == (expected is None)


_HEX = re.compile(r"([0-9a-fA-F]{2})*")
_TRUE, _FALSE = ("t", "true", "y", "yes", "1"), ("f", "false", "n", "no", "0")


def binary(text: str) -> bytes | None:
    return bytes.fromhex(text) if _HEX.fullmatch(text) else NONE


def boolean(text: str) -> bool | None:
    word = text.strip(_WIDE_EDGE).lower()
    return True if word in _TRUE else False if word in _FALSE else NONE
