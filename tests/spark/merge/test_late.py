"""Changes that arrive behind what was applied: compared with bronze, never dropped without a trace.

Also where the change files are all gone from bronze, and of keys that have a newer change in quarantine: it was seen, and is not merged.
"""

import shutil

import pyarrow as pa
import pytest

from dms_iceberg.runs.replay import replay
from support.lake import Lake
from support.text_files import cdc_name

ID_V = [("id", pa.int64()), ("v", pa.string())]
T1, T2, T3, T3B, T4 = "20260301100100", "20260301100200", "20260301100300", "20260301100330", "20260301100400"


def cdc(minute: int) -> str:
    return f"2026/03/01/10/20260301-10{minute:02d}30000.parquet"


def test_unseen_change_with_an_older_clock_is_quarantined_not_dropped(lake: Lake) -> None:
    config = lake.config({"public.t": {}})
    lake.load("public.t", ID_V, [(1, "a"), (2, "b")])
    lake.changes("public.t", cdc(3), ID_V, [("U", T3, 200, 1, "new")])
    lake.run_one(config)
    lake.changes("public.t", cdc(4), ID_V, [("U", T2, 61, 1, "from a clock that went back"), ("U", T2, 65, 2, "no rival")])
    report = lake.run_one(config)
    assert (report.quarantined, report.applied) == (1, 1)
    assert lake.quarantine("t", "reason, key") == [("older_clock", '{"id":1}')]
    assert lake.rows("t", "id, v") == [(1, "new"), (2, "no rival")]


def test_unseen_change_with_an_older_clock_inside_one_batch(lake: Lake) -> None:
    config = lake.config({"public.t": {}})
    lake.load("public.t", ID_V, [(1, "a")])
    lake.run_one(config)
    lake.changes("public.t", cdc(3), ID_V, [("U", T3, 200, 1, "new")])
    lake.changes("public.t", cdc(4), ID_V, [("U", T2, 61, 1, "old clock")])
    report = lake.run_one(config)
    assert (report.quarantined, report.applied, report.superseded) == (1, 1, 0)
    assert lake.rows("t", "id, v") == [(1, "new")]


@pytest.mark.long
@pytest.mark.parametrize("is_one_batch", [True, False])
def test_a_row_that_cannot_leave_its_key_for_an_older_clock_does_not_come_to_another_one(lake: Lake, *, is_one_batch: bool) -> None:
    """Its old key stayed, as it has something newer, the row came to its new one all the same, and nothing was said."""
    modes = ("mirror", "soft_delete", "history")
    config = lake.config({f"public.{mode}": {"mode": mode} for mode in modes})
    for mode in modes:
        lake.load(f"public.{mode}", ID_V, [(1, "a"), (2, "b")])
    assert lake.run(config).errors == {}
    for mode in modes:
        lake.changes(f"public.{mode}", cdc(3), ID_V, [("U", T3, 200, 1, "new", None)])
    assert is_one_batch or lake.run(config).errors == {}
    for mode in modes:
        lake.changes(f"public.{mode}", cdc(4), ID_V, [("U", T2, 61, 3, "old clock", 1), ("U", T2, 65, 5, "no rival", 2)])
    report = lake.run(config)
    assert {name: (one.error, one.quarantined) for name, one in report.tables.items()} == dict.fromkeys(config.tables, (None, 1))
    for mode in modes:
        assert lake.quarantine(mode, "reason, key") == [("older_clock", '{"id":3}')]
    assert lake.rows("mirror", "id, v") == [(1, "new"), (5, "no rival")]
    assert lake.rows("soft_delete", "id, v, _cdc_deleted") == [(1, "new", False), (2, "b", True), (5, "no rival", False)]
    # Nor does it end a version that comes later.
    lake.changes("public.history", cdc(2), ID_V, [("U", T1, 100, 1, "late", None)])
    assert lake.run(config).errors == {}
    shown = "id, v, date_format(_valid_to, 'mmss')"
    assert lake.rows("history", shown, "id, _valid_from") == [
        (1, "a", "0100"),
        (1, "late", "0300"),
        (1, "new", None),
        (2, "b", "0200"),
        (5, "no rival", None),
    ]


