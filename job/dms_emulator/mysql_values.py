"""Values of MySQL's binary log as the texts that a query shows, for the one type mapping in `dms_iceberg.dms.mysql`.

The library ``mysql-replication`` finds its way through the events. `raw` lets it hand over bytes and numbers where it would
change a value: it guesses character sets and leaves out what does not decode, has no dates outside the calendar, and misreads
negative times with a fraction (1.0.17).
"""

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Final

import attrs
from pymysqlreplication.constants import FIELD_TYPE

from dms_emulator.errors import EmulatorError
from dms_iceberg.dms.mysql import bit_bytes, bits

Reader = Callable[[Any], str]
"""Returns the text of a value that is not NULL."""
Decoder = Callable[[bytes], str]
"""Returns the text of the bytes of a character set."""

BINARY: Final = "binary"
_NUMBERS: Final = {
    FIELD_TYPE.TINY: "tinyint",
    FIELD_TYPE.SHORT: "smallint",
    FIELD_TYPE.INT24: "mediumint",
    FIELD_TYPE.LONG: "int",
    FIELD_TYPE.LONGLONG: "bigint",
    FIELD_TYPE.FLOAT: "float",
    FIELD_TYPE.DOUBLE: "double",
}
_PLAIN: Final = {FIELD_TYPE.YEAR: "year", FIELD_TYPE.DATE: "date", FIELD_TYPE.GEOMETRY: "geometry", FIELD_TYPE.JSON: "json"}
_TIMES: Final = {FIELD_TYPE.TIME2: "time", FIELD_TYPE.DATETIME2: "datetime", FIELD_TYPE.TIMESTAMP2: "timestamp"}
# Bytes without the fraction (MySQL, my_time.cc), which has one byte for two digits.
_TIME_BYTES: Final = {"time": 3, "datetime": 5, "timestamp": 4}
_CHARACTERS: Final = {FIELD_TYPE.STRING: ("char", "binary"), FIELD_TYPE.VARCHAR: ("varchar", "varbinary")}
_BLOBS: Final = {1: ("tinytext", "tinyblob"), 2: ("text", "blob"), 3: ("mediumtext", "mediumblob"), 4: ("longtext", "longblob")}
_CHOICES: Final = {FIELD_TYPE.ENUM: "enum", FIELD_TYPE.SET: "set"}
# By their size in bytes, as little-endian numbers.
_UNSIGNED: Final = {1: FIELD_TYPE.TINY, 2: FIELD_TYPE.SHORT, 3: FIELD_TYPE.INT24, 4: FIELD_TYPE.LONG, 8: FIELD_TYPE.LONGLONG}
_ONE_TO_ONE: Final = "iso8859_1"
CODECS: Final = {
    "utf8mb4": "utf-8",
    "utf8mb3": "utf-8",
    "utf8": "utf-8",
    "ucs2": "utf-16-be",
    "utf16": "utf-16-be",
    "utf16le": "utf-16-le",
    "utf32": "utf-32-be",
}
"""Character sets of several bytes whose texts Python reads as the server does. For those of one byte the server itself is asked."""
_CHOICE_SETS: Final = frozenset({"utf8mb4", "utf8mb3", "utf8", "ascii"})


@attrs.frozen
class LogColumn:
    """A column as the binary log describes it.

    Attributes:
        type: what the catalog calls ``DATA_TYPE``.
        shown: the part of ``COLUMN_TYPE`` that determines values: unsigned, and the number of bits.
        precision: of a decimal; of a time the digits of its fraction.
        size: bytes of a fixed-length binary.
        character_set: of text, ``binary`` for bytes; else None.
        members: of an enum or a set.
    """

    name: str
    type: str
    shown: str
    key: bool
    precision: int | None = None
    scale: int | None = None
    size: int | None = None
    character_set: str | None = None
    members: tuple[str, ...] = ()


def described(column: Any, *, key: bool, character_set: str | None) -> LogColumn:
    """Return the description of a column of the library's ``TableMapEvent``.

    Raises:
        EmulatorError: its type is not known. The message begins with the column's name.
    """
    name, code = column.name, column.type
    if code in _NUMBERS:
        type_ = _NUMBERS[code]
        return LogColumn(name, type_, f"{type_} unsigned" if column.unsigned else type_, key)
    if code in _TIMES:
        return LogColumn(name, _TIMES[code], "", key, precision=column.fsp)
    if code == FIELD_TYPE.NEWDECIMAL:
        return LogColumn(name, "decimal", "", key, column.precision, column.decimals)
    if code == FIELD_TYPE.BIT:
        return LogColumn(name, "bit", f"bit({column.bits})", key)
    if code in _CHOICES:
        members = (column.enum_values or [""])[1:] if code == FIELD_TYPE.ENUM else column.set_values
        return LogColumn(name, _CHOICES[code], "", key, character_set=character_set, members=tuple(members or ()))
    if code in _CHARACTERS:
        type_ = _CHARACTERS[code][character_set == BINARY]
        return LogColumn(name, type_, "", key, size=column.max_length, character_set=character_set)
    if code == FIELD_TYPE.BLOB:
        return LogColumn(name, _BLOBS[column.length_size][character_set == BINARY], "", key, character_set=character_set)
    if code in _PLAIN:
        return LogColumn(name, _PLAIN[code], "", key)
    raise EmulatorError(f"{name}: the binary log has type number {code}, which the emulator does not know")


