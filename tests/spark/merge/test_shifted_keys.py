"""Keys that two rows have at once within a commit: shifts, swaps and cycles that a deferred uniqueness allows."""

import os
from typing import Any

import pyarrow as pa
import pytest

from dms_iceberg.config.model import Config
from dms_iceberg.runs.replay import replay
from support.lake import Lake, sequence, timestamp
from support.shifted import AT, COLUMNS, HOUR, Change, rows, write

LATER = "2026030110020000"
LOADED = [(1, "a"), (2, "b"), (3, "c")]
SHOWN = {"mirror": "id, v", "soft_delete": "id, v", "history": "id, v"}
MODES = list(SHOWN)

SHIFT: list[Change] = [("U", (2, "a"), (1, "a")), ("U", (3, "b"), (2, "b")), ("U", (4, "c"), (3, "c"))]
STORIES: dict[str, tuple[list[Change], list[tuple[int, Any]]]] = {
    "shift": (SHIFT, [(2, "a"), (3, "b"), (4, "c")]),
    "swap": ([("U", (2, "a"), (1, "a")), ("U", (1, "b"), (2, "b"))], [(1, "b"), (2, "a"), (3, "c")]),
    "cycle": (
        [("U", (2, "a"), (1, "a")), ("U", (3, "b"), (2, "b")), ("U", (1, "c"), (3, "c"))],
        [(1, "c"), (2, "a"), (3, "b")],
    ),
    "pass": ([("U", (2, "a"), (1, "a")), ("U", (9, "a"), (2, "a"))], [(2, "b"), (3, "c"), (9, "a")]),
    "changed": ([("U", (2, "A"), (1, "a")), ("U", (3, "B"), (2, "b")), ("U", (4, None), (3, "c"))], [(2, "A"), (3, "B"), (4, None)]),
    "put_aside": ([("I", (2, "new"), None), ("D", (2, "b"), None)], [(1, "a"), (2, "new"), (3, "c")]),
    "moves_away": ([("I", (2, "new"), None), ("U", (9, "b"), (2, "b"))], [(1, "a"), (2, "new"), (3, "c"), (9, "b")]),
    "new_leaves": ([("I", (2, "new"), None), ("U", (9, "new"), (2, "new"))], [(1, "a"), (2, "b"), (3, "c"), (9, "new")]),
    "changed_first": (
        [("I", (2, "new"), None), ("U", (2, "B"), (2, "b")), ("U", (9, "B"), (2, "B"))],
        [(1, "a"), (2, "new"), (3, "c"), (9, "B")],
    ),
    "there_and_back": (
        [("U", (2, "a"), (1, "a")), ("U", (2, "B"), (2, "b")), ("U", (1, "a"), (2, "a"))],
        [(1, "a"), (2, "B"), (3, "c")],
    ),
}


_SPLIT = ("shift", "new_leaves", "moves_away", "put_aside", "pass")


@pytest.mark.parametrize(
    ("mode", "names"),
    [
        pytest.param("mirror", _SPLIT[:1], id="one"),
        *(pytest.param(mode, _SPLIT, id=mode, marks=pytest.mark.long) for mode in ("mirror", "soft_delete")),
    ],
)
def test_the_second_half_of_a_commit_may_come_with_a_late_change(lake: Lake, mode: str, names: tuple[str, ...]) -> None:
    """Also where it only leaves a key: the change that came there is the table's row."""
    config = lake.config({f"public.{name}": {"mode": mode} for name in names})
    for name in names:
        os.utime(lake.load(f"public.{name}", COLUMNS, LOADED), (1_772_355_600, 1_772_355_600))
        write(lake, f"public.{name}", 1, STORIES[name][0][:1])
    assert lake.run(config).errors == {}
    for name in names:
        write(lake, f"public.{name}", 2, STORIES[name][0][1:], first=65)
        write(lake, f"public.{name}", 3, [("I", (77, "late"), None)], at="2026030110003000")
    assert lake.run(config).errors == {}
    for name in names:
        assert rows(lake, name, mode) == [*STORIES[name][1], (77, "late")], name