def test_reemitted_change_has_a_twin_and_is_stale(lake: Lake) -> None:
    config = lake.config({"public.t": {}})
    lake.load("public.t", ID_V, [(1, "a")])
    lake.changes("public.t", cdc(2), ID_V, [("U", T1, 400, 1, "x"), ("U", T2, 412, 1, "y")])
    lake.run_one(config)
    lake.changes("public.t", cdc(4), ID_V, [("U", T1, 61, 1, "x")])
    report = lake.run_one(config)
    assert (report.stale, report.quarantined) == (1, 0)
    assert lake.rows("t", "id, v") == [(1, "y")]


def test_late_change_older_than_bronze_is_quarantined(lake: Lake) -> None:
    config = lake.config({"public.t": {}})
    lake.load("public.t", ID_V, [(1, "a"), (2, "b")])
    gone = lake.changes("public.t", cdc(2), ID_V, [("D", T2, 100, 1, None)])
    lake.changes("public.t", cdc(4), ID_V, [("U", T4, 200, 2, "B")])
    lake.run_one(config)
    gone.unlink()
    lake.changes("public.t", cdc(1), ID_V, [("U", T1, 50, 1, "late")])
    report = lake.run_one(config)
    assert report.quarantined == 1
    assert [reason for reason, _ in lake.quarantine("t")] == ["older_than_bronze"]
    assert lake.rows("t", "id, v") == [(2, "B")]


def test_late_key_change_keeps_the_deleted_old_key_deleted(lake: Lake) -> None:
    config = lake.config({"public.t": {}})
    lake.load("public.t", ID_V, [(1, "a")])
    lake.changes("public.t", cdc(3), ID_V, [("U", T3, 200, 5, "a", 1)])
    lake.run_one(config)
    lake.changes("public.t", cdc(2), ID_V, [("U", T2, 100, 1, "late")])
    lake.run_one(config)
    assert lake.rows("t", "id, v") == [(5, "a")]


def test_late_change_after_the_row_left_the_filter(lake: Lake) -> None:
    config = lake.config({"public.t": {"filter": "v <> 'hidden'"}})
    lake.load("public.t", ID_V, [(1, "a")])
    lake.changes("public.t", cdc(3), ID_V, [("U", T3, 200, 1, "hidden")])
    lake.run_one(config)
    lake.changes("public.t", cdc(2), ID_V, [("U", T2, 100, 1, "late")])
    lake.run_one(config)
    assert lake.rows("t", "id, v") == []


def test_only_keys_with_a_late_change_are_looked_at_twice(lake: Lake) -> None:
    """A late batch with every kind of key: late and lost, late and won, out of order among its own files, in order, and without a key."""
    config = lake.config({"public.t": {}})
    lake.load("public.t", ID_V, [(1, "a"), (2, "b"), (3, "c"), (4, "d")])
    lake.changes("public.t", cdc(3), ID_V, [("U", T3, 200, 1, "new"), ("D", T3, 204, 2, None)])
    lake.run_one(config)
    lake.changes("public.t", cdc(2), ID_V, [("U", T2, 100, 1, "lost"), ("U", T2, 104, 2, "lost"), ("U", T2, 108, 3, "won")])
    lake.changes("public.t", cdc(5), ID_V, [("U", T4, 310, 4, "D"), ("I", T4, 314, 5, "e"), ("U", T4, 318, None, "no key")])
    lake.changes("public.t", cdc(6), ID_V, [("U", T3B, 300, 4, "old clock"), ("U", T4, 320, 5, "E"), ("I", T4, 324, 6, "f")])
    report = lake.run_one(config)
    assert (report.rows_read, report.applied, report.superseded, report.stale, report.quarantined) == (9, 4, 1, 2, 2)
    assert lake.quarantine("t", "reason, key") == [("null_key", '{"id":null}'), ("older_clock", '{"id":4}')]
    assert lake.rows("t", "id, v") == [(1, "new"), (3, "won"), (4, "D"), (5, "E"), (6, "f")]
    assert lake.run_one(config).batches == []


def clock(minute: int) -> str:
    return f"2026030110{minute:02d}00"


