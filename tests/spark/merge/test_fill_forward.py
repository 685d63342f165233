"""Columns that updates leave out: the last supplied value of the row stays, wherever it is, or the row is quarantined."""

import random
from collections.abc import Iterator
from typing import Any

import attrs
import pyarrow as pa
import pytest

from support.lake import Lake
from support.text_files import change_line, load_line, write_text

ID_C_D = [("id", pa.int64()), ("c", pa.string()), ("d", pa.string())]
COLUMNS = [{"name": "c", "type": "string", "null_in_update": "keep"}]
KEPT = {"columns": COLUMNS}
POSITIONS = "_cdc_kept_positions"


def clock(minute: int) -> str:
    return f"2026030110{minute:02d}00"


def cdc(minute: int, extension: str = "parquet") -> str:
    return f"2026/03/01/10/20260301-10{minute:02d}30000.{extension}"


def u(minute: int, key: int, c: str | None, d: str = "d", old: int | None = None) -> tuple[Any, ...]:
    return ("U", clock(minute), minute * 100 + key, key, c, d, old)


def i(minute: int, key: int, c: str | None, d: str = "d") -> tuple[Any, ...]:
    return ("I", clock(minute), minute * 100 + key, key, c, d, None)


def d(minute: int, key: int) -> tuple[Any, ...]:
    return ("D", clock(minute), minute * 100 + key, key, None, None, None)


@pytest.mark.long
def test_value_comes_from_the_batch_or_the_table(lake: Lake) -> None:
    config = lake.config({"public.t": KEPT})
    lake.load("public.t", ID_C_D, [(k, "load", "d") for k in range(1, 9)])
    lake.run_one(config)
    lake.changes(
        "public.t",
        cdc(2),
        ID_C_D,
        [
            u(1, 1, None, "table"),
            u(1, 2, "batch"),
            d(1, 3),
            u(1, 5, None, "chain", old=4),
            i(2, 3, None, "born with NULL"),
            u(2, 2, None, "from the batch"),
            u(2, 55, None, "chain", old=5),
            d(2, 6),
            u(3, 555, None, "chain", old=55),
            u(3, 6, None, "after its delete"),
            u(3, 70, "moved", "m", old=7),
            u(3, 99, None, "never seen"),
        ],
    )
    report = lake.run_one(config)
    assert lake.rows("t", "id, c, d") == [
        (1, "load", "table"),
        (2, "batch", "from the batch"),
        (3, None, "born with NULL"),
        (8, "load", "d"),
        (70, "moved", "m"),
        (555, "load", "chain"),
    ]
    assert report.quarantined == 2
    assert [(k, r) for k, r in lake.quarantine("t", "key, reason")] == [('{"id":6}', "not_supplied"), ('{"id":99}', "not_supplied")]
    assert [row[0] for row in lake.rows("t", "id") if row[0] in (1, 2, 555)] == [
        row[0] for row in lake.rows("t", f"id, {POSITIONS}") if row[1] is not None
    ]


@pytest.mark.long
def test_late_value_lands_under_a_newer_row(lake: Lake) -> None:
    config = lake.config({"public.t": KEPT})
    lake.load("public.t", ID_C_D, [(k, "load", "d") for k in range(1, 7)])
    lake.changes("public.t", cdc(5), ID_C_D, [u(5, k, "five") for k in (1, 2, 3, 4)])
    lake.run_one(config)
    lake.changes("public.t", cdc(9), ID_C_D, [u(8, 40, None, "moved", old=4), u(9, 1, None, "nine"), u(9, 2, None, "nine"), d(9, 3)])
    lake.run_one(config)
    lake.changes(
        "public.t", cdc(7), ID_C_D, [u(7, 1, "seven", "7"), u(7, 2, None, "7"), u(7, 3, "seven"), u(7, 4, "seven"), u(7, 5, None, "7")]
    )
    report = lake.run_one(config)
    assert lake.rows("t", "id, c, d") == [
        (1, "seven", "nine"),
        (2, "five", "nine"),
        (5, "load", "7"),
        (6, "load", "d"),
        (40, "five", "moved"),
    ]
    assert (report.applied, report.stale, report.quarantined) == (2, 2, 1)
    assert lake.quarantine("t", "reason, key") == [("late_key_change", '{"id":4}')]
    lake.changes("public.t", cdc(6), ID_C_D, [u(6, 1, "six", "6")])
    lake.changes("public.t", cdc(10), ID_C_D, [u(10, 1, None, "ten")])
    lake.run_one(config)
    assert lake.rows("t", "id, c, d")[0] == (1, "seven", "ten")


