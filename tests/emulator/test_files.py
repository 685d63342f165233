"""Byte shapes of files against what real DMS objects looked like."""

import datetime as dt
import gzip
import io
import json
from decimal import Decimal

import pyarrow.parquet as pq
import pytest

from dms_iceberg.local.emulator.files import (
    NOT_SUPPLIED,
    Change,
    ChangeSequence,
    Column,
    CsvShape,
    DateDelimiter,
    DatePartition,
    DateSequence,
    DmsType,
    FileShape,
    TableLayout,
    cdc_key,
    column_names,
    encode,
    load_key,
    time_part,
)


def micros(text: str) -> int:
    return int(dt.datetime.fromisoformat(text + "+00:00").timestamp()) * 1_000_000 + int(text.split(".")[1])


# The sample of real CSV: Op, timestamp, id, name, note, price REAL, sequence, BI_id. Values changed, layout exact.
ITEMS = TableLayout(
    "public",
    "items",
    (
        Column("id", "int4", key=True),
        Column("name", "wstring"),
        Column("note", "nclob"),
        Column("price", "real4"),
    ),
)
REAL_SHAPE = FileShape(format="csv", stream_position_column=None)
SAMPLE = [
    Change("I", micros("2024-06-12T10:28:16.741253"), (1, "Davies", "Manager, Sales", 32.38)),
    Change(
        "U",
        micros("2024-06-28T07:19:01.482931"),
        (2, "O'Neil", r"line one\ntwo", None),
        "20240628071901480000000000000000121",
    ),
    Change(
        "U",
        micros("2024-07-05T20:20:58.442667"),
        (18, "x", "y", 0.0),
        "20240705202058440000000000000000177",
        before=(17,),
    ),
    Change(
        "D",
        micros("2024-06-12T10:35:53.495770"),
        (2, None, None, None),
        "20240612103553490000000000000000421",
    ),
]


def test_csv_equals_the_real_sample() -> None:
    assert encode(ITEMS, SAMPLE, REAL_SHAPE).decode() == (
        'I,2024-06-12 10:28:16.741253,1,Davies,"Manager, Sales",+3.23800011e+01,,\n'
        "U,2024-06-28 07:19:01.482931,2,O'Neil,line one\\ntwo,,20240628071901480000000000000000121,\n"
        "U,2024-07-05 20:20:58.442667,18,x,y,+0.00000000e+00,20240705202058440000000000000000177,17\n"
        "D,2024-06-12 10:35:53.495770,2,,,,20240612103553490000000000000000421,\n"
    )


def test_csv_header_has_the_service_columns_in_order() -> None:
    shape = FileShape(format="csv", csv=CsvShape(header=True))
    header = b"Op,dms_commit_ts,id,name,note,price,dms_change_seq,dms_stream_position,BI_id\n"
    assert encode(ITEMS, [], shape) == header
    assert encode(ITEMS, SAMPLE, shape).startswith(header)
    assert encode(ITEMS, [], shape, load=True) == header
    assert encode(ITEMS, [], FileShape(format="csv")) == b""


def test_load_files_may_lack_op_and_nothing_else() -> None:
    shape = FileShape(format="csv", op_on_full_load=False, stream_position_column=None)
    first = encode(ITEMS, SAMPLE[:1], shape, load=True)
    assert first == b'2024-06-12 10:28:16.741253,1,Davies,"Manager, Sales",+3.23800011e+01,,\n'
    assert encode(ITEMS, SAMPLE[:1], shape).startswith(b"I,")


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("plain", "plain"),
        ("a,b", '"a,b"'),
        ('say "hi"', '"say ""hi"""'),
        ("two\nlines", '"two\nlines"'),
        ("two\r\nlines", '"two\r\nlines"'),
        ("ends with \\", "ends with \\"),
        ("a\\,b", '"a\\,b"'),
        ("O'Neil", "O'Neil"),
        ("NULL", "NULL"),
        ("", ""),
        ("żółć 🎈", "żółć 🎈"),
    ],
)
def test_csv_quotes_only_where_it_must(text: str, field: str) -> None:
    layout = TableLayout("s", "t", (Column("c", "wstring"),))
    shape = FileShape(format="csv", timestamp_column=None, sequence_column=None, stream_position_column=None)
    assert encode(layout, [Change("I", 0, (text,))], shape).decode() == f"I,{field}\n"


