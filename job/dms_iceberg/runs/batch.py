"""Merge one batch of files whose columns are known: clean -> merge input by mode -> quarantine -> merge -> report."""

import time
import uuid
from functools import reduce

import attrs
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame

from dms_iceberg.changes.identity import is_identified
from dms_iceberg.config.model import Mode, Table
from dms_iceberg.context import BatchPlan, RunContext
from dms_iceberg.errors import RuleFailedError
from dms_iceberg.failpoints import failpoint
from dms_iceberg.iceberg.rows.not_possible import NotPossibleError
from dms_iceberg.merge.absent_keys import absent_keys, asked_property
from dms_iceberg.merge.append import changelog_batch
from dms_iceberg.merge.batch_context import BatchContext
from dms_iceberg.merge.bulk_load import BulkLoad, bulk_load
from dms_iceberg.merge.collapse_batch import collapse_batch
from dms_iceberg.merge.crowded.ambiguous_keys import closed_by_repair
from dms_iceberg.merge.direct.delta import PATH_KEY
from dms_iceberg.merge.duplicate_keys import duplicate_keys
from dms_iceberg.merge.history import history_batch
from dms_iceberg.merge.merge_input import MergeInput
from dms_iceberg.merge.uploaded_again import rewritten_rows
from dms_iceberg.merge.write import batch_transaction, named_view
from dms_iceberg.progress.arrivals import NO_ARRIVALS
from dms_iceberg.progress.progress import Progress
from dms_iceberg.quarantine.rejected_rows import quarantine_sql, rejected_changes, rejected_rows, resolve
from dms_iceberg.quarantine.tables import change_quarantine, prepare_quarantine
from dms_iceberg.runs.actions import MergeBatch
from dms_iceberg.runs.report import BatchReport
from dms_iceberg.runs.state import OpenedBatch
from dms_iceberg.silver.analysis import check_expressions, refuse_clock
from dms_iceberg.silver.check_configuration import checked_property
from dms_iceberg.silver.memory.cleaning import made_by
from dms_iceberg.silver.memory.recorded_declarations import source_names
from dms_iceberg.silver.row_counts import COUNTS, BatchCounts, summary_properties
from dms_iceberg.silver.schema import first_seen
from dms_iceberg.silver.table import ADDED_PROPERTY, TargetTable
from dms_iceberg.silver.table_context import TableContext

_MERGE_INPUT_BY_MODE = {Mode.HISTORY: history_batch, Mode.APPEND: changelog_batch}


def merge_batch(batch: BatchContext, action: MergeBatch, opened: OpenedBatch) -> BatchReport:
    """Merge one batch: data and progress in one snapshot.

    Args:
        batch: the batch, with the shape that its columns give it.
        action: the planned action.
        opened: the batch's columns beside those of the table.

    Raises:
        DmsIcebergError: the batch cannot be merged; nothing was written to the table.
        PlanIsStaleError: another writer committed since the batch was planned.
    """
    try:
        return _merged(batch, action, opened)
    except NotPossibleError as error:
        # Once more from the start: what is merged must be counted by the read that merges it, as a file may have changed since.
        return _merged(attrs.evolve(batch, not_direct=str(error)), action, opened)


def _merged(batch: BatchContext, action: MergeBatch, opened: OpenedBatch) -> BatchReport:
    table, target, planned, memory = batch.table, batch.target, batch.planned, opened.memory
    names = source_names(batch.groups)
    if action.creates is not None:
        check_expressions(batch.context, batch.groups, table, batch.shape)
    refuse_clock(batch.context, batch.groups, table, batch.shape)
    if action.creates is not None:
        target.create(action.creates, table)
        failpoint("after-create", table.source)
    batch = seen_backfills(batch)
    bulk = _bulk_load(batch)
    merge_input, batch = (bulk.merge_input, batch) if bulk is not None else make_merge_input(batch)
    try:
        refuse_broken_rule(table, planned, merge_input.row_counts)
        if merge_input.row_counts.quarantined:
            _quarantine(batch, merge_input)
        after = _progress_after(batch, merge_input)
        failpoint("before-merge", table.source)
        after = _resolve(batch, merge_input, after)
        properties = _properties(batch.context, table, planned, after, merge_input.row_counts)
        properties |= asked_property(batch, merge_input)
        properties |= memory.summary_after(table, opened.evolved.shape, names) if planned.branch_state.branch is not None else {}
        transaction = bulk.with_properties(properties) if bulk is not None else batch_transaction(batch, merge_input, properties)
        made = memory.properties_after(table, target, batch.shape, names, opened.named.found)
        made |= checked_property(attrs.evolve(batch, table=opened.table))
        target.record_changed_properties(transaction, made | _added_columns(batch, merge_input))
        failpoint("before-publish", table.source)
        target.commit(transaction)
        failpoint("after-commit", table.source)
        warnings = (*opened.warnings, *duplicate_keys(batch, merge_input))
    finally:
        merge_input.latest.unpersist()
        if bulk is not None:
            bulk.discard()
    warnings = (*warnings, *backfill_warnings(batch))
    return attrs.evolve(report_batch(target, planned, merge_input.row_counts, after, opened.began), warnings=warnings)


