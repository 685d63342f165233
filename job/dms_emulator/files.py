"""The shape of DMS files, without a database: turns layouts and changes into keys and bytes.

layout = TableLayout("shop", "orders", (Column("id", "int8", key=True), Column("total", "numeric(12,2)")))
sequence = ChangeSequence()
sequence.begin(commit_us)
change = Change("I", commit_us, (1, Decimal("9.90")), sequence.advance())
store.put(cdc_key("shop", "orders", close_ms, shape.extension), encode(layout, [change], shape))
"""

import gzip
from collections.abc import Sequence

from dms_emulator.columns import column_names
from dms_emulator.keys import DateDelimiter, DatePartition, DateSequence, cdc_key, load_key
from dms_emulator.layout import NOT_SUPPLIED, BeforeImages, Change, Column, CsvShape, FileFormat, FileShape, TableLayout, Value
from dms_emulator.parquet_shape import encode_parquet
from dms_emulator.sequence import ChangeSequence, time_part, timestamp_text
from dms_emulator.text_shape import encode_csv, encode_json
from dms_iceberg.dms.types import DmsType, Kind

__all__ = [
    "NOT_SUPPLIED",
    "BeforeImages",
    "Change",
    "ChangeSequence",
    "Column",
    "CsvShape",
    "DateDelimiter",
    "DatePartition",
    "DateSequence",
    "DmsType",
    "FileFormat",
    "FileShape",
    "Kind",
    "TableLayout",
    "Value",
    "cdc_key",
    "column_names",
    "encode",
    "load_key",
    "time_part",
    "timestamp_text",
]


def encode(layout: TableLayout, changes: Sequence[Change], shape: FileShape, *, load: bool = False) -> bytes:
    """Return the bytes of one file.

    Args:
        layout: the table; each change has one value for each of its columns.
        changes: the rows, in their order in the file. Without any, the file has no rows: for CSV the header alone, or
            zero bytes.
        shape: format and service columns.
        load: whether it is a full-load file, which has no ``Op`` if ``shape.op_on_full_load`` is False.

    Raises:
        ValueError: a value does not fit its column's type (Parquet only; text formats accept any value).
    """
    if shape.format is FileFormat.PARQUET:
        return encode_parquet(layout, changes, shape, load=load)
    encoder = encode_csv if shape.format is FileFormat.CSV else encode_json
    data = encoder(layout, changes, shape, load=load)
    # mtime=0: equal rows give equal bytes.
    return gzip.compress(data, 6, mtime=0) if shape.gzip else data
