"""How DMS maps MySQL's types (user guide, "Source data types for MySQL"), and the SQL that shows their values as text."""

import re
from typing import Final

import attrs

from dms_iceberg.dms import convert
from dms_iceberg.dms.type_mapping import Mapped
from dms_iceberg.dms.types import LOB_KINDS, DmsType, Kind

_SIGNED: Final = {"tinyint": Kind.INT1, "smallint": Kind.INT2, "mediumint": Kind.INT4, "int": Kind.INT4, "bigint": Kind.INT8}
_UNSIGNED: Final = {"tinyint": Kind.UINT1, "smallint": Kind.UINT2, "mediumint": Kind.UINT4, "int": Kind.UINT4, "bigint": Kind.UINT8}
_BINARIES: Final = {
    "binary": Kind.BYTES,
    "varbinary": Kind.BYTES,
    "tinyblob": Kind.BYTES,
    "blob": Kind.BYTES,
    "mediumblob": Kind.BLOB,
    "longblob": Kind.BLOB,
}
_TEXTS: Final = {
    "char": Kind.WSTRING,
    "varchar": Kind.WSTRING,
    "tinytext": Kind.WSTRING,
    "text": Kind.WSTRING,
    "mediumtext": Kind.NCLOB,
    "longtext": Kind.NCLOB,
    "enum": Kind.WSTRING,
    "set": Kind.WSTRING,
    "json": Kind.CLOB,
}
_PLAIN: Final = {
    # The text has too few digits to find a FLOAT by it.
    "float": Mapped(DmsType(Kind.REAL4), float, exact=False),
    "double": Mapped(DmsType(Kind.REAL8), float),
    "year": Mapped(DmsType(Kind.INT2), int),
    "date": Mapped(DmsType(Kind.DATE), convert.mysql_date),
    "datetime": Mapped(DmsType(Kind.DATETIME), convert.mysql_datetime),
    "timestamp": Mapped(DmsType(Kind.DATETIME), convert.mysql_datetime),
}
GEOMETRIES: Final = frozenset(
    {
        "geometry",
        "point",
        "linestring",
        "polygon",
        "multipoint",
        "multilinestring",
        "multipolygon",
        "geometrycollection",
        "geomcollection",
    }
)
_LENGTH: Final = re.compile(r"\((\d+)\)")
_BITS_OF_BYTE: Final = 8


def text_sql(column: str, type_: str, shown: str, mapped: Mapped) -> str:
    """Return MySQL's SQL of the text that the converter of `map_type` expects, NULL for NULL.

    Args:
        column: SQL of the value.
        type_: ``DATA_TYPE``.
        shown: ``COLUMN_TYPE``.
        mapped: what `map_type` returns for it.
    """
    kind = mapped.type.kind
    if kind in (Kind.REAL4, Kind.REAL8):
        # The text of a FLOAT has six digits only; that of a DOUBLE has all of them. A sum would take the sign from -0.
        return f"CAST({column} * 1E0 AS CHAR)"
    if kind is Kind.BOOLEAN:
        return f"IF({column} IS NULL, NULL, IF({column} = b'1', 'true', 'false'))"
    if type_ == "bit":
        # HEX treats bits as a number and omits leading zeros.
        return f"LPAD(HEX({column}), {2 * bit_bytes(shown)}, '0')"
    return f"HEX({column})" if kind in (Kind.BYTES, Kind.BLOB) else f"CAST({column} AS CHAR)"


def map_type(type_: str, shown: str, precision: int | None, scale: int | None) -> Mapped | None:
    """Return how DMS maps a type, None for geometries: the guide says BLOB, and does not say in which form.

    The converter expects the text of ``CAST(... AS CHAR)``; for binaries and bits, two hexadecimal digits per byte; for a single bit,
    ``true`` or ``false``. `text_sql` writes it.

    Args:
        type_: ``DATA_TYPE``.
        shown: ``COLUMN_TYPE``, which shows unsigned and lengths.
        precision: of a decimal.
        scale: of a decimal.
    """
    if type_ in GEOMETRIES:
        return None
    if type_ in _SIGNED:
        # ZEROFILL only changes how a number is shown.
        return Mapped(DmsType((_UNSIGNED if "unsigned" in shown else _SIGNED)[type_]), int)
    if type_ in _BINARIES:
        return Mapped(DmsType(_BINARIES[type_]), bytes.fromhex)
    if type_ in _PLAIN:
        return _PLAIN[type_]
    match type_:
        case "decimal":
            return _decimal(10 if precision is None else precision, scale or 0)
        case "bit":
            return _bits(bits(shown))
    return Mapped(DmsType(_TEXTS.get(type_, Kind.STRING)))


def limited(mapped: Mapped, lob_bytes: int) -> Mapped:
    """Return the mapping with LOBs cut to so many bytes (``LobMaxSize``)."""
    if mapped.type.kind is Kind.BLOB:
        return attrs.evolve(mapped, converter=convert.cut_hex(lob_bytes))
    return attrs.evolve(mapped, converter=convert.cut_text(lob_bytes)) if mapped.type.kind in LOB_KINDS else mapped


def bits(shown: str) -> int:
    """Return how many bits a ``bit(n)`` has."""
    found = _LENGTH.search(shown)
    return int(found[1]) if found else 1


def bit_bytes(shown: str) -> int:
    """Return how many bytes hold a ``bit(n)``."""
    return -(-bits(shown) // _BITS_OF_BYTE)


def _bits(count: int) -> Mapped:
    # A query cannot find a key of either type by its text in an IN list.
    return Mapped(DmsType(Kind.BOOLEAN), convert.to_boolean, exact=False) if count == 1 else Mapped(_BYTES, bytes.fromhex, exact=False)


_BYTES: Final = DmsType(Kind.BYTES)


def _decimal(precision: int, scale: int) -> Mapped:
    type_ = DmsType.numeric(precision, scale)
    if type_.precision is None or type_.scale is None:
        # ZEROFILL again: the type is text, but the value is a number.
        return Mapped(type_, convert.plain_number)
    return Mapped(type_, convert.numeric(type_.precision, type_.scale))
