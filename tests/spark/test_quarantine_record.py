"""What the quarantine keeps of a row must be enough to try it again."""

import json

from pyspark.sql import SparkSession

from dms_iceberg.changes.frames import json_sql

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
