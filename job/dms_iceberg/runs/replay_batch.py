"""One table, one replay: its open rows are read, cleaned, compared and merged like a late batch, and settled in the same commit."""

import time
import uuid

import attrs
import structlog
from pyspark.sql import DataFrame
from pyspark.sql.functions import expr

from dms_iceberg.bronze.keys import Truncate
from dms_iceberg.changes.frames import ReadGroup, Shape, clean_groups
from dms_iceberg.config.model import Table
from dms_iceberg.context import BatchPlan, RunContext
from dms_iceberg.errors import TargetError
from dms_iceberg.failpoints import failpoint
from dms_iceberg.loads.epochs import branch_state
from dms_iceberg.merge.merge_input import MergeInput
from dms_iceberg.merge.write import draft_batch, named_view
from dms_iceberg.progress.pending import RecordBatch, applied_truncates
from dms_iceberg.runs.report import BatchReport, TableReport
from dms_iceberg.runs.table_run import backfill_warnings, judge_batch, refuse_broken_rule, report_batch, seen_shape
from dms_iceberg.silver import first_seen
from dms_iceberg.silver.analysis import analysed_evolution
from dms_iceberg.silver.backfill import restore_backfills
from dms_iceberg.silver.cleaning import refuse_other_key_mask
from dms_iceberg.silver.evolve import evolve
from dms_iceberg.silver.key import refuse_other_key
from dms_iceberg.silver.quarantine import JUDGEMENT, change_quarantine, judge_again_sql, open_rows, reason_is, resolve
from dms_iceberg.silver.quarantine_records import record_groups
from dms_iceberg.silver.remembered import guarded, source_names
from dms_iceberg.silver.row_counts import RowCounts, summary_properties
from dms_iceberg.silver.switch_mode import silver_types, switch_mode
from dms_iceberg.silver.table import TargetTable
from dms_iceberg.silver.unknown_columns import check_named
from dms_iceberg.sql.cdc_columns import OLD_KEY, PROBLEM, ROW_ID
from dms_iceberg.sql.json_text import json_sql

_LOG = structlog.get_logger("dms_iceberg")


@attrs.frozen(eq=False)
class Tried:
    """Rows of the quarantine that a replay tries, and the columns that they were read with."""

    rows: DataFrame
    layouts: tuple[str, ...]


def replay_step(context: RunContext, table: Table, target: TargetTable, reasons: tuple[str, ...], report: TableReport) -> bool:
    """Try the open rows with one of ``reasons`` (all if there are none) again; False when that is done, True to be called once more.

    Raises:
        DmsIcebergError: the rows cannot be replayed; nothing was written to the table.
        PlanIsStaleError: somebody else committed first.
    """
    planned, tried = _plan(context, table, target, reasons, report)
    if planned is None or tried is None:
        return False
    result = _replay(context, table, target, planned, tried)
    if isinstance(result, BatchReport):
        report.batches.append(result)
        report.warn(*result.warnings)
        return False
    report.ddl.extend(result)
    return True


def _plan(
    context: RunContext, table: Table, target: TargetTable, reasons: tuple[str, ...], report: TableReport
) -> tuple[BatchPlan, Tried] | tuple[None, None]:
    if not target.exists():
        return None, None
    target.refresh()
    refuse_other_key(table, target.properties())
    refuse_other_key_mask(table, target.properties())
    found = branch_state(target, context.config, table)
    if restored := restore_backfills(target):
        report.ddl.extend(restored)
        found = branch_state(target, context.config, table)
    head = target.head()
    if head is None:
        return None, None
    if found.branch is not None:
        raise TargetError(
            f"{table.source}: is being loaded again, and the new load replaces the rows that its quarantine holds. Run the job until the "
            "load is complete; what the new load rejects can be replayed then."
        )
    rows = open_rows(context.spark, context.config, table, found.progress)
    if rows is None:
        return None, None
    chosen = reason_is(reasons)
    sums = (expr("count(1) AS n"), expr("sum(octet_length(record)) AS bytes"))
    counted = rows.where(chosen).groupBy("layout").agg(*sums).collect()
    if lost := sum(row.n for row in counted if row.layout is None):
        report.warn(
            f"{table.source}: {lost:,} rows were quarantined by an earlier version, whose records do not tell the types of their columns. "
            "They cannot be replayed; the next change of their key, or verify --repair, mends silver."
        )
    told = [row for row in counted if row.layout is not None]
    if not told:
        return None, None
    waiting = rows.where(f"layout IS NULL OR NOT coalesce({chosen}, false)") if reasons or lost else None
    batch = RecordBatch(sum(row.bytes for row in told))
    progress = found.progress
    listing = context.listing(table, progress)
    listed = sorted(one.at for one in listing if isinstance(one, Truncate) and one.at > progress.reloaded_at)
    tried = Tried(rows.where(chosen), tuple(row.layout for row in told))
    return BatchPlan(batch, found, head.id, (), applied_truncates(listed, progress), waiting=waiting), tried


