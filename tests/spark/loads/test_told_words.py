"""What an operator says of a load or a truncate, beside what bronze does not show any more; and the rows that a load rejects."""

import os
import signal
from typing import Any

import pyarrow as pa
import pytest

from dms_iceberg.bronze.keys import digits_of, time_of
from dms_iceberg.context import RunRequest
from dms_iceberg.runs.preview import preview
from dms_iceberg.runs.replay import replay
from dms_iceberg.runs.report import TableReport
from dms_iceberg.runs.run import run
from dms_iceberg.runs.status import table_statuses
from dms_iceberg.silver.load_branches import building
from support.crash_process import JobProcess
from support.lake import Lake
from support.told_moments import ENTRY, GONE, PRESENT, TOLD, Story, shown

ID_V = [("id", pa.int64()), ("v", pa.int64())]
RULE = {"rules": [{"name": "small", "expr": "v < 5"}]}


def dated(path: Any, at: str) -> None:
    moment = time_of(at).timestamp()
    os.utime(path, (moment, moment))


def one(lake: Lake, entry: dict[str, Any], rows: int | None = None, **request: Any) -> TableReport:
    """A run with the operator's words, of which ``rows`` confirms how many rows leave."""
    request |= {"confirm_rows": {"public.t": rows}} if rows is not None else {}
    return run(lake.spark, lake.config({"public.t": entry}), ["public.t"], request=RunRequest(**request)).tables["public.t"]


@pytest.mark.parametrize(
    "mode", ["mirror", pytest.param("soft_delete", marks=pytest.mark.long), pytest.param("append", marks=pytest.mark.long)]
)
def test_a_truncate_before_a_load_whose_files_are_gone(lake: Lake, mode: str) -> None:
    """A lifecycle rule has removed the LOAD file, so the listing does not show when the table was loaded."""
    path = lake.load("public.t", ID_V, [(1, 1), (2, 2)])
    dated(path, "20260301100000000")
    entry = {"mode": mode}
    lake.run_one(lake.config({"public.t": entry}))
    before = lake.rows("t", "id")
    path.unlink()
    word: dict[str, Any] = {"truncate": frozenset({"public.t"}), "truncated_at": "20260301090000000"}
    error = one(lake, entry, **word).error
    assert "the full load was written until 2026-03-01T10:00:00Z" in str(error)
    assert one(lake, entry, **word, rows=2).error == error, "what is impossible needs no number"
    # The object may also have come by another way.
    marker = lake.path("public.t", "_repair/TRUNCATE-20260301-090000000.json")
    marker.parent.mkdir(exist_ok=True)
    marker.write_text("{}")
    assert "(no longer in bronze) was written at 2026-03-01T10:00:00Z" in str(one(lake, entry).error)
    assert lake.rows("t", "id") == before
    marker.unlink()
    # A number that the operator gives is compared, though this moment is certain.
    word["truncated_at"] = "20260301110000000"
    leave = 0 if mode == "append" else 2
    assert f"--confirm-rows 7, but {leave} of the 2 rows" in str(one(lake, entry, **word, rows=7).error)
    assert (one(lake, entry, **word, rows=leave).error, lake.rows("t", "id") == before) == (None, mode == "soft_delete")


def test_a_moment_that_is_stated_again_begins_the_reload_again(lake: Lake) -> None:
    """The first one is early, and no file shows it: a file that was never merged is taken for one of the new load."""
    dated(lake.load("public.t", ID_V, [(1, 1), (2, 2)]), "20260301100000000")
    lake.run_one(lake.config({"public.t": {}}))
    dated(lake.load("public.t", ID_V, [(7, 7)], number=2), "20260301110000000")
    dated(lake.load("public.t", ID_V, [(1, 3)]), "20260301120000000")
    assert "before LOAD files with lower numbers" in one(lake, {}, reload_started="20260301103000000").warnings[-1]
    assert building(lake.target("t")) == ["0.1"]
    assert "would be left out, and is not the file" in str(one(lake, {}, reload_started="20260301113000000").error)
    lake.path("public.t", "LOAD00000002.parquet").unlink()
    report = one(lake, {}, reload_started="20260301113000000", load_complete=frozenset({"public.t"}))
    assert report.error is None and "is built again from its first file" in report.warnings[0]
    assert lake.rows("t", "id, v") == [(1, 3)]
    # Known already, earlier than what is known, and in a folder that was never loaded.
    assert one(lake, {}, reload_started="20260301113000000").error is None
    assert "has the reload of 2026-03-01T11:30:00Z already" in str(one(lake, {}, reload_started="20260301103000000").error)
    lake.enter(2)
    dated(lake.load("public.t", ID_V, [(1, 4)]), "20260301130000000")
    assert "is being loaded for the first time" in str(one(lake, {}, reload_started="20260301123000000").error)


