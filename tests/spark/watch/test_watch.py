"""A watch: what comes is merged, tables take turns, errors pass, and the end waits for the batches at hand."""

import json
import queue
import threading
import time

import pyarrow as pa
import pytest

from dms_iceberg.bronze.listing import list_bronze
from dms_iceberg.runs import read_state
from dms_iceberg.watch.run import SessionLostError, Watch
from support.crash_books import check_books
from support.lake import Lake
from support.pause import Pause
from support.text_files import write_text
from support.watching import ID_V, PATIENCE, change, watching


def test_what_comes_is_merged_and_a_run_afterwards_finds_nothing(lake: Lake) -> None:
    tables = ["public.t", "public.u", "public.not_yet"]
    config = lake.config({name: {} for name in tables})
    lake.load("public.t", ID_V, [(1, "a"), (2, "b")])
    with watching(lake, config) as job:
        job.until_rows(2)
        lake.load("public.u", ID_V, [(1, "u")])
        for minute in range(1, 4):
            change(lake, "public.t", minute, 1, f"t{minute}")
            change(lake, "public.u", minute, 1, f"u{minute}")
            job.until_rows(2 + minute)
        job.until_rows(4, "public.u")
        # Behind the frontier: a listing that began there would not see it.
        lake.changes("public.t", "2026/03/01/10/20260301-100200000.parquet", ID_V, [("U", "20260301100130", 1, 2, "late")])
        job.until_rows(6)
    assert job.failed == []
    assert lake.rows("t", "id, v") == [(1, "t3"), (2, "late")]
    assert lake.rows("u", "id, v") == [(1, "u3")]
    check_books(lake.spark, f"lake.{lake.namespace}.t", 6)
    assert [(one.error, one.batches) for one in lake.run(config).tables.values()] == [(None, [])] * len(tables)
    state = json.loads((lake.folder / "runs" / "test" / "public.t.json").read_text())
    assert (state["rows_read"], state["error"], state["frontier"]) == (6, None, "20260301100330000")


def test_a_listener_hears_of_schema_changes_with_the_batch_that_needed_them(lake: Lake) -> None:
    config = lake.config({"public.t": {}})
    lake.load("public.t", ID_V, [(1, "a")])
    with watching(lake, config) as job:
        job.until_rows(1)
        row = ("U", "20260301100100", 1, 1, "b", 5)
        lake.changes("public.t", "2026/03/01/10/20260301-100130000.parquet", [*ID_V, ("extra", pa.int64())], [row])
        job.until_rows(2)
        change(lake, "public.t", 2, 1, "c")
        job.until_rows(3)
    load, wider, last = (batch.ddl for _, batch in job.merged)
    assert load == last == ()
    assert len(wider) == 1
    assert "ADD COLUMN `extra`" in wider[0]


