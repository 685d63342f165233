"""Many tables in one Spark session: bounded parallelism, and a failure of one leaves the others alone."""

import json
import time
import uuid
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from typing import Any

import structlog
from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from tenacity import RetryError, Retrying, retry_if_exception_type, stop_after_attempt, wait_random_exponential

from dms_iceberg.changes.gzipped import blame_gzip
from dms_iceberg.changes.kept import with_positions
from dms_iceberg.config.model import Config, Table
from dms_iceberg.config.problems import suggestion
from dms_iceberg.epochs import complete, is_complete, standing, waiting
from dms_iceberg.errors import ConfigError, DmsIcebergError
from dms_iceberg.faults import reach
from dms_iceberg.job import NOTHING_SAID, Job, OperatorsWord, PlanIsStaleError, Planned
from dms_iceberg.report import BatchReport, RunReport, TableReport
from dms_iceberg.spark_errors import FAILURES, describe, describe_defect
from dms_iceberg.staging.keys import table_prefix
from dms_iceberg.staging.listing import list_files
from dms_iceberg.staging.plan import next_batch, pending_files
from dms_iceberg.staging.store import ObjectStore, open_store
from dms_iceberg.table_run import run_batch
from dms_iceberg.target.commit import is_conflict
from dms_iceberg.target.create import create_from_configuration
from dms_iceberg.target.evolve import restore_backfills
from dms_iceberg.target.key import refuse_other_key
from dms_iceberg.target.table import TargetTable

_LOG = structlog.get_logger("dms_iceberg")
_ATTEMPTS = 8
Listener = Callable[[str, BatchReport], None]
"""Called with the table's name after each committed batch, from the table's own thread."""


def run(
    spark: SparkSession,
    config: Config,
    only: Iterable[str] = (),
    listener: Listener | None = None,
    operator: OperatorsWord = NOTHING_SAID,
) -> RunReport:
    """Merge everything there is into the configured tables, once.

    Args:
        only: source names of the tables to run; all when empty.
        listener: told of every committed batch.
        operator: what the operator says of reloads.

    Raises:
        ConfigError: ``only`` or ``operator`` names a table that is not configured, or a reload in place is told of all tables.
    """
    started = time.monotonic()
    tables = chosen_tables(config, only)
    chosen_tables(config, operator.load_complete, "--load-complete")
    if operator.reload_started and not only:
        raise ConfigError(["--reload-started-at: name the tables that were loaded again with --table"], config.pipeline)
    job = Job(spark, config, open_store(config.bronze.uri), uuid.uuid4().hex[:12], operator)
    state = open_store(config.state_uri)
    with ThreadPoolExecutor(max(1, min(config.parallelism, len(tables)))) as pool:
        reports = list(pool.map(lambda table: run_table(job, table, state, listener), tables))
    return RunReport(job.run_id, {report.table: report for report in reports}, time.monotonic() - started)


def chosen_tables(config: Config, only: Iterable[str], option: str = "--table") -> list[Table]:
    """Return the tables named in ``only`` (by ``option``), or all.

    Raises:
        ConfigError: a name is not configured.
    """
    # Named twice, a table would be merged by two threads at once.
    names = list(dict.fromkeys(only))
    unknown = [name for name in names if name not in config.tables]
    if unknown:
        raise ConfigError(
            [f"{option} {name}: not among the configured tables; {suggestion(name, config.tables)}" for name in unknown], config.pipeline
        )
    chosen = [config.tables[name] for name in names] if names else list(config.tables.values())
    return [with_positions(config, table) for table in chosen]


def run_table(job: Job, table: Table, state: ObjectStore, listener: Listener | None = None) -> TableReport:
    """Merge all new files of one table; an error ends in the report and in ``runs/<table>.json``, not in an exception."""
    started = time.monotonic()
    report = TableReport(table=table.source, target=table.target)
    log = _LOG.bind(table=table.source, run_id=job.run_id)
    _activate(job.spark)
    try:
        _merge_all(job, table, report, listener)
    except DmsIcebergError as error:
        report.error = str(error)
    except RetryError:
        report.error = (
            f"{table.source}: gave up after {_ATTEMPTS} tries because other writers kept committing to {table.target} first. "
            "Everything committed is consistent; run again when they are done, or give this table one writer."
        )
    except FAILURES as error:
        report.error = f"{table.source}: {describe(error)}"
        log.debug("table_failed", exc_info=True)
    except Exception as error:
        # Whatever it is, it must not stop the other tables.
        report.error = f"{table.source}: {describe_defect(error)}"
        log.debug("table_failed", exc_info=True)
    report.seconds = time.monotonic() - started
    if report.error:
        log.error("table_failed", error=report.error)
    elif report.batches:
        log.info(
            "table_done",
            rows_read=report.rows_read,
            applied=report.applied,
            quarantined=report.quarantined,
            seconds=round(report.seconds, 3),
        )
    if report.error or report.batches:
        reach("before-state", table.source)
        try:
            write_state(state, table, job.run_id, report)
        except FAILURES as error:
            # The batches are committed all the same.
            report.warnings.append(f"{table.source}: {state.root}/{state_key(table)} could not be written: {describe(error)}")
            log.error("state_not_written", error=describe(error))
    return report


