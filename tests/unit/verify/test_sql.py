"""The SQL a comparison asks the source for, by engine, and what Spark makes of the texts."""

import pytest

from dms_iceberg.config.model import Bronze, BronzeFormat, Csv
from dms_iceberg.dms.types import DmsType
from dms_iceberg.verify import mysql, postgres
from dms_iceberg.verify.columns import SourceColumn, select_list, shown_rows, spark_type
from dms_iceberg.verify.fingerprint import fingerprint_select, range_bits, value_text

PARQUET = Bronze(uri="b")
CSV = Bronze(uri="b", format=BronzeFormat.CSV, csv=Csv(null="NULL"))


@pytest.mark.parametrize(
    ("type_", "modifier", "spark", "sql"),
    [
        ("int8", -1, "bigint", '"a""b"::text'),
        ("numeric", ((14 << 16) | 3) + 4, "decimal(14,3)", '"a""b"::text'),
        ("numeric", -1, "decimal(28,6)", '"a""b"::text'),
        ("numeric", ((5 << 16) | 2046) + 4, "decimal(7,0)", '"a""b"::text'),
        ("numeric", ((50 << 16) | 2) + 4, "string", '"a""b"::text'),
        ("bytea", -1, "binary", '"a""b"::text'),
        ("timestamptz", -1, "timestamp", '"a""b"::text'),
        ("date", -1, "date", '"a""b"::text'),
        ("money", -1, "decimal(38,4)", '"a""b"::numeric::text'),
        ("bpchar", 12, "string", '"a""b"::text'),
        ("_int4", -1, "string", 'CASE WHEN num_nulls("a""b") = 0 THEN format(\'%s\', "a""b") END'),
        ("", -1, "string", 'CASE WHEN num_nulls("a""b") = 0 THEN format(\'%s\', "a""b") END'),
    ],
)
def test_types_of_postgresql(type_: str, modifier: int, spark: str, sql: str) -> None:
    column = postgres.map_column('a"b', type_, modifier, "shown")
    assert column.type == spark
    assert sql in column.sql


def test_a_lookup_in_postgresql_casts_the_texts_so_that_the_index_serves() -> None:
    keys = [SourceColumn("a", "", "bigint", "bigint"), SourceColumn("b", "", "binary", "bytea")]
    assert postgres.lookup_sql(postgres.row_sql(['"a"::text']), '"s"."t"', keys) == (
        'SELECT array_to_json(ARRAY["a"::text]::text[])::text FROM "s"."t" t WHERE (t."a", t."b") IN '
        "(SELECT k.k0::bigint, decode(k.k1, 'hex') FROM unnest(:key0::text[], :key1::text[]) k(k0, k1))"
    )


@pytest.mark.parametrize(("type_", "kind", "lookup"), [("uuid", "b", "shown"), ("", "e", "shown"), ("", "b", ""), ("", "c", "")])
def test_a_key_whose_operators_may_be_out_of_the_search_path_is_looked_up_as_text(type_: str, kind: str, lookup: str) -> None:
    key = postgres.map_column("a", type_, -1, "shown", kind)
    assert key.lookup_type == lookup
    found = postgres.lookup_sql("r", "t", [key])
    assert (found.endswith('WHERE (t."a") IN (SELECT k.k0::shown FROM unnest(:key0::text[]) k(k0))')) == bool(lookup)
    assert (f"WHERE ({key.sql}) IN (SELECT k.k0::text FROM" in found) == (not lookup)


