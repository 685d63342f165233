"""The files of a DMS task run as the tests know them: each row with its place in the source's order.

The promise that histories keep (and without which no order could be told from the files): whatever is written again is
written again *to its end*. Once an older change of a clock tick stands in a later file, every newer change of that tick
stands in that file or a later one too. A restarted task does so by itself, since it goes on from where it went back to.
"""

from collections.abc import Iterable, Sequence
from itertools import pairwise

import attrs

from dms_emulator.files import Change, cdc_key, load_key


@attrs.frozen
class BronzeRow:
    """One row of a file. ``number`` is its change's place in the source's order, -1 for a loaded row."""

    number: int
    history: int
    change: Change

    def __str__(self) -> str:
        change = self.change
        before = "" if change.before is None else f" was {change.before}"
        return f"#{self.number} {change.op} {change.sequence[:16]}.{change.sequence[16:].lstrip('0')} {change.values}{before}"


@attrs.frozen
class BronzeFile:
    """One file. ``order`` is the number of a LOAD file, or the moment a CDC file was closed, in ms since 1970 UTC.

    ``folder`` is where it lies below the table's own folder. ``columns`` are those that the source had by then; None for all of its layout.
    """

    table: str
    is_load: bool
    order: int
    rows: tuple[BronzeRow, ...]
    folder: str = ""
    columns: frozenset[str] | None = None

    def key(self, schema: str, extension: str) -> str:
        """Its object's key below the bucket folder."""
        if self.is_load:
            return load_key(schema, self.table, self.order, extension)
        key = cdc_key(schema, self.table, self.order, extension)
        place, _, name = key.rpartition("/")
        return "/".join([place, self.folder, name]) if self.folder else key

    @property
    def name(self) -> str:
        """Its name without the extension."""
        return self.key("s", "").rsplit("/", 1)[1].removesuffix(".")

    def only(self, history: int) -> "BronzeFile":
        """The same file with the rows of one history."""
        return attrs.evolve(self, rows=tuple(row for row in self.rows if row.history == history))


def is_complete(files: Iterable[BronzeFile]) -> bool:
    """Whether, in every clock tick, the last writings of its changes stand in the source's order."""
    last: dict[str, dict[int, tuple[int, str]]] = {}
    for file in files:
        for row in file.rows:
            sequence = row.change.sequence
            spots = last.setdefault(sequence[:16], {})
            spots[row.number] = max(spots.get(row.number, (0, "")), (file.order, sequence[16:]))
    return all(_rises([spots[number] for number in sorted(spots)]) for spots in last.values())


def _rises(spots: Sequence[tuple[int, str]]) -> bool:
    return all(one < two for one, two in pairwise(spots))
