"""What Iceberg 1.10's vectorized reader of Parquet leaves behind, and how a session that runs for long does without it.

* Of tables with row lineage (format version 3), each batch of rows that a MERGE, UPDATE, DELETE or compaction reads leaves memory outside
  the heap behind, eight bytes and more for each row (Iceberg issue 17241): after some gigabytes the process ends. These statements read
  such tables by rows.
* Each file it opens leaves an allocator behind, half a kilobyte, in the list of the one they are all made of (Iceberg issue 13937).
"""

import contextlib
from typing import TYPE_CHECKING, Any

from py4j.java_gateway import get_method

from dms_iceberg.spark_errors import FAILURES

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import SparkSession

VECTORIZED_PROPERTY = "read.parquet.vectorization.enabled"
_VECTORIZED_SETTING = "spark.sql.iceberg.vectorization.enabled"
_FIRST_WITH_ROW_LINEAGE = 3


def has_row_lineage(table: "JavaObject") -> bool:
    """Say whether the rows of an Iceberg table have ids of their own."""
    return int(table.operations().current().formatVersion()) >= _FIRST_WITH_ROW_LINEAGE


def reader_of(spark: "SparkSession", table: "JavaObject") -> "SparkSession":
    """Return a session whose procedures may read the rows of an Iceberg table: the given one, or one of its own that reads by rows."""
    if not has_row_lineage(table):
        return spark
    other = spark.newSession()
    other.conf.set(_VECTORIZED_SETTING, "false")
    return other


def forget_readers(spark: "SparkSession") -> None:
    """Let Java collect the allocators of readers that have ended.

    Nothing is counted by the list they are in, so readers that still run lose nothing. It is the driver's: in a local session there is no
    other; executors of a cluster keep theirs.
    """
    jvm: Any = spark._jvm
    # Another version of Iceberg may have another list or none; that Spark is lost, its tables' turns tell.
    with contextlib.suppress(*FAILURES):
        root = jvm.org.apache.iceberg.arrow.ArrowAllocation.rootAllocator()
        field = root.getClass().getSuperclass().getDeclaredField("childAllocators")
        field.setAccessible(True)
        # Py4J's own clear() of a map removes one after the other.
        get_method(field.get(root), "clear")()
