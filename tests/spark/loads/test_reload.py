"""A reload in a new bucket folder: readers see the old content until the new load is complete, and then exactly the new one.

Tables that keep what a load does not have get what it changes, in one commit.
"""

import os
import re
import signal
from typing import Any

import pyarrow as pa
import pytest

from dms_iceberg.bronze.keys import time_of
from dms_iceberg.context import RunRequest
from dms_iceberg.runs.preview import preview
from dms_iceberg.runs.report import TableReport
from dms_iceberg.runs.run import run
from dms_iceberg.runs.status import table_statuses
from dms_iceberg.silver.load_branches import building
from support.crash_books import check_books
from support.crash_process import JobProcess
from support.lake import Lake
from support.text_files import cdc_name

ID_V = [("id", pa.int64()), ("v", pa.string())]
ID_V_W = [*ID_V, ("w", pa.int32())]
T1, T2, T3 = "20260301100100", "20260301100200", "20260301100300"
T4 = "20260302100400"
OLD = [(1, "A"), (2, "b"), (3, "c")]


def cdc(minute: int) -> str:
    return f"2026/03/01/10/20260301-10{minute:02d}30000.parquet"


def epoch_one(lake: Lake, *tables: str) -> None:
    lake.enter(1)
    for table in tables:
        lake.load(f"public.{table}", ID_V, [(1, "a"), (2, "b")])
        lake.changes(f"public.{table}", cdc(1), ID_V, [("U", T1, 61, 1, "A"), ("I", T1, 65, 3, "c")])
    reports = merge(lake, *tables)
    assert [one.error for one in reports.values()] == [None] * len(tables)
    assert [lake.rows(table, "id, v") for table in tables] == [OLD] * len(tables)


def merge(lake: Lake, *tables: str, complete: tuple[str, ...] = (), files: int = 1, rows: int | None = None) -> dict[str, TableReport]:
    config = lake.config({f"public.{table}": {} for table in tables}, batch={"max_files": files})
    confirmed = {f"public.{table}": rows for table in complete} if rows is not None else {}
    report = run(lake.spark, config, request=RunRequest(frozenset(f"public.{table}" for table in complete), confirm_rows=confirmed))
    for table in report.tables.values():
        for batch in table.batches:
            assert batch.rows_read == batch.applied + batch.superseded + batch.stale + batch.filtered + batch.quarantined
    return {name.removeprefix("public."): one for name, one in report.tables.items()}


def history(lake: Lake, table: str) -> list[int]:
    """Snapshots that main's log knows, which is what a query as of a time follows."""
    name = f"lake.{lake.namespace}.`{table}`"
    lake.spark.sql(f"REFRESH TABLE {name}")
    return [row[0] for row in lake.spark.sql(f"SELECT snapshot_id FROM {name}.history ORDER BY made_current_at").collect()]


