"""Changes that arrive behind what was applied: compared with bronze, never dropped without a trace."""

import pyarrow as pa
import pytest

from support.lake import Lake

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
