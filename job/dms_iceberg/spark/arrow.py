"""Few rows as Arrow, with their exact types."""

import pyarrow as pa
from pyspark.sql import DataFrame

from dms_iceberg.spark.versions import present


def to_arrow(frame: DataFrame) -> pa.Table:
    """Return all rows of a frame."""
    return present().arrow(frame)
