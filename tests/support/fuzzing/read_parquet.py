"""Parquet as pyarrow reads it, and which value of a silver column a value of a file is."""

import io
import math
import struct
from collections.abc import Callable
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import attrs
import pyarrow as pa
import pyarrow.parquet as pq

from support import text_oracle as text
from support.fuzzing.forms import DECLARED

UNFIT = object()
"""No value of the column: its row must not get into silver."""
_EPOCH = datetime(1970, 1, 1)
_STRING = pa.string()


@attrs.frozen
class Cell:
    """A value of a file; of text formats always text."""

    value: Any
    type: pa.DataType = _STRING

    @property
    def is_text(self) -> bool:
        return pa.types.is_string(self.type) or pa.types.is_large_string(self.type) or pa.types.is_dictionary(self.type)


@attrs.frozen
class Maybe:
    """A value that silver may have if it passes the test; its row may also be quarantined."""

    test: Callable[[Any], bool]


def read_columns(data: bytes) -> tuple[list[str], list[list[Cell]]]:
    """Names and cells of a Parquet file."""
    file = pq.ParquetFile(io.BytesIO(data), page_checksum_verification=False)
    table = file.read()
    table.validate()
    return list(table.column_names), [_cells(column) for column in table.columns]


def _cells(column: pa.ChunkedArray) -> list[Cell]:
    type_ = column.type
    if pa.types.is_dictionary(type_):
        column, type_ = column.cast(type_.value_type), type_.value_type
    if pa.types.is_string(type_) or pa.types.is_large_string(type_):
        return [Cell(_decoded(one), pa.string()) for one in column.cast(pa.binary()).to_pylist()]
    if pa.types.is_timestamp(type_):
        return [Cell(one, type_) for one in column.cast(pa.int64()).to_pylist()]
    if pa.types.is_date(type_):
        return [Cell(one, pa.date32()) for one in column.cast(pa.date32()).cast(pa.int32()).to_pylist()]
    return [Cell(one, type_) for one in column.to_pylist()]


def _decoded(data: bytes | None) -> Any:
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return UNFIT


def fit(cell: Cell, name: str) -> Any:
    """The value in silver, `UNFIT`, or a `Maybe`."""
    if cell.value is None or cell.value is UNFIT:
        return cell.value
    declared = DECLARED.get(name, "")
    if cell.is_text:
        return _of_text(cell.value, declared)
    return _NATIVE.get(declared, _as_it_is)(cell)


def _of_text(value: str, declared: str) -> Any:
    readers: dict[str, Callable[[str], Any]] = {
        "bigint": lambda one: text.integer(one, 64),
        "decimal(12,2)": lambda one: text.decimal(one, 12, 2),
        "timestamp": text.instant,
        "date": text.day,
        "boolean": text.boolean,
        "double": text.double,
    }
    if declared not in readers:
        return value
    found = readers[declared](value)
    return UNFIT if found is None else found


def _number(cell: Cell) -> Decimal | float | None:
    """A number exactly; floating ones as the shortest text that is read as them."""
    value = cell.value
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)) or pa.types.is_temporal(cell.type):
        return None
    if isinstance(value, float):
        return Decimal(_shortest(value, cell.type)) if math.isfinite(value) else value
    return Decimal(value)


def _shortest(value: float, type_: pa.DataType) -> str:
    if not pa.types.is_float32(type_):
        return repr(value)
    found = (f"{value:.{digits}g}" for digits in range(1, 18))
    return next(one for one in found if struct.pack("<f", float(one)) == struct.pack("<f", value))


def _bigint(cell: Cell) -> Any:
    number = _number(cell)
    if number is None:
        return Maybe(lambda found: isinstance(found, int) and _is_like(cell, found))
    if isinstance(number, float) or number != number.to_integral_value() or not -(2**63) <= number < 2**63:
        return UNFIT
    exact = int(cell.value) if isinstance(cell.value, float) else int(number)
    return exact if -(2**63) <= exact < 2**63 else UNFIT


def _is_like(cell: Cell, found: Any) -> bool:
    """Whether a number is what a boolean, or a moment of whole seconds, can be taken for."""
    if isinstance(cell.value, bool):
        return bool(found == int(cell.value))
    return pa.types.is_timestamp(cell.type) and found * 1_000_000 == _micros(cell)


