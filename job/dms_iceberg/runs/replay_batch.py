"""Merge rows of the quarantine: cleaned, compared and merged like a late batch, and resolved in the same commit."""

import uuid

import attrs
import structlog
from pyspark.sql import DataFrame

from dms_iceberg.config.model import Table
from dms_iceberg.context import RunContext
from dms_iceberg.errors import TargetError
from dms_iceberg.failpoints import failpoint
from dms_iceberg.merge.batch_context import BatchContext
from dms_iceberg.merge.merge_input import MergeInput
from dms_iceberg.merge.write import batch_transaction, named_view
from dms_iceberg.quarantine.rejected_key import rejected_key_sql
from dms_iceberg.quarantine.rejected_rows import REJECTION, resolve, update_rejections_sql
from dms_iceberg.quarantine.tables import change_quarantine
from dms_iceberg.runs.batch import backfill_warnings, make_merge_input, refuse_broken_rule, report_batch, seen_backfills
from dms_iceberg.runs.report import BatchReport
from dms_iceberg.runs.state import OpenedBatch
from dms_iceberg.silver.analysis import refuse_clock
from dms_iceberg.silver.memory.recorded_declarations import source_names
from dms_iceberg.silver.row_counts import BatchCounts, summary_properties
from dms_iceberg.silver.schema import first_seen
from dms_iceberg.sql.cdc_columns import OLD_KEY, PROBLEM, ROW_ID

_LOG = structlog.get_logger("dms_iceberg")


def replay_batch(batch: BatchContext, opened: OpenedBatch) -> BatchReport:
    """Merge open rows of the quarantine, and resolve them in the same commit; those that fail again stay open.

    Args:
        batch: the rows, with the shape that their columns give them.
        opened: these columns beside those of the table.

    Raises:
        DmsIcebergError: the rows cannot be replayed; nothing was written to the table.
        PlanIsStaleError: another writer committed since the replay was planned.
    """
    context, table, target, planned = batch.context, batch.table, batch.target, batch.planned
    progress = planned.progress
    refuse_clock(batch.context, batch.groups, batch.table, batch.shape)
    merge_input, batch = make_merge_input(seen_backfills(batch))
    counts = merge_input.row_counts
    outcome = _outcome(batch, merge_input).persist()
    try:
        refuse_broken_rule(table, planned, counts)
        if counts.quarantined:
            _update_reasons(context, table, outcome)
        if counts.quarantined < counts.rows_read:
            replay = uuid.uuid4().hex[:16]
            _write_resolved(context, table, outcome, replay, progress.replay, counts)
            if merge_input.resolved is not None:
                resolve(context, table, merge_input.resolved, replay, progress.replay)
            failpoint("after-resolve", table.source)
            # The high water rises if a replayed row is the newest of all.
            merged = progress.with_rows(counts.high, named_behind_utc=counts.named_behind_utc)
            seen = first_seen.remembered(progress, batch.shape.first_seen)
            progress = attrs.evolve(merged, replay=replay, first_seen=seen)
            properties = summary_properties(progress, counts, 0, context.run_id)
            transaction = batch_transaction(batch, merge_input, properties)
            made = opened.memory.properties_after(table, target, batch.shape, source_names(batch.groups))
            target.record_changed_properties(transaction, made)
            failpoint("before-publish", table.source)
            target.commit(transaction)
            failpoint("after-commit", table.source)
    finally:
        outcome.unpersist()
        merge_input.latest.unpersist()
    warnings = (*opened.warnings, *backfill_warnings(batch))
    result = attrs.evolve(report_batch(target, planned, counts, progress, opened.began), warnings=warnings)
    _LOG.info(
        "rows_replayed",
        table=table.source,
        run_id=context.run_id,
        rows_read=counts.rows_read,
        applied=counts.applied,
        stale=counts.stale,
        still_quarantined=counts.quarantined,
        seconds=result.seconds,
    )
    return result


def _outcome(batch: BatchContext, merge_input: MergeInput) -> DataFrame:
    """Return the outcome of each row: its id, and why it stays in the quarantine (`REJECTION`; a NULL reason for resolved rows)."""
    cleaned = merge_input.mark_rejected(batch.clean())
    return cleaned.where(f"{OLD_KEY} = 0").selectExpr(
        f"{ROW_ID} AS id", *(f"{sql} AS {column}" for column, sql in REJECTION.items()), f"{rejected_key_sql(batch.shape)} AS key", PROBLEM
    )


def _update_reasons(context: RunContext, table: Table, outcome: DataFrame) -> None:
    with named_view(context, outcome.where(f"{PROBLEM} IS NOT NULL")) as view:
        change_quarantine(context.spark, context.config, table, lambda name: update_rejections_sql(name, view))


def _write_resolved(context: RunContext, table: Table, outcome: DataFrame, replay: str, parent: str, counts: BatchCounts) -> None:
    resolved = outcome.where(f"{PROBLEM} IS NULL")
    count = resolved.count()
    if count != counts.rows_read - counts.quarantined:
        raise TargetError(
            f"{table.source}: {counts.rows_read - counts.quarantined:,} rows of the quarantine can be merged, but {count:,} would be "
            "resolved. Nothing was written. Report this defect."
        )
    failpoint("before-resolve", table.source)
    resolve(context, table, resolved, replay, parent)
