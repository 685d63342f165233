"""A TRUNCATE of the source, told by the operator: what was committed before it is gone, whenever it arrives; what came after stays."""

import json
import os
import signal
from collections.abc import Iterator
from typing import Any

import attrs
import pyarrow as pa
import pytest

from dms_iceberg.bronze.keys import shown_time, time_of
from dms_iceberg.context import RunRequest
from dms_iceberg.progress.progress import ACCOUNTING_KEY
from dms_iceberg.runs.preview import preview
from dms_iceberg.runs.report import TableReport
from dms_iceberg.runs.run import run
from dms_iceberg.silver.table import TargetTable
from support.confirming import asked, confirming
from support.crash_books import check_books, snapshot_ids
from support.crash_process import JobProcess
from support.lake import Lake
from support.shifted import Change, rows, write

ID_V = [("id", pa.int64()), ("v", pa.string())]
AT = "20260301100230000"
MOMENT = "2026-03-01 10:02:30"
MODES = ("mirror", "soft_delete", "history", "append")
SHOWN = {
    "mirror": "id, v",
    "soft_delete": "id, v, _cdc_deleted, CAST(_cdc_deleted_at AS timestamp_ntz)",
    "history": "id, v, date_format(_valid_from, 'HH:mm:ss.SS'), date_format(_valid_to, 'HH:mm:ss.SS'), _is_current",
    "append": "id, v, _cdc_op, date_format(_cdc_committed_at, 'HH:mm:ss.SS')",
}


def cdc(minute: int, second: int = 30) -> str:
    return f"2026/03/01/10/20260301-10{minute:02d}{second:02d}000.parquet"


def clock(minute: int, second: int = 0) -> str:
    return f"2026030110{minute:02d}{second:02d}"


def tables(*names: str) -> dict[str, dict[str, Any]]:
    return {f"public.{name}": {"mode": name} if name in MODES else {} for name in names}


def begin(lake: Lake, name: str) -> None:
    """A load, and changes at minute 1; the files look as if they had been written then."""
    path = lake.load(f"public.{name}", ID_V, [(1, "a"), (2, "b")])
    written = time_of("20260301100000000").timestamp()
    os.utime(path, (written, written))
    lake.changes(
        f"public.{name}", cdc(1), ID_V, [("U", clock(1), 61, 1, "A"), ("I", clock(1), 65, 3, "c"), ("D", clock(1, 1), 69, 2, None)]
    )


def later(lake: Lake, name: str) -> None:
    """Changes of the truncating transaction and after it: key 1 comes back, key 4 is new."""
    lake.changes(f"public.{name}", cdc(4), ID_V, [("I", clock(2, 30), 81, 1, "again"), ("I", clock(4), 85, 4, "d")])


def late(lake: Lake, name: str) -> None:
    """What was on its way when the table was truncated: key 3 once more, keys 5 and 6 for the first time."""
    rows = [("U", clock(2), 73, 3, "C"), ("I", clock(2), 77, 5, "e"), ("I", clock(2, 1), 79, 6, "f"), ("D", clock(2, 2), 80, 6, None)]
    lake.changes(f"public.{name}", cdc(3), ID_V, rows)


def merge(lake: Lake, *names: str, truncate: bool = False, at: str = AT) -> dict[str, TableReport]:
    word = RunRequest(truncate=frozenset(tables(*names)), truncated_at=at) if truncate else RunRequest()
    config = lake.config(tables(*names))
    report = confirming(lambda told: run(lake.spark, config, request=told), word)
    for one in report.tables.values():
        for batch in one.batches:
            assert batch.rows_read == batch.applied + batch.superseded + batch.stale + batch.filtered + batch.quarantined
    return {name.removeprefix("public."): one for name, one in report.tables.items()}


def errors(reports: dict[str, TableReport]) -> list[str]:
    return [one.error for one in reports.values() if one.error is not None]


def shown(lake: Lake, name: str) -> list[tuple[Any, ...]]:
    order = {"history": "1, _valid_from", "append": "_cdc_position, 1"}.get(name, "1")
    return [tuple(str(value) if hasattr(value, "year") else value for value in row) for row in lake.rows(name, SHOWN[name], order)]


