"""The contestants of the full benchmark, each in a process and a folder of its own: session, first load, one batch, and the table.

Every setting of a rival is here; ``benchmarks/README.md`` has the reasons.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final, Protocol

import attrs
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F

from benchmarks.contestants import CATALOG, OURS, Ours, job_config
from benchmarks.dms_files import OP, SEQUENCE, BatchFiles
from benchmarks.full.sessions import DELTA, HUDI, ICEBERG, common_settings, open_plain_session
from benchmarks.shapes import Shape
from dms_iceberg.config.model import BronzeFormat
from dms_iceberg.runs.run import run
from dms_iceberg.spark.session import open_session

_TABLE: Final = f"{CATALOG}.silver.orders"


@attrs.frozen
class Place:
    """The folders and resources of a contestant.

    Attributes:
        live: folder of its table; it contains everything that the contestant writes.
        bronze: folder in which change files appear; the job lists it, the others are passed the new files.
        load: folder of the full load.
    """

    live: Path
    bronze: Path
    load: Path
    shape: Shape
    cores: int
    heap: str


class Contestant(Protocol):
    """A program that keeps a table up to date."""

    spark: SparkSession

    def load(self, files: Sequence[Path]) -> None:
        """Create the table from the full load."""

    def apply(self, files: Sequence[Path]) -> None:
        """Apply one batch; the call is timed."""

    def frame(self) -> DataFrame | None:
        """Return the table as its readers see it; None if there is no table to compare."""


class Job:
    """The job of this project, from listing its bronze folder to the committed snapshot and its report."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._config = job_config(place.live, place.bronze, BronzeFormat.PARQUET, shape=place.shape)
        self.spark = open_session(self._config, **common_settings(place.cores, place.heap))

    def load(self, files: Sequence[Path]) -> None:
        """Run the job's own first load.

        Raises:
            RuntimeError: the job failed.
        """
        place = self._place
        report = run(self.spark, job_config(place.live, place.load, BronzeFormat.PARQUET, shape=place.shape)).tables[place.shape.source]
        if report.error is not None or report.quarantined:
            raise RuntimeError(f"the first load failed: {report.error or f'{report.quarantined} rows in quarantine'}")

    def apply(self, files: Sequence[Path]) -> None:
        """Run once; the batch's files are the only new ones in the folder."""
        Ours(self.spark, self._config, self._place.shape.source)(BatchFiles(tuple(files), ()))

    def frame(self) -> DataFrame:
        """Return the silver table."""
        return self.spark.table(f"{CATALOG}.{OURS}")


class _Merging:
    """One MERGE of the newest change per key, as the documentation of Iceberg and Delta shows for change data."""

    def __init__(self, place: Place, spark: SparkSession, table: str) -> None:
        self._place, self.spark, self._table = place, spark, table

    def apply(self, files: Sequence[Path]) -> None:
        """Read the files, keep the newest change per key, merge."""
        key, columns = self._place.shape.key, list(self._place.shape.types)
        newest = Window.partitionBy(*key).orderBy(F.col(SEQUENCE).desc())
        (
            self.spark.read.parquet(*map(str, files))
            .select(OP, *columns, F.row_number().over(newest).alias("change_rank"))
            .where("change_rank = 1")
            .createOrReplaceTempView("newest_changes")
        )
        self.spark.sql(
            f"MERGE INTO {self._table} t USING newest_changes s ON {' AND '.join(f't.{name} = s.{name}' for name in key)} "
            f"WHEN MATCHED AND s.{OP} = 'D' THEN DELETE "
            f"WHEN MATCHED THEN UPDATE SET {', '.join(f't.{name} = s.{name}' for name in columns)} "
            f"WHEN NOT MATCHED AND s.{OP} <> 'D' THEN INSERT ({', '.join(columns)}) VALUES ({', '.join(f's.{name}' for name in columns)})"
        )

    def frame(self) -> DataFrame:
        """Return the table."""
        return self.spark.table(self._table)


class IcebergMerge(_Merging):
    """Iceberg's MERGE into a table with ``properties``, loaded sorted by key."""

    properties: Final[dict[str, str]]

    def __init__(self, place: Place, properties: dict[str, str]) -> None:
        catalog = f"spark.sql.catalog.{CATALOG}"
        settings = {
            "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
            catalog: "org.apache.iceberg.spark.SparkCatalog",
            f"{catalog}.type": "hadoop",
            f"{catalog}.warehouse": str(place.live / "warehouse"),
        }
        spark = open_plain_session(ICEBERG, common_settings(place.cores, place.heap) | settings)
        super().__init__(place, spark, _TABLE)
        self.properties = {"format-version": "2"} | properties

    def load(self, files: Sequence[Path]) -> None:
        """Create the table from the files."""
        _loaded(self.spark, self._place, files).createOrReplaceTempView("loaded")
        properties = ", ".join(f"'{name}' = '{value}'" for name, value in self.properties.items())
        self.spark.sql(f"CREATE TABLE {_TABLE} USING iceberg TBLPROPERTIES ({properties}) AS SELECT * FROM loaded")


