"""Every pair of a file's type and a silver column's: what Spark has no cast for is quarantined, row by row, and stops no table."""

import datetime as dt
import itertools
from decimal import Decimal
from typing import Any

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from dms_iceberg.sql.types import is_castable
from support.lake import Lake

TYPES = ("boolean", "int", "bigint", "float", "double", "decimal(12,2)", "string", "binary", "date", "timestamp", "timestamp_ntz")
NOON = dt.datetime(2026, 3, 1, 12)
FILE_TYPES: dict[str, tuple[pa.DataType, Any]] = {
    "boolean": (pa.bool_(), True),
    "bigint": (pa.int64(), 5),
    "double": (pa.float64(), 1.0),
    "decimal": (pa.decimal128(12, 2), Decimal("1.00")),
    "binary": (pa.binary(), b"\x01"),
    "date": (pa.date32(), NOON.date()),
    "timestamp": (pa.timestamp("us", tz="UTC"), NOON),
    "timestamp_ntz": (pa.timestamp("us"), NOON),
}


def test_which_casts_there_are(spark: SparkSession) -> None:
    def is_there(from_type: str, to_type: str) -> bool:
        try:
            spark.sql(f"SELECT try_cast(v AS {to_type}) FROM (SELECT CAST(NULL AS {from_type}) AS v)")
        except AnalysisException:
            return False
        return True

    wrong = [pair for pair in itertools.product(TYPES, TYPES) if is_there(*pair) != is_castable(*pair)]
    assert wrong == []


def test_a_type_without_a_cast_puts_its_rows_into_quarantine(lake: Lake) -> None:
    tables = {}
    for file_type, (arrow, value) in FILE_TYPES.items():
        own = "decimal(12,2)" if file_type == "decimal" else file_type
        to_type = [type_ for type_ in TYPES if not is_castable(own, type_)][-1]
        table = f"public.{file_type}"
        tables[table] = {"columns": [{"name": "v", "type": to_type}]}
        lake.load(table, [("id", pa.int64()), ("v", arrow)], [(1, value), (2, None)])
    report = lake.run(lake.config(tables))
    assert report.errors == {}
    for name in FILE_TYPES:
        assert lake.rows(name, "id, v") == [(2, None)]
        ((reason, detail),) = lake.quarantine(name)
        assert reason == "cast"
        assert detail.startswith("v does not fit")


def test_numbers_are_no_times_and_times_no_numbers_unless_an_expression_says_their_unit(lake: Lake) -> None:
    millis = 1_772_366_400_000
    pairs = {
        "millis": (pa.int64(), millis, "timestamp"),
        "seconds": (pa.decimal128(20, 3), Decimal("1772366400.000"), "timestamp"),
        "fraction": (pa.float64(), 1772366400.0, "timestamp"),
        "whole": (pa.timestamp("us", tz="UTC"), NOON, "bigint"),
        "exact": (pa.timestamp("us", tz="UTC"), NOON, "decimal(20,3)"),
    }
    tables = {f"public.{name}": {"columns": [{"name": "v", "type": to_type}]} for name, (_, _, to_type) in pairs.items()}
    tables["public.said"] = {"columns": [{"name": "v", "expr": "timestamp_millis(v)", "type": "timestamp"}]}
    for name, (arrow, value, _) in {**pairs, "said": pairs["millis"]}.items():
        lake.load(f"public.{name}", [("id", pa.int64()), ("v", arrow)], [(1, value), (2, None)])
    assert lake.run(lake.config(tables)).errors == {}
    for name in pairs:
        assert lake.rows(name, "id, v") == [(2, None)], name
        assert [reason for reason, _ in lake.quarantine(name)] == ["cast"], name
    assert lake.rows("said", "id, unix_millis(v)") == [(1, millis), (2, None)]