EXPECTED: dict[str, list[tuple[Any, ...]]] = {
    "mirror": [(1, "again"), (4, "d")],
    "soft_delete": [
        (1, "again", False, None),
        (2, "b", True, "2026-03-01 10:01:01"),
        (3, "C", True, MOMENT),
        (4, "d", False, None),
        (5, "e", True, MOMENT),
        (6, "f", True, "2026-03-01 10:02:02"),
    ],
    "history": [
        (1, "a", "10:00:00.00", "10:01:00.00", False),
        (1, "A", "10:01:00.00", "10:02:30.00", False),
        (1, "again", "10:02:30.00", None, True),
        (2, "b", "10:00:00.00", "10:01:01.00", False),
        (3, "c", "10:01:00.00", "10:02:00.00", False),
        (3, "C", "10:02:00.00", "10:02:30.00", False),
        (4, "d", "10:04:00.00", None, True),
        (5, "e", "10:02:00.00", "10:02:30.00", False),
        (6, "f", "10:02:01.00", "10:02:02.00", False),
    ],
    "append": [
        (1, "a", "I", "10:00:00.00"),
        (2, "b", "I", "10:00:00.00"),
        (1, "A", "U", "10:01:00.00"),
        (3, "c", "I", "10:01:00.00"),
        (2, None, "D", "10:01:01.00"),
        (3, "C", "U", "10:02:00.00"),
        (5, "e", "I", "10:02:00.00"),
        (6, "f", "I", "10:02:01.00"),
        (6, None, "D", "10:02:02.00"),
        (None, None, "T", "10:02:30.00"),
        (1, "again", "I", "10:02:30.00"),
        (4, "d", "I", "10:04:00.00"),
    ],
}


def arrivals(lake: Lake, order: str) -> Iterator[None]:
    """Let a run follow each of: what was committed before (B), what was late (L), the truncate (T), what came after (A)."""
    for step in order:
        for mode in MODES:
            {"B": begin, "L": late, "A": later, "T": lambda *_: None}[step](lake, mode)
        reports = merge(lake, *MODES, truncate=step == "T")
        assert errors(reports) == []
        assert [one.quarantined for one in reports.values()] == [0] * len(MODES)
        yield


@pytest.mark.long
def test_changes_from_before_are_late(lake: Lake) -> None:
    steps = arrivals(lake, "BTLA")
    for _ in "BT":
        next(steps)
    assert shown(lake, "mirror") == []
    for _ in steps:
        pass
    assert {mode: shown(lake, mode) for mode in MODES} == EXPECTED
    # Said again it is known, and a run without anything new does nothing.
    before = [snapshot_ids(lake.spark, f"lake.{lake.namespace}.{mode}") for mode in MODES]
    assert errors(merge(lake, *MODES, truncate=True)) == []
    assert [snapshot_ids(lake.spark, f"lake.{lake.namespace}.{mode}") for mode in MODES] == before
    for mode in MODES:
        check_books(lake.spark, f"lake.{lake.namespace}.{mode}", 5 + 2 + 4)
    # A table that is made again from bronze is truncated again, and so is one that was rolled back.
    rebuilt = run(lake.spark, lake.config(tables(*MODES)), request=RunRequest(rebuild=frozenset(tables(*MODES))))
    assert [one.error for one in rebuilt.tables.values()] == [None] * len(MODES)
    assert {mode: shown(lake, mode) for mode in MODES} == EXPECTED
    lake.namespace += "_again"
    assert errors(merge(lake, *MODES)) == []
    assert {mode: shown(lake, mode) for mode in MODES} == EXPECTED
    first = snapshot_ids(lake.spark, f"lake.{lake.namespace}.mirror")[0]
    lake.spark.sql(f"CALL lake.system.set_current_snapshot('{lake.namespace}.mirror', {first})")
    assert errors(merge(lake, *MODES)) == []
    assert shown(lake, "mirror") == EXPECTED["mirror"]


@pytest.mark.long
def test_changes_from_after_are_merged_already(lake: Lake) -> None:
    for _ in arrivals(lake, "BATL"):
        pass
    assert {mode: shown(lake, mode) for mode in MODES} == EXPECTED