@pytest.mark.long
def test_old_content_stays_until_the_first_change_file(lake: Lake) -> None:
    epoch_one(lake, "t")
    before = history(lake, "t")
    lake.enter(2)
    # Row 2 vanished while nobody watched, row 4 is new, and the second file has a column more.
    lake.load("public.t", ID_V, [(1, "a2"), (4, "d")])
    lake.load("public.t", ID_V_W, [(3, "c2", 7)], number=2)
    report = merge(lake, "t")["t"]
    assert (report.error, report.rows_read, len(report.warnings)) == (None, 3, 1)
    assert "--load-complete public.t" in report.warnings[0]
    assert lake.rows("t", "id, v") == OLD
    assert (building(lake.target("t")), history(lake, "t")) == (["2"], before)
    [status] = table_statuses(lake.spark, lake.config({"public.t": {}}))
    assert (status.epoch, status.building) == (1, ["2"])

    [plan] = preview(lake.spark, lake.config({"public.t": {}}))
    assert (plan.error, "--load-complete public.t" in plan.warnings[0], plan.changes_rows) == (None, True, False)

    # The clock of the new task is behind: the epoch alone makes its changes newer.
    lake.changes("public.t", cdc(0), ID_V_W, [("U", "20260301100000", 61, 4, "D", 8), ("D", "20260301100000", 65, 3, None, None)])
    [plan] = preview(lake.spark, lake.config({"public.t": {}}))
    assert (plan.error, "load epoch 2 would be complete" in plan.warnings[0], plan.changes_rows) == (None, True, True)
    assert lake.rows("t", "id, v") == OLD, "a plan changes nothing"
    report = merge(lake, "t")["t"]
    assert (report.error, report.applied, report.warnings) == (None, 2, [])
    assert lake.rows("t", "id, v, w") == [(1, "a2", None), (4, "D", 8)]
    assert building(lake.target("t")) == []
    assert len(history(lake, "t")) == len(before) + 2, "the load as a whole, then the change"
    assert lake.target("t").progress().epoch == 2
    assert merge(lake, "t")["t"].batches == []

    # Late files are looked up in the new folder, and only there.
    lake.changes("public.t", "2026/03/01/09/20260301-095930000.parquet", ID_V, [("U", "20260301095900", 61, 3, "late")])
    assert merge(lake, "t")["t"].stale == 1
    assert lake.rows("t", "id, v") == [(1, "a2"), (4, "D")]


def test_idle_and_empty_tables_wait_for_the_operators_word(lake: Lake) -> None:
    epoch_one(lake, "idle", "empty")
    lake.enter(2)
    lake.load("public.idle", ID_V, [(9, "new")])
    reports = merge(lake, "idle", "empty")
    # Of the one without any file that is said as well.
    assert [len(one.warnings) for one in reports.values()] == [1, 2]
    assert (lake.rows("idle", "id, v"), lake.rows("empty", "id, v")) == (OLD, OLD)
    reports = merge(lake, "idle", "empty", complete=("idle", "empty"))
    # Nothing proves that the source table is empty, and not that the folder is the wrong one.
    assert (reports["idle"].error, reports["idle"].warnings) == (None, [])
    error = str(reports["empty"].error)
    assert "3 of the 3 rows" in error and error.endswith("run with --confirm-rows public.empty=3.")
    assert (lake.rows("idle", "id, v"), lake.rows("empty", "id, v")) == ([(9, "new")], OLD)
    [plan] = preview(lake.spark, lake.config({"public.empty": {}}), request=RunRequest(frozenset({"public.empty"})))
    assert plan.error == error.replace("public.empty=3.", "3.")
    wrong = merge(lake, "empty", complete=("empty",), rows=2)["empty"].error
    assert "--confirm-rows 2, but 3 of the 3 rows" in str(wrong)
    reports = merge(lake, "empty", complete=("empty",), rows=3)
    assert [(one.error, one.warnings) for one in reports.values()] == [(None, [])]
    assert (lake.rows("idle", "id, v"), lake.rows("empty", "id, v")) == ([(9, "new")], [])
    lake.changes("public.empty", cdc(2), ID_V, [("I", T2, 61, 5, "e")])
    assert merge(lake, "idle", "empty")["empty"].error is None
    assert lake.rows("empty", "id, v") == [(5, "e")]


def test_changes_without_a_load_wipe_nothing(lake: Lake) -> None:
    epoch_one(lake, "t")
    lake.enter(3)
    lake.changes("public.t", cdc(3), ID_V, [("I", T3, 61, 7, "g")])
    error = merge(lake, "t")["t"].error
    assert error is not None
    assert "there is no file of a full load" in error
    [plan] = preview(lake.spark, lake.config({"public.t": {}}))
    assert plan.error == error
    assert lake.rows("t", "id, v") == OLD
    lake.enter(4)
    error = merge(lake, "t", complete=("t",))["t"].error
    assert error is not None
    assert "is empty" in error
    assert lake.rows("t", "id, v") == OLD
    lake.enter(0)
    lake.load("public.t", ID_V, [(1, "older")])
    error = merge(lake, "t")["t"].error
    assert error is not None
    assert "holds epoch 1 already" in error
    assert lake.rows("t", "id, v") == OLD