def _decimal(cell: Cell) -> Any:
    number = _number(cell)
    if number is None:
        return Maybe(lambda found: isinstance(cell.value, bool) and found == int(cell.value))
    if isinstance(number, float):
        return UNFIT
    found = text.decimal(str(number), 12, 2)
    if isinstance(cell.value, float) and pa.types.is_float32(cell.type):
        # Several decimals are the nearest to one float, its own value among them.
        own = Decimal(cell.value)
        return UNFIT if found is None and text.decimal(str(own), 12, 2) is None else Maybe(lambda one: _single(one) == _single(own))
    return UNFIT if found is None else found


def _single(value: Decimal) -> bytes:
    return struct.pack("<f", float(value))


def _double(cell: Cell) -> Any:
    if isinstance(cell.value, float):
        return cell.value
    number = _number(cell)
    if number is None:
        return Maybe(lambda found: isinstance(cell.value, bool) and found == int(cell.value))
    assert isinstance(number, Decimal)
    # An integer has all its digits there or does not fit; of a decimal the nearest value may be meant.
    if float(number) == number:
        return float(number)
    return Maybe(lambda found: found == float(number)) if isinstance(cell.value, Decimal) else UNFIT


def _micros(cell: Cell) -> int | None:
    if pa.types.is_timestamp(cell.type):
        scale = {"s": 10**6, "ms": 10**3, "us": 1}.get(cell.type.unit)
        return cell.value * scale if scale else cell.value // 1000
    return cell.value * 86_400_000_000 if pa.types.is_date(cell.type) else None


def _timestamp(cell: Cell) -> Any:
    micros = _micros(cell)
    return Maybe(lambda found: False) if micros is None else micros


def _day(cell: Cell) -> Any:
    micros = _micros(cell)
    return Maybe(lambda found: False) if micros is None else micros // 86_400_000_000


def _boolean(cell: Cell) -> Any:
    if isinstance(cell.value, bool):
        return cell.value
    if pa.types.is_temporal(cell.type):
        # No day and no moment means true or false.
        return UNFIT
    return Maybe(lambda found: cell.value in (0, 1) and int(found) == cell.value)


def _string(cell: Cell) -> Any:
    value = cell.value
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, bytes):
        decoded = _decoded(value)
        return UNFIT if decoded is UNFIT else Maybe(lambda found: found == decoded)
    if isinstance(value, int) and not pa.types.is_temporal(cell.type):
        return str(value)
    return Maybe(lambda found: _same_text(found, cell))


def _same_text(found: str, cell: Cell) -> bool:
    value = cell.value
    if isinstance(value, Decimal):
        return Decimal(found) == value
    if isinstance(value, float):
        return struct.pack("<f" if pa.types.is_float32(cell.type) else "<d", float(found)) == struct.pack(
            "<f" if pa.types.is_float32(cell.type) else "<d", value
        ) or (math.isnan(float(found)) and math.isnan(value))
    return _micros(cell) is not None and text.instant(found) == _micros(cell)


def _as_it_is(cell: Cell) -> Any:
    """A column without a declared type, as whatever type it has in silver."""
    return Maybe(lambda found: _is_alike(found, cell))


def _is_alike(found: Any, cell: Cell) -> bool:
    value = cell.value
    if isinstance(found, str):
        try:
            return found == value or found == _string(cell) or _same_text(found, cell)
        except (ValueError, ArithmeticError, TypeError):
            return False
    if isinstance(found, bytearray):
        return bytes(found) == value
    if isinstance(found, datetime):
        shown = found.astimezone(UTC).replace(tzinfo=None) if found.tzinfo else found
        return _micros(cell) is not None and abs((shown - _EPOCH).total_seconds() * 1e6 - (_micros(cell) or 0)) % 900_000_000 < 1_000
    if isinstance(found, date):
        return bool((found - _EPOCH.date()).days == value)
    if isinstance(found, float) and isinstance(value, float):
        return text.same(found, value) or (math.isnan(found) and math.isnan(value))
    return bool(found == value) or str(found) == str(value)


_NATIVE: dict[str, Callable[[Cell], Any]] = {
    "bigint": _bigint,
    "decimal(12,2)": _decimal,
    "timestamp": _timestamp,
    "date": _day,
    "boolean": _boolean,
    "double": _double,
    "string": _string,
}
