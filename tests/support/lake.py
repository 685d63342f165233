"""A small lake for Spark tests: write DMS files by hand, run the job, read tables. Every test gets namespaces of its own."""

import itertools
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

from dms_iceberg.config.model import Config
from dms_iceberg.config.parse import parse_config
from dms_iceberg.quarantine.rejected_rows import open_rows
from dms_iceberg.runs.report import RunReport, TableReport
from dms_iceberg.runs.run import run
from dms_iceberg.silver.table import TargetTable

_NUMBERS = itertools.count()
COMMIT = "2026-03-01 10:00:00.000000"


def sequence(clock: str, counter: int) -> str:
    """`$AR_H_CHANGE_SEQ` of a commit at ``clock`` (up to 16 digits, padded) with a task counter."""
    return clock.ljust(16, "0") + f"{counter:019d}"


class Lake:
    """Bronze in a directory, tables in the shared warehouse."""

    def __init__(self, spark: SparkSession, warehouse: Path, folder: Path) -> None:
        self.spark, self.warehouse, self.folder = spark, warehouse, folder
        self.namespace = f"silver_{next(_NUMBERS)}"
        self.bronze = folder / "bronze"

    def document(self, tables: dict[str, dict[str, Any]], **top: Any) -> dict[str, Any]:
        """A configuration document; each table's target is its own name in this lake's namespace."""
        full = {name: {"target": f"{self.namespace}.{name.split('.')[-1]}", "key": ["id"], **table} for name, table in tables.items()}
        return {
            "version": 1,
            "pipeline": "test",
            "bronze": {"uri": str(self.bronze), "format": "parquet", **top.pop("bronze", {})},
            "catalog": {"name": "lake", "type": "hadoop", "warehouse": str(self.warehouse)},
            "quarantine": {"namespace": f"quarantine_{self.namespace}"},
            "tables": full,
            **top,
        }

    def config(self, tables: dict[str, dict[str, Any]], **top: Any) -> Config:
        """The same, parsed."""
        return parse_config(self.document(tables, **top), base=str(self.folder))

    def enter(self, epoch: int) -> None:
        """Let DMS write to the folder of an epoch from now on."""
        self.bronze = self.folder / "bronze" / f"epoch-{epoch}"

    def target(self, table: str) -> TargetTable:
        """A silver table as the job sees it, afresh."""
        found = TargetTable(self.spark, "lake", f"{self.namespace}.{table}")
        found.refresh()
        return found

    def path(self, table: str, name: str) -> Path:
        """Where DMS would put a file of ``table``."""
        path = self.bronze / table.replace(".", "/", 1) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        return path

    def reported(self, table: str, rows: int = 0) -> Path:
        """Write DMS's own statement that the full load of ``table`` is complete, with so many rows."""
        path = self.bronze / "_load_complete" / f"{table.replace('.', '/', 1)}.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        schema, name = table.split(".", 1)
        marker = {"schema": schema, "table": name, "epoch": 0, "rows": rows, "began": "2026-03-01T00:00:00+00:00"}
        path.write_text(json.dumps(marker))
        return path

    def parquet(self, table: str, name: str, columns: Sequence[tuple[str, pa.DataType]], rows: Sequence[Sequence[Any]]) -> Path:
        """Write a Parquet file with the columns given, service columns included."""
        path = self.path(table, name)
        data = {column: [row[i] for row in rows] for i, (column, _) in enumerate(columns)}
        pq.write_table(pa.table(data, schema=pa.schema(list(columns))), path)
        return path

    def load(self, table: str, columns: Sequence[tuple[str, pa.DataType]], rows: Sequence[Sequence[Any]], number: int = 1) -> Path:
        """Write a LOAD file: rows are source values only."""
        service = [("Op", pa.string()), ("dms_commit_ts", pa.string()), *columns, ("dms_change_seq", pa.string())]
        return self.parquet(table, f"LOAD{number:08X}.parquet", service, [("I", COMMIT, *row, "") for row in rows])

    def changes(
        self, table: str, name: str, columns: Sequence[tuple[str, pa.DataType]], rows: Sequence[Sequence[Any]], key: Sequence[str] = ("id",)
    ) -> Path:
        """Write a CDC file. A row is (op, clock digits, counter, source values..., old key or None...)."""
        types = dict(columns)
        service = [
            ("Op", pa.string()),
            ("dms_commit_ts", pa.string()),
            *columns,
            ("dms_change_seq", pa.string()),
            *((f"BI_{name}", types[name]) for name in key),
        ]
        width = len(columns)
        full = []
        for op, clock, counter, *rest in rows:
            values, before = rest[:width], rest[width:] or [None] * len(key)
            full.append((op, timestamp(clock), *values, sequence(clock, counter), *before))
        return self.parquet(table, name, service, full)

    def run(self, config: Config, *only: str) -> RunReport:
        """Run the job once."""
        return run(self.spark, config, only)

    def run_one(self, config: Config, *, fails: bool = False) -> TableReport:
        """Run the job on the only table and check the books of every batch."""
        (report,) = self.run(config).tables.values()
        assert (report.error is not None) == fails, report.error
        for batch in report.batches:
            assert batch.rows_read == batch.applied + batch.superseded + batch.stale + batch.filtered + batch.quarantined, batch
        return report

    def rows(self, table: str, columns: str = "*", order: str = "1") -> list[tuple[Any, ...]]:
        """Rows of a silver table, seen afresh."""
        name = f"lake.{self.namespace}.`{table}`"
        self.spark.sql(f"REFRESH TABLE {name}")
        return [tuple(row) for row in self.spark.sql(f"SELECT {columns} FROM {name} ORDER BY {order}").collect()]

    def quarantine(self, table: str, columns: str = "reason, detail") -> list[tuple[Any, ...]]:
        """Rows in a table's quarantine."""
        name = f"lake.quarantine_{self.namespace}.`{self.namespace}__{table}`"
        self.spark.sql(f"REFRESH TABLE {name}")
        return [tuple(row) for row in self.spark.sql(f"SELECT {columns} FROM {name} ORDER BY file, row_number").collect()]

    def open_quarantine(self, config: Config, table: str, columns: str = "reason, detail") -> list[tuple[Any, ...]]:
        """Rows in a table's quarantine that its content lacks."""
        rows = open_rows(self.spark, config, config.tables[f"public.{table}"], self.target(table).progress())
        return [tuple(row) for row in rows.orderBy("file", "row_number").selectExpr(*columns.split(", ")).collect()] if rows else []

    def count(self, table: str, kind: str) -> int:
        """Return the rows of one of a table's metadata tables, as of now."""
        name = f"lake.{self.namespace}.`{table}`"
        self.spark.sql(f"REFRESH TABLE {name}")
        return self.spark.table(f"{name}.{kind}").count()

    def snapshots(self, table: str) -> int:
        """How many snapshots a silver table has."""
        return self.count(table, "snapshots")


def timestamp(clock: str) -> str:
    """Commit time text of a clock of up to 16 digits."""
    c = clock.ljust(16, "0")
    return f"{c[:4]}-{c[4:6]}-{c[6:8]} {c[8:10]}:{c[10:12]}:{c[12:14]}.{c[14:16]}0000"


LakeFactory = Callable[[], Lake]