def test_load_is_built_again_after_a_rollback(lake: Lake) -> None:
    epoch_one(lake, "t")
    [first, *_] = history(lake, "t")
    lake.enter(2)
    lake.load("public.t", ID_V, [(1, "a2")])
    lake.changes("public.t", cdc(2), ID_V, [("I", T2, 61, 5, "e")])
    done = [(1, "a2"), (5, "e")]
    merge(lake, "t", files=9)
    assert lake.rows("t", "id, v") == done
    lake.spark.sql(f"CALL lake.system.set_current_snapshot('{lake.namespace}.t', {first})")
    assert lake.rows("t", "id, v") == [(1, "a"), (2, "b")]
    assert merge(lake, "t", files=9)["t"].error is None
    assert lake.rows("t", "id, v") == done


def test_newer_epoch_overtakes_one_that_was_never_complete(lake: Lake) -> None:
    epoch_one(lake, "t")
    for epoch in (2, 10):
        lake.enter(epoch)
        lake.load("public.t", ID_V, [(epoch, "x")])
        merge(lake, "t")
    assert building(lake.target("t")) == ["2", "10"]
    lake.changes("public.t", cdc(2), ID_V, [("I", T2, 61, 5, "e")])
    merge(lake, "t")
    assert (lake.rows("t", "id, v"), building(lake.target("t"))) == ([(5, "e"), (10, "x")], [])


@pytest.mark.long
def test_reload_in_place_is_refused_until_the_operator_says_when_it_began(lake: Lake) -> None:
    lake.load("public.t", ID_V, [(1, "a"), (2, "b")])
    lake.load("public.t", ID_V, [(7, "left over")], number=2)
    lake.changes("public.t", cdc(1), ID_V, [("U", T1, 61, 1, "A"), ("D", T1, 65, 7, None)])
    began = "20260301100200000"
    age(lake, before=began)
    assert merge(lake, "t")["t"].error is None
    old = [(1, "A"), (2, "b")]
    # The new load has one file, so the second one of the old load stays in the folder.
    lake.load("public.t", ID_V, [(1, "a2"), (3, "c2")])
    # Written before the reload was over: it may hold changes from before it.
    lake.changes("public.t", cdc(2), ID_V, [("U", T1, 69, 1, "A"), ("U", T2, 73, 1, "a2")])
    error = merge(lake, "t")["t"].error
    assert error is not None
    assert "--reload-started-at" in error
    config = lake.config({"public.t": {}})

    report = run(lake.spark, config, ["public.t"], request=RunRequest(reload_started=began)).tables["public.t"]
    assert (report.error, report.rows_read) == (None, 2)
    assert "--load-complete public.t" in report.warnings[0]
    assert (lake.rows("t", "id, v"), building(lake.target("t"))) == (old, ["0.1"])
    report = merge(lake, "t")["t"]
    assert (report.error, report.batches, len(report.warnings)) == (None, [], 2)
    assert "was closed after --reload-started-at" in report.warnings[1] and "--confirm-rows" in report.warnings[1]
    # A change file was closed between the moment and the first LOAD file: whether its changes are in the load, nothing tells.
    report = merge(lake, "t", complete=("t",))["t"]
    assert "was closed after --reload-started-at" in str(report.error) and "1 of the 2 rows" in str(report.error)
    assert lake.rows("t", "id, v") == old
    report = merge(lake, "t", complete=("t",), rows=1)["t"]
    assert (report.error, report.rows_read) == (None, 2)
    assert (lake.rows("t", "id, v"), building(lake.target("t"))) == ([(1, "a2"), (3, "c2")], [])
    lake.changes("public.t", cdc(3), ID_V, [("D", T3, 77, 3, None)])
    # Said again, it is known already.
    run(lake.spark, config, ["public.t"], request=RunRequest(reload_started=began))
    assert lake.rows("t", "id, v") == [(1, "a2")]
    # A late file meets only changes of the new load.
    lake.changes("public.t", "2026/03/01/10/20260301-100215000.parquet", ID_V, [("U", T2, 61, 2, "late")])
    assert merge(lake, "t")["t"].applied == 1
    assert lake.rows("t", "id, v") == [(1, "a2"), (2, "late")]


