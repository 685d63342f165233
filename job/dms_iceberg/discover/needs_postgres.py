"""What PostgreSQL's types require in the configuration.

https://docs.aws.amazon.com/dms/latest/userguide/CHAP_Source.PostgreSQL.html
"""

from typing import Final

from dms_iceberg.discover.catalog import Column
from dms_iceberg.discover.needs import AS_TEXT, WALL_CLOCK, Need
from dms_iceberg.dms.types import LOB_KINDS, TEXT_KINDS, Kind

_TIME: Final = "a time of day, which Spark cannot read from Parquet unless DMS writes it as text"
_ROUNDED: Final = (
    "numeric without precision: DMS rounds to 6 decimals, and a value with more than 22 digits before the point is NULL. Where that is "
    "not enough, give the column a precision at the source"
)
_ENDS: Final = "infinity, and what is outside of the years 1 to 9999, may become one value, and so two keys one"
_NOTES: Final = {
    "money": "money: decimal(38,4) in silver",
    "oid": "oid: a number in silver; DMS does not copy the large object that it may stand for",
    "bit": "bits: a text of 0 and 1 in silver",
    "varbit": "bits: a text of 0 and 1 in silver",
    "json": f"JSON: {AS_TEXT}; declare a struct, map or array to have it parsed",
    "jsonb": f"JSON: {AS_TEXT}; declare a struct, map or array to have it parsed",
}
_POSTGIS: Final = frozenset({"geometry", "geography", "raster", "box2d", "box3d", "geomval"})
_POSTGIS_NOTE: Final = "PostGIS: AWS supports these types to PostgreSQL targets only, so do not rely on what the files show"
# Text as a reader expects it.
_PLAIN_TEXT: Final = frozenset({"text", "varchar", "bpchar", "char", "name", "citext"})


def postgres_need(column: Column) -> Need:
    """Return what a column needs, and what becomes of its values."""
    type_ = column.type
    is_lob = column.dms is not None and column.dms.kind in LOB_KINDS
    if type_ == "timestamp":
        return Need(type="timestamp_ntz", why=WALL_CLOCK, unfit_key=_ENDS)
    if type_ in ("timestamptz", "date"):
        return Need(unfit_key=_ENDS)
    if type_ in ("time", "timetz"):
        return Need(as_text=True, why=_TIME, notes=("timetz: its zone may be lost",) if type_ == "timetz" else ())
    if not column.has_precision:
        return Need(notes=(_ROUNDED,), unfit_key="DMS rounds a numeric without precision, which may make two keys one")
    notes = _note(column)
    return Need(notes=(notes,) if notes else (), is_lob=is_lob, unfit_key="it is a LOB for DMS, which cuts or refuses long ones" * is_lob)


def _note(column: Column) -> str:
    if column.type in _POSTGIS and not column.built_in:
        return _POSTGIS_NOTE
    if column.type in _NOTES:
        return _NOTES[column.type]
    if column.type == "numeric" and column.dms is not None and column.dms.kind is Kind.STRING:
        return f"a number of more than 38 digits: {AS_TEXT}"
    if column.dms is not None and column.dms.kind in TEXT_KINDS and column.type not in _PLAIN_TEXT:
        return f"{column.shown}: {AS_TEXT}"
    return ""
