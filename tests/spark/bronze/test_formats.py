"""One history, written in every format and by other tasks' habits, gives one table."""

import datetime as dt
import json
from decimal import Decimal
from typing import Any

import attrs
import pyarrow as pa
import pytest

from dms_emulator.files import Change, Column, CsvShape, FileFormat, FileShape, TableLayout, encode
from support.lake import COMMIT, Lake, sequence
from support.text_files import ONLY_SEQUENCE, cdc_name, change_line, load_line, write_bytes, write_text

UTC = dt.UTC
NASTY = 'comma, "quote"\nline\r\nreturn\rand \\n two characters, € and 😀, tail \\'
LAYOUT = TableLayout(
    "public",
    "t",
    (Column("id", "int8", key=True), Column("note", "wstring"), Column("amount", "numeric(12,2)"), Column("at", "datetime")),
)
AT = dt.datetime(2026, 2, 28, 23, 59, 59, 123456, tzinfo=UTC)
LOAD_US = 1_772_359_200_000_000  # 2026-03-01 10:00:00
Row = tuple[Any, ...]


def change(op: str, second: int, counter: int, *values: Any, before: Row | None = None) -> Change:
    clock = f"2026030110{second // 60:02d}{second % 60:02d}"
    return Change(op, LOAD_US + second * 1_000_000, values, sequence(clock, counter), f"0/{counter:X}", before)


LOADED = [
    Change("I", LOAD_US, values)
    for values in [(1, NASTY, Decimal("1.10"), AT), (2, "two", None, None), (3, "NULL", Decimal("-0.05"), AT), (4, None, None, AT)]
]
FIRST = [
    change("U", 61, 61, 2, "TWO", Decimal("9999999999.99"), AT),
    # Several changes of a key in one transaction: twelve, so that 9 < 10 is told from "9" > "10".
    *[change("U", 62, 65 + 4 * n, 4, f"step {n}", Decimal(n), None) for n in range(12)],
    change("D", 63, 200, 1, None, None, None),
]
SECOND = [
    change("I", 121, 300, 1, "again", None, AT),
    change("I", 121, 304, 5, "tail \\", Decimal("5.00"), None),
    change("D", 122, 308, 3, None, None, None),
]
MOVED = [change("U", 123, 312, 6, "moved", Decimal("2.00"), AT, before=(2,))]
WITHOUT_MOVE: list[Row] = [
    (1, "again", None, AT),
    (2, "TWO", Decimal("9999999999.99"), AT),
    (4, "step 11", Decimal("11.00"), None),
    (5, "tail \\", Decimal("5.00"), None),
]
WITH_MOVE = [row for row in WITHOUT_MOVE if row[0] != 2] + [(6, "moved", Decimal("2.00"), AT)]
DECLARED = [{"name": "id", "type": "bigint"}, {"name": "amount", "type": "decimal(12,2)"}, {"name": "at", "type": "timestamp"}]


@attrs.frozen
class Task:
    """A DMS task's habits and the configuration that reads its files.

    Attributes:
        moves: whether the history ends with a key change, which only a before image tells.
    """

    shape: FileShape
    bronze: dict[str, Any]
    moves: bool = True
    table: dict[str, Any] = attrs.field(factory=lambda: {"columns": DECLARED})


HEADERLESS = {"columns": DECLARED, "source_columns": ["id", "note", "amount", "at"]}
CSV = FileShape(format=FileFormat.CSV, csv=CsvShape(header=True))
OTHER_WORDS = {"I": "INSERT", "U": "UPDATE", "D": "DELETE"}
OTHER_TASK = {
    "op_column": "action",
    "op_words": {word: op for op, word in OTHER_WORDS.items()},
    "timestamp_column": "changed_at",
    "sequence_column": None,
    "stream_position_column": None,
    "before_image_prefix": None,
}
OTHER_SHAPE: dict[str, Any] = {
    "op_column": "action",
    "op_words": OTHER_WORDS,
    "timestamp_column": "changed_at",
    "sequence_column": None,
    "stream_position_column": None,
    "before_image_prefix": None,
}

