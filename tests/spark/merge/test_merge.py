"""Mirror mode, rule by rule, on small hand-written files."""

import pyarrow as pa
import pytest

from support.lake import Lake

ID_V = [("id", pa.int64()), ("v", pa.string())]
T1, T2, T3, T4 = "20260301100100", "20260301100200", "20260301100300", "20260301100400"


def cdc(minute: int, folder: str = "2026/03/01/10") -> str:
    return f"{folder}/20260301-10{minute:02d}30000.parquet"


def test_load_then_changes(lake: Lake) -> None:
    config = lake.config({"public.t": {}})
    lake.load("public.t", ID_V, [(1, "a"), (2, "b"), (3, "c")])
    first = lake.run_one(config)
    assert (first.rows_read, first.applied) == (3, 3)
    lake.changes("public.t", cdc(1), ID_V, [("U", T1, 61, 1, "A"), ("D", T1, 65, 2, None), ("I", T1, 69, 4, "d"), ("U", T1, 73, 4, "D")])
    second = lake.run_one(config)
    assert (second.rows_read, second.applied, second.superseded) == (4, 3, 1)
    assert lake.rows("t", "id, v, _cdc_op") == [(1, "A", "U"), (3, "c", "I"), (4, "D", "U")]


def test_nothing_new_makes_no_snapshot(lake: Lake) -> None:
    config = lake.config({"public.t": {}})
    lake.load("public.t", ID_V, [(1, "a")])
    lake.run_one(config)
    before = lake.snapshots("t")
    assert lake.run_one(config).batches == []
    assert lake.snapshots("t") == before


def test_key_change_moves_the_row(lake: Lake) -> None:
    config = lake.config({"public.t": {}})
    lake.load("public.t", ID_V, [(1, "a"), (2, "b")])
    lake.changes("public.t", cdc(1), ID_V, [("U", T1, 61, 10, "a", 1)])
    report = lake.run_one(config)
    assert lake.rows("t", "id, v") == [(2, "b"), (10, "a")]
    assert report.rows_read == 3


def test_keys_swapped_by_way_of_a_free_key(lake: Lake) -> None:
    config = lake.config({"public.t": {}})
    lake.load("public.t", ID_V, [(1, "a"), (2, "b")])
    lake.changes("public.t", cdc(1), ID_V, [("U", T1, 61, 9, "a", 1), ("U", T1, 65, 1, "b", 2), ("U", T1, 69, 2, "a", 9)])
    lake.run_one(config)
    assert lake.rows("t", "id, v") == [(1, "b"), (2, "a")]


def test_composite_key_of_which_one_part_changes(lake: Lake) -> None:
    columns = [("a", pa.string()), ("b", pa.int32()), ("v", pa.string())]
    config = lake.config({"public.t": {"key": ["a", "b"]}})
    lake.load("public.t", columns, [("x", 1, "one"), ("x", 2, "two")])
    lake.changes("public.t", cdc(1), columns, [("U", T1, 61, "x", 3, "one", "x", 1)], key=("a", "b"))
    lake.run_one(config)
    assert lake.rows("t", "a, b, v", "b") == [("x", 2, "two"), ("x", 3, "one")]


def test_late_update_never_resurrects_a_deleted_key(lake: Lake) -> None:
    config = lake.config({"public.t": {}})
    lake.load("public.t", ID_V, [(1, "a"), (2, "b")])
    lake.changes("public.t", cdc(3), ID_V, [("D", T3, 200, 1, None), ("U", T3, 204, 2, "new")])
    lake.run_one(config)
    lake.changes("public.t", cdc(2), ID_V, [("U", T2, 100, 1, "late"), ("U", T2, 104, 2, "late"), ("I", T2, 108, 3, "late")])
    report = lake.run_one(config)
    assert lake.rows("t", "id, v") == [(2, "new"), (3, "late")]
    assert (report.stale, report.applied) == (2, 1)


