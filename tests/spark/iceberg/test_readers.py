"""Readers that know nothing of Spark agree with it about merge-on-read tables; and no time zone of machine or JVM changes them."""

import datetime as dt
import json
import re
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.table import StaticTable

from support.commands import run_command
from support.lake import Lake
from support.text_files import cdc_name

T1, T2 = "20260301100100", "20260301100200"
UTC = dt.UTC
COLUMNS = [
    ("id", pa.int64()),
    ("name", pa.string()),
    ("amount", pa.decimal128(12, 2)),
    ("at", pa.timestamp("us", tz="UTC")),
    ("wall", pa.timestamp("us", tz="UTC")),
    ("born", pa.date32()),
    ("said", pa.string()),
    ("said_uk", pa.string()),
    ("blob", pa.binary()),
]
TABLE: dict[str, Any] = {
    "columns": [
        {"name": "wall", "type": "timestamp_ntz"},
        {"name": "said", "type": "timestamp"},
        {"name": "said_uk", "type": "timestamp_ntz", "format": "dd/MM/yyyy HH:mm"},
        {"name": "said_day", "expr": "to_date(said)", "type": "date"},
    ],
    "partition_by": ["days(at)"],
}


def row(n: int) -> tuple[Any, ...]:
    # Both sides of midnight in three time zones, and an hour that New York does not have.
    at = dt.datetime(2026, 3, 8, 2, 30, tzinfo=UTC) + dt.timedelta(hours=7 * n, microseconds=n)
    return (n, f"name {n}", Decimal(n) / 4, at, at, at.date(), at.strftime("%Y-%m-%d %H:%M:%S"), at.strftime("%d/%m/%Y %H:%M"), bytes([n]))


def write_history(lake: Lake) -> None:
    lake.load("public.t", COLUMNS, [row(n) for n in range(1, 40)])
    changes = [("U", T1, 61 + 4 * n, n, "changed", *row(n)[2:]) for n in range(1, 10)]
    changes += [("D", T1, 200 + 4 * n, n, *[None] * (len(COLUMNS) - 1)) for n in range(10, 20)]
    lake.changes("public.t", cdc_name(1), COLUMNS, changes)
    lake.changes("public.t", cdc_name(2), COLUMNS, [("U", T2, 400, 99, "moved", *row(20)[2:], 20)])


def newest_metadata(folder: Path) -> Path:
    version = (folder / "metadata" / "version-hint.text").read_text().strip()
    return folder / "metadata" / f"v{version}.metadata.json"


def read_by_pyiceberg(folder: Path, snapshot: int | None = None) -> pa.Table:
    return StaticTable.from_metadata(str(newest_metadata(folder))).scan(snapshot_id=snapshot).to_arrow().sort_by("id")


def read_by_spark(lake: Lake, columns: list[str]) -> list[tuple[Any, ...]]:
    texts = ", ".join(f"hex({name})" if name == "blob" else f"CAST({name} AS string)" for name in columns)
    return lake.rows("t", texts, "bigint(id)")


def as_texts(table: pa.Table) -> list[tuple[Any, ...]]:
    """Values as Spark's cast to string shows them."""

    def text(value: Any) -> Any:
        match value:
            case bytes():
                return value.hex().upper()
            case dt.datetime():
                seconds = value.replace(tzinfo=None).strftime("%Y-%m-%d %H:%M:%S")
                return seconds + (f".{value.microsecond:06d}".rstrip("0") if value.microsecond else "")
            case None:
                return None
            case _:
                return str(value)

    return [tuple(text(value) for value in one.values()) for one in table.to_pylist()]


@pytest.fixture
def written(lake: Lake) -> Lake:
    write_history(lake)
    report = lake.run_one(lake.config({"public.t": TABLE}, batch={"max_files": 1}))
    assert (report.quarantined, len(report.batches)) == (0, 3)
    return lake


def test_pyiceberg_agrees_with_spark(written: Lake) -> None:
    folder = written.warehouse / written.namespace / "t"
    deletes = written.spark.sql(f"SELECT content FROM lake.{written.namespace}.t.delete_files").count()
    assert deletes > 0, "no merge-on-read: nothing would be proven"
    table = read_by_pyiceberg(folder)
    assert table.num_rows == 29
    assert as_texts(table) == read_by_spark(written, table.column_names)
    first = written.spark.sql(f"SELECT snapshot_id FROM lake.{written.namespace}.t.snapshots ORDER BY committed_at").collect()[0][0]
    assert read_by_pyiceberg(folder, first).num_rows == 39


def test_duckdb_agrees_with_spark(written: Lake) -> None:
    with duckdb.connect() as connection:
        try:
            connection.execute("LOAD iceberg")
        except duckdb.Error:
            pytest.skip("DuckDB's iceberg extension is not installed on this machine (duckdb -c 'INSTALL iceberg' fetches it)")
        metadata = newest_metadata(written.warehouse / written.namespace / "t")
        rows = connection.execute(f"SELECT id, name FROM iceberg_scan('{metadata}') ORDER BY id").fetchall()
    assert rows == written.rows("t", "id, name")


@pytest.mark.parametrize("reader", ["to_duckdb", "iceberg_scan"])
def test_recipes_of_the_cookbook_read_the_table(written: Lake, reader: str) -> None:
    page = (Path(__file__).parents[3] / "docs" / "cookbook.md").read_text("utf-8")
    (recipe,) = (one for one in re.findall(r"```python\n(.*?)```", page, re.DOTALL) if reader in one)
    if reader == "iceberg_scan":
        with duckdb.connect() as connection:
            try:
                connection.execute("LOAD iceberg")
            except duckdb.Error:
                pytest.skip("DuckDB's iceberg extension is not installed on this machine (duckdb -c 'INSTALL iceberg' fetches it)")
    silver = written.folder / "lake" / "silver"
    silver.mkdir(parents=True)
    (silver / "orders").symlink_to(written.warehouse / written.namespace / "t")
    done = subprocess.run([sys.executable, "-c", recipe], cwd=written.folder, capture_output=True, text=True, timeout=120, check=True)
    assert re.search(r"\b29\b", done.stdout), done.stdout


@pytest.mark.long
def test_time_zones_of_machine_and_jvm_change_nothing(written: Lake) -> None:
    folder = written.folder / "elsewhere"
    folder.mkdir()
    document = written.document({"public.t": TABLE}) | {
        "catalog": {"name": "lake", "type": "hadoop", "warehouse": str(folder / "warehouse")},
        "state_uri": str(folder),
    }
    config = folder / "config.json"
    config.write_text(json.dumps(document))
    environment = {"TZ": "America/New_York", "JAVA_TOOL_OPTIONS": "-Duser.timezone=Asia/Tokyo"}
    report = run_command("run", str(config), environment=environment)["tables"]["public.t"]
    here = read_by_pyiceberg(written.warehouse / written.namespace / "t")
    there = read_by_pyiceberg(folder / "warehouse" / written.namespace / "t")
    assert report["error"] is None
    assert there == here
    # The partition is part of the file's path: days are UTC days too.
    days = {path.parent.name for path in (folder / "warehouse").rglob("at_day=*/*.parquet")}
    assert days == {f"at_day={row(n)[3].date()}" for n in [*range(1, 40)]}
    assert pq.read_table(next((folder / "warehouse").rglob("data/**/*.parquet"))).num_rows > 0