def raw(column: Any) -> None:
    """Change a column of the library's ``TableMapEvent``, so that it hands over what `reader` expects."""
    code = column.type
    if code in _TIMES:
        column.bytes = _TIME_BYTES[_TIMES[code]] + (column.fsp + 1) // 2
        column.type, column.bits = FIELD_TYPE.BIT, 8 * column.bytes
    elif code == FIELD_TYPE.DATE:
        column.type, column.unsigned = FIELD_TYPE.INT24, True
    elif code in _CHOICES:
        column.type, column.unsigned = _UNSIGNED[column.size], True
    elif code in _CHARACTERS or code == FIELD_TYPE.BLOB:
        column.character_set_name = _ONE_TO_ONE


def reader(column: LogColumn, decode: Decoder) -> Reader:
    """Return the function that turns the library's value of a column into the text that a query shows.

    The texts are those that `dms_iceberg.dms.mysql.text_sql` selects.

    Args:
        decode: for the column's character set, if it has one.

    Raises:
        EmulatorError: values of the column cannot be shown. The message begins with the column's name.
    """
    match column.type:
        case "decimal":
            return lambda value: format(value, "f") if isinstance(value, Decimal) else str(value)
        case "float" | "double":
            return repr
        case "year":
            # The log counts from 1900, and has 0 for the year 0000.
            return lambda value: str(value if value > 1900 else 0)
        case "date":
            return _date
        case "time" | "datetime" | "timestamp":
            return _time_reader(column.type, column.precision or 0)
        case "bit":
            return _bits_reader(column.shown)
        case "enum" | "set":
            return _choice_reader(column)
    return _text_reader(column, decode) if column.character_set is not None else str


def _date(value: int) -> str:
    return f"{value >> 9:04d}-{value >> 5 & 15:02d}-{value & 31:02d}"


def _time_reader(type_: str, digits: int) -> Reader:
    fraction_bytes = (digits + 1) // 2
    shift = 8 * fraction_bytes
    sign = 1 << 8 * _TIME_BYTES[type_] - 1 + shift
    show = {"time": _clock, "datetime": _moment, "timestamp": _instant}[type_]

    def read(value: str) -> str:
        number = int(value, 2)
        if type_ != "timestamp":
            number -= sign
        size = abs(number)
        fraction = f".{size & (1 << shift) - 1:0{2 * fraction_bytes}d}"[: digits + 1] if digits else ""
        return f"{'-' if number < 0 else ''}{show(size >> shift)}{fraction}"

    return read


def _clock(packed: int) -> str:
    return f"{packed >> 12:02d}:{packed >> 6 & 63:02d}:{packed & 63:02d}"


def _moment(packed: int) -> str:
    months, day = divmod(packed >> 17, 32)
    return f"{months // 13:04d}-{months % 13:02d}-{day:02d} {_clock(packed & 0x1FFFF)}"


def _instant(seconds: int) -> str:
    if seconds == 0:
        return "0000-00-00 00:00:00"
    return dt.datetime.fromtimestamp(seconds, dt.UTC).strftime("%Y-%m-%d %H:%M:%S")


def _bits_reader(shown: str) -> Reader:
    if bits(shown) == 1:
        return lambda value: "true" if int(value, 2) else "false"
    digits = 2 * bit_bytes(shown)
    return lambda value: f"{int(value, 2):0{digits}X}"


def _choice_reader(column: LogColumn) -> Reader:
    members = column.members
    # The library decodes them as UTF-8, and shows what it cannot decode as nothing.
    if column.character_set not in _CHOICE_SETS and not all(member.isascii() and member.isprintable() and member for member in members):
        raise EmulatorError(
            f"{column.name}: {column.type} in character set {column.character_set} with members that are not ASCII;"
            " the emulator reads them in utf8mb4 only"
        )
    if column.type == "enum":
        # 0 is the empty text of a value that was not allowed.
        return lambda value: members[value - 1] if value else ""
    return lambda value: ",".join(member for number, member in enumerate(members) if value >> number & 1)


def _text_reader(column: LogColumn, decode: Decoder) -> Reader:
    if column.character_set == BINARY:
        # The log leaves out the zero bytes at the end of a BINARY.
        size = (column.size or 0) if column.type == "binary" else 0
        return lambda value: value.encode(_ONE_TO_ONE).ljust(size, b"\0").hex()
    return lambda value: decode(value.encode(_ONE_TO_ONE))
