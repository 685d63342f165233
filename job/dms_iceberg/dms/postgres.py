"""How DMS maps PostgreSQL's built-in types (user guide, "Source data types for PostgreSQL")."""

from typing import Final

import attrs

from dms_iceberg.dms import convert
from dms_iceberg.dms.convert import Converter
from dms_iceberg.dms.type_mapping import Mapped
from dms_iceberg.dms.types import DmsType, Kind

_PLAIN: Final[dict[str, tuple[Kind, Converter]]] = {
    "int8": (Kind.INT8, int),
    "int2": (Kind.INT2, int),
    "int4": (Kind.INT4, int),
    "oid": (Kind.INT8, int),  # unsigned 32 bit, which int8 holds
    "float4": (Kind.REAL4, float),
    "float8": (Kind.REAL8, float),
    "date": (Kind.DATE, convert.to_date),
    "timestamp": (Kind.DATETIME, convert.to_datetime),
    "timestamptz": (Kind.DATETIME, convert.to_datetime),
    "char": (Kind.WSTRING, None),
    "name": (Kind.WSTRING, None),
    "varchar": (Kind.WSTRING, None),
    "uuid": (Kind.STRING, None),
    "inet": (Kind.STRING, None),
    "cidr": (Kind.STRING, None),
    "macaddr": (Kind.STRING, None),
    "macaddr8": (Kind.STRING, None),
    "bit": (Kind.STRING, None),
    "varbit": (Kind.STRING, None),
    "interval": (Kind.STRING, None),
}
_LOBS: Final = frozenset({"text", "json", "xml", "jsonb", "tsvector", "tsquery"})
_LOB_NAMES: Final = frozenset({"hstore", "citext", "geometry", "geography"})
# atttypmod of numeric(p,s) is ((p << 16) | (s & 0x7FF)) + 4; the scale has eleven bits and a sign.
_TYPMOD_SHIFT: Final = 4
_SCALE_BITS: Final = 11
# DMS rounds a numeric without precision to this precision and scale.
_UNBOUNDED_NUMERIC: Final = (28, 6)
_MONEY: Final = (38, 4)


@attrs.frozen(kw_only=True)
class Choices:
    """Settings of a DMS task; the defaults are what these pipelines need.

    Attributes:
        boolean_as_boolean: ``MapBooleanAsBoolean``; False maps booleans to text.
        time_as_string: a mapping rule makes ``time`` a string.
        trim_char: ``TrimSpaceInChar``: padding of ``char(n)`` is removed.
        lob_bytes: ``LobMaxSize`` in bytes, None for no limit.
    """

    boolean_as_boolean: bool = True
    time_as_string: bool = False
    trim_char: bool = True
    lob_bytes: int | None = None


def built_in(name: str, modifier: int, choices: Choices) -> Mapped | None:
    """Return how DMS maps a built-in type, None for arrays and types that are not built in.

    Args:
        name: ``typname`` of ``pg_type``.
        modifier: ``atttypmod``.
    """
    if name in _PLAIN:
        kind, converter = _PLAIN[name]
        return Mapped(DmsType(kind), converter)
    if name in _LOBS:
        return lob(choices)
    match name:
        case "numeric":
            return _numeric(modifier)
        case "bool":
            return _boolean(choices)
        case "bytea":
            return _bytes(choices)
        case "bpchar":
            return Mapped(DmsType(Kind.WSTRING), convert.rstrip_spaces if choices.trim_char else None)
        case "money":
            return Mapped(DmsType(Kind.NUMERIC, *_MONEY), convert.to_money)
        case "time" | "timetz":
            # Zones and 24:00 are lost.
            return Mapped(DmsType(Kind.STRING)) if choices.time_as_string else Mapped(DmsType(Kind.TIME), convert.to_time, exact=False)
    return None


def user_defined(kind: str, category: str, name: str, choices: Choices) -> Mapped:
    """Return how DMS maps any other type: arrays and composites are LOBs; enums, ranges and geometric types are strings.

    Args:
        kind: ``typtype``.
        category: ``typcategory``.
        name: ``typname``.
    """
    if kind == "c" or category == "A" or name in _LOB_NAMES:
        return lob(choices)
    return Mapped(DmsType(Kind.STRING))


def lob(choices: Choices) -> Mapped:
    """Return the mapping of a text of any length: an NCLOB, truncated to ``choices.lob_bytes`` if set."""
    return Mapped(DmsType(Kind.NCLOB), None if choices.lob_bytes is None else convert.cut_text(choices.lob_bytes))


def _boolean(choices: Choices) -> Mapped:
    if choices.boolean_as_boolean:
        return Mapped(DmsType(Kind.BOOLEAN), convert.to_boolean)
    return Mapped(DmsType(Kind.STRING), convert.to_boolean_text)


def _bytes(choices: Choices) -> Mapped:
    return Mapped(DmsType(Kind.BLOB), convert.to_bytes if choices.lob_bytes is None else convert.cut_bytes(choices.lob_bytes))


def _numeric(modifier: int) -> Mapped:
    precision, scale = _UNBOUNDED_NUMERIC
    if modifier >= 0:
        packed = modifier - _TYPMOD_SHIFT
        sign = 1 << (_SCALE_BITS - 1)
        # Sign extension: a scale may be negative, and larger than the precision.
        precision, scale = packed >> 16, ((packed & ((1 << _SCALE_BITS) - 1)) ^ sign) - sign
    type_ = DmsType.numeric(precision, scale)
    if type_.precision is None or type_.scale is None:
        return Mapped(type_)
    return Mapped(type_, convert.numeric(type_.precision, type_.scale), exact=modifier >= 0)
