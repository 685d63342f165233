"""Work on many tables at once in one session."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from pyspark.sql import SparkSession

Item = TypeVar("Item")
Result = TypeVar("Result")


def activate(spark: SparkSession, pool: str) -> None:
    """Activate the session in this thread; without one, `expr` parses by default settings, and replaces ``${...}`` in names and literals.

    Jobs of one scheduler pool wait for each other and pools share the cores, so a huge table takes only its share.
    """
    jvm: Any = spark._jvm
    jvm.org.apache.spark.sql.SparkSession.setActiveSession(spark._jsparkSession)
    spark.sparkContext.setLocalProperty("spark.scheduler.pool", pool)


def at_once(
    spark: SparkSession, threads: int, items: Sequence[Item], name: Callable[[Item], str], work: Callable[[Item], Result]
) -> list[Result]:
    """Return what ``work`` makes of each item, in their order; at most ``threads`` are at work at the same time.

    Args:
        spark: the session, which is activated in each thread.
        threads: how many.
        items: what to work on.
        name: returns the scheduler pool of an item.
        work: what to do; its exceptions are raised.
    """

    def one(item: Item) -> Result:
        activate(spark, name(item))
        return work(item)

    with ThreadPoolExecutor(max(1, min(threads, len(items)))) as pool:
        return list(pool.map(one, items))
