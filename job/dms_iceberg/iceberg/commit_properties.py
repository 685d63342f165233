"""Runs statements whose snapshots carry properties in their summaries."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pyspark.java_gateway import ensure_callback_server_started

from dms_iceberg.iceberg.java_maps import to_java_map

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def commit_with(spark: "SparkSession", properties: Mapping[str, str], work: Callable[[], object]) -> None:
    """Run statements whose snapshots carry ``properties`` in their summaries.

    MERGE, UPDATE and CREATE TABLE AS have no write options in Spark 3.5, and the session setting ``snapshot-property.*`` has no effect on
    them. Iceberg's CommitMetadata does, a thread-local that is read at commit.

    Raises:
        BaseException: what ``work`` raised.
    """
    jvm: Any = spark._jvm
    ensure_callback_server_started(spark.sparkContext._gateway)  # type: ignore[no-untyped-call]
    call = _Callable(work)
    try:
        jvm.org.apache.iceberg.spark.CommitMetadata.withCommitProperties(
            to_java_map(jvm, properties), call, jvm.java.lang.RuntimeException._java_lang_class
        )
        if call.error is not None:
            raise call.error
    finally:
        call.forget()


class _Callable:
    """A Java Callable that runs a Python function and keeps its exception, which would be hidden on its way through the JVM."""

    class Java:
        implements = ("java.util.concurrent.Callable",)

    def __init__(self, function: Callable[[], object]) -> None:
        self.function = function
        self.error: BaseException | None = None

    def call(self) -> None:
        """Run the function."""
        try:
            self.function()
        except BaseException as error:
            self.error = error

    def forget(self) -> None:
        """Release the function and its error: Py4J keeps this object until Java collects its proxy, much later."""
        del self.function
        self.error = None


GOLD_KEY = "dms-iceberg.gold"