class Delta(_Merging):
    """Delta's MERGE with deletion vectors."""

    def __init__(self, place: Place) -> None:
        settings = {
            "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
            "spark.databricks.delta.snapshotPartitions": str(place.cores),
        }
        spark = open_plain_session(DELTA, common_settings(place.cores, place.heap) | settings)
        super().__init__(place, spark, f"delta.`{place.live / 'table'}`")

    def load(self, files: Sequence[Path]) -> None:
        """Create the table from the files."""
        _loaded(self.spark, self._place, files).createOrReplaceTempView("loaded")
        self.spark.sql(
            f"CREATE TABLE {self._table} USING delta TBLPROPERTIES ('delta.enableDeletionVectors' = 'true') AS SELECT * FROM loaded"
        )


class Hudi:
    """Hudi's upsert into a merge-on-read table; ``options`` determine which of two changes of a key wins, and how a key's file is found."""

    def __init__(self, place: Place, options: dict[str, str]) -> None:
        settings = {
            "spark.serializer": "org.apache.spark.serializer.KryoSerializer",
            "spark.kryo.registrator": "org.apache.spark.HoodieSparkKryoRegistrar",
            "spark.sql.extensions": "org.apache.spark.sql.hudi.HoodieSparkSessionExtension",
            "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.hudi.catalog.HoodieCatalog",
        }
        self._place = place
        self.spark = open_plain_session(HUDI, common_settings(place.cores, place.heap) | settings)
        self._table = str(place.live / "table")
        self._options = {
            "hoodie.table.name": place.shape.table,
            "hoodie.datasource.write.table.type": "MERGE_ON_READ",
            "hoodie.datasource.write.recordkey.field": ",".join(place.shape.key),
            # It is on by default for batch writes: every fifth write would rewrite the table, and what is then read would be compacted.
            "hoodie.compact.inline": "false",
        } | options

    def load(self, files: Sequence[Path]) -> None:
        """Write the table with bulk_insert, Hudi's way for a first load."""
        self._write(files, "bulk_insert", "overwrite")

    def apply(self, files: Sequence[Path]) -> None:
        """Upsert the changes as DMS wrote them; Hudi finds the newest per key."""
        self._write(files, "upsert", "append")

    def _write(self, files: Sequence[Path], operation: str, mode: str) -> None:
        changes: Any = self.spark.read.parquet(*map(str, files)).select(OP, SEQUENCE, *self._place.shape.types)
        options = self._options | {"hoodie.datasource.write.operation": operation}
        changes.write.format("hudi").options(**options).mode(mode).save(self._table)

    def frame(self) -> DataFrame:
        """Return a snapshot query of the table."""
        return self.spark.read.format("hudi").load(self._table)


class Floor:
    """The minimum work of a job that joins with the target's keys: read the batch and the keys, join them, write the changed rows."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self.spark = open_plain_session({}, common_settings(place.cores, place.heap))
        self._table = str(place.live / "table")

    def load(self, files: Sequence[Path]) -> None:
        """Copy the full load into plain Parquet files, compressed like the tables."""
        _loaded(self.spark, self._place, files).write.option("compression", "zstd").parquet(self._table)

    def apply(self, files: Sequence[Path]) -> None:
        """Write the batch's rows, each with whether the target has its key."""
        key = list(self._place.shape.key)
        present = self.spark.read.parquet(self._table).select(*key, F.lit(True).alias("present"))
        changes = self.spark.read.parquet(*map(str, files))
        changes.join(present, key, "left").write.mode("overwrite").parquet(str(self._place.live / "written"))

    def frame(self) -> None:
        """Return None: there is no table that changes."""
        return


def _loaded(spark: SparkSession, place: Place, files: Sequence[Path]) -> DataFrame:
    return spark.read.parquet(*map(str, files)).select(*place.shape.types).orderBy(*place.shape.key)


_MERGE_ON_READ: Final = {f"write.{operation}.mode": "merge-on-read" for operation in ("delete", "update", "merge")}
_DMS_PAYLOAD: Final = {
    "hoodie.datasource.write.payload.class": "org.apache.hudi.common.model.AWSDmsAvroPayload",
    "hoodie.datasource.write.precombine.field": SEQUENCE,
    "hoodie.metadata.record.index.enable": "true",
    "hoodie.index.type": "RECORD_INDEX",
}
_EVENT_TIME: Final = {
    "hoodie.write.record.merge.mode": "EVENT_TIME_ORDERING",
    "hoodie.table.ordering.fields": SEQUENCE,
    "hoodie.payload.delete.field": OP,
    "hoodie.payload.delete.marker": "D",
    # With a global index Hudi reads the file group of every delete if changes are ordered by a field.
    "hoodie.index.type": "SIMPLE",
}

CONTESTANTS: Final[dict[str, Callable[[Place], Contestant]]] = {
    "job": Job,
    "handwritten": lambda place: IcebergMerge(place, {}),
    "iceberg-merge": lambda place: IcebergMerge(place, _MERGE_ON_READ),
    "delta": Delta,
    "hudi-dms": lambda place: Hudi(place, _DMS_PAYLOAD),
    "hudi-event-time": lambda place: Hudi(place, _EVENT_TIME),
    "floor": Floor,
}
