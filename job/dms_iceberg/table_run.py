"""One table, one batch: plan -> read -> normalise -> clean -> collapse -> evolve -> merge -> report."""

import json
import time
import uuid
from collections.abc import Sequence
from datetime import UTC, datetime

import attrs
from pyspark.errors import AnalysisException

from dms_iceberg.analysis import check_expressions, expression_types
from dms_iceberg.changelog import changelog_batch
from dms_iceberg.changes.collapse import Books
from dms_iceberg.changes.frames import ReadGroup, Shape, clean_groups
from dms_iceberg.config.model import Mode, Table, Timestamps
from dms_iceberg.errors import RuleFailedError
from dms_iceberg.faults import reach
from dms_iceberg.history import history_batch
from dms_iceberg.job import Job, Planned
from dms_iceberg.progress import ACCOUNTING_KEY, PROGRESS_KEY, Progress
from dms_iceberg.quarantine import create_quarantine_sql, quarantine_sql, quarantine_table, rejected_rows
from dms_iceberg.report import BatchReport
from dms_iceberg.staging.plan import FileBatch
from dms_iceberg.target.evolve import evolve, plan_evolution
from dms_iceberg.target.key import KEY_PROPERTY, key_property
from dms_iceberg.target.switch import silver_types, switch_mode
from dms_iceberg.target.table import TargetTable, ordered
from dms_iceberg.target.write import draft_batch
from dms_iceberg.unknown_columns import check_named
from dms_iceberg.winners import Collapsed, collapse_batch, open_files

_JUDGES = {Mode.HISTORY: history_batch, Mode.APPEND: changelog_batch}


def run_batch(job: Job, table: Table, target: TargetTable, planned: Planned) -> BatchReport | tuple[str, ...]:
    """Merge one batch: data and progress in one snapshot.

    Returns:
        The batch's report; or the schema statements that had to run first, after which the batch must be planned again.

    Raises:
        DmsIcebergError: the batch cannot be merged; nothing was written to the table.
        PlanIsStaleError: somebody else committed first.
    """
    started = time.monotonic()
    groups = open_files(job, table, planned.batch.files)
    reach("after-inspect", table.source)
    existing = silver_types(target, table)
    if existing is not None and (switched := switch_mode(target, table, planned.main)):
        return switched
    if not groups:
        return _pass_over(job, target if existing is not None else None, planned, started)
    files, loads = planned.batch.files, planned.loads
    warnings = check_named(job, table, groups, existing, fresh=existing is None or planned.main is None, files=files, loads=loads)
    ntz = job.config.timestamps is Timestamps.NTZ
    evolution = plan_evolution(table, groups, expression_types(job, groups, table), existing, ntz=ntz)
    if existing is None:
        check_expressions(job, groups, table, evolution.shape)
        names = [column.name for column in evolution.shape.columns]
        target.create(ordered(names, evolution.shape.types), table)
        reach("after-create", table.source)
    elif evolution.plan.operations:
        return evolve(target, evolution.plan, planned.main)
    try:
        collapsed = _JUDGES.get(table.mode, collapse_batch)(job, table, target, planned, groups, evolution.shape)
    except AnalysisException:
        # Say where in the configuration, if that is the cause.
        check_expressions(job, groups, table, evolution.shape)
        raise
    try:
        _refuse_broken_rule(table, planned.batch, collapsed.books)
        if collapsed.books.quarantined:
            _quarantine(job, table, planned, groups, evolution.shape, collapsed)
        after = planned.progress.after(planned.batch.files, collapsed.books.high, job.config.batch.look_back_hours, planned.loads)
        reach("before-merge", table.source)
        properties = _properties(after, collapsed.books, planned.batch, job.run_id)
        draft = draft_batch(job, table, target, evolution.shape, collapsed, properties, planned)
        if KEY_PROPERTY not in target.properties():
            # The table is of an earlier version.
            draft.set_properties(key_property(table, evolution.shape.key))
        reach("before-publish", table.source)
        target.publish(draft)
        reach("after-commit", table.source)
    finally:
        collapsed.winners.unpersist()
    return attrs.evolve(_report(target, planned, collapsed.books, after, started), warnings=(*warnings, *evolution.warnings))


def _refuse_broken_rule(table: Table, batch: FileBatch, books: Books) -> None:
    if books.failed_rule is not None:
        raise RuleFailedError(
            f"{table.source}: rule {books.failed_rule!r} (on_fail = fail) is broken by rows of {batch.files[0].key} to "
            f"{batch.files[-1].key}. "
            "Nothing of the batch was written. Correct the source, or set on_fail to 'quarantine' to let the other rows pass."
        )


def _quarantine(job: Job, table: Table, planned: Planned, groups: Sequence[ReadGroup], shape: Shape, collapsed: Collapsed) -> None:
    name = quarantine_table(job.config, table)
    reach("before-quarantine", table.source)
    job.spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {name.rpartition('.')[0]}")
    job.spark.sql(create_quarantine_sql(name))
    cleaned = clean_groups(job.spark, groups, job.config, table, shape, planned.progress.load, with_record=True)
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M:%S.%f")
    view = f"_cdc_rejected_{uuid.uuid4().hex}"
    rejected = rejected_rows(job.spark, collapsed.judge(cleaned), planned.batch.files, table, shape, job.run_id, now)
    rejected.createOrReplaceTempView(view)
    try:
        job.spark.sql(quarantine_sql(name, view))
    finally:
        job.spark.catalog.dropTempView(view)
    reach("after-quarantine", table.source)


def _properties(after: Progress, books: Books, batch: FileBatch, run_id: str) -> dict[str, str]:
    accounting = {name: getattr(books, name) for name in ("rows_read", "applied", "superseded", "stale", "filtered", "quarantined")} | {
        "files": len(batch.files),
        "run_id": run_id,
    }
    return {PROGRESS_KEY: after.to_json(), ACCOUNTING_KEY: json.dumps(accounting, separators=(",", ":"))}


def _pass_over(job: Job, target: TargetTable | None, planned: Planned, started: float) -> BatchReport:
    """Move the frontier over files that hold nothing, not even columns."""
    books = Books()
    after = planned.progress.after(planned.batch.files, "", job.config.batch.look_back_hours, planned.loads)
    if target is not None:
        draft = target.draft(planned.standing.head, planned.standing.branch)
        draft.touch(_properties(after, books, planned.batch, job.run_id))
        target.publish(draft)
    return _report(target, planned, books, after, started)


def _report(target: TargetTable | None, planned: Planned, books: Books, after: Progress, started: float) -> BatchReport:
    batch = planned.batch
    head = target.head(planned.standing.branch) if target is not None else None
    lags: list[float | None] = [None, None, None]
    if head is not None and books.commit_micros and not batch.is_load:
        lags = [round(head.timestamp_ms / 1000 - micros / 1e6, 3) for micros in books.commit_micros]
    return BatchReport(
        files=len(batch.files),
        bytes=batch.size,
        rows_read=books.rows_read,
        applied=books.applied,
        superseded=books.superseded,
        stale=books.stale,
        filtered=books.filtered,
        quarantined=books.quarantined,
        snapshot_id=head.id if head is not None else None,
        frontier=after.frontier,
        seconds=round(time.monotonic() - started, 3),
        lag_p95_seconds=lags[0],
        lag_p50_seconds=lags[1],
        lag_seconds=lags[2],
        is_load=batch.is_load,
        remaining=batch.remaining,
    )
