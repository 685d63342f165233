"""The first batch of a rebuild has no branch yet: it may have changes that are late within it, or lack columns."""

import pyarrow as pa
import pytest

from dms_iceberg.context import RunRequest
from dms_iceberg.runs.run import run
from support.lake import Lake

ID_V = [("id", pa.int64()), ("v", pa.string())]


def cdc(minute: int) -> str:
    return f"2026/03/01/10/20260301-10{minute:02d}30000.parquet"


@pytest.mark.parametrize("mode", ["mirror", pytest.param("soft_delete", marks=pytest.mark.long)])
def test_a_clock_that_went_back_within_it(lake: Lake, mode: str) -> None:
    config = lake.config({"public.t": {"mode": mode}})
    lake.load("public.t", ID_V, [(1, "a"), (2, "b")])
    lake.changes("public.t", cdc(2), ID_V, [("U", "20260301100200", 1, 1, "newer")])
    lake.changes("public.t", cdc(3), ID_V, [("U", "20260301100100", 1, 1, "older"), ("U", "20260301100230", 2, 2, "last")])
    lake.run_one(config)
    content = lake.rows("t", "id, v", "id, v")
    (report,) = run(lake.spark, config, request=RunRequest(rebuild=frozenset({"public.t"}))).tables.values()
    assert report.error is None
    assert lake.rows("t", "id, v", "id, v") == content
    assert (1, "newer") in content and (2, "last") in content


def test_columns_that_its_updates_leave_out(lake: Lake) -> None:
    config = lake.config({"public.t": {"columns": [{"name": "v", "null_in_update": "keep"}]}})
    columns = [*ID_V, ("n", pa.int64())]
    lake.load("public.t", columns, [(1, "a", 1)])
    lake.changes("public.t", cdc(2), columns, [("I", "20260301100200", 1, 2, "b", 2), ("U", "20260301100210", 2, 2, None, 3)])
    lake.run_one(config)
    (report,) = run(lake.spark, config, request=RunRequest(rebuild=frozenset({"public.t"}))).tables.values()
    assert report.error is None
    assert lake.rows("t", "id, v, n") == [(1, "a", 1), (2, "b", 3)]