@pytest.mark.release
@pytest.mark.parametrize("told_again", [True, False])
def test_killed_at_each_step(lake: Lake, told_again: bool) -> None:
    points = {"p_told": "after-truncate-recorded", "p_publish": "before-publish", "p_commit": "after-commit"}
    for name in points:
        begin(lake, name)
    assert errors(merge(lake, *points)) == []
    document = lake.document(tables(*points), parallelism=len(points))
    words = [word for name in points for word in ("--truncate", f"public.{name}")]
    words += [word for name in points for word in ("--confirm-rows", f"public.{name}=2")]
    kill_at = [f"{point}@public.{name}" for name, point in points.items()]
    with JobProcess(document, lake.folder, kill_at, [*words, "--truncated-at", "2026-03-01T10:02:30Z"]) as job:
        assert job.wait() == -signal.SIGKILL, job.text()
    assert [lake.rows(name, "id") for name in points] == [[(1,), (3,)], [(1,), (3,)], []]
    # Who says it again is not asked again.
    if told_again:
        reports = run(lake.spark, lake.config(tables(*points)), request=RunRequest(truncate=frozenset(tables(*points)), truncated_at=AT))
        assert reports.errors == {}
        assert [lake.rows(name, "id") for name in points] == [[]] * len(points)
    for name in points:
        later(lake, name)
    # Nobody has to say it again.
    assert errors(merge(lake, *points)) == []
    assert [lake.rows(name, "id, v") for name in points] == [EXPECTED["mirror"]] * len(points)
    for name in points:
        books = check_books(lake.spark, f"lake.{lake.namespace}.{name}", 5 + 2)
        assert [one["truncated_at"] for one in books if "truncated_at" in one] == [AT]


@pytest.mark.long
def test_what_is_refused_and_what_a_plan_shows(lake: Lake) -> None:
    reports = merge(lake, "mirror", truncate=True)
    assert "holds nothing yet" in errors(reports)[0]
    begin(lake, "mirror")
    word = RunRequest(truncate=frozenset({"public.mirror"}), truncated_at=AT)
    assert errors(merge(lake, "mirror")) == []
    [plan] = preview(lake.spark, lake.config(tables("mirror")), request=word)
    assert (plan.leaving, plan.sql, plan.changes_rows) == (2, [], False)
    assert "2 of the 2 rows" in str(plan.error) and "run with --truncated-at 2026-03-01T10:02:30Z --confirm-rows 2." in str(plan.error)
    assert plan.error == run(lake.spark, lake.config(tables("mirror")), request=word).tables["public.mirror"].error
    word = attrs.evolve(word, confirm_rows={"public.mirror": 2})
    [plan] = preview(lake.spark, lake.config(tables("mirror")), request=word)
    assert plan.error is None
    assert ([sql.split(" ")[0] for sql in plan.sql], plan.changes_rows) == (["DELETE"], True)
    assert "would end 2 of the 2 rows" in plan.warnings[-1]
    assert lake.rows("mirror", "id") == [(1,), (3,)]
    # A rebuild that is asked for as well comes first, as in a run.
    both = attrs.evolve(word, rebuild=word.truncate)
    [plan] = preview(lake.spark, lake.config(tables("mirror")), request=both)
    assert (plan.error, plan.rebuilt_files > 0, [sql.split(" ")[0] for sql in plan.sql]) == (None, True, ["DELETE"])
    # The load may have rows from after such a moment.
    assert "its rows may be from after the truncate" in errors(merge(lake, "mirror", truncate=True, at="20260301095900000"))[0]
    [report] = merge(lake, "mirror", truncate=True).values()
    assert [sql.split(" ")[0] for sql in report.ddl] == ["DELETE"]
    assert lake.rows("mirror", "id") == []
    assert "is before the truncate of" in errors(merge(lake, "mirror", truncate=True, at="20260301100200000"))[0]
    target = TargetTable(lake.spark, "lake", f"{lake.namespace}.mirror")
    target.refresh()
    head = target.head()
    assert head is not None
    assert json.loads(head.summary[ACCOUNTING_KEY])["truncated_at"] == AT
    assert int(head.summary["total-records"]) == 0, "no delete file where a data file goes as a whole"
    # Changes after it that made no version are in bronze alone.
    begin(lake, "tracked")
    later(lake, "tracked")
    config = lake.config({"public.tracked": {"mode": "history", "track_columns": ["v"]}})
    word = RunRequest(truncate=frozenset({"public.tracked"}), truncated_at=AT)
    assert lake.run_one(config).error is None
    [report] = run(lake.spark, config, request=word).tables.values()
    assert "With track_columns" in str(report.error)
    # While it is loaded again, the load tells what is there.
    lake.bronze = lake.folder / "bronze" / "epoch-2"
    lake.load("public.mirror", ID_V, [(7, "g")])
    assert "is being loaded again" in errors(merge(lake, "mirror", truncate=True))[0]