@pytest.mark.long
def test_late_changes_wait_in_quarantine_where_bronze_has_lost_every_file(lake: Lake) -> None:
    config = lake.config({"public.t": {}})
    lake.load("public.t", ID_V, [(1, "load"), (2, "load")])
    gone = lake.changes("public.t", cdc_name(7), ID_V, [("D", clock(7), 700, 1, None, None)])
    lake.run_one(config)
    gone.unlink()
    lake.changes("public.t", cdc_name(5), ID_V, [("U", clock(5), 500, 1, "late", None)])
    lake.changes("public.t", cdc_name(6), ID_V, [("U", clock(6), 600, 1, "later", None)])
    report = lake.run_one(config)
    assert (report.applied, report.quarantined) == (0, 2)
    assert lake.rows("t", "id, v") == [(2, "load")]
    assert [reason for (reason,) in lake.quarantine("t", "reason")] == ["older_than_bronze"] * 2
    # Neither file makes bronze reach back to before it.
    lake.changes("public.t", cdc_name(4), ID_V, [("U", clock(6), 604, 1, "latest", None)])
    assert lake.run_one(config).quarantined == 1
    assert lake.rows("t", "id, v") == [(2, "load")]


@pytest.mark.long
def test_a_late_file_that_was_rejected_does_not_say_how_far_bronze_reaches(lake: Lake) -> None:
    """Whether its rows are still in quarantine or were dismissed: what was deleted before stays so."""
    config = lake.config({"public.t": {}})
    lake.load("public.t", ID_V, [(1, "load"), (2, "load")])
    gone = lake.changes("public.t", cdc_name(7), ID_V, [("D", clock(7), 700, 1, None, None)])
    lake.run_one(config)
    gone.unlink()
    lake.changes("public.t", cdc_name(5), ID_V, [("U", clock(5), 500, 1, "late", None)])
    assert lake.run_one(config).quarantined == 1
    lake.spark.sql(f"DELETE FROM lake.quarantine_{lake.namespace}.`{lake.namespace}__t`")
    lake.changes("public.t", cdc_name(6), ID_V, [("U", clock(6), 600, 1, "later", None)])
    assert lake.run_one(config).quarantined == 1
    assert lake.rows("t", "id, v") == [(2, "load")]


@pytest.mark.long
def test_late_rows_are_replayed_once_bronze_has_its_files_again(lake: Lake) -> None:
    strict, config = lake.config({"public.t": {"rules": [{"name": "good", "expr": "v <> 'bad'"}]}}), lake.config({"public.t": {}})
    lake.load("public.t", ID_V, [(1, "load"), (2, "load"), (3, "bad"), (4, "bad")])
    gone = lake.changes("public.t", cdc_name(7), ID_V, [("D", clock(7), 700, 1, None, None), ("D", clock(7), 704, 4, None, None)])
    lake.run_one(strict)
    away = gone.rename(lake.folder / "away.parquet")
    lake.changes("public.t", cdc_name(5), ID_V, [("U", clock(5), 500, 1, "late", None), ("U", clock(5), 504, 2, "late", None)])
    assert lake.run_one(config).quarantined == 2
    report = replay(lake.spark, config).tables["public.t"]
    assert (report.error, report.quarantined) == (None, 4)
    shutil.copy(away, gone)
    # With another ETag it is another version of the file that was merged, and tells what that did.
    report = replay(lake.spark, config).tables["public.t"]
    assert (report.error, report.applied, report.stale, report.quarantined) == (None, 2, 2, 0)
    assert lake.rows("t", "id, v") == [(2, "late"), (3, "bad")]
    assert lake.run_one(config).quarantined == 0
    assert lake.rows("t", "id, v") == [(2, "late"), (3, "bad")]


ID_V_W = [*ID_V, ("w", pa.string())]
RULE = {"rules": [{"name": "good", "expr": "v <> 'bad'"}]}
MODES = ("mirror", "soft_delete", "history")


