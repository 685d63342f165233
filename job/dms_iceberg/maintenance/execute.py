"""Execute the steps: Iceberg's own procedures, and some of this package. Each step is one commit, or several independent ones."""

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import attrs
from pyspark.errors import IllegalArgumentException

from dms_iceberg.config.model import Maintenance
from dms_iceberg.context import PlanIsStaleError, RunContext
from dms_iceberg.iceberg.format_v3 import session_for
from dms_iceberg.maintenance.orphans import remove_orphans
from dms_iceberg.maintenance.plan import Scope, Step, TableStats, missing_settings, needs, reason, to_expire
from dms_iceberg.maintenance.procedures import compact_deletes_sql, compact_sql, expire_sql, manifests_sql
from dms_iceberg.maintenance.resolved_rows import count_resolved, remove_resolved
from dms_iceberg.maintenance.table_stats import read_stats, with_compactable
from dms_iceberg.silver.row_counts import BatchCounts, summary_properties
from dms_iceberg.silver.table import TargetTable
from dms_iceberg.silver.table_context import TableContext

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

Counts = dict[str, int]
_REFERENCED = "Still referenced by refs"
"""Iceberg's words for a snapshot that is to expire and has a tag or branch (RemoveSnapshots)."""


@attrs.frozen(eq=False)
class MaintainedTable:
    """One table of the catalog under maintenance.

    Attributes:
        target: the silver table of an entry in the configuration, its quarantine table, its table of replays, or a gold model.
        rules: the thresholds.
        resolved_by: for a quarantine table, the silver table whose progress shows which rows are resolved; None for others.
        deadline: no further step begins after it (`time.monotonic`).
    """

    context: RunContext
    rules: Maintenance
    target: TargetTable
    scope: Scope
    deadline: float
    is_silver: bool = True
    resolved_by: TableContext | None = None
    _read: dict[str, TableStats] = attrs.field(factory=dict, init=False)

    @property
    def has_time(self) -> bool:
        """Whether another step may begin."""
        return time.monotonic() < self.deadline

    def stats(self, step: Step) -> TableStats:
        """Return the facts that decide whether a step is needed, as of now."""
        # The catalog's cached table may be as old as this process: files that were committed since then would look like orphans.
        self.target.refresh()
        # Most steps find the state that the previous step found.
        state = self.target.metadata_location()
        if state not in self._read:
            self._read[state] = read_stats(self.context.spark, self.target.iceberg, is_silver=self.is_silver)
        found = self._read[state]
        if step is Step.COMPACT:
            found = with_compactable(found, self.context.spark, self.target.iceberg, self.rules)
        if step is Step.RESOLVED and self.resolved_by is not None:
            found = attrs.evolve(found, resolved=count_resolved(self.resolved_by))
        return found

    def reason(self, step: Step, stats: TableStats) -> str:
        """Return why a step is needed, "" if it is not."""
        return reason(step, stats, self.rules, self.scope, now_ms())


def now_ms() -> int:
    """Return UTC milliseconds."""
    return int(datetime.now(UTC).timestamp() * 1000)


def needed(spark: "SparkSession", rules: Maintenance, target: TargetTable, *, is_silver: bool = True) -> dict[str, str]:
    """Return what a (refreshed) silver table or model needs now, as reasons by step; orphan files are not looked for."""
    stats = with_compactable(read_stats(spark, target.iceberg, is_silver=is_silver), spark, target.iceberg, rules)
    found = needs(stats, rules, Scope.FULL, now_ms())
    return {step.value: text for step, text in found.items() if step is not Step.ORPHANS}


def execute(step: Step, table: MaintainedTable, stats: TableStats, counts: Counts) -> None:
    """Execute a step that is needed.

    Args:
        counts: what was done is added to it, even if the step fails.

    Raises:
        PlanIsStaleError, or an error for which `commit_errors.is_conflict` is true: another writer committed first.
    """
    _DO[step](table, stats, counts)