def test_csv_null_and_not_supplied_texts() -> None:
    layout = TableLayout("s", "t", (Column("id", "int4", key=True), Column("a", "wstring"), Column("b", "wstring")))
    csv = CsvShape(null="NULL", no_supplement="<none>", delimiter="|")
    shape = FileShape(format="csv", csv=csv, timestamp_column=None)
    row = Change("U", 0, (1, None, NOT_SUPPLIED), "seq")
    assert encode(layout, [row], shape) == b"U|1|NULL|<none>|seq||NULL\n"
    plain = FileShape(format="csv", csv=CsvShape(null="N"), timestamp_column=None)
    assert encode(layout, [row], plain) == b"U,1,N,N,seq,,N\n"


def test_csv_without_rfc4180_quotes_nothing() -> None:
    layout = TableLayout("s", "t", (Column("c", "wstring"),))
    shape = FileShape(
        format="csv",
        csv=CsvShape(rfc4180=False),
        timestamp_column=None,
        sequence_column=None,
        stream_position_column=None,
    )
    assert encode(layout, [Change("I", 0, ('a,"b',))], shape) == b'I,a,"b\n'


ALL_TYPES = TableLayout(
    "public",
    "types",
    (
        Column("id", "int8", key=True),
        Column("small", "int2"),
        Column("tiny", "int1"),
        Column("number", "numeric(15,2)"),
        Column("money", "numeric(38,4)"),
        Column("single", "real4"),
        Column("double", "real8"),
        Column("text", "wstring(20)"),
        Column("doc", "nclob"),
        Column("raw", "blob"),
        Column("at", "datetime"),
        Column("day", "date"),
        Column("clock", "time"),
        Column("flag", "boolean"),
        Column("huge", "uint8"),
    ),
)
FULL_ROW = (
    2**40,
    -7,
    5,
    Decimal("1234.50"),
    Decimal("-1.2500"),
    0.1,
    0.1,
    "t",
    '{"a": 1}',
    b"\x00\xff",
    dt.datetime(2024, 2, 29, 23, 59, 59, 123456),
    dt.date(1999, 12, 31),
    dt.time(1, 2, 3, 456000),
    True,
    2**64 - 1,
)


def test_csv_and_json_show_every_type() -> None:
    change = Change("I", 0, FULL_ROW, "s", "p")
    shape = FileShape(format="csv", timestamp_column=None)
    assert encode(ALL_TYPES, [change], shape).decode() == (
        "I,1099511627776,-7,5,1234.50,-1.2500,+1.00000001e-01,+1.0000000000000001e-01,t,"
        '"{""a"": 1}",00ff,2024-02-29 23:59:59.123456,1999-12-31,01:02:03.456000,true,'
        "18446744073709551615,s,p,\n"
    )
    line = encode(ALL_TYPES, [change], FileShape(format="json")).decode()
    document = json.loads(line)
    assert line.count("\n") == 1
    assert list(document) == column_names(ALL_TYPES, FileShape(format="json"))
    assert document["id"] == 2**40
    assert document["number"] == "1234.50"
    assert document["flag"] is True
    assert document["at"] == "2024-02-29 23:59:59.123456"
    assert document["BI_id"] is None


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


def test_gzip_wraps_text_formats() -> None:
    shape = FileShape(format="csv", gzip=True, stream_position_column=None)
    assert shape.extension == "csv.gz"
    assert gzip.decompress(encode(ITEMS, SAMPLE, shape)) == encode(ITEMS, SAMPLE, REAL_SHAPE)
    assert encode(ITEMS, SAMPLE, shape) == encode(ITEMS, SAMPLE, shape)
    assert FileShape(gzip=True).extension == "parquet"


def test_other_words_for_operations() -> None:
    words = {"I": "INSERT", "U": "UPDATE", "D": "DELETE"}
    shape = FileShape(format="csv", op_column="action", op_words=words, stream_position_column=None)
    lines = encode(ITEMS, SAMPLE, shape).decode().splitlines()
    assert [line.split(",")[0] for line in lines] == ["INSERT", "UPDATE", "UPDATE", "DELETE"]


