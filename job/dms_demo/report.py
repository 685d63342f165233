"""The demo's findings as plain data that turns into ``report.json``; other modules display it."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import attrs

from dms_demo.check import Comparison
from dms_demo.lag import FIRST_BATCHES, Lags
from dms_demo.story import Chapter, Rejected
from dms_demo.writers import Event
from dms_iceberg.silver.row_counts import PARTS, RowCounts


@attrs.frozen(kw_only=True)
class TableOutcome:
    """The findings for one table.

    Attributes:
        loaded: rows of the full load.
        captured: rows in the table's change files, counted from the files.
        later_lags: those of the changes after the table's first batches.
        problem: what else is wrong with the table if its rows are equal; None for nothing.
    """

    source: str
    target: str
    comparison: Comparison
    books: RowCounts
    lags: Lags
    later_lags: Lags
    loaded: int
    captured: int
    files: int
    snapshots: int
    problem: str | None = None

    @property
    def equal(self) -> bool:
        """Whether silver has the right rows and the row counts add up."""
        return self.comparison.equal and self.problem is None

    def to_document(self) -> dict[str, Any]:
        """Return the table's part of ``report.json``."""
        return {
            "equal": self.equal,
            "rows": self.comparison.silver_rows,
            "changes": self.books.applied,
            **_lags(self.lags, self.later_lags),
            "target": self.target,
            "source_rows": self.comparison.source_rows,
            "source_md5": self.comparison.source_md5,
            "silver_md5": self.comparison.silver_md5,
            "columns": list(self.comparison.columns),
            "differing_rows": self.comparison.differing,
            "last_good_version_expected": list(self.comparison.substituted),
            "rows_loaded": self.loaded,
            "changes_captured": self.captured,
            "books": {"read": self.books.rows_read, **{name: getattr(self.books, name) for name in PARTS}},
            "change_files": self.files,
            "snapshots": self.snapshots,
            "problem": self.problem,
        }


@attrs.frozen
class LagPoint:
    """A dot of the chart: the changes of one file. ``second`` counts from the writers' start; lags are in seconds.

    Attributes:
        is_of_first: whether one of the table's first batches brought them.
    """

    table: str
    second: float
    lag: float
    changes: int
    is_of_first: bool = False


@attrs.frozen(kw_only=True)
class DemoReport:
    """All findings of the demo.

    Attributes:
        source: the engine of the source database.
        seconds: how long the writers wrote.
        total_seconds: the whole demo, from its first step to the end of the checks.
        lags: over the changes of all tables.
        later_lags: the same without each table's first batches.
        later_changes: how many changes these are.
        schema_changes: SQL statements with which the job changed tables meanwhile.
        transactions: counts of what the writers did, by name.
        batches: of all tables, full loads included.
        idle_snapshots: snapshots of a run after the watch, with nothing to do; must be 0.
        environment: versions.
    """

    source: str = "PostgreSQL"
    started_at: datetime
    seconds: float
    total_seconds: float
    tables: Sequence[TableOutcome]
    lags: Lags
    later_lags: Lags
    later_changes: int
    points: Sequence[LagPoint]
    events: Sequence[tuple[float, Event]]
    quarantined: Sequence[Rejected]
    story: Sequence[Chapter]
    schema_changes: Sequence[str]
    transactions: dict[str, int]
    batches: int
    idle_snapshots: int
    environment: dict[str, str]

    @property
    def equal(self) -> bool:
        """Whether every table is right."""
        return all(table.equal for table in self.tables)

    @property
    def changes(self) -> int:
        """Changes applied, all tables."""
        return sum(table.books.applied for table in self.tables)

    def to_document(self) -> dict[str, Any]:
        """Return the whole ``report.json``."""
        return {
            "equal": self.equal,
            "source": self.source,
            "started_at": self.started_at.isoformat(timespec="seconds"),
            "writing_seconds": round(self.seconds, 1),
            "total_seconds": round(self.total_seconds, 1),
            "changes": self.changes,
            **_lags(self.lags, self.later_lags),
            "first_batches": FIRST_BATCHES,
            "changes_after_first_batches": self.later_changes,
            "tables": {table.source: table.to_document() for table in self.tables},
            "quarantined": [attrs.asdict(row) for row in self.quarantined],
            "story": [_chapter(chapter) for chapter in self.story],
            "schema_changes": list(self.schema_changes),
            "events": [{"second": round(second, 1), "what": event.text} for second, event in self.events],
            "transactions": self.transactions,
            "batches": self.batches,
            "idle_snapshots": self.idle_snapshots,
            "environment": self.environment,
        }


def _lags(every: Lags, later: Lags) -> dict[str, Any]:
    return {
        "lag_p50_seconds": every.p50,
        "lag_p95_seconds": every.p95,
        "lag_max_seconds": every.worst,
        "lag_after_first_batches": {"p50_seconds": later.p50, "p95_seconds": later.p95, "max_seconds": later.worst},
    }


def _chapter(chapter: Chapter) -> dict[str, Any]:
    return {
        "snapshot_id": chapter.snapshot_id,
        "snapshot_at": chapter.snapshot_at.isoformat(timespec="milliseconds"),
        "committed_at": chapter.committed_at.isoformat(timespec="microseconds") if chapter.committed_at else None,
        **chapter.values,
    }
