"""Finding a file's columns without Spark: the first record of CSV, gzip, Parquet footers."""

import csv
import gzip
import io
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dms_iceberg.changes.gzipped import blame_gzip
from dms_iceberg.changes.inspect import FirstRecord, first_record, inspect, spark_type
from dms_iceberg.config.model import Bronze, BronzeFormat, Csv, Table
from dms_iceberg.errors import BronzeError
from dms_iceberg.staging.keys import BronzeFile
from dms_iceberg.staging.store import LocalStore

TABLE = Table(source="public.t", target="n.t", key=("id",), source_columns=("id", "v"))


def stored(folder: Path, data: bytes, name: str = "LOAD00000001.csv") -> tuple[LocalStore, BronzeFile]:
    path = folder / "public" / "t" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
    extension = name.split(".", 1)[1]
    return LocalStore(folder), BronzeFile(False, "0" * 16 + "1", name, f"public/t/{name}", len(data), "e", extension)


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


def test_damaged_gzip_is_blamed_by_name(tmp_path: Path) -> None:
    whole = gzip.compress(b"Op,id\n" * 1000)
    store, good = stored(tmp_path, whole + whole, "LOAD00000001.csv.gz")
    _, bad = stored(tmp_path, whole[:-5], "LOAD00000002.csv.gz")
    blame_gzip(store, [good], EOFError("java.io.EOFException"))
    blame_gzip(store, [good, bad], ValueError("something else"))
    with pytest.raises(BronzeError, match=r"LOAD00000002\.csv\.gz.*cut off"):
        blame_gzip(store, [good, bad], EOFError("java.io.EOFException: Unexpected end"))


@pytest.mark.parametrize(
    ("width", "names"),
    [
        (4, ["Op", "dms_commit_ts", "id", "v"]),
        (5, ["Op", "dms_commit_ts", "id", "v", "dms_change_seq"]),
        (7, ["Op", "dms_commit_ts", "id", "v", "dms_change_seq", "dms_stream_position", "BI_id"]),
    ],
)
def test_columns_of_a_file_without_header(tmp_path: Path, width: int, names: list[str]) -> None:
    store, file = stored(tmp_path, (",".join("x" * width) + "\n").encode())
    (group,) = inspect(store, [file], Bronze(uri="x", format=BronzeFormat.CSV, csv=Csv(header=False)), TABLE)
    assert list(group.names) == names


@pytest.mark.parametrize(
    ("widths", "columns"),
    [
        pytest.param([3, 5, 5], 5, id="one short row first"),
        pytest.param([9, 5, 4, 5], 5, id="odd rows in between"),
        pytest.param([3, 5], 5, id="as many short as whole ones"),
        pytest.param([5] + [4] * 20_000, 4, id="the last row of the sample is cut off"),
    ],
)
def test_one_odd_row_does_not_say_what_columns_a_file_without_header_has(tmp_path: Path, widths: list[int], columns: int) -> None:
    store, file = stored(tmp_path, "".join(",".join("x" * width) + "\n" for width in widths).encode())
    (group,) = inspect(store, [file], Bronze(uri="x", format=BronzeFormat.CSV, csv=Csv(header=False)), TABLE)
    assert len(group.names) == columns


@pytest.mark.parametrize("widths", [[3, 3, 5], [9, 9, 9, 4]])
def test_most_rows_with_another_width_refuse_a_file_without_header(tmp_path: Path, widths: list[int]) -> None:
    store, file = stored(tmp_path, "".join(",".join("x" * width) + "\n" for width in widths).encode())
    with pytest.raises(BronzeError, match=f"{widths[0]} columns, but public.t may have 4 to 7"):
        inspect(store, [file], Bronze(uri="x", format=BronzeFormat.CSV, csv=Csv(header=False)), TABLE)


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
    ],
)
def test_types_as_spark_reads_them(arrow: pa.DataType, spark: str) -> None:
    assert spark_type(arrow) == spark
