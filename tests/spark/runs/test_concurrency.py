"""Two jobs on one table: one wins, the other finds nothing left; a batch planned before somebody's commit is never applied after it."""

from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from dms_iceberg.config.model import Config
from dms_iceberg.runs.report import TableReport
from dms_iceberg.runs.run import run
from support.crash_books import check_books
from support.crash_process import JobProcess
from support.lake import Lake
from support.pause import Pause

ID_V = [("id", pa.int64()), ("v", pa.string())]
ID_V_W = [*ID_V, ("w", pa.int32())]
T1, T2, T3 = "20260301100100", "20260301100200", "20260301100300"


def cdc(minute: int) -> str:
    return f"2026/03/01/10/20260301-10{minute:02d}30000.parquet"


def run_one(session: SparkSession, config: Config) -> TableReport:
    (report,) = run(session, config).tables.values()
    assert report.error is None
    return report


def silver(lake: Lake) -> str:
    return f"lake.{lake.namespace}.`t`"


def test_batch_that_somebody_else_merged_is_not_merged_again(lake: Lake, other: SparkSession, pause: Pause) -> None:
    config = lake.config({"public.t": {}})
    lake.load("public.t", ID_V, [(1, "a"), (2, "b")])
    lake.run_one(config)
    lake.changes("public.t", cdc(1), ID_V, [("U", T1, 61, 1, "A"), ("I", T1, 65, 3, "c"), ("D", T1, 69, 2, None)])
    won: list[TableReport] = []
    pause("before-merge", lambda: won.append(run_one(other, config)))
    lost = lake.run_one(config)
    assert (len(won[0].batches), lost.batches) == (1, [])
    assert lake.rows("t", "id, v") == [(1, "A"), (3, "c")]
    check_books(lake.spark, silver(lake), 5)


def test_first_load_that_somebody_else_appended_is_not_appended_again(lake: Lake, other: SparkSession, pause: Pause) -> None:
    config = lake.config({"public.t": {}})
    lake.load("public.t", ID_V, [(1, "a"), (2, "b")])
    won: list[TableReport] = []
    pause("before-merge", lambda: won.append(run_one(other, config)))
    lost = lake.run_one(config)
    assert (len(won[0].batches), lost.batches) == (1, [])
    assert lake.rows("t", "id, v") == [(1, "a"), (2, "b")]
    check_books(lake.spark, silver(lake), 2)


def test_stale_batch_does_not_bring_back_a_row_that_came_and_went(lake: Lake, other: SparkSession, pause: Pause) -> None:
    """The other job's batch holds one file more and changes no row in the end, so Iceberg sees no conflict of files."""
    config = lake.config({"public.t": {}})
    lake.load("public.t", ID_V, [(1, "a")])
    lake.run_one(config)
    lake.changes("public.t", cdc(1), ID_V, [("I", T1, 61, 9, "ghost")])

    def overtake() -> None:
        lake.changes("public.t", cdc(2), ID_V, [("D", T2, 65, 9, None)])
        run_one(other, config)

    pause("before-merge", overtake)
    assert lake.run_one(config).batches == []
    assert lake.rows("t", "id, v") == [(1, "a")]
    check_books(lake.spark, silver(lake), 3)


def test_stale_first_load_does_not_bring_back_a_deleted_row(lake: Lake, other: SparkSession, pause: Pause) -> None:
    config = lake.config({"public.t": {}})
    lake.load("public.t", ID_V, [(1, "a"), (2, "b")])

    def overtake() -> None:
        lake.changes("public.t", cdc(1), ID_V, [("D", T1, 61, 2, None)])
        run_one(other, config)

    pause("before-merge", overtake)
    assert lake.run_one(config).batches == []
    assert lake.rows("t", "id, v") == [(1, "a")]
    check_books(lake.spark, silver(lake), 3)


def test_stale_batch_of_rejected_rows_does_not_move_progress_back(lake: Lake, other: SparkSession, pause: Pause) -> None:
    """A batch without rows to write is a commit without files, which nothing of Iceberg's own could conflict with."""
    config = lake.config({"public.t": {"rules": [{"name": "known", "expr": "v <> 'bad'"}]}})
    lake.load("public.t", ID_V, [(1, "a")])
    lake.run_one(config)
    lake.changes("public.t", cdc(1), ID_V, [("I", T1, 61, 9, "bad")])

    def overtake() -> None:
        lake.changes("public.t", cdc(2), ID_V, [("I", T2, 65, 2, "b")])
        run_one(other, config)

    pause("before-merge", overtake)
    assert lake.run_one(config).batches == []
    assert lake.rows("t", "id, v") == [(1, "a"), (2, "b")]
    assert lake.quarantine("t", "reason") == [("rule",)]
    check_books(lake.spark, silver(lake), 3)


