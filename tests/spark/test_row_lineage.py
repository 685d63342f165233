"""Tables of format version 3, whose rows have ids: they load, and nothing that reads their rows leaves memory behind."""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from dms_iceberg import bulk
from dms_iceberg.vectorized import VECTORIZED_PROPERTY
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
    monkeypatch.setattr(bulk, "BULK_BYTES", 0)
    lake.load("public.t", ID_V, LOADED)
    lake.run_one(lake.config({"public.t": {"format_version": 3}}))
    assert lake.rows("t", "id, v") == LOADED


@pytest.mark.usefixtures("nothing_stays")
@pytest.mark.parametrize("entry", [{}, {"mode": "soft_delete"}, {"mode": "history"}, {"write_mode": "copy-on-write"}], ids=str)
def test_merges_leave_no_memory_behind(lake: Lake, entry: dict[str, Any]) -> None:
    config = lake.config({"public.t": {"format_version": 3, **entry}}, batch={"max_files": 1})
    lake.load("public.t", ID_V, LOADED)
    lake.changes("public.t", cdc_name(1), ID_V, [("U", T1, 61, 1, "one"), ("D", T1, 65, 2, None)])
    lake.run_one(config)
    assert ("one",) in lake.rows("t", "v")
    assert VECTORIZED_PROPERTY not in lake.target("t").properties()


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


def test_a_reader_s_own_setting_stays(lake: Lake) -> None:
    config = lake.config({"public.t": {"format_version": 3, "table_properties": {VECTORIZED_PROPERTY: "true"}}})
    lake.load("public.t", ID_V, LOADED)
    lake.run_one(config)
    lake.changes("public.t", cdc_name(1), ID_V, [("U", T1, 61, 1, "one")])
    lake.run_one(config)
    assert lake.target("t").properties()[VECTORIZED_PROPERTY] == "true"
