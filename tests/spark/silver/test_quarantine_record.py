"""What the quarantine keeps of a row must be enough to try it again."""

import json

from pyspark.sql import SparkSession

from dms_iceberg.bronze.layout import layout_group, layout_text
from dms_iceberg.bronze.schema_groups import SchemaGroup
from dms_iceberg.quarantine.records import parsed_sql
from dms_iceberg.sql.cdc_columns import CORRUPT
from dms_iceberg.sql.json_text import json_sql

VALUES = {
    "at": ("TIMESTAMP '2026-03-01 10:00:00.123456'", "2026-03-01T10:00:00.123456Z"),
    "wall": ("TIMESTAMP_NTZ '2026-03-01 10:00:00.000001'", "2026-03-01T10:00:00.000001"),
    "old": ("TIMESTAMP '0044-03-15 00:00:00'", "0044-03-15T00:00:00.000000Z"),
    "day": ("DATE '2026-02-28'", "2026-02-28"),
    "amount": ("CAST('12345678901234567890.123456' AS decimal(28,6))", 12345678901234567890.123456),
    "two words": ("'a\"b'", 'a"b'),
    "nothing": ("CAST(NULL AS string)", None),
    "no_time": ("CAST(NULL AS timestamp)", None),
}


def test_record_keeps_microseconds_and_nulls(spark: SparkSession) -> None:
    frame = spark.range(1).selectExpr(*(f"{sql} AS `{name}`" for name, (sql, _) in VALUES.items()))
    ((text,),) = frame.selectExpr(json_sql(frame.columns)).collect()
    assert json.loads(text) == {name: value for name, (_, value) in VALUES.items()}
    assert "12345678901234567890.123456" in text


OTHERS = {
    "many": "CAST('-12345678901234567890123456789.012345678' AS decimal(38,9))",
    "tiny": "CAST(-128 AS tinyint)",
    "large": "9223372036854775807L",
    "real": "CAST(0.1 AS float)",
    "double": "CAST('-2.5E-300' AS double)",
    "nan": "CAST('NaN' AS double)",
    "infinite": "CAST('-Infinity' AS float)",
    "yes": "true",
    "bytes": "X'00FF80'",
    "empty": "''",
    "emoji \\ `odd`": "'Ω\\n\\t\\u0000😀\\\\'",
    "void": "NULL",
}


def test_record_comes_back_as_it_was(spark: SparkSession) -> None:
    frame = spark.range(1).selectExpr(
        *(f"{sql} AS `{name.replace('`', '``')}`" for name, sql in {**OTHERS, **{k: v[0] for k, v in VALUES.items()}}.items())
    )
    read = SchemaGroup(True, "", (), (), None)
    group = layout_group(layout_text(read, frame.dtypes))
    assert (group.is_cdc, group.columns) == (True, tuple(frame.dtypes))
    record = f"{json_sql(frame.columns)} AS record"
    names = [name.replace("`", "``") for name, type_ in group.columns if type_ != "void"]
    parsed = frame.selectExpr("*", record).selectExpr("*", f"{parsed_sql(group)} AS parsed")
    differ = [f"NOT (parsed.`{name}` <=> `{name}`)" for name in names]
    (row,) = parsed.selectExpr(*differ, "parsed._cdc_unparsed", f"parsed.{CORRUPT}").collect()
    assert [name for name, other in zip(names, row, strict=False) if other] == []
    assert list(row[len(names) :]) == [None, None]


def test_member_that_does_not_fit_its_type_is_told(spark: SparkSession) -> None:
    group = SchemaGroup(True, "", (("a", "int"), ("b", "timestamp")), (), None)
    records = ['{"a":1,"b":null,"_cdc_corrupt":null}', '{"a":"x","b":null}', '{"a":1,"b":"soon"}', "{"]
    frame = spark.createDataFrame([(record,) for record in records], "record string")
    found = frame.selectExpr(f"{parsed_sql(group)} AS parsed").selectExpr("parsed._cdc_unparsed").collect()
    assert [row[0] for row in found] == [None, *records[1:]]
