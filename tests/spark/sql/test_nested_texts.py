"""Texts of nested values, by which `verify` and comparisons of maps tell them apart: other values have other texts."""

from itertools import combinations
from typing import TYPE_CHECKING

import pytest

from dms_iceberg.sql.value_text import value_text

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WALL = "timestamp_ntz'2026-03-01 10:00:00.{}'"
INSTANT = "timestamp'2026-03-01 10:00:00.{}'"
VALUES = {
    "struct<a:timestamp_ntz>": [f"named_struct('a', {WALL.format(part)})" for part in ("123456", "123457", "123")],
    "struct<a:timestamp>": [f"named_struct('a', {INSTANT.format(part)})" for part in ("123456", "123457", "123")],
    "map<timestamp_ntz,int>": [f"map({WALL.format(part)}, 1)" for part in ("123456", "123457")],
    "array<timestamp_ntz>": [f"array({WALL.format('000001')})", "array(timestamp_ntz'2026-03-01 10:00:00')", "array()", "array(NULL)"],
    "array<double>": ["array(0.0D)", "array(-0.0D)", "array(double('NaN'))", "array(0.1D)", "array(0.10000000000000002D)", "array(NULL)"],
    "array<float>": ["array(float('0.1'))", "array(float('0.10000001'))"],
    "array<decimal(38,20)>": [f"array(CAST('{text}' AS decimal(38,20)))" for text in ("0", "1e-20", "123456789012345678.1", "0.1")],
    "array<binary>": ["array(X'')", "array(X'00')", "array(X'0000')", "array(CAST(NULL AS binary))"],
    "map<string,int>": ["map('a', 1)", "map('a', NULL)", "map('A', 1)", "map('a', 1, 'b', 2)", "map()"],
    "struct<a:string,b:struct<c:date>>": [
        "named_struct('a', 'x', 'b', named_struct('c', date'0001-01-01'))",
        "named_struct('a', 'x', 'b', named_struct('c', date'0001-01-02'))",
        "named_struct('a', 'x', 'b', named_struct('c', CAST(NULL AS date)))",
        "named_struct('a', 'x', 'b', CAST(NULL AS struct<c:date>))",
        "named_struct('a', CAST(NULL AS string), 'b', CAST(NULL AS struct<c:date>))",
        "named_struct('a', 'null', 'b', CAST(NULL AS struct<c:date>))",
        "named_struct('a', '', 'b', CAST(NULL AS struct<c:date>))",
        "CAST(NULL AS struct<a:string,b:struct<c:date>>)",
    ],
    "array<string>": ["array('a,b')", "array('a', 'b')", "array('\"')", "array('null')", "array(NULL)"],
}


@pytest.mark.parametrize("type_", VALUES)
def test_other_values_have_other_texts(spark: "SparkSession", type_: str) -> None:
    row = spark.range(1).selectExpr(*(f"CAST({sql} AS {type_}) AS c{number}" for number, sql in enumerate(VALUES[type_])))
    texts = row.selectExpr(*(value_text(name, type_) for name in row.columns)).collect()[0]
    assert [(one, other) for one, other in combinations(range(len(texts)), 2) if texts[one] == texts[other]] == []
