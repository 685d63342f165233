"""What is told of Spark's errors: the file and what to do, never a row's value."""

import errno

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, ResponseStreamingError
from py4j.protocol import Py4JJavaError
from pyspark.errors import AnalysisException, PySparkException

from dms_iceberg.silver.table import TargetTable
from dms_iceberg.spark.failures import FAILURES, describe, describe_defect

UNREADABLE = """An error occurred while calling o143.collectToPython.
: org.apache.spark.SparkException: Job aborted due to stage failure: Task 0 in stage 0.0 failed 1 times
: org.apache.spark.SparkException: Encountered error while reading file s3a://bronze/public/t/LOAD00000001.csv.gz. Details:
	at org.apache.spark.sql.Something
Caused by: com.univocity.parsers.common.TextParsingException: Parsed content: secret
Caused by: java.io.EOFException: secret
"""


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (UNREADABLE, ["s3a://bronze/public/t/LOAD00000001.csv.gz", "EOFException", "Restore"]),
        (
            "[PATH_NOT_FOUND] Path does not exist: file:/a b/public/t/20260301-100000000.parquet.",
            ["file:/a b/public/t/20260301-100000000.parquet", "does not exist", "Restore"],
        ),
    ],
)
def test_bronze_files_are_named(text: str, parts: list[str]) -> None:
    told = describe(RuntimeError(text))
    assert [part for part in parts if part not in told] == []
    assert "secret" not in told


def test_other_errors_keep_their_first_line() -> None:
    assert describe(OSError("disk full\nmore")) == "OSError: disk full"
    assert describe(OSError()) == "OSError"


@pytest.mark.parametrize("kind", [AnalysisException, PySparkException, RuntimeError])
@pytest.mark.parametrize("text", ["[DATATYPE_MISMATCH.BINARY_OP_DIFF_TYPES] Cannot resolve 's = secret'", "of secret"])
def test_a_statement_with_values_is_not_quoted(kind: type[Exception], text: str) -> None:
    told = describe(kind(text), has_values=True)
    assert "secret" not in told
    assert told.startswith(f"{kind.__name__}: DATATYPE_MISMATCH.BINARY_OP" if "[" in text else f"{kind.__name__} (its message")


OF_A_ROW = (
    "Job aborted due to stage failure: Task 0 in stage 1.0 failed 1 times, most recent failure: Lost task 0.0 in stage 1.0 (TID 1) "
    "(127.0.0.1 executor driver): {}: Unknown time-zone: secret\n\tat java.base/java.time.ZoneId.of(Unknown Source)\n"
)


@pytest.mark.parametrize(
    "cause",
    [
        "java.time.zone.ZoneRulesException",
        "java.lang.IllegalArgumentException",
        "com.fasterxml.jackson.core.JsonParseException",
        "com.univocity.parsers.common.TextParsingException",
        "org.apache.spark.sql.catalyst.util.BadRecordException",
    ],
)
@pytest.mark.parametrize("kind", [PySparkException, RuntimeError])
def test_what_java_says_of_a_value_is_left_out(kind: type[Exception], cause: str) -> None:
    for text in (OF_A_ROW.format(cause), OF_A_ROW.format("org.apache.spark.X") + f"Caused by: {cause}: secret"):
        told = describe(kind(text))
        assert "secret" not in told
        assert cause.rpartition(".")[2] in told
        assert "try_" in told


SAX = f"""{OF_A_ROW.format("java.lang.RuntimeException")}
Caused by: org.xml.sax.SAXParseException; lineNumber: 1; columnNumber: 19; The entity "secret" was referenced, but not declared.
"""


class OfJava(Py4JJavaError):
    """What Py4J raises of a Java exception with this stack trace."""

    def __init__(self, text: str) -> None:
        super().__init__(text, _Throwable())
        self.text = text

    def __str__(self) -> str:
        return self.text


class _Throwable:
    _target_id = "o1"

    def getClass(self) -> "_Throwable":
        return self

    def getName(self) -> str:
        return "java.lang.Throwable"

    def getCause(self) -> None:
        return None


