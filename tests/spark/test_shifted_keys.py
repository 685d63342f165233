"""Keys that two rows have at once within a commit: shifts, swaps and cycles that a deferred uniqueness allows."""

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

from support.lake import Lake, sequence, timestamp

AT = "2026030110010000"
COLUMNS = [("id", pa.int64()), ("v", pa.string())]
LOADED = [(1, "a"), (2, "b"), (3, "c")]
SHOWN = {"mirror": "id, v", "soft_delete": "id, v", "history": "id, v"}
PRESENT = {"mirror": "true", "soft_delete": "NOT _cdc_deleted", "history": "_is_current"}
MODES = list(SHOWN)

Change = tuple[str, tuple[int, Any], tuple[int, Any] | None]
"""Operation, the row after it (of a delete, the row itself), and the row before it."""

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
    "there_and_back": (
        [("U", (2, "a"), (1, "a")), ("U", (2, "B"), (2, "b")), ("U", (1, "a"), (2, "a"))],
        [(1, "a"), (2, "B"), (3, "c")],
    ),
}


def write(lake: Lake, table: str, minute: int, changes: Sequence[Change], *, first: int = 61, images: bool = True) -> None:
    """Write a file of changes of one commit; without ``images`` only the key has one."""
    service = [("Op", pa.string()), ("dms_commit_ts", pa.string()), *COLUMNS, ("dms_change_seq", pa.string()), ("BI_id", pa.int64())]
    rows = []
    for number, (op, row, before) in enumerate(changes):
        moved = before is not None and (images or before[0] != row[0])
        values = row if op != "D" or images else (row[0], None)
        rows.append((op, timestamp(AT), *values, sequence(AT, first + 4 * number), before[0] if moved and before else None))
        if images:
            rows[-1] = (*rows[-1], before[1] if before else None)
    name = f"2026/03/01/10/20260301-10{minute:02d}30000.parquet"
    lake.parquet(table, name, [*service, ("BI_v", pa.string())] if images else service, rows)


def rows(lake: Lake, table: str, mode: str) -> list[tuple[Any, ...]]:
    name = f"lake.{lake.namespace}.{table}"
    lake.spark.sql(f"REFRESH TABLE {name}")
    return [tuple(row) for row in lake.spark.sql(f"SELECT id, v FROM {name} WHERE {PRESENT[mode]} ORDER BY id").collect()]


@pytest.mark.parametrize("cut", [0, 1, 2], ids=lambda cut: f"cut-{cut}")
@pytest.mark.parametrize("mode", MODES)
def test_rows_whose_keys_are_shifted_in_one_statement_stay(lake: Lake, mode: str, cut: int) -> None:
    config = lake.config({f"public.{name}": {"mode": mode} for name in STORIES})
    for name, (story, _) in STORIES.items():
        lake.load(f"public.{name}", COLUMNS, LOADED)
        write(lake, f"public.{name}", 1, story[:cut] if cut else story)
    assert lake.run(config).errors == {}
    if cut:
        for name, (story, _) in STORIES.items():
            write(lake, f"public.{name}", 2, story[cut:], first=61 + 4 * cut)
        report = lake.run(config)
        assert report.errors == {}
    for name, (story, expected) in STORIES.items():
        assert rows(lake, name, mode) == expected, name
        assert lake.target(name).exists()
    assert [name for name, table in lake.run(config).tables.items() if table.batches] == []
