"""Which rejected keys a row of silver can have: those that do not fit their types are texts of the file."""

from typing import TYPE_CHECKING

import pytest

from dms_iceberg.silver.rejected_key import silver_key_text_sql
from dms_iceberg.sql.json_text import json_sql
from dms_iceberg.sql.quoting import quote, string_literal

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

VALUES = {
    "int": ["-1", "2147483647"],
    "bigint": ["9223372036854775807L"],
    "decimal(38,3)": ["12345678901234567890123456789012345.671BD", "0.100BD"],
    "decimal(10,9)": ["0.000000001BD", "0BD"],
    "double": ["0.1D", "1.0E300D", "-0.0D", "double('NaN')"],
    "float": ["float('0.1')"],
    "string": ["'one'", "''", "'1'", "'null'", "'a\"\\\\b'", "'\u00e4\u2028'"],
    "boolean": ["true"],
    "date": ["date'2024-02-29'", "date'0001-01-01'", "date'9999-12-31'"],
    "timestamp": ["timestamp'2026-03-01 10:00:00.123456'", "timestamp'0001-01-01 00:00:00'"],
    "timestamp_ntz": ["timestamp_ntz'2026-03-01 10:00:00.123456'"],
    "binary": ["X''", "X'00FF'"],
}
NOT_FITTING = {
    "int": ['"one"', '"1"', '"9999999999"', "null", '""'],
    "bigint": ['"12345678901234567890"'],
    "decimal(10,2)": ['"1.255"', '"1"', '"12345678901"'],
    "double": ['"x"'],
    "string": ["null"],
    "boolean": ['"true"'],
    "date": ['"2024-02-30"', '"2024-2-03"', '"29.02.2024"', '"2024-02-29 10:00"', '"x"', '""'],
    "timestamp": ['"2026-03-01 10:00:00"', '"2026-02-30T10:00:00.000000Z"', '"x"'],
    "timestamp_ntz": ['"2026-03-01 10:00:00"'],
    "binary": ['"x"'],
}


def test_keys_of_every_type(spark: "SparkSession") -> None:
    own, wanted, cases = quote("i`d"), [], []
    for type_, values in VALUES.items():
        for value in values:
            wanted.append((type_, value))
            types = {"i`d": type_, "n": "int"}
            row = f"SELECT CAST({value} AS {type_}) AS {own}, 7 AS n"
            # The order in the quarantine is that of the columns in the files.
            text = json_sql(["n", "i`d"])
            cases.append(f"SELECT {json_sql(list(types))} AS key, {silver_key_text_sql(text, types)} AS found FROM ({row})")
    rows = spark.sql(" UNION ALL ".join(cases)).collect()
    assert [(*one, row.key) for one, row in zip(wanted, rows, strict=True)] == [
        (*one, row.found) for one, row in zip(wanted, rows, strict=True)
    ]


def test_keys_that_do_not_fit(spark: "SparkSession") -> None:
    texts = [(type_, f'{{"id":{text}}}') for type_, values in NOT_FITTING.items() for text in values]
    texts += [("int", text) for text in ('{"other":1}', "{}", "", '{"id":1', '{"id":1,"n":1}')]
    cases = [f"SELECT {silver_key_text_sql(string_literal(text), {'id': type_})} AS found" for type_, text in texts]
    found = [row.found for row in spark.sql(" UNION ALL ".join([*cases, f"SELECT {silver_key_text_sql('NULL', {'id': 'int'})}"])).collect()]
    assert [(one, text) for one, text in zip(texts, found, strict=False) if text is not None] == []
    assert found[-1] is None


@pytest.mark.parametrize("text", ['{"a":"x","n":"one"}', '{"a":"x","n":null}', '{"a":"x"}', '{"n":1}'])
def test_one_part_that_does_not_fit(spark: "SparkSession", text: str) -> None:
    assert spark.sql(f"SELECT {silver_key_text_sql(string_literal(text), {'a': 'string', 'n': 'int'})}").collect()[0][0] is None
