"""Keeping tables in order between their batches: one table at a time in each thread, within a budget, and never in the way of a batch."""

import time
import uuid
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

import structlog
from pyspark.sql import SparkSession

from dms_iceberg.attempts import attempt, planned_again
from dms_iceberg.config.model import Config, Table
from dms_iceberg.job import Job, PlanIsStaleError
from dms_iceberg.maintenance.need import Facts, Scope, Step
from dms_iceberg.maintenance.report import MaintenanceReport, MaintenanceRun, Outcome, StepReport
from dms_iceberg.maintenance.steps import Kept, take
from dms_iceberg.quarantine import quarantine_name, replays_name
from dms_iceberg.staging.store import open_store
from dms_iceberg.target.table import TargetTable

_LOG = structlog.get_logger("dms_iceberg")


def maintain(spark: SparkSession, config: Config, tables: Iterable[Table], budget: float | None = None) -> MaintenanceRun:
    """Do what tables need (`Scope.FULL`), those of the quarantine included.

    Args:
        tables: of ``config``.
        budget: seconds for each table; as configured when None.
    """
    started = time.monotonic()
    chosen = list(tables)
    job = Job(spark, config, open_store(config.bronze.uri), uuid.uuid4().hex[:12])
    with ThreadPoolExecutor(max(1, min(config.parallelism, len(chosen)))) as pool:
        reports = list(pool.map(lambda table: maintain_table(job, table, budget, Scope.FULL), chosen))
    return MaintenanceRun({report.table: report for report in reports}, time.monotonic() - started)


def maintain_table(job: Job, table: Table, budget: float | None = None, scope: Scope | None = None) -> MaintenanceReport:
    """Do what a table needs; an error ends in the report, not in an exception.

    Between two batches of the table this costs one reading of its metadata when nothing is needed.

    Args:
        budget: seconds after which no further step begins; as configured when None.
        scope: what may be done; what the configuration has for the end of a run when None. Only `Scope.FULL` looks after the quarantine.
    """
    started = time.monotonic()
    deadline = started + (table.maintenance.budget_seconds if budget is None else budget)
    report = MaintenanceReport(table=table.source, target=table.target)
    chosen = Scope.after(table.maintenance.after_run) if scope is None else scope
    if chosen.steps:
        attempt(job, report, lambda: _maintain_all(job, table, chosen, deadline, report))
    report.seconds = time.monotonic() - started
    if report.error:
        _LOG.error("maintenance_failed", table=table.source, run_id=job.run_id, error=report.error)
    return report


def _maintain_all(job: Job, table: Table, scope: Scope, deadline: float, report: MaintenanceReport) -> None:
    for kept in _tables(job, table, scope, deadline):
        if not kept.target.exists():
            continue
        for step in scope.steps:
            facts = kept.facts(step)
            reason = kept.reason(step, facts)
            if reason:
                done = _taken(step, kept, facts, reason)
                report.steps.append(done)
                _LOG.info("table_maintained", table=table.source, run_id=job.run_id, **done.to_document())


def _tables(job: Job, table: Table, scope: Scope, deadline: float) -> Iterator[Kept]:
    def named(name: str) -> TargetTable:
        return TargetTable(job.spark, job.config.catalog.name, name)

    silver = named(table.target)
    yield Kept(job, table, silver, scope, deadline)
    if scope is Scope.FULL:
        yield Kept(job, table, named(quarantine_name(job.config, table)), scope, deadline, is_silver=False, settles=silver)
        yield Kept(job, table, named(replays_name(job.config, table)), scope, deadline, is_silver=False)


def _taken(step: Step, kept: Kept, facts: Facts, reason: str) -> StepReport:
    started = time.monotonic()
    outcome, counts = Outcome.NO_TIME, dict[str, int]()
    if kept.has_time:
        try:
            with planned_again():
                take(step, kept, facts, counts)
            outcome = Outcome.DONE
        except PlanIsStaleError:
            outcome = Outcome.GAVE_WAY
    seconds = round(time.monotonic() - started, 3)
    return StepReport(name=kept.target.name, step=step.value, reason=reason, outcome=outcome, counts=counts, seconds=seconds)
