"""Whether silver and quarantine of a table are what its files say: refused, quarantined with a reason, or equal."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import attrs

from support import text_oracle as text
from support.fuzzing.forms import DECLARED
from support.fuzzing.read_parquet import UNFIT, Cell, Maybe, fit
from support.fuzzing.reading import FileRow, Reading

_NOTHING = Cell(None)
WHOLE = "[whole]"
"""The label of a file that was not mutated."""
_KNOWN_COLUMNS = ("op", "dms_commit_ts", "dms_change_seq", "bi_id")


@attrs.frozen(eq=False)
class ReadFile:
    """A file of a table that was not refused.

    Attributes:
        relative: its key below the table's folder.
        label: what was done to it, for messages.
    """

    relative: str
    label: str
    reading: Reading

    @property
    def is_whole(self) -> bool:
        """It was not mutated."""
        return self.label == WHOLE

    @property
    def is_load(self) -> bool:
        return "LOAD" in self.relative

    @property
    def close_time(self) -> str:
        return re.sub("[^0-9]", "", self.relative.rpartition("/")[2])[:17]


@attrs.frozen(eq=False)
class Effect:
    """What a row does to a key: it brings values, or None takes the key away."""

    order: tuple[str, ...]
    file: ReadFile
    row: FileRow
    values: dict[str, Any] | None


@attrs.define
class Judgement:
    """Findings about one table.

    Attributes:
        good: rows with which nothing is wrong.
        good_rejected: those of them that are in quarantine all the same, which is allowed, as long as it is rare.
    """

    problems: list[str] = attrs.field(factory=list)
    effects: dict[Any, list[Effect]] = attrs.field(factory=lambda: defaultdict(list))
    unsure: set[Any] = attrs.field(factory=set)
    good: int = 0
    good_rejected: int = 0

    def judge(
        self, files: Sequence[ReadFile], silver: Iterable[dict[str, Any]], rejected: dict[tuple[str, int], str], rows_read: int
    ) -> list[str]:
        """Return what is wrong.

        Args:
            silver: rows by lower-case column, instants as microseconds and days as numbers.
            rejected: reasons by file and row number.
        """
        for file in files:
            self.file(file, {number: reason for (name, number), reason in rejected.items() if name == file.relative})
        told = sum(len(file.reading.rows) for file in files)
        if rows_read != told and not any(file.reading.broken for file in files):
            self.problems.append(f"{rows_read} rows read, but the files have {told}: {[(f.label, len(f.reading.rows)) for f in files]}")
        found: dict[Any, dict[str, Any]] = {}
        for row in silver:
            if row["id"] in found:
                self.problems.append(f"key {row['id']} twice")
            found[row["id"]] = row
        for key in self.effects.keys() | found.keys():
            self._key(key, found.get(key))
        return self.problems

    def file(self, file: ReadFile, rejected: dict[int, str]) -> None:
        """Judge what became of a file's rows, and keep what they do."""
        if file.reading.broken and not rejected:
            self._wrong(file, None, f"is neither refused nor quarantined though it cannot be read: {file.reading.broken}")
        for row in file.reading.rows:
            effects, bad = effects_of(file, row)
            self.good += not bad
            if row.number in rejected:
                self.good_rejected += not bad
                self.unsure |= {key for key, _ in effects}
                if file.is_whole:
                    self._wrong(file, row, f"is in quarantine, though nothing is wrong with it: {rejected[row.number]}")
                continue
            if bad:
                self._wrong(file, row, f"must be quarantined: {bad}")
                continue
            for key, effect in effects:
                self.effects[key].append(effect)
        surplus = {number: reason for number, reason in rejected.items() if number >= len(file.reading.rows)}
        if surplus and not file.reading.broken:
            self._wrong(file, None, f"has {len(file.reading.rows)} rows, but in quarantine are {surplus}")

    def _wrong(self, file: ReadFile, row: FileRow | None, what: str) -> None:
        self.problems.append(f"{file.label} {file.relative}{'' if row is None else f' row {row.number} {_told(row)}'} {what}")

    def _key(self, key: Any, found: dict[str, Any] | None) -> None:
        effects = self.effects.get(key, [])
        if not effects:
            if key not in self.unsure:
                self.problems.append(f"key {key}: no file has it, silver does: {found}")
            return
        # What the file's order does not tell, and what a rejected row would have done, is left open.
        newest = max(effect.order for effect in effects)
        allowed = effects if key in self.unsure else [effect for effect in effects if effect.order == newest]
        misses = [difference(effect.values, found) for effect in allowed]
        if all(misses) and not (found is None and key in self.unsure):
            told = "; ".join(f"{effect.file.label} {effect.file.relative} row {effect.row.number}" for effect in allowed)
            self.problems.append(f"key {key}: {misses[-1]} ({told})")


@attrs.frozen(eq=False)
class MadeRow:
    """A cleaned row: what the readers made of a row of a file, or of half of it.

    Attributes:
        number: the row's place in its file.
        key: the row's silver key.
        values: None where the key is taken away.
        problem: why it goes to the quarantine.
    """

    relative: str
    number: int
    position: str | None
    key: Any
    values: dict[str, Any] | None
    problem: str | None