TASKS = {
    "parquet": Task(FileShape(), {"format": "parquet"}, table={}),
    "parquet_gzip_millis_no_op": Task(
        FileShape(gzip=True, op_on_full_load=False), {"format": "parquet", "change": {"load_without_op": True}}, table={}
    ),
    "csv": Task(CSV, {"format": "csv"}),
    "csv_gzip": Task(attrs.evolve(CSV, gzip=True), {"format": "csv"}),
    "csv_null_text_and_delimiter": Task(
        attrs.evolve(CSV, csv=CsvShape(header=True, null="~none~", delimiter="|")),
        {"format": "csv", "csv": {"null": "~none~", "delimiter": "|"}},
    ),
    "headerless": Task(
        FileShape(format=FileFormat.CSV),
        {"format": "csv", "csv": {"header": False}},
        table=HEADERLESS,
    ),
    "headerless_with_little": Task(
        FileShape(format=FileFormat.CSV, stream_position_column=None, before_image_prefix=None),
        {"format": "csv", "csv": {"header": False}, "change": ONLY_SEQUENCE},
        moves=False,
        table=HEADERLESS,
    ),
    "headerless_no_op": Task(
        FileShape(format=FileFormat.CSV, op_on_full_load=False),
        {"format": "csv", "csv": {"header": False}, "change": {"load_without_op": True}},
        table=HEADERLESS,
    ),
    "json": Task(FileShape(format=FileFormat.JSON), {"format": "json"}),
    "json_gzip": Task(FileShape(format=FileFormat.JSON, gzip=True), {"format": "json"}),
    "other_task_json": Task(FileShape(format=FileFormat.JSON, **OTHER_SHAPE), {"format": "json", "change": OTHER_TASK}, moves=False),
    "other_task_csv": Task(attrs.evolve(CSV, **OTHER_SHAPE), {"format": "csv", "change": OTHER_TASK}, moves=False),
}


@pytest.mark.parametrize("name", TASKS)
def test_one_history_gives_one_table_in_every_format(lake: Lake, name: str) -> None:
    task = TASKS[name]
    extension = task.shape.extension

    def write(file: str, changes: list[Change], shape: FileShape, *, load: bool = False) -> None:
        lake.path("public.t", file).write_bytes(encode(LAYOUT, changes, shape, load=load))

    write(f"LOAD00000001.{extension}", LOADED, task.shape, load=True)
    write(cdc_name(1, extension), FIRST, task.shape)
    write(cdc_name(2, extension), SECOND + (MOVED if task.moves else []), task.shape)
    report = lake.run_one(lake.config({"public.t": task.table}, bronze=task.bronze))
    assert report.quarantined == 0
    rows = [(*row[:3], row[3] and row[3].astimezone(UTC)) for row in lake.rows("t", "id, note, amount, at")]
    assert rows == (WITH_MOVE if task.moves else WITHOUT_MOVE)
    loaded = lake.spark.sql(f"SELECT note FROM lake.{lake.namespace}.t VERSION AS OF {first_snapshot(lake)} ORDER BY id").collect()
    assert [row.note for row in loaded] == [NASTY, "two", "NULL", None]


def first_snapshot(lake: Lake) -> int:
    name = f"lake.{lake.namespace}.t"
    return int(lake.spark.sql(f"SELECT snapshot_id FROM {name}.snapshots ORDER BY committed_at LIMIT 1").collect()[0][0])


def test_csv_whose_first_record_holds_a_quoted_carriage_return(lake: Lake) -> None:
    """Spark guesses the line separator from the first line end it sees, quoted or not."""
    table = {"source_columns": ["id", "v"], "columns": [{"name": "id", "type": "bigint"}]}
    write_text(lake, "public.t", "LOAD00000001.csv", [load_line(1, '"a\r\nb"'), load_line(2, '"c\rd"'), load_line(3, "e")], header=None)
    write_bytes(
        lake, "public.t", "LOAD00000002.csv", "".join(line + "\r\n" for line in [load_line(4, '"f\ng"'), load_line(5, "h")]).encode()
    )
    lake.run_one(lake.config({"public.t": table}, bronze={"format": "csv", "csv": {"header": False}, "change": ONLY_SEQUENCE}))
    assert lake.rows("t", "id, v") == [(1, "a\r\nb"), (2, "c\rd"), (3, "e"), (4, "f\ng"), (5, "h")]


