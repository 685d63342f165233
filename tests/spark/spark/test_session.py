"""What the session of the job keeps while it lives."""

import time
from typing import Any

from pyspark.sql import SparkSession

PATIENCE = 120


def test_spark_keeps_the_plans_of_a_few_statements(spark: SparkSession) -> None:
    """Of a thousand by default, which fill a heap: a batch has many, and long ones."""
    kept = spark._jsparkSession.sharedState().statusStore()
    for _ in range(120):
        spark.range(1).collect()
    until = time.monotonic() + PATIENCE
    while kept.executionsCount() > 60 and time.monotonic() < until:
        time.sleep(0.1)
    assert kept.executionsCount() <= 60


def test_spark_forgets_which_files_it_found(spark: SparkSession) -> None:
    """It remembers up to 250 MB of them by default, for tables that are read again: each batch reads files that no other reads."""
    jvm: Any = spark._jvm
    cache = jvm.org.apache.spark.sql.execution.datasources.FileStatusCache.getOrCreate(spark._jsparkSession)
    assert cache.getClass().getSimpleName() == "NoopCache$"
