"""Parquet as DMS writes it: PLAIN, format 1.0, data page V1, without an Arrow schema inside (real files of 2022)."""

import io
from collections.abc import Sequence
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from dms_emulator.columns import FileColumn, file_columns
from dms_emulator.layout import NOT_SUPPLIED, Change, FileShape, TableLayout
from dms_iceberg.dms.types import DmsType, Kind

ROW_GROUP_ROWS: Final = 10_000  # ``RowGroupLength``

_ARROW: Final[dict[Kind, pa.DataType]] = {
    Kind.INT1: pa.int8(),
    Kind.INT2: pa.int16(),
    Kind.INT4: pa.int32(),
    Kind.INT8: pa.int64(),
    Kind.UINT1: pa.uint8(),
    Kind.UINT2: pa.uint16(),
    Kind.UINT4: pa.uint32(),
    Kind.UINT8: pa.uint64(),
    Kind.REAL4: pa.float32(),
    Kind.REAL8: pa.float64(),
    Kind.STRING: pa.string(),
    Kind.WSTRING: pa.string(),
    Kind.CLOB: pa.string(),
    Kind.NCLOB: pa.string(),
    Kind.BYTES: pa.binary(),
    Kind.BLOB: pa.binary(),
    Kind.DATE: pa.date32(),
    Kind.TIME: pa.time32("ms"),
    Kind.BOOLEAN: pa.bool_(),
}


def arrow_type(dms_type: DmsType, *, millis: bool = False) -> pa.DataType:
    """Return the Arrow type whose Parquet form DMS writes for a DMS type.

    A ``datetime`` is always marked as adjusted to UTC, even if the source column has no zone (real files),
    and ``time`` is TIME32, which Spark 3.5 cannot read.

    Args:
        dms_type: the column's type.
        millis: ``ParquetTimestampInMillisecond``.
    """
    if dms_type.kind is Kind.DATETIME:
        return pa.timestamp("ms" if millis else "us", tz="UTC")
    if dms_type.kind is Kind.NUMERIC:
        return pa.decimal128(dms_type.precision, dms_type.scale)
    return _ARROW[dms_type.kind]


def arrow_schema(columns: Sequence[FileColumn], *, millis: bool = False) -> pa.Schema:
    """Return a file's schema: Op and timestamp are required; every source column, even of the key, is optional."""
    return pa.schema([pa.field(column.name, arrow_type(column.type, millis=millis), nullable=not column.required) for column in columns])


def encode_parquet(layout: TableLayout, changes: Sequence[Change], shape: FileShape, *, load: bool = False) -> bytes:
    """Return the bytes of a Parquet file with ``changes`` in order; without changes, of a file with zero rows.

    Raises:
        ValueError: a value does not fit its column's type; the message names table and column, not the value.
    """
    columns = file_columns(layout, changes, shape, load=load)
    schema = arrow_schema(columns, millis=shape.timestamp_millis)
    arrays = [_array(layout, column, field.type) for column, field in zip(columns, schema, strict=True)]
    sink = io.BytesIO()
    pq.write_table(
        pa.Table.from_arrays(arrays, schema=schema),
        sink,
        version="1.0",
        data_page_version="1.0",
        use_dictionary=False,
        column_encoding=dict.fromkeys(schema.names, "PLAIN"),
        compression="GZIP" if shape.gzip else "NONE",
        store_schema=False,
        row_group_size=ROW_GROUP_ROWS,
    )
    return sink.getvalue()


def _texts(cells: Sequence[Any]) -> pa.Array:
    try:
        return pa.array(cells, pa.string())
    except UnicodeEncodeError:
        encoded = [None if cell is None else cell.encode(errors="surrogateescape") for cell in cells]
        # A view keeps the bytes as they are; a cast would reject them.
        return pa.array(encoded, pa.binary()).view(pa.string())


def _array(layout: TableLayout, column: FileColumn, data_type: pa.DataType) -> pa.Array:
    cells = column.cells
    if NOT_SUPPLIED in cells:
        cells = [None if cell is NOT_SUPPLIED else cell for cell in cells]
    try:
        if data_type == pa.string():
            return _texts(cells)
        return pa.array(cells, data_type)
    except (pa.ArrowException, TypeError, OverflowError) as error:
        raise ValueError(
            f"{layout.schema}.{layout.name}, column {column.name}: a value does not fit DMS type {column.type} ({type(error).__name__})"
        ) from None