@pytest.mark.release
@pytest.mark.parametrize("mode", ["mirror", "soft_delete", "history"])
def test_a_rebuild_without_a_load_ends_what_the_truncate_ended(lake: Lake, mode: str) -> None:
    lake.changes(f"public.{mode}", cdc(1), ID_V, [("I", clock(1), 61, 1, "a"), ("I", clock(1), 65, 2, "b")])
    assert errors(merge(lake, mode)) == []
    assert errors(merge(lake, mode, truncate=True)) == []
    lake.changes(f"public.{mode}", cdc(4), ID_V, [("I", clock(3), 81, 1, "again")])
    assert errors(merge(lake, mode)) == []
    before = sorted(lake.rows(mode, SHOWN[mode]), key=str)
    report = run(lake.spark, lake.config(tables(mode)), request=RunRequest(rebuild=frozenset({f"public.{mode}"})))
    assert report.errors == {}
    assert sorted(lake.rows(mode, SHOWN[mode]), key=str) == before


def write_load(lake: Lake, name: str, number: int, rows: list[tuple[int, str]], at: str) -> None:
    """A LOAD file that DMS finished at ``at`` (17 digits)."""
    written = time_of(at).timestamp()
    os.utime(lake.load(f"public.{name}", ID_V, rows, number), (written, written))


def test_a_load_file_from_after_a_truncate_is_refused(lake: Lake) -> None:
    """The load was still arriving when the truncate was told: whether its later rows are from before or after, nothing tells."""
    names = ("told", "written", "late")
    for name in names:
        write_load(lake, name, 1, [(1, "a")], "20260301100000000")
    assert errors(merge(lake, *names)) == []
    assert errors(merge(lake, "told", "late", truncate=True)) == []
    # Such an object may also come by another way than a word to the job.
    path = lake.path("public.written", "_repair/TRUNCATE-20260301-100230000.json")
    path.write_text("{}")
    write_load(lake, "told", 2, [(7, "g"), (8, "h")], "20260301103000000")
    write_load(lake, "written", 2, [(7, "g"), (8, "h")], "20260301103000000")
    write_load(lake, "late", 2, [(9, "i")], "20260301100100000")
    for name in names:
        lake.changes(f"public.{name}", cdc(40), ID_V, [("I", clock(40), 61, 3, "c")])
    config = lake.config(tables(*names))
    plans = {one.table.removeprefix("public."): one.error for one in preview(lake.spark, config)}
    reports = merge(lake, *names)
    assert {name: one.error for name, one in reports.items()} == plans
    for name in ("told", "written"):
        error = str(plans[name])
        assert "LOAD00000002.parquet was written at 2026-03-01T10:30:00Z" in error and shown_time(AT) in error
        assert "load epoch" in error
    assert [lake.rows(name, "id") for name in names] == [[], [(1,)], [(3,)]]
    assert lake.target("told").progress().frontier == ""
    # A table that is made anew would lack the rows as well.
    lake.namespace += "_again"
    assert "LOAD00000002.parquet was written at" in errors(merge(lake, "told"))[0]
    lake.namespace = lake.namespace.removesuffix("_again")
    # The new load tells what is there.
    lake.enter(2)
    for name in ("told", "written"):
        lake.load(f"public.{name}", ID_V, [(7, "g"), (8, "h")])
        lake.changes(f"public.{name}", cdc(50), ID_V, [("I", clock(50), 61, 4, "d")])
    assert errors(merge(lake, "told", "written")) == []
    assert [lake.rows(name, "id") for name in ("told", "written")] == [[(4,), (7,), (8,)]] * 2


