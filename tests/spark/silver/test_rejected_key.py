"""Which rejected keys a row of silver can have: those that do not fit their types are texts of the file."""

from typing import TYPE_CHECKING

import pytest

from dms_iceberg.changes.mapping import SilverColumn
from dms_iceberg.changes.shape import Shape
from dms_iceberg.config.model import Column, Mask
from dms_iceberg.quarantine.rejected_key import rejected_key_sql, silver_key_sql
from dms_iceberg.sql.cdc_columns import KEY_TEXT, PROBLEM
from dms_iceberg.sql.quoting import quote, string_literal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OWN = "i`d.x"
VALUES = {
    "int": ["-1", "2147483647"],
    "bigint": ["9223372036854775807L"],
    "decimal(38,3)": ["12345678901234567890123456789012345.671BD", "0.100BD"],
    "decimal(10,9)": ["0.000000001BD", "0BD"],
    "double": ["0.1D", "1.0E300D", "4.9E-324D", "-0.0D", "double('NaN')", "double('-Infinity')"],
    "float": ["float('0.1')", "float('-0.0')", "float('NaN')", "float('3.4028235E38')", "float('1.1754944E-38')"],
    "string": ["'one'", "''", "'1'", "'null'", "'true'", "'a\"\\\\b'", "'\u00e4\u2028\U0001f600'", "'a '", "' a'", "'\ufffd'"],
    "boolean": ["true"],
    "date": ["date'2024-02-29'", "date'0001-01-01'", "date'9999-12-31'"],
    "timestamp": ["timestamp'2026-03-01 10:00:00.123456'", "timestamp'2026-03-01 10:00:00'", "timestamp'0001-01-01 00:00:00'"],
    "timestamp_ntz": ["timestamp_ntz'2026-03-01 10:00:00.123456'", "timestamp_ntz'9999-12-31 23:59:59.999999'"],
    "binary": ["X''", "X'00FF'", "X'C3'"],
}
FAR = {
    "date": ["date_add(date'9999-12-31', 1)", "date_sub(date'0001-01-01', 1)", "date_sub(date'0001-01-01', 16000)"],
    "timestamp": [
        "timestamp_micros(253402300800000000L)",
        "timestamp_micros(-62135596800000001L)",
        "timestamp_micros(-80000000000000000L)",
    ],
    "timestamp_ntz": ["CAST(timestamp_micros(253402300800000000L) AS timestamp_ntz)"],
}
"""Years beyond 1 to 9999."""
WIDER = {"int": "bigint", "float": "double", "decimal(10,9)": "decimal(20,9)"}
"""What Iceberg makes of a column: silver's key may be wider by the time that it is compared."""


def shape(type_: str, mask: Mask | None = None) -> Shape:
    columns = [SilverColumn("n", "n", True, Column(name="n")), SilverColumn(OWN, OWN, True, Column(name=OWN, mask=mask))]
    return Shape(tuple(columns), {"n": "int", OWN: type_})


def row(value: str, type_: str, *, text: str = "'of the file'", problem: str = "rule: r") -> str:
    own = quote(OWN)
    return f"CAST({value} AS {type_}) AS {own}, 7 AS n, struct('7' AS n, {text} AS {own}) AS {KEY_TEXT}, '{problem}' AS {PROBLEM}"


def compared(value: str, type_: str, later: str) -> str:
    """SQL of whether the key of a rejected row is read back as the value that silver has."""
    # The order in the quarantine is that of the columns in the files.
    key = silver_key_sql("key", {OWN: later, "n": "int"})
    text = f"SELECT {quote(OWN)}, {rejected_key_sql(shape(type_))} AS key FROM (SELECT {row(value, type_)})"
    return f"SELECT key, {key} <=> struct(CAST({quote(OWN)} AS {later}) AS {quote(OWN)}, 7 AS n) AS same FROM ({text})"


def wrong(spark: "SparkSession", cases: list[tuple[str, str, str]]) -> list[tuple[tuple[str, str, str], str]]:
    rows = spark.sql(" UNION ALL ".join(compared(*one) for one in cases)).collect()
    return [(case, one.key) for case, one in zip(cases, rows, strict=True) if not one.same]


def test_keys_of_every_type(spark: "SparkSession") -> None:
    assert wrong(spark, [(value, type_, type_) for type_, values in VALUES.items() for value in values]) == []


def test_keys_of_columns_that_were_widened(spark: "SparkSession") -> None:
    assert wrong(spark, [(value, type_, WIDER[type_]) for type_ in WIDER for value in VALUES[type_]]) == []


def test_years_that_four_digits_do_not_hold(spark: "SparkSession") -> None:
    assert wrong(spark, [(value, type_, type_) for type_, values in FAR.items() for value in values]) == []


@pytest.mark.parametrize("type_", VALUES)
def test_keys_that_do_not_fit(spark: "SparkSession", type_: str) -> None:
    """Also where the text of the file is that of a value of silver."""
    texts = [f"to_json(struct(CAST({value} AS {type_}) AS v), map('timestampFormat', 'yyyy'))" for value in VALUES[type_]]
    texts = [f"get_json_object({text}, '$.v')" for text in texts] + ["'x'", "''", "'12345678901'", "'2024-02-29'"]
    read = silver_key_sql("key", {OWN: type_, "n": "int"})
    cases = [f"SELECT {rejected_key_sql(shape(type_))} AS key FROM (SELECT {row('NULL', type_, text=text)})" for text in texts]
    found = spark.sql(" UNION ALL ".join(f"SELECT key, {read} AS found FROM ({case})" for case in cases)).collect()
    assert [one.key for one in found if one.found is not None] == []


def test_what_is_no_key_of_these_columns(spark: "SparkSession") -> None:
    texts = ['{"other":1}', "{}", "", '{"id":1', '{"id":1,"n":1}', '{"id":null}', "null", "1"]
    cases = [f"SELECT {silver_key_sql(string_literal(text), {'id': 'int'})} AS found" for text in texts]
    found = [one.found for one in spark.sql(" UNION ALL ".join([*cases, f"SELECT {silver_key_sql('NULL', {'id': 'int'})}"])).collect()]
    assert found == [None] * (len(texts) + 1)


@pytest.mark.parametrize(
    ("value", "problem", "mask", "is_known"),
    [
        ("CAST(X'61FF' AS string)", "encoding: not text", None, False),
        ("'a'", "encoding: not text", None, True),
        ("'\ufffd'", "rule: r", None, True),
        # A hash does not tell of what.
        ("'a'", "encoding: not text", Mask.SHA256, False),
        ("'a'", "rule: r", Mask.SHA256, True),
    ],
)
def test_bytes_that_are_no_text(spark: "SparkSession", value: str, problem: str, mask: Mask | None, *, is_known: bool) -> None:
    """JSON has the same sign in place of any of them, and a key may have this sign."""
    key = rejected_key_sql(shape("string", mask))
    sql = f"SELECT {key} AS key FROM (SELECT {row(value, 'string', problem=problem)})"
    ((found,),) = spark.sql(f"SELECT {silver_key_sql('key', {OWN: 'string', 'n': 'int'})} FROM ({sql})").collect()
    assert (found is not None) == is_known
