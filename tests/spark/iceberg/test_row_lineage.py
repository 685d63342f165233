"""Tables of format version 3, whose rows have ids: they load, and nothing that reads their rows leaves memory behind."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from dms_iceberg.iceberg.format_v3 import VECTORIZED
from dms_iceberg.merge import bulk_load
from support.lake import Lake
from support.maintained import EAGER, kept_in_order, taken
from support.text_files import cdc_name

ID_V = [("id", pa.int64()), ("v", pa.string())]
# Of what is read, the last five thousand rows are let go.
LOADED = [(number, f"v{number}") for number in range(20_000)]
T1 = "20260301100100"


@pytest.fixture
def nothing_stays(spark: SparkSession) -> Iterator[None]:
    """What Arrow has allocated outside the heap is as much at the end as it was before."""
    root: Any = spark._jvm.org.apache.iceberg.arrow.ArrowAllocation.rootAllocator()  # type: ignore[union-attr]
    before = root.getAllocatedMemory()
    yield
    assert root.getAllocatedMemory() == before


def test_a_large_load_is_merged(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Iceberg refuses rows without ids where data files are staged: ``Structs do not match``."""
    monkeypatch.setattr(bulk_load, "BULK_BYTES", 0)
    lake.load("public.t", ID_V, LOADED)
    lake.run_one(lake.config({"public.t": {"format_version": 3}}))
    assert lake.rows("t", "id, v") == LOADED


@pytest.mark.usefixtures("nothing_stays")
@pytest.mark.parametrize(
    "entry",
    [
        {},
        pytest.param({"mode": "soft_delete"}, marks=pytest.mark.long),
        pytest.param({"mode": "history"}, marks=pytest.mark.long),
        pytest.param({"write_mode": "copy-on-write"}, marks=pytest.mark.long),
    ],
    ids=str,
)
def test_merges_leave_no_memory_behind(lake: Lake, entry: dict[str, Any]) -> None:
    config = lake.config({"public.t": {"format_version": 3, **entry}}, batch={"max_files": 1})
    lake.load("public.t", ID_V, LOADED)
    lake.changes("public.t", cdc_name(1), ID_V, [("U", T1, 61, 1, "one"), ("D", T1, 65, 2, None)])
    lake.run_one(config)
    assert ("one",) in lake.rows("t", "v")
    assert lake.spark.conf.get(VECTORIZED, None) is None


@pytest.mark.usefixtures("nothing_stays")
def test_compaction_leaves_no_memory_behind(lake: Lake) -> None:
    config = lake.config({"public.t": {"format_version": 3}}, batch={"max_files": 1}, maintenance=EAGER)
    lake.load("public.t", ID_V, LOADED)
    for minute in (1, 2):
        lake.changes("public.t", cdc_name(minute), ID_V, [("U", T1, 57 + 4 * minute, minute, "changed")])
    lake.run_one(config)
    assert ("t", "compact") in taken(kept_in_order(lake.spark, config))
    assert lake.count("t", "data_files") == 1
    assert lake.rows("t", "id, v")[:4] == [(0, "v0"), (1, "changed"), (2, "changed"), (3, "v3")]


@pytest.mark.long
@pytest.mark.usefixtures("nothing_stays")
def test_the_operators_own_setting_is_put_back(lake: Lake) -> None:
    config = lake.config({f"public.{name}": {"format_version": 3} for name in "tu"}, batch={"max_files": 1}, parallelism=2)
    for name in config.tables:
        lake.load(name, ID_V, LOADED)
        for minute in (1, 2, 3):
            lake.changes(name, cdc_name(minute), ID_V, [("U", T1, 57 + 4 * minute, minute, "changed")])
    lake.spark.conf.set(VECTORIZED, "true")
    try:
        lake.run(config)
        assert lake.spark.conf.get(VECTORIZED) == "true"
    finally:
        lake.spark.conf.unset(VECTORIZED)


@pytest.mark.usefixtures("nothing_stays")
def test_a_quarantine_that_somebody_raised_leaves_no_memory_behind(lake: Lake) -> None:
    strict = {"public.t": {"rules": [{"name": "short", "expr": "length(v) < 4"}]}}
    config = lake.config(strict)
    lake.load("public.t", ID_V, [(0, "too long")])
    lake.run_one(config)
    name = f"lake.quarantine_{lake.namespace}.{lake.namespace}__t"
    lake.spark.sql(f"ALTER TABLE {name} SET TBLPROPERTIES ('format-version' = '3')")
    for minute, numbers in enumerate((range(1, 12_000), range(12_000, 12_001))):
        lake.changes("public.t", cdc_name(minute), ID_V, [("I", T1, number, number, "too long") for number in numbers])
        lake.run_one(config)
    assert len(lake.quarantine("t")) == 12_001
