"""CSV and JSON lines, byte by byte, against what real DMS objects looked like."""

import gzip
import json

import pytest

from dms_emulator.files import NOT_SUPPLIED, Change, Column, CsvShape, FileShape, TableLayout, column_names, encode
from emulator.samples import ALL_TYPES, FULL_ROW, ITEMS, REAL_SHAPE, SAMPLE


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
