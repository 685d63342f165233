"""Maintain tables between their batches: one table at a time in each thread, within a budget; a concurrent batch has priority."""

import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext

import structlog
from pyspark.sql import SparkSession

from dms_iceberg.config.model import Config, Maintenance, Table
from dms_iceberg.context import PlanIsStaleError, RunContext
from dms_iceberg.maintenance.execute import MaintainedTable, execute
from dms_iceberg.maintenance.plan import Scope, Step, TableStats
from dms_iceberg.maintenance.report import MaintenanceReport, MaintenanceRun, Outcome, StepReport
from dms_iceberg.quarantine.tables import quarantine_name, quarantine_part, refuse_moved, replays_name
from dms_iceberg.retry import attempt, planned_again
from dms_iceberg.silver.owner import owner_of_model
from dms_iceberg.silver.table import TargetTable
from dms_iceberg.silver.table_context import TableContext
from dms_iceberg.storage.open_store import open_store

_LOG = structlog.get_logger("dms_iceberg")


def maintain(
    spark: SparkSession, config: Config, tables: Iterable[Table], models: Iterable[str] = (), budget: float | None = None
) -> MaintenanceRun:
    """Execute the steps that tables and models need (`Scope.FULL`), quarantine tables included.

    Args:
        tables: tables of ``config``.
        models: names of ``config.gold``.
        budget: seconds for each table; None for the configured value.
    """
    started = time.monotonic()
    chosen, named = list(tables), list(models)
    context = RunContext(spark, config, open_store(config.bronze.uri), uuid.uuid4().hex[:12])
    with ThreadPoolExecutor(max(1, min(config.parallelism, len(chosen) + len(named)))) as pool:
        of_tables = pool.map(lambda table: maintain_table(context, table, budget, Scope.FULL), chosen)
        of_models = pool.map(lambda name: maintain_model(context, name, budget, Scope.FULL), named)
        return MaintenanceRun(
            {report.table: report for report in of_tables}, {report.table: report for report in of_models}, time.monotonic() - started
        )


def maintain_table(context: RunContext, table: Table, budget: float | None = None, scope: Scope | None = None) -> MaintenanceReport:
    """Execute the steps that a table needs. An error ends in the report, not in an exception.

    If nothing is needed, this costs one read of the table's metadata.

    Args:
        budget: no further step begins after this many seconds; None for the configured value.
        scope: which steps to consider; None for what the configuration sets for the end of a run. Only `Scope.FULL` has the quarantine.
    """
    report = MaintenanceReport(table=table.source, target=table.target)

    def tables(chosen: Scope, deadline: float) -> Iterator[MaintainedTable]:
        silver = TableContext.of(context, table)
        if silver.target.exists():
            silver.target.refresh()
            silver.target.refuse_other_owner()
            # A commit records where the document has the rejected rows.
            refuse_moved(context.config, table, silver.target)
        yield MaintainedTable(context, table.maintenance, silver.target, chosen, deadline)
        if chosen is Scope.FULL:
            quarantine, replays = _quarantine(context, table)
            if quarantine is not None:
                yield MaintainedTable(context, table.maintenance, quarantine, chosen, deadline, is_silver=False, resolved_by=silver)
            if replays is not None:
                yield MaintainedTable(context, table.maintenance, replays, chosen, deadline, is_silver=False)

    return _maintained(context, report, table.maintenance, budget, scope, tables)


def maintain_model(context: RunContext, name: str, budget: float | None = None, scope: Scope | None = None) -> MaintenanceReport:
    """Execute the steps that a model needs by the document's own rules; otherwise as `maintain_table`."""
    report, rules = MaintenanceReport(table=name, target=name), context.config.maintenance

    def tables(chosen: Scope, deadline: float) -> Iterator[MaintainedTable]:
        target = TargetTable(context.spark, context.config.catalog.name, name, owner_of_model(context.config, name))
        if target.exists():
            target.refresh()
            target.refuse_other_owner()
            yield MaintainedTable(context, rules, target, chosen, deadline, is_silver=False)

    return _maintained(context, report, rules, budget, scope, tables)


def _quarantine(context: RunContext, table: Table) -> tuple[TargetTable | None, TargetTable | None]:
    config = context.config
    quarantine, replays = (quarantine_part(context.spark, config, table, name(config, table)) for name in (quarantine_name, replays_name))
    return quarantine, replays


def _maintained(
    context: RunContext,
    report: MaintenanceReport,
    rules: Maintenance,
    budget: float | None,
    scope: Scope | None,
    tables: Callable[[Scope, float], Iterable[MaintainedTable]],
) -> MaintenanceReport:
    started = time.monotonic()
    deadline = started + (rules.budget_seconds if budget is None else budget)
    chosen = Scope.after(rules.after_run) if scope is None else scope
    if chosen.steps:
        attempt(context, report, lambda: _maintain_all(tables(chosen, deadline), report))
    report.seconds = time.monotonic() - started
    if report.error:
        _LOG.error("maintenance_failed", table=report.table, run_id=context.run_id, error=report.error)
    return report


def _maintain_all(tables: Iterable[MaintainedTable], report: MaintenanceReport) -> None:
    for table in tables:
        if not table.target.exists():
            continue
        for step in table.scope.steps:
            stats = table.stats(step)
            reason = table.reason(step, stats)
            if reason:
                done = _execute_step(step, table, stats, reason)
                report.steps.append(done)
                _LOG.info("table_maintained", table=report.table, run_id=table.context.run_id, **done.to_document())


def _execute_step(step: Step, table: MaintainedTable, stats: TableStats, reason: str) -> StepReport:
    started = time.monotonic()
    outcome, counts = Outcome.NO_TIME, dict[str, int]()
    if table.has_time:
        try:
            # A listing cannot conflict with another commit: an exception from Iceberg is an error.
            with nullcontext() if step is Step.ORPHANS else planned_again():
                execute(step, table, stats, counts)
            outcome = Outcome.DONE
        except PlanIsStaleError:
            outcome = Outcome.GAVE_WAY
    seconds = round(time.monotonic() - started, 3)
    return StepReport(name=table.target.name, step=step.value, reason=reason, outcome=outcome, counts=counts, seconds=seconds)