@pytest.mark.long
def test_filter_rule_and_quarantine_never_lose_a_value_silently(lake: Lake) -> None:
    table = {**KEPT, "filter": "d <> 'hidden'", "rules": [{"name": "good", "expr": "d <> 'bad'"}]}
    config = lake.config({"public.t": table})
    lake.load("public.t", ID_C_D, [(k, "load", "d") for k in (1, 2, 3, 4)])
    lake.run_one(config)
    lake.changes(
        "public.t",
        cdc(1),
        ID_C_D,
        [u(1, 1, "x", "hidden"), u(1, 2, None, "hidden"), u(1, 3, "x", "bad"), u(1, 4, "x", "bad"), i(1, 5, "five", "hidden")],
    )
    lake.changes("public.t", cdc(2), ID_C_D, [u(2, 1, None, "back"), u(2, 4, None, "d2"), u(2, 5, None, "in")])
    report = lake.run_one(config)
    assert lake.rows("t", "id, c, d") == [(1, "x", "back"), (3, "load", "d"), (4, "load", "d"), (5, "five", "in")]
    assert (report.filtered, report.quarantined) == (3, 3)
    lake.changes("public.t", cdc(3), ID_C_D, [u(3, 2, None, "back"), u(3, 3, None, "d3")])
    assert lake.run_one(config).quarantined == 2
    lake.changes("public.t", cdc(4), ID_C_D, [u(4, 2, "y", "back"), u(4, 3, "y", "d4"), u(5, 3, None, "d5")])
    assert lake.run_one(config).quarantined == 0
    assert lake.rows("t", "id, c, d")[1:3] == [(2, "y", "back"), (3, "y", "d5")]