def test_an_idle_table_costs_a_listing_and_nothing_of_the_catalog(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    config = lake.config({"public.t": {}})
    lake.load("public.t", ID_V, [(1, "a")])
    plans, listings = [], []
    plan, listing = read_state.read_state, list_bronze
    monkeypatch.setattr("dms_iceberg.runs.run.read_state", lambda *all_: plans.append(1) or plan(*all_))
    monkeypatch.setattr("dms_iceberg.context.list_bronze", lambda *all_: listings.append(1) or listing(*all_))
    with watching(lake, config) as job:
        job.until_rows(1)
        job.until(lambda: listings)
        before = len(plans)
        count = len(listings) + 5
        job.until(lambda: len(listings) >= count)
        assert len(plans) == before
        change(lake, "public.t", 1, 1, "b")
        job.until_rows(2)


def test_a_backlog_lets_others_take_their_turns(lake: Lake) -> None:
    config = lake.config({"public.huge": {}, "public.t": {}}, parallelism=1, batch={"max_files": 1})
    for table in ("public.huge", "public.t"):
        lake.load(table, ID_V, [(1, "a")])
    for minute in range(1, 9):
        change(lake, "public.huge", minute, 1, f"{minute}")
    change(lake, "public.t", 1, 1, "b")
    with watching(lake, config) as job:
        job.until_rows(9, "public.huge")
    order = [name for name, _ in job.merged]
    assert order[:4].count("public.t") == 2, order
    assert order.count("public.huge") == 9


@pytest.mark.parametrize(("most", "sizes"), [(50, [1, 8, 1]), (5, [1, 5, 3, 1])], ids=["backlog", "max_files"])
def test_a_batch_is_as_large_as_the_backlog_and_no_larger_than_allowed(lake: Lake, most: int, sizes: list[int]) -> None:
    config = lake.config({"public.t": {}}, batch={"max_files": most})
    arrived = threading.Event()
    lake.load("public.t", ID_V, [(1, "a")])
    with watching(lake, config, pause=arrived) as job:
        # The table's thread is held after its first batch.
        job.until_rows(1)
        for minute in range(1, 9):
            change(lake, "public.t", minute, 1, f"{minute}")
        arrived.set()
        job.until_rows(9)
        change(lake, "public.t", 9, 1, "last")
        job.until_rows(10)
    assert [batch.files for _, batch in job.merged] == sizes
    assert lake.rows("t", "v") == [("last",)]


def test_a_table_that_fails_is_tried_again_and_recovers_without_harm_to_others(lake: Lake) -> None:
    config = lake.config({"public.t": {}, "public.u": {}})
    for table in ("public.t", "public.u"):
        lake.load(table, ID_V, [(1, "a")])
    state = lake.folder / "runs" / "test" / "public.t.json"
    with watching(lake, config) as job:
        job.until_rows(1)
        damaged = lake.path("public.t", "2026/03/01/10/20260301-100130000.parquet")
        damaged.write_bytes(b"PAR1 no footer PAR1")
        job.until(lambda: state.exists() and json.loads(state.read_text())["error"])
        assert "20260301-100130000.parquet" in json.loads(state.read_text())["error"]
        change(lake, "public.u", 1, 1, "b")
        job.until_rows(2, "public.u")
        change(lake, "public.t", 1, 1, "mended")
        job.until_rows(2)
        job.until(lambda: json.loads(state.read_text())["error"] is None)
    assert job.failed == []
    assert lake.rows("t", "v") == [("mended",)]


class News(queue.SimpleQueue[set[str]]):
    """A queue of a watch; what is put into it is told."""

    def receive(self) -> set[str]:
        try:
            return self.get(timeout=0.05)
        except queue.Empty:
            return set()


def test_first_pauses_of_a_table_that_fails_are_as_short_with_a_queue(lake: Lake) -> None:
    config = lake.config({"public.t": {}})
    lake.load("public.t", ID_V, [(1, "a")]).write_bytes(b"PAR1 no footer PAR1")
    (table,) = Watch(lake.spark, config, queue=News()).tables.values()
    pauses = [table.turn(woken=True) for _ in range(3)]
    assert all(2**n / 2 <= pause <= 2**n for n, pause in enumerate(pauses, 1)), pauses


def test_what_is_told_while_a_table_waits_for_its_turn_is_looked_at_once(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    config = lake.config({"public.t": {}, "public.u": {}}, parallelism=1)
    for table in ("public.t", "public.u"):
        lake.load(table, ID_V, [(1, "a")])
    plan, planned = read_state.read_state, list[str]()
    monkeypatch.setattr("dms_iceberg.runs.run.read_state", lambda here, *all_: planned.append(here.table.source) or plan(here, *all_))
    news, pause = News(), threading.Event()
    pause.set()
    with watching(lake, config, queue=news, pause=pause) as job:
        job.until_rows(1)
        job.until_rows(1, "public.u")
        pause.clear()
        change(lake, "public.u", 1, 1, "b")
        news.put({"public.u"})
        job.until_rows(2, "public.u")
        planned.clear()
        change(lake, "public.t", 1, 1, "b")
        for _ in range(3):
            news.put({"public.t"})
        job.until(news.empty)
        pause.set()
        job.until_rows(2)
        time.sleep(0.5)
    assert planned.count("public.t") == 1


def test_tables_that_fail_at_the_end_are_named(lake: Lake) -> None:
    config = lake.config({"public.t": {}})
    lake.path("public.t", "LOAD00000001.parquet").write_bytes(b"garbage")
    with watching(lake, config) as job:
        job.until(lambda: job.watch.tables["public.t"].error)
    assert job.failed == ["public.t"]


def test_a_rollback_by_others_is_seen_within_the_full_look(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dms_iceberg.watch.table.FULL_LOOK_SECONDS", 0.3)
    config = lake.config({"public.t": {}})
    lake.load("public.t", ID_V, [(1, "a")])
    with watching(lake, config) as job:
        job.until_rows(1)
        first = job.merged[0][1].snapshot_id
        change(lake, "public.t", 1, 1, "b")
        job.until_rows(2)
        lake.spark.newSession().sql(f"CALL lake.system.rollback_to_snapshot('{lake.namespace}.t', {first})")
        job.until_rows(3)
    assert lake.rows("t", "v") == [("b",)]


@pytest.mark.long
def test_a_table_that_others_drop_or_make_anew_is_made_again(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dms_iceberg.watch.table.FULL_LOOK_SECONDS", 0.3)
    config = lake.config({"public.t": {}})
    lake.load("public.t", ID_V, [(1, "a")])
    other = lake.spark.newSession()
    with watching(lake, config) as job:
        job.until_rows(1)
        change(lake, "public.t", 1, 1, "b")
        job.until_rows(2)
        other.sql(f"DROP TABLE lake.{lake.namespace}.t PURGE")
        job.until_rows(4)
    assert job.failed == []
    assert lake.rows("t", "v") == [("b",)]


def test_the_end_waits_for_the_batch_at_hand(lake: Lake, pause: Pause) -> None:
    arrived, go_on = threading.Event(), threading.Event()

    def hold() -> None:
        arrived.set()
        go_on.wait(PATIENCE)

    pause("after-listing", hold)
    config = lake.config({"public.t": {}})
    lake.load("public.t", ID_V, [(1, "a")])
    with watching(lake, config) as job:
        arrived.wait(PATIENCE)
        job.watch.stop()
        time.sleep(0.2)
        assert job.failed is None
        go_on.set()
    assert lake.rows("t", "v") == [("a",)]
    assert json.loads((lake.folder / "runs" / "test" / "public.t.json").read_text())["rows_read"] == 1


def test_a_watch_without_spark_ends_and_says_so(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    config = lake.config({"public.t": {}})
    lake.load("public.t", ID_V, [(1, "a")])

    def gone(*_: object) -> None:
        raise ConnectionRefusedError(111, "Connection refused")

    with watching(lake, config) as job:
        job.until_rows(1)
        monkeypatch.setattr("dms_iceberg.context.list_bronze", gone)
        monkeypatch.setattr(job.watch, "_is_alive", lambda: False)
        job.join()
    assert isinstance(job.error, SessionLostError)
    assert "start again" in str(job.error)


def test_a_defect_in_one_turn_does_not_end_the_watch(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("dms_iceberg.watch.run.LONGEST_BACK_OFF_SECONDS", 0.2)
    config = lake.config({"public.t": {}, "public.u": {}})
    for table in ("public.t", "public.u"):
        lake.load(table, ID_V, [(1, "a")])
    broken = [1]

    def keep(*_: object) -> None:
        if broken:
            raise LookupError(broken.pop())

    monkeypatch.setattr("dms_iceberg.watch.table.write_state_file", keep)
    monkeypatch.setattr("dms_iceberg.watch.table.STATE_SECONDS", 0.0)
    with watching(lake, config) as job:
        job.until(lambda: not broken)
        job.until_rows(1)
        job.until_rows(1, "public.u")
    assert job.failed == []


def test_a_file_that_was_empty_before_there_was_a_table_is_merged_once_it_is_uploaded_again(lake: Lake) -> None:
    absent = {"sequence_column": None, "stream_position_column": None, "before_image_prefix": None}
    csv = {"format": "csv", "csv": {"header": False}, "change": absent}
    columns = {"source_columns": ["id", "v"], "columns": [{"name": "id", "type": "bigint"}]}
    config = lake.config({"public.t": columns}, bronze=csv)
    write_text(lake, "public.t", "LOAD00000001.csv", [], None)
    with watching(lake, config) as job:
        job.until(lambda: job.merged)
        write_text(lake, "public.t", "LOAD00000001.csv", ["I,2026-03-01 10:00:00.000000,1,a"], None)
        job.until_rows(1)
        write_text(lake, "public.t", "LOAD00000002.csv", ["I,2026-03-01 10:00:00.000000,2,b"], None)
        job.until_rows(2)
    assert job.failed == []
    assert lake.rows("t", "id, v") == [(1, "a"), (2, "b")]
