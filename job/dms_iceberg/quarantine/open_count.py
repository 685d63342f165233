"""How many rows of a table's quarantine are open, without a Spark job: what a run or `status` says must not take seconds."""

from collections.abc import Callable
from itertools import takewhile
from typing import Any

from dms_iceberg.bronze.keys import time_of
from dms_iceberg.config.model import Config, Table
from dms_iceberg.iceberg.rows.few_rows import few_rows
from dms_iceberg.iceberg.rows.not_possible import NotPossibleError
from dms_iceberg.progress.progress import Progress
from dms_iceberg.quarantine.rejected_rows import chain, is_merged
from dms_iceberg.quarantine.tables import quarantine_name, quarantine_part, replays_name
from dms_iceberg.silver.table import TargetTable
from dms_iceberg.silver.table_context import TableContext

_COLUMNS = ("id", "file", "etag", "load", "run_id", "key", "quarantined_at")


def count_open(here: TableContext, *, without_run: str = "", before_ms: int | None = None) -> int | None:
    """Return how many rows `quarantine.rejected_rows.open_rows` has.

    Args:
        here: the table.
        without_run: id of a run whose rows are not counted.
        before_ms: when that run began, in UTC milliseconds.

    Returns:
        The number; None if only Spark could count, and the quarantine has rows (from before ``before_ms``), open or not.
    """
    rejected = _refreshed(here, quarantine_name) if here.target.exists() else None
    if rejected is None:
        return 0
    here.target.refresh()
    try:
        return len([row for row in _open_rows(here, rejected, here.target.progress()) if row["run_id"] != without_run])
    except NotPossibleError:
        return None if _had_rows(rejected, before_ms) else 0


def count_open_and_keys(here: TableContext, progress: Progress) -> tuple[int, int]:
    """Return how many rows `quarantine.rejected_rows.open_rows` has, and how many keys; NULL is no key.

    Args:
        here: the table.
        progress: the progress of the content in which the rows are missing.

    Raises:
        NotPossibleError: only Spark could count.
    """
    rejected = _refreshed(here, quarantine_name)
    rows = _open_rows(here, rejected, progress) if rejected is not None else []
    return len(rows), len({row["key"] for row in rows if row["key"] is not None})


def count_resolved_since(here: TableContext, newest: str, before: str) -> int:
    """Return how many rows of the quarantine were resolved by replays from ``newest`` back to, and without, ``before`` ("" for all).

    Raises:
        NotPossibleError: only Spark could count.
    """
    if newest in ("", before):
        return 0
    return len(_resolved(here, newest, before))


def _open_rows(here: TableContext, rejected: TargetTable, progress: Progress) -> list[dict[str, Any]]:
    rows = [row for row in few_rows(rejected, _COLUMNS).to_pylist() if (row.get("load") or 0) == progress.load]
    if progress.built_since:
        since = time_of(progress.built_since)
        rows = [row for row in rows if row["quarantined_at"] >= since]
    files = {(row["file"], row["etag"]) for row in rows}
    if len({file for file, _ in files}) < len(files):
        raise NotPossibleError("files that were uploaded again: their records have to be compared")
    merged = {(file, etag) for file, etag in files if is_merged(file, etag, here.table, progress)}
    resolved = _resolved(here, progress.replay) if merged and progress.replay else set()
    return [row for row in rows if (row["file"], row["etag"]) in merged and row["id"] not in resolved]


def _resolved(here: TableContext, newest: str, before: str = "") -> set[str]:
    replays = _refreshed(here, replays_name)
    if replays is None:
        return set()
    rows = few_rows(replays, ("id", "replay", "parent")).to_pylist()
    counted = set(takewhile(lambda one: one != before, chain({row["replay"]: row["parent"] for row in rows}, newest)))
    return {row["id"] for row in rows if row["replay"] in counted}


def _refreshed(here: TableContext, name: Callable[[Config, Table], str]) -> TargetTable | None:
    """Return a table of the quarantine by its name, as of now; None if there is none."""
    config = here.context.config
    return quarantine_part(here.context.spark, config, here.table, name(config, here.table))


def _had_rows(rejected: TargetTable, before_ms: int | None) -> bool:
    head = rejected.head()
    snapshots = [one for one in rejected.lineage() if before_ms is None or one.timestamp_ms < before_ms]
    return head is not None and all(int(one.summary.get("total-records", 0)) > 0 for one in (head, *snapshots[:1])) and bool(snapshots)
