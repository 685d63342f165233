"""Finding a file's columns without Spark: the first record of CSV, gzip, Parquet footers."""

import csv
import gzip
import io
from pathlib import Path

import attrs
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dms_iceberg.bronze.gzip_checks import find_corrupt_gzip
from dms_iceberg.bronze.schema_groups import FirstRecord, first_record, inspect, spark_type
from dms_iceberg.config.model import Bronze, BronzeFormat, Csv
from dms_iceberg.errors import BronzeError
from unit.bronze.stored_file import CDC, LOAD, TABLE, stored


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a,b\n1,2\n", FirstRecord(("a", "b"), only=False)),
        ("a,b\r\n1,2\r\n", FirstRecord(("a", "b"), only=False, line_end="\r\n")),
        ("a,b\n", FirstRecord(("a", "b"), only=True)),
        ("a,b", FirstRecord(("a", "b"), only=True)),
        ("\n\na,b\n1,2", FirstRecord(("a", "b"), only=False)),
        ('"a\r\nx",b\n1,2\n', FirstRecord(("a\r\nx", "b"), only=False)),
        ('"a\rx","""b"""\n', FirstRecord(("a\rx", '"b"'), only=True)),
        ("", FirstRecord((), only=True)),
        ("a,b\n\n\n", FirstRecord(("a", "b"), only=True)),
    ],
)
@pytest.mark.parametrize("gzipped", [False, True])
def test_first_record(tmp_path: Path, text: str, expected: FirstRecord, gzipped: bool) -> None:
    data = text.encode()
    store, file = stored(tmp_path, gzip.compress(data), "LOAD00000001.csv.gz") if gzipped else stored(tmp_path, data)
    assert first_record(store, file, ",") == expected


def test_first_record_longer_than_the_first_look(tmp_path: Path) -> None:
    names = [f"column_{number}_{'x' * 50}" for number in range(3_000)]
    sink = io.StringIO()
    csv.writer(sink, lineterminator="\n").writerows([names, ["1"] * len(names)])
    store, file = stored(tmp_path, sink.getvalue().encode())
    assert first_record(store, file, ",") == FirstRecord(tuple(names), only=False)


def test_header_that_ends_where_the_first_look_does_is_not_taken_for_an_empty_file(tmp_path: Path) -> None:
    header = "a," + "b" * ((1 << 16) - 3) + "\n"
    store, file = stored(tmp_path, (header + "1,2\n").encode())
    assert not first_record(store, file, ",").only


def test_rows_in_a_second_gzip_member_are_not_taken_for_an_empty_file(tmp_path: Path) -> None:
    store, file = stored(tmp_path, gzip.compress(b"Op,id\n") + gzip.compress(b"I,1\n"), "LOAD00000001.csv.gz")
    (group,) = inspect(store, [file], Bronze(uri="x", format=BronzeFormat.CSV), TABLE)
    assert group.rows is None


def test_damaged_gzip_is_found_and_named(tmp_path: Path) -> None:
    whole = gzip.compress(b"Op,id\n" * 1000)
    store, good = stored(tmp_path, whole + whole, "LOAD00000001.csv.gz")
    _, bad = stored(tmp_path, whole[:-5], "LOAD00000002.csv.gz")
    find_corrupt_gzip(store, [good], EOFError("java.io.EOFException"))
    find_corrupt_gzip(store, [good, bad], ValueError("something else"))
    with pytest.raises(BronzeError, match=r"LOAD00000002\.csv\.gz.*cut off"):
        find_corrupt_gzip(store, [good, bad], EOFError("java.io.EOFException: Unexpected end"))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('a,"b\n"c",d\n', FirstRecord(("a", '"b'), only=False)),
        ("a,b\r\n1,2\r\n", FirstRecord(("a", "b"), only=False, line_end="\r\n")),
        ("a,b\r\n1,2\n", FirstRecord(("a", "b\r"), only=False)),
        ("\n\na,b", FirstRecord(("a", "b"), only=True)),
        ("", FirstRecord((), only=True)),
    ],
)
def test_first_record_without_quotes(tmp_path: Path, text: str, expected: FirstRecord) -> None:
    store, file = stored(tmp_path, text.encode())
    assert first_record(store, file, ",", rfc4180=False) == expected


@pytest.mark.parametrize("text", ['1,"a ""b"", c"\n', '1,"a\nb"\r\n2,c\n', '1,""\n', '1,"a"""\n', '1,"' + "x" * 100_000 + '\ny"\n2,b\n'])
def test_quotes_by_rfc_4180_are_let_in(tmp_path: Path, text: str) -> None:
    store, file = stored(tmp_path, ("id,v\n" + text).encode())
    assert inspect(store, [file], Bronze(uri="x", format=BronzeFormat.CSV), TABLE)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('1,a"b\n', "line 2 has a quote within a field"),
        ('1,x\n2, "a"\n', "line 3 has a quote within a field"),
        ('1,"a\nb"\n2,"a" \n', "line 4 has a field that goes on behind its closing quote"),
        ('1,x\n2,"a\n', "line 3 has a quote that opens a field and is never closed"),
    ],
)
def test_quotes_that_are_not_rfc_4180_are_refused(tmp_path: Path, text: str, says: str) -> None:
    store, file = stored(tmp_path, ("id,v\n" + text).encode())
    with pytest.raises(BronzeError, match=says):
        inspect(store, [file], Bronze(uri="x", format=BronzeFormat.CSV), TABLE)
    (group,) = inspect(store, [file], Bronze(uri="x", format=BronzeFormat.CSV, csv=Csv(rfc4180=False)), TABLE)
    assert group.names == ("id", "v")


