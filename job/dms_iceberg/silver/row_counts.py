"""What became of a batch's rows, and how a snapshot's summary says it."""

import json

import attrs

from dms_iceberg.progress.progress import ACCOUNTING_KEY, PROGRESS_KEY, Progress


@attrs.frozen
class RowCounts:
    """What became of a batch's rows; applied, superseded, stale, filtered and quarantined add up to ``rows_read``.

    Attributes:
        latest: rows that the MERGE gets, the latest of each key.
        commit_micros: source commit times in microseconds since 1970: fifth percentile, median, newest; None without any.
        low: lowest position among usable rows; "" without any.
        high: highest position among usable rows.
        disordered_keys: keys of which a later file held an older change than an earlier file.
        failed_rule: a broken rule with ``on_fail = fail``, if any.
        void: superseded rows that had no effect on a crowded key.
        behind: some files are named in a zone behind UTC (`position.is_behind`).
    """

    rows_read: int = 0
    applied: int = 0
    superseded: int = 0
    stale: int = 0
    filtered: int = 0
    quarantined: int = 0
    latest: int = 0
    commit_micros: tuple[int, ...] | None = None
    low: str = ""
    high: str = ""
    disordered_keys: int = 0
    failed_rule: str | None = None
    void: int = 0
    behind: bool = False


PARTS = ("applied", "superseded", "stale", "filtered", "quarantined")
"""What becomes of rows; the five add up to the rows read."""


def summary_properties(after: Progress, counts: RowCounts, files: int, run_id: str, **told: str) -> dict[str, str]:
    """Return what a snapshot's summary says of its batch: how far the table has come, the books, and what else is ``told`` of it."""
    accounting = {name: getattr(counts, name) for name in ("rows_read", *PARTS)} | {"files": files, **told, "run_id": run_id}
    return {PROGRESS_KEY: after.to_json(), ACCOUNTING_KEY: json.dumps(accounting, separators=(",", ":"))}
