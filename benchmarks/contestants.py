"""The three programs that get each batch: the job, the usual hand-written script, and the floor."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final, Protocol

import attrs
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from benchmarks.dms_files import OP, SEQUENCE, BatchFiles
from benchmarks.shapes import ORDERS, Shape
from benchmarks.shop import COLUMN_TYPES, KEY
from dms_iceberg.config.model import BronzeFormat, Config
from dms_iceberg.config.parse import parse_config
from dms_iceberg.runs.run import run

CATALOG: Final = "lake"
OURS: Final = "silver.orders"
HANDWRITTEN: Final = "silver.orders_handwritten"
SOURCE: Final = ORDERS.source
BROADCAST: Final = "spark.sql.autoBroadcastJoinThreshold"
"""The one setting of the job's session that could slow the others down: they run with Spark's default."""
SPARKS_BROADCAST: Final = "10MB"


class Contestant(Protocol):
    """A program that applies one batch; the call is timed."""

    def __call__(self, batch: BatchFiles) -> None:
        """Apply the batch."""


def job_config(work: Path, bronze: Path, bronze_format: BronzeFormat, target: str = OURS, shape: Shape = ORDERS) -> Config:
    """Return the job's configuration for one bronze folder; all tables of the benchmark are in one warehouse below ``work``."""
    columns = [{"name": name, "type": type_} for name, type_ in shape.types.items()]
    return parse_config(
        {
            "version": 1,
            "pipeline": "bench",
            "bronze": {"uri": str(bronze), "format": bronze_format.value},
            "catalog": {"name": CATALOG, "type": "hadoop", "warehouse": str(work / "warehouse")},
            "tables": {shape.source: {"target": target, "key": list(shape.key), "columns": columns}},
        },
        base=str(work),
    )


@attrs.frozen
class Ours:
    """The job, from listing the bronze folder to the committed snapshot and its report."""

    spark: SparkSession
    config: Config
    source: str = SOURCE

    def __call__(self, batch: BatchFiles) -> None:
        """Run once; the batch's files are the only new ones in the folder.

        Raises:
            RuntimeError: the job failed or put rows into quarantine.
        """
        report = run(self.spark, self.config).tables[self.source]
        if report.error is not None or report.quarantined:
            raise RuntimeError(f"the job failed: {report.error or f'{report.quarantined} rows in quarantine'}")


@attrs.frozen
class Handwritten:
    """The script that most teams write, without its usual mistakes.

    It reads all CSV columns as strings, casts explicitly, keeps the newest change per key by sequence, and runs one MERGE into a table with
    Iceberg's default, copy-on-write.
    """

    spark: SparkSession

    def __call__(self, batch: BatchFiles) -> None:
        """Read the batch's CSV twin and merge it."""
        newest = Window.partitionBy(KEY).orderBy(F.col(SEQUENCE).desc())
        (
            read_csv(self.spark, batch.csv)
            .select(OP, SEQUENCE, *(F.col(name).cast(type_).alias(name) for name, type_ in COLUMN_TYPES.items()))
            .withColumn("change_rank", F.row_number().over(newest))
            .where("change_rank = 1")
            .createOrReplaceTempView("handwritten_changes")
        )
        columns = ", ".join(COLUMN_TYPES)
        self.spark.sql(
            f"MERGE INTO {CATALOG}.{HANDWRITTEN} t USING handwritten_changes s ON t.{KEY} = s.{KEY} "
            f"WHEN MATCHED AND s.{OP} = 'D' THEN DELETE "
            f"WHEN MATCHED THEN UPDATE SET {', '.join(f't.{name} = s.{name}' for name in COLUMN_TYPES)} "
            f"WHEN NOT MATCHED AND s.{OP} <> 'D' THEN INSERT ({columns}) VALUES ({', '.join(f's.{name}' for name in COLUMN_TYPES)})"
        )


@attrs.frozen
class Floor:
    """The minimum work of a Spark job: read the batch, read the target's keys, join the two, write the changed rows as Parquet.

    It has no order of changes, no casts, no deletes, no commit, no progress.

    Attributes:
        files: data files of the job's table after its first load.
        output: folder that each batch's rows overwrite.
    """

    spark: SparkSession
    format: BronzeFormat
    files: Sequence[str]
    output: Path

    def __call__(self, batch: BatchFiles) -> None:
        """Write the batch's rows, each with whether the target has its key."""
        changes = self._read(batch)
        present = self.spark.read.parquet(*self.files).select(KEY, F.lit(True).alias("present"))
        changes.join(present, KEY, "left").write.mode("overwrite").parquet(str(self.output))

    def _read(self, batch: BatchFiles) -> DataFrame:
        if self.format is BronzeFormat.PARQUET:
            return self.spark.read.parquet(*map(str, batch.parquet))
        return read_csv(self.spark, batch.csv).withColumn(KEY, F.col(KEY).cast("bigint"))


def read_csv(spark: SparkSession, paths: Sequence[Path]) -> DataFrame:
    """Return CSV files as strings, read as DMS quotes them (RFC 4180; a field may contain a line feed)."""
    return spark.read.csv([str(path) for path in paths], header=True, quote='"', escape='"', multiLine=True)
