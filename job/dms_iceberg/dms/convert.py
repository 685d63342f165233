"""Conversions from the text that PostgreSQL or MySQL shows for a value to the value that DMS writes."""

import datetime as dt
import re
from collections.abc import Callable
from decimal import ROUND_HALF_UP, Context, Decimal, InvalidOperation
from typing import Final

from dms_iceberg.dms.types import DmsValue

# None stands for "unchanged", which saves a call for every text value.
Converter = Callable[[str], DmsValue] | None

# DMS has no infinite times. The first and last time that its types can hold stand for them here; not seen in real files.
LAST_TIME: Final = dt.datetime(9999, 12, 31, 23, 59, 59, 999_999)
FIRST_TIME: Final = dt.datetime(1, 1, 1)
_LAST_OF_DAY: Final = dt.time(23, 59, 59, 999_999)
_NOT_MONEY: Final = re.compile(r"[^0-9.]")


def to_boolean(text: str) -> bool:
    """Convert ``t`` or ``f``, as the type prints it, and ``true`` or ``false``, as a cast to text prints it."""
    return text in ("t", "true")


def to_boolean_text(text: str) -> str:
    """Return ``true`` or ``false``: what DMS writes for a boolean without ``MapBooleanAsBoolean``."""
    return "true" if to_boolean(text) else "false"


def to_datetime(text: str) -> dt.datetime:
    """A timestamp with or without zone; one outside the years 1 to 9999 becomes the nearest inside."""
    try:
        return dt.datetime.fromisoformat(text)
    except ValueError:
        return FIRST_TIME if text.startswith("-") or text.endswith("BC") else LAST_TIME


def to_date(text: str) -> dt.date:
    """A date; one outside the years 1 to 9999 becomes the nearest inside."""
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        return to_datetime(text).date()


def to_time(text: str) -> dt.time:
    """A time of day. The zone of ``timetz`` has no place in DMS's type; 24:00 becomes the last microsecond."""
    try:
        return dt.time.fromisoformat(text).replace(tzinfo=None)
    except ValueError:
        return _LAST_OF_DAY


def to_bytes(text: str) -> bytes:
    r"""A ``bytea`` in ``\x`` form."""
    return bytes.fromhex(text[2:])


def to_money(text: str) -> Decimal | None:
    """``money`` as the server's locale shows it; assumes a decimal point."""
    digits = _NOT_MONEY.sub("", text)
    negative = text.startswith(("-", "(", "$-"))
    return numeric(38, 4)(f"-{digits}" if negative else digits)


def numeric(precision: int, scale: int) -> Callable[[str], Decimal | None]:
    """Return a converter to a decimal of this precision and scale, rounding half away from zero.

    NaN, infinity and values with too many digits become NULL: DMS has no decimal for them. Zero has no sign, as in Parquet.
    """
    context = Context(prec=precision, rounding=ROUND_HALF_UP)
    quantum = Decimal(1).scaleb(-scale)

    def convert(text: str) -> Decimal | None:
        try:
            value = Decimal(text).quantize(quantum, context=context)
        except InvalidOperation:
            return None
        if not value.is_finite():
            return None
        return value if value else value.copy_abs()

    return convert


def plain_number(text: str) -> str:
    """A number as text without the zeros that ZEROFILL puts in front of it."""
    sign = "-" if text.startswith("-") else ""
    digits = text.removeprefix("-").lstrip("0")
    return f"{sign}0{digits}" if digits.startswith(".") or not digits else f"{sign}{digits}"


def mysql_date(text: str) -> dt.date | None:
    """A date of MySQL. One that is not in the calendar (``0000-00-00``, ``2026-02-00``) becomes NULL; not seen in real files."""
    try:
        return dt.date.fromisoformat(text)
    except ValueError:
        return None


def mysql_datetime(text: str) -> dt.datetime | None:
    """A date and time of MySQL; one that is not in the calendar becomes NULL."""
    try:
        return dt.datetime.fromisoformat(text)
    except ValueError:
        return None


def rstrip_spaces(text: str) -> str:
    """``char(n)`` without its padding."""
    return text.rstrip(" ")


def cut_text(max_bytes: int) -> Callable[[str], str]:
    """Return a converter that truncates text to ``max_bytes`` bytes of UTF-8, between characters, as limited LOB mode does."""

    def convert(text: str) -> str:
        # A character has at most four bytes.
        if len(text) * 4 <= max_bytes:
            return text
        return text.encode()[:max_bytes].decode(errors="ignore")

    return convert


def cut_bytes(max_bytes: int) -> Callable[[str], bytes]:
    """Return a converter of ``bytea`` that keeps the first ``max_bytes`` bytes."""

    def convert(text: str) -> bytes:
        return bytes.fromhex(text[2 : 2 + 2 * max_bytes])

    return convert


def cut_hex(max_bytes: int) -> Callable[[str], bytes]:
    """Return a converter of hexadecimal digits that keeps the first ``max_bytes`` bytes."""

    def convert(text: str) -> bytes:
        return bytes.fromhex(text[: 2 * max_bytes])

    return convert
