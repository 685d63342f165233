"""Table properties that Iceberg refuses or ignores, names of partition fields, and full names of nested fields."""

import re

import pytest

from dms_iceberg.config.datetime_pattern import exact_pattern, pattern_problem, zone_names
from dms_iceberg.config.iceberg_properties import property_problem, unknown_columns
from dms_iceberg.config.partition import parse_partition
from dms_iceberg.sql.json_documents import full_names


@pytest.mark.parametrize(
    ("name", "value", "is_right"),
    [
        ("commit.retry.num-retries", "4", True),
        ("commit.retry.num-retries", "four", False),
        ("write.parquet.row-group-size-bytes", "1.5", False),
        ("write.metadata.previous-versions-max", "", False),
        ("write.metadata.metrics.default", "truncate(16)", True),
        ("write.metadata.metrics.default", "truncate", False),
        ("write.metadata.metrics.column.a.b", "FULL", True),
        ("write.metadata.metrics.column.a.b", "all", False),
        ("write.parquet.bloom-filter-enabled.column.id", "yes", False),
        ("write.parquet.bloom-filter-fpp.column.id", "0.01", True),
        ("write.parquet.compression-codec", "ZSTD", True),
        ("write.parquet.compression-codec", "zip", False),
        ("write.delete.mode", "merge", False),
        ("gc.enabled", "no", False),
        ("team", "it's us", True),
    ],
)
def test_values(name: str, value: str, is_right: bool) -> None:
    problem = property_problem(name, value)
    assert (problem is None) is is_right
    assert problem is None or name in problem


def test_columns_of_properties() -> None:
    names = ["id", "title", "imdb", "imdb.rating", "a.column.b"]
    right = [f"write.metadata.metrics.column.{name}" for name in names]
    assert not list(unknown_columns([*right, "write.metadata.metrics.default", "team.column.x"], names))
    wrong = ["write.metadata.metrics.column.titel", "write.parquet.bloom-filter-enabled.column.ID"]
    found = list(unknown_columns(wrong, names))
    assert ["'title'" in found[0], "'id'" in found[1]] == [True, True]


def test_partition_fields_have_names_that_no_column_can_have() -> None:
    texts = ["a", "a_day", "days(a)", "hours(a)", "months(a_day)", "bucket(4, a)", "truncate(3, a)", "bucket(4, day_a)", "`a b`"]
    fields = [parse_partition(text) for text in texts]
    names = [field.name for field in fields]
    assert len({name.lower() for name in names}) == len(names)
    assert all(name.startswith("_cdc_by_") for name in names)
    assert [field.iceberg_name for field in fields[:8]] == [
        *("a", "a_day", "a_day", "a_hour", "a_day_month", "a_bucket", "a_trunc", "day_a_bucket")
    ]


def test_full_names() -> None:
    columns = {"s": "struct<a:int,b:array<struct<c:int>>>", "m": "map<string,struct<d:int>>", "s.a": "int"}
    assert [name for name, _ in full_names(columns)] == [
        *("s", "s.a", "s.b", "s.b.element", "s.b.element.c", "m", "m.key", "m.value", "m.value.d", "s.a")
    ]


def test_digits_that_would_be_lost_are_literals() -> None:
    assert exact_pattern("yyyy-MM-dd HH:mm:ss.SSSSSSS XXX") == "yyyy-MM-dd HH:mm:ss.SSSSSS[0] XXX"
    assert exact_pattern("ss[.SSSSSSSSS]") == "ss[.SSSSSS[0[0[0]]]]"
    assert exact_pattern("ss'SSSSSSSS'.SSSSSS") == "ss'SSSSSSSS'.SSSSSS"


def test_parts_that_would_be_guessed() -> None:
    assert "no day" in str(pattern_problem("yyyy-MM HH:mm"))
    assert pattern_problem("yyyy-DDD HH:mm") is None
    assert zone_names("yyyy-MM-dd HH:mm VV") is None
    names = zone_names("yyyy-MM-dd HH:mm[ z]")
    assert names is not None
    texts = ("2026-01-01 10:00", "2026-01-01 10:00 UTC", "2026-01-01 10:00 z", "2026-01-01 10:00 CST", "1 Jan 2026 10:00 PST")
    assert [re.search(names, text) is not None for text in texts] == [True, True, True, False, False]
    assert zone_names("yyyy-MM-dd 'z'") is None
