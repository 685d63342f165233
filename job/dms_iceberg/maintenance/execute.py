"""Execute the steps: Iceberg's own procedures, and some of this package. Each step is one commit, or several independent ones."""

import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import attrs

from dms_iceberg.config.model import Maintenance, Table
from dms_iceberg.context import RunContext
from dms_iceberg.iceberg.format_v3 import session_for
from dms_iceberg.maintenance.orphans import remove_orphans
from dms_iceberg.maintenance.plan import Facts, Scope, Step, missing_settings, needs, reason, to_expire
from dms_iceberg.maintenance.procedures import compact_deletes_sql, compact_sql, expire_sql, manifests_sql
from dms_iceberg.maintenance.settled_rows import count_settled, remove_settled
from dms_iceberg.maintenance.table_stats import read_facts, with_compactable
from dms_iceberg.silver.row_counts import BatchCounts, summary_properties
from dms_iceberg.silver.table import TargetTable

if TYPE_CHECKING:
    from pyspark.sql import Row, SparkSession

Counts = dict[str, int]


@attrs.frozen(eq=False)
class Kept:
    """One table of the catalog under maintenance.

    Attributes:
        target: the silver table of an entry in the configuration, its quarantine table, its table of replays, or a gold model.
        rules: the thresholds.
        settles: for a quarantine table, the entry, and the silver table whose progress shows which rows are resolved; None for others.
        deadline: no further step begins after it (`time.monotonic`).
    """

    context: RunContext
    rules: Maintenance
    target: TargetTable
    scope: Scope
    deadline: float
    is_silver: bool = True
    settles: tuple[Table, TargetTable] | None = None
    _read: dict[str, Facts] = attrs.field(factory=dict, init=False)

    @property
    def has_time(self) -> bool:
        """Whether another step may begin."""
        return time.monotonic() < self.deadline

    def facts(self, step: Step) -> Facts:
        """Return the facts that decide whether a step is needed, as of now."""
        # The catalog's cached table may be as old as this process: files that were committed since then would look like orphans.
        self.target.refresh()
        # Most steps find the state that the previous step found.
        state = self.target.metadata_location()
        if state not in self._read:
            self._read[state] = read_facts(self.context.spark, self.target.iceberg, is_silver=self.is_silver)
        found = self._read[state]
        if step is Step.COMPACT:
            found = with_compactable(found, self.context.spark, self.target.iceberg, self.rules)
        if step is Step.SETTLED and self.settles is not None:
            found = attrs.evolve(found, settled=count_settled(self.context, *self.settles))
        return found

    def reason(self, step: Step, facts: Facts) -> str:
        """Return why a step is needed, "" if it is not."""
        return reason(step, facts, self.rules, self.scope, now_ms())


def now_ms() -> int:
    """Return UTC milliseconds."""
    return int(datetime.now(UTC).timestamp() * 1000)


def needed(spark: "SparkSession", rules: Maintenance, target: TargetTable, *, is_silver: bool = True) -> dict[str, str]:
    """Return what a (refreshed) silver table or model needs now, as reasons by step; orphan files are not looked for."""
    facts = with_compactable(read_facts(spark, target.iceberg, is_silver=is_silver), spark, target.iceberg, rules)
    found = needs(facts, rules, Scope.FULL, now_ms())
    return {step.value: text for step, text in found.items() if step is not Step.ORPHANS}


def execute(step: Step, kept: Kept, facts: Facts, counts: Counts) -> None:
    """Execute a step that is needed.

    Args:
        counts: what was done is added to it, even if the step fails.

    Raises:
        PlanIsStaleError, or an error for which `commit_errors.is_conflict` is true: another writer committed first.
    """
    _DO[step](kept, facts, counts)


def _settings(kept: Kept, facts: Facts, counts: Counts) -> None:
    missing = missing_settings(facts)
    transaction = kept.target.transaction(facts.head.id if facts.head else None)
    transaction.set_properties(missing)
    kept.target.commit(transaction)
    counts["properties"] = len(missing)


def _settled(kept: Kept, facts: Facts, counts: Counts) -> None:
    counts["rows"] = remove_settled(kept.context, *kept.settles) if kept.settles is not None else 0


def _compact(kept: Kept, facts: Facts, counts: Counts) -> None:
    counts |= {"data_files_before": 0, "data_files_after": 0}
    while kept.reason(Step.COMPACT, facts):
        with session_for(kept.context.spark, kept.target.iceberg):
            row = _call(kept, compact_sql(kept.target.parts, kept.rules))
        counts["data_files_before"] += row.rewritten_data_files_count
        counts["data_files_after"] += row.added_data_files_count
        if not row.rewritten_data_files_count or not kept.has_time:
            break
        facts = kept.facts(Step.COMPACT)
    left = kept.facts(Step.DELETE_FILES)
    if left.delete_files > left.data_files and left.format_version < 3 and counts["data_files_before"]:
        # There is more than one delete file for each data file: most of their deletes are for data files that no longer exist.
        _delete_files(kept, left, counts)


def _delete_files(kept: Kept, facts: Facts, counts: Counts) -> None:
    row = _call(kept, compact_deletes_sql(kept.target.parts))
    counts |= {"delete_files_before": row.rewritten_delete_files_count, "delete_files_after": row.added_delete_files_count}


def _manifests(kept: Kept, facts: Facts, counts: Counts) -> None:
    row = _call(kept, manifests_sql(kept.target.parts))
    counts |= {"manifests_before": row.rewritten_manifests_count, "manifests_after": row.added_manifests_count}


def _progress(kept: Kept, facts: Facts, counts: Counts) -> None:
    """Write the progress into the newest snapshot, so that no expiry, whoever runs it, can remove it."""
    transaction = kept.target.transaction(facts.head.id if facts.head else None)
    transaction.touch(summary_properties(kept.target.progress(), BatchCounts(), 0, kept.context.run_id))
    kept.target.commit(transaction)
    counts["snapshots"] = 1


def _expire(kept: Kept, facts: Facts, counts: Counts) -> None:
    ids = to_expire(facts, kept.rules, now_ms())
    row = _call(kept, expire_sql(kept.target.parts, ids))
    files = sum(count for name, count in row.asDict().items() if name.endswith(("_files_count", "_lists_count")))
    counts |= {"snapshots": len(ids), "files": files}


def _orphans(kept: Kept, facts: Facts, counts: Counts) -> None:
    hours = kept.rules.orphan_files_older_than_hours
    if hours is None:
        return
    bound = datetime.now(UTC) - timedelta(hours=hours)
    counts["files"] = remove_orphans(kept.context.spark, kept.target, bound.strftime("%Y-%m-%d %H:%M:%S"))


def _call(kept: Kept, sql: str) -> "Row":
    kept.target.refresh()
    return kept.context.spark.sql(sql).collect()[0]


_DO: Mapping[Step, Callable[[Kept, Facts, Counts], None]] = {
    Step.SETTINGS: _settings,
    Step.SETTLED: _settled,
    Step.COMPACT: _compact,
    Step.DELETE_FILES: _delete_files,
    Step.MANIFESTS: _manifests,
    Step.PROGRESS: _progress,
    Step.EXPIRE: _expire,
    Step.ORPHANS: _orphans,
}
