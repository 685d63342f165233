"""What became of a batch's rows, and how a snapshot's summary records it."""

import json

import attrs

from dms_iceberg.progress.progress import ACCOUNTING_KEY, PROGRESS_KEY, Progress


@attrs.frozen
class RowCounts:
    """What became of rows; applied, superseded, stale, filtered and quarantined add up to ``rows_read``.

    Attributes:
        rows_read: rows of files, or records of the quarantine.
        applied: rows that changed the table.
        superseded: rows with a newer change of their key in the same batch.
        stale: rows older than what the table had.
        filtered: rows outside the declared filter.
        quarantined: rows that were rejected.
    """

    rows_read: int = 0
    applied: int = 0
    superseded: int = 0
    stale: int = 0
    filtered: int = 0
    quarantined: int = 0

    def __add__(self, other: "RowCounts") -> "RowCounts":
        return RowCounts(*(getattr(self, name) + getattr(other, name) for name in COUNTS))

    @property
    def accounted(self) -> int:
        """The sum of the five counts, which are all rows that were read."""
        return sum(getattr(self, name) for name in PARTS)


PARTS = ("applied", "superseded", "stale", "filtered", "quarantined")
"""The five counts that add up to the rows read."""
COUNTS = ("rows_read", *PARTS)


@attrs.frozen
class BatchCounts(RowCounts):
    """The row counts of a batch, and what else was found while they were counted.

    Attributes:
        latest: number of rows that the MERGE gets, the latest of each key.
        commit_micros: source commit times in microseconds since 1970: fifth percentile, median, newest; None without any.
        low: lowest position among usable rows; "" without any.
        high: highest position among usable rows.
        disordered_keys: number of keys of which a later file has an older change than an earlier file.
        failed_rule: name of a broken rule with ``on_fail = fail``, if any.
        void: number of superseded rows that had no effect on a crowded key.
        named_behind_utc: some files are named in a zone behind UTC (`position.is_named_behind_utc`).
    """

    latest: int = 0
    commit_micros: tuple[int, ...] | None = None
    low: str = ""
    high: str = ""
    disordered_keys: int = 0
    failed_rule: str | None = None
    void: int = 0
    named_behind_utc: bool = False


def summary_properties(after: Progress, counts: RowCounts, files: int, run_id: str, **further: str) -> dict[str, str]:
    """Return the entries of a snapshot's summary for its batch: the progress, and the accounting as JSON.

    Args:
        after: the progress after the batch.
        counts: the row counts of the batch.
        files: number of the batch's files.
        run_id: of the run.
        further: further members of the accounting.
    """
    accounting = {name: getattr(counts, name) for name in COUNTS} | {"files": files, **further, "run_id": run_id}
    return {PROGRESS_KEY: after.to_json(), ACCOUNTING_KEY: json.dumps(accounting, separators=(",", ":"))}
