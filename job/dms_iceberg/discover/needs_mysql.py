"""What the types of MySQL and MariaDB require in the configuration.

https://docs.aws.amazon.com/dms/latest/userguide/CHAP_Source.MySQL.html
"""

import re
from typing import Final

from dms_iceberg.discover.catalog import Column
from dms_iceberg.discover.needs import AS_TEXT, WALL_CLOCK, Need
from dms_iceberg.dms.mysql import GEOMETRIES
from dms_iceberg.dms.types import TEXT_KINDS, DmsType, Kind

_TOO_LARGE: Final = "bigint unsigned goes up to 18446744073709551615, beyond a bigint of Spark"
_UNSIGNED: Final = {Kind.UINT1: "int", Kind.UINT2: "int", Kind.UINT4: "bigint"}
_ZERO_DATE: Final = "the server allows zero dates (0000-00-00), which become NULL"
_GEOMETRY: Final = "a geometry: binary in silver, in a form that AWS does not document; `verify` does not compare it"
_BOOLEAN: Final = "tinyint(1): a number in silver. Where it holds nothing but 0 and 1, declare the type boolean"
_LOBS: Final = frozenset({"mediumtext", "longtext", "mediumblob", "longblob", "json"}) | GEOMETRIES
_PLAIN_TEXT: Final = frozenset({"char", "varchar", "tinytext", "text", "mediumtext", "longtext"})
_TINYINT_1: Final = re.compile(r"tinyint\(1\)(?! unsigned)")


def mysql_need(column: Column) -> Need:
    """Return what a column needs, and what becomes of its values."""
    zero = (_ZERO_DATE,) if column.zero_dates else ()
    unfit = "a zero date becomes NULL, and rows without a key are quarantined" if zero else ""
    if column.type == "datetime":
        return Need(type="timestamp_ntz", why=WALL_CLOCK, notes=zero, unfit_key=unfit)
    if column.dms is not None and column.dms.kind is Kind.UINT8:
        return Need(type="decimal(20,0)", why=_TOO_LARGE)
    is_lob = column.type in _LOBS
    note = _note(column)
    unfit = unfit or "it is a LOB for DMS, which cuts long ones" * is_lob
    return Need(notes=zero + ((note,) if note else ()), is_lob=is_lob, unfit_key=unfit)


def _note(column: Column) -> str:
    if column.dms is None:
        return _GEOMETRY
    if column.dms.kind in _UNSIGNED:
        return f"{column.type} unsigned: {_UNSIGNED[column.dms.kind]} in silver"
    if _TINYINT_1.match(column.shown):
        return _BOOLEAN
    if column.type == "bit":
        return "bit(1): boolean in silver" if column.dms.kind is Kind.BOOLEAN else "bits: binary in silver"
    if column.type == "json":
        return f"JSON: {AS_TEXT}; declare a struct, map or array to have it parsed"
    return _text_note(column, column.dms)


def _text_note(column: Column, type_: DmsType) -> str:
    if type_.kind not in TEXT_KINDS or column.type in _PLAIN_TEXT:
        return ""
    return f"a number of more than 38 digits: {AS_TEXT}" if column.type == "decimal" else f"{column.type}: {AS_TEXT}"
