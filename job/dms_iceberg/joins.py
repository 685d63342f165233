"""How rows get to a join: the session hands none out by itself (`session._join_settings`), and sorting a table takes long."""

from pyspark.sql import DataFrame
from pyspark.sql.functions import broadcast

_MOST_HANDED_OUT = 1_000_000
"""As much as every executor and the driver can hold beside their work; more are joined by a shuffle."""


def handed_out(rows: DataFrame, count: int) -> DataFrame:
    """Return at most ``count`` narrow rows for a join: for every task, if they are not too many."""
    return broadcast(rows) if count <= _MOST_HANDED_OUT else rows