def _replay(context: RunContext, table: Table, target: TargetTable, planned: BatchPlan, tried: Tried) -> BatchReport | tuple[str, ...]:
    started = time.monotonic()
    existing = silver_types(target, table)
    groups = record_groups(context, table, tried.rows, tried.layouts, existing or ())
    memory = guarded(context, table, target, groups)
    # Rows of older files may lack a column: only one that no file ever had is told of.
    check_named(context, table, groups, existing, memory.seen, fresh=False, files=(), progress=planned.progress)
    if switched := switch_mode(target, table, planned.main):
        return switched
    evolution = analysed_evolution(context, table, groups, existing, memory.texts, memory.salts)
    if evolution.plan.operations:
        return evolve(target, table, evolution.plan, planned.main)
    progress = planned.progress
    collapsed, shape = judge_batch(context, table, target, planned, groups, seen_shape(context, table, planned, groups, evolution.shape))
    books = collapsed.books
    outcome = _outcome(context, table, planned, groups, shape, collapsed).persist()
    try:
        refuse_broken_rule(table, planned, books)
        if books.quarantined:
            _judge_again(context, table, outcome)
        if books.quarantined < books.rows_read:
            replay = uuid.uuid4().hex[:16]
            _write_settled(context, table, outcome, replay, progress.replay, books)
            if collapsed.resolved is not None:
                resolve(context.spark, context.config, table, collapsed.resolved, replay, progress.replay, context.run_id)
            failpoint("after-settled", table.source)
            # The content may have come further by a row that was the newest of all.
            high, behind = max(progress.high_water, books.high), progress.behind or books.behind
            seen = first_seen.remembered(progress, shape.first_seen)
            progress = attrs.evolve(progress, replay=replay, high_water=high, behind=behind, first_seen=seen)
            properties = summary_properties(progress, books, 0, context.run_id)
            transaction = draft_batch(context, table, target, shape, collapsed, properties, planned)
            target.record_changed_properties(transaction, memory.properties_after(table, target, shape, source_names(groups)))
            failpoint("before-publish", table.source)
            target.publish(transaction)
            failpoint("after-commit", table.source)
    finally:
        outcome.unpersist()
        collapsed.latest.unpersist()
    told = (*evolution.warnings, *backfill_warnings(context, table, planned, groups, shape))
    result = attrs.evolve(report_batch(target, planned, books, progress, started), warnings=told)
    _LOG.info(
        "rows_replayed",
        table=table.source,
        run_id=context.run_id,
        rows_read=books.rows_read,
        applied=books.applied,
        stale=books.stale,
        still_quarantined=books.quarantined,
        seconds=result.seconds,
    )
    return result


def _outcome(
    context: RunContext, table: Table, planned: BatchPlan, groups: list[ReadGroup], shape: Shape, collapsed: MergeInput
) -> DataFrame:
    """Return what became of each row: its id, and why it stays (`JUDGEMENT`, a NULL reason for rows that are settled)."""
    cleaned = collapsed.judge(clean_groups(context.spark, groups, context.config, table, shape, planned.progress.load))
    return cleaned.where(f"{OLD_KEY} = 0").selectExpr(
        f"{ROW_ID} AS id", *(f"{sql} AS {column}" for column, sql in JUDGEMENT.items()), f"{json_sql(shape.key)} AS key", PROBLEM
    )


def _judge_again(context: RunContext, table: Table, outcome: DataFrame) -> None:
    with named_view(context, outcome.where(f"{PROBLEM} IS NOT NULL")) as view:
        change_quarantine(context.spark, context.config, table, lambda name: judge_again_sql(name, view))


def _write_settled(context: RunContext, table: Table, outcome: DataFrame, replay: str, parent: str, books: RowCounts) -> None:
    resolved = outcome.where(f"{PROBLEM} IS NULL")
    count = resolved.count()
    if count != books.rows_read - books.quarantined:
        raise TargetError(
            f"{table.source}: {books.rows_read - books.quarantined:,} rows of the quarantine can be merged, but {count:,} would be "
            "settled. Nothing was written. Report this defect."
        )
    failpoint("before-settled", table.source)
    resolve(context.spark, context.config, table, resolved, replay, parent, context.run_id)
