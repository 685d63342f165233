"""What Iceberg refuses: names of partition fields beside columns, parts of nested columns, properties, partitions of a type."""

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from dms_iceberg.runs.preview import preview
from support.lake import Lake
from support.text_files import cdc_name

C1 = "20260301100100"
AT = pa.timestamp("us", tz="UTC")
MOMENT = pa.scalar(1_700_000_000_000_000, AT).as_py()
TRANSFORMS = {
    "years(at)": "at_year",
    "months(at)": "at_month",
    "days(at)": "at_day",
    "hours(at)": "at_hour",
    "bucket(4, id)": "id_bucket",
    "truncate(2, c)": "c_trunc",
    "c": "C_identity",
}
"""Partition transforms with a column that has the name of Iceberg's own field, or one in other capitals."""


def test_columns_have_any_name_beside_partition_fields(lake: Lake) -> None:
    """At once and added later."""
    columns = [("id", pa.int64()), ("at", AT), ("c", pa.string())]
    tables = {f"public.{when}_{number}": {"partition_by": [text]} for number, text in enumerate(TRANSFORMS) for when in ("now", "later")}
    config = lake.config(tables)
    for number, name in enumerate(TRANSFORMS.values()):
        lake.load(f"public.now_{number}", [*columns, (name, pa.string())], [(1, MOMENT, "abc", "x")])
        lake.load(f"public.later_{number}", columns, [(1, MOMENT, "abc")])
    assert lake.run(config).errors == {}
    for number, name in enumerate(TRANSFORMS.values()):
        for when in ("now", "later"):
            more = [*columns, (name, pa.string()), (name.swapcase() + "_2", pa.string())]
            row = ("U", C1, 61, 1, MOMENT, "xyz", "y", "z")
            lake.changes(f"public.{when}_{number}", cdc_name(1), more, [row])
    assert lake.run(config).errors == {}
    for number, name in enumerate(TRANSFORMS.values()):
        for when in ("now", "later"):
            assert lake.rows(f"{when}_{number}", f"id, c, `{name}`, `{name.swapcase()}_2`") == [(1, "xyz", "y", "z")]


def test_a_renamed_partition_column_leaves_its_name_free(lake: Lake) -> None:
    columns = [("id", pa.int64()), ("c", pa.string())]
    lake.load("public.t", columns, [(1, "a")])
    lake.run_one(lake.config({"public.t": {"partition_by": ["c"], "table_properties": {"write.metadata.metrics.column.c": "none"}}}))
    renamed = {"partition_by": ["town"], "columns": [{"name": "town", "from": "town", "renamed_from": "c"}]}
    lake.changes("public.t", cdc_name(1), [("id", pa.int64()), ("town", pa.string())], [("I", C1, 61, 2, "b")])
    lake.run_one(lake.config({"public.t": renamed}))
    lake.changes("public.t", cdc_name(2), [("id", pa.int64()), ("town", pa.string()), ("c", pa.string())], [("I", C1, 65, 3, "d", "e")])
    lake.run_one(lake.config({"public.t": renamed}))
    assert lake.rows("t", "id, town, c") == [(1, "a", None), (2, "b", None), (3, "d", "e")]


def test_a_partition_field_of_another_name_is_said_before(lake: Lake, spark: SparkSession) -> None:
    """A table whose partitions somebody else declared."""
    columns = [("id", pa.int64()), ("at", AT)]
    config = lake.config({"public.t": {}})
    lake.load("public.t", columns, [(1, MOMENT)])
    lake.run_one(config)
    spark.sql(f"ALTER TABLE lake.{lake.namespace}.t ADD PARTITION FIELD days(at)")
    lake.changes("public.t", cdc_name(1), [*columns, ("At_Day", pa.string())], [("U", C1, 61, 1, MOMENT, "mon")])
    (seen,) = preview(spark, config)
    report = lake.run_one(config, fails=True)
    assert seen.error == report.error
    for words in ("'At_Day'", "partition field", '"from": "At_Day"', "Nothing was written"):
        assert words in str(report.error)
    assert report.lost_races == 0
    lake.run_one(lake.config({"public.t": {"columns": [{"name": "day_of_source", "from": "At_Day"}]}}))
    assert lake.rows("t", "id, day_of_source") == [(1, "mon")]


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ({"columns": [{"name": "j", "type": "struct<a:double>"}]}, ["'j.a'", "'j'"]),
        ({"columns": [{"name": "j", "type": "string"}], "table_properties": {"write.metadata.metrics.column.jj": "none"}}, ["jj", "'j'"]),
        ({"table_properties": {"write.parquet.bloom-filter-enabled.column.J": "true"}}, ["column 'J'", "'j'"]),
        ({"partition_by": ["days(j)"]}, ["days(j)", "string"]),
    ],
)
@pytest.mark.parametrize("is_later", [False, True])
def test_what_iceberg_would_refuse_is_said_before(lake: Lake, spark: SparkSession, table: dict, words: list[str], is_later: bool) -> None:
    columns = [("id", pa.int64()), ("j", pa.string())]
    full, row = [*columns, ("j.a", pa.float64())], (1, '{"a": 1.5}', 2.5)
    config = lake.config({"public.t": table}, batch={"max_files": 1})
    if is_later and "type" in str(table) and "struct" in str(table):
        lake.load("public.t", columns, [row[:2]])
        lake.run_one(config)
        lake.changes("public.t", cdc_name(1), full, [("U", C1, 61, *row)])
    elif is_later:
        return
    else:
        lake.load("public.t", full, [row])
    (seen,) = preview(spark, config)
    report = lake.run_one(config, fails=True)
    assert seen.error == report.error
    assert all(word in str(report.error) for word in words), report.error
    assert report.lost_races == 0


def test_what_only_iceberg_knows_ends_at_once(lake: Lake, spark: SparkSession) -> None:
    """A property that a later Iceberg, or another program, leaves in the table."""
    lake.load("public.t", [("id", pa.int64())], [(1,)])
    config = lake.config({"public.t": {"table_properties": {"write.metadata.metrics.column.id": "none"}}})
    lake.run_one(config)
    metadata = max((lake.warehouse / lake.namespace / "t" / "metadata").glob("v*.metadata.json"), key=lambda one: one.stat().st_mtime_ns)
    metadata.write_text(metadata.read_text().replace("metrics.column.id", "metrics.column.gone"))
    (metadata.parent / f".{metadata.name}.crc").unlink(missing_ok=True)
    spark.sql(f"REFRESH TABLE lake.{lake.namespace}.t")
    lake.changes("public.t", cdc_name(1), [("id", pa.int64())], [("I", C1, 61, 2)])
    report = lake.run_one(lake.config({"public.t": {}}), fails=True)
    assert "Iceberg refuses it, and would each time: Invalid metrics config, could not find column gone" in str(report.error)
    assert "other writers" not in str(report.error)
    assert report.lost_races == 0
