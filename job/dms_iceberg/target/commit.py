"""Committing data and progress in one Iceberg snapshot."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException
from pyspark.java_gateway import ensure_callback_server_started

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_CONFLICTS = (
    "org.apache.iceberg.exceptions.ValidationException",
    "org.apache.iceberg.exceptions.CommitFailedException",
    "org.apache.iceberg.exceptions.CommitStateUnknownException",
    "org.apache.iceberg.exceptions.AlreadyExistsException",
)


class _Callable:
    """A Java Callable that runs a Python function and keeps its exception, which crossing the JVM would hide."""

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


def merge_with_properties(spark: "SparkSession", sql: str, properties: Mapping[str, str]) -> None:
    """Run a MERGE (or UPDATE) whose snapshot carries ``properties`` in its summary.

    MERGE has no write options in Spark 3.5, and the session setting ``snapshot-property.*`` has no effect on it: Iceberg's CommitMetadata,
    a thread-local that is read at commit, is the way.
    """
    jvm: Any = spark._jvm
    start_callbacks: Callable[[Any], None] = ensure_callback_server_started
    start_callbacks(spark.sparkContext._gateway)
    summary = jvm.java.util.HashMap()
    for key, value in properties.items():
        summary.put(key, value)
    call = _Callable(lambda: spark.sql(sql))
    jvm.org.apache.iceberg.spark.CommitMetadata.withCommitProperties(summary, call, jvm.java.lang.RuntimeException._java_lang_class)
    if call.error is not None:
        raise call.error


def append_with_properties(frame: "DataFrame", table: str, properties: Mapping[str, str], planned_on: int | None) -> None:
    """Append as compare-and-swap: fails when anything was committed since snapshot ``planned_on`` (None: since creation).

    A plain append never conflicts, so two first loads at once would double every row; an overwrite of nothing is checked.
    """
    writer = frame.writeTo(table).option("isolation-level", "serializable")
    if planned_on is not None:
        writer = writer.option("validate-from-snapshot-id", str(planned_on))
    for key, value in properties.items():
        writer = writer.option(f"snapshot-property.{key}", value)
    from pyspark.sql.functions import lit

    writer.overwrite(lit(False))


def is_conflict(error: BaseException) -> bool:
    """Whether ``error`` says that somebody else committed first, so that the batch must be planned anew."""
    java: Any = None
    if isinstance(error, Py4JJavaError):
        java = error.java_exception
    elif isinstance(error, CapturedException):
        java = error._origin
    while java is not None:
        if java.getClass().getName() in _CONFLICTS:
            return True
        java = java.getCause()
    return False