def age(lake: Lake, before: str) -> None:
    """Give all files of bronze a modification time before a moment, and the clock of those written next is after it."""
    moment = time_of(before).timestamp() - 60
    for path in lake.bronze.rglob("*.parquet"):
        os.utime(path, (moment, moment))


@pytest.mark.release
def test_killed_during_a_reload(lake: Lake) -> None:
    points = {"p_read": "after-collapse", "p_publish": "before-publish", "p_commit": "after-commit", "p_switch": "before-switch"}
    epoch_one(lake, *points)
    lake.enter(2)
    for table in points:
        lake.load(f"public.{table}", ID_V, [(1, "a2"), (4, "d")])
        lake.load(f"public.{table}", ID_V, [(3, "c2")], number=2)
        lake.changes(f"public.{table}", cdc(2), ID_V, [("D", T2, 61, 4, None)])
    document = lake.document({f"public.{table}": {} for table in points}, parallelism=len(points), batch={"max_files": 1})
    with JobProcess(document, lake.folder, [f"{point}@public.{table}" for table, point in points.items()]) as job:
        assert job.wait() == -signal.SIGKILL, job.text()
    assert [lake.rows(table, "id, v") for table in points] == [OLD] * len(points)
    reports = merge(lake, *points)
    assert [one.error for one in reports.values()] == [None] * len(points)
    assert [lake.rows(table, "id, v") for table in points] == [[(1, "a2"), (3, "c2")]] * len(points)
    assert [building(lake.target(table)) for table in points] == [[]] * len(points)


def test_load_complete_names_configured_tables(lake: Lake) -> None:
    from dms_iceberg.errors import ConfigError

    with pytest.raises(ConfigError, match=r"public\.other"):
        run(lake.spark, lake.config({"public.t": {}}), request=RunRequest(frozenset({"public.other"})))


def test_a_new_load_epoch_takes_another_key(lake: Lake) -> None:
    columns = [("id", pa.int64()), ("part", pa.int64())]
    lake.load("public.t", columns, [(1, 1), (2, 1)])
    lake.run_one(lake.config({"public.t": {}}))
    lake.enter(2)
    lake.load("public.t", columns, [(1, 1), (1, 2)])
    config = lake.config({"public.t": {"key": ["id", "part"]}})
    report = run(lake.spark, config, request=RunRequest(load_complete=frozenset({"public.t"})))
    assert report.failed == []
    assert lake.rows("t", "id, part", "1, 2") == [(1, 1), (1, 2)]
    assert not lake.run_one(config).batches


