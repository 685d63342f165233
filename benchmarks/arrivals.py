"""The order in which a batch's files come to bronze: some of them only with the next batch, when newer changes are merged already."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np


class Arrivals:
    """Hands files over from where they were written to bronze, in no order, and keeps some back for one turn.

    Args:
        written: bronze folder into which the batches are written.
        bronze: the one that the job reads.
        late: share of a batch's files that come with the next one.
    """

    def __init__(self, written: Path, bronze: Path, late: float, seed: int = 1) -> None:
        self._written, self._bronze, self._late = written, bronze, late
        self._random = np.random.default_rng(seed)
        self._kept: list[Path] = []

    def deliver(self, files: Sequence[Path], *, last: bool = False) -> list[Path]:
        """Hand over what was kept back and the new ``files``; all of them if this is the ``last`` time. Return them where they are now."""
        shuffled = [files[one] for one in self._random.permutation(len(files))]
        held = 0 if last else round(self._late * len(files))
        due, self._kept = [*self._kept, *shuffled[held:]], shuffled[:held]
        return [self._move(file) for file in due]

    def _move(self, file: Path) -> Path:
        target = self._bronze / file.relative_to(self._written)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(file, target)
        return target