_MARKS: dict[tuple[str, int], Any] = {(mode, 0): pytest.mark.release for mode in MODES}
_ONE = ["changed_first"]
KEYS_ALONE = [(2, "a"), (3, "c")]
"""After the shift with images of keys alone: the first update leaves a key that nobody else has; of the others neither half is done."""


@pytest.mark.parametrize(
    ("mode", "cut", "names"),
    [
        pytest.param("mirror", 1, _ONE, id="one"),
        # All at once, or in two batches.
        *(
            pytest.param(mode, cut, list(STORIES), id=f"{mode}-cut-{cut}", marks=_MARKS.get((mode, cut), pytest.mark.long))
            for mode, cuts in {"mirror": (0, 1, 2), "soft_delete": (0, 1), "history": (0, 2)}.items()
            for cut in cuts
        ),
    ],
)
def test_rows_whose_keys_are_shifted_in_one_statement_stay(lake: Lake, mode: str, cut: int, names: list[str]) -> None:
    stories = {name: STORIES[name] for name in names}
    config = lake.config({f"public.{name}": {"mode": mode} for name in stories})
    for name, (story, _) in stories.items():
        lake.load(f"public.{name}", COLUMNS, LOADED)
        write(lake, f"public.{name}", 1, story[:cut] if cut else story)
    assert lake.run(config).errors == {}
    if cut:
        for name, (story, _) in stories.items():
            write(lake, f"public.{name}", 2, story[cut:], first=61 + 4 * cut)
        report = lake.run(config)
        assert report.errors == {}
    for name, (_, expected) in stories.items():
        assert rows(lake, name, mode) == expected, name
        assert lake.open_quarantine(config, name) == [], name
    assert [name for name, table in lake.run(config).tables.items() if table.batches] == []


@pytest.mark.long
@pytest.mark.parametrize("mode", ["mirror", "soft_delete"])
def test_a_loaded_row_is_not_taken_for_another_one_of_its_file_that_waits_in_quarantine(lake: Lake, mode: str) -> None:
    """All rows of a LOAD file have one position, which does not tell those in quarantine: the row that another had covered was lost."""
    config = lake.config({"public.t": {"mode": mode, "rules": [{"name": "good", "expr": "v <> 'bad'"}]}})
    lake.load("public.t", COLUMNS, [(1, "a"), (2, "b"), (3, "bad")])
    write(lake, "public.t", 1, [("I", (2, "new"), None)])
    assert lake.run_one(config).quarantined == 1
    write(lake, "public.t", 2, [("U", (9, "new"), (2, "new"))], first=65)
    lake.run_one(config)
    assert rows(lake, "t", mode) == [(1, "a"), (2, "b"), (9, "new")]
    assert lake.open_quarantine(config, "t", "reason, key") == [("rule", '{"id":3}')]


CUT: dict[str, tuple[list[Change], int, list[tuple[int, Any]], list[int]]] = {
    # The row of 2 that could not leave came to 1 all the same when 1 was left by the next batch, and took the place of the new row.
    "one_waits_for_another_key": (
        [
            ("I", (1, "new"), None),
            ("U", (1, "A"), (1, "a")),
            ("U", (2, "AA"), (1, "A")),
            ("U", (1, "bb"), (2, "b")),
            ("U", (98, "bb"), (1, "bb")),
        ],
        4,
        [(1, "new"), (2, "b"), (3, "c")],
        [1, 1, 2, 98],
    ),
    # The row that came back was taken for the insert, written again.
    "an_inserted_row_comes_back": (
        [("I", (1, "new"), None), ("U", (3, "new"), (1, "new")), ("U", (1, "new"), (3, "new")), ("D", (1, "a"), None)],
        2,
        [(1, "new"), (2, "b"), (3, "c")],
        [1, 1, 3],
    ),
}
"""Changes of one commit, where it is cut, the rows, and the keys in quarantine."""
_CUT_MARKS: dict[str, Any] = {"mirror": pytest.mark.long, "soft_delete": pytest.mark.release, "history": pytest.mark.long}