@pytest.mark.long
def test_a_load_that_was_begun_with_another_configuration_is_built_anew(lake: Lake) -> None:
    """Of two files of the load, one would be as the old configuration has it, and nothing would tell."""
    columns = [("id", pa.int64()), ("part", pa.int64()), ("v", pa.string())]
    tables = {"masked": {}, "rekeyed": {}, "soft": {"mode": "soft_delete"}, "same": {}}
    masked = {"columns": [{"name": "v", "mask": "redact"}]}
    changed = {"masked": masked, "rekeyed": {"key": ["id", "part"]}, "soft": {**tables["soft"], **masked}, "same": {}}

    def merge_as(configured: dict[str, dict[str, Any]]) -> dict[str, TableReport]:
        report = lake.run(lake.config({f"public.{name}": one for name, one in configured.items()}))
        assert report.failed == []
        return {name.removeprefix("public."): one for name, one in report.tables.items()}

    for name in tables:
        lake.load(f"public.{name}", columns, [(1, 1, "old")])
    merge_as(tables)
    lake.enter(2)
    for name in tables:
        lake.load(f"public.{name}", columns, [(1, 1, "a"), (2, 1, "b")])
    merge_as(tables)
    for name in tables:
        lake.load(f"public.{name}", columns, [(1, 2, "c"), (3, 1, "d")], number=2)
    config = lake.config({f"public.{name}": one for name, one in changed.items()})
    plans = {one.table: one for one in preview(lake.spark, config)}
    assert (plans["public.masked"].files, plans["public.same"].files) == (2, 1)
    reports = merge_as(changed)
    told = {name: [text for text in one.warnings if "built again" in text] for name, one in reports.items()}
    assert {name: len(texts) for name, texts in told.items()} == {"masked": 1, "rekeyed": 1, "soft": 1, "same": 0}
    assert {name: one.files for name, one in reports.items()} == {"masked": 2, "rekeyed": 2, "soft": 2, "same": 1}
    for name in tables:
        lake.changes(f"public.{name}", cdc(2), columns, [("I", T2, 61, 9, 1, "e")], key=("id", "part"))
    reports = merge_as(changed)
    assert [text for one in reports.values() for text in one.warnings if "built again" in text] == []
    for name in ("masked", "soft"):
        assert lake.rows(name, "id, v") == [(1, "***"), (2, "***"), (3, "***"), (9, "***")], name
    assert lake.rows("rekeyed", "id, part, v", "1, 2") == [(1, 1, "a"), (1, 2, "c"), (2, 1, "b"), (3, 1, "d"), (9, 1, "e")]
    assert lake.rows("same", "id, part, v") == [(1, 2, "c"), (2, 1, "b"), (3, 1, "d"), (9, 1, "e")]


@pytest.mark.parametrize("mode", ["soft_delete", pytest.param("history", marks=pytest.mark.long)])
def test_a_load_that_was_begun_in_another_mode_is_built_anew(lake: Lake, mode: str) -> None:
    """The rows of a mirror have no marks: taken for the load's, every row of the table would have vanished."""
    names = ("change", "told", "second")
    epoch_one(lake, *names)
    lake.enter(2)
    for name in names:
        lake.load(f"public.{name}", ID_V, [(1, "A"), (2, "b")])
    assert [one.error for one in merge(lake, *names).values()] == [None] * len(names)
    lake.load("public.second", ID_V, [(3, "c")], number=2)
    lake.changes("public.change", cdc(2), ID_V, [("I", T2, 61, 3, "c")])
    config = lake.config({f"public.{name}": {"mode": mode} for name in names})
    word = RunRequest(frozenset({"public.told", "public.second"}))
    plans = [one.steps for one in preview(lake.spark, config, request=word)]
    report = run(lake.spark, config, request=word)
    assert report.failed == []
    there = {"soft_delete": "NOT _cdc_deleted", "history": "_is_current"}[mode]
    live = {name: sorted(row[0] for row in lake.rows(name, f"id, {there}") if row[1]) for name in names}
    assert live == {"change": [1, 2, 3], "told": [1, 2], "second": [1, 2, 3]}
    assert all("built again" in one.warnings[0] for one in report.tables.values())
    assert all(any("mode" in step for step in steps) for steps in plans), plans


