"""Files without an operation that can be used: `init` says what is so in which file, and names a cause only as one of several."""

import json
from pathlib import Path

import pyarrow as pa
import pytest

from dms_iceberg.discover.proposal import Entry, LeftOut
from dms_iceberg.errors import BronzeError
from dms_iceberg.init.report import report
from unit.init.test_own_columns import look, parquet, write

LOAD, CHANGES, LATER = "LOAD00000001.csv", "20260301-100001000.csv", "20260301-100101000.csv"
HEAD = "Op,id,v"
LOADED = f"{HEAD} I,1,a I,2,b"
RECORD = {"data": {"id": 1, "v": "a"}, "metadata": {"operation": "insert", "record-type": "data", "schema-name": "shop"}}
CHANGE = {"before": None, "after": {"id": 1}, "source": {"table": "orders"}, "op": "c", "ts_ms": 1}
CASES: dict[str, tuple[dict[str, str], list[str], list[str]]] = {
    "no column at all": (
        {LOAD: "id,v 1,a", CHANGES: "id,v 2,b"},
        ["no column of the change files has I, U, D", "they have id, v", "CdcInsertsOnly", "another program", "other words"],
        [],
    ),
    "no value in any change": (
        {LOAD: LOADED, CHANGES: f"{HEAD} ,1,c ,2,d"},
        [
            f"Op may be the operation, but in the change file shop/orders/{CHANGES} 2 of 2 sampled rows have nothing there",
            "another program",
        ],
        ["no column of the change files", "other words"],
    ),
    "no value in some changes": (
        {LOAD: LOADED, CHANGES: f"{HEAD} U,1,c", LATER: f"{HEAD} ,2,d U,1,e I,3,f"},
        [f"{LATER} 1 of 3 sampled rows have nothing there"],
        ["no column of the change files"],
    ),
    "other words": (
        {LOAD: f"{HEAD} C,1,a", CHANGES: f"{HEAD} M,1,c R,1,c"},
        [f"{CHANGES} 2 of 2 sampled rows have something else than these words", "op_words", "another program"],
        ["no column of the change files"],
    ),
    "for some time": (
        {LOAD: LOADED, CHANGES: "id,v 1,c", LATER: f"{HEAD} U,1,d"},
        [f"Op is in shop/orders/{LATER}, and shop/orders/{CHANGES} has no such column", "for some time the endpoint writes no operation"],
        ["no column of the change files"],
    ),
    "loads of something else": (
        {LOAD: f"{HEAD} I,1,a D,2,b ,3,c", CHANGES: f"{HEAD} U,1,c"},
        [
            f"Op has an operation in every row of the change files, but in shop/orders/{LOAD} 1 of 3 sampled rows have nothing there and "
            "1 of 3 sampled rows have something else than an insert",
            "A loaded row is an insert",
        ],
        ["no column of the change files"],
    ),
    "records of a stream": (
        {"20260301-100001000.json": json.dumps(RECORD)},
        ["data, metadata", "Kinesis or Kafka", "S3 target"],
        ["CdcInsertsOnly"],
    ),
    "records of a stream, with images": (
        {"LOAD00000001.json": json.dumps(RECORD), "20260301-100001000.json": json.dumps({**RECORD, "before-image": {"id": 1}})},
        ["Kinesis or Kafka"],
        ["CdcInsertsOnly"],
    ),
    "another tool's": ({"20260301-100001000.json": json.dumps(CHANGE)}, ["Debezium"], ["CdcInsertsOnly"]),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_there_instead(name: str, tmp_path: Path) -> None:
    files, says, never = CASES[name]
    for file, text in files.items():
        write(tmp_path, {file: text.encode() + b"\n" if file.endswith("json") else text})
    found = look(tmp_path)
    (left_out,) = found.proposals
    assert isinstance(left_out, LeftOut)
    said = report(found)
    assert "so a delete cannot be told from an insert" in left_out.reasons[0]
    assert [text for text in says if text not in left_out.reasons[0]] == []
    assert [text for text in never if text in said] == []


@pytest.mark.parametrize("kind", ["csv", "parquet", "json"])
@pytest.mark.parametrize("empty", ["all", "one-of-two"])
def test_loads_without_a_value_in_the_operation(kind: str, empty: str, tmp_path: Path) -> None:
    types = {"Op": pa.string(), "id": pa.int64(), "v": pa.string()}
    second: list[tuple[object, ...]] = [("I", 3, "c"), ("I", 4, "d")] if empty == "one-of-two" else [(None, 3, "c"), (None, 4, "d")]
    rows = {"LOAD00000001": [(None, 1, "a"), (None, 2, "b")], "LOAD00000002": second, "20260301-100001000": [("U", 1, "c"), ("D", 2, None)]}

    def encoded(some: list[tuple[object, ...]]) -> bytes:
        if kind == "parquet":
            return parquet(types, *some)
        if kind == "json":
            return "".join(json.dumps(dict(zip(types, row, strict=True))) + "\n" for row in some).encode()
        return "".join(",".join("" if cell is None else str(cell) for cell in row) + "\n" for row in [tuple(types), *some]).encode()

    write(tmp_path, {f"{name}.{kind}": encoded(some) for name, some in rows.items()})
    found = look(tmp_path)
    (entry,) = found.proposals
    assert isinstance(entry, Entry)
    assert found.bronze.change.load_without_op
    whole = "the LOAD files have" if empty == "all" else "LOAD files such as shop/orders/LOAD00000001."
    assert any(note.startswith(whole) and "no value in Op: their rows are inserts (load_without_op)" in note for note in entry.notes)


@pytest.mark.parametrize("kind", ["csv", "parquet", "json"])
def test_columns_that_differ_in_case_only(kind: str, tmp_path: Path) -> None:
    types = {"Op": pa.string(), "id": pa.int64(), "op": pa.string()}
    load, changes = [("I", 1, "x")], [("U", 1, "y")]
    for name, rows in (("LOAD00000001", load), ("20260301-100001000", changes)):
        lines = {
            "csv": "Op,id,op\n" + ",".join(map(str, rows[0])) + "\n",
            "json": json.dumps(dict(zip(types, rows[0], strict=True))) + "\n",
        }
        write(tmp_path, {f"{name}.{kind}": parquet(types, *rows) if kind == "parquet" else lines[kind].encode()})
    (left_out,) = look(tmp_path).proposals
    assert isinstance(left_out, LeftOut)
    assert "LOAD00000001" in left_out.reasons[0]
    assert "the columns Op, op, which Spark takes for one" in left_out.reasons[0]


def test_a_folder_of_another_program_is_said_by_its_first_object(tmp_path: Path) -> None:
    path = tmp_path / "2026" / "03" / "01" / "10" / "delivery-1-2026-03-01-10-00-05-0b1c"
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(RECORD))
    with pytest.raises(BronzeError, match=r"no file with a name that DMS gives.* The first object there is 2026/03/01/10/delivery-1"):
        look(tmp_path)
