"""Small tables: some of Spark's optimisations for large tables cost more than they save."""

from collections.abc import Iterator
from contextlib import contextmanager

from pyspark.sql import SparkSession

# Compiling a plan takes longer than running it once over a few rows.
_INTERPRETED = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}


@contextmanager
def interpreted(spark: SparkSession, *, enabled: bool) -> Iterator[None]:
    """Run plans without code generation and adaptive execution inside this context, if ``enabled``."""
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
