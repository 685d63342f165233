"""What Iceberg 1.10's vectorized reader of Parquet leaves behind, and how a session that runs for long does without it.

* Of tables with row lineage (format version 3), each batch of rows that a MERGE, UPDATE, DELETE or compaction reads leaves memory outside
  the heap behind, eight bytes and more for each row (Iceberg issue 17241): after some gigabytes the process ends. These statements read
  such tables by rows; plain queries do not ask for the lineage and leave nothing.
* Each file it opens leaves an allocator behind, half a kilobyte, in the list of the one they are all made of (Iceberg issue 13937).
"""

import contextlib
from collections.abc import Iterator
from threading import Lock
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from py4j.java_gateway import get_method

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import SparkSession

VECTORIZED = "spark.sql.iceberg.vectorization.enabled"
_LOCK = Lock()
# Statements under way that need it, and what the setting was before the first of them.
_BY_ROWS: "WeakKeyDictionary[SparkSession, tuple[int, str | None]]" = WeakKeyDictionary()


def has_row_lineage(spark: "SparkSession", table: "JavaObject") -> bool:
    """Say whether the rows of an Iceberg table have ids of their own."""
    jvm: Any = spark._jvm
    return bool(jvm.org.apache.iceberg.TableUtil.supportsRowLineage(table))


@contextlib.contextmanager
def by_rows(spark: "SparkSession", table: "JavaObject") -> Iterator[None]:
    """Let the session read by rows in this block if an Iceberg table has row lineage.

    What other threads read in the session meanwhile is read so, too, which takes longer and does no harm. Sessions of their own would not
    do: Iceberg's procedures never let go of them.
    """
    if not has_row_lineage(spark, table):
        yield
        return
    with _LOCK:
        statements, before = _BY_ROWS.get(spark) or (0, spark.conf.get(VECTORIZED, None))
        _BY_ROWS[spark] = statements + 1, before
        spark.conf.set(VECTORIZED, "false")
    try:
        yield
    finally:
        with _LOCK:
            statements, before = _BY_ROWS.pop(spark)
            if statements > 1:
                _BY_ROWS[spark] = statements - 1, before
            elif before is None:
                spark.conf.unset(VECTORIZED)
            else:
                spark.conf.set(VECTORIZED, before)


def forget_readers(spark: "SparkSession") -> None:
    """Let Java collect the allocators of readers that have ended.

    Nothing is counted by the list they are in, so readers that still run lose nothing. It is the driver's: in a local session there is no
    other; executors of a cluster keep theirs.
    """
    # Another version of Iceberg may have another list, or none; that Spark is lost, the turns of the tables tell.
    with contextlib.suppress(Exception):
        jvm: Any = spark._jvm
        root = jvm.org.apache.iceberg.arrow.ArrowAllocation.rootAllocator()
        field = root.getClass().getSuperclass().getDeclaredField("childAllocators")
        field.setAccessible(True)
        # Py4J's own clear() of a map removes one after the other.
        get_method(field.get(root), "clear")()
