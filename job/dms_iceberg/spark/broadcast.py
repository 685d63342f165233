"""Broadcasts for joins: the session broadcasts nothing automatically (`session._join_settings`), and sorting a table takes long."""

from pyspark.sql import DataFrame
from pyspark.sql.functions import broadcast

_MOST_BROADCAST_ROWS = 1_000_000
"""As many rows as every executor and the driver can hold beside their work; more are joined by a shuffle."""


def broadcast_if_small(rows: DataFrame, count: int) -> DataFrame:
    """Return at most ``count`` narrow rows for a join, broadcast if they are not too many."""
    return broadcast(rows) if count <= _MOST_BROADCAST_ROWS else rows


def materialised(rows: DataFrame) -> DataFrame:
    """Compute narrow rows now and once, and return them as a local checkpoint that later plans start from.

    The rows are repartitioned first. A checkpoint keeps the partitioning of the plan that ran. Where adaptive execution has removed an
    empty part of a union, that partitioning names columns which the checkpoint does not have, and the analyser leaves every join of a plan
    with it unresolved (`DeduplicateRelations` waits for missing columns).
    """
    return rows.repartition(rows.sparkSession.sparkContext.defaultParallelism).localCheckpoint()
