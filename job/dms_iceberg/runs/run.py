"""Many tables in one Spark session: bounded parallelism, and a failure of one does not affect the others."""

import contextlib
import time
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor

import attrs
import structlog
from pyspark.sql import SparkSession

from dms_iceberg.bronze.corrupt_files import naming_corrupt_file
from dms_iceberg.changes.partial_updates import tables_with_kept_positions
from dms_iceberg.config.model import Config, Table
from dms_iceberg.context import NO_REQUEST, PlanIsStaleError, RunContext, RunRequest
from dms_iceberg.errors import DmsIcebergError
from dms_iceberg.gold.run import refresh_models
from dms_iceberg.iceberg.commit_errors import is_unknown
from dms_iceberg.maintenance.run import maintain_table
from dms_iceberg.merge.absent_keys import absent_warnings
from dms_iceberg.quarantine.open_count import count_open
from dms_iceberg.retry import attempt, on_conflict, planned_again
from dms_iceberg.runs.actions import CountRows, ReadFiles
from dms_iceberg.runs.apply import Outcome, apply
from dms_iceberg.runs.observer import NO_OBSERVER, RunObserver
from dms_iceberg.runs.open_batch import open_batch
from dms_iceberg.runs.plan import is_truncate_seen, plan
from dms_iceberg.runs.read_state import count_rows, read_state
from dms_iceberg.runs.report import BatchReport, RunReport, TableReport
from dms_iceberg.runs.request import check_request
from dms_iceberg.runs.state import RunMemory
from dms_iceberg.runs.state_file import clear_error, write_state_file
from dms_iceberg.runs.wording import under_way
from dms_iceberg.silver.table import TargetTable
from dms_iceberg.silver.table_context import TableContext
from dms_iceberg.spark.failures import FAILURES
from dms_iceberg.storage.open_store import open_store
from dms_iceberg.storage.store import ObjectStore

_LOG = structlog.get_logger("dms_iceberg")
Listener = Callable[[str, BatchReport], None]
"""Called with the table's name after each committed batch, from the table's own thread."""


def run(
    spark: SparkSession,
    config: Config,
    only: Iterable[str] = (),
    listener: Listener | None = None,
    request: RunRequest = NO_REQUEST,
    observer: RunObserver = NO_OBSERVER,
) -> RunReport:
    """Merge everything there is into the configured tables, once; then refresh the models whose tables changed.

    Args:
        only: source names of the tables to run; all when empty.
        listener: called after every committed batch.
        request: what the operator says about reloads, truncates and rebuilds.
        observer: hears what is done to each table, and may end the run after the batches at hand. Nothing is refreshed or maintained then.

    Raises:
        ConfigError: ``only`` or ``request`` names a table that is not configured, or `check_request` refuses the request.
    """
    started = time.monotonic()
    tables = tables_with_kept_positions(config, only)
    check_request(config, only, request)
    context = RunContext(spark, config, open_store(config.bronze.uri), uuid.uuid4().hex[:12], request)
    state = open_store(config.state_uri)
    began_ms = time.time_ns() // 1_000_000

    def run_one(table: Table) -> TableReport:
        report = run_table(context, table, state, listener, observer)
        if not report.error and not observer.is_stopping:
            report.older = open_rows_for_verdict(TableContext.of(context, table), without_run=context.run_id, before_ms=began_ms)
        return report

    with ThreadPoolExecutor(max(1, min(config.parallelism, len(tables)))) as pool:
        reports = list(pool.map(run_one, tables))
    is_stopped = bool(observer.is_stopping)
    models = {} if is_stopped else refresh_models(context)
    seconds = time.monotonic() - started
    by_table = {report.table: report for report in reports}
    return RunReport(context.run_id, by_table, seconds, models, models_wait=is_stopped and bool(config.gold))


def run_table(
    context: RunContext, table: Table, state: ObjectStore, listener: Listener | None = None, observer: RunObserver = NO_OBSERVER
) -> TableReport:
    """Merge all new files of one table. Report an error in the result and in its state file instead of raising it."""
    started = time.monotonic()
    report = TableReport(table=table.source, target=table.target)
    log = _LOG.bind(table=table.source, run_id=context.run_id)
    attempt(context, report, lambda: _merge_all(TableContext.of(context, table), report, listener, observer))
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
    if report.batches and not report.error and not report.stopped:
        observer.doing(table.source, "maintain the table")
        maintain_after_run(context, table, report)
    if report.error or report.batches:
        write_state_file(state, context, table, report)
    elif not report.stopped:
        clear_error(state, context, table)
    observer.done(table.source)
    return report


