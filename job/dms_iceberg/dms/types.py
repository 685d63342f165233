"""DMS's data types."""

import datetime as dt
import re
from decimal import Decimal
from enum import StrEnum
from typing import Final, TypeAlias

import attrs

MAX_NUMERIC_PRECISION: Final = 38

DmsValue: TypeAlias = bool | int | float | Decimal | str | bytes | dt.datetime | dt.date | dt.time | None


class Kind(StrEnum):
    """DMS data types, by the names its documentation uses, in lower case."""

    INT1 = "int1"
    INT2 = "int2"
    INT4 = "int4"
    INT8 = "int8"
    UINT1 = "uint1"
    UINT2 = "uint2"
    UINT4 = "uint4"
    UINT8 = "uint8"
    NUMERIC = "numeric"
    REAL4 = "real4"
    REAL8 = "real8"
    STRING = "string"
    WSTRING = "wstring"
    CLOB = "clob"
    NCLOB = "nclob"
    BYTES = "bytes"
    BLOB = "blob"
    DATETIME = "datetime"
    DATE = "date"
    TIME = "time"
    BOOLEAN = "boolean"


TEXT_KINDS: Final = frozenset({Kind.STRING, Kind.WSTRING, Kind.CLOB, Kind.NCLOB})
LOB_KINDS: Final = frozenset({Kind.CLOB, Kind.NCLOB, Kind.BLOB})
INTEGER_KINDS: Final = frozenset({Kind.INT1, Kind.INT2, Kind.INT4, Kind.INT8, Kind.UINT1, Kind.UINT2, Kind.UINT4, Kind.UINT8})

_TYPE = re.compile(r"([a-z0-9]+)(?:\((\d+)(?:,\s*(\d+))?\))?")


@attrs.frozen
class DmsType:
    """A DMS data type. ``precision`` and ``scale`` are those of ``numeric`` and None for every other kind."""

    kind: Kind
    precision: int | None = None
    scale: int | None = None

    def __attrs_post_init__(self) -> None:
        if self.kind is not Kind.NUMERIC:
            if self.precision is not None or self.scale is not None:
                raise ValueError(f"DMS type {self.kind}: precision and scale belong to numeric only")
            return
        precision, scale = self.precision, self.scale
        if precision is None or scale is None or not 0 <= scale <= precision <= MAX_NUMERIC_PRECISION:
            raise ValueError(
                f"DMS type numeric: needs 0 <= scale <= precision <= {MAX_NUMERIC_PRECISION},"
                f" found precision {precision} and scale {scale}; DMS writes wider numbers as string"
            )

    @classmethod
    def parse(cls, text: str) -> "DmsType":
        """Read a type such as ``int4``, ``numeric(15,2)`` or ``wstring``.

        Raises:
            ValueError: the text is not a DMS type.
        """
        match = _TYPE.fullmatch(text.strip().lower())
        names = ", ".join(kind.value for kind in Kind)
        if match is None or match[1] not in set(Kind):
            raise ValueError(f"DMS type {text!r}: unknown; allowed are {names}, numeric with (precision,scale)")
        kind = Kind(match[1])
        if kind is not Kind.NUMERIC:
            # A length, as in wstring(50), does not affect the bytes of a file.
            return cls(kind)
        return cls(kind, int(match[2]) if match[2] else None, int(match[3] or 0) if match[2] else None)

    def __str__(self) -> str:
        if self.kind is Kind.NUMERIC:
            return f"numeric({self.precision},{self.scale})"
        return self.kind.value

    @classmethod
    def numeric(cls, precision: int, scale: int) -> "DmsType":
        """Return the type of a decimal with this precision and scale: text when Parquet has no decimal that wide."""
        # A scale may be negative, or larger than the precision.
        precision, scale = max(precision - min(scale, 0), scale), max(scale, 0)
        return cls(Kind.NUMERIC, precision, scale) if precision <= MAX_NUMERIC_PRECISION else cls(Kind.STRING)