@pytest.mark.parametrize("name", [LOAD, CDC])
@pytest.mark.parametrize(
    ("rows", "line"),
    [
        ('I,1,"abc\nI,2,x\nI,3,def"\nI,4,z\n', 2),
        ('I,1,a\nI,"2,x\nI,3",def\n', 3),
    ],
)
def test_rows_within_a_quote_are_refused_in_a_file_with_an_operation_only(tmp_path: Path, rows: str, line: int, name: str) -> None:
    store, file = stored(tmp_path, ("Op,id,v\n" + rows).encode(), name)
    with pytest.raises(BronzeError, match=f"line {line} has a quote that opens a field in which further rows seem to stand"):
        inspect(store, [file], Bronze(uri="x", format=BronzeFormat.CSV), TABLE)


def test_a_line_that_the_end_of_the_sample_cuts_is_no_further_row(tmp_path: Path) -> None:
    """Whole, the value's last line has too few delimiters behind it for a row, or goes on."""
    start = 'Op,id\nI,"one\nI,'
    text = start + "x" * ((1 << 16) - len(start)) + ', and\nmore"\nI,b\n'
    store, file = stored(tmp_path, text.encode())
    assert inspect(store, [file], Bronze(uri="x", format=BronzeFormat.CSV), attrs.evolve(TABLE, source_columns=("id",)))


def test_json_file_cut_off_before_its_first_row_is_not_taken_for_an_empty_one(tmp_path: Path) -> None:
    bronze = Bronze(uri="x", format=BronzeFormat.JSON)
    whole = gzip.compress(b"\n" * 50)
    store, file = stored(tmp_path, whole, "LOAD00000001.json.gz")
    assert inspect(store, [file], bronze, TABLE) == []
    store, file = stored(tmp_path, whole[:-4], "LOAD00000001.json.gz")
    with pytest.raises(BronzeError, match="cut off"):
        inspect(store, [file], bronze, TABLE)


@pytest.mark.parametrize("data", [b"I,1,Ann Smith\nI,2,Bob\n", b"I,1,Ann Smith\n", b"Ann Smith,Ann Smith\n", b"Op;id;v\nI;1;a\n"])
def test_data_is_not_taken_for_a_header_and_not_told(tmp_path: Path, data: bytes) -> None:
    store, file = stored(tmp_path, data)
    with pytest.raises(BronzeError, match=r"names neither .* \(id\), so it is taken for data") as caught:
        inspect(store, [file], Bronze(uri="x", format=BronzeFormat.CSV), TABLE)
    assert "Smith" not in str(caught.value)


def parquet(table: pa.Table, **options: object) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


@pytest.mark.parametrize("options", [{}, {"use_dictionary": False, "compression": "NONE", "version": "1.0"}, {"row_group_size": 10}])
def test_footer_longer_or_shorter_than_the_data_is_told_apart(tmp_path: Path, options: dict[str, object]) -> None:
    data = parquet(pa.table({"id": range(1000), "v": ["x" * (n % 50) for n in range(1000)]}), **options)
    bronze = Bronze(uri="x")
    store, file = stored(tmp_path, data, "LOAD00000001.parquet")
    (group,) = inspect(store, [file], bronze, TABLE)
    assert (group.rows, group.columns) == (1000, (("id", "bigint"), ("v", "string")))
    store, file = stored(tmp_path, data[:50] + data[150:], "LOAD00000001.parquet")
    with pytest.raises(BronzeError, match="more data than the file holds"):
        inspect(store, [file], bronze, TABLE)


def test_columns_that_differ_in_case_only_are_refused(tmp_path: Path) -> None:
    store, file = stored(tmp_path, b"Op,id,Name,name\nI,1,a,b\n")
    with pytest.raises(BronzeError, match="'Name' and 'name'"):
        inspect(store, [file], Bronze(uri="x", format=BronzeFormat.CSV), TABLE)


@pytest.mark.parametrize(
    ("arrow", "spark"),
    [
        (pa.uint32(), "bigint"),
        (pa.uint64(), "decimal(20,0)"),
        (pa.decimal128(15, 2), "decimal(15,2)"),
        (pa.timestamp("ms", tz="UTC"), "timestamp"),
        (pa.timestamp("us"), "timestamp_ntz"),
        (pa.time32("ms"), "<time32[ms]>"),
        (pa.timestamp("ns"), "<timestamp[ns]>"),
        (pa.null(), "void"),
        (pa.dictionary(pa.int32(), pa.string()), "string"),
        (pa.dictionary(pa.int8(), pa.timestamp("us", tz="UTC")), "timestamp"),
        (pa.dictionary(pa.int8(), pa.time32("ms")), "<time32[ms]>"),
    ],
)
def test_types_as_spark_reads_them(arrow: pa.DataType, spark: str) -> None:
    assert spark_type(arrow) == spark


def test_a_column_without_a_name_is_refused_with_its_place(tmp_path: Path) -> None:
    store, file = stored(tmp_path, b"Op,id,\nI,1,x\n")
    with pytest.raises(BronzeError, match=r"LOAD00000001\.csv: column 3 of 3 has no name"):
        inspect(store, [file], Bronze(uri="x", format=BronzeFormat.CSV), TABLE)
