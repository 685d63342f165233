"""Mode history: every change is a version once, intervals neither overlap nor leave gaps but for deletes, however changes arrive."""

from typing import Any

import pyarrow as pa
import pytest

from dms_iceberg.errors import ConfigError
from dms_iceberg.runs.preview import preview
from support.lake import Lake

ID_V = [("id", pa.int64()), ("v", pa.string())]
T1, T2, T3, T4, T5 = (f"202603011001{second}" for second in (10, 20, 30, 40, 50))
HISTORY = {"mode": "history"}
SPAN = "date_format(_valid_from, 'mmss'), date_format(_valid_to, 'mmss'), _is_current"
SHOWN = f"id, v, {SPAN}"


def cdc(number: int) -> str:
    return f"2026/03/01/10/20260301-1005{number:02d}000.parquet"


STORY: list[Any] = [
    ("I", T1, 61, 1, "a"),
    ("U", T2, 73, 1, "b"),
    ("D", T3, 85, 1, None),
    ("I", T4, 97, 1, "c"),
    ("U", T5, 109, 1, "c"),
]
# The fifth change again, with the counter of a new run.
AGAIN = ("U", T5, 61, 1, "c")
VERSIONS = [
    (1, "a", "0110", "0120", False),
    (1, "b", "0120", "0130", False),
    (1, "c", "0140", "0150", False),
    (1, "c", "0150", None, True),
]
DELIVERIES: dict[str, list[list[int]]] = {
    "one_batch": [[1, 2, 3, 4, 5, 6]],
    "backwards": [[6], [5, 4], [3, 2, 1]],
    "delete_late": [[1, 2, 4], [3, 5], [6]],
    "delete_first": [[3], [1, 5], [2, 4]],
}


@pytest.mark.release
def test_the_same_versions_however_changes_arrive(lake: Lake) -> None:
    config = lake.config({f"public.{name}": HISTORY for name in DELIVERIES})
    for name in DELIVERIES:
        lake.load(f"public.{name}", ID_V, [(7, "x")])
    lake.run(config)
    for step in range(3):
        for name, deliveries in DELIVERIES.items():
            for number in deliveries[step] if step < len(deliveries) else ():
                lake.changes(f"public.{name}", cdc(number), ID_V, [[*STORY, AGAIN][number - 1]])
        assert lake.run(config).failed == []
    for name in DELIVERIES:
        assert lake.rows(name, SHOWN, "_cdc_position")[1:] == VERSIONS, name
        assert lake.rows(name, SHOWN, "_cdc_position")[0] == (7, "x", "0000", None, True), name


@pytest.mark.long
def test_moved_filtered_and_tracked_rows(lake: Lake) -> None:
    wide = [*ID_V, ("w", pa.int32())]
    config = lake.config({"public.t": {**HISTORY, "filter": "v <> 'hidden'", "track_columns": ["V"]}})
    lake.load("public.t", wide, [(1, "a", 1), (2, "b", 1)])
    lake.run_one(config)
    lake.changes("public.t", cdc(1), wide, [("U", T1, 61, 3, "a", 1, 1), ("U", T2, 73, 2, "hidden", 2), ("U", T2, 77, 3, "a", 9)])
    assert (first := lake.run_one(config)).applied == 2
    assert first.filtered == 1
    assert lake.rows("t", f"id, v, w, {SPAN}", "_cdc_position, id") == [
        (1, "a", 1, "0000", "0110", False),
        (2, "b", 1, "0000", "0120", False),
        (3, "a", 1, "0110", None, True),
    ]
    # A late change makes a version of the one behind it, which differs from what is before it by now.
    more = [*wide, ("x", pa.int32())]
    lake.changes("public.t", cdc(0), more, [("U", "20260301100115", 65, 3, "between", 5, 8)])
    assert lake.run_one(config).ddl[0].endswith("ADD COLUMN `x` int")
    lake.changes("public.t", cdc(3), more, [("U", T3, 85, 2, "back", 3, 9)])
    lake.run_one(config)
    assert lake.rows("t", f"id, v, w, x, {SPAN}", "_cdc_position, id")[2:] == [
        (3, "a", 1, None, "0110", "0115", False),
        (3, "between", 5, 8, "0115", "0120", False),
        (3, "a", 9, None, "0120", None, True),
        (2, "back", 3, 9, "0130", None, True),
    ]


