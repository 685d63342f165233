"""What is told of Spark's errors: the file and what to do, never a row's value."""

import pytest
from botocore.exceptions import ClientError

from dms_iceberg.spark_errors import FAILURES, describe, describe_defect

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
    assert "ValueError at test_spark_errors.py:" in told
    assert "secret" not in told