IN_PLACE: dict[str, Any] = {"reload_started": "20260301120000000"}
COMPLETE: dict[str, Any] = {"load_complete": frozenset({"public.t"})}


def changed(lake: Lake, name: str, rows: list[tuple[Any, ...]], written: str) -> None:
    dated(lake.changes("public.t", f"{name}.parquet", ID_V, rows), written)


@pytest.mark.parametrize("mode", ["mirror", "append", pytest.param("history", marks=pytest.mark.long)])
def test_changes_from_before_a_reload_in_place_are_merged_before_it(lake: Lake, mode: str) -> None:
    """No run had merged them: a log would lack them, and a rejected row of the load would keep an older version than the last good one."""
    entry = {"mode": mode, **RULE}
    dated(lake.load("public.t", ID_V, [(1, 1), (2, 1)]), "20260301100000000")
    assert one(lake, entry).error is None
    changed(lake, "20260301-113000000", [("U", "20260301112900", 61, 1, 2), ("I", "20260301112900", 65, 5, 1)], "20260301113000000")
    changed(lake, "20260301-114500000", [("U", "20260301114400", 61, 1, 3), ("D", "20260301114400", 65, 5, None)], "20260301114500000")
    dated(lake.load("public.t", ID_V, [(1, 9), (2, 4)]), "20260301120010000")
    changed(lake, "20260301-120500000", [("I", "20260301120400", 61, 7, 1)], "20260301120500000")
    request = RunRequest(**IN_PLACE, **COMPLETE)
    (planned,) = preview(lake.spark, lake.config({"public.t": entry}), ["public.t"], request)
    assert planned.error is None and planned.changes_rows
    assert planned.steps[:3] == [
        "record that a reload in place began at 2026-03-01T12:00:00Z",
        "merge a batch",
        "merge a batch for the load",
    ]
    report = one(lake, entry, **IN_PLACE, **COMPLETE)
    assert (report.error, report.rows_read) == (None, 7)
    if mode == "append":
        log = [(1, 1, "I"), (1, 2, "U"), (1, 3, "U"), (2, 1, "I"), (2, 4, "I"), (5, 1, "I"), (5, None, "D"), (7, 1, "I")]
        assert sorted(lake.rows("t", "id, v, _cdc_op"), key=str) == log
        return
    present = {"history": " WHERE _is_current"}.get(mode, "")
    rows = lake.spark.sql(f"SELECT id, v FROM lake.{lake.namespace}.t{present}").collect()
    assert sorted(tuple(row) for row in rows) == [(1, 3), (2, 4), (7, 1)]
    if mode == "history":
        assert lake.spark.sql(f"SELECT id FROM lake.{lake.namespace}.t WHERE id = 5").count() == 1


def test_names_behind_utc_that_come_after_a_reload_in_place_stop_the_table(lake: Lake) -> None:
    dated(lake.load("public.t", ID_V, [(1, 1), (2, 2)]), "20260301100000000")
    assert one(lake, {}).error is None
    dated(lake.load("public.t", ID_V, [(1, 3)]), "20260301120010000")
    assert one(lake, {}, **IN_PLACE, **COMPLETE).error is None
    changed(lake, "20260301-070500000", [("I", "20260301120400", 61, 7, 1)], "20260301120500000")
    (planned,) = preview(lake.spark, lake.config({"public.t": {}}), ["public.t"])
    for error in (planned.error, one(lake, {}).error):
        assert "20260301-070500000.parquet, written at 2026-03-01T12:05:00Z, has a name from before the reload in place" in str(error)
    assert any("has a name from before" in text for text in table_statuses(lake.spark, lake.config({"public.t": {}}))[0].warnings)
    assert lake.rows("t", "id, v") == [(1, 3)]


