"""Somebody else's files: `init`, the key confirmed, `run`, and the table has the rows of the source."""

import datetime as dt
import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import structlog
from pyspark.sql import SparkSession

from dms_emulator.files import CsvShape, DatePartition, FileFormat, FileShape
from dms_iceberg.cli.app import main
from dms_iceberg.config.load import load_config
from dms_iceberg.config.parse import parse_config
from dms_iceberg.discover.catalog import Catalog
from dms_iceberg.discover.proposal import Entry
from dms_iceberg.init.document import json_document
from dms_iceberg.init.run import examine
from dms_iceberg.runs.run import run
from unit.init.emulated import CATALOG, ORDERS, Task, order


@pytest.fixture(autouse=True)
def _logs_as_before() -> Iterator[None]:
    yield
    structlog.reset_defaults()


LOAD = """action;changed_at;supplier_id;name;balance;since
INSERT;2026-03-01 10:00:00.000000;1;"Smith; Sons";10.50;2020-01-31
INSERT;2026-03-01 10:00:00.000001;2;"The ""Other"" one";0.00;2021-02-28
INSERT;2026-03-01 10:00:00.000002;3;Third;-7.25;
INSERT;2026-03-01 10:00:00.000003;4;Fourth;;2022-12-01
"""
CHANGES = """action;changed_at;supplier_id;name;balance;since
UPDATE;2026-03-01 10:05:00.000000;1;"Smith; Sons";12.00;2020-01-31
DELETE;2026-03-01 10:05:00.000000;2;;;
INSERT;2026-03-01 10:05:01.000000;5;"two
lines";1.00;2026-03-01
"""
LATER = """action;changed_at;supplier_id;name;balance;since
UPDATE;2026-03-01 11:05:01.000000;5;one line;2.00;2026-03-01
DELETE;2026-03-01 11:05:02.000000;4;;;
"""
ROWS = {
    (1, "Smith; Sons", Decimal("12.00"), dt.date(2020, 1, 31)),
    (3, "Third", Decimal("-7.25"), None),
    (5, "one line", Decimal("2.00"), dt.date(2026, 3, 1)),
}