@pytest.mark.long
def test_a_late_change_is_not_judged_by_a_rejected_one_that_nobody_replayed(lake: Lake) -> None:
    """The rule was loosened meanwhile, so that the rejected change would win if it were read as a merged one."""
    tables = {f"public.{mode}": {"mode": mode} for mode in MODES}
    strict = lake.config({name: {**table, **RULE} for name, table in tables.items()})
    for name in tables:
        lake.load(name, ID_V, [(1, "load"), (2, "load")])
        lake.changes(name, cdc_name(7), ID_V, [("U", clock(7), 700, 1, "bad", None), ("U", clock(7), 704, 2, "seven", None)])
    assert lake.run(strict).failed == []
    for name in tables:
        lake.changes(name, cdc_name(5), ID_V, [("U", clock(5), 500, 1, "five", None)])
    report = lake.run(lake.config(tables))
    assert {name: (one.error, one.applied, one.stale) for name, one in report.tables.items()} == dict.fromkeys(tables, (None, 1, 0))
    assert lake.rows("mirror", "id, v") == [(1, "five"), (2, "seven")]
    assert lake.rows("soft_delete", "id, v, _cdc_deleted") == [(1, "five", False), (2, "seven", False)]
    assert lake.rows("history", "id, v, _is_current", "1, _valid_from")[:2] == [(1, "load", False), (1, "five", True)]


@pytest.mark.long
def test_rows_of_a_file_that_the_schema_policy_holds_back_do_not_win_against_late_ones(lake: Lake) -> None:
    """They are in quarantine under the very configuration that reads them again."""
    tables = {f"public.{mode}": {"mode": mode, "schema_changes": "quarantine"} for mode in MODES}
    config = lake.config(tables)
    for name in tables:
        lake.load(name, ID_V, [(1, "load"), (2, "load")])
        lake.changes(name, cdc_name(6), ID_V, [("U", clock(6), 600, 2, "six", None)])
        lake.changes(name, cdc_name(7), ID_V_W, [("U", clock(7), 700, 1, "held", "w", None)])
    report = lake.run(config)
    assert {name: (one.error, one.quarantined) for name, one in report.tables.items()} == dict.fromkeys(tables, (None, 1))
    for name in tables:
        lake.changes(name, cdc_name(5), ID_V, [("U", clock(5), 500, 1, "five", None)])
    report = lake.run(config)
    assert {name: (one.error, one.applied, one.stale) for name, one in report.tables.items()} == dict.fromkeys(tables, (None, 1, 0))
    assert lake.rows("mirror", "id, v") == [(1, "five"), (2, "six")]
    assert lake.rows("soft_delete", "id, v") == [(1, "five"), (2, "six")]
    assert lake.rows("history", "v, _is_current", "id, _valid_from")[:2] == [("load", False), ("five", True)]


@pytest.mark.long
def test_a_rejected_change_that_is_written_again_was_seen_before(lake: Lake) -> None:
    """Its first writing waits in quarantine, and a newer change of its key is merged: the clock did not go back."""
    lake.load("public.t", ID_V, [(1, "load")])
    lake.changes("public.t", cdc_name(6), ID_V, [("U", clock(5), 500, 1, "bad", None)])
    lake.changes("public.t", cdc_name(7), ID_V, [("U", clock(7), 700, 1, "seven", None)])
    lake.run_one(lake.config({"public.t": RULE}))
    lake.changes("public.t", cdc_name(9), ID_V, [("U", clock(5), 61, 1, "bad", None)])
    report = lake.run_one(lake.config({"public.t": {}}))
    assert (report.applied, report.stale, report.quarantined) == (0, 1, 0)
    assert lake.rows("t", "id, v") == [(1, "seven")]


@pytest.mark.parametrize("most", [1, 10])
def test_a_file_in_an_old_date_folder_is_merged_however_a_backlog_is_cut_into_batches(lake: Lake, most: int) -> None:
    """DMS names date folders after commits: a task that was restarted from days ago writes into the folders of those days."""
    config = lake.config({"public.t": {}}, batch={"max_files": most, "look_back_hours": 1})
    for hour in (6, 9):
        row = ("U", f"20260706{hour:02d}0000", 61, 1, f"{hour}")
        lake.changes("public.t", f"2026/07/06/{hour:02d}/20260706-{hour:02d}0100000.parquet", ID_V, [row])
    lake.changes("public.t", "2026/07/01/09/20260706-100000000.parquet", ID_V, [("I", "20260701090000", 61, 77, "lost before")])
    lake.run(config)
    assert lake.rows("t", "id, v") == [(1, "9"), (77, "lost before")]
