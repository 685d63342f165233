"""How a MERGE shares out what it writes: the deletes of a data file to one task, many new rows to several."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from dms_iceberg.iceberg.format_v3 import SPLIT
from dms_iceberg.merge.direct import delta as direct
from support.lake import Lake
from support.session_settings import session_settings
from support.text_files import cdc_name

ID_V = [("id", pa.int64()), ("v", pa.string())]
DISTRIBUTION = "write.merge.distribution-mode"
TINY = {"write.spark.advisory-partition-size-bytes": "1"}


@pytest.fixture
def as_in_large_batches(spark: SparkSession, planned_as_on_glue: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A few rows take the MERGE, with as many tasks as many rows would have."""
    monkeypatch.setattr(direct, "MOST_ROWS", 0)
    many_tasks = {"spark.sql.adaptive.coalescePartitions.enabled": "false", "spark.sql.shuffle.partitions": "4"}
    with session_settings(spark, many_tasks):
        yield


def load(lake: Lake, entry: dict[str, Any]) -> None:
    lake.load("public.t", ID_V, [(key, "loaded") for key in range(200)])
    lake.run_one(lake.config({"public.t": entry}))


def merge_batches(lake: Lake, entry: dict[str, Any], batches: range) -> None:
    for number in batches:
        rows = [("U", f"202603011001{number:02d}", number, key, f"batch {number}") for key in range(number, 200, 7)]
        lake.changes("public.t", cdc_name(number), ID_V, rows)
        lake.run_one(lake.config({"public.t": entry}))


def deletes_of(lake: Lake) -> list[tuple[str, int]]:
    name = f"lake.{lake.namespace}.t"
    lake.spark.sql(f"REFRESH TABLE {name}")
    return [(row.file_path, row.pos) for row in lake.spark.sql(f"SELECT file_path, pos FROM {name}.position_deletes").collect()]


@pytest.mark.usefixtures("as_in_large_batches")
@pytest.mark.parametrize(
    "entry",
    [
        {},
        pytest.param({"partition_by": ["bucket(2, id)"]}, marks=pytest.mark.long),
        pytest.param({"mode": "soft_delete"}, marks=pytest.mark.long),
        pytest.param({"mode": "history"}, marks=pytest.mark.long),
    ],
    ids=str,
)
def test_each_task_wrote_all_deletes_of_a_file_again(lake: Lake, entry: dict[str, Any]) -> None:
    load(lake, entry)
    merge_batches(lake, entry, range(1, 5))
    deletes = deletes_of(lake)
    assert len(deletes) > 100
    assert len(set(deletes)) == len(deletes)
    assert lake.count("t", "delete_files") == len({path for path, _ in deletes})


@pytest.mark.usefixtures("as_in_large_batches")
@pytest.mark.parametrize("version", [2, 3])
def test_more_than_a_file_of_new_rows_is_written_by_several_tasks(lake: Lake, version: int) -> None:
    """Of format 3 it is not, whatever its properties say: deletes would be shared out too, and nobody could read the table."""
    entry = {"format_version": version, "table_properties": TINY}
    load(lake, entry)
    rows = [("I", "20260301100101", key, key, "new") for key in range(1_000, 4_000)]
    rows += [("U", "20260301100102", key, key, "changed") for key in range(200)]
    lake.changes("public.t", cdc_name(1), ID_V, rows)
    if version == 3:
        lake.spark.sql(f"ALTER TABLE lake.{lake.namespace}.t SET TBLPROPERTIES ('{DISTRIBUTION}' = 'none')")
    split = lake.spark.conf.get(SPLIT)
    before = lake.count("t", "data_files")
    lake.run_one(lake.config({"public.t": entry}))
    added = lake.count("t", "data_files") - before
    assert added > 1 if version == 2 else added == 1
    assert lake.spark.conf.get(SPLIT) == split == "true"
    assert len(set(deletes_of(lake))) == 200
    assert len(lake.rows("t", "id")) == 3_200


def test_tables_of_earlier_versions_share_out_rows_as_new_ones_do(lake: Lake) -> None:
    load(lake, {})
    lake.spark.sql(f"ALTER TABLE lake.{lake.namespace}.t SET TBLPROPERTIES ('{DISTRIBUTION}' = 'none')")
    merge_batches(lake, {}, range(1, 2))
    assert lake.target("t").properties()[DISTRIBUTION] == "hash"