def _settings(table: MaintainedTable, stats: TableStats, counts: Counts) -> None:
    missing = missing_settings(stats)
    transaction = table.target.transaction(stats.head.id if stats.head else None)
    transaction.set_properties(missing)
    table.target.commit(transaction)
    counts["properties"] = len(missing)


def _resolved(table: MaintainedTable, stats: TableStats, counts: Counts) -> None:
    counts["rows"] = remove_resolved(table.resolved_by) if table.resolved_by is not None else 0


def _compact(table: MaintainedTable, stats: TableStats, counts: Counts) -> None:
    counts |= {"data_files_before": 0, "data_files_after": 0}
    while table.reason(Step.COMPACT, stats):
        with session_for(table.context.spark, table.target.iceberg):
            row = _call(table, compact_sql(table.target.parts, table.rules))
        counts["data_files_before"] += row.rewritten_data_files_count
        counts["data_files_after"] += row.added_data_files_count
        if not row.rewritten_data_files_count or not table.has_time:
            break
        stats = table.stats(Step.COMPACT)
    left = table.stats(Step.DELETE_FILES)
    if left.delete_files > left.data_files and left.format_version < 3 and counts["data_files_before"]:
        # There is more than one delete file for each data file: most of their deletes are for data files that no longer exist.
        _delete_files(table, left, counts)


def _delete_files(table: MaintainedTable, stats: TableStats, counts: Counts) -> None:
    row = _call(table, compact_deletes_sql(table.target.parts))
    counts |= {"delete_files_before": row.rewritten_delete_files_count, "delete_files_after": row.added_delete_files_count}


def _manifests(table: MaintainedTable, stats: TableStats, counts: Counts) -> None:
    row = _call(table, manifests_sql(table.target.parts))
    counts |= {"manifests_before": row.rewritten_manifests_count, "manifests_after": row.added_manifests_count}


def _progress(table: MaintainedTable, stats: TableStats, counts: Counts) -> None:
    """Write the progress into the newest snapshot, so that no expiry, whoever runs it, can remove it."""
    transaction = table.target.transaction(stats.head.id if stats.head else None)
    transaction.touch(summary_properties(table.target.progress(), BatchCounts(), 0, table.context.run_id))
    table.target.commit(transaction)
    counts["snapshots"] = 1


def _expire(table: MaintainedTable, stats: TableStats, counts: Counts) -> None:
    """Expire snapshots.

    Raises:
        PlanIsStaleError: somebody has given one of them a tag or a branch meanwhile; nothing was expired.
    """
    ids = to_expire(stats, table.rules, now_ms())
    try:
        row = _call(table, expire_sql(table.target.parts, ids))
    except IllegalArgumentException as error:
        if _REFERENCED in str(error):
            raise PlanIsStaleError from error
        raise
    files = sum(count for name, count in row.asDict().items() if name.endswith(("_files_count", "_lists_count")))
    counts |= {"snapshots": len(ids), "files": files}


def _orphans(table: MaintainedTable, stats: TableStats, counts: Counts) -> None:
    hours = table.rules.orphan_files_older_than_hours
    if hours is None:
        return
    bound = datetime.now(UTC) - timedelta(hours=hours)
    counts["files"] = remove_orphans(table.context.spark, table.target, bound.strftime("%Y-%m-%d %H:%M:%S"))


def _call(table: MaintainedTable, sql: str) -> "Row":
    table.target.refresh()
    return table.context.spark.sql(sql).collect()[0]


_DO: Mapping[Step, Callable[[MaintainedTable, TableStats, Counts], None]] = {
    Step.SETTINGS: _settings,
    Step.RESOLVED: _resolved,
    Step.COMPACT: _compact,
    Step.DELETE_FILES: _delete_files,
    Step.MANIFESTS: _manifests,
    Step.PROGRESS: _progress,
    Step.EXPIRE: _expire,
    Step.ORPHANS: _orphans,
}