def test_a_truncate_that_bronze_has_lost_is_remembered(lake: Lake) -> None:
    """Its object was deleted, or not copied with bronze: what it ended has ended at its moment, for late changes and in a rebuild."""
    names, second = ("soft_delete", "history", "append"), "20260301100500000"
    for name in names:
        begin(lake, name)
        later(lake, name)
    assert errors(merge(lake, *names)) == []
    for at in (AT, second):
        assert errors(merge(lake, *names, truncate=True, at=at)) == []
    for name in names:
        lake.path(f"public.{name}", f"_repair/TRUNCATE-{AT[:8]}-{AT[8:]}.json").unlink()
        late(lake, name)
    assert errors(merge(lake, *names)) == []
    assert {row[3] for row in shown(lake, "soft_delete") if row[1] in ("C", "e")} == {MOMENT}
    before = {name: shown(lake, name) for name in names}
    assert [row[:3] for row in before["append"] if row[2] == "T"] == [(None, None, "T")] * 2
    assert {row[3] for row in before["history"] if row[1] in ("A", "C", "e")} == {"10:02:30.00"}
    request = RunRequest(rebuild=frozenset(tables(*names)))
    report = run(lake.spark, lake.config(tables(*names)), request=request)
    assert [(one.error, one.warnings) for one in report.tables.values()] == [(None, [])] * len(names)
    assert {name: shown(lake, name) for name in names} == before


def test_a_restored_bronze_is_truncated_again(lake: Lake) -> None:
    """A copy of bronze has new times: a change file that DMS closed long before the truncate shows that the load was complete."""
    begin(lake, "t")
    later_day = "20260302120000000"
    assert errors(merge(lake, "t")) == []
    assert errors(merge(lake, "t", truncate=True, at=later_day)) == []
    os.utime(lake.path("public.t", "LOAD00000001.parquet"))
    lake.namespace += "_again"
    assert errors(merge(lake, "t")) == []
    assert lake.rows("t", "id") == []


def test_what_came_back_after_a_truncate_begins_a_version_in_a_table_made_anew(lake: Lake) -> None:
    """With `track_columns` the same values would be no change, but the truncate ended the row in between."""
    options = {"mode": "history", "track_columns": ["v"]}
    names = {"files": False, "one": True}
    configured = {f"public.{name}": options for name in names}
    for name, in_one in names.items():
        first, second = ("I", clock(1), 61, 1, "a"), ("I", clock(3), 81, 1, "a")
        other = ("I", clock(1), 65, 2, "b")
        if not in_one:
            lake.changes(f"public.{name}", cdc(1), ID_V, [first, other])
        lake.changes(f"public.{name}", cdc(4), ID_V, [first, other, second] if in_one else [second])
        path = lake.path(f"public.{name}", "_repair/TRUNCATE-20260301-100230000.json")
        path.parent.mkdir(exist_ok=True)
        path.write_text("{}")
    expected = [
        (1, "a", "10:01:00.00", "10:02:30.00", False),
        (1, "a", "10:03:00.00", None, True),
        (2, "b", "10:01:00.00", "10:02:30.00", False),
    ]
    plans = preview(lake.spark, lake.config(configured))
    report = run(lake.spark, lake.config(configured))
    assert report.failed == []
    assert [one.batches for one in plans] == [len(one.batches) for one in report.tables.values()]
    assert [lake.rows(name, SHOWN["history"], "1, _valid_from") for name in names] == [expected] * len(names)
    rebuilt = run(lake.spark, lake.config(configured), request=RunRequest(rebuild=frozenset(configured)))
    assert rebuilt.failed == []
    assert [lake.rows(name, SHOWN["history"], "1, _valid_from") for name in names] == [expected] * len(names)


CUT: dict[str, tuple[str, list[Change], list[Change], list[tuple[int, Any]]]] = {
    "moves": ("mirror", [("I", (1, "n"), None)], [("U", (2, "n"), (1, "n"))], [(2, "n")]),
    "goes": ("mirror", [("I", (1, "n"), None)], [("D", (1, "n"), None)], []),
    "shared": ("mirror", [("I", (1, "n"), None), ("I", (1, "m"), None)], [("U", (2, "n"), (1, "n"))], [(1, "m"), (2, "n")]),
}
"""A mode, the changes of one commit after a truncate in two files, and the rows in the end."""


