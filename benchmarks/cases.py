"""The measured cases: by bronze format, key pattern, size and mix."""

from typing import Final

import attrs

from benchmarks.changes import DELETE_HEAVY, EVERYDAY, Mix, Pattern
from dms_iceberg.config.model import BronzeFormat


@attrs.frozen
class Case:
    """Batches of ``size`` changes of one kind. The hand-written script gets the CSV twin of each batch, whatever ``format`` is."""

    format: BronzeFormat
    pattern: Pattern
    size: int
    mix: Mix = EVERYDAY

    @property
    def name(self) -> str:
        """Format, key pattern and number of changes, such as ``parquet-scattered-100k``."""
        size = f"{self.size // 1000}k" if self.size % 1000 == 0 else str(self.size)
        suffix = "-delete-heavy" if self.mix == DELETE_HEAVY else ""
        return f"{self.format.value}-{self.pattern.value}-{size}{suffix}"


_PARQUET, _CSV = BronzeFormat.PARQUET, BronzeFormat.CSV
CASES: Final = (
    Case(_PARQUET, Pattern.SCATTERED, 100_000),
    Case(_PARQUET, Pattern.RECENT, 100_000),
    Case(_PARQUET, Pattern.SCATTERED, 100_000, DELETE_HEAVY),
    Case(_CSV, Pattern.SCATTERED, 100_000),
    Case(_CSV, Pattern.RECENT, 100_000),
    Case(_PARQUET, Pattern.SCATTERED, 1_000),
    Case(_PARQUET, Pattern.RECENT, 1_000),
    Case(_CSV, Pattern.SCATTERED, 1_000),
)
GOALS: Final = tuple(case for case in CASES if case.name in ("parquet-scattered-100k", "parquet-scattered-1k"))
"""The cases that the goals are about; they take minutes."""


@attrs.frozen
class Result:
    """Median seconds per batch of one case."""

    name: str
    ours_s: float
    handwritten_s: float
    floor_s: float

    @property
    def ratio_handwritten(self) -> float:
        """How many times longer the hand-written script takes than the job."""
        return self.handwritten_s / self.ours_s

    @property
    def ratio_floor(self) -> float:
        """How many times longer the job takes than the floor."""
        return self.ours_s / self.floor_s

    def to_document(self) -> dict[str, str | float]:
        """Return the case's part of ``bench.json``."""
        return {
            "name": self.name,
            "ours_s": round(self.ours_s, 3),
            "handwritten_s": round(self.handwritten_s, 3),
            "floor_s": round(self.floor_s, 3),
            "ratio_handwritten": round(self.ratio_handwritten, 2),
            "ratio_floor": round(self.ratio_floor, 2),
        }
