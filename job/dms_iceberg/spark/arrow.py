"""Few rows as Arrow, with their exact types."""

from collections.abc import Callable

import pyarrow as pa
from pyspark.sql import DataFrame


def to_arrow(frame: DataFrame) -> pa.Table:
    """Return all rows of a frame. Spark 4 has this as ``DataFrame.toArrow``; Spark 3.5 does the same for ``toPandas``."""
    collect: Callable[[DataFrame], pa.Table] | None = getattr(type(frame), "toArrow", None)
    return collect(frame) if collect is not None else pa.Table.from_batches(frame._collect_as_arrow())
