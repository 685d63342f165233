"""The design's order of changes in plain Python, one row at a time: what the job does with whole batches.

A change's place is (time part of the sequence, the file's close time, counter part); a loaded row is below all changes.
The newest place of a key wins, however the rows come in. Deleted keys leave a mark here; the job finds them in bronze.
"""

from collections.abc import Callable, Iterable
from typing import TypeAlias

import attrs

from dms_emulator.files import NOT_SUPPLIED
from support.oracle import Key, Row
from support.table_kind import TableKind
from support.task_files import BronzeFile, BronzeRow

Position: TypeAlias = tuple[str, ...]
PositionOf: TypeAlias = Callable[[BronzeFile, BronzeRow], Position]


def three_part(file: BronzeFile, row: BronzeRow) -> Position:
    """The design's position."""
    if file.is_load:
        return ("",)
    return (row.change.sequence[:16], file.name, row.change.sequence[16:])


def plain_sequence(file: BronzeFile, row: BronzeRow) -> Position:
    """What one would try first: the sequence as it is. Wrong once a counter starts again."""
    return (row.change.sequence,)


def commit_time(file: BronzeFile, row: BronzeRow) -> Position:
    """What hand-written jobs do: the commit timestamp. Wrong inside a transaction."""
    return (f"{row.change.commit_us:020d}",)


@attrs.define
class PositionTable:
    """A silver table kept by position: for each key the newest event, which is a row or a delete."""

    kind: TableKind
    position_of: PositionOf = three_part
    newest: dict[Key, tuple[Position, Row | None]] = attrs.field(factory=dict)
    quarantined: int = 0

    def merge(self, rows: Iterable[tuple[BronzeFile, BronzeRow]]) -> None:
        """Merge rows in whatever order they come."""
        for file, row in rows:
            self._merge_one(self.position_of(file, row), row)

    @property
    def rows(self) -> dict[Key, Row]:
        """What readers see."""
        return {key: row for key, (_, row) in self.newest.items() if row is not None}

    def _merge_one(self, position: Position, row: BronzeRow) -> None:
        cleaning, change = self.kind.cleaning, row.change
        values = self._source_row(row)
        key = cleaning.key_of(values)
        if change.op == "D":
            self._event(position, key, None)
            return
        if change.before is not None:
            old = tuple(now if was is None else was for was, now in zip(change.before, key, strict=True))
            if old != key:
                self._event(position, old, None)
        if cleaning.is_bad(values):
            self.quarantined += 1
        elif not cleaning.is_accepted(values) or any(rule(values) is False for rule in cleaning.drop):
            self._event(position, key, None)
        else:
            self._event(position, key, cleaning.silver_row(values))

    def _source_row(self, row: BronzeRow) -> Row:
        columns = (column.name for column in self.kind.layout.columns)
        return dict(zip(columns, row.change.values, strict=True))

    def _event(self, position: Position, source_key: Key, made: Row | None) -> None:
        key = self.kind.cleaning.silver_key_of(source_key)
        if key is None:
            return
        known = self.newest.get(key)
        if known is None or position > known[0]:
            self.newest[key] = (position, made)


def merge_kept(kind: TableKind, rows: Iterable[tuple[BronzeFile, BronzeRow]]) -> dict[Key, Row]:
    """The same for a table with kept columns, derived from all its rows in the order of positions.

    A column that was left out has the value its key had before, or its old key when the change moved it.
    """
    held: dict[Key, Row] = {}
    table = PositionTable(kind)
    for _, row in sorted(rows, key=lambda each: three_part(*each)):
        key, change = kind.cleaning.key_of(table._source_row(row)), row.change
        if change.op == "D":
            held.pop(key, None)
            continue
        old = key if change.before is None else change.before
        source = old if old in held else key
        before = held.pop(source, {})
        values = table._source_row(row)
        held[key] = {n: before.get(n) if v is NOT_SUPPLIED else v for n, v in values.items()}
    made = ((kind.cleaning.silver_key_of(key), kind.cleaning.silver_row(row)) for key, row in held.items())
    return {key: row for key, row in made if key is not None and row is not None}
