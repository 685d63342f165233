"""Somebody else's files: `init`, the key confirmed, `run`, and the table has the rows of the source."""

import datetime as dt
import json
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest
import structlog
from pyspark.sql import SparkSession

from dms_emulator.files import CsvShape, DatePartition, FileFormat, FileShape
from dms_iceberg.cli.app import main
from dms_iceberg.config.load import load_config
from dms_iceberg.config.parse import parse_config
from dms_iceberg.discover.catalog import Catalog
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
