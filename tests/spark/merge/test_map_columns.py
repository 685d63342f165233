"""Columns that are maps, which Spark neither hashes nor compares: late changes, updates that leave columns out, and a second load."""

import pyarrow as pa
import pytest

from support.lake import Lake

COLUMNS = [("id", pa.int64()), ("doc", pa.string()), ("v", pa.string())]
MAP = {"name": "doc", "type": "map<string,int>"}
ENTRIES = {
    "mirror": {},
    "kept": {"columns": [MAP, {"name": "v", "null_in_update": "keep"}]},
    "soft_delete": {"mode": "soft_delete"},
    "history": {"mode": "history"},
    "tracked": {"mode": "history", "track_columns": ["doc"]},
    "append": {"mode": "append"},
}


@pytest.mark.parametrize("entry", [pytest.param(one, marks=[] if one == "mirror" else pytest.mark.long) for one in ENTRIES])
def test_late_changes_and_a_second_load(lake: Lake, entry: str) -> None:
    tables = {"public.t": {"columns": [MAP], **ENTRIES[entry]}}
    mode = str(ENTRIES[entry].get("mode", "mirror"))
    shown = {"soft_delete": "CASE WHEN NOT _cdc_deleted THEN id END", "history": "CASE WHEN _is_current THEN id END"}.get(mode, "id")

    def rows() -> list[object]:
        return [row for row in lake.rows("t", f"{shown} AS id, doc, v", "id, _cdc_position") if row[0] is not None]

    lake.enter(1)
    config = lake.config(tables, bronze={"uri": str(lake.bronze)})
    lake.load("public.t", COLUMNS, [(1, '{"a":1}', "x"), (2, '{"b":2}', "y"), (3, None, "z")])
    lake.changes("public.t", "20260301-100200000.parquet", COLUMNS, [("U", "2026030110010000", 69, 1, '{"a":2}', "new")])
    lake.run_one(config)
    late = [("U", "2026030110000000", 61, 1, '{"a":9}', "old"), ("I", "2026030110000000", 65, 4, '{"d":4}', "w")]
    lake.changes("public.t", "20260301-100100000.parquet", COLUMNS, late)
    lake.run_one(config)
    current = [(1, {"a": 2}, "new"), (2, {"b": 2}, "y"), (3, None, "z"), (4, {"d": 4}, "w")]
    appended = [(1, {"a": 1}, "x"), (1, {"a": 9}, "old"), (1, {"a": 2}, "new"), *current[1:]]
    assert rows() == (appended if mode == "append" else current)
    if mode == "append":
        return
    lake.enter(2)
    lake.load("public.t", COLUMNS, [(1, '{"a":2}', "new"), (2, '{"b":3}', "y")])
    lake.changes("public.t", "20260302-100200000.parquet", COLUMNS, [("I", "2026030210010000", 69, 5, '{"e":5}', "five")])
    lake.run_one(lake.config(tables, bronze={"uri": str(lake.bronze)}))
    assert rows() == [(1, {"a": 2}, "new"), (2, {"b": 3}, "y"), (5, {"e": 5}, "five")]
