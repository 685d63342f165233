"""How many change files were ever merged into a table's content, and which, in two numbers: so a rebuild knows when bronze has lost one.

The list of recent files (`Progress.recent`) is bounded, and forgets. These numbers do not grow and cover all files of the load. A file
counts by its close time: moved into another folder, or uploaded again, it is the same. So files that were closed in the same millisecond,
in two date folders, count as one.
"""

from collections.abc import Iterable
from typing import Self

import attrs

from dms_iceberg.storage.store import digest

_BYTES = 8
_MODULUS = 1 << 8 * _BYTES
FOUND = 2
"""How many files that were never merged are found among those listed."""


@attrs.frozen
class MergedChanges:
    """The close times (17 digits) of all merged change files.

    Attributes:
        count: how many they are.
        combined: the sum of their digests, which does not depend on the order of merging.
    """

    count: int = 0
    combined: int = 0

    def plus(self, times: Iterable[str]) -> Self:
        """Return this with further close times; none of them may be in it."""
        new = set(times)
        return type(self)(self.count + len(new), (self.combined + sum(map(_number, new))) % _MODULUS)

    def minus(self, times: Iterable[str]) -> Self:
        """Return this without some of its close times."""
        gone = set(times)
        return type(self)(self.count - len(gone), (self.combined - sum(map(_number, gone))) % _MODULUS)

    def lost(self, listed: Iterable[str]) -> int | None:
        """Return how many merged files are not among the listed ones, at least; 0 where all are there, None where that is not known.

        A listing may also hold files that were never merged, because they came later than the look-back. Up to two of them are found, by
        what they add to the sum.

        Args:
            listed: the close times of files that count as merged.
        """
        there = {time: _number(time) for time in listed}
        further = len(there) - self.count
        rest = (sum(there.values()) - self.combined) % _MODULUS
        if further < 0:
            return -further
        if further > FOUND:
            return None
        return 0 if _is_sum(rest, set(there.values()), further) else 1

    def lost_by(self, other: "MergedChanges") -> int:
        """Return how many of these files another content has not merged, at least, as far as the numbers show it."""
        return self.count - other.count if self.count > other.count else int(self.count == other.count and self != other)


def _is_sum(rest: int, numbers: set[int], count: int) -> bool:
    """Whether ``count`` (0 to 2) different numbers have the sum ``rest``."""
    if count == 0:
        return rest == 0
    if count == 1:
        return rest in numbers
    return any((other := (rest - one) % _MODULUS) in numbers and other != one for one in numbers)


def _number(time: str) -> int:
    return int.from_bytes(digest(time, _BYTES))
