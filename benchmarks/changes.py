"""Batches of changes of the source table: which keys change, how, and in which order. Pure numpy, no files."""

from enum import StrEnum
from typing import Final

import attrs
import numpy as np
import numpy.typing as npt

from benchmarks.shop import ABSENT, LOADED, Keys

INSERT: Final = 0
UPDATE: Final = 1
DELETE: Final = 2


class Pattern(StrEnum):
    """Which rows change: any of the table, only the newest twentieth of the keys, or some of them again and again."""

    SCATTERED = "scattered"
    RECENT = "recent"
    SKEWED = "skewed"


RECENT_SHARE: Final = 0.05
REPEATED_UPDATES: Final = 0.1
"""Share of the updates that change a key which the same batch has already updated: superseded rows that collapse drops."""
SKEW: Final = 1.2
"""Exponent of the Zipf distribution of skewed updates: one row gets nearly a fifth of them."""
_SPREAD: Final = 2_654_435_761  # Knuth's multiplier: hot rows are spread over the table

HOT_ROWS: Final = 5
"""`HOT_CHANGES` of the skewed changes hit one in `HOT_ROWS` rows, spread over the table: 80 % of the changes, 20 % of the rows."""
HOT_CHANGES: Final = 0.8


@attrs.frozen
class Mix:
    """Shares of the operations; the rest are deletes."""

    updates: float
    inserts: float


EVERYDAY: Final = Mix(updates=0.6, inserts=0.2)
UPDATE_HEAVY: Final = Mix(updates=0.9, inserts=0.05)
DELETE_HEAVY: Final = Mix(updates=0.2, inserts=0.1)
DELETES: Final = Mix(updates=0, inserts=0)
CHURN: Final = Mix(updates=0.6, inserts=0.1)
"""Updates and deletes, few inserts: work for the lookup of a MERGE."""


@attrs.frozen(eq=False)
class Changes:
    """A batch, in the order in which the source made its changes.

    Attributes:
        ops: `INSERT`, `UPDATE` or `DELETE` per change.
        keys: the changed key.
        versions: the row's version after the change; unused for deletes.
        touched: every changed key once, ascending.
        before: version of each touched key before the batch, `ABSENT` for inserted ones.
        after: the same after the batch, `ABSENT` for deleted ones.
    """

    ops: npt.NDArray[np.int8]
    keys: Keys
    versions: Keys
    touched: Keys
    before: Keys
    after: Keys

    def __len__(self) -> int:
        return len(self.ops)


