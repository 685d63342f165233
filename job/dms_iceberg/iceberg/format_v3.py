"""The session settings that statements on tables with row lineage (format version 3) need."""

import contextlib
from collections.abc import Iterator
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import SparkSession

VECTORIZED = "spark.sql.iceberg.vectorization.enabled"
SPLIT = "spark.sql.adaptive.optimizeSkewsInRebalancePartitions.enabled"
DISTRIBUTION = "spark.sql.iceberg.distribution-mode"
# Iceberg's vectorized reader leaks memory outside the heap for each row of such a table that a MERGE, UPDATE, DELETE or compaction
# reads, eight bytes and more (Iceberg issue 17241): after some gigabytes the process ends. Plain queries do not read the lineage.
# If two tasks write deletes of one data file, they become two deletion vectors, and the table cannot be read any more. So all deletes of a
# data file go to one task, whatever the table's own properties say (somebody may have changed them), and
# are not split again.
_SETTINGS = {VECTORIZED: "false", SPLIT: "false", DISTRIBUTION: "hash"}
_LOCK = Lock()
# By session: the number of running statements, and the settings before the first of them.
_UNDER_WAY: "WeakKeyDictionary[SparkSession, tuple[int, dict[str, str | None]]]" = WeakKeyDictionary()


def has_row_lineage(jvm: Any, table: "JavaObject") -> bool:
    """Whether an Iceberg table has row lineage (ids of its rows)."""
    return bool(jvm.org.apache.iceberg.TableUtil.supportsRowLineage(table))


@contextlib.contextmanager
def session_for(spark: "SparkSession", table: "JavaObject") -> Iterator[None]:
    """Set up the session for a statement on an Iceberg table: if it has row lineage, read row by row, and keep deletes together.

    Statements of other threads in the session have these settings meanwhile, too, which takes longer and does no harm. A separate session
    is no alternative: Iceberg's procedures never release it.
    """
    if not has_row_lineage(spark._jvm, table):
        yield
        return
    with _LOCK:
        statements, before = _UNDER_WAY.get(spark) or (0, {name: spark.conf.get(name, None) for name in _SETTINGS})
        _UNDER_WAY[spark] = statements + 1, before
        for name, value in _SETTINGS.items():
            spark.conf.set(name, value)
    try:
        yield
    finally:
        with _LOCK:
            statements, before = _UNDER_WAY.pop(spark)
            if statements > 1:
                _UNDER_WAY[spark] = statements - 1, before
            else:
                _put_back(spark, before)


def _put_back(spark: "SparkSession", settings: dict[str, str | None]) -> None:
    for name, value in settings.items():
        if value is None:
            spark.conf.unset(name)
        else:
            spark.conf.set(name, value)
