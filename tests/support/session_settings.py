"""Settings of the session that all tests share, for the time of one of them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from pyspark.sql import SparkSession


@contextmanager
def session_settings(spark: SparkSession, settings: Mapping[str, str]) -> Iterator[None]:
    """Set what is set otherwise, and put it back: a setting that changes nothing would only look like one."""
    before = {name: spark.conf.get(name) for name in settings}
    assert not before.items() & settings.items()
    for name, value in settings.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name, value in before.items():
            spark.conf.set(name, str(value))
