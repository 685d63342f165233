"""Mode append: every change is a row, once, however often and in whatever order it is written."""

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from dms_iceberg.errors import ConfigError
from dms_iceberg.runs.preview import preview
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


def test_a_change_is_one_change_before_and_after_a_column_with_a_backfill(lake: Lake) -> None:
    lake.changes("public.t", cdc(1), ID_V, [("I", T1, 61, 1, "a"), ("D", T2, 65, 1, None)])
    lake.run_one(lake.config({"public.t": APPEND}))
    filled = lake.config({"public.t": {**APPEND, "columns": [{"name": "extra", "type": "int", "backfill": 7}]}})
    again = [("I", T1, 61, 1, "a"), ("D", T2, 65, 1, None)]
    lake.changes("public.t", cdc(3), ID_V, [*again, ("I", T3, 69, 2, "b")])
    assert preview(lake.spark, filled)[0].sql[-1].endswith("WHERE `extra` IS NULL AND _cdc_op NOT IN ('D', 'T')")
    first = lake.run_one(filled)
    assert (first.applied, first.stale) == (1, 2)
    # The source has the column by now, and DMS begins once more.
    wide = [*ID_V, ("extra", pa.int32())]
    lake.changes("public.t", cdc(4), wide, [(*change, None) for change in again])
    second = lake.run_one(filled)
    assert (second.applied, second.stale) == (0, 2)
    assert lake.rows("t", f"{SHOWN}, extra", "_cdc_position") == [("I", 1, "a", 7), ("D", 1, None, None), ("I", 2, "b", 7)]


@pytest.mark.parametrize("mode", ["append", pytest.param("history", marks=pytest.mark.long)])
def test_a_change_is_one_change_before_and_after_a_column_that_is_declared_later(lake: Lake, mode: str) -> None:
    wide = [*ID_V, ("note", pa.string())]
    before = {"mode": mode, "other_columns": "drop", "columns": [{"name": "v"}]}
    columns = [{"name": "v"}, {"name": "note"}, {"name": "size", "expr": "length(v)"}]
    lake.changes("public.t", cdc(1), wide, [("I", T1, 61, 1, "a", "n")])
    lake.run_one(lake.config({"public.t": before}))
    after = lake.config({"public.t": before | {"columns": columns}})
    # Uploaded again, with another ETag; and in a later file, together with a change that only the new column distinguishes.
    lake.changes("public.t", cdc(1), wide, [("I", T1, 61, 1, "a", "n")])
    lake.changes("public.t", cdc(3), wide, [("I", T1, 65, 1, "a", "n"), ("U", T2, 69, 1, "b", "n")])
    lake.changes("public.t", cdc(4), wide, [("U", T2, 69, 1, "b", "o")])
    assert lake.run_one(after).applied == 2
    rows = lake.rows("t", SHOWN, "_cdc_position")
    assert rows == [("I", 1, "a"), ("U", 1, "b"), ("U", 1, "b")]
    assert lake.rows("t", "note", "_cdc_position")[1:] == [("n",), ("o",)]
    renamed = [{"name": "v"}, {"name": "remark", "from": "note", "renamed_from": "note"}, *columns[2:]]
    lake.changes("public.t", cdc(5), wide, [("I", T1, 61, 1, "a", "m"), ("U", T2, 65, 1, "b", "o")])
    assert lake.run_one(lake.config({"public.t": before | {"columns": renamed}})).applied == 0
    assert lake.rows("t", SHOWN, "_cdc_position") == rows


