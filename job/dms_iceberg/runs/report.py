"""What a run reports: per batch, per table, for the whole run. Plain data that turns into JSON."""

from typing import Any

import attrs

from dms_iceberg.gold.report import ModelReport
from dms_iceberg.silver.row_counts import RowCounts


@attrs.frozen(kw_only=True)
class BatchReport(RowCounts):
    """One committed batch, and what became of its rows.

    Attributes:
        seconds: wall time from planning to commit.
        remaining: new files that were listed after those of this batch.
        warnings: about the batch, for the operator.
        ddl: the schema statements that were executed for it, since the table's batch before.
        absent: updates and deletes of keys that the table did not have, at least (`merge.absent_keys`).
        path: how its rows were written: "direct" (`merge.direct.delta`) or "merge" with the reason; "" if no row was.
        lag_seconds: from the newest source commit in the batch until readers saw it; None without a commit time.
        lag_p50_seconds: the same for the median change; ``lag_p95_seconds`` is the 95th percentile.
    """

    files: int
    bytes: int
    snapshot_id: int | None
    frontier: str
    seconds: float
    lag_seconds: float | None = None
    lag_p50_seconds: float | None = None
    lag_p95_seconds: float | None = None
    is_load: bool = False
    remaining: int = 0
    warnings: tuple[str, ...] = ()
    path: str = ""
    absent: int = 0
    ddl: tuple[str, ...] = ()


LOAD, REBUILD, TRUNCATE = "published a full load", "published a rebuild", "applied a truncate"
NO_FILE = "recorded that the load is complete"
"""What may replace or end a table's content."""


@attrs.define(kw_only=True)
class TableReport:
    """What happened to one table: the sums of its batches, or the error that stopped it.

    Attributes:
        reported: warnings that an earlier report had.
        waits: the table waits for the end of a load, and nothing was left to merge into it. Not in the document, as are the next five.
        older: open rows of the quarantine from before this run; None if they were not counted, and the quarantine has rows from before.
        lost_races: how often another writer committed first, so that the table was planned again.
        stopped: the run was interrupted before everything was merged.
        content: what replaced or ended the content, in words for a person and in their order, each once.
        lost_versions: rows left with a load or rebuild that may have only rejected the newer version of their keys.
    """

    table: str
    target: str
    batches: list[BatchReport] = attrs.field(factory=list)
    ddl: list[str] = attrs.field(factory=list)
    warnings: list[str] = attrs.field(factory=list)
    reported: frozenset[str] = frozenset()
    snapshot_id: int | None = None
    frontier: str = ""
    error: str | None = None
    seconds: float = 0.0
    waits: bool = False
    older: int | None = 0
    lost_races: int = 0
    stopped: bool = False
    content: list[str] = attrs.field(factory=list)
    lost_versions: bool = False

    def warn(self, *texts: str) -> list[str]:
        """Add warnings, each once; return those that no earlier report had."""
        new = [text for text in dict.fromkeys(texts) if text not in self.warnings]
        self.warnings += new
        return [text for text in new if text not in self.reported]

    @property
    def counts(self) -> RowCounts:
        """What became of the rows of all batches."""
        return sum(self.batches, RowCounts())

    @property
    def files(self) -> int:
        """Files merged."""
        return sum(batch.files for batch in self.batches)

    @property
    def rows_read(self) -> int:
        """Rows read, all batches."""
        return self.counts.rows_read

    @property
    def applied(self) -> int:
        """Rows applied, all batches."""
        return self.counts.applied

    @property
    def superseded(self) -> int:
        """Rows superseded, all batches."""
        return self.counts.superseded

    @property
    def stale(self) -> int:
        """Rows stale, all batches."""
        return self.counts.stale

    @property
    def filtered(self) -> int:
        """Rows filtered, all batches."""
        return self.counts.filtered

    @property
    def quarantined(self) -> int:
        """Rows quarantined, all batches."""
        return self.counts.quarantined

    @property
    def absent(self) -> int:
        """Updates and deletes of keys that the table did not have, all batches."""
        return sum(batch.absent for batch in self.batches)

    @property
    def lag_seconds(self) -> float | None:
        """Lag of the last batch that had a commit time."""
        return next((b.lag_seconds for b in reversed(self.batches) if b.lag_seconds is not None), None)

    def to_document(self) -> dict[str, Any]:
        """Return the table's part of ``--json``."""
        return {
            **attrs.asdict(self.counts),
            **{name: getattr(self, name) for name in ("files", "snapshot_id", "frontier")},
            "lag_seconds": self.lag_seconds,
            "absent_keys": self.absent,
            "batches": len(self.batches),
            "seconds": round(self.seconds, 3),
            "ddl": self.ddl,
            "warnings": self.warnings,
            "error": self.error,
        }


@attrs.frozen
class RunReport:
    """A run over all (chosen) tables, and then the gold models. ``models_wait``: it was stopped before it looked at any model."""

    run_id: str
    tables: dict[str, TableReport]
    seconds: float
    models: dict[str, ModelReport] = attrs.field(factory=dict)
    models_wait: bool = False

    @property
    def errors(self) -> dict[str, str]:
        """What stopped tables and models, by name."""
        outcomes: list[tuple[str, TableReport | ModelReport]] = [*self.tables.items(), *self.models.items()]
        return {name: one.error for name, one in outcomes if one.error is not None}

    @property
    def failed(self) -> list[str]:
        """Tables and models that stopped with an error."""
        return list(self.errors)

    @property
    def exit_code(self) -> int:
        """0, or 1 when a table or model failed."""
        return 1 if self.failed else 0

    def to_document(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        return {
            "run_id": self.run_id,
            "seconds": round(self.seconds, 3),
            "tables": {name: table.to_document() for name, table in self.tables.items()},
            **({"models": {name: model.to_document() for name, model in self.models.items()}} if self.models else {}),
        }