def test_a_clock_that_goes_back_makes_no_overlap(lake: Lake) -> None:
    """The task holds the sequence's time part; the commit time goes back."""
    config = lake.config({"public.t": HISTORY})
    rows = [("I", "dms_commit_ts", T3, T3), ("D", "", T3, T3), ("I", "", T4, T2), ("U", "", T4, T1)]
    columns = [("Op", pa.string()), ("dms_commit_ts", pa.string()), *ID_V, ("dms_change_seq", pa.string())]
    made = [
        (op, f"2026-03-01 10:01:{at[-2:]}", 1, None if op == "D" else str(number), f"{held}00{61 + 4 * number:019d}")
        for number, (op, _, held, at) in enumerate(rows)
    ]
    for number in (0, 2):
        lake.parquet("public.t", cdc(number + 1), columns, made[number : number + 2])
        lake.run_one(config)
    assert lake.rows("t", SHOWN, "_cdc_position") == [
        (1, "0", "0130", "0130", False),
        (1, "2", "0130", "0130", False),
        (1, "3", "0130", None, True),
    ]


def test_a_load_with_the_times_of_its_transfer_gives_the_same_versions_however_files_are_grouped(lake: Lake) -> None:
    """What was captured during the load was committed before its row came over."""
    columns = [("Op", pa.string()), ("dms_commit_ts", pa.string()), *ID_V, ("dms_change_seq", pa.string())]
    apart, together = [[1], [2], [3]], [[1, 2, 3]]
    changes = [("D", T1, 61, 1, None), ("I", T2, 73, 1, "b"), ("U", T4, 97, 1, "c")]
    config = lake.config({"public.apart": HISTORY, "public.together": HISTORY})
    for name in ("apart", "together"):
        lake.parquet(f"public.{name}", "LOAD00000001.parquet", columns, [("I", "2026-03-01 10:01:30.500000", 1, "a", "")])
    lake.run(config)
    for step in range(3):
        for name, deliveries in (("apart", apart), ("together", together)):
            for number in deliveries[step] if step < len(deliveries) else ():
                lake.changes(f"public.{name}", cdc(number), ID_V, [changes[number - 1]])
        assert lake.run(config).failed == []
    spans = "id, v, date_format(_valid_from, 'mmss.SSS'), date_format(_valid_to, 'mmss.SSS'), _is_current"
    assert lake.rows("apart", spans, "_cdc_position") == lake.rows("together", spans, "_cdc_position")
    assert lake.rows("apart", spans, "_cdc_position") == [
        (1, "a", "0130.500", "0130.500", False),
        (1, "b", "0130.500", "0140.000", False),
        (1, "c", "0140.000", None, True),
    ]


@pytest.mark.long
def test_a_loaded_row_with_the_time_of_an_insert_is_a_version_whatever_comes_later(lake: Lake) -> None:
    """A key that is deleted and inserted again within a commit is looked at more closely, with all that came to it before."""
    columns = [("Op", pa.string()), ("dms_commit_ts", pa.string()), *ID_V, ("dms_change_seq", pa.string())]
    deliveries = {"apart": [[1], [2]], "together": [[1, 2]]}
    changes = [[("I", T1, 61, 1, "a")], [("D", T3, 85, 1, None), ("I", T3, 89, 1, "b")]]
    config = lake.config({f"public.{name}": HISTORY for name in deliveries})
    for name in deliveries:
        lake.parquet(f"public.{name}", "LOAD00000001.parquet", columns, [("I", "2026-03-01 10:01:10", 1, "a", "")])
    lake.run(config)
    for step in range(2):
        for name, numbers in deliveries.items():
            for number in numbers[step] if step < len(numbers) else ():
                lake.changes(f"public.{name}", cdc(number), ID_V, changes[number - 1])
        assert lake.run(config).failed == []
    for name in deliveries:
        assert lake.rows(name, SHOWN, "_cdc_position") == [
            (1, "a", "0110", "0110", False),
            (1, "a", "0110", "0130", False),
            (1, "b", "0130", None, True),
        ], name


@pytest.mark.long
def test_a_late_batch_whose_moved_row_is_rejected_leaves_the_versions_of_its_key_alone(lake: Lake) -> None:
    """The key's older changes were read again, and its versions were not: an update that is no version became one (`track_columns`)."""
    config = lake.config({"public.t": {**HISTORY, "track_columns": ["v"], "columns": [{"name": "w", "type": "int"}]}})
    wide = [*ID_V, ("w", pa.string())]
    lake.load("public.t", wide, [(1, "a", "1"), (2, "b", "1")])
    lake.run_one(config)
    gone = ("D", T2, 73, 1, None, None)
    lake.changes("public.t", cdc(1), wide, [("U", T1, 61, 1, "a", "2"), gone, ("U", T3, 85, 2, "c", "2")])
    lake.run_one(config)
    lake.changes("public.t", cdc(2), wide, [("U", T3, 85, 2, "c", "2"), ("U", T4, 97, 1, "d", "many", 2)])
    assert lake.run_one(config).quarantined == 1
    assert lake.rows("t", f"id, v, w, {SPAN}", "id, _cdc_position") == [
        (1, "a", 1, "0000", "0120", False),
        (2, "b", 1, "0000", "0130", False),
        (2, "c", 2, "0130", "0140", False),
    ]


