"""The order in which a batch's files arrive in bronze: some only with the next batch, when newer changes are already merged."""

import shutil
from collections.abc import Sequence
from pathlib import Path

import numpy as np


class Arrivals:
    """Moves files from where they were written to bronze, in random order, and keeps some back for one turn.

    Args:
        written: bronze folder into which the batches are written.
        bronze: bronze folder that the job reads.
        late: share of a batch's files that arrive with the next batch.
    """

    def __init__(self, written: Path, bronze: Path, late: float, seed: int = 1) -> None:
        self._written, self._bronze, self._late = written, bronze, late
        self._random = np.random.default_rng(seed)
        self._kept: list[Path] = []

    def deliver(self, files: Sequence[Path], *, last: bool = False) -> list[Path]:
        """Move the kept and the new ``files``; all of them if this is the ``last`` turn. Return their new paths."""
        shuffled = [files[one] for one in self._random.permutation(len(files))]
        held = 0 if last else round(self._late * len(files))
        due, self._kept = [*self._kept, *shuffled[held:]], shuffled[:held]
        return [self._move(file) for file in due]

    def _move(self, file: Path) -> Path:
        target = self._bronze / file.relative_to(self._written)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(file, target)
        return target
