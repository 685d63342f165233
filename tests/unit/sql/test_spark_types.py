"""Which types are alike, and which widen into which without losing a value."""

import pytest

from dms_iceberg.sql.types import canonical, common, decimal_of, fits, stored, widens


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("INTEGER", "int"),
        ("long", "bigint"),
        (" Decimal ( 12 , 2 ) ", "decimal(12,2)"),
        ("numeric(5)", "decimal(5,0)"),
        ("dec", "decimal(10,0)"),
        ("timestamp_ltz", "timestamp"),
        ("ARRAY < INT >", "array<int>"),
        ("struct<a : int, b: string>", "struct<a:int,b:string>"),
    ],
)
def test_one_spelling(text: str, expected: str) -> None:
    assert canonical(text) == expected


@pytest.mark.parametrize(("type_", "expected"), [("tinyint", "int"), ("smallint", "int"), ("bigint", "bigint"), ("string", "string")])
def test_iceberg_has_no_small_integers(type_: str, expected: str) -> None:
    assert stored(type_) == expected


def test_decimal_of() -> None:
    assert decimal_of("decimal(12,2)") == (12, 2)
    assert decimal_of("bigint") is None


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("int", "bigint", True),
        ("bigint", "int", False),
        ("float", "double", True),
        ("double", "float", False),
        ("decimal(10,2)", "decimal(12,2)", True),
        ("decimal(10,2)", "decimal(12,3)", False),
        ("decimal(12,2)", "decimal(10,2)", False),
        ("int", "double", False),
        ("int", "decimal(10,0)", False),
        ("date", "timestamp", False),
        ("int", "string", False),
    ],
)
def test_what_iceberg_promotes(old: str, new: str, expected: bool) -> None:
    assert widens(old, new) is expected


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        ("smallint", "bigint", "bigint"),
        ("float", "double", "double"),
        ("decimal(10,2)", "decimal(8,4)", "decimal(12,4)"),
        ("int", "decimal(5,2)", "decimal(12,2)"),
        ("bigint", "decimal(38,30)", None),
        ("decimal(38,0)", "decimal(38,38)", None),
        ("int", "string", None),
        ("bigint", "double", None),
        ("date", "timestamp", None),
        ("timestamp", "timestamp_ntz", None),
        ("string", "string", "string"),
    ],
)
def test_narrowest_type_for_both(left: str, right: str, expected: str | None) -> None:
    assert common(left, right) == expected
    assert common(right, left) == expected


@pytest.mark.parametrize(
    ("value", "column", "expected"),
    [
        ("smallint", "int", True),
        ("int", "decimal(10,0)", True),
        ("int", "decimal(9,0)", False),
        ("decimal(5,2)", "decimal(10,2)", True),
        ("decimal(5,2)", "decimal(10,1)", False),
        ("bigint", "int", False),
        ("bigint", "double", False),
        ("int", "string", False),
    ],
)
def test_values_that_fit_unchanged(value: str, column: str, expected: bool) -> None:
    assert fits(value, column) is expected


@pytest.mark.parametrize(
    ("type_", "kept"),
    [
        ("smallint", "int"),
        ("array<smallint>", "array<int>"),
        ("map<smallint,tinyint>", "map<int,int>"),
        ("struct<tinyint:smallint,a:array<tinyint>>", "struct<tinyint:int,a:array<int>>"),
        ("struct<smallint:string>", "struct<smallint:string>"),
        ("bigint", "bigint"),
    ],
)
def test_a_table_keeps_small_integers_as_int(type_: str, kept: str) -> None:
    assert stored(type_) == kept
