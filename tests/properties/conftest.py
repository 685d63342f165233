"""What property tests need of the environment."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from support.table_kinds import SALT, SALT_VARIABLE


@pytest.fixture(autouse=True)
def _salt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(SALT_VARIABLE, SALT)


@pytest.fixture(autouse=True)
def _interpreted(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[None]:
    """Interpret plans instead of compiling them, but for the first format: with so little data the compiler takes most of the time."""
    if request.node.name.endswith("[parquet-0]"):
        yield
        return
    spark.conf.set("spark.sql.codegen.wholeStage", "false")
    yield
    spark.conf.unset("spark.sql.codegen.wholeStage")