@pytest.mark.long
def test_an_image_is_compared_with_the_row_of_the_source_where_its_version_is_older(lake: Lake) -> None:
    """An update of a column that is not tracked is no version, so the table does not show the values that the image has."""
    wide = [*ID_V, ("w", pa.int32())]
    deliveries = {"apart": [[1], [2]], "together": [[1, 2]]}
    before = ("id", "v", "w")
    changes: list[list[Any]] = [
        [("U", T1, 61, 1, "a", 2, 1, "a", 1)],
        [("U", T3, 85, 1, "b", 1, 2, "b", 1), ("U", T3, 89, 3, "a", 2, 1, "a", 2)],
    ]
    config = lake.config({f"public.{name}": {**HISTORY, "track_columns": ["v"]} for name in deliveries})
    for name in deliveries:
        lake.load(f"public.{name}", wide, [(1, "a", 1), (2, "b", 1)])
    lake.run(config)
    for step in range(2):
        for name, numbers in deliveries.items():
            for number in numbers[step] if step < len(numbers) else ():
                lake.changes(f"public.{name}", cdc(number), wide, changes[number - 1], key=before)
        assert lake.run(config).failed == []
    for name in deliveries:
        assert lake.rows(name, f"id, v, w, {SPAN}", "id, _cdc_position") == [
            (1, "a", 1, "0000", "0130", False),
            (1, "b", 1, "0130", None, True),
            (2, "b", 1, "0000", "0130", False),
            (3, "a", 2, "0130", None, True),
        ], name


def test_no_version_begins_at_an_unknown_time(lake: Lake) -> None:
    timed = [("Op", pa.string()), ("dms_commit_ts", pa.string()), *ID_V, ("dms_change_seq", pa.string())]
    untimed = [column for column in timed if column[0] != "dms_commit_ts"]
    lake.parquet("public.rows", "LOAD00000001.parquet", timed, [("I", "2026-03-01 10:00:00", 1, "a", ""), ("I", None, 2, "a", "")])
    lake.parquet(
        "public.rows", cdc(1), timed, [("U", None, 1, "b", f"{T1}00{61:019d}"), ("U", "2026-03-01 10:01:20", 1, "c", f"{T2}00{73:019d}")]
    )
    lake.parquet("public.load", "LOAD00000001.parquet", untimed, [("I", 1, "a", "")])
    lake.load("public.file", ID_V, [(1, "a")])
    lake.parquet("public.file", cdc(1), untimed, [("U", 1, "b", f"{T1}00{61:019d}")])
    lake.parquet("public.switched", "LOAD00000001.parquet", untimed, [("I", 1, "a", "")])
    names = ("rows", "load", "file", "switched")
    assert lake.run(lake.config({"public.switched": {}})).errors == {}
    config = lake.config({f"public.{name}": HISTORY for name in names})
    first, report = preview(lake.spark, config), lake.run(config)
    planned, errors = {one.table: one.error for one in first}, report.errors
    assert planned == {f"public.{name}": errors.get(f"public.{name}") for name in names}
    assert set(errors) == {"public.switched"}
    assert "has rows without a commit time" in str(errors["public.switched"])
    for one in (*first, *report.tables.values()):
        told = [text for text in one.warnings if "the commit time 'dms_commit_ts' is not in the file" in text]
        assert bool(told) == (one.table in ("public.load", "public.file")), one.table
    assert lake.rows("rows", SHOWN, "_cdc_position") == [(1, "a", "0000", "0120", False), (1, "c", "0120", None, True)]
    assert [reason for reason, _ in lake.quarantine("rows")] == ["no_time", "no_time"]
    assert lake.rows("file", SHOWN) == [(1, "a", "0000", None, True)]
    assert [lake.quarantine(name, "reason") for name in ("load", "file")] == [[("no_time",)]] * 2