def test_composite_keys_have_all_parts_in_the_before_image() -> None:
    layout = TableLayout("s", "t", (Column("v", "int4"), Column("b", "int4", key=True), Column("a", "int4", key=True)))
    assert column_names(layout, FileShape())[-2:] == ["BI_b", "BI_a"]
    data = encode(layout, [Change("U", 0, (0, 2, 1), "q", "p", (3, 1))], FileShape(format="csv", timestamp_column=None))
    assert data == b"U,0,2,1,q,p,3,1\n"


def test_load_names_count_in_hexadecimal() -> None:
    names = [load_key("public", "orders", number, "csv.gz") for number in (1, 9, 10, 15, 16)]
    assert names == [f"public/orders/LOAD{text}.csv.gz" for text in ("00000001", "00000009", "0000000A", "0000000F", "00000010")]
    assert names == sorted(names)


APRIL = int(dt.datetime(2026, 4, 2, 13, 5, 7, 89_000, tzinfo=dt.UTC).timestamp() * 1000)


@pytest.mark.parametrize(
    ("sequence", "slash", "underscore"),
    [
        (DateSequence.YYYYMMDD, "2026/04/02", "2026_04_02"),
        (DateSequence.YYYYMMDDHH, "2026/04/02/13", "2026_04_02_13"),
        (DateSequence.YYYYMM, "2026/04", "2026_04"),
        (DateSequence.MMYYYYDD, "04/2026/02", "04_2026_02"),
        (DateSequence.DDMMYYYY, "02/04/2026", "02_04_2026"),
    ],
)
def test_date_folders(sequence: DateSequence, slash: str, underscore: str) -> None:
    def key(delimiter: DateDelimiter) -> str:
        return cdc_key("s", "t", APRIL, "parquet", DatePartition(sequence, delimiter))

    assert key(DateDelimiter.SLASH) == f"s/t/{slash}/20260402-130507089.parquet"
    assert key(DateDelimiter.UNDERSCORE) == f"s/t/{underscore}/20260402-130507089.parquet"
    assert key(DateDelimiter.DASH) == f"s/t/{underscore.replace('_', '-')}/20260402-130507089.parquet"
    assert key(DateDelimiter.NONE) == f"s/t/{underscore.replace('_', '')}/20260402-130507089.parquet"


def test_a_time_zone_moves_folder_and_name() -> None:
    partition = DatePartition("YYYYMMDD", "SLASH", "Asia/Seoul")
    assert cdc_key("s", "t", APRIL + 3_600_000 * 3, "csv", partition) == "s/t/2026/04/03/20260403-010507089.csv"
    assert cdc_key("s", "t", APRIL, "csv") == "s/t/20260402-130507089.csv"


def test_sequence_has_the_steps_of_real_files() -> None:
    sequence = ChangeSequence()
    first = micros("2024-06-12T10:35:53.495770")
    sequence.begin(first)
    assert sequence.advance() == "2024061210355349" + "0000000000000000061"
    assert sequence.advance()[16:] == "0000000000000000065"
    sequence.begin(first + 10_000)
    assert sequence.advance() == "2024061210355350" + "0000000000000000077"
    sequence.begin(first + 20_000)  # a transaction without a row of ours takes no number
    sequence.begin(first + 30_000)
    assert sequence.advance()[16:] == "0000000000000000089"


def test_sequence_rises_also_when_the_clock_goes_back() -> None:
    sequence = ChangeSequence()
    seen = []
    for moment in (50_000_000, 20_000_000, 90_000_000, 60_000_000):
        sequence.begin(moment)
        seen += [sequence.advance(), sequence.advance()]
    assert seen == sorted(seen)
    assert {text[:16] for text in seen} == {time_part(50_000_000), time_part(90_000_000)}
    assert all(len(text) == 35 for text in seen)


def test_time_part_truncates_to_hundredths() -> None:
    assert time_part(micros("2024-06-12T10:28:16.749999")) == "2024061210281674"


@pytest.mark.parametrize("text", ["numeric", "numeric(39,2)", "numeric(4,5)", "int3", "int4 null", ""])
def test_unknown_types_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="DMS type"):
        DmsType.parse(text)


@pytest.mark.parametrize("text", ["int4", "numeric(15,2)", "wstring", "time"])
def test_types_read_back(text: str) -> None:
    assert str(DmsType.parse(text)) == text