class Source:
    """The source table as one version per key. `change` creates a batch and applies it here."""

    def __init__(self, rows: int, seed: int = 1) -> None:
        self._versions: Keys = np.full(rows, LOADED, dtype=np.int64)
        self._random = np.random.default_rng(seed)
        self._clock = LOADED

    def keys(self) -> Keys:
        """Return the keys of the existing rows, ascending."""
        return np.flatnonzero(self._versions != ABSENT)

    def versions(self, keys: Keys) -> Keys:
        """Return the current version of each key, `ABSENT` if there is no such row."""
        known = keys < len(self._versions)
        return np.where(known, self._versions[np.where(known, keys, 0)], ABSENT)

    def change(self, size: int, pattern: Pattern, mix: Mix) -> Changes:
        """Create the next ``size`` changes.

        Raises:
            ValueError: the pattern has fewer rows than the batch updates and deletes.
        """
        updates, inserts = round(size * mix.updates), round(size * mix.inserts)
        deletes = size - updates - inserts
        if pattern is Pattern.SKEWED:
            deleted = self._pick(deletes, Pattern.SCATTERED)
            updated = self._hot(updates, deleted)
        else:
            repeated = round(updates * REPEATED_UPDATES)
            existing = self._pick(updates - repeated + deletes, pattern)
            once, deleted = existing[: updates - repeated], existing[updates - repeated :]
            updated = np.concatenate([once, self._random.choice(once, repeated)]) if repeated else once
        new = np.arange(len(self._versions), len(self._versions) + inserts)

        keys = np.concatenate([new, updated, deleted])
        ops = np.repeat([INSERT, UPDATE, DELETE], [inserts, updates, deletes]).astype(np.int8)
        # Within a batch a key is only inserted, only updated or only deleted, so that every order is a possible history.
        order = self._random.permutation(size)
        keys, ops = keys[order], ops[order]
        versions = self._clock + 1 + np.arange(size)
        return self._apply(ops, keys, versions)

    def change_skewed(self, size: int, mix: Mix) -> Changes:
        """Create the next ``size`` changes: four fifths of them hit a fifth of the rows, and a key may change several times.

        Updates and deletes are drawn with the shares of ``mix``. A change of a key that the batch has deleted inserts it again, so there
        are somewhat more inserts than ``mix`` says. Other inserts are of new keys.
        """
        inserts = round(size * mix.inserts)
        keys, drawn = self.keys(), size - inserts
        is_hot = keys % HOT_ROWS == 0
        hot = round(drawn * HOT_CHANGES)
        picked = np.concatenate([self._random.choice(keys[is_hot], hot), self._random.choice(keys[~is_hot], drawn - hot)])
        picked = self._random.permutation(picked)
        ops = _possible(picked, self._random.random(drawn) >= mix.updates / (1 - mix.inserts))
        new = np.arange(len(self._versions), len(self._versions) + inserts)
        place = np.zeros(size, dtype=bool)
        place[self._random.choice(size, inserts, replace=False)] = True
        keys, all_ops = np.empty(size, dtype=np.int64), np.full(size, INSERT, dtype=np.int8)
        keys[place], keys[~place] = new, picked
        all_ops[~place] = ops
        return self._apply(all_ops, keys, self._clock + 1 + np.arange(size))

    def _pick(self, count: int, pattern: Pattern) -> Keys:
        keys = self.keys()
        if pattern is Pattern.RECENT:
            keys = keys[-round(len(keys) * RECENT_SHARE) :]
        if len(keys) < count:
            raise ValueError(f"{pattern.value} has {len(keys)} rows, the batch changes {count} of them: use more rows or fewer changes")
        return self._random.choice(keys, count, replace=False)

    def _hot(self, count: int, excluded: Keys) -> Keys:
        rest = np.setdiff1d(self.keys(), excluded, assume_unique=True)
        ranks = (self._random.zipf(SKEW, count) - 1) % len(rest)
        return rest[ranks * _SPREAD % len(rest)]

    def _apply(self, ops: npt.NDArray[np.int8], keys: Keys, versions: Keys) -> Changes:
        touched = np.unique(keys)
        before = self.versions(touched)
        grown = np.full(max(len(self._versions), int(keys.max()) + 1), ABSENT, dtype=np.int64)
        grown[: len(self._versions)] = self._versions
        # For equal indices numpy keeps the last assignment, which is the newest change.
        grown[keys] = np.where(ops == DELETE, ABSENT, versions)
        self._versions = grown
        self._clock = int(versions[-1])
        return Changes(ops, keys, versions, touched, before, self.versions(touched))


def _possible(keys: Keys, deletes: npt.NDArray[np.bool_]) -> npt.NDArray[np.int8]:
    """Return possible operations for changes of existing rows: a change after a delete inserts."""
    order = np.argsort(keys, kind="stable")
    wanted, same = deletes[order], np.diff(keys[order], prepend=-1) == 0
    # If all changes of a key are drawn as deletes, every other one can be a delete.
    places = np.arange(len(keys))
    begins = ~(same & np.concatenate([[False], wanted[:-1]]))
    run = places - np.maximum.accumulate(np.where(begins, places, 0))
    sorted_ops = np.where(run % 2 == 1, INSERT, np.where(wanted, DELETE, UPDATE)).astype(np.int8)
    ops = np.empty_like(sorted_ops)
    ops[order] = sorted_ops
    return ops
