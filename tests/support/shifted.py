"""Files of one commit in which several rows may have a key at once, and random ones of them."""

from collections.abc import Sequence
from random import Random
from typing import Any

import pyarrow as pa

from support.lake import Lake, sequence, timestamp

AT = "2026030110010000"
HOUR = "2026/03/01/10"
COLUMNS = [("id", pa.int64()), ("v", pa.string())]
_PRESENT = {"mirror": "true", "soft_delete": "NOT _cdc_deleted", "history": "_is_current"}

Change = tuple[str, tuple[int, Any], tuple[int, Any] | None]
"""Operation, the row after it (of a delete, the row itself), and the row before it."""


def write(
    lake: Lake,
    table: str,
    minute: int,
    changes: Sequence[Change],
    *,
    first: int = 61,
    images: bool = True,
    at: str = AT,
    folder: str = HOUR,
    stream: bool = False,
) -> None:
    """Write a file of changes of one commit; without ``images`` only the key has one, with ``stream`` each has its place in the log."""
    service = [("Op", pa.string()), ("dms_commit_ts", pa.string()), *COLUMNS, ("dms_change_seq", pa.string()), ("BI_id", pa.int64())]
    rows = []
    for number, (op, row, before) in enumerate(changes):
        moved = before is not None and (images or before[0] != row[0])
        values = row if op != "D" or images else (row[0], None)
        rows.append((op, timestamp(at), *values, sequence(at, first + 4 * number), before[0] if moved and before else None))
        if images:
            rows[-1] = (*rows[-1], before[1] if before else None)
    name = f"{folder}/20260301-10{minute:02d}30000.parquet"
    columns = [*service, ("BI_v", pa.string())] if images else service
    if stream:
        columns = [*columns, ("dms_stream_position", pa.string())]
        rows = [(*row, f"0/{first + 4 * number:08X}") for number, row in enumerate(rows)]
    lake.parquet(table, name, columns, rows)


def happens_again(changes: Sequence[Change]) -> bool:
    """Whether a row comes to a key, or leaves it, twice with the same values: only its place in the log tells that from a repetition."""
    moved = [(op, row, before) for op, row, before in changes if before is None or before[0] != row[0]]
    came = [row for op, row, _ in moved if op != "D"]
    left = [row if before is None else before for op, row, before in moved if op != "I"]
    return len({*came}) + len({*left}) < len(came) + len(left)


def rows(lake: Lake, table: str, mode: str) -> list[tuple[Any, ...]]:
    name = f"lake.{lake.namespace}.{table}"
    lake.spark.sql(f"REFRESH TABLE {name}")
    return [tuple(row) for row in lake.spark.sql(f"SELECT id, v FROM {name} WHERE {_PRESENT[mode]} ORDER BY id").collect()]


def random_commit(loaded: Sequence[tuple[int, Any]], random: Random, length: int = 6) -> tuple[list[Change], list[tuple[int, Any]]]:
    """Changes that may put several rows at a key, until each has one of its own again; and the rows in the end.

    No two rows ever have the same values, so full images tell which is meant.
    """
    keys = [key for key, _ in loaded]
    there, changes = list(loaded), list[Change]()

    def step(at: int | None, row: tuple[int, Any] | None) -> None:
        """The row ``at`` a place becomes another one, or goes; without a place one comes."""
        before = None if at is None else there.pop(at)
        if row is not None:
            there.append(row)
            changes.append(("I" if before is None else "U", row, before))
        elif before is not None:
            changes.append(("D", before, None))

    for number in range(length):
        at, key = random.randrange(len(there)) if there else None, random.choice(keys)
        kind = random.choice(("come", "move", "move", "change", "go"))
        if kind == "come" or at is None:
            step(None, (key, f"new{number}"))
        elif kind == "move":
            step(at, (key, there[at][1] if random.random() < 0.7 else f"moved{number}"))
        else:
            step(at, None if kind == "go" else (there[at][0], f"changed{number}"))
    while taken := [at for at, (key, _) in enumerate(there) if [other for other, _ in there].count(key) > 1]:
        at = random.choice(taken)
        free = sorted({*keys, 97, 98, 99} - {key for key, _ in there})
        step(at, (random.choice(free), there[at][1]) if free and random.random() < 0.6 else None)
    return changes, sorted(there)
