"""Somebody else's task of a MariaDB: `init --source` writes the document, `run` merges what the task wrote, and `verify` agrees."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from typer.testing import CliRunner

from dms_emulator import Emulator, EmulatorSettings
from dms_emulator.files import CsvShape, FileFormat, FileShape
from dms_iceberg.cli.app import app
from dms_iceberg.config.parse import parse_config
from dms_iceberg.runs.run import run
from dms_iceberg.source.address import parse_source
from dms_iceberg.storage.store import LocalStore
from dms_iceberg.verify.open_source import open_source
from dms_iceberg.verify.options import Options
from dms_iceberg.verify.run import verify
from dms_iceberg.verify.source import Throttle
from emulator.bronze import current_lsn
from support.mariadb import LocalMariaDb, skip_without_mariadb

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ORDERS = """create table orders (
    id bigint unsigned primary key, hits int unsigned, flag boolean, placed datetime(6), stamped timestamp(6) null, day date, clock time,
    amount decimal(12,2), note varchar(60), doc json, raw varbinary(20), mood enum('fine', 'tired'))"""
LINES = "create table order_lines (order_id bigint, line_no int, sku text, primary key (line_no, order_id))"
ROWS = [
    (
        1,
        4294967295,
        1,
        "2026-03-29 02:30:00.123456",
        "2026-03-29 02:30:00.5",
        "2026-02-28",
        "-12:00:01",
        "9.90",
        "Grüße 🙂",
        "[1]",
        b"\x00\xff",
    ),
    (18446744073709551615, 0, 0, "1000-01-01", None, "1582-10-10", None, "-0.01", "", '{"k": "NULL"}', b""),
    (3, None, None, None, None, None, None, None, None, None, None),
    (4, 7, 1, "9999-12-31 23:59:59", None, None, "00:00:00", "0.00", "NULL", None, None),
]
CHANGES = (
    "update orders set flag = not flag, placed = '2026-10-25 02:30:00.5', amount = amount + 1 where id = 1",
    "delete from orders where id = 4",
    "insert into orders (id, note, mood) values (9223372036854775808, 'new', 'tired')",
    "update orders set id = 5, note = 'moved' where id = 3",
    "update order_lines set order_id = 7 where order_id = 2",
    "delete from order_lines where line_no = 1 and order_id = 1",
)
FILES = {
    "parquet": FileShape(),
    "headerless": FileShape(format=FileFormat.CSV, csv=CsvShape(header=False, null="<null>"), op_on_full_load=False, gzip=True),
    "json": FileShape(format=FileFormat.JSON, sequence_column=None, stream_position_column=None),
}


@pytest.fixture(scope="module")
def mariadb() -> Iterator[LocalMariaDb]:
    skip_without_mariadb()
    with LocalMariaDb() as server:
        yield server


def initialised(mariadb: LocalMariaDb, folder: Path, out: Path, namespace: str) -> dict[str, Any]:
    command = ["init", str(folder), "--source", mariadb.url(), "--out", str(out), "--namespace", namespace]
    done = CliRunner().invoke(app, command)
    assert done.exit_code == 0, done.output
    return dict(json.loads(out.read_text()))


@pytest.mark.parametrize("form", [pytest.param(form, marks=[] if form == "headerless" else [pytest.mark.long]) for form in FILES])
def test_a_document_of_init_merges_what_the_task_wrote(
    form: str, mariadb: LocalMariaDb, spark: "SparkSession", warehouse: Path, tmp_path: Path
) -> None:
    database, namespace, address = f"init_{form}", f"init_mariadb_{form}", mariadb.url()
    marks = ", ".join(["%s"] * len(ROWS[0]))
    mariadb.execute(f"create database {database} character set utf8mb4", f"use {database}", ORDERS, LINES)
    names = "id, hits, flag, placed, stamped, day, clock, amount, note, doc, raw"
    session = (f"use {database}", "set time_zone = '+00:00'")
    mariadb.execute(*session, *((f"insert into orders ({names}) values ({marks})", row) for row in ROWS))
    mariadb.execute(*session, "insert into order_lines select seq % 4, seq, concat('sku ', seq) from seq_1_to_40")
    settings = EmulatorSettings(
        state_dir=tmp_path / "task", interval=0.1, slot=database, files=FILES[form], partition=None, time_as_string=True
    )
    bronze = tmp_path / "bronze"
    emulator = Emulator(address, [f"{database}.orders", f"{database}.order_lines"], LocalStore(bronze), settings)
    try:
        emulator.full_load()
        mariadb.execute(*session, *CHANGES)
        emulator.capture(until_lsn=current_lsn(address))
    finally:
        emulator.close()

    document = initialised(mariadb, bronze, tmp_path / "shop.json", namespace)
    orders, lines = (document["tables"][f"{database}.{name}"] for name in ("orders", "order_lines"))
    # The database says what the key is, so nobody has to confirm it.
    assert (orders["key"], lines["key"]) == (["id"], ["line_no", "order_id"])
    assert "key_confirmed" not in orders and "key_confirmed" not in lines
    declared = {one["name"]: one["type"] for one in orders["columns"]}
    assert (declared["id"], declared["placed"]) == ("decimal(20,0)", "timestamp_ntz")
    document["catalog"]["warehouse"] = str(warehouse)
    document["quarantine"] = {"namespace": f"quarantine_{namespace}"}
    config = parse_config(document, base=str(tmp_path))
    report = run(spark, config)
    assert report.exit_code == 0, report.failed
    assert sum(table.quarantined for table in report.tables.values()) == 0

    source = open_source(parse_source(address), Throttle(None))
    try:
        verdicts = verify(spark, config, source, options=Options(tries=1, settle=0)).tables
    finally:
        source.close()
    assert {name: one.error for name, one in verdicts.items()} == dict.fromkeys(document["tables"])
    assert all(one.equal for one in verdicts.values()), verdicts
    assert spark.table(f"lake.{namespace}.orders").count() == 4
