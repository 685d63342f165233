"""Runs the aggregation that leaves one row per key. Lazy."""

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame
from pyspark.sql.functions import expr

from dms_iceberg.changes.shape import Shape
from dms_iceberg.merge.collapse import latest_aggregates, latest_select
from dms_iceberg.merge.soft_delete_state import state_aggregates, state_select
from dms_iceberg.sql.quoting import quote

SINGLE_TASK_BYTES = 1 << 20
"""One task reads and collapses a batch of this size faster than a shuffle would start."""


def collapse(
    cleaned: DataFrame, shape: Shape, *, with_context: bool, counts: Mapping[str, str] | None = None, size: int | None = None
) -> DataFrame:
    """Return one row per key with its latest change and counts.

    Args:
        with_context: rows carry `CONTEXT`.
        counts: further aggregates by name.
        size: bytes of the files, if ``cleaned`` has nothing but their rows; None otherwise.
    """
    aggregate, select = (state_aggregates, state_select) if shape.keeps_deleted else (latest_aggregates, latest_select)
    aggregates = [*aggregate(shape.values, with_context=with_context), *(f"{text} AS {name}" for name, text in (counts or {}).items())]
    keys = [quote(name) for name in shape.key]
    if size is not None and size <= SINGLE_TASK_BYTES:
        spread = cleaned.coalesce(1)
    else:
        # Few rows of a batch share a key, so reducing them before the shuffle costs a sort and saves nothing: shuffle first, sort once.
        spread = cleaned.repartition(cleaned.sparkSession.sparkContext.defaultParallelism, *keys)
    grouped = spread.transform(_grouped, tuple(keys), tuple(aggregates))
    return grouped.selectExpr(*select(shape.key, shape.values, with_context=with_context), *(counts or {}))


def _grouped(frame: DataFrame, keys: Sequence[str], aggregates: Sequence[str]) -> DataFrame:
    return frame.groupBy(*keys).agg(*map(expr, aggregates))