def test_a_moment_is_known_from_when_it_is_told(lake: Lake) -> None:
    """Before the reload has a file, after its file is gone, and by another configuration: only its branch knows when it began."""
    path = lake.load("public.t", ID_V, [(1, 1), (2, 2)])
    dated(path, "20260301100000000")
    assert one(lake, {}).error is None
    path.unlink()
    assert "has no file yet" in one(lake, {}, **IN_PLACE).warnings[0]
    assert building(lake.target("t")) == ["0.1"]
    dated(lake.load("public.t", ID_V, [(1, 3)]), "20260301120010000")
    assert one(lake, {}).rows_read == 1
    path.unlink()
    changed(lake, "20260301-120500000", [("U", "20260301120400", 61, 1, 4)], "20260301120500000")
    other = {"filter": "v < 100"}
    for _ in range(2):
        report = one(lake, other)
        assert (report.rows_read, lake.rows("t", "id, v")) == (0, [(1, 1), (2, 2)]), "no change is merged into the old content"
    assert "2 of the 2 rows" in str(one(lake, other, **COMPLETE).error)
    assert one(lake, other, **COMPLETE, rows=2).error is None
    assert (lake.rows("t", "id, v"), building(lake.target("t"))) == ([(1, 4)], [])


def test_a_key_that_the_load_rejects_keeps_its_last_good_version(lake: Lake) -> None:
    lake.enter(1)
    lake.load("public.t", ID_V, [(1, 1), (2, 2), (3, 3)])
    lake.run_one(lake.config({"public.t": RULE}))
    lake.enter(2)
    lake.load("public.t", ID_V, [(1, 9), (2, 4), (5, 9)])
    report = one(lake, RULE, load_complete=frozenset({"public.t"}), rows=1)
    assert (report.error, report.warnings, report.lost_versions) == (None, [], False)
    assert lake.rows("t", "id, v") == [(1, 1), (2, 4)]
    # Any change of the new load is newer, and so is the rejected row itself once the rule lets it pass.
    lake.changes("public.t", "20260302-100000000.parquet", ID_V, [("U", "20260302095900", 61, 2, 3)])
    assert one(lake, RULE).error is None
    assert replay(lake.spark, lake.config({"public.t": {"rules": [{"name": "small", "expr": "v < 10"}]}})).errors == {}
    assert lake.rows("t", "id, v") == [(1, 9), (2, 3), (5, 9)]


def test_rows_that_another_configuration_made_leave_with_a_warning(lake: Lake) -> None:
    """A row from before a mask or a filter would show what these hide."""
    lake.enter(1)
    lake.load("public.t", ID_V, [(1, 1), (2, 2)])
    lake.run_one(lake.config({"public.t": RULE}))
    lake.enter(2)
    lake.load("public.t", ID_V, [(1, 9), (2, 4)])
    report = one(lake, {**RULE, "filter": "id < 100"}, load_complete=frozenset({"public.t"}))
    assert report.error is None and report.lost_versions
    assert "1 row of " in report.warnings[-1] and "left with the load, which rejected the newer version" in report.warnings[-1]
    assert lake.rows("t", "id") == [(2,)]


def test_rejected_rows_without_a_readable_key_are_told_of(lake: Lake) -> None:
    lake.enter(1)
    keyed = [("id", pa.string()), ("v", pa.int64())]
    entry = {"columns": [{"name": "id", "type": "int"}]}
    lake.load("public.t", keyed, [("1", 1), ("2", 2)])
    lake.run_one(lake.config({"public.t": entry}))
    lake.enter(2)
    lake.load("public.t", keyed, [("one", 1), ("2", 2)])
    report = one(lake, entry, load_complete=frozenset({"public.t"}))
    assert report.error is None and report.lost_versions
    assert "1 row that the load rejected have no readable key" in report.warnings[-1]