def test_a_text_for_null_leaves_empty_text_empty(lake: Lake) -> None:
    """Spark takes every unquoted empty field for NULL; but who sets CsvNullValue wants to tell the two apart."""
    lines = [load_line(1, ""), load_line(2, '""'), load_line(3, "~ø~"), load_line(4, "NULL"), change_line("I", "20260301100100", 61, 5, "")]
    write_text(lake, "public.t", "LOAD00000001.csv", lines)
    bronze = {"format": "csv", "csv": {"null": "~ø~"}}
    lake.run_one(lake.config({"public.t": {"columns": [{"name": "id", "type": "bigint"}]}}, bronze=bronze))
    assert lake.rows("t", "id, v") == [(1, ""), (2, ""), (3, None), (4, "NULL"), (5, "")]


def test_nested_json_stays_the_text_it_is(lake: Lake) -> None:
    lines = [
        json.dumps({"Op": "I", "dms_commit_ts": COMMIT, "id": 1, "doc": {"a": 1, "b": [1.5, "x", None, True]}, "tags": [1, 2]}),
        json.dumps({"Op": "I", "dms_commit_ts": COMMIT, "id": 2, "doc": "plain", "tags": None, "late": False}),
    ]
    write_text(lake, "public.t", "LOAD00000001.json", lines, header=None)
    columns = [{"name": "id", "type": "bigint"}, {"name": "tags", "type": "array<int>"}]
    lake.run_one(lake.config({"public.t": {"columns": columns}}, bronze={"format": "json"}))
    assert lake.rows("t", "id, doc, tags, late") == [(1, '{"a":1,"b":[1.5,"x",null,true]}', [1, 2], None), (2, "plain", None, "false")]


def test_json_file_that_spark_splits_keeps_its_order(lake: Lake) -> None:
    """Without a sequence the row's place decides, and the parts of a split file are read in any order."""
    change = {"sequence_column": None, "stream_position_column": None, "before_image_prefix": None}
    padding = "x" * 4000
    lines = [json.dumps({"Op": "U", "dms_commit_ts": COMMIT, "id": n % 7, "v": n, "pad": padding}) for n in range(3000)]
    write_text(lake, "public.t", cdc_name(1, "json"), lines, header=None)
    table = {"columns": [{"name": "id", "type": "int"}, {"name": "v", "type": "int"}], "drop": ["pad"]}
    lake.run_one(lake.config({"public.t": table}, bronze={"format": "json", "change": change}))
    assert lake.rows("t", "id, v") == [(n, max(v for v in range(3000) if v % 7 == n)) for n in range(7)]


def test_timestamps_as_wall_clocks(lake: Lake) -> None:
    columns = [("id", pa.int64()), ("at", pa.timestamp("us", tz="UTC"))]
    lake.load("public.t", columns, [(1, AT)])
    lake.run_one(lake.config({"public.t": {}}, timestamps="ntz"))
    assert lake.rows("t", "id, at") == [(1, AT.replace(tzinfo=None))]


def test_a_map_has_each_key_once(lake: Lake) -> None:
    documents = ['{"a":1,"b":2}', '{"a":1,"a":2}', "{}", '{"a":1.5}', None]
    lake.load("public.t", [("id", pa.int64()), ("doc", pa.string())], list(enumerate(documents)))
    config = lake.config({"public.t": {"columns": [{"name": "doc", "type": "map<string,int>"}]}})
    assert lake.run_one(config).quarantined == 2
    assert lake.rows("t", "id, doc") == [(0, {"a": 1, "b": 2}), (2, {}), (4, None)]
