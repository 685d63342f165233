"""The Iceberg tables: loaded once, reset to that state before each case, and compared with their expected content."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

import attrs
import numpy as np
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

from benchmarks.changes import Source
from benchmarks.contestants import CATALOG, HANDWRITTEN, OURS, SOURCE, job_config
from benchmarks.dms_files import write_load
from benchmarks.shapes import ORDERS, Shape
from benchmarks.shop import ABSENT, COLUMN_TYPES, KEY, LOADED, Keys
from dms_iceberg.config.model import BronzeFormat
from dms_iceberg.runs.run import run

_FAR_FUTURE: Final = "2999-01-01 00:00:00"
TABLES: Final = (OURS, HANDWRITTEN)


@attrs.frozen
class Digest:
    """Number of rows and sum of a 64-bit hash over all columns: digests of disjoint sets of rows can be added and subtracted."""

    rows: int
    checksum: int

    def __add__(self, other: "Digest") -> "Digest":
        return Digest(self.rows + other.rows, self.checksum + other.checksum)

    def __sub__(self, other: "Digest") -> "Digest":
        return Digest(self.rows - other.rows, self.checksum - other.checksum)


def row_hash(columns: Iterable[str]) -> str:
    """Return the SQL of a 64-bit hash over columns; NULL counts as a value of its own."""
    return f"xxhash64({', '.join(f'{name}, {name} IS NULL' for name in columns)})"


def digest(frame: DataFrame, columns: Iterable[str] = COLUMN_TYPES) -> Digest:
    """Return the digest of the table's own columns."""
    row = frame.selectExpr("count(*) AS n", f"coalesce(sum(CAST({row_hash(columns)} AS decimal(38, 0))), 0) AS checksum").collect()[0]
    return Digest(row.n, int(row.checksum))


@attrs.frozen(eq=False)
class Expectation:
    """The expected content of a table after batches, known without any contestant.

    Attributes:
        size: number of rows loaded.
        touched: every key that a batch has changed, once, ascending.
        now: the present version of each, `ABSENT` for deleted ones.
    """

    size: int
    touched: Keys
    now: Keys
    shape: Shape = ORDERS

    def digest(self, spark: SparkSession, work: Path, loaded: Digest) -> Digest:
        """Return the digest of the loaded rows, minus the touched ones as loaded, plus their present rows; ``work`` is a scratch folder."""
        gone = self.touched[self.touched < self.size]
        before = digest(self._frame(spark, work, gone, np.full(len(gone), LOADED)), self.shape.types)
        return loaded - before + digest(self.current(spark, work), self.shape.types)

    def current(self, spark: SparkSession, work: Path) -> DataFrame:
        """Return the touched rows that still exist."""
        there = self.now != ABSENT
        return self._frame(spark, work, self.touched[there], self.now[there])

    def _frame(self, spark: SparkSession, work: Path, keys: Keys, versions: Keys) -> DataFrame:
        path = work / "expected.parquet"
        pq.write_table(self.shape.rows(keys, versions), path)
        return spark.read.parquet(str(path))


@attrs.frozen
class Lake:
    """The tables after the first load.

    Attributes:
        size: number of rows loaded.
        loaded: digest of the loaded files.
        snapshots: by table, the snapshot to go back to.
        files: data files of the job's table at that snapshot.
    """

    spark: SparkSession
    work: Path
    size: int
    loaded: Digest
    snapshots: dict[str, int]
    files: tuple[str, ...]

    def reset(self) -> None:
        """Reset the tables to the state after the load, and remove what was written since."""
        for table, snapshot in self.snapshots.items():
            self.spark.sql(f"CALL {CATALOG}.system.set_current_snapshot('{table}', {snapshot})")
            self.spark.sql(
                f"CALL {CATALOG}.system.expire_snapshots(table => '{table}', older_than => TIMESTAMP '{_FAR_FUTURE}', retain_last => 1)"
            )

    def verify(self, source: Source, touched: Keys, case: str, tables: Sequence[str] = TABLES) -> None:
        """Compare tables with the source: the loaded rows, minus the touched ones as loaded, plus their present rows.

        Raises:
            AssertionError: a table holds other rows than the source.
        """
        expected = Expectation(self.size, touched, source.versions(touched)).digest(self.spark, self.work, self.loaded)
        for table in tables:
            found = digest(self.spark.table(f"{CATALOG}.{table}"))
            if found != expected:
                raise AssertionError(f"{case}: {table} holds {found}, the source {expected}")


def load(spark: SparkSession, work: Path, size: int, target: str = OURS, copy: str | None = HANDWRITTEN) -> Lake:
    """Write the full load, merge it with the job, and copy the result for the hand-written script, sorted by key, its best layout.

    Args:
        target: the job's table.
        copy: the hand-written script's table, None for no copy.

    Raises:
        RuntimeError: the job could not load the files.
    """
    bronze = work / "load" / target
    files = write_load(bronze, size)
    loaded = digest(spark.read.parquet(*map(str, files)))
    report = run(spark, job_config(work, bronze, BronzeFormat.PARQUET, target)).tables[SOURCE]
    if report.error is not None or report.applied != size:
        raise RuntimeError(f"the first load failed: {report.error or f'{report.applied} of {size} rows applied'}")
    if copy is not None:
        spark.sql(
            f"CREATE TABLE {CATALOG}.{copy} USING iceberg TBLPROPERTIES ('format-version' = '2') "
            f"AS SELECT {', '.join(COLUMN_TYPES)} FROM {CATALOG}.{target} ORDER BY {KEY}"
        )
    data = spark.sql(f"SELECT file_path FROM {CATALOG}.{target}.files").collect()
    tables = [name for name in (target, copy) if name is not None]
    return Lake(spark, work, size, loaded, _snapshots(spark, tables), tuple(row.file_path for row in data))


def _snapshots(spark: SparkSession, tables: Sequence[str]) -> dict[str, int]:
    query = "SELECT snapshot_id FROM {catalog}.{table}.refs WHERE name = 'main'"
    return {table: spark.sql(query.format(catalog=CATALOG, table=table)).collect()[0].snapshot_id for table in tables}
