"""Which files a snapshot has, and reading only some of them."""

import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import attrs
from pyspark.sql import DataFrame, SparkSession

from dms_iceberg.iceberg.table import IcebergTable
from dms_iceberg.iceberg.unnamed_table import UnnamedTable


@attrs.frozen
class Deletes:
    """A delete file, or the deletion vector of one data file.

    Attributes:
        location: of the file, which may hold the vectors of many data files.
        of_file: the data file of a vector; None for a delete file, which may concern many.
    """

    location: str
    of_file: str | None = None


@attrs.frozen(eq=False)
class ScanFile:
    """A data file of a snapshot.

    Attributes:
        task: Iceberg's task to read it, without the rows that the snapshot has deleted.
        rows: how many it has, deleted ones included.
        deletes: delete files that may delete rows of it, and its deletion vector, with their numbers of deletes.
    """

    task: Any
    rows: int
    deletes: Mapping[Deletes, int]


def scan_files(table: IcebergTable, snapshot: int) -> dict[str, ScanFile]:
    """Return the data files of a snapshot by location: from manifests, without a Spark job."""
    planned = table.iceberg.newScan().useSnapshot(snapshot).planFiles()
    try:
        return dict(_files(planned.iterator()))
    finally:
        planned.close()


def _files(tasks: Any) -> Iterator[tuple[str, ScanFile]]:
    # Py4J ends an iteration over a Java collection by an exception, which takes PySpark ten milliseconds to examine.
    while tasks.hasNext():
        task = tasks.next()
        file, deletes = task.file(), task.deletes()
        location = str(file.location())
        found = (deletes.get(number) for number in range(deletes.size()))
        yield location, ScanFile(task, int(file.recordCount()), {_deletes(one, location): int(one.recordCount()) for one in found})


def _deletes(java: Any, of_file: str) -> Deletes:
    # Only a vector has an offset in its file.
    return Deletes(str(java.location()), None if java.contentOffset() is None else of_file)


@contextmanager
def only_of(spark: SparkSession, table: IcebergTable, files: Iterable[ScanFile]) -> Iterator[DataFrame]:
    """Give the rows of these files, by the table's present schema; they can be read until the context ends."""
    jvm: Any = spark._jvm
    # What Iceberg's own rewrite_data_files reads its groups of files with.
    staged = jvm.org.apache.iceberg.spark.ScanTaskSetManager.get()
    name, tasks = uuid.uuid4().hex, jvm.java.util.ArrayList()
    for file in files:
        tasks.add(file.task)
    staged.stageTasks(table.iceberg, name, tasks)
    try:
        yield UnnamedTable(spark, table.iceberg, table.parts[0]).staged_rows(name)
    finally:
        staged.removeTasks(table.iceberg, name)


def planned_rows(frame: DataFrame) -> int:
    """Return how many rows the files have that a query over one table would read, after Iceberg has left out those its filters exclude."""
    leaves = frame._jdf.queryExecution().optimizedPlan().collectLeaves()
    counts = (leaves.apply(number).stats().rowCount() for number in range(leaves.size()))
    return sum(int(str(count.get())) for count in counts if count.isDefined())
