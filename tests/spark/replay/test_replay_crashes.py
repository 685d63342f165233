"""A replay of the quarantine is killed with SIGKILL at every named point, and done again: nothing is lost, nothing counts twice."""

import signal

import pyarrow as pa
import pytest

from dms_iceberg.replay.run import replay
from dms_iceberg.runs.status import table_statuses
from support.crash_books import check_books, snapshot_ids
from support.crash_process import JobProcess
from support.lake import Lake

pytestmark = pytest.mark.release

ID_V = [("id", pa.int64()), ("v", pa.string()), ("n", pa.int32())]
T1, T2 = "20260301100100", "20260301100200"
STRICT = {"rules": [{"name": "positive", "expr": "n >= 0"}]}
POINTS = ("before-settled", "after-settled", "before-publish", "after-commit")
BEFORE, AFTER = [(1, "a"), (2, "b")], [(1, "rejected"), (2, "later"), (4, "stays")]


@pytest.mark.timeout(1200)
def test_killed_at_every_point_of_a_replay(lake: Lake) -> None:
    tables = {point: f"r_{point.replace('-', '_')}" for point in POINTS}
    sources = [f"public.{table}" for table in tables.values()]
    for source in sources:
        lake.load(source, ID_V, [(1, "a", 1), (2, "b", 2), (4, "stays", -4)])
        changes = [
            ("U", T1, 100, 1, "rejected", -1),
            ("U", T1, 104, 2, "later", -2),
            ("I", T1, 108, 3, "gone", -3),
            ("D", T2, 112, 3, None, None),
        ]
        lake.changes(source, "2026/03/01/10/20260301-100230000.parquet", ID_V, changes)
    strict, mended = lake.config(dict.fromkeys(sources, STRICT)), lake.config({source: {} for source in sources})
    assert [one.error for one in lake.run(strict).tables.values()] == [None] * len(sources)

    document = lake.document({source: {} for source in sources}, parallelism=len(sources))
    named = [f"{point}@public.{table}" for point, table in tables.items()]
    with JobProcess(document, lake.folder, named, command=("quarantine", "replay")) as job:
        assert job.wait() == -signal.SIGKILL, job.text()
    opened = {one.table: one.quarantined for one in table_statuses(lake.spark, mended)}
    for point, table in tables.items():
        done = point == "after-commit"
        assert lake.rows(table, "id, v") == (AFTER if done else BEFORE), point
        assert opened[f"public.{table}"] == (0 if done else 4), point

    # A run finds no file, and leaves the quarantine alone.
    assert not any(one.batches for one in lake.run(mended).tables.values())
    report = replay(lake.spark, mended)
    for point, table in tables.items():
        one = report.tables[f"public.{table}"]
        assert (one.error, one.rows_read) == (None, 0 if point == "after-commit" else 4), point
        assert lake.rows(table, "id, v") == AFTER, point
        name = f"lake.{lake.namespace}.{table}"
        books = check_books(lake.spark, name, 7 + 4)
        assert (books[-1]["applied"], books[-1]["stale"]) == (3, 1), point
    assert [one.quarantined for one in table_statuses(lake.spark, mended)] == [0] * len(sources)
    before = [snapshot_ids(lake.spark, f"lake.{lake.namespace}.{table}") for table in tables.values()]
    assert not any(one.batches for one in replay(lake.spark, mended).tables.values())
    assert [snapshot_ids(lake.spark, f"lake.{lake.namespace}.{table}") for table in tables.values()] == before
