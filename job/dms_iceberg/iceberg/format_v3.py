"""What statements on tables with row lineage (format version 3) need of the session."""

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
# Iceberg's vectorized reader leaves memory outside the heap behind for each row of such a table that a MERGE, UPDATE, DELETE or compaction
# reads, eight bytes and more (Iceberg issue 17241): after some gigabytes the process ends. Plain queries do not ask for the lineage.
# And the deletes of a data file that come from two tasks become two deletion vectors, with which a table cannot be read any more: so they
# go to one, whatever the table's own properties say (one of an earlier version may have been raised to format 3), and stay there.
_SETTINGS = {VECTORIZED: "false", SPLIT: "false", DISTRIBUTION: "hash"}
_LOCK = Lock()
# Statements under way, and what the settings were before the first of them.
_UNDER_WAY: "WeakKeyDictionary[SparkSession, tuple[int, dict[str, str | None]]]" = WeakKeyDictionary()


def has_row_lineage(spark: "SparkSession", table: "JavaObject") -> bool:
    """Say whether the rows of an Iceberg table have ids of their own."""
    jvm: Any = spark._jvm
    return bool(jvm.org.apache.iceberg.TableUtil.supportsRowLineage(table))


@contextlib.contextmanager
def session_for(spark: "SparkSession", table: "JavaObject") -> Iterator[None]:
    """Let the session be fit for a statement on an Iceberg table: if it has row lineage, read by rows, and keep deletes together.

    What other threads do in the session meanwhile is done so, too, which takes longer and does no harm. Sessions of their own would not
    do: Iceberg's procedures never let go of them.
    """
    if not has_row_lineage(spark, table):
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