@pytest.mark.parametrize(
    ("mode", "batches"),
    [
        ("append", "two"),
        ("history", "one"),
        *(pytest.param(*one, marks=pytest.mark.long) for one in (("append", "one"), ("history", "two"))),
    ],
)
def test_a_change_is_one_change_whose_second_writing_lacks_a_column_or_has_another_type(lake: Lake, mode: str, batches: str) -> None:
    """A task begins again after the source has dropped a column, added one or changed its type, or the document has left one out."""
    wide, whole, decimal = [*ID_V, ("more", pa.string())], [("id", pa.int64()), ("v", pa.int32())], pa.decimal128(10, 2)
    names = ("dropped", "filled", "typed", "left_out")
    tables: dict[str, dict[str, Any]] = {f"public.{name}": {"mode": mode, "type_changes": "new_column"} for name in names}
    tables["public.filled"]["columns"] = [{"name": "more", "type": "string", "backfill": "x"}]
    first = [("I", T1, 61, 1, "a"), ("U", T2, 65, 1, "b")]
    filled = [(*change, "m") for change in first]
    lake.changes("public.dropped", cdc(1), wide, filled)
    lake.changes("public.filled", cdc(1), ID_V, first)
    lake.changes("public.left_out", cdc(1), wide, filled)
    # A table has further columns for types only once it is there.
    lake.changes("public.typed", cdc(1), whole, [("I", T1, 61, 1, 5), ("U", T2, 65, 1, 6)])
    if batches == "two":
        assert [one.applied for one in lake.run(lake.config(tables)).tables.values()] == [2] * 4
        tables["public.left_out"]["drop"] = ["more"]
    again = [*first, ("I", T3, 69, 2, "c")]
    lake.changes("public.dropped", cdc(4), ID_V, again)
    for name in ("filled", "left_out"):
        lake.changes(f"public.{name}", cdc(4), wide, [(*change, None if name == "filled" else "m") for change in again])
    rows = [("I", T1, 61, 1, Decimal(5)), ("U", T2, 65, 1, Decimal(6)), ("I", T3, 69, 2, Decimal("1.25"))]
    lake.changes("public.typed", cdc(4), [("id", pa.int64()), ("v", decimal)], rows)
    for one in lake.run(lake.config(tables)).tables.values():
        assert (one.error, one.quarantined, one.applied) == (None, 0, 3 if batches == "one" else 1), one.table
    # A file from before comes late: its changes are there, as they were written later.
    lake.changes("public.dropped", cdc(3), wide, [(op, time, number + 1, *rest) for op, time, number, *rest in filled])
    lake.run(lake.config(tables), "public.dropped")
    for name in names:
        assert lake.rows(name, "_cdc_op, id", "_cdc_position") == [("I", 1), ("U", 1), ("I", 2)], name


def test_a_change_at_its_place_is_stale_whatever_its_values(lake: Lake) -> None:
    config = lake.config({"public.t": APPEND})
    lake.changes("public.t", cdc(2), ID_V, [("U", T1, 61, 1, "b"), ("U", T1, 65, 1, "b")])
    lake.run_one(config)
    # Corrected by hand, and one more change that no other file has.
    lake.changes("public.t", cdc(2), ID_V, [("U", T1, 61, 1, "B"), ("U", T1, 65, 1, "b"), ("D", T1, 73, 1, None)])
    again = lake.run_one(config)
    assert (again.applied, again.superseded) == (1, 0)
    assert lake.rows("t", SHOWN, "_cdc_position") == [("U", 1, "b"), ("U", 1, "b"), ("D", 1, None)]


def test_what_is_refused(lake: Lake) -> None:
    lake.load("public.t", ID_V, [(1, "a")])
    lake.run_one(lake.config({"public.t": {}}))
    lake.changes("public.t", cdc(1), ID_V, [("U", T1, 61, 1, "A")])
    error = lake.run_one(lake.config({"public.t": APPEND}), fails=True).error or ""
    assert "is a table of mode mirror, which cannot become append in place" in error
    kept = {**APPEND, "columns": [{"name": "v", "type": "string", "null_in_update": "keep"}]}
    with pytest.raises(ConfigError, match=r"columns\[0\].null_in_update: found 'keep' with mode 'append'; allowed with it: 'set'"):
        lake.config({"public.t": kept})