def _progress_after(batch: BatchContext, merge_input: MergeInput) -> Progress:
    planned, counts = batch.planned, merge_input.row_counts
    after = _with_files(batch.context, planned, is_cut=merge_input.is_cut)
    after = after.with_rows(
        counts.high, named_behind_utc=counts.named_behind_utc, arrivals=NO_ARRIVALS if after.by_file else merge_input.arrivals
    )
    return attrs.evolve(after, first_seen=first_seen.remembered(planned.progress, batch.shape.first_seen))


def _added_columns(batch: BatchContext, merge_input: MergeInput) -> dict[str, str]:
    """Return the table properties about columns without which changes are merged, where repeated changes must be recognised."""
    if not is_identified(batch.table):
        return {}
    return {ADDED_PROPERTY + name: clock for name, clock in batch.reached_without(merge_input.row_counts.high).items()}


def _with_files(context: RunContext, planned: BatchPlan, *, is_cut: bool = False) -> Progress:
    batch = planned.batch
    after = planned.progress.after(batch.files, context.look_back(), planned.loads, is_cut=is_cut, pending_since=batch.pending_since)
    return attrs.evolve(after, by_file=bool(after.frontier) and context.config.bronze.change.orders_by_file)


def _bulk_load(batch: BatchContext) -> BulkLoad | None:
    try:
        return bulk_load(batch)
    except AnalysisException:
        check_expressions(batch.context, batch.groups, batch.table, batch.shape)
        raise


def seen_backfills(batch: BatchContext) -> BatchContext:
    """Return the batch with what its files and the progress say about columns with a backfill."""
    seen = first_seen.seen_with(batch.table, batch.groups, batch.context.config.bronze, batch.planned.progress)
    return attrs.evolve(batch, shape=attrs.evolve(batch.shape, first_seen=seen))


def backfill_warnings(batch: BatchContext) -> list[str]:
    """Return the warnings about columns with a backfill."""
    known = first_seen.known_before(batch.table, batch.planned.progress)
    return [
        *first_seen.unknown_warnings(batch.table, batch.groups, known),
        *first_seen.earlier_warnings(batch.table, batch.context.config.bronze, known, batch.shape.first_seen),
    ]


def make_merge_input(batch: BatchContext) -> tuple[MergeInput, BatchContext]:
    """Return the `MergeInput` that the table's mode computes from a batch, with its row counts; the caller unpersists ``latest``.

    Late files may change the batch's shape, so the batch is returned as well.

    Raises:
        ConfigError: Spark refuses an expression of the configuration.
    """
    merge_input = _merge_input(batch)
    bronze, progress, shape = batch.context.config.bronze, batch.planned.progress, batch.shape
    found = first_seen.seen_in_late(batch.table, batch.groups, bronze, progress, shape.first_seen, merge_input.row_counts.low)
    if found == shape.first_seen:
        return merge_input, batch
    merge_input.latest.unpersist()
    batch = attrs.evolve(batch, shape=attrs.evolve(shape, first_seen=found))
    return _merge_input(batch), batch


def _merge_input(batch: BatchContext) -> MergeInput:
    try:
        return _MERGE_INPUT_BY_MODE.get(batch.table.mode, collapse_batch)(batch)
    except AnalysisException:
        # If an expression of the configuration is the cause, report its key path.
        check_expressions(batch.context, batch.groups, batch.table, batch.shape)
        raise


