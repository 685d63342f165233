"""The physical shape of Parquet files against what real DMS objects looked like."""

import datetime as dt
import io

import pyarrow.parquet as pq
import pytest

from dms_emulator.files import NOT_SUPPLIED, Change, Column, FileShape, TableLayout, encode
from emulator.samples import ALL_TYPES, FULL_ROW


def test_parquet_has_the_real_files_physical_shape() -> None:
    data = encode(ALL_TYPES, [Change("I", 0, FULL_ROW, "s", "p")], FileShape())
    file = pq.ParquetFile(io.BytesIO(data))
    schema = file.schema
    shown = {schema.column(i).name: (schema.column(i).physical_type, schema.column(i).converted_type) for i in range(len(schema.names))}
    assert shown == {
        "Op": ("BYTE_ARRAY", "UTF8"),
        "dms_commit_ts": ("BYTE_ARRAY", "UTF8"),
        "id": ("INT64", "NONE"),
        "small": ("INT32", "INT_16"),
        "tiny": ("INT32", "INT_8"),
        "number": ("FIXED_LEN_BYTE_ARRAY", "DECIMAL"),
        "money": ("FIXED_LEN_BYTE_ARRAY", "DECIMAL"),
        "single": ("FLOAT", "NONE"),
        "double": ("DOUBLE", "NONE"),
        "text": ("BYTE_ARRAY", "UTF8"),
        "doc": ("BYTE_ARRAY", "UTF8"),
        "raw": ("BYTE_ARRAY", "NONE"),
        "at": ("INT64", "TIMESTAMP_MICROS"),
        "day": ("INT32", "DATE"),
        "clock": ("INT32", "NONE"),
        "flag": ("BOOLEAN", "NONE"),
        "huge": ("INT64", "UINT_64"),
        "dms_change_seq": ("BYTE_ARRAY", "UTF8"),
        "dms_stream_position": ("BYTE_ARRAY", "UTF8"),
        "BI_id": ("INT64", "NONE"),
    }
    # No legacy annotation: Spark 3.5 refuses it as "Illegal Parquet type: INT32 (TIME(MILLIS,false))".
    clock = schema.column(schema.names.index("clock"))
    assert "isAdjustedToUTC=false, timeUnit=milliseconds" in str(clock.logical_type)
    lengths = {schema.column(i).name: schema.column(i).length for i in range(len(schema.names))}
    assert (lengths["number"], lengths["money"]) == (7, 16)
    required = [schema.column(i).name for i in range(len(schema.names)) if schema.column(i).max_definition_level == 0]
    assert required == ["Op", "dms_commit_ts"]


def test_parquet_is_plain_uncompressed_and_bare() -> None:
    changes = [Change("I", 0, FULL_ROW, "s", "p")] * 25_000
    metadata = pq.ParquetFile(io.BytesIO(encode(ALL_TYPES, changes, FileShape()))).metadata
    chunk = metadata.row_group(0).column(2)
    assert metadata.num_row_groups == 3
    assert metadata.row_group(0).num_rows == 10_000
    assert metadata.metadata is None
    assert metadata.format_version == "1.0"
    assert set(chunk.encodings) == {"PLAIN", "RLE"}
    assert chunk.compression == "UNCOMPRESSED"
    zipped = pq.ParquetFile(io.BytesIO(encode(ALL_TYPES, changes, FileShape(gzip=True)))).metadata
    assert zipped.row_group(0).column(2).compression == "GZIP"


def test_parquet_tells_null_from_empty_and_keeps_values() -> None:
    layout = TableLayout("s", "t", (Column("id", "int4", key=True), Column("text", "wstring")))
    rows = [Change("I", 0, (1, "")), Change("I", 0, (2, None)), Change("U", 0, (3, NOT_SUPPLIED), before=(9,))]
    table = pq.read_table(io.BytesIO(encode(layout, rows, FileShape())))
    assert table["text"].to_pylist() == ["", None, None]
    # A LOAD row's sequence is an empty text, not NULL.
    assert table["dms_change_seq"].to_pylist() == ["", "", ""]
    assert table["BI_id"].to_pylist() == [None, None, 9]
    assert pq.read_table(io.BytesIO(encode(layout, [], FileShape()))).num_rows == 0


def test_parquet_millisecond_timestamps_leave_the_text_column_alone() -> None:
    layout = TableLayout("s", "t", (Column("at", "datetime"),))
    row = Change("I", 1_718_187_496_741_253, (dt.datetime(2024, 1, 1, 0, 0, 0, 5000),))
    file = pq.ParquetFile(io.BytesIO(encode(layout, [row], FileShape(timestamp_millis=True))))
    assert file.schema.column(2).converted_type == "TIMESTAMP_MILLIS"
    assert file.read()["dms_commit_ts"].to_pylist() == ["2024-06-12 10:18:16.741253"]


def test_a_value_that_does_not_fit_is_refused_without_being_shown() -> None:
    layout = TableLayout("s", "t", (Column("id", "int2"),))
    with pytest.raises(ValueError, match=r"s\.t, column id.*int2") as caught:
        encode(layout, [Change("I", 0, (987654321,))], FileShape())
    assert "987654321" not in str(caught.value)
