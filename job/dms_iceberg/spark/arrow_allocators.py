"""What Iceberg 1.10's vectorized reader of Parquet leaves behind, and how a session that runs for long does without it.

Each file it opens leaves an allocator behind, half a kilobyte, in the list of the one they are all made of (Iceberg issue 13937). What it
leaves of tables with row lineage is the other matter (`row_lineage`).
"""

import contextlib
from typing import TYPE_CHECKING, Any

from py4j.java_gateway import get_method

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


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