@pytest.mark.parametrize("mode", [pytest.param(one, marks=_CUT_MARKS[one]) for one in MODES])
def test_a_commit_that_is_cut_leaves_what_it_leaves_whole(lake: Lake, mode: str) -> None:
    names = [f"{name}_{part}" for name in CUT for part in ("whole", "cut")]
    config = lake.config({f"public.{name}": {"mode": mode} for name in names})
    for name in names:
        story, cut, _, _ = CUT[name.rpartition("_")[0]]
        # Before all changes.
        os.utime(lake.load(f"public.{name}", COLUMNS, LOADED), (1_772_355_600, 1_772_355_600))
        write(lake, f"public.{name}", 1, story[:cut] if name.endswith("cut") else story, images=False)
    assert lake.run(config).errors == {}
    for name in (name for name in names if name.endswith("cut")):
        story, cut, _, _ = CUT[name.rpartition("_")[0]]
        write(lake, f"public.{name}", 2, story[cut:], first=61 + 4 * cut, images=False)
    assert lake.run(config).errors == {}
    for name in names:
        _, _, expected, unclear = CUT[name.rpartition("_")[0]]
        assert rows(lake, name, mode) == expected, name
        assert sorted(lake.open_quarantine(config, name, "reason, key")) == [
            ("ambiguous_key_change", f'{{"id":{key}}}') for key in unclear
        ], name


def test_a_shift_whose_updates_leave_a_column_out_is_quarantined_and_not_silent(lake: Lake) -> None:
    """A row that moves to a key that is taken does not take the kept value of its old key along: see docs/limits.md."""
    config = lake.config({"public.t": {"columns": [{"name": "body", "null_in_update": "keep"}]}})
    columns = [*COLUMNS, ("body", pa.string())]
    lake.load("public.t", columns, [(1, "a", "B1"), (2, "b", "B2"), (3, "c", "B3")])
    assert lake.run(config).errors == {}
    service = [("Op", pa.string()), ("dms_commit_ts", pa.string()), *columns, ("dms_change_seq", pa.string())]
    images = [("BI_id", pa.int64()), ("BI_v", pa.string())]
    shifted = [(old, new, v) for old, new, v in ((1, 2, "a"), (2, 3, "b"), (3, 4, "c"))]
    changes = [("U", timestamp(AT), new, v, None, sequence(AT, 61 + 4 * old), old, v) for old, new, v in shifted]
    lake.parquet("public.t", "2026/03/01/10/20260301-100130000.parquet", [*service, *images], changes)
    report = lake.run_one(config)
    assert (report.applied, report.quarantined) == (1, 2)
    assert lake.rows("t", "id, v, body") == [(2, "a", "B1"), (3, "c", "B3")]
    found = lake.open_quarantine(config, "t", "reason, key")
    assert found == [("not_supplied", '{"id":3}'), ("not_supplied", '{"id":4}')]


def keys_alone(lake: Lake, mode: str) -> Config:
    """Load three rows and shift their keys, of which alone there are images; return the configuration."""
    config = lake.config({"public.t": {"mode": mode}})
    lake.load("public.t", COLUMNS, LOADED)
    write(lake, "public.t", 1, SHIFT, images=False)
    assert lake.run(config).errors == {}
    return config


@pytest.mark.long
@pytest.mark.parametrize("mode", MODES)
def test_images_of_the_key_alone_are_quarantined_and_a_replay_leaves_them_open(lake: Lake, mode: str) -> None:
    config = keys_alone(lake, mode)
    found = lake.open_quarantine(config, "t", "reason, detail")
    assert {reason for reason, _ in found} == {"ambiguous_key_change"}
    for part in ("REPLICA IDENTITY FULL", "column-filter"):
        assert all(part in detail for _, detail in found)
    # Of each update that is unclear neither half is applied.
    assert (before := rows(lake, "t", mode)) == KEYS_ALONE
    assert len(found) == 2
    assert replay(lake.spark, config).tables["public.t"].error is None
    assert lake.open_quarantine(config, "t", "reason, detail") == found
    assert rows(lake, "t", mode) == before


