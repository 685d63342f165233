"""Small tables: what Spark does for large ones costs more than it saves."""

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

# To compile a plan takes longer than to run it once over a few rows.
_INTERPRETED = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


@contextmanager
def interpreted(spark: SparkSession, *, enabled: bool) -> Iterator[None]:
    """Let plans be run as they are while inside."""
    if not enabled:
        yield
        return
    before = {name: spark.conf.get(name) for name in _INTERPRETED}
    for name, value in _INTERPRETED.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, earlier in before.items():
            spark.conf.set(name, earlier or "")
