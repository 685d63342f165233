"""The SQL forms of a position equal the Python forms."""

from random import Random

import pytest
from pyspark.sql import SparkSession

from dms_iceberg.changes.position import load_position, load_position_sql, sequence_position, sequence_position_sql

EPOCHS = (0, 9, 10, 123)


def _rows(count: int) -> list[tuple[str, str]]:
    rng = Random(3)
    rows = []
    for _ in range(count):
        counter = rng.randrange(10 ** rng.randint(1, 19))
        rows.append((f"{rng.randrange(10**16):016d}{counter:019d}", f"{rng.randrange(10**17):017d}"))
    return [*rows, ("0" * 35, "0" * 17), ("9" * 35, "9" * 17)]


@pytest.mark.parametrize("epoch", EPOCHS)
def test_sql_equals_python(spark: SparkSession, epoch: int) -> None:
    frame = spark.createDataFrame(_rows(500), "sequence string, file_time string")
    found = frame.selectExpr(
        "*", f"{sequence_position_sql(epoch, 'sequence', 'file_time')} AS change", f"{load_position_sql(epoch, 'file_time')} AS load"
    ).collect()
    for row in found:
        assert row.change == sequence_position(epoch, row.sequence, row.file_time)
        assert row.load == load_position(epoch, row.file_time)


def test_spark_sorts_positions_as_python_does(spark: SparkSession) -> None:
    frame = spark.createDataFrame(_rows(500), "sequence string, file_time string")
    ordered = frame.selectExpr(f"{sequence_position_sql(9, 'sequence', 'file_time')} AS p").orderBy("p").collect()
    assert [row.p for row in ordered] == sorted(sequence_position(9, *row) for row in _rows(500))


@pytest.mark.parametrize("sequence", [None, "", "1" * 34, "1" * 36, "x" + "1" * 34, " " * 35])
def test_broken_sequence_has_no_position(spark: SparkSession, sequence: str | None) -> None:
    frame = spark.createDataFrame([(sequence, "0" * 17)], "sequence string, file_time string")
    assert frame.selectExpr(sequence_position_sql(0, "sequence", "file_time")).collect()[0][0] is None