@pytest.mark.parametrize("mode", ["soft_delete", "history", pytest.param("mirror", marks=pytest.mark.long)])
def test_what_an_earlier_build_of_the_load_has_rejected_keeps_no_row(lake: Lake, mode: str) -> None:
    """DMS began the reload again, after the source had deleted the row that the job had rejected."""
    entry = {"mode": mode, **RULE}
    dated(lake.load("public.t", ID_V, [(1, 1), (2, 2)]), "20260301100000000")
    lake.run_one(lake.config({"public.t": entry}))
    dated(lake.load("public.t", ID_V, [(1, 3), (2, 9)]), "20260301120500000")
    assert one(lake, entry, reload_started="20260301120000000").quarantined == 1
    dated(lake.load("public.t", ID_V, [(1, 4)]), "20260301130500000")
    told: dict[str, Any] = {"reload_started": "20260301130000000", "load_complete": frozenset({"public.t"})}
    assert one(lake, entry, **told, rows=1).error is None
    present = {"soft_delete": " WHERE NOT _cdc_deleted", "history": " WHERE _is_current"}.get(mode, "")
    rows = lake.spark.sql(f"SELECT id, v FROM lake.{lake.namespace}.t{present}").collect()
    assert [tuple(row) for row in rows] == [(1, 4)]


KEPT = {"rules": [{"name": "small", "expr": "k < 5"}]}
ID_V_K = [*ID_V, ("k", pa.int64())]
ID_W_K = [("id", pa.int64()), ("w", pa.int64()), ("k", pa.int64())]


def test_a_key_in_another_order_than_the_columns(lake: Lake) -> None:
    lake.enter(1)
    lake.load("public.t", ID_V_K, [(1, 1, 1), (2, 2, 2), (3, 3, 3)])
    entry = {**KEPT, "key": ["v", "id"]}
    lake.run_one(lake.config({"public.t": entry}))
    lake.enter(2)
    lake.load("public.t", ID_V_K, [(1, 1, 9), (2, 2, 4)])
    report = one(lake, entry, load_complete=frozenset({"public.t"}), rows=1)
    assert (report.error, report.warnings, report.lost_versions) == (None, [], False)
    assert lake.rows("t", "id, v, k") == [(1, 1, 1), (2, 2, 4)]


def test_rows_from_before_a_rename_that_is_not_declared_any_more_stay(lake: Lake) -> None:
    lake.enter(1)
    lake.load("public.t", ID_V_K, [(1, 1, 1), (2, 2, 2)])
    lake.run_one(lake.config({"public.t": KEPT}))
    lake.changes("public.t", "20260301-100000000.parquet", ID_W_K, [("U", "20260301095900", 61, 2, 3, 3)])
    lake.run_one(lake.config({"public.t": {**KEPT, "columns": [{"name": "w", "renamed_from": "v"}]}}))
    lake.enter(2)
    lake.load("public.t", ID_W_K, [(1, 9, 9), (2, 4, 4)])
    report = one(lake, KEPT, load_complete=frozenset({"public.t"}))
    assert (report.error, report.warnings, report.lost_versions) == (None, [], False)
    assert lake.rows("t", "id, w, k") == [(1, 1, 1), (2, 4, 4)]


def test_rows_that_lack_a_column_stay_and_are_still_told_of(lake: Lake) -> None:
    lake.enter(1)
    lake.load("public.t", ID_V_K, [(1, 1, 1), (2, 2, 2)])
    lake.run_one(lake.config({"public.t": {**KEPT, "drop": ["v"]}}))
    lake.changes("public.t", "20260301-100000000.parquet", ID_V_K, [("U", "20260301095900", 61, 2, 3, 3)])
    entry = {**KEPT, "publish": ["v"]}
    assert "older rows of " in lake.run_one(lake.config({"public.t": entry})).warnings[-1]
    lake.enter(2)
    lake.load("public.t", ID_V_K, [(1, 9, 9), (2, 4, 4)])
    report = one(lake, entry, load_complete=frozenset({"public.t"}))
    assert (report.error, report.lost_versions) == (None, False)
    assert lake.rows("t", "id, v, k") == [(1, None, 1), (2, 4, 4)]
    lake.changes("public.t", "20260302-100000000.parquet", ID_V_K, [("U", "20260302095900", 61, 2, 1, 1)])
    assert "are NULL (or have the backfill) in 'v'" in one(lake, entry).warnings[-1]