def _activate(spark: SparkSession) -> None:
    """Give this thread the session; without one, `expr` parses by default settings, and replaces ``${...}`` in names and literals."""
    jvm: Any = spark._jvm
    jvm.org.apache.spark.sql.SparkSession.setActiveSession(spark._jsparkSession)


def _merge_all(job: Job, table: Table, report: TableReport, listener: Listener | None) -> None:
    target = TargetTable(job.spark, job.config.catalog.name, table.target)
    retrying = Retrying(
        retry=retry_if_exception_type(PlanIsStaleError),
        stop=stop_after_attempt(_ATTEMPTS),
        wait=wait_random_exponential(multiplier=0.2, max=5),
    )
    while retrying(_step, job, table, target, report, listener):
        pass
    _describe_end(target, report)


def _step(job: Job, table: Table, target: TargetTable, report: TableReport, listener: Listener | None) -> bool:
    """Plan and merge one batch; False when nothing is left. A lost race becomes `PlanIsStaleError`, and is tried again."""
    planned = None
    try:
        planned = plan_table(job, table, target, report)
        if planned is None:
            return False
        result = run_batch(job, table, target, planned)
    except (PySparkException, Py4JError) as error:
        if is_conflict(error):
            raise PlanIsStaleError from error
        if planned is not None:
            blame_gzip(job.store, planned.batch.files, error)
        raise
    if isinstance(result, BatchReport):
        report.batches.append(result)
        for text in report.warn(*result.warnings):
            _LOG.warning("table_warning", table=table.source, run_id=job.run_id, warning=text)
        _LOG.info(
            "batch_merged",
            table=table.source,
            run_id=job.run_id,
            files=result.files,
            rows_read=result.rows_read,
            applied=result.applied,
            stale=result.stale,
            quarantined=result.quarantined,
            seconds=result.seconds,
            lag_seconds=result.lag_seconds,
        )
        if listener is not None:
            listener(table.source, result)
        if result.snapshot_id is None:
            # Files without even columns make no table, so nothing remembers them but this run.
            report.passed_over.update(file.key for file in planned.batch.files)
            return True
        # A branch is looked at once more: with its last file the load may be complete.
        return planned.batch.remaining > 0 or planned.standing.branch is not None
    report.ddl.extend(result)
    _LOG.info("schema_changed", table=table.source, run_id=job.run_id, statements=list(result))
    return True


def plan_table(job: Job, table: Table, target: TargetTable, report: TableReport) -> Planned | None:
    """Return the next batch of a table as of now, None when there is none; a table without files is made from its configuration."""
    prefix = table_prefix(table.schema_name, table.table_name)
    if target.exists():
        target.refresh()
        refuse_other_key(table, target.properties())
        report.ddl.extend(restore_backfills(target))
    head = target.head() if target.exists() else None
    found = standing(target, job.config, table, job.operator.reload_started)
    progress = found.progress
    listing = list_files(job.store, prefix, progress.since, job.config.bronze.format, progress.committed)
    pending = pending_files(listing, progress, table.source, datetime.now(UTC))
    # A table is planned once for every batch.
    report.warnings.extend(warning for warning in pending.warnings(table.source) if warning not in report.warnings)
    reach("after-listing", table.source)
    batch = next_batch([file for file in pending.files if file.key not in report.passed_over], job.config.batch)
    if found.branch is not None:
        if is_complete(table, found, batch, pending.loads, told=table.source in job.operator.load_complete):
            complete(job, table, target, found, head.id if head else None)
            return plan_table(job, table, target, report)
        if batch is None or not batch.is_load:
            report.warnings.append(waiting(table, found))
            return None
    if not target.exists() and batch is None:
        missing = create_from_configuration(target, table)
        report.warnings.extend([missing] if missing else [])
    return Planned(batch, found, head.id if head else None, pending.loads) if batch is not None else None


def _describe_end(target: TargetTable, report: TableReport) -> None:
    if target.exists():
        head = target.head()
        report.snapshot_id = head.id if head else None
        report.frontier = target.progress().frontier


def state_key(table: Table) -> str:
    """Return where a table's last outcome is kept, below the state folder."""
    return f"runs/{table.source}.json"


def write_state(state: ObjectStore, table: Table, run_id: str, report: TableReport) -> None:
    """Keep the outcome of the table's last run that did something or failed: ``status`` and alarms read it."""
    document = {"run_id": run_id, "ended_at": datetime.now(UTC).isoformat(timespec="seconds"), **report.to_document()}
    state.put(state_key(table), json.dumps(document, indent=1).encode())
