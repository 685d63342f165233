"""The demo's job: a watch that follows the files, whose reports are summed up, and whose end is noticed."""

import time
from collections.abc import Callable

import pyarrow as pa
import pytest

from dms_demo.job_side import JobSide
from support.lake import Lake
from support.watching import ID_V, PATIENCE, change


def until(seen: Callable[[], object]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not seen():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_it_follows_the_files_and_sums_up_what_the_watch_reports(lake: Lake) -> None:
    config = lake.config({"public.t": {}, "public.u": {}})
    for table in config.tables:
        lake.load(table, ID_V, [(1, "a"), (2, "b")])
    with JobSide(lake.spark, config) as job:
        until(lambda: not job.has_unmerged_files)
        assert (job.loaded, job.applied, job.lag_text) == (4, 0, "-")
        change(lake, "public.t", 1, 1, "c")
        wider = [*ID_V, ("extra", pa.int64())]
        lake.changes("public.u", "2026/03/01/10/20260301-100130000.parquet", wider, [("U", "20260301100100", 1, 1, "c", 5)])
        assert job.has_unmerged_files
        until(lambda: not job.has_unmerged_files)
        job.check()
        job.end()
    assert (job.books("public.t").applied, job.applied, job.batches) == (1, 2, 4)
    assert len(job.schema_changes) == 1
    assert "ADD COLUMN `extra`" in job.schema_changes[0]
    assert job.errors == {}
    snapshots = job.snapshot_count()
    assert [one.batches for one in lake.run(config).tables.values()] == [[], []]
    assert job.snapshot_count() == snapshots


def test_nobody_waits_for_a_table_with_an_error(lake: Lake) -> None:
    config = lake.config({"public.t": {}, "public.u": {}})
    lake.load("public.t", ID_V, [(1, "a")]).write_bytes(b"PAR1 no footer PAR1")
    lake.load("public.u", ID_V, [(1, "a")])
    with JobSide(lake.spark, config) as job:
        until(lambda: not job.has_unmerged_files and job.errors)
        assert job.loads("public.u") == 1
        job.end()
    assert list(job.errors) == ["public.t"]


def test_a_watch_that_ends_by_itself_is_noticed(lake: Lake) -> None:
    config = lake.config({"public.t": {}})
    with JobSide(lake.spark, config) as job:
        job.end()
        with pytest.raises(RuntimeError, match="the watch ended"):
            job.check()