@pytest.mark.parametrize("mode", ["soft_delete", pytest.param("history", marks=pytest.mark.long)])
def test_what_a_load_deletes_is_what_was_counted(lake: Lake, mode: str) -> None:
    """The file whose row was rejected was replaced before the load was complete, and the source does not have that row any more."""
    lake.enter(1)
    lake.load("public.t", ID_V, [(1, 1), (2, 2), (3, 3)])
    entry = {"mode": mode, **RULE}
    lake.run_one(lake.config({"public.t": entry}))
    lake.enter(2)
    lake.load("public.t", ID_V, [(1, 9), (2, 9), (3, 9)])
    assert one(lake, entry).error is None
    lake.load("public.t", ID_V, [(2, 9), (3, 4)])
    other = {**entry, "rules": [*RULE["rules"], {"name": "positive", "expr": "v > 0"}]}
    word: dict[str, Any] = {"load_complete": frozenset({"public.t"})}
    assert "1 of the 3 rows" in str(one(lake, other, **word, rows=7).error)
    assert one(lake, other, **word, rows=1).error is None
    there = {"soft_delete": "NOT _cdc_deleted", "history": "_is_current"}[mode]
    assert sorted(row[:2] for row in lake.rows("t", f"id, v, {there}") if row[2]) == [(2, 2), (3, 4)]


@pytest.mark.release
def test_killed_while_a_reload_in_place_is_built_and_published(lake: Lake) -> None:
    """In every mode, with a row that it rejects: the operator says the same again, and nothing is lost or doubled."""
    points = {
        "read": "after-collapse",
        "publish": "before-publish",
        "commit": "after-commit",
        "before": "before-switch",
        "after": "after-switch",
    }
    old, new = {1: "old 1", 2: "old 2", 3: "old 3"}, {1: "new 1", 2: "bad", 4: "new 4", 5: "new 5"}
    told = [
        Story(f"{mode}_{name}", mode, "right", GONE, old, (("U", 1, "seen 1"), ("D", 3, None)), new, (("U", 4, "after 4"), ("D", 5, None)))
        for mode in PRESENT
        for name in points
    ]
    tables = {f"public.{story.name}": {**ENTRY, "mode": story.mode} for story in told}
    for story in told:
        story.load_first(lake)
    assert lake.run(lake.config(tables)).errors == {}
    for story in told:
        story.load_again(lake)
    kill_at = [f"{points[story.name.rpartition('_')[2]]}@public.{story.name}" for story in told]
    words = [word for name in tables for word in ("--table", name, "--load-complete", name)]
    document = lake.document(tables, parallelism=len(told), batch={"max_files": 1})
    at = f"{TOLD:%Y-%m-%dT%H:%M:%SZ}"
    with JobProcess(document, lake.folder, kill_at, [*words, "--reload-started-at", at]) as job:
        assert job.wait() == -signal.SIGKILL, job.text()
    assert all(shown(lake, story) in (story.before(), story.expected()) or "after" in story.name for story in told)
    request = RunRequest(load_complete=frozenset(tables), reload_started=digits_of(TOLD))
    assert run(lake.spark, lake.config(tables), sorted(tables), request=request).errors == {}
    assert {story.name: shown(lake, story) for story in told} == {story.name: story.expected() for story in told}
    assert [building(lake.target(story.name)) for story in told] == [[]] * len(told)
    assert [plan.error for plan in preview(lake.spark, lake.config(tables), sorted(tables), request)] == [None] * len(told)
