"""Frees what Iceberg 1.10's vectorized Parquet reader leaks on the heap, for sessions that run for long.

Each file that it opens leaves an allocator of half a kilobyte in the child list of the root allocator (Iceberg issue 13937). It also leaks
memory outside the heap for tables with row lineage: see `format_v3`.
"""

import contextlib
from typing import TYPE_CHECKING, Any

from py4j.java_gateway import get_method

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def forget_readers(spark: "SparkSession") -> None:
    """Let Java collect the allocators of readers that have ended.

    Iceberg counts nothing by this list, so readers that still run lose nothing. Only the driver's list is cleared: a local session has no
    other, and executors of a cluster keep theirs.
    """
    # Another version of Iceberg may have another list, or none. If the JVM is lost, the next work on a table raises the error.
    with contextlib.suppress(Exception):
        jvm: Any = spark._jvm
        root = jvm.org.apache.iceberg.arrow.ArrowAllocation.rootAllocator()
        field = root.getClass().getSuperclass().getDeclaredField("childAllocators")
        field.setAccessible(True)
        # Py4J's own clear() of a map removes one after the other.
        get_method(field.get(root), "clear")()
