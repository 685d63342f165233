"""Data files that are written but belong to no snapshot yet."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import SparkSession


class Staged:
    """Data files of a table that belong to no snapshot yet.

    Attributes:
        rows: how many rows they hold.
        files: their Iceberg `DataFile` objects; empty once they belong to a transaction.
    """

    def __init__(self, spark: "SparkSession", table: "JavaObject", name: str) -> None:
        """Take over the files that were staged under ``name``."""
        coordinator: Any = spark._jvm.org.apache.iceberg.spark.FileRewriteCoordinator.get()  # type: ignore[union-attr]
        self._io = table.io()
        self.files = list(coordinator.fetchNewFiles(table, name).toArray())
        coordinator.clearRewrite(table, name)
        self.rows = sum(int(file.recordCount()) for file in self.files)

    def discard(self) -> None:
        """Delete the files."""
        for file in self.files:
            self._io.deleteFile(file.location())
