"""How rows get to a join: the session hands none out by itself (`session._join_settings`), and sorting a table takes long."""

from pyspark.sql import DataFrame
from pyspark.sql.functions import broadcast

_MOST_HANDED_OUT = 1_000_000
"""As much as every executor and the driver can hold beside their work; more are joined by a shuffle."""


def broadcast_if_small(rows: DataFrame, count: int) -> DataFrame:
    """Return at most ``count`` narrow rows for a join: for every task, if they are not too many."""
    return broadcast(rows) if count <= _MOST_HANDED_OUT else rows


def materialised(rows: DataFrame) -> DataFrame:
    """Return narrow rows, computed now and once, which later plans start from.

    They are dealt out first. A checkpoint keeps the partitioning of the plan that ran, and where adaptive execution has left out an empty
    part of a union, that names columns which the checkpoint does not have. The analyser then leaves every join of a plan with it unresolved
    (`DeduplicateRelations` waits for missing columns).
    """
    return rows.repartition(rows.sparkSession.sparkContext.defaultParallelism).localCheckpoint()