def test_rows_of_a_load_without_a_mark_are_refused(lake: Lake) -> None:
    """Somebody has changed the branch, and what counts as vanished is not known."""
    lake.enter(1)
    lake.load("public.t", ID_V, [(1, "a")])
    lake.run_one(lake.config({"public.t": {"mode": "soft_delete"}}))
    lake.enter(2)
    config = lake.config({"public.t": {"mode": "soft_delete"}})
    lake.load("public.t", ID_V, [(1, "a"), (2, "b")])
    lake.run_one(config)
    lake.spark.sql(f"UPDATE lake.{lake.namespace}.t.branch_dms_iceberg_epoch_2 SET _cdc_deleted = NULL")
    lake.changes("public.t", cdc(2), ID_V, [("I", T2, 61, 3, "c")])
    assert "DROP BRANCH" in str(lake.run_one(config, fails=True).error)
    assert lake.rows("t", "id, _cdc_deleted") == [(1, False)]
    lake.spark.sql(f"ALTER TABLE lake.{lake.namespace}.t DROP BRANCH dms_iceberg_epoch_2")
    lake.run_one(config)
    assert lake.rows("t", "id, _cdc_deleted") == [(1, False), (2, False), (3, False)]


def test_a_reload_in_place_that_is_built_anew_still_knows_when_it_began(lake: Lake) -> None:
    lake.load("public.t", ID_V, [(1, "a")])
    lake.load("public.t", ID_V, [(7, "left over")], number=2)
    began = "20260301100200000"
    age(lake, before=began)
    lake.run_one(lake.config({"public.t": {}}))
    lake.load("public.t", ID_V, [(1, "a2"), (3, "c2")])
    assert run(lake.spark, lake.config({"public.t": {}}), ["public.t"], request=RunRequest(reload_started=began)).failed == []
    config = lake.config({"public.t": {"columns": [{"name": "v", "mask": "redact"}]}})
    assert run(lake.spark, config, request=RunRequest(load_complete=frozenset({"public.t"}))).failed == []
    assert lake.rows("t", "id, v") == [(1, "***"), (3, "***")]
    assert lake.target("t").progress().reloaded_at == began


LOADED = "2026-03-02 10:00:00.000000"
OLD_ROWS = {
    "soft_delete": [(1, "A", False), (2, "b", False), (3, "c", True)],
    "history": [(1, "A", True), (1, "a", False), (2, "b", True), (3, "c", False)],
    "append": [(1, "A", "U"), (1, "a", "I"), (2, "b", "I"), (3, "c", "I"), (3, None, "D")],
}
NEW_ROWS = {
    # Row 1 is the same, row 2 vanished, row 3 came back, row 4 is new and was changed since.
    "soft_delete": [(1, "A", False), (2, "b", True), (3, "c2", False), (4, "D", False)],
    "history": [(1, "A", True), (1, "a", False), (2, "b", False), (3, "c", False), (3, "c2", True), (4, "D", True), (4, "d", False)],
    "append": sorted([*OLD_ROWS["append"], (1, "A", "I"), (3, "c2", "I"), (4, "d", "I"), (4, "D", "U")], key=str),
}
MODES = {"soft_delete": "_cdc_deleted", "history": "_is_current", "append": "_cdc_op"}


def shown(lake: Lake, table: str) -> list[tuple[object, ...]]:
    mode = next(mode for mode in MODES if table.startswith(mode))
    return sorted(lake.rows(table, f"id, v, {MODES[mode]}"), key=str)


