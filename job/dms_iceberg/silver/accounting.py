"""The books of a batch as a snapshot's summary has them."""

import json

from dms_iceberg.changes.collapse import Books
from dms_iceberg.progress import ACCOUNTING_KEY, PROGRESS_KEY, Progress

PARTS = ("applied", "superseded", "stale", "filtered", "quarantined")
"""What becomes of rows; the five add up to the rows read."""


def summary_properties(after: Progress, books: Books, files: int, run_id: str, **told: str) -> dict[str, str]:
    """Return what a snapshot's summary says of its batch: how far the table has come, the books, and what else is ``told`` of it."""
    accounting = {name: getattr(books, name) for name in ("rows_read", *PARTS)} | {"files": files, **told, "run_id": run_id}
    return {PROGRESS_KEY: after.to_json(), ACCOUNTING_KEY: json.dumps(accounting, separators=(",", ":"))}
