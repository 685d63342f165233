"""The text of a DMS value in CSV, and in JSON where JSON has no value of that type."""

import math
import struct
from collections.abc import Callable
from typing import Any, Final

from dms_iceberg.dms.types import DmsType, Kind

Formatter = Callable[[Any], str]

_FLOAT4: Final = struct.Struct("f")


def _real4(value: float) -> str:
    # Rounded to single precision first: real files show 32.38 as +3.23800011e+01.
    return _scientific(_FLOAT4.unpack(_FLOAT4.pack(value))[0], 8)


def _real8(value: float) -> str:
    return _scientific(value, 16)


def _scientific(value: float, digits: int) -> str:
    return "nan" if math.isnan(value) else f"{value:+.{digits}e}"


def _datetime(value: Any) -> str:
    return str(value.replace(tzinfo=None).isoformat(" ", "microseconds"))


def formatter(dms_type: DmsType) -> Formatter:
    """Return a function from a value of a type to its text in CSV.

    Seen in real files: timestamps with six decimals, dates in ISO form, REAL in signed scientific notation with eight
    decimals. Not seen there: DOUBLE in the same notation with sixteen, booleans as ``true`` and ``false``, binary as hexadecimal digits.
    """
    if dms_type.kind is Kind.NUMERIC:
        scale = dms_type.scale
        return lambda value: f"{value:.{scale}f}"
    return _FORMATTERS.get(dms_type.kind, str)


_FORMATTERS: Final[dict[Kind, Formatter]] = {
    Kind.REAL4: _real4,
    Kind.REAL8: _real8,
    Kind.DATETIME: _datetime,
    Kind.DATE: lambda value: str(value.isoformat()),
    Kind.TIME: lambda value: str(value.isoformat()),
    Kind.BOOLEAN: lambda value: "true" if value else "false",
    Kind.BYTES: lambda value: bytes(value).hex(),
    Kind.BLOB: lambda value: bytes(value).hex(),
}