@pytest.mark.release
def test_modes_that_keep_rows_get_what_the_load_changes(lake: Lake) -> None:
    """A first kill finds each table at another step; a run without a word goes on from there."""
    points = {"build": "after-collapse", "merge": "before-switch", "done": "after-switch"}
    tables = {f"public.{mode}_{point}": {"mode": mode} for mode in MODES for point in points}
    lake.enter(1)
    for table in tables:
        lake.load(table, ID_V, [(1, "a"), (2, "b")])
        lake.changes(table, cdc_name(1), ID_V, [("U", T1, 61, 1, "A"), ("I", T1, 65, 3, "c"), ("D", T2, 69, 3, None)])
    assert [one.error for one in lake.run(lake.config(tables)).tables.values() if one.error] == []
    names = [name.removeprefix("public.") for name in tables]
    assert {name: shown(lake, name) for name in names} == {name: OLD_ROWS[name.rpartition("_")[0]] for name in names}
    lake.enter(2)
    service = [("Op", pa.string()), ("dms_commit_ts", pa.string()), *ID_V, ("dms_change_seq", pa.string())]
    for table in tables:
        lake.parquet(table, "LOAD00000001.parquet", service, [("I", LOADED, 1, "A", ""), ("I", LOADED, 3, "c2", "")])
    config = lake.config(tables, batch={"max_files": 1})
    report = lake.run(config)
    assert [one.error for one in report.tables.values() if one.error] == []
    assert all("--load-complete" in one.warnings[-1] for one in report.tables.values())
    assert {name: shown(lake, name) for name in names} == {name: OLD_ROWS[name.rpartition("_")[0]] for name in names}
    for table in tables:
        lake.parquet(table, "LOAD00000002.parquet", service, [("I", LOADED, 4, "d", "")])
        lake.changes(table, "2026/03/02/10/20260302-100500000.parquet", ID_V, [("U", T4, 61, 4, "D")])
    kill_at = [f"{point}@public.{mode}_{name}" for mode in MODES for name, point in points.items()]
    document = lake.document(tables, parallelism=len(tables), batch={"max_files": 1})
    with JobProcess(document, lake.folder, kill_at) as job:
        assert job.wait() == -signal.SIGKILL, job.text()
    assert {mode: shown(lake, f"{mode}_merge") for mode in MODES} == OLD_ROWS
    report = lake.run(config)
    assert [one.error for one in report.tables.values() if one.error] == []
    assert {name: shown(lake, name) for name in names} == {name: NEW_ROWS[name.rpartition("_")[0]] for name in names}
    for name in names:
        assert building(lake.target(name)) == []
        check_books(lake.spark, f"lake.{lake.namespace}.{name}", 5 + 4)
    # A row that is the same is not touched: its place is still in the first load.
    assert lake.rows("soft_delete_done", "substr(_cdc_position, 1, 5), CAST(_cdc_deleted_at AS string)", "id")[:2] == [
        ("d1000", None),
        ("d2000", "2026-03-02 10:00:00"),
    ]
    ended = lake.rows("history_done", "id, CAST(_valid_from AS string), CAST(_valid_to AS string)", "1, _valid_from")
    assert ended[2:5] == [
        (2, "2026-03-01 10:00:00", "2026-03-02 10:00:00"),
        (3, "2026-03-01 10:01:00", "2026-03-01 10:02:00"),
        (3, "2026-03-02 10:00:00", None),
    ]


def test_a_load_that_is_built_goes_on_without_its_files_and_says_how_to_begin_again(lake: Lake) -> None:
    """Bronze loses a merged file of one table's new epoch, and that of another is overwritten, before any change came."""
    epoch_one(lake, "lost", "over")
    lake.enter(2)
    for table in ("lost", "over"):
        lake.load(f"public.{table}", ID_V, [(1, "n"), (2, "n")])
    assert [one.error for one in merge(lake, "lost", "over").values()] == [None, None]
    lake.path("public.lost", "LOAD00000001.parquet").unlink()
    lake.load("public.over", ID_V, [(1, "m")])
    for table in ("lost", "over"):
        lake.changes(f"public.{table}", cdc(2), ID_V, [("I", T2, 61, 7, "e")])
    reports = merge(lake, "lost", "over")
    assert (reports["lost"].error, lake.rows("lost", "id, v")) == (None, [(1, "n"), (2, "n"), (7, "e")])
    error = str(reports["over"].error)
    assert "--reload-started-at" not in error and lake.rows("over", "id, v") == OLD
    found = re.search(r"ALTER TABLE \S+ DROP BRANCH [^ .]+", error)
    assert found is not None
    lake.spark.sql(found[0])
    assert merge(lake, "over")["over"].error is None
    assert lake.rows("over", "id, v") == [(1, "m"), (7, "e")]