@pytest.mark.parametrize(
    ("type_", "shown", "spark", "sql"),
    [
        ("int", "int", "int", "CAST(t.`a``b` AS CHAR)"),
        ("int", "int unsigned", "bigint", "CAST(t.`a``b` AS CHAR)"),
        ("bigint", "bigint(20) unsigned", "decimal(20,0)", "CAST(t.`a``b` AS CHAR)"),
        ("decimal", "decimal(14,3)", "decimal(14,3)", "CAST(t.`a``b` AS CHAR)"),
        ("float", "float", "float", "CAST(t.`a``b` * 1E0 AS CHAR)"),
        ("bit", "bit(1)", "boolean", "IF(t.`a``b` IS NULL, NULL, IF(t.`a``b` = b'1', 'true', 'false'))"),
        ("bit", "bit(9)", "binary", "LPAD(HEX(t.`a``b`), 4, '0')"),
        ("mediumblob", "mediumblob", "binary", "HEX(t.`a``b`)"),
        ("datetime", "datetime(6)", "timestamp", "CAST(t.`a``b` AS CHAR)"),
        ("year", "year", "smallint", "CAST(t.`a``b` AS CHAR)"),
        ("time", "time", "string", "CAST(t.`a``b` AS CHAR)"),
        ("json", "json", "string", "CAST(t.`a``b` AS CHAR)"),
    ],
)
def test_types_of_mysql(type_: str, shown: str, spark: str, sql: str) -> None:
    column = mysql.map_column("a`b", type_, shown, 14, 3)
    assert (column.type, column.sql) == (spark, sql)


def test_a_lookup_in_mysql_leaves_percent_signs_of_its_own_alone() -> None:
    keys = [SourceColumn("a%", "", "bigint"), SourceColumn("b", "", "binary")]
    sql = mysql.lookup_sql(mysql.row_sql(["DATE_FORMAT(t.`d`, '%Y')"]), "`s`.`t`", keys, 2)
    assert sql % ("'1'", "'0a'", "'2'", "'0b'") == (
        "SELECT CAST(JSON_ARRAY(DATE_FORMAT(t.`d`, '%Y')) AS CHAR) FROM `s`.`t` t WHERE (t.`a%`, t.`b`) IN "
        "(('1', UNHEX('0a')), ('2', UNHEX('0b')))"
    )


def test_decimals_beyond_what_parquet_holds_are_text() -> None:
    assert [spark_type(DmsType.numeric(*one)) for one in [(38, 10), (39, 0), (3, 5), (2, -3)]] == [
        "decimal(38,10)",
        "string",
        "decimal(5,5)",
        "decimal(5,0)",
    ]


def test_texts_become_what_a_change_file_holds() -> None:
    columns = (SourceColumn("id", "", "bigint"), SourceColumn("bin", "", "binary"), SourceColumn("t", "", "string"))
    assert select_list(columns, "c", PARQUET) == ["try_cast(c[0] AS bigint) AS `id`", "unhex(c[1]) AS `bin`", "c[2] AS `t`"]
    assert select_list(columns, "c", CSV) == [f"nullif(c[{n}], 'NULL') AS `{name}`" for n, name in enumerate(("id", "bin", "t"))]
    real = postgres.map_column("r", "float4", -1, "real")
    row = shown_rows((columns[0], real), CSV)('["7", "32.38"]')
    assert (shown_rows((columns[0], real), PARQUET)('["7", "0.1"]'), row) == ('["7", "0.1"]', '["7","+3.23800011e+01"]')


def test_a_fingerprint_tells_null_from_empty_and_covers_the_key() -> None:
    types = {"k": "bigint", "t": "string", "b": "binary", "n": "array<timestamp>"}
    key, range_, fingerprint, _ = fingerprint_select(["k"], ["t"], types, 4, "false")
    assert key == "`k`"
    assert "shiftrightunsigned(xxhash64(`k` IS NULL, coalesce(CAST(`k` AS string), '')), 60)" in range_
    assert fingerprint.startswith("xxhash64(`k` IS NULL, coalesce(CAST(`k` AS string), ''), `t` IS NULL, coalesce(`t`, '')) AS ")
    assert value_text("b", "binary") == "hex(`b`)"
    assert "SSSSSS" in value_text("n", "array<timestamp>")


def test_ranges_grow_with_the_table() -> None:
    assert [1 << range_bits(rows) for rows in (0, 1_000_000, 10_000_000, 10**12)] == [16, 64, 512, 16_384]
