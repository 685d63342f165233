"""Position deletes of a table in format 2: each is written once, by the task that has taken over those which the data file had before."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from support.lake import Lake
from support.text_files import cdc_name

ID_V = [("id", pa.int64()), ("v", pa.string())]
DISTRIBUTION = "write.merge.distribution-mode"
_COALESCED = "spark.sql.adaptive.coalescePartitions.enabled"


@pytest.fixture
def as_in_large_batches(spark: SparkSession) -> Iterator[None]:
    """A few rows have as many tasks as many rows would."""
    spark.conf.set(_COALESCED, "false")
    yield
    spark.conf.unset(_COALESCED)


def merge_batches(lake: Lake, entry: dict[str, Any], batches: range) -> None:
    for number in batches:
        rows = [("U", f"202603011001{number:02d}", number, key, f"batch {number}") for key in range(number, 200, 7)]
        lake.changes("public.t", cdc_name(number), ID_V, rows)
        lake.run_one(lake.config({"public.t": entry}))


@pytest.mark.usefixtures("as_in_large_batches")
@pytest.mark.parametrize("entry", [{}, {"partition_by": ["bucket(2, id)"]}, {"mode": "soft_delete"}, {"mode": "history"}], ids=str)
def test_each_task_wrote_all_deletes_of_a_file_again(lake: Lake, entry: dict[str, Any]) -> None:
    lake.load("public.t", ID_V, [(key, "loaded") for key in range(200)])
    lake.run_one(lake.config({"public.t": entry}))
    merge_batches(lake, entry, range(1, 5))
    name = f"lake.{lake.namespace}.t"
    lake.spark.sql(f"REFRESH TABLE {name}")
    deletes = [tuple(row) for row in lake.spark.sql(f"SELECT file_path, pos FROM {name}.position_deletes").collect()]
    assert len(deletes) > 100
    assert len(set(deletes)) == len(deletes)
    assert lake.count("t", "delete_files") == len({path for path, _ in deletes})


def test_tables_of_earlier_versions_share_out_rows_as_new_ones_do(lake: Lake) -> None:
    lake.load("public.t", ID_V, [(key, "loaded") for key in range(20)])
    lake.run_one(lake.config({"public.t": {}}))
    lake.spark.sql(f"ALTER TABLE lake.{lake.namespace}.t SET TBLPROPERTIES ('{DISTRIBUTION}' = 'none')")
    merge_batches(lake, {}, range(1, 2))
    assert lake.target("t").properties()[DISTRIBUTION] == "hash"