@pytest.mark.long
def test_csv_marker_with_a_mask_and_an_existing_table(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SALT", "s")
    table = {
        "columns": [
            {"name": "id", "type": "bigint"},
            {"name": "mail", "from": "c", "mask": "sha256", "mask_salt": "env:SALT"},
            {"name": "n", "type": "int"},
        ],
        "rules": [{"name": "known", "expr": "e <> 'bad'"}],
    }
    header = "Op,dms_commit_ts,id,c,n,e,dms_change_seq,BI_id"
    plain = lake.config({"public.t": table}, bronze={"format": "csv"})
    marked = lake.config({"public.t": table}, bronze={"format": "csv", "csv": {"no_supplement": "~"}})
    write_text(lake, "public.t", "LOAD00000001.csv", [load_line(k, f"m{k}", k, "e") + "," for k in (1, 2, 3)], header)
    lake.run_one(plain)
    before = dict(lake.rows("t", "id, mail"))
    lines = [
        change_line("U", clock(1), 1, 1, "~", "~", "E") + ",~",
        change_line("U", clock(1), 2, 20, "~", 7, "E") + ",2",
        change_line("U", clock(1), 3, 3, "m", 3, "~") + ",",
        change_line("I", clock(1), 4, 4, "~", 4, "e") + ",",
        change_line("D", clock(1), 5, 5, "~", "~", "~") + ",~",
        change_line("U", clock(2), 6, 1, "", "~", "E2") + ",",
    ]
    write_text(lake, "public.t", cdc(1, "csv"), lines, header)
    report = lake.run_one(marked)
    assert [sql for sql in report.ddl if POSITIONS in sql]
    assert lake.rows("t", "id, mail, n, e") == [(1, None, 1, "E2"), (3, before[3], 3, "e"), (20, before[2], 7, "E")]
    assert sorted(reason for reason, _ in lake.quarantine("t")) == ["malformed", "not_supplied"]


@attrs.define
class Source:
    """A source table of columns c and d, whose updates leave some out, and the changes it wrote."""

    rng: random.Random
    first_key: int
    rows: dict[int, dict[str, str | None]] = attrs.field(factory=dict)
    log: list[tuple[Any, ...]] = attrs.field(factory=list)

    def live(self, steps: int) -> None:
        for step in range(1, steps + 1):
            self._step(step)

    def _step(self, minute: int) -> None:
        free = [k for k in range(self.first_key, self.first_key + 5) if k not in self.rows]
        action = self.rng.choice("IUUUUUMD")
        new = {name: f"{name}{minute}" for name in "cd"}
        if action == "I" and free:
            key = self.rng.choice(free)
            self.rows[key] = new
            self.log.append(i(minute, key, new["c"], new["d"] or ""))
        elif self.rows and action == "D":
            key = self.rng.choice(sorted(self.rows))
            del self.rows[key]
            self.log.append(d(minute, key))
        elif self.rows:
            old = self.rng.choice(sorted(self.rows))
            key = self.rng.choice(free) if free and action == "M" else old
            row = {**self.rows.pop(old), "d": new["d"]}
            kept = self.rng.random() < 0.6
            row = row if kept else {**row, "c": new["c"]}
            self.rows[key] = row
            self.log.append(u(minute, key, None if kept else new["c"], row["d"] or "", old if key != old else None))


def _sources(seed: int, *, moves: bool) -> Iterator[Source]:
    for number in range(60):
        source = Source(random.Random(f"{seed}-{number}-{moves}"), number * 10 + 1)
        source.rows = {source.first_key: {"c": "load", "d": "load"}, source.first_key + 1: {"c": "load", "d": "load"}}
        source.live(40)
        if not moves:
            assert source.log
        yield source


@pytest.mark.release
def test_random_histories_in_order_and_late(lake: Lake) -> None:
    """Two tables: one whose keys move and whose files come in order, one whose files come late but whose keys stay."""
    config = lake.config({"public.moving": KEPT, "public.late": KEPT})
    expected: dict[str, list[tuple[Any, ...]]] = {}
    files: dict[str, dict[int, list[tuple[Any, ...]]]] = {}
    for name in ("moving", "late"):
        sources = list(_sources(7, moves=name == "moving"))
        if name == "late":
            sources = [_without_moves(source) for source in sources]
        lake.load(f"public.{name}", ID_C_D, [(s.first_key + n, "load", "load") for s in sources for n in (0, 1)])
        expected[name] = sorted((k, row["c"], row["d"]) for s in sources for k, row in s.rows.items())
        files[name] = {}
        for change in (change for s in sources for change in s.log):
            files[name].setdefault(int(change[1][10:12]) // 8, []).append(change)
    order = {"moving": [[0], [1, 2], [3, 4, 5]], "late": [[1], [4, 0], [2, 5, 3]]}
    for turn in range(3):
        for name in order:
            for number in order[name][turn]:
                rows = sorted(files[name].get(number, []), key=lambda change: (change[1], change[2]))
                lake.changes(f"public.{name}", cdc(number * 8 + 9), ID_C_D, rows)
        for report in lake.run(config).tables.values():
            assert report.error is None, report.error
    for name in order:
        assert lake.rows(name, "id, c, d") == expected[name], name


def _without_moves(source: Source) -> Source:
    """The same history with keys that stay: a change of key becomes an update of the old key."""
    rng, first = source.rng, source.first_key
    calm = Source(rng, first, {first: {"c": "load", "d": "load"}, first + 1: {"c": "load", "d": "load"}})
    for change in source.log:
        op, minute, key, c, value = change[0], int(change[1][10:12]), change[3], change[4], change[5]
        if op == "I" or (key not in calm.rows and op == "U"):
            calm.rows[key] = {"c": c or "born", "d": value}
            calm.log.append(i(minute, key, c or "born", value))
        elif op == "U":
            calm.rows[key] = {"c": calm.rows[key]["c"] if c is None else c, "d": value}
            calm.log.append(u(minute, key, c, value))
        elif key in calm.rows:
            del calm.rows[key]
            calm.log.append(d(minute, key))
    return calm