def refuse_broken_rule(table: Table, planned: BatchPlan, counts: BatchCounts) -> None:
    """Refuse a batch with rows that break a rule with ``on_fail = fail``.

    Raises:
        RuleFailedError: there are such rows.
    """
    if counts.failed_rule is not None:
        files = planned.batch.files
        rows = f"rows of {files[0].key} to {files[-1].key}" if files else "rows from the quarantine"
        raise RuleFailedError(
            f"{table.source}: rule {counts.failed_rule!r} (on_fail = fail) is broken by {rows}. "
            "Nothing of the batch was written. Correct the source, or set on_fail to 'quarantine' to let the other rows pass."
        )


def _quarantine(batch: BatchContext, merge_input: MergeInput) -> None:
    failpoint("before-quarantine", batch.table.source)
    prepare_quarantine(batch.context.spark, batch.context.config, batch.table)
    cleaned = batch.clean(with_record=True)
    changes = rejected_changes(merge_input.mark_rejected(cleaned), batch.shape).persist()
    try:
        rejected = rejected_rows(batch.context, batch.table, batch.planned, batch.shape, changes)
        with named_view(batch.context, rejected) as view:
            change_quarantine(batch.context.spark, batch.context.config, batch.table, lambda name: quarantine_sql(name, view))
    finally:
        changes.unpersist()
    failpoint("after-quarantine", batch.table.source)


def _resolve(batch: BatchContext, merge_input: MergeInput, after: Progress) -> Progress:
    """Record which rows of the quarantine the batch resolves, as a replay does; return the progress that names that record."""
    found = [
        merge_input.resolved,
        closed_by_repair(batch, merge_input.latest),
        rewritten_rows(batch),
    ]
    resolved = [rows.select("id") for rows in found if rows is not None]
    rows = reduce(DataFrame.union, resolved).distinct() if resolved else None
    if rows is None or rows.isEmpty():
        return after
    replay = uuid.uuid4().hex[:16]
    resolve(batch.context, batch.table, rows, replay, after.replay)
    return attrs.evolve(after, replay=replay)


def _properties(context: RunContext, table: Table, planned: BatchPlan, after: Progress, counts: BatchCounts) -> dict[str, str]:
    made = made_by(table) if planned.branch_state.branch is not None else {}
    return summary_properties(after, counts, len(planned.batch.files), context.run_id) | made


def skip_files(here: TableContext, planned: BatchPlan, began: float) -> BatchReport:
    """Move the frontier past files that have no rows and no columns, if the table exists.

    Raises:
        PlanIsStaleError: another writer committed since the batch was planned.
    """
    context, table, counts = here.context, here.table, BatchCounts()
    target = here.target if here.target.exists() else None
    after = _with_files(context, planned)
    after = attrs.evolve(after, first_seen=first_seen.remembered(planned.progress, first_seen.known_before(table, planned.progress)))
    if target is not None:
        transaction = target.transaction_on(planned.branch_state)
        transaction.touch(_properties(context, table, planned, after, counts))
        target.commit(transaction)
    return report_batch(target, planned, counts, after, began)


def report_batch(target: TargetTable | None, planned: BatchPlan, counts: BatchCounts, after: Progress, started: float) -> BatchReport:
    """Return the report of a committed batch; ``started`` is when it was planned (`time.monotonic`)."""
    batch = planned.batch
    head = target.head(planned.branch_state.branch) if target is not None else None
    lags: list[float | None] = [None, None, None]
    if head is not None and counts.commit_micros and not (batch.is_load or planned.is_replay or planned.branch_state.rebuild):
        # A snapshot's timestamp is that of its transaction, and readers see it only once it is published.
        visible_at = time.time()
        lags = [round(visible_at - micros / 1e6, 3) for micros in counts.commit_micros]
    return BatchReport(
        files=len(batch.files),
        bytes=batch.size,
        **{name: getattr(counts, name) for name in COUNTS},
        snapshot_id=head.id if head is not None else None,
        frontier=after.frontier,
        seconds=round(time.monotonic() - started, 3),
        lag_p95_seconds=lags[0],
        lag_p50_seconds=lags[1],
        lag_seconds=lags[2],
        is_load=batch.is_load,
        remaining=batch.remaining,
        path=head.summary.get(PATH_KEY, "") if head is not None else "",
        absent=absent_keys(head.summary)[1] if head is not None else 0,
    )
