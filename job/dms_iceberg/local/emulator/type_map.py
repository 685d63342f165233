"""How DMS maps PostgreSQL's types (user guide, "Source data types for PostgreSQL")."""

from typing import Any, Final

import attrs
import psycopg

from dms_iceberg.local.emulator import values
from dms_iceberg.local.emulator.layout import MAX_NUMERIC_PRECISION, DmsType, Kind
from dms_iceberg.local.emulator.settings import EmulatorSettings
from dms_iceberg.local.emulator.values import Converter

# Oids of built-in types are fixed (pg_type.dat); those that need a setting are in ``_built_in``.
_PLAIN: Final[dict[int, tuple[Kind, Converter]]] = {
    20: (Kind.INT8, int),
    21: (Kind.INT2, int),
    23: (Kind.INT4, int),
    26: (Kind.INT8, int),  # oid: unsigned 32 bit, which int8 holds
    700: (Kind.REAL4, float),
    701: (Kind.REAL8, float),
    1082: (Kind.DATE, values.to_date),
    1114: (Kind.DATETIME, values.to_datetime),
    1184: (Kind.DATETIME, values.to_datetime),
    18: (Kind.WSTRING, None),  # "char"
    19: (Kind.WSTRING, None),  # name
    1043: (Kind.WSTRING, None),  # varchar
    2950: (Kind.STRING, None),  # uuid
    869: (Kind.STRING, None),  # inet
    650: (Kind.STRING, None),  # cidr
    829: (Kind.STRING, None),  # macaddr
    774: (Kind.STRING, None),  # macaddr8
    1560: (Kind.STRING, None),  # bit
    1562: (Kind.STRING, None),  # varbit
    1186: (Kind.STRING, None),  # interval
}
# text, json, xml, jsonb, tsvector, tsquery
_LOBS: Final = frozenset({25, 114, 142, 3802, 3614, 3615})
_LOB_NAMES: Final = frozenset({"hstore", "citext", "geometry", "geography"})
_MAX_DOMAIN_DEPTH: Final = 32
# atttypmod of numeric(p,s) is ((p << 16) | (s & 0x7FF)) + 4; the scale has eleven bits and a sign.
_TYPMOD_SHIFT: Final = 4
_SCALE_BITS: Final = 11
# What DMS makes of a numeric without precision: it rounds.
_UNBOUNDED_NUMERIC: Final = (28, 6)


@attrs.frozen
class Mapped:
    """A DMS type, and what makes its values of PostgreSQL's texts."""

    type: DmsType
    converter: Converter


class TypeMap:
    """The mapping under one task's settings; asks the source about types that are not built in.

    Args:
        settings: LOB size and mapping switches.
        connection: where unknown types are looked up; in autocommit mode.
    """

    def __init__(self, settings: EmulatorSettings, connection: "psycopg.Connection[Any]") -> None:
        self._settings = settings
        self._connection = connection
        self._lob_bytes = settings.lob_max_kb * 1024

    def map(self, oid: int, modifier: int) -> Mapped:
        """The DMS type of a PostgreSQL type, given by its oid and ``atttypmod``."""
        for _ in range(_MAX_DOMAIN_DEPTH):
            mapped = self._built_in(oid, modifier)
            if mapped is not None:
                return mapped
            row = self._connection.execute(
                "select typtype::text, typname::text, typcategory::text, typbasetype::int8, typtypmod from pg_type where oid = %s",
                (oid,),
            ).fetchone()
            if row is None or row[0] != "d":
                return self._user_defined(row)
            # A domain: the modifier is part of its definition.
            oid, modifier = row[3], row[4]
        return self._lob()

    def _built_in(self, oid: int, modifier: int) -> Mapped | None:
        if oid in _PLAIN:
            kind, converter = _PLAIN[oid]
            return Mapped(DmsType(kind), converter)
        if oid in _LOBS:
            return self._lob()
        match oid:
            case 1700:  # numeric
                return _map_numeric(modifier)
            case 16:  # bool
                return self._boolean()
            case 17:  # bytea
                return Mapped(DmsType(Kind.BLOB), values.cut_bytes(self._lob_bytes))
            case 1042:  # char(n)
                trim = values.rstrip_spaces if self._settings.trim_char else None
                return Mapped(DmsType(Kind.WSTRING), trim)
            case 790:  # money
                return Mapped(DmsType(Kind.NUMERIC, MAX_NUMERIC_PRECISION, 4), values.to_money)
            case 1083 | 1266:  # time, timetz
                if self._settings.time_as_string:
                    return Mapped(DmsType(Kind.STRING), None)
                return Mapped(DmsType(Kind.TIME), values.to_time)
        return None

    def _boolean(self) -> Mapped:
        if self._settings.boolean_as_boolean:
            return Mapped(DmsType(Kind.BOOLEAN), values.to_boolean)
        return Mapped(DmsType(Kind.STRING), values.to_boolean_text)

    def _lob(self) -> Mapped:
        return Mapped(DmsType(Kind.NCLOB), values.cut_text(self._lob_bytes))

    def _user_defined(self, row: tuple[Any, ...] | None) -> Mapped:
        # Arrays and composites are LOBs; enums, ranges and geometric types are strings.
        if row is not None and (row[0] == "c" or row[2] == "A" or row[1] in _LOB_NAMES):
            return self._lob()
        return Mapped(DmsType(Kind.STRING), None)


def _map_numeric(modifier: int) -> Mapped:
    if modifier < 0:
        precision, scale = _UNBOUNDED_NUMERIC
    else:
        packed = modifier - _TYPMOD_SHIFT
        precision = packed >> 16
        # Sign extension: a scale may be negative, and larger than the precision.
        scale = ((packed & ((1 << _SCALE_BITS) - 1)) ^ (1 << (_SCALE_BITS - 1))) - (1 << (_SCALE_BITS - 1))
        precision, scale = max(precision - min(scale, 0), scale), max(scale, 0)
    if precision > MAX_NUMERIC_PRECISION:
        return Mapped(DmsType(Kind.STRING), None)
    return Mapped(DmsType(Kind.NUMERIC, precision, scale), values.numeric(precision, scale))