def test_an_image_that_two_equal_rows_match_is_quarantined(lake: Lake) -> None:
    config = lake.config({"public.t": {}})
    lake.load("public.t", COLUMNS, [(1, "a"), (2, "a")])
    assert lake.run(config).errors == {}
    write(lake, "public.t", 1, [("U", (2, "a"), (1, "a")), ("U", (3, "a"), (2, "a"))])
    report = lake.run_one(config)
    assert report.error is None
    assert [reason for (reason,) in lake.open_quarantine(config, "t", "reason")] == ["ambiguous_key_change"]
    assert lake.rows("t", "id, v") == [(2, "a")]


@pytest.mark.parametrize("images", [True, False])
def test_each_row_of_two_copies_of_a_file_is_in_the_books(lake: Lake, *, images: bool) -> None:
    """Rows of the second copy that had no effect on a crowded key were not counted."""
    config = lake.config({"public.t": {}})
    lake.load("public.t", COLUMNS, LOADED)
    for folder in (HOUR, "copies/2026-03-01"):
        write(lake, "public.t", 1, STORIES["there_and_back"][0], images=images, folder=folder)
    assert lake.run_one(config).rows_read == 3 + 2 * 3


@pytest.mark.long
@pytest.mark.parametrize("mode", MODES)
def test_a_late_delete_ends_what_was_crowded_without_it(lake: Lake, mode: str) -> None:
    """The delete of the row that had left had no effect while the other row seemed to be there, and nobody asked again."""
    config = lake.config({"public.t": {"mode": mode}})
    lake.load("public.t", COLUMNS, LOADED)
    write(lake, "public.t", 2, [("U", (2, "a"), (1, "a")), ("D", (2, "a"), None)], at=LATER)
    assert lake.run_one(config).error is None
    assert rows(lake, "t", mode) == [(2, "b"), (3, "c")]
    write(lake, "public.t", 1, [("D", (2, "b"), None)])
    assert lake.run_one(config).error is None
    assert rows(lake, "t", mode) == [(3, "c")]
    assert lake.open_quarantine(config, "t") == []


TURN: list[Change] = [("U", (2, "a"), (1, "a")), ("U", (1, "b"), (3, "b")), ("U", (3, "C"), (2, "a"))]
"""Row 1 goes to 3 by way of 2, a key that no row has; the row of 3 goes to 1. A row comes to 2 after that."""


@pytest.mark.long
@pytest.mark.parametrize("order", ["together", "new row first", "one by one"])
def test_a_loaded_row_that_came_later_was_not_there(lake: Lake, order: str) -> None:
    """The load has seen the changes, and an insert behind them at a key that a row had passed through: no key was ever crowded."""
    config = lake.config({"public.t": {}})
    turned = [(1, "b"), (2, "new"), (3, "C")]
    lake.load("public.t", COLUMNS, turned)
    if order != "new row first":
        write(lake, "public.t", 1, TURN, images=False)
    if order == "one by one":
        lake.run_one(config)
        assert [reason for (reason,) in lake.open_quarantine(config, "t", "reason")] == ["ambiguous_key_change"]
    write(lake, "public.t", 2, [("I", (2, "new"), None)], at=LATER)
    lake.run_one(config)
    if order == "new row first":
        write(lake, "public.t", 1, TURN, images=False)
        lake.run_one(config)
    elif order == "one by one":
        # The insert is what tells.
        assert replay(lake.spark, config).tables["public.t"].error is None
    assert lake.open_quarantine(config, "t") == []
    assert lake.rows("t", "id, v") == turned


def test_append_takes_every_change_of_a_shift(lake: Lake) -> None:
    config = lake.config({"public.t": {"mode": "append"}})
    lake.load("public.t", COLUMNS, LOADED)
    write(lake, "public.t", 1, SHIFT)
    assert lake.run(config).errors == {}
    expected = [*(("I", *row) for row in LOADED), *(("U", *row) for _, row, _ in SHIFT)]
    assert lake.rows("t", "_cdc_op, id, v", "_cdc_op, id") == expected
    assert lake.open_quarantine(config, "t") == []