@pytest.mark.parametrize("before", ["", "Caused by: "])
@pytest.mark.parametrize("cause", ["com.acme.lib.ParserException", "java.lang.RuntimeException", "java.io.CharConversionException"])
def test_a_message_that_may_quote_a_value_is_left_out(cause: str, before: str) -> None:
    said = f"An error occurred while calling o1.collect.\n: org.apache.spark.SparkException: {OF_A_ROW.format('com.acme.Outer')}"
    for text in (f"An error\n{before or ': '}{cause}: secret\n\tat com.acme.X", f"{said}{before or ': '}{cause}: secret"):
        told = describe(OfJava(text))
        assert "secret" not in told
        assert told.startswith(cause.rpartition(".")[2])
        assert "Spark's own log has it" in told


@pytest.mark.parametrize(
    ("cause", "rest"),
    [
        ("java.io.IOException: Mkdirs failed to create s3://b/lake/t/data/city=secret/n=secret (exists=false)", "t/data/city=.../n=..."),
        ("software.amazon.awssdk.services.s3.model.S3Exception: no room for s3://b/t/data/city=secret/1.parquet", "city=.../1.parquet"),
        ("java.lang.IllegalArgumentException: Cannot write value as decimal(4,2), too large: secret", "IllegalArgumentException ("),
    ],
)
def test_values_of_partitions_are_left_out(cause: str, rest: str) -> None:
    told = describe(OfJava(f"An error occurred while calling o1.commit.\n: {cause}\n\tat com.acme.X"))
    assert "secret" not in told
    assert rest in told


@pytest.mark.parametrize("text", [OF_A_ROW.format("com.acme.lib.ParserException"), SAX])
def test_the_error_of_a_task_is_not_quoted_by_that_of_its_job(text: str) -> None:
    for error in (PySparkException(text), OfJava(f": org.apache.spark.SparkException: {text}")):
        told = describe(error)
        assert "secret" not in told
        assert "ParserException" in told or "SAXParseException" in told


@pytest.mark.parametrize("name", ["NumberFormatException", "DateTimeException", "ArithmeticException", "SparkRuntimeException"])
def test_what_pyspark_tells_of_a_value_is_left_out(name: str) -> None:
    told = describe(type(name, (PySparkException,), {})("For input: secret"))
    assert told.startswith(f"{name} (its message is left out")


@pytest.mark.parametrize(
    "told",
    [
        "ValidationException: Cannot use property x",
        "NoSuchTableException: Table does not exist: silver.t",
        "OutOfMemoryError: Java heap space",
        "SparkException: Job 3 cancelled because SparkContext was shut down",
        "IOException: Mkdirs failed to create file:/lake/silver",
        "ClassNotFoundException: org.apache.iceberg.spark.SparkCatalog",
    ],
)
def test_a_message_about_files_tables_and_jobs_is_told(told: str) -> None:
    packages = {"Va": "org.apache.iceberg.exceptions", "No": "org.apache.iceberg.exceptions", "Sp": "org.apache.spark", "IO": "java.io"}
    cause = f"{packages.get(told[:2], 'java.lang')}.{told}"
    assert describe(OfJava(f"An error occurred while calling o1.x.\n: {cause}\n\tat org.X")) == told
    lost = "Job aborted due to stage failure: Task 0 in stage 1.0 failed 1 times: Lost task 0.0 (TID 1) (10.0.0.1 executor 2): "
    assert "exit code 137" in describe(PySparkException(f"{lost}ExecutorLostFailure (executor 2 exited with exit code 137)"))


def test_errors_of_aws_name_the_call() -> None:
    denied = ClientError({"Error": {"Code": "AccessDenied", "Message": "Access Denied"}}, "ListObjectsV2")
    assert isinstance(denied, FAILURES)
    assert "AccessDenied" in describe(denied)
    assert "ListObjectsV2" in describe(denied)