def test_three_commands(spark: SparkSession, warehouse: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "bucket" / "erp" / "suppliers"
    for name, text in (
        ("LOAD00000001.csv", LOAD),
        ("2026/03/01/20260301-100600000.csv", CHANGES),
        ("2026/03/01/20260301-110600000.csv", LATER),
    ):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    out = tmp_path / "suppliers.yaml"
    with pytest.raises(SystemExit) as ended:
        main(["init", str(tmp_path / "bucket"), "--out", str(out), "--namespace", "init_and_run"])
    assert not ended.value.code
    said = capsys.readouterr().out
    assert "operation: action (INSERT/UPDATE/DELETE)" in said
    assert "key supplier_id (likely): the 2 sampled deletes have these columns and no other" in said

    with pytest.raises(SystemExit) as refused:
        main(["run", str(out)])
    assert refused.value.code == 2
    assert 'tables."erp.suppliers".key_confirmed: false' in capsys.readouterr().err

    # What it says is to be done: the key is confirmed, and the types that it proposes are declared.
    text = out.read_text().replace("    key_confirmed: false\n", "")
    text = "\n".join(line.replace("# ", "", 1) if line.startswith(("    # columns", "    #   -")) else line for line in text.split("\n"))
    out.write_text(text.replace("./lake", str(warehouse)))
    # The session's catalog is that of the other tests.
    report = run(spark, load_config(str(out)))
    assert report.exit_code == 0
    table = spark.table("lake.init_and_run.suppliers").select("supplier_id", "name", "balance", "since")
    assert {tuple(row) for row in table.collect()} == ROWS


HEADERLESS = FileShape(format=FileFormat.CSV, csv=CsvShape(header=False, null="<null>"))
SHAPES: dict[str, tuple[FileShape, Catalog | None]] = {
    "parquet": (FileShape(), None),
    "json-words": (FileShape(format=FileFormat.JSON, op_words={"I": "INSERT", "U": "UPDATE", "D": "DELETE"}), None),
    "headerless": (HEADERLESS, CATALOG),
    "load-without-op": (FileShape(format=FileFormat.CSV, csv=CsvShape(header=True), op_on_full_load=False, gzip=True), None),
    "timestamp-only": (FileShape(sequence_column=None, stream_position_column=None), None),
    "neither": (
        FileShape(
            format=FileFormat.CSV,
            csv=CsvShape(header=True),
            timestamp_column=None,
            sequence_column=None,
            stream_position_column=None,
        ),
        None,
    ),
}


@pytest.mark.parametrize("name", SHAPES)
def test_the_document_of_every_shape_runs(name: str, spark: SparkSession, warehouse: Path, tmp_path: Path) -> None:
    shape, catalog = SHAPES[name]
    task = Task(tmp_path / "bronze", shape, DatePartition())
    task.load(ORDERS)
    for minute in (1, 2, 4):
        task.changes(minute, moved=minute == 4)
    found = examine(str(task.root), catalog, lambda names: names)
    namespace = f"init_{name.replace('-', '_')}"
    document = json.loads(json_document(found, namespace))
    for entry in document["tables"].values():
        entry.pop("key_confirmed", None)
    document["catalog"]["warehouse"] = str(warehouse)
    document["quarantine"] = {"namespace": f"quarantine_{namespace}"}
    report = run(spark, parse_config(document, base=str(tmp_path)))
    assert report.exit_code == 0
    rows = spark.table(f"lake.{namespace}.orders").selectExpr("CAST(order_id AS int)", "customer", "CAST(total AS decimal(12,2))").collect()
    # Of three inserts one is deleted, and in the last file one moves to another key.
    ids = [*range(1, 41), 110, 112, 120, 122, 140, 145]
    assert sorted(tuple(row) for row in rows) == sorted(order(number)[:3] for number in ids)


AT = dt.datetime(2026, 3, 1, 10)
WORDS = {"I": "INSERT", "U": "UPDATE", "D": "DELETE"}
INSTANT, WALL, MILLIS = pa.timestamp("us", "UTC"), pa.timestamp("us"), pa.timestamp("ms", "UTC")
ODD_TASKS: dict[str, tuple[pa.DataType, str]] = {
    "load_without_op": (INSTANT, "absent"),
    "empty_op": (WALL, "empty"),
    "empty_op_in_one": (MILLIS, "empty-in-one"),
    "op": (pa.string(), "there"),
}
"""The type of a second commit time, and how LOAD files have the operation, by table."""


def _odd_task(folder: Path, typed: pa.DataType, op: str) -> None:
    """Files with the operation and the time of each change once more, as mapping rules add them: in other words, typed, at the end."""
    names = ("Op", "dms_timestamp", "id", "note", "cdc_timestamp", "cdc_operation")
    text = pa.string()
    types = dict(zip(names, (text, text, pa.int64(), text, typed, text), strict=True))

    def row(word: str | None, second: int, number: int, note: str | None) -> dict[str, object]:
        at = AT + dt.timedelta(seconds=second)
        time: object = str(at) if typed == text else at.replace(tzinfo=dt.UTC if typed.tz else None)
        return dict(zip(names, (word, f"{at}.000000", number, note, time, WORDS[word or "I"]), strict=True))

    def put(name: str, rows: list[dict[str, object]], columns: tuple[str, ...] = names) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        schema = pa.schema([(column, types[column]) for column in columns])
        pq.write_table(pa.Table.from_pylist([{column: one[column] for column in columns} for one in rows], schema=schema), folder / name)

    first, second = ({"there": "I"}.get(op), {"there": "I", "empty-in-one": "I"}.get(op))
    columns = names[1:] if op == "absent" else names
    put("LOAD00000001.parquet", [row(first, -3600, 1, "a"), row(first, -3600, 2, "b")], columns)
    put("LOAD00000002.parquet", [row(second, -3599, 4, "d")], columns)
    put("20260301-100100000.parquet", [row("U", 1, 1, "a2"), row("D", 2, 2, None), row("I", 3, 3, "c")])


def test_odd_tasks_give_right_rows(spark: SparkSession, warehouse: Path, tmp_path: Path) -> None:
    """Also where the document names the typed time as that of the commits, which `init` leaves to a person."""
    for table, (typed, op) in ODD_TASKS.items():
        _odd_task(tmp_path / "bronze" / "app" / table, typed, op)
    found = examine(str(tmp_path / "bronze"), None, lambda names: names)
    assert {entry.table: entry.key for entry in found.proposals if isinstance(entry, Entry)} == {
        f"app.{name}": ("id",) for name in ODD_TASKS
    }
    for column in ("dms_timestamp", "cdc_timestamp"):
        namespace = f"init_odd_{column}"
        document = json.loads(json_document(found, namespace))
        assert document["bronze"]["change"]["load_without_op"]
        document["bronze"]["change"]["timestamp_column"] = column
        for entry in document["tables"].values():
            del entry["key_confirmed"]
        document["catalog"]["warehouse"] = str(warehouse)
        document["quarantine"] = {"namespace": f"quarantine_{namespace}"}
        report = run(spark, parse_config(document, base=str(tmp_path)))
        assert report.exit_code == 0
        assert [one.quarantined for one in report.tables.values()] == [0] * len(ODD_TASKS)
        for table in ODD_TASKS:
            rows = spark.table(f"lake.{namespace}.{table}").selectExpr("id", "note", "string(_cdc_committed_at)", "cdc_operation").collect()
            assert sorted(map(tuple, rows)) == [
                (1, "a2", "2026-03-01 10:00:01", "UPDATE"),
                (3, "c", "2026-03-01 10:00:03", "INSERT"),
                (4, "d", "2026-03-01 09:00:01", "INSERT"),
            ], (column, table)