def judge_rows(files: Sequence[ReadFile], made: Iterable[MadeRow]) -> Judgement:
    """Judge cleaned rows: each row of a file is rejected, or does what the file says, in the file's order."""
    by_file: dict[str, dict[int, list[MadeRow]]] = defaultdict(lambda: defaultdict(list))
    for one in made:
        by_file[one.relative][one.number].append(one)
    judgement, placed = Judgement(), list[_Placed]()
    for file in files:
        by_row = by_file[file.relative]
        rejected = {number: one.problem for number, rows in by_row.items() for one in rows if one.problem}
        judgement.file(file, rejected)
        if surplus := sorted(number for number in by_row.keys() - rejected.keys() if number >= len(file.reading.rows)):
            judgement.problems += [] if file.reading.broken else [f"{file.label} {file.relative} has no rows {surplus}"]
        for row in file.reading.rows:
            if row.number not in rejected:
                judgement.problems += _row_differences(file, row, by_row[row.number], placed)
    judgement.problems += _disorder(placed)
    return judgement


@attrs.frozen(order=True)
class _Placed:
    """A cleaned row by its position, and the clock that its file gives it; "" for a row of a full load."""

    position: str
    clock: str
    label: str


def _row_differences(file: ReadFile, row: FileRow, found: list[MadeRow], placed: list[_Placed]) -> list[str]:
    """What is wrong with the cleaned rows of a row; those that are right are added to ``placed``."""
    effects, _ = effects_of(file, row)
    label = f"{file.label} {file.relative} row {row.number}"
    if len(found) != len(effects):
        return [f"{label}: {len(found)} changes instead of {len(effects)} {_told(row)}"]
    left, problems = list(found), []
    for key, effect in effects:
        match = next((one for one in left if one.key == key and not difference(effect.values, one.values)), None)
        if match is None:
            misses = [f"key {one.key}, {difference(effect.values, one.values)}" for one in left]
            problems.append(f"{label}: nothing of {misses} is what the row does to key {key} {_told(row)}")
        else:
            left.remove(match)
            placed.append(_Placed(match.position or "", effect.order[0], label))
    return problems


def _disorder(placed: list[_Placed]) -> list[str]:
    """Positions have the order of the files' clocks; rows without one may have any."""
    return [
        f"{after.label} comes before {before.label}, but is placed behind it ({before.position}, {after.position})"
        for before, after in pairwise(sorted(one for one in placed if one.clock))
        if after.clock < before.clock and before.position < after.position
    ]


def _told(row: FileRow) -> str:
    return str({name: str(cell.value)[:40] for name, cell in row.cells.items()})


def effects_of(file: ReadFile, row: FileRow) -> tuple[list[tuple[Any, Effect]], str]:
    """What a row does, and why it must not do it, if so."""
    if row.broken:
        return [], row.broken
    cells = row.cells
    op = cells.get("op", _NOTHING).value
    key = fit(cells.get("id", _NOTHING), "id")
    order, disorder = _order(file, cells)
    values = {name: fit(cells.get(name, _NOTHING), name) for name in (*DECLARED, *(n for n in cells if n not in _KNOWN_COLUMNS))}
    bad = ""
    if op not in ("I", "U", "D"):
        bad = f"operation {op!r}"
    elif key is None or key is UNFIT:
        bad = "no key"
    elif op != "D":
        bad = ", ".join(f"{name} is unfit" for name, value in values.items() if value is UNFIT)
    effects = []
    before = fit(Cell(cells["bi_id"].value, cells["bi_id"].type), "id") if "bi_id" in cells else None
    if op == "U" and before not in (None, UNFIT) and not isinstance(before, Maybe) and before != key and not file.is_load:
        effects.append((before, Effect((*order, "0"), file, row, None)))
    if key is not None and key is not UNFIT and not isinstance(key, Maybe):
        effects.append((key, Effect((*order, "1"), file, row, None if op == "D" else values)))
    return effects, bad or disorder


def _order(file: ReadFile, cells: dict[str, Cell]) -> tuple[tuple[str, ...], str]:
    """The place of a row among all changes of its key, and why it has none."""
    if file.is_load:
        return ("", "", ""), ""
    if "dms_change_seq" in cells:
        sequence = cells["dms_change_seq"].value
        if not isinstance(sequence, str) or not re.fullmatch("[0-9]{35}", sequence, re.ASCII):
            return ("", "", ""), "no sequence"
        return (sequence[:16], file.close_time, sequence[16:]), ""
    committed = cells.get("dms_commit_ts", _NOTHING).value
    if not isinstance(committed, str) or text.instant(committed) is None:
        return ("", "", ""), "neither sequence nor commit time" if committed is None else ""
    return (re.sub("[^0-9]", "", committed)[:16], file.close_time, ""), ""


def difference(expected: dict[str, Any] | None, found: dict[str, Any] | None) -> str:
    """What a silver row has that it should not, "" when it is as expected."""
    if expected is None or found is None:
        return "" if expected is None and found is None else "a row too many" if expected is None else "the row is missing"
    for name, value in found.items():
        wanted = expected.get(name)
        if isinstance(wanted, Maybe):
            if value is None or not wanted.test(value):
                return f"{name} is {str(value)[:60]!r}, which the file's value is not"
        elif not text.same(value, wanted):
            return f"{name} is {str(value)[:60]!r} instead of {str(wanted)[:60]!r}"
    return ""
