"""What the session of the job keeps while it lives."""

import time

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
