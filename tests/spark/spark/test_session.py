"""What the session of the job keeps while it lives."""

import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql.functions import col

PATIENCE = 120


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("CAST(1.50 AS decimal(10,2)) = CAST(2 AS decimal(38,0))", False),
        ("CAST(1.0000000001 AS decimal(38,10)) = CAST(1 AS decimal(38,2))", False),
        ("CAST(2 AS decimal(38,0)) <=> CAST(2.40 AS decimal(20,2))", False),
        ("coalesce(CAST(NULL AS decimal(38,6)), CAST(0.3333333333 AS decimal(38,10)))", Decimal("0.3333333333")),
        ("'O''Brien'", "OBrien"),
        ("split('abcd', '', 2)[1]", "b"),
        ("initcap('ßeta ŉ')", "ßeta ŉ"),
        ("size(map_from_arrays(array(0.0D, -0.0D), array('a', 'b')))", 2),
        ("decode(encode('€', 'windows-1252'), 'cp1252')", "€"),
        ("'a' !LIKE 'b'", True),
        ("decode(X'61FF', 'UTF-8')", "a\ufffd"),
        ("""get_json_object('{"a": {"b":  1}}', '$.a')""", '{"b":1}'),
    ],
)
def test_expressions_have_the_values_of_spark_3_5(spark: SparkSession, expression: str, value: Any) -> None:
    """Where a later version has others by default: key and mask would differ, and what a configuration says would change its meaning."""
    assert spark.sql(f"SELECT {expression} AS value").collect()[0].value == value
    spark.createDataFrame([(1,)], "id int").createOrReplaceTempView("one")
    assert spark.sql(f"SELECT {expression} AS value FROM one WHERE rand() < 2").collect()[0].value == value


def test_spark_keeps_the_plans_of_a_few_statements(spark: SparkSession) -> None:
    """Of a thousand by default, which fill a heap: a batch has many, and long ones."""
    kept = spark._jsparkSession.sharedState().statusStore()
    for _ in range(120):
        spark.range(1).collect()
    until = time.monotonic() + PATIENCE
    while kept.executionsCount() > 60 and time.monotonic() < until:
        time.sleep(0.1)
    assert kept.executionsCount() <= 60


def test_spark_forgets_which_files_it_found(spark: SparkSession) -> None:
    """It remembers up to 250 MB of them by default, for tables that are read again: each batch reads files that no other reads."""
    jvm: Any = spark._jvm
    cache = jvm.org.apache.spark.sql.execution.datasources.FileStatusCache.getOrCreate(spark._jsparkSession)
    assert cache.getClass().getSimpleName() == "NoopCache$"


def test_an_exception_of_spark_is_written_nowhere(spark: SparkSession, capfd: pytest.CaptureFixture[str]) -> None:
    """It may say a value of a row; whoever catches it says what is to be said."""
    with pytest.raises(AnalysisException, match="none_such"):
        spark.sql("SELECT none_such FROM VALUES (1) AS t(a)")
    with pytest.raises(AnalysisException, match="none_such"):
        spark.range(1).select(col("none_such"))
    assert capfd.readouterr().err == ""


def test_a_local_session_writes_no_checksum_files_and_heeds_those_that_are_there(spark: SparkSession, tmp_path: Path) -> None:
    jvm: Any = spark._jvm
    path = jvm.org.apache.hadoop.fs.Path(f"file://{tmp_path}/hint")
    files = path.getFileSystem(spark._jsc.hadoopConfiguration())
    checksum = tmp_path / ".hint.crc"
    stream = files.create(path)
    stream.write(b"1")
    stream.close()
    assert not checksum.exists()
    # As a session of before has it.
    checksum.write_bytes(b"crc\x00" + (512).to_bytes(4, "big") + bytes(4))
    with pytest.raises(Exception, match="ChecksumException"):
        files.open(path).read()
    files.create(path, True).close()
    assert not checksum.exists()
