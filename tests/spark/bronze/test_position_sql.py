"""The SQL forms of a position equal the Python forms."""

from datetime import datetime, timedelta
from random import Random

import pytest
from pyspark.sql import SparkSession

from dms_iceberg.bronze.position import (
    bytes_sql,
    is_named_behind_utc,
    is_named_behind_utc_sql,
    load_position,
    load_position_sql,
    sequence_position,
    sequence_position_sql,
    timestamp_position_sql,
)

FIRST_DAY = datetime(2000, 1, 1)
SECONDS = 50 * 366 * 24 * 3600
LOADS = (0, 9, 10, 123)


def _rows(count: int) -> list[tuple[str, str]]:
    rng = Random(3)
    rows = []
    for _ in range(count):
        counter = rng.randrange(10 ** rng.randint(1, 19))
        clock = FIRST_DAY + timedelta(seconds=rng.randrange(SECONDS))
        rows.append((f"{clock:%Y%m%d%H%M%S}{rng.randrange(100):02d}{counter:019d}", f"{rng.randrange(10**17):017d}"))
    extremes = ["00010101" + "0" * 27, "20240229" + "0" * 27, "99991231235959" + "9" * 21]
    return [*rows, *((sequence, time * 17) for sequence in extremes for time in "09")]


@pytest.mark.parametrize("load", LOADS)
def test_sql_equals_python(spark: SparkSession, load: int) -> None:
    frame = spark.createDataFrame(_rows(500), "sequence string, file_time string")
    found = frame.selectExpr(
        "*",
        f"{sequence_position_sql(load, 'sequence', 'file_time')} AS change",
        f"{load_position_sql(load, '012345678', bytes_sql('file_time', 10, 8))} AS loaded",
    ).collect()
    for row in found:
        assert row.change == sequence_position(load, row.sequence, row.file_time)
        assert row.loaded == load_position(load, f"012345678{row.file_time[9:]}")


def test_spark_sorts_positions_as_python_does(spark: SparkSession) -> None:
    frame = spark.createDataFrame(_rows(500), "sequence string, file_time string")
    ordered = frame.selectExpr(f"{sequence_position_sql(9, 'sequence', 'file_time')} AS p").orderBy("p").collect()
    assert [row.p for row in ordered] == sorted(sequence_position(9, *row) for row in _rows(500))


@pytest.mark.parametrize("load", LOADS)
def test_names_behind_utc_are_known_by_the_position(spark: SparkSession, load: int) -> None:
    """Of files without a sequence as well, whose clock has microseconds; a source whose clock is some minutes fast is no other zone."""
    cases = {-8 * 60: True, -60: True, -31: True, -29: False, -5: False, 0: False, 1: False, 9 * 60: False}
    commit = datetime(2026, 3, 1, 10, 0, 0)
    names = {f"{commit + timedelta(minutes=ahead):%Y%m%d%H%M%S}000": expected for ahead, expected in cases.items()}
    sequence = f"{commit:%Y%m%d%H%M%S}00{61:019d}"
    frame = spark.createDataFrame([(name, sequence, commit) for name in names], "file string, sequence string, at timestamp_ntz")
    positions = {
        "sequence": sequence_position_sql(load, "sequence", "file"),
        "timestamp": timestamp_position_sql(load, "at", "file", "7"),
        "load": load_position_sql(load, "", "file"),
    }
    for kind, position in positions.items():
        for row in (
            frame.selectExpr("file", f"{position} AS p").selectExpr("file", "p", f"{is_named_behind_utc_sql('p')} AS is_behind").collect()
        ):
            expected = names[row.file] and kind != "load"
            assert (bool(row.is_behind), is_named_behind_utc(row.p)) == (expected, expected), (kind, row)


NO_DATES = ["9" * 35, "0" * 35, "20261301" + "0" * 27, "20260230" + "0" * 27]


@pytest.mark.parametrize("sequence", [None, "", "1" * 34, "1" * 36, "x" + "1" * 34, " " * 35, *NO_DATES])
def test_broken_sequence_has_no_position(spark: SparkSession, sequence: str | None) -> None:
    frame = spark.createDataFrame([(sequence, "0" * 17)], "sequence string, file_time string")
    assert frame.selectExpr(sequence_position_sql(0, "sequence", "file_time")).collect()[0][0] is None