@pytest.mark.long
def test_the_row_that_a_truncate_ended_is_not_at_its_key_any_more(lake: Lake) -> None:
    """A commit that was cut was played with the row from before the truncate, which seemed to stay: its own row did not leave."""
    config = lake.config({f"public.{name}": {"mode": story[0]} for name, story in CUT.items()})
    for name in CUT:
        begin(lake, name)
    assert lake.run(config).errors == {}
    word = RunRequest(truncate=frozenset(config.tables), truncated_at=AT)
    assert confirming(lambda told: run(lake.spark, config, request=told), word).errors == {}
    for half in (1, 2):
        for name, story in CUT.items():
            write(lake, f"public.{name}", 3 + half, story[half], first=57 + 8 * half, at="2026030110030000")
        assert lake.run(config).errors == {}
    assert {name: rows(lake, name, story[0]) for name, story in CUT.items()} == {name: story[3] for name, story in CUT.items()}
    assert [lake.open_quarantine(config, name) for name in CUT] == [[]] * len(CUT)


@pytest.mark.long
def test_a_soft_delete_by_a_truncate_stays_when_the_key_turns_out_to_have_been_crowded(lake: Lake) -> None:
    """The row that the late changes left at the key was written as if it were there, over its end by the truncate."""
    config = lake.config({"public.t": {"mode": "soft_delete"}})
    begin(lake, "t")
    assert lake.run(config).errors == {}
    word = RunRequest(truncate=frozenset(config.tables), truncated_at=AT)
    assert confirming(lambda told: run(lake.spark, config, request=told), word).errors == {}
    write(lake, "public.t", 2, [("I", (1, "n"), None), ("D", (1, "A"), None)], at="2026030110020000")
    assert lake.run(config).errors == {}
    assert lake.rows("t", "id, v, _cdc_deleted") == [(1, "n", True), (2, "b", True), (3, "c", True)]
    assert lake.open_quarantine(config, "t") == []


def test_rows_of_older_files_that_wait_are_counted(lake: Lake) -> None:
    """A truncate told for a time that is too late takes their rows as well, though the table does not have them yet."""
    config = lake.config(tables(*MODES))
    for mode in MODES:
        begin(lake, mode)
    assert lake.run(config).errors == {}
    for mode in MODES:
        lake.changes(f"public.{mode}", cdc(2), ID_V, [("I", clock(2), 77, 5, "e"), ("I", clock(2, 1), 79, 6, "f")])
        later(lake, mode)
    word = RunRequest(truncate=frozenset(config.tables), truncated_at=AT)
    plans = {one.table: one for one in preview(lake.spark, config, request=word)}
    first = run(lake.spark, config, request=word)
    for mode in MODES[:3]:
        plan, one = plans[f"public.{mode}"], first.tables[f"public.{mode}"]
        assert "is known once the files that were closed before it are merged" in str(plan.error)
        assert (plan.leaving, plan.steps) == (None, ["merge a batch"])
        assert ([batch.rows_read for batch in one.batches], asked(one)) == ([2], 4), "not the file that has changes from after it"
    one = first.tables["public.append"]
    assert (one.error, plans["public.append"].error, sum(batch.rows_read for batch in one.batches)) == (None, None, 4)
    numbers = {f"public.{mode}": number for mode, number in zip(MODES, (4, 3, 4), strict=False)}
    told = run(lake.spark, config, request=attrs.evolve(word, confirm_rows=numbers))
    assert [*told.errors] == ["public.soft_delete"] and "but 4 of the 5 rows" in told.errors["public.soft_delete"]
    assert lake.rows("mirror", "id, v") == EXPECTED["mirror"]
    assert confirming(lambda told: run(lake.spark, config, request=told), word).errors == {}
    kept = [key for key, _, deleted, _ in shown(lake, "soft_delete") if not deleted]
    assert (kept, [row[0] for row in shown(lake, "history") if row[-1]]) == ([1, 4], [1, 4])