def test_stale_pass_over_empty_files_does_not_move_progress_back(lake: Lake, other: SparkSession, pause: Pause) -> None:
    config = lake.config({"public.t": {}})
    lake.load("public.t", ID_V, [(1, "a")])
    lake.run_one(config)
    lake.changes("public.t", cdc(1), ID_V, [])

    def overtake() -> None:
        lake.changes("public.t", cdc(2), ID_V, [("I", T2, 65, 2, "b")])
        run_one(other, config)

    pause("after-inspect", overtake)
    assert lake.run_one(config).batches == []
    assert lake.rows("t", "id, v") == [(1, "a"), (2, "b")]
    check_books(lake.spark, silver(lake), 2)


BACKFILL = {"columns": [{"name": "w", "type": "int", "backfill": 7}]}


def _before_schema_change(lake: Lake) -> Config:
    lake.load("public.t", ID_V, [(1, "a"), (2, "b")])
    lake.run_one(lake.config({"public.t": {}}))
    lake.changes("public.t", cdc(1), ID_V_W, [("U", T1, 61, 1, "A", None, None)])
    return lake.config({"public.t": BACKFILL})


@pytest.mark.parametrize("point", ["after-inspect", "after-evolve", "before-backfill", "before-merge"])
def test_schema_change_that_somebody_else_made(lake: Lake, other: SparkSession, pause: Pause, point: str) -> None:
    """The backfill must not be done again: by then a NULL may be a change's own."""
    config = _before_schema_change(lake)
    pause(point, lambda: run_one(other, config))
    lake.run_one(config)
    assert lake.rows("t", "id, v, w") == [(1, "A", None), (2, "b", 7)]
    check_books(lake.spark, silver(lake), 3)
    count = lake.snapshots("t")
    lake.run_one(config)
    assert lake.snapshots("t") == count


def test_compaction_between_plan_and_commit(lake: Lake, other: SparkSession, pause: Pause) -> None:
    config = lake.config({"public.t": {}}, batch={"max_files": 1})
    for number in range(1, 4):
        lake.load("public.t", ID_V, [(number, "a")], number=number)
    lake.run_one(config)
    lake.changes("public.t", cdc(1), ID_V, [("U", T1, 61, 1, "A"), ("D", T1, 65, 2, None)])
    compact = f"CALL lake.system.rewrite_data_files(table => '{lake.namespace}.t', options => map('rewrite-all', 'true'))"
    pause("before-merge", lambda: other.sql(compact))
    assert len(lake.run_one(config).batches) == 1
    assert lake.rows("t", "id, v") == [(1, "A"), (3, "a")]
    check_books(lake.spark, silver(lake), 5)


def write_four_files(lake: Lake, table: str) -> None:
    lake.load(table, ID_V, [(1, "a"), (2, "b")])
    lake.changes(table, cdc(1), ID_V, [("I", T1, 61, 3, "c"), ("U", T1, 65, 1, "A")])
    lake.changes(table, cdc(2), ID_V, [("I", T2, 69, 4, "d"), ("D", T2, 73, 3, None)])
    lake.changes(table, cdc(3), ID_V, [("U", T3, 77, 5, "e", 4)])


def check_four_files(lake: Lake, table: str) -> None:
    assert lake.rows(table, "id, v") == [(1, "A"), (2, "b"), (5, "e")]
    books = check_books(lake.spark, f"lake.{lake.namespace}.`{table}`", 7)
    assert [book["files"] for book in books] == [1, 1, 1, 1]


def test_two_sessions_race_over_many_batches(lake: Lake, other: SparkSession) -> None:
    config = lake.config({"public.t": {}, "public.u": {}}, batch={"max_files": 1})
    for table in config.tables:
        write_four_files(lake, table)
    with ThreadPoolExecutor(2) as pool:
        reports = list(pool.map(lambda session: run(session, config), (lake.spark, other)))
    for name in ("t", "u"):
        assert [one.tables[f"public.{name}"].error for one in reports] == [None, None]
        assert sum(len(one.tables[f"public.{name}"].batches) for one in reports) == 4
        check_four_files(lake, name)


@pytest.mark.release
def test_two_processes_race_over_many_batches(lake: Lake) -> None:
    document = lake.document({"public.t": {}, "public.u": {}}, batch={"max_files": 1})
    for table in ("public.t", "public.u"):
        write_four_files(lake, table)
    with JobProcess(document, lake.folder) as one, JobProcess(document, lake.folder) as two:
        assert (one.wait(), two.wait()) == (0, 0), one.text() + two.text()
    for name in ("t", "u"):
        check_four_files(lake, name)
    assert [report.batches for report in lake.run(lake.config({"public.t": {}, "public.u": {}})).tables.values()] == [[], []]
