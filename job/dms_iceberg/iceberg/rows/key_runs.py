"""The keys of a large data file, kept in a few bytes where they are numbers that mostly follow one another.

Keys that a sequence of the source gave, in files that a load or a MERGE wrote in their order, are one run, or a few. The column itself
would take eight bytes a row, and to read it for each batch takes a second of the processor for fifty million rows.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterable

import attrs
import pyarrow as pa
import pyarrow.compute as pc

_ROWS_OF_RUN = 12
"""A run takes 24 bytes: a file's runs have at least so many rows on average, so that a row takes two bytes at most."""
_INTEGERS = (pa.int32(), pa.int64())


@attrs.frozen(eq=False)
class KeyRuns:
    """Where the keys of a file are: in runs, in each of which the next row has the next number.

    Attributes:
        firsts: the first key of each run, rising; no key is in two runs.
        lengths: rows of each run.
        positions: position in the file of each run's first row.
    """

    firsts: "array[int]"
    lengths: "array[int]"
    positions: "array[int]"

    @property
    def nbytes(self) -> int:
        """Bytes that they take."""
        return sum(one.itemsize * len(one) for one in (self.firsts, self.lengths, self.positions))

    def find(self, keys: Iterable[int]) -> list[tuple[int, int]]:
        """Return position and key of the rows that have one of some keys, in order of positions."""
        found = []
        for key in set(keys):
            run = bisect_right(self.firsts, key) - 1
            if run >= 0 and key - self.firsts[run] < self.lengths[run]:
                found.append((self.positions[run] + key - self.firsts[run], key))
        return sorted(found)


NO_RUNS = KeyRuns(array("q"), array("q"), array("q"))
"""Kept in place of the keys of a file that has too many runs."""


def key_runs(keys: pa.ChunkedArray) -> KeyRuns | None:
    """Return the runs of all keys of a file, in the order of its rows; None if they are no integers, too scattered, or one comes twice."""
    rows = len(keys)
    if keys.type not in _INTEGERS or keys.null_count or not rows:
        return None
    values = keys.cast(pa.int64()).combine_chunks()
    try:
        follows = pc.equal(pc.pairwise_diff_checked(values), 1)
    except pa.ArrowInvalid:
        return None
    begins = pc.invert(pc.fill_null(follows, fill_value=False))
    if (pc.sum(begins).as_py() or 0) * _ROWS_OF_RUN > rows:
        return None
    positions = pc.indices_nonzero(begins).cast(pa.int64())
    lengths = pc.subtract(pa.concat_arrays([positions[1:], pa.array([rows], pa.int64())]), positions)
    firsts = values.take(positions)
    order = pc.sort_indices(firsts)
    runs = KeyRuns(*(array("q", one.take(order).to_pylist()) for one in (firsts, lengths, positions)))
    ends = (first + length for first, length in zip(runs.firsts, runs.lengths, strict=True))
    return None if any(end > first for end, first in zip(ends, runs.firsts[1:], strict=False)) else runs
