"""Tables that DMS loads again in place, told at one moment that is right for some of them, and too early or too late for others.

All are told the same moment: each table's own story lies before or after it, so that one run judges every way to be wrong.
"""

import datetime as dt
import os
import random
from collections import Counter
from collections.abc import Iterable, Iterator

import attrs
import pyarrow as pa

from support.lake import Lake, sequence

TOLD = dt.datetime(2026, 3, 2, 12, tzinfo=dt.UTC)
BAD = "bad"
ENTRY = {"rules": [{"name": "good", "expr": f"v <> '{BAD}'", "on_fail": "quarantine"}]}
PRESENT = {"mirror": "true", "soft_delete": "NOT _cdc_deleted", "history": "_is_current", "append": "true"}
OFFSETS = {
    "before the load before": -240,
    "within the load before": -179.5,
    "before changes that nobody has any more": -150,
    "before the last changes": -21,
    "a little early": -8,
    "right": -0.5,
    "the moment of the first file": 1,
    "between the files": 1.5,
    "after the load": 3,
    "after later changes": 8,
    "in a zone ahead": 120,
}
"""Minutes from the begin of the reload to the moment that is told."""
CERTAIN = ("a little early", "right", "the moment of the first file")
LEFT, GONE, NONE = "left", "gone", "none"
"""Which LOAD files bronze has: those of the load before that the reload did not overwrite, too; those of the reload; none at all."""
PLAIN, WAITING, OPEN, BEHIND = "plain", "waiting", "open", "behind"
"""What else is so: change files from before the reload that no run has merged; one that was open when the reload began, and was merged
before any LOAD file was there; files after the reload with names in a zone behind UTC."""
_WAITS, _OPEN, _AFTER = -10, 0.5, 5
"""Minutes from the begin of the reload to the close of the files of these changes."""
Change = tuple[str, int, str | None]
_COLUMNS = [("id", pa.int64()), ("v", pa.string())]


@attrs.frozen
class Story:
    """What a table was, and how it was loaded again.

    Attributes:
        name: of the table.
        mode: of its silver table.
        offset: a key of `OFFSETS`.
        files: `LEFT`, `GONE` or `NONE`.
        old: rows of the first load; the source has them no more where it is loaded again.
        seen: changes that were captured after it, hours before the reload; others after these were lost.
        new: rows of the reload.
        after: changes after it.
        kind: `PLAIN`, `WAITING`, `OPEN` or `BEHIND`.
        more: the changes that wait, or were in the open file.
    """

    name: str
    mode: str
    offset: str
    files: str
    old: dict[int, str]
    seen: tuple[Change, ...]
    new: dict[int, str]
    after: tuple[Change, ...]
    kind: str = PLAIN
    more: tuple[Change, ...] = ()

    @property
    def began(self) -> dt.datetime:
        """When DMS began to load the table again."""
        return TOLD - dt.timedelta(minutes=OFFSETS[self.offset])

    def at(self, minutes: float) -> dt.datetime:
        """A moment, in minutes after the begin of the reload."""
        return self.began + dt.timedelta(minutes=minutes)

    @property
    def is_certain(self) -> bool:
        """Whether the files prove the moment, so that the reload must be published without a further word."""
        if self.kind == BEHIND or self.files == NONE:
            return False
        # An open file that is merged already would be merged twice, or win over the load, unless the moment is after its close.
        return self.offset in CERTAIN and (self.kind != OPEN or OFFSETS[self.offset] >= _OPEN)

    def before(self) -> list[tuple[object, ...]]:
        """What silver shows before the reload."""
        return self._shown([*self.seen, *(self.more if self.kind == OPEN else ())])

    def refused(self) -> list[tuple[object, ...]]:
        """What silver shows where the reload is refused or has to be confirmed: files from before the moment are merged by then."""
        told = OFFSETS[self.offset] if self.files == NONE else -999
        waited = self.more if self.kind == OPEN or (self.kind == WAITING and told >= _WAITS) else ()
        return self._shown([*self.seen, *waited, *(self.after if told >= _AFTER else ())])

    def _shown(self, changes: list[Change]) -> list[tuple[object, ...]]:
        if self.mode == "append":
            return _log(self.old, changes)
        return sorted(_applied({}, [*_inserts(self.old), *changes]).items())

    def expected(self) -> list[tuple[object, ...]]:
        """What silver shows after the reload and the changes behind it."""
        if self.mode == "append":
            return sorted([*_log(self.old, [*self.seen, *self.more]), *_log(self.new, self.after)], key=str)
        was = _applied({}, [*_inserts(self.old), *self.seen, *self.more])
        # The last good version of a key stays where the reload has a bad one.
        kept = {key: was[key] for key, value in self.new.items() if value == BAD and key in was}
        return sorted(_applied(kept, [*_inserts(self.new), *self.after]).items())

    def load_first(self, lake: Lake) -> None:
        """Write the first load and the changes that were captured."""
        rows = sorted(self.old.items())
        self._load(lake, 1, rows[::2], -180)
        self._load(lake, 2, rows[1::2], -179)
        for minutes, changes in ((-120, self.seen[::2]), (-20, self.seen[1::2])):
            self._changes(lake, changes, minutes)
        if self.kind == OPEN:
            self._changes(lake, self.more, _OPEN)

    def load_again(self, lake: Lake) -> None:
        """Write the reload over the first load, and the changes behind it."""
        rows = sorted(self.new.items())
        is_shorter = self.files == LEFT and not rows[1::2]
        for number in (1, 2):
            path = lake.path(f"public.{self.name}", f"LOAD{number:08X}.parquet")
            if not (is_shorter and number == 2):
                path.unlink()
        if self.files != NONE:
            self._load(lake, 1, rows[::2], 1)
            if not is_shorter:
                self._load(lake, 2, rows[1::2], 2)
        if self.kind == WAITING:
            self._changes(lake, self.more, _WAITS)
        self._changes(lake, self.after, _AFTER, hours_behind=5 if self.kind == BEHIND else 0)

    def _load(self, lake: Lake, number: int, rows: Iterable[tuple[int, str]], minutes: float) -> None:
        service = [("Op", pa.string()), ("dms_commit_ts", pa.string()), *_COLUMNS, ("dms_change_seq", pa.string())]
        moment = self.at(minutes)
        values = [("I", f"{moment:%Y-%m-%d %H:%M:%S}.000000", *row, "") for row in rows]
        _write(lake, f"public.{self.name}", f"LOAD{number:08X}.parquet", service, values, moment)

    def _changes(self, lake: Lake, changes: Iterable[Change], minutes: float, hours_behind: int = 0) -> None:
        service = [("Op", pa.string()), ("dms_commit_ts", pa.string()), *_COLUMNS, ("dms_change_seq", pa.string()), ("BI_id", pa.int64())]
        moment = self.at(minutes)
        committed = moment - dt.timedelta(seconds=30)
        values = [
            (op, f"{committed:%Y-%m-%d %H:%M:%S}.000000", key, value, sequence(f"{committed:%Y%m%d%H%M%S}", 61 + 4 * number), None)
            for number, (op, key, value) in enumerate(changes)
        ]
        if values:
            named = moment - dt.timedelta(hours=hours_behind)
            _write(lake, f"public.{self.name}", f"{named:%Y%m%d-%H%M%S}000.parquet", service, values, moment)