def open_rows_for_verdict(here: TableContext, *, without_run: str = "", before_ms: int | None = None) -> int | None:
    """Return `count_open`; 0 where there is no answer: there is nothing to say of them then, and the run has not failed."""
    with contextlib.suppress(DmsIcebergError, *FAILURES):
        return count_open(here, without_run=without_run, before_ms=before_ms)
    return 0


def _merge_all(here: TableContext, report: TableReport, listener: Listener | None, observer: RunObserver) -> None:
    memory, more = RunMemory(), True
    while more and not observer.is_stopping:
        more = step(here, memory, report, listener, observer)
    report.stopped = more
    confirmed = here.context.request.confirm_rows.get(here.table.source)
    if confirmed is not None and not (report.content or report.waits or report.stopped):
        _warn(here.context, report, f"{here.table.source}: --confirm-rows {confirmed} was not needed: no load or truncate waited for it.")
    describe_end(here.target, report)
    if report.absent:
        # As with `open_rows_for_verdict`, a quarantine that cannot be read is no failure of the run.
        with contextlib.suppress(DmsIcebergError, *FAILURES):
            _warn(here.context, report, *absent_warnings(here, open_rows_for_verdict(here)))


def maintain_after_run(context: RunContext, table: Table, report: TableReport) -> None:
    """Maintain a table that was merged into, as far as `Maintenance.after_run` allows; an error becomes a warning.

    A run is mostly the only writer of the table, so at its end maintenance rarely conflicts with another commit.
    """
    error = maintain_table(context, table).error
    if error is not None:
        report.warn(f"maintenance: {error}")


def step(
    here: TableContext, memory: RunMemory, report: TableReport, listener: Listener | None = None, observer: RunObserver = NO_OBSERVER
) -> bool:
    """Read the table's state, plan one action and execute it, again after a lost race for the commit; return False if nothing is left.

    Raises:
        DmsIcebergError: the action cannot be planned or executed; the table is unchanged.
        RetryError: the race was lost too often.
    """
    outcome = on_conflict(lambda: _step(here, memory, report, observer))
    report.waits = outcome.waits
    report.lost_versions = report.lost_versions or outcome.lost_versions
    report.content += [outcome.content] if outcome.content and outcome.content not in report.content else []
    report.ddl.extend(outcome.statements)
    memory.statements += outcome.statements
    batch = outcome.batch
    if batch is not None:
        batch, memory.statements = attrs.evolve(batch, ddl=memory.statements), ()
        report.batches.append(batch)
    _warn(here.context, report, *outcome.warnings)
    if batch is not None and listener is not None:
        listener(here.table.source, batch)
    return outcome.more


def _step(here: TableContext, memory: RunMemory, report: TableReport, observer: RunObserver) -> Outcome:
    context = here.context
    with _counting(report), planned_again():
        observer.doing(here.table.source, "look for files")
        state = read_state(here, memory)
        _warn(context, report, *state.warnings)
        action = plan(state, context.request)
        if isinstance(action, CountRows):
            state = attrs.evolve(state, effect=count_rows(here, action))
            action = plan(state, context.request)
        memory.truncate_seen = is_truncate_seen(state, context.request)
        observer.doing(here.table.source, under_way(action))
        if not isinstance(action, ReadFiles):
            return apply(here, state, action)
        with naming_corrupt_file(context.spark, context.store, action.batch.files):
            state = attrs.evolve(state, opened=open_batch(here, state, action.batch))
            return apply(here, state, plan(state, context.request))


@contextlib.contextmanager
def _counting(report: TableReport) -> Iterator[None]:
    """Count the commits of other writers that came first. A commit whose answer was lost may be our own."""
    try:
        yield
    except PlanIsStaleError as error:
        report.lost_races += not (error.__cause__ is not None and is_unknown(error.__cause__))
        raise


def _warn(context: RunContext, report: TableReport, *texts: str) -> None:
    for text in report.warn(*texts):
        _LOG.warning("table_warning", table=report.table, run_id=context.run_id, warning=text)


def describe_end(target: TargetTable, report: TableReport) -> None:
    """Record the table's newest snapshot and frontier in the report."""
    if target.exists():
        head = target.head()
        report.snapshot_id = head.id if head else None
        report.frontier = target.progress().frontier
