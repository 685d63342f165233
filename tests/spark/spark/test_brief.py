"""Plans of queries that read little."""

import pytest
from pyspark.sql import SparkSession

from dms_iceberg.spark.brief import briefly_planned

QUERY = "SELECT id % 3 AS k, sum(id) AS total, collect_list(CAST(id AS string)) AS texts FROM range(100) GROUP BY id % 3 ORDER BY k"


@pytest.mark.usefixtures("planned_as_on_glue")
def test_rows_are_the_same_and_nothing_is_adapted_or_compiled(spark: SparkSession) -> None:
    usual = spark.sql(QUERY)
    brief = briefly_planned(usual)
    assert brief.collect() == usual.collect()
    plans = [frame._jdf.queryExecution().executedPlan().toString() for frame in (usual, brief)]
    assert ["AdaptiveSparkPlan" in plan for plan in plans] == [True, False]
    # So Spark marks what it compiles.
    assert ["*(" in plan for plan in plans] == [True, False]


@pytest.mark.usefixtures("planned_as_on_glue")
def test_other_settings_are_those_of_the_session(spark: SparkSession) -> None:
    brief = briefly_planned(spark.range(1)).sparkSession
    for name in ("spark.sql.session.timeZone", "spark.sql.ansi.enabled", "spark.sql.autoBroadcastJoinThreshold", "spark.sql.catalog.lake"):
        assert brief.conf.get(name) == spark.conf.get(name), name
    assert spark.conf.get("spark.sql.adaptive.enabled") == "true"
    assert briefly_planned(spark.range(1)).sparkSession is brief
