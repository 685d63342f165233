"""How long changes took, measured from the run's files and snapshots, not from the job's reports.

Every row of every change file has its source commit time. The first snapshot of the table whose progress covers the file brought the
row into Iceberg: its time minus the commit time is the row's lag. So each change counts once, even if a newer change of its key superseded
it or it was quarantined, and the time until the watch looks is included.

The first batches of a table run in a cold session: Java loads and compiles code that later batches find ready. So figures are given twice,
of all changes and of those after the first `FIRST_BATCHES` batches of changes of each table.
"""

from bisect import bisect_left
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import attrs
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dms_iceberg.bronze.keys import BronzeFile, table_prefix
from dms_iceberg.bronze.listing import list_files
from dms_iceberg.config.model import BronzeFormat
from dms_iceberg.iceberg.table import Snapshot
from dms_iceberg.progress.progress import PROGRESS_KEY, Progress
from dms_iceberg.storage.store import LocalStore

COMMIT_COLUMN: Final = "dms_commit_ts"
FIRST_BATCHES: Final = 5


@attrs.frozen(eq=False)
class AppliedFile:
    """A change file, and the snapshot with which it came into Iceberg.

    Attributes:
        batch: which of the table's batches of changes brought it, from 1 on.
        commits: source commit time of each row, microseconds since 1970 UTC.
        keys: value of the first key column of each row.
    """

    file: BronzeFile
    snapshot: Snapshot
    batch: int
    commits: tuple[int, ...]
    keys: tuple[Any, ...]

    @property
    def is_of_first(self) -> bool:
        """Whether one of the table's first batches brought it."""
        return self.batch <= FIRST_BATCHES

    @property
    def lags(self) -> list[float]:
        """Seconds from source commit to snapshot, for each row."""
        return [self.snapshot.timestamp_ms / 1e3 - micros / 1e6 for micros in self.commits]


@attrs.frozen
class Lags:
    """The distribution over changes, in seconds; all None without changes."""

    p50: float | None
    p95: float | None
    worst: float | None

    @classmethod
    def of(cls, files: Sequence[AppliedFile]) -> "Lags":
        """Return percentiles over all rows of ``files``, with linear interpolation between neighbours."""
        lags = pa.array([lag for file in files for lag in file.lags], pa.float64())
        if not len(lags):
            return cls(None, None, None)
        return cls(*(round(value, 3) for value in pc.quantile(lags, [0.5, 0.95, 1.0]).to_pylist()))


def applied_files(bronze: Path, source: str, key: str, lineage: Sequence[Snapshot]) -> list[AppliedFile]:
    """Return all merged change files of a table, oldest first.

    Args:
        bronze: the folder above the schema folders.
        source: ``schema.table``.
        key: the table's first key column.
        lineage: the table's snapshots, newest first.
    """
    carriers = [(Progress.from_json(s.summary[PROGRESS_KEY]).frontier, s) for s in lineage if PROGRESS_KEY in s.summary]
    carriers.reverse()
    frontiers = [frontier for frontier, _ in carriers]
    schema, _, name = source.partition(".")
    applied = []
    numbers: dict[int, int] = {}
    for file in sorted(list_files(LocalStore(bronze), table_prefix(schema, name), "", BronzeFormat.PARQUET)):
        place = bisect_left(frontiers, file.order)
        if file.is_cdc and place < len(carriers):
            # As one file, not as a data set: bronze's date folders are not columns.
            rows = pq.ParquetFile(bronze / file.key).read(columns=[COMMIT_COLUMN, key])
            commits = pc.cast(pc.cast(rows[COMMIT_COLUMN], pa.timestamp("us")), pa.int64())
            snapshot = carriers[place][1]
            batch = numbers.setdefault(snapshot.id, len(numbers) + 1)
            applied.append(AppliedFile(file, snapshot, batch, tuple(commits.to_pylist()), tuple(rows[key].to_pylist())))
    return applied
