"""The texts that masks are made of: one for each value whatever its type, and of the remembered type those that Spark's cast gives."""

from decimal import Decimal

import numpy as np
import pytest
from pyspark.sql import SparkSession

from dms_iceberg.sql.mask_text import is_plain, text_sql

NUMBERS = {
    "int": ("0", "1", "-5", "120"),
    "bigint": ("1", "9007199254740993", "-9007199254740992"),
    "decimal(10,0)": ("0", "1", "120", "-5"),
    "decimal(10,2)": ("0.00", "1.00", "1.25", "-1.10", "0.10", "100.00"),
    "decimal(12,3)": ("0.000", "1.000", "1.234", "0.100", "-1.100"),
    "decimal(12,8)": ("0", "1.00000000", "0.00000010", "0.00000012", "0.1"),
    "decimal(22,2)": ("12345678901234567890.12", "1.00"),
    "decimal(38,10)": ("100000000000000000000", "0.0000001000", "1"),
    "decimal(38,38)": ("0.1", "0.00000000000000000000000000000000000001"),
    "float": ("0", "0.1", "1.25", "16777216"),
    "double": (
        "0",
        "1",
        "0.1",
        "-1.1",
        "1.25",
        "1.234",
        "0.10000000149011612",
        "1e-7",
        "1.2e-7",
        "1e20",
        "1e22",
        "1e-38",
        "9007199254740992",
    ),
}
REMEMBERED = ("int", "bigint", "decimal(10,0)", "decimal(10,2)", "decimal(12,8)", "decimal(38,10)", "float", "double", "string", "date")


def meant(type_: str, text: str) -> Decimal:
    """The value as people mean it: a double is what it is written as, a float the double that it is."""
    if type_ == "float":
        return Decimal(repr(float(np.float32(text)))).normalize()
    return Decimal(repr(float(text)) if type_ == "double" else text).normalize()


@pytest.mark.parametrize("of", REMEMBERED)
def test_numbers_have_one_text_each(spark: SparkSession, of: str) -> None:
    cases = [(type_, text) for type_, texts in NUMBERS.items() for text in texts]
    selected = [f"struct({text_sql(f'CAST({text!r} AS {type_})', type_, of)} AS made) AS c{n}" for n, (type_, text) in enumerate(cases)]
    made = [cell.made for cell in spark.range(1).selectExpr(*selected).collect()[0]]
    by_value: dict[Decimal, set[str]] = {}
    by_text: dict[str, set[Decimal]] = {}
    for (type_, text), found in zip(cases, made, strict=True):
        by_value.setdefault(meant(type_, text), set()).add(found)
        by_text.setdefault(found, set()).add(meant(type_, text))
    assert {value: texts for value, texts in by_value.items() if len(texts) > 1} == {}
    assert {text: values for text, values in by_text.items() if len(values) > 1} == {}


@pytest.mark.parametrize("of", NUMBERS)
def test_the_remembered_type_has_the_texts_it_always_had(spark: SparkSession, of: str) -> None:
    assert is_plain(of, of)
    # A wider type shows each of its values as that type does.
    for text in NUMBERS[of]:
        value = f"CAST({text!r} AS {of})"
        wider = "double" if of == "float" else of.replace("decimal(1", "decimal(2")
        sql = text_sql(f"CAST({value} AS {wider})", wider, of)
        row = spark.range(1).selectExpr(f"CAST({value} AS string) AS plain", f"{sql} AS made").collect()[0]
        assert row.plain == row.made


def test_other_types(spark: SparkSession) -> None:
    cases = {
        ("NULL", "int", "decimal(10,2)"): None,
        ("NULL", "double", "int"): None,
        ("'NaN'", "double", "decimal(10,2)"): "NaN",
        ("'NaN'", "double", "float"): "NaN",
        ("'1e300'", "double", "int"): "1.0E300",
        ("'2026-01-02'", "date", "timestamp"): "2026-01-02 00:00:00",
        ("'2026-01-02 00:00:00'", "timestamp", "date"): "2026-01-02",
        ("'2026-01-02 00:00:00.5'", "timestamp_ntz", "date"): "2026-01-02 00:00:00.5",
        ("'2026-01-02 10:00:00'", "timestamp", "timestamp_ntz"): "2026-01-02 10:00:00",
        ("'1.00'", "string", "decimal(10,0)"): "1.00",
        ("true", "boolean", "int"): "true",
    }
    selected = [f"{text_sql(f'CAST({value} AS {type_})', type_, of)} AS c{n}" for n, (value, type_, of) in enumerate(cases)]
    assert list(spark.range(1).selectExpr(*selected).collect()[0]) == list(cases.values())


@pytest.mark.parametrize("of", REMEMBERED)
@pytest.mark.parametrize("type_", ["float", "double"])
def test_a_zero_with_a_sign_has_the_text_of_zero(spark: SparkSession, type_: str, of: str) -> None:
    texts = [text_sql(f"CAST({zero!r} AS {type_})", type_, of) for zero in ("-0.0", "0.0")]
    signed, plain = spark.range(1).selectExpr(*(f"{text} AS c{n}" for n, text in enumerate(texts))).collect()[0]
    assert signed == plain
    assert of not in ("float", "double") or plain == "0.0"
