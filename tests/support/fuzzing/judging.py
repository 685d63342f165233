"""Whether silver and quarantine of a table are what its files say: refused, quarantined with a reason, or equal."""

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import attrs

from support import text_oracle as text
from support.fuzzing.forms import DECLARED
from support.fuzzing.read_parquet import UNFIT, Cell, Maybe, fit
from support.fuzzing.reading import FileRow, Reading

_NOTHING = Cell(None)
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
    """Findings about one table."""

    problems: list[str] = attrs.field(factory=list)
    effects: dict[Any, list[Effect]] = attrs.field(factory=lambda: defaultdict(list))
    unsure: set[Any] = attrs.field(factory=set)

    def judge(
        self, files: Sequence[ReadFile], silver: Iterable[dict[str, Any]], rejected: dict[tuple[str, int], str], rows_read: int
    ) -> list[str]:
        """Return what is wrong.

        Args:
            silver: rows by lower-case column, instants as microseconds and days as numbers.
            rejected: reasons by file and row number.
        """
        for file in files:
            self._file(file, {number: reason for (name, number), reason in rejected.items() if name == file.relative})
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

    def _file(self, file: ReadFile, rejected: dict[int, str]) -> None:
        if file.reading.broken and not rejected:
            self._wrong(file, None, f"is neither refused nor quarantined though it cannot be read: {file.reading.broken}")
        for row in file.reading.rows:
            effects, bad = effects_of(file, row)
            if row.number in rejected:
                self.unsure |= {key for key, _ in effects}
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
