"""Tables of which a LOAD file appears once their load is complete, in every way that it may, and what the operator then does."""

import datetime as dt
import os
import random
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import attrs
import pyarrow as pa

from support.lake import Lake, sequence
from support.told_moments import PRESENT

BEGAN = dt.datetime(2026, 3, 2, 12, tzinfo=dt.UTC)
"""When DMS began to load some of the tables again, in place: minutes are counted from there."""
APPEARS = 300
TOUCHED, MOVED = "left over from the load before, and touched", "left over, and put into another folder"
SEGMENT, NEXT, ALONE = "in a segment of its own", "the next number", "of a table that was said to have no load"
SOON, MISSING = "soon after the others", "missing among the others"
KINDS = (TOUCHED, MOVED, SEGMENT, NEXT, ALONE, SOON, MISSING)
RELOADED = (TOUCHED, MOVED)
OUT, AGAIN, BELONGS = "moved out", "a load that began then", "a file of the load"
"""What the operator says of a file that is refused."""
Change = tuple[str, int, str | None]
_COLUMNS = [("id", pa.int64()), ("v", pa.string())]
_SERVICE = [("Op", pa.string()), ("dms_commit_ts", pa.string()), *_COLUMNS, ("dms_change_seq", pa.string())]


@attrs.frozen
class LateFile:
    """A table and its late file.

    Attributes:
        name: of the table.
        mode: of its silver table.
        kind: one of `KINDS`.
        way: `OUT`, `AGAIN` or `BELONGS`.
        loaded: rows of the first load; of keys that the file has no row of.
        rows: rows of the file.
        again: rows of the reload in place, of tables in `RELOADED`.
        changes: changes behind the first load.
        after: changes behind the reload.
    """

    name: str
    mode: str
    kind: str
    way: str
    loaded: Mapping[int, str]
    rows: Mapping[int, str]
    again: Mapping[int, str]
    changes: tuple[Change, ...]
    after: tuple[Change, ...]

    @property
    def source(self) -> str:
        """Name of the source table."""
        return f"public.{self.name}"

    @property
    def is_reloaded(self) -> bool:
        """Whether DMS loads the table again in place before the file appears."""
        return self.kind in RELOADED

    @property
    def is_late(self) -> bool:
        """Whether the file is refused. A log of changes needs no load, so nobody says that it has none."""
        return self.kind not in (SOON, MISSING) and (self.kind, self.mode) != (ALONE, "append")

    def begin(self, lake: Lake) -> None:
        """Write the first load and the changes behind it."""
        if self.kind != ALONE:
            self._load(lake, "LOAD00000001.parquet", self.loaded, -180)
        if self.is_reloaded:
            self._load(lake, "LOAD00000002.parquet", self.rows, -179)
        if self.kind == MISSING:
            self._load(lake, "LOAD00000003.parquet", {13: "third"}, -178)
        self._changes(lake, self.changes, -120)

    def load_again(self, lake: Lake) -> None:
        """Write the reload, where there is one."""
        lake.path(self.source, "LOAD00000001.parquet").unlink()
        self._load(lake, "LOAD00000001.parquet", self.again, 1)

    def go_on(self, lake: Lake, minutes: float = 5) -> None:
        """Write the changes behind it."""
        self._changes(lake, self.after if minutes == 5 else (("I", 20, "last"),), minutes)

    def appear(self, lake: Lake) -> None:
        """Let the late file appear."""
        second = lake.path(self.source, "LOAD00000002.parquet")
        match self.kind:
            case kind if kind == TOUCHED:
                _dated(second, APPEARS)
            case kind if kind == MOVED:
                moved = lake.path(self.source, "processed/LOAD00000002.parquet")
                _dated(second.rename(moved), APPEARS)
            case _:
                names = {SEGMENT: "SEGMENT1_LOAD00000001.parquet", ALONE: "LOAD00000001.parquet"}
                self._load(lake, names.get(self.kind, "LOAD00000002.parquet"), self.rows, -150 if self.kind == SOON else APPEARS)

    def take_away(self, lake: Lake) -> None:
        """Move the late file out of the table's folder."""
        for path in lake.path(self.source, "x").parent.rglob("*LOAD*.parquet"):
            if path.stat().st_mtime == _seconds(APPEARS):
                path.unlink()

    def shows(self, *, file: bool = False, last: bool = False) -> list[tuple[object, ...]]:
        """What silver shows before the file is merged, or with it, and the last change.

        Args:
            file: the file is merged, or is the new content.
            last: the last change is merged.
        """
        loads = [*_inserts(self.loaded if self.kind != ALONE else {}), *_inserts(self.rows if self.is_reloaded else {})]
        loads += _inserts({13: "third"} if self.kind == MISSING else {})
        log = [*loads, *self.changes]
        present = _applied({}, log)
        if self.is_reloaded:
            log += _inserts(self.again)
            present = dict(self.again)
        log += self.after
        present = _applied(present, self.after)
        if file:
            log += _inserts(self.rows)
            present = {**({} if self.is_late and self.way == AGAIN else present), **self.rows}
        log += [("I", 20, "last")] if last else []
        present |= {20: "last"} if last else {}
        if self.mode == "append":
            return sorted(((key, value, op) for op, key, value in log), key=str)
        return sorted(present.items())

    def shown(self, lake: Lake) -> list[tuple[object, ...]]:
        """What silver shows, as `shows` tells it."""
        columns = "id, v, _cdc_op" if self.mode == "append" else f"id, v, {PRESENT[self.mode]}"
        rows = lake.rows(self.name, columns)
        return sorted(rows, key=str) if self.mode == "append" else sorted(row[:2] for row in rows if row[2])

    def _load(self, lake: Lake, name: str, rows: Mapping[int, str], minutes: float) -> None:
        moment = f"{_at(minutes):%Y-%m-%d %H:%M:%S}.000000"
        _dated(lake.parquet(self.source, name, _SERVICE, [("I", moment, *row, "") for row in rows.items()]), minutes)

    def _changes(self, lake: Lake, changes: Iterable[Change], minutes: float) -> None:
        committed = _at(minutes - 0.5)
        values = [
            (op, f"{committed:%Y-%m-%d %H:%M:%S}.000000", key, value, sequence(f"{committed:%Y%m%d%H%M%S}", 61 + 4 * number), None)
            for number, (op, key, value) in enumerate(changes)
        ]
        name = f"{_at(minutes):%Y%m%d-%H%M%S}000.parquet"
        _dated(lake.parquet(self.source, name, [*_SERVICE, ("BI_id", pa.int64())], values), minutes)


