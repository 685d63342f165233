"""Mode append: every change is a row, once, however often and in whatever order it is written."""

from typing import Any

import pyarrow as pa
import pytest

from dms_iceberg.errors import ConfigError
from support.lake import Lake

ID_V = [("id", pa.int64()), ("v", pa.string())]
T1, T2, T3 = "20260301100100", "20260301100200", "20260301100300"
APPEND = {"mode": "append"}
SHOWN = "_cdc_op, id, v"


def cdc(minute: int, second: int = 30) -> str:
    return f"2026/03/01/10/20260301-10{minute:02d}{second:02d}000.parquet"


def test_changes_are_rows_and_a_delete_has_its_key(lake: Lake) -> None:
    config = lake.config({"public.t": {**APPEND, "filter": "v <> 'hidden'"}})
    lake.load("public.t", ID_V, [(1, "a"), (2, "hidden"), (3, "c")])
    assert (loaded := lake.run_one(config)).applied == 2
    assert loaded.filtered == 1
    changes = [("U", T1, 61, 1, "b"), ("U", T1, 65, 4, "d", 3), ("D", T1, 69, 1, "what MySQL sends"), ("D", T1, 73, 9, None)]
    lake.changes("public.t", cdc(1), ID_V, changes)
    assert lake.run_one(config).applied == 4
    rows = [("I", 1, "a", None), ("I", 3, "c", None), ("U", 1, "b", None), ("U", 4, "d", '{"id":3}'), ("D", 1, None, None)]
    assert lake.rows("t", f"{SHOWN}, _cdc_key_before", "_cdc_position, id") == [*rows, ("D", 9, None, None)]


def test_what_is_written_again_is_one_change(lake: Lake) -> None:
    """A restarted task writes two of three changes again with a counter of its own, and a file comes late."""
    config = lake.config({"public.t": APPEND})
    # Nothing but their number in one file tells the two updates apart.
    story: list[Any] = [("I", T1, 61, 1, "a"), ("U", T2, 73, 1, "b"), ("U", T2, 77, 1, "b"), ("D", T3, 85, 1, None)]
    lake.changes("public.t", cdc(4), ID_V, story[1:])
    assert lake.run_one(config).applied == 3
    again = [("U", T2, 61, 1, "b"), ("U", T2, 65, 1, "b"), ("D", T3, 77, 1, None), ("I", T3, 81, 1, "new")]
    lake.changes("public.t", cdc(5), ID_V, again)
    repeated = lake.run_one(config)
    assert (repeated.applied, repeated.stale) == (1, 3)
    lake.changes("public.t", cdc(3), ID_V, story)
    late = lake.run_one(config)
    assert (late.applied, late.stale) == (1, 3)
    lake.changes("public.t", cdc(6), ID_V, again)
    lake.changes("public.t", cdc(7), ID_V, [*again, ("D", T3, 85, 1, None)])
    both = lake.run_one(config)
    assert (both.applied, both.superseded, both.stale) == (1, 4, 4)
    shown = [("D", 1, None), ("D", 1, None), ("I", 1, "a"), ("I", 1, "new"), ("U", 1, "b"), ("U", 1, "b")]
    assert lake.rows("t", SHOWN, "_cdc_op, v") == shown


def test_a_column_added_later_makes_no_change_a_new_one(lake: Lake) -> None:
    config = lake.config({"public.t": APPEND})
    lake.load("public.t", ID_V, [(1, "a")], 1)
    lake.load("public.t", ID_V, [(1, "a"), (2, "b")], 2)
    lake.changes("public.t", cdc(1), ID_V, [("U", T1, 61, 1, "A")])
    assert lake.run_one(config).applied == 3
    wide = [*ID_V, ("w", pa.int32())]
    lake.changes("public.t", cdc(2), wide, [("U", T1, 61, 1, "A", None), ("U", T2, 73, 2, "B", 5)])
    assert (again := lake.run_one(config)).applied == 1
    assert again.stale == 1
    assert lake.rows("t", f"{SHOWN}, w", "_cdc_position, id") == [
        ("I", 1, "a", None),
        ("I", 2, "b", None),
        ("U", 1, "A", None),
        ("U", 2, "B", 5),
    ]


def test_what_is_refused(lake: Lake) -> None:
    lake.load("public.t", ID_V, [(1, "a")])
    lake.run_one(lake.config({"public.t": {}}))
    lake.changes("public.t", cdc(1), ID_V, [("U", T1, 61, 1, "A")])
    error = lake.run_one(lake.config({"public.t": APPEND}), fails=True).error or ""
    assert "is a table of mode mirror, which cannot become append in place" in error
    kept = {**APPEND, "columns": [{"name": "v", "type": "string", "null_in_update": "keep"}]}
    with pytest.raises(ConfigError, match=r"columns\[0\].null_in_update: found 'keep' with mode 'append'; allowed with it: 'set'"):
        lake.config({"public.t": kept})