def _write(
    lake: Lake, table: str, name: str, columns: list[tuple[str, pa.DataType]], rows: list[tuple[object, ...]], at: dt.datetime
) -> None:
    path = lake.parquet(table, name, columns, rows)
    os.utime(path, (at.timestamp(), at.timestamp()))


def _inserts(rows: dict[int, str]) -> list[Change]:
    return [("I", key, value) for key, value in rows.items()]


def _applied(rows: dict[int, str], changes: Iterable[Change]) -> dict[int, str]:
    found = dict(rows)
    for op, key, value in changes:
        if op == "D":
            found.pop(key, None)
        elif value is not None and value != BAD:
            found[key] = value
    return found


def _log(rows: dict[int, str], changes: Iterable[Change]) -> list[tuple[object, ...]]:
    good = [(key, value, op) for op, key, value in (*_inserts(rows), *changes) if value != BAD]
    return sorted(good, key=str)


def shown(lake: Lake, story: Story) -> list[tuple[object, ...]]:
    """What a silver table shows, as `Story.before` and `Story.expected` tell it."""
    columns = "id, v, _cdc_op" if story.mode == "append" else f"id, v, {PRESENT[story.mode]}"
    rows = lake.rows(story.name, columns)
    return sorted(rows, key=str) if story.mode == "append" else sorted(row[:2] for row in rows if row[2])


def stories(seed: int, count: int) -> Iterator[Story]:
    """Yield random stories that between them have every offset, mode and state of the files."""
    dice = random.Random(seed)
    ways = [(offset, files) for offset in OFFSETS for files in (LEFT, GONE, NONE)]
    dice.shuffle(ways)
    # What must be accepted is rarer than what must be refused.
    ways = [one for _ in range(count) for one in [*ways, *[("right", LEFT), ("a little early", GONE)] * 4]]
    for number, (offset, files) in zip(range(count), ways, strict=False):
        old = {key: f"old {key}" for key in dice.sample(range(1, 9), dice.randint(3, 6))}
        new = {key: dice.choice([f"old {key}", f"new {key}", f"new {key}", BAD]) for key in dice.sample(range(1, 9), dice.randint(1, 6))}
        mode = (*PRESENT,)[(number + seed) % len(PRESENT)]
        kind = dice.choice([PLAIN, PLAIN, WAITING, OPEN, BEHIND])
        more = _changes(dice, "more") if kind in (WAITING, OPEN) else ()
        yield Story(f"t{number}", mode, offset, files, old, _changes(dice, "seen"), new, _changes(dice, "after"), kind, more)


def _changes(dice: random.Random, word: str) -> tuple[Change, ...]:
    keys = dice.sample(range(1, 9), dice.randint(2, 4))
    found: list[Change] = []
    for key in keys:
        op = dice.choice("IUD")
        found.append((op, key, None if op == "D" else dice.choice([f"{word} {key}", f"{word} {key}", BAD])))
    return tuple(found)


def tally(told: Iterable[tuple[Story, bool]]) -> Counter[tuple[str, bool]]:
    """How often each offset was accepted or refused."""
    return Counter((story.offset, is_accepted) for story, is_accepted in told)