def test_reemission_with_reset_counter(lake: Lake) -> None:
    config = lake.config({"public.t": {}})
    lake.load("public.t", ID_V, [(1, "a")])
    lake.changes("public.t", cdc(1), ID_V, [("U", T1, 500, 1, "b"), ("U", T2, 512, 1, "c")])
    lake.run_one(config)
    lake.changes("public.t", cdc(4), ID_V, [("U", T1, 61, 1, "b"), ("U", T2, 73, 1, "c"), ("U", T3, 85, 1, "d")])
    lake.run_one(config)
    assert lake.rows("t", "id, v") == [(1, "d")]


def test_row_that_leaves_the_filter_is_deleted_and_comes_back(lake: Lake) -> None:
    config = lake.config({"public.t": {"filter": "v <> 'hidden'"}})
    lake.load("public.t", ID_V, [(1, "a"), (2, "hidden")])
    lake.run_one(config)
    assert lake.rows("t", "id") == [(1,)]
    lake.changes("public.t", cdc(1), ID_V, [("U", T1, 61, 1, "hidden"), ("U", T1, 65, 2, "seen"), ("D", T1, 69, 3, None)])
    report = lake.run_one(config)
    assert lake.rows("t", "id") == [(2,)]
    assert (report.filtered, report.applied) == (1, 2)


@pytest.mark.parametrize(("on_fail", "left", "quarantined"), [("quarantine", [(1, 5), (2, 7)], 1), ("drop", [(2, 7)], 0)])
def test_rules(lake: Lake, on_fail: str, left: list[tuple[int, int]], quarantined: int) -> None:
    columns = [("id", pa.int64()), ("amount", pa.int32())]
    rules = [{"name": "not_negative", "expr": "amount >= 0", "on_fail": on_fail}]
    config = lake.config({"public.t": {"rules": rules}})
    lake.load("public.t", columns, [(1, 5), (2, 6)])
    lake.run_one(config)
    lake.changes("public.t", cdc(1), columns, [("U", T1, 61, 1, -1), ("U", T1, 65, 2, 7)])
    assert lake.run_one(config).quarantined == quarantined
    assert lake.rows("t", "id, amount") == left


def test_rule_that_fails_the_table_writes_nothing(lake: Lake) -> None:
    columns = [("id", pa.int64()), ("amount", pa.int32())]
    config = lake.config({"public.t": {"rules": [{"name": "not_negative", "expr": "amount >= 0", "on_fail": "fail"}]}})
    lake.load("public.t", columns, [(1, 5)])
    lake.run_one(config)
    lake.changes("public.t", cdc(1), columns, [("U", T1, 61, 1, -1), ("I", T1, 65, 2, 7)])
    report = lake.run_one(config, fails=True)
    assert "not_negative" in (report.error or "")
    assert lake.rows("t", "id, amount") == [(1, 5)]


def test_old_half_of_a_quarantined_key_change_is_deleted(lake: Lake) -> None:
    columns = [("id", pa.int64()), ("amount", pa.int32())]
    config = lake.config({"public.t": {"rules": [{"name": "not_negative", "expr": "amount >= 0"}]}})
    lake.load("public.t", columns, [(1, 5)])
    lake.changes("public.t", cdc(1), columns, [("U", T1, 61, 2, -5, 1)])
    lake.run_one(config)
    assert lake.rows("t", "id") == []
    lake.changes("public.t", cdc(2), columns, [("U", T2, 73, 2, 6)])
    lake.run_one(config)
    assert lake.rows("t", "id, amount") == [(2, 6)]


def test_null_key_is_quarantined(lake: Lake) -> None:
    config = lake.config({"public.t": {}})
    lake.load("public.t", ID_V, [(1, "a"), (None, "b")])
    assert lake.run_one(config).quarantined == 1
    assert lake.quarantine("t") == [("null_key", "key column id is NULL")]


def test_small_batches_make_several_commits(lake: Lake) -> None:
    config = lake.config({"public.t": {}}, batch={"max_files": 1})
    lake.load("public.t", ID_V, [(1, "a")], number=1)
    lake.load("public.t", ID_V, [(2, "b")], number=2)
    lake.changes("public.t", cdc(1), ID_V, [("U", T1, 61, 1, "A")])
    lake.changes("public.t", cdc(2), ID_V, [("D", T2, 73, 2, None)])
    assert len(lake.run_one(config).batches) == 4
    assert lake.rows("t", "id, v") == [(1, "A")]