def _at(minutes: float) -> dt.datetime:
    return BEGAN + dt.timedelta(minutes=minutes)


def _seconds(minutes: float) -> float:
    return _at(minutes).timestamp()


def _dated(path: Path, minutes: float) -> None:
    os.utime(path, (_seconds(minutes), _seconds(minutes)))


def _inserts(rows: Mapping[int, str]) -> list[Change]:
    return [("I", key, value) for key, value in rows.items()]


def _applied(rows: Mapping[int, str], changes: Iterable[Change]) -> dict[int, str]:
    found = dict(rows)
    for op, key, value in changes:
        if op == "D":
            found.pop(key, None)
        elif value is not None:
            found[key] = value
    return found


def late_files(seed: int, count: int) -> Iterator[LateFile]:
    """Yield random tables that between them have every kind, mode and way."""
    dice = random.Random(seed)
    kinds, modes, ways = list(KINDS), list(PRESENT), [OUT, AGAIN, BELONGS]
    for several in (kinds, modes, ways):
        dice.shuffle(several)
    for number in range(count):
        loaded = {key: f"old {key}" for key in dice.sample(range(1, 9), dice.randint(3, 6))}
        again = {key: dice.choice([f"old {key}", f"new {key}"]) for key in dice.sample(range(1, 9), dice.randint(1, 6))}
        rows = {key: f"file {key}" for key in dice.sample(range(30, 36), dice.randint(1, 3))}
        kind, mode = kinds[number % len(kinds)], modes[(number + number // len(kinds)) % len(modes)]
        way = ways[(number + number // len(ways)) % len(ways)]
        yield LateFile(f"t{number}", mode, kind, way, loaded, rows, again, _random_changes(dice, "seen"), _random_changes(dice, "after"))


def _random_changes(dice: random.Random, word: str) -> tuple[Change, ...]:
    # A key that is inserted where it is, or deleted where it is not, is of no matter here.
    found = (("D", key, None) if dice.random() < 0.3 else (dice.choice("IU"), key, f"{word} {key}") for key in dice.sample(range(1, 9), 3))
    return tuple(found)
