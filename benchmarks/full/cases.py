"""The cases of the full benchmark, and the plan of one case: its change files, the batch of each file, and the expected result."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final

import attrs
import numpy as np

from benchmarks.changes import DELETE_HEAVY, DELETES, EVERYDAY, UPDATE_HEAVY, Mix, Pattern, Source
from benchmarks.dms_files import FILE_ROWS, write_batch
from benchmarks.lake import Expectation
from benchmarks.shapes import COMPOSITE, ORDERS, SHAPES, WIDE, Shape
from benchmarks.shop import Keys

LARGEST_SHARE: Final = 5
"""A batch changes at most a fifth of the table's rows: on a small table the cases shrink, for a quick look."""
FILES_OF_DISORDER: Final = 4


class Arrival(StrEnum):
    """When a change gets into a file, and when the file arrives."""

    IN_ORDER = "in order"
    SHUFFLED = "shuffled"
    """The rows of each file are in any order; only their sequence shows which is the newest."""
    LATE_FILE = "late file"
    """The first file of each batch arrives with the next batch; with the last batch everything has arrived."""


@attrs.frozen
class Case:
    """Batches of one kind.

    Attributes:
        says: description for the reader of a chart.
        size: changes per batch, on a table that has at least `LARGEST_SHARE` times as many rows.
    """

    name: str
    says: str
    size: int
    mix: Mix = EVERYDAY
    pattern: Pattern = Pattern.SCATTERED
    arrival: Arrival = Arrival.IN_ORDER
    shape: Shape = ORDERS

    def changes(self, rows: int) -> int:
        """Return the changes per batch on a table of ``rows``."""
        return min(self.size, rows // LARGEST_SHARE)


CASES: Final = {
    case.name: case
    for case in (
        Case("everyday-100k", "60 % updates, 20 % inserts, 20 % deletes", 100_000),
        Case("everyday-1k", "the same, small", 1_000),
        Case("everyday-1m", "the same, large", 1_000_000),
        Case("update-heavy-100k", "90 % updates", 100_000, UPDATE_HEAVY),
        Case("delete-heavy-100k", "70 % deletes", 100_000, DELETE_HEAVY),
        Case("deletes-100k", "only deletes", 100_000, DELETES),
        Case("skewed-100k", "a fifth of the updates are of one row", 100_000, UPDATE_HEAVY, Pattern.SKEWED),
        Case("out-of-order-100k", "the rows of each file in any order", 100_000, arrival=Arrival.SHUFFLED),
        Case("late-file-100k", "a file of each batch is seen a batch later", 100_000, arrival=Arrival.LATE_FILE),
        Case("wide-100k", "50 columns", 100_000, shape=WIDE),
        Case("composite-100k", "a key of two strings", 100_000, shape=COMPOSITE),
    )
}


@attrs.frozen(eq=False)
class Plan:
    """A case's files on disk.

    Attributes:
        bronze: folder of the files, as DMS would have written them.
        batches: the files of each batch, in the order of their names.
        changes: the number of changes in each batch.
    """

    case: Case
    bronze: Path
    batches: tuple[tuple[Path, ...], ...]
    changes: tuple[int, ...]
    expectation: Expectation

    def save(self, path: Path) -> None:
        """Write the plan for the contestants' processes."""
        np.savez(
            path,
            case=self.case.name,
            bronze=str(self.bronze),
            files=[str(file) for batch in self.batches for file in batch],
            lengths=[len(batch) for batch in self.batches],
            changes=self.changes,
            size=self.expectation.size,
            touched=self.expectation.touched,
            now=self.expectation.now,
        )


def load_plan(path: Path) -> Plan:
    """Read what `Plan.save` wrote."""
    with np.load(path) as saved:
        case = CASES[str(saved["case"])]
        files = iter(Path(str(file)) for file in saved["files"])
        batches = tuple(tuple(next(files) for _ in range(length)) for length in saved["lengths"])
        expectation = Expectation(int(saved["size"]), saved["touched"], saved["now"], SHAPES[case.shape.table])
        return Plan(case, Path(str(saved["bronze"])), batches, tuple(map(int, saved["changes"])), expectation)


def plan_case(case: Case, rows: int, batches: int, folder: Path) -> Plan:
    """Create a case's changes and write their files below ``folder``."""
    source, random = Source(rows), np.random.default_rng(7)
    size = case.changes(rows)
    file_rows = FILE_ROWS if case.arrival is Arrival.IN_ORDER else max(1, min(FILE_ROWS, size // FILES_OF_DISORDER))
    touched: list[Keys] = []
    written: list[tuple[Path, ...]] = []
    for number in range(batches):
        changes = source.change(size, case.pattern, case.mix)
        touched.append(changes.touched)
        shuffle = random if case.arrival is Arrival.SHUFFLED else None
        written.append(write_batch(changes, number, folder, None, case.shape, shuffle, file_rows).parquet)
    seen = hold_back(written) if case.arrival is Arrival.LATE_FILE else written
    every = np.unique(np.concatenate(touched))
    counts = [size] * batches
    if case.arrival is Arrival.LATE_FILE and batches > 1:
        counts[0], counts[-1] = size - file_rows, size + file_rows
    return Plan(case, folder, tuple(seen), tuple(counts), Expectation(rows, every, source.versions(every), case.shape))


def hold_back(batches: Sequence[tuple[Path, ...]]) -> list[tuple[Path, ...]]:
    """Return the same files with the first of each batch, except the last batch, moved to the next batch."""
    seen = []
    late: tuple[Path, ...] = ()
    for number, files in enumerate(batches):
        last = number == len(batches) - 1
        seen.append((*late, *(files if last else files[1:])))
        late = files[:1]
    return seen