@pytest.mark.long
def test_mirror_becomes_history_without_a_reload(lake: Lake) -> None:
    mirror, history = lake.config({"public.t": {}}), lake.config({"public.t": HISTORY})
    lake.load("public.t", ID_V, [(1, "a"), (2, "b")])
    lake.changes("public.t", cdc(2), ID_V, [("U", T2, 61, 1, "B"), ("D", T2, 65, 2, None)])
    lake.run_one(mirror)
    lake.changes("public.t", cdc(3), ID_V, [("U", T3, 73, 1, "C")])
    (plan,) = preview(lake.spark, history)
    assert plan.sql[-1].endswith("SET _valid_from = _cdc_committed_at, _is_current = true WHERE _is_current IS NULL")
    report = lake.run_one(history)
    assert report.ddl == plan.sql
    assert lake.rows("t", SHOWN, "_cdc_position") == [(1, "B", "0120", "0130", False), (1, "C", "0130", None, True)]
    # Late, and written again: one version before those that there are; the row that the mirror deleted has an end.
    lake.changes("public.t", cdc(1), ID_V, [("U", T1, 57, 1, "A"), ("U", T1, 58, 2, "b2")])
    lake.changes("public.t", cdc(4), ID_V, [("U", T1, 61, 1, "A"), ("U", T1, 65, 2, "b2"), ("U", T2, 73, 1, "B"), ("D", T2, 77, 2, None)])
    again = lake.run_one(history)
    assert (again.applied, again.superseded + again.stale) == (2, 4)
    assert lake.rows("t", SHOWN, "_valid_from, id") == [
        (1, "A", "0110", "0120", False),
        (2, "b2", "0110", "0120", False),
        (1, "B", "0120", "0130", False),
        (1, "C", "0130", None, True),
    ]


def test_what_is_refused(lake: Lake) -> None:
    for document, problem in [
        ({**HISTORY, "columns": [{"name": "v", "type": "string", "null_in_update": "keep"}]}, "'keep' needs mode 'mirror'"),
        ({**HISTORY, "track_columns": ["id"]}, r"track_columns\[0\]: 'id' is a key column"),
        ({"track_columns": ["v"]}, "it belongs to mode 'history'"),
    ]:
        with pytest.raises(ConfigError, match=problem):
            lake.config({"public.t": document})
    with pytest.raises(ConfigError, match=r"mode: found 'history', which needs the commit times of changes"):
        lake.config({"public.t": HISTORY}, bronze={"change": {"timestamp_column": None}})
    lake.load("public.u", [*ID_V, ("_is_current", pa.string())], [(1, "a", "yes")])
    lake.run_one(lake.config({"public.u": {}}))
    lake.changes("public.u", cdc(1), ID_V, [("U", T1, 61, 1, "A")])
    assert "u has a column '_is_current' from its source" in (lake.run_one(lake.config({"public.u": HISTORY}), fails=True).error or "")
    lake.load("public.t", [*ID_V, ("_Valid_to", pa.string())], [(1, "a", "x")])
    config = lake.config({"public.t": HISTORY})
    assert "the source has a column '_Valid_to', a name that mode history has" in (lake.run_one(config, fails=True).error or "")
    config = lake.config({"public.t": {**HISTORY, "drop": ["_Valid_to"], "track_columns": ["nope"]}})
    assert "track_columns: " in (lake.run_one(config, fails=True).error or "")


@pytest.mark.long
@pytest.mark.parametrize("is_known_in_part", [False, True])
def test_a_copy_that_came_before_its_original_has_the_place_of_a_change_whole(lake: Lake, *, is_known_in_part: bool) -> None:
    """Of the copy the old keys counted, and the rows, which wait in quarantine, did not: a version ended with what came before it."""
    config = lake.config({"public.t": HISTORY})
    away, back = ("U", T2, 73, 2, "a", 1), ("U", T2, 77, 1, "b", 2)
    lake.load("public.t", ID_V, [(1, "a")])
    if is_known_in_part:
        lake.changes("public.t", cdc(1), ID_V, [away])
    lake.changes("public.t", cdc(3), ID_V, [("U", T3, 89, 1, "c", None)])
    lake.changes("public.t", cdc(4), ID_V, [away, back])
    lake.run_one(config)
    assert lake.open_quarantine(config, "t", "reason") == [("older_clock",)] * (1 if is_known_in_part else 2)
    lake.changes("public.t", cdc(2), ID_V, [back] if is_known_in_part else [away, back])
    lake.run_one(config)
    assert lake.rows("t", SHOWN, "id, _cdc_position") == [
        (1, "a", "0000", "0120", False),
        (1, "b", "0120", "0130", False),
        (1, "c", "0130", None, True),
        (2, "a", "0120", "0120", False),
    ]