def test_an_unforeseen_error_tells_its_place_and_no_value() -> None:
    try:
        int("secret")
    except ValueError as error:
        told = describe_defect(error)
    assert "ValueError at test_failures.py:" in told
    assert "secret" not in told


IN_A_TASK = """Job aborted due to stage failure: Task 0 in stage 1.0 failed 1 times, most recent failure: Lost task 0.0 in stage 1.0 (TID 1)
(127.0.0.1 executor driver): org.apache.hadoop.fs.s3a.AWSServiceThrottledException: open on s3a://bronze/t/LOAD00000001.csv: Slow
\tat org.apache.hadoop.fs.s3a.S3AUtils.translateException(S3AUtils.java:1)
Caused by: com.amazonaws.services.s3.model.AmazonS3Exception: Please reduce your request rate. (Service: Amazon S3; Status Code: 503)
"""
OF_GLUE = "An error\n: software.amazon.awssdk.services.glue.model.GlueException: Service (Service: Glue, Status Code: {}, Request ID: 0)\n"
SLOW = ClientError({"Error": {"Code": "SlowDown", "Message": "Slow"}, "ResponseMetadata": {"HTTPStatusCode": 503}}, "ListObjectsV2")  # type: ignore[typeddict-item]


@pytest.mark.parametrize(
    ("error", "parts"),
    [
        (PySparkException(IN_A_TASK), ["AWSServiceThrottledException: open on s3a://bronze/t/LOAD00000001.csv", "parallelism"]),
        (PySparkException(OF_GLUE.format(500)), ["GlueException: Service", "VPC endpoint"]),
        (PySparkException("org.apache.iceberg.exceptions.ServiceUnavailableException: none"), ["ServiceUnavailableException"]),
        (
            EndpointConnectionError(endpoint_url="https://bronze.s3.amazonaws.com/"),
            ["EndpointConnectionError", "bronze.s3", "VPC"],
        ),
        (ResponseStreamingError(error="broken"), ["ResponseStreamingError"]),
        (SLOW, ["ListObjectsV2", "SlowDown", "parallelism"]),
    ],
)
def test_outages_say_what_failed_and_that_the_next_run_goes_on(error: Exception, parts: list[str]) -> None:
    told = describe(error)
    assert [part for part in [*parts, "Nothing is lost", "next run goes on"] if part not in told] == []


VANISHED = """: java.io.FileNotFoundException: No such file or directory: s3a://bronze/t/20260301-100000000.parquet
File s3a://bronze/t/20260301-100000000.parquet does not exist
\tat org.apache.hadoop.fs.s3a.S3AUtils.translateS3Exception(S3AUtils.java:1)
\tat software.amazon.awssdk.core.exception.SdkClientException.create(SdkClientException.java:1)
"""


def test_a_missing_object_is_no_outage() -> None:
    assert "Bronze is the log" in describe(PySparkException(VANISHED))


def test_a_value_in_a_uri_is_not_told() -> None:
    assert "secret" not in describe(PySparkException("[INVALID_URL] java.net.URISyntaxException: Illegal character in path: secret"))


def test_a_refusal_of_aws_is_no_outage() -> None:
    assert describe(PySparkException(OF_GLUE.format(403))) == "GlueException: Service (Service: Glue, Status Code: 403, Request ID: 0)"


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, "No space left on device", "/lake/runs/t.json"),
        PySparkException("Task failed: java.io.IOException: No space left on device\n\tat java.base"),
    ],
)
def test_a_full_disk_is_told_as_such(error: Exception) -> None:
    told = describe(error)
    assert [part for part in ("no room on a disk", "No space left on device", "make room", "next run goes on") if part not in told] == []


def test_a_table_is_forgotten_where_spark_is_gone() -> None:
    class Gone:
        def sql(self, _: str) -> None:
            raise ConnectionRefusedError(errno.ECONNREFUSED, "Connection refused")

    TargetTable(Gone(), "lake", "silver.t").forget()  # type: ignore[arg-type]
