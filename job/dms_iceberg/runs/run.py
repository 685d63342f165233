"""Many tables in one Spark session: bounded parallelism, and a failure of one leaves the others alone."""

import json
import time
import uuid
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import structlog
from pyspark.sql import SparkSession

from dms_iceberg.bronze.corrupt_files import blame_corrupt_file
from dms_iceberg.changes.partial_updates import with_positions
from dms_iceberg.config.model import Config, Table
from dms_iceberg.config.problems import suggestion
from dms_iceberg.config.salts import refuse_unset_salts
from dms_iceberg.context import NO_REQUEST, BatchPlan, BranchState, RunContext, RunRequest
from dms_iceberg.errors import ConfigError
from dms_iceberg.failpoints import failpoint
from dms_iceberg.gold.run import refresh_models
from dms_iceberg.iceberg.retry import attempt, on_conflict, planned_again
from dms_iceberg.loads.epochs import begin_anew, branch_state, complete, is_complete, is_replaced, waiting
from dms_iceberg.loads.load_marker import read_marker
from dms_iceberg.loads.no_files import without_batch, without_load
from dms_iceberg.loads.rebuild import left_rebuilds, plan_rebuild
from dms_iceberg.loads.truncate import apply_truncate, record_truncate
from dms_iceberg.maintenance.run import maintain_table
from dms_iceberg.progress.pending import applied_truncates, next_batch, next_truncate, pending_files, until
from dms_iceberg.runs.report import BatchReport, RunReport, TableReport
from dms_iceberg.runs.table_run import run_batch
from dms_iceberg.silver.backfill import restore_backfills
from dms_iceberg.silver.checked import check_changed
from dms_iceberg.silver.cleaning import refuse_other_key_mask
from dms_iceberg.silver.key import refuse_other_key
from dms_iceberg.silver.remembered import refuse_declared
from dms_iceberg.silver.rename import cleaning_warnings, rename_columns
from dms_iceberg.silver.table import TargetTable
from dms_iceberg.spark.failures import FAILURES, describe
from dms_iceberg.storage.store import ObjectStore, open_store

_LOG = structlog.get_logger("dms_iceberg")
Listener = Callable[[str, BatchReport], None]
"""Called with the table's name after each committed batch, from the table's own thread."""


def run(
    spark: SparkSession,
    config: Config,
    only: Iterable[str] = (),
    listener: Listener | None = None,
    request: RunRequest = NO_REQUEST,
) -> RunReport:
    """Merge everything there is into the configured tables, once; then refresh the models whose tables have changed.

    Args:
        only: source names of the tables to run; all when empty.
        listener: told of every committed batch.
        operator: what the operator says of reloads, truncates and rebuilds.

    Raises:
        ConfigError: ``only`` or ``request`` names a table that is not configured, or `check_request` refuses what is said.
    """
    started = time.monotonic()
    tables = chosen_tables(config, only)
    check_request(config, only, request)
    context = RunContext(spark, config, open_store(config.bronze.uri), uuid.uuid4().hex[:12], request)
    state = open_store(config.state_uri)
    with ThreadPoolExecutor(max(1, min(config.parallelism, len(tables)))) as pool:
        reports = list(pool.map(lambda table: run_table(context, table, state, listener), tables))
    models = refresh_models(context)
    return RunReport(context.run_id, {report.table: report for report in reports}, time.monotonic() - started, models)


def check_request(config: Config, only: Iterable[str], request: RunRequest) -> None:
    """Refuse an operator's word that does not go with the configuration.

    Raises:
        ConfigError: it names a table that is not configured or not chosen, or a reload in place is told of all tables.
    """
    chosen_tables(config, request.load_complete, "--load-complete")
    told = {"--truncate": request.truncate, "--rebuild": request.rebuild}
    for option, names in told.items():
        chosen_tables(config, names, option)
    if request.reload_started and not only:
        raise ConfigError(["--reload-started-at: name the tables that were loaded again with --table"], config.pipeline)
    left_out = [f"{option} {name}" for option, names in told.items() for name in sorted(names - set(only)) if only]
    if left_out:
        raise ConfigError([f"{one}: not among the tables chosen with --table; name it there too" for one in left_out], config.pipeline)


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


def run_table(context: RunContext, table: Table, state: ObjectStore, listener: Listener | None = None) -> TableReport:
    """Merge all new files of one table; an error ends in the report and in ``runs/<table>.json``, not in an exception."""
    started = time.monotonic()
    report = TableReport(table=table.source, target=table.target)
    log = _LOG.bind(table=table.source, run_id=context.run_id)
    attempt(context, report, lambda: _merge_all(context, table, report, listener))
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
    if report.batches and not report.error:
        keep_in_order(context, table, report)
    if report.error or report.batches:
        keep_state(state, table, context.run_id, report)
    return report


def _merge_all(context: RunContext, table: Table, report: TableReport, listener: Listener | None) -> None:
    target = TargetTable(context.spark, context.config.catalog.name, table.target)
    if table.source in context.request.truncate:
        record_truncate(context, table, target)
    while step(context, table, target, report, listener):
        pass
    describe_end(target, report)


def keep_in_order(context: RunContext, table: Table, report: TableReport) -> None:
    """Do for a table that was merged into what `Maintenance.after_run` allows; an error is a warning.

    Who merges has the table to himself most of the time, so this is when its maintenance costs nobody a second try.
    """
    error = maintain_table(context, table).error
    if error is not None:
        report.warn(f"maintenance: {error}")


def step(context: RunContext, table: Table, target: TargetTable, report: TableReport, listener: Listener | None) -> bool:
    """Plan and merge one batch, again when a race for the commit is lost; False when nothing is left.

    Raises:
        RetryError: the race was lost too often.
    """
    return on_conflict(lambda: _step(context, table, target, report, listener))


def _step(context: RunContext, table: Table, target: TargetTable, report: TableReport, listener: Listener | None) -> bool:
    refuse_unset_salts(table)
    with planned_again():
        planned = plan_table(context, table, target, report)
        if planned is None:
            return False
        with blame_corrupt_file(context.spark, context.store, planned.batch.files):
            result = run_batch(context, table, target, planned)
    if isinstance(result, BatchReport):
        report.batches.append(result)
        _warn(context, report, *result.warnings)
        _tell(context, table, planned, result)
        if listener is not None:
            listener(table.source, result)
        if result.snapshot_id is None:
            # Files without even columns make no table, so nothing remembers them but this run.
            report.passed_over.update(file.key for file in planned.batch.files)
            return True
        # A branch is looked at once more: with its last file the load may be complete.
        return planned.batch.remaining > 0 or planned.more or planned.branch_state.branch is not None
    report.ddl.extend(result)
    _LOG.info("schema_changed", table=table.source, run_id=context.run_id, statements=list(result))
    return True


def _tell(context: RunContext, table: Table, planned: BatchPlan, result: BatchReport) -> None:
    if planned.branch_state.rebuild:
        # Metrics count the rows of the other line; these are old ones.
        _LOG.info("batch_rebuilt", table=table.source, run_id=context.run_id, files=result.files, rows_read=result.rows_read)
        return
    _LOG.info(
        "batch_merged",
        table=table.source,
        run_id=context.run_id,
        files=result.files,
        rows_read=result.rows_read,
        applied=result.applied,
        stale=result.stale,
        quarantined=result.quarantined,
        seconds=result.seconds,
        lag_seconds=result.lag_seconds,
    )


def plan_table(context: RunContext, table: Table, target: TargetTable, report: TableReport) -> BatchPlan | None:
    """Return the next batch of a table as of now, None when there is none; a table without files is made from its configuration."""
    if target.exists():
        target.refresh()
        refuse_declared(context, table, target)
        report.ddl.extend(rename_columns(target, table))
    if table.source in context.request.rebuild and not report.rebuilt and (planned := plan_rebuild(context, table, target, report)):
        return planned
    found = branch_state(target, context.config, table, context.request.reload_started)
    _warn(context, report, *begin_anew(table, target, found), *left_rebuilds(table, target))
    if target.exists() and _heed_properties(context, table, target, found, report):
        found = branch_state(target, context.config, table, context.request.reload_started)
    head = target.head() if target.exists() else None
    progress = found.progress
    # Before the listing: it sees every file that was there when the marker was written.
    marker = read_marker(context.store, table) if found.branch is not None else None
    listing = context.listing(table, progress)
    pending = pending_files(listing, progress, table.source, datetime.now(UTC))
    _warn(context, report, *pending.warnings(table.source, report.unread))
    report.unread = max(report.unread, pending.unread_count)
    failpoint("after-listing", table.source)
    # A table without content has nothing to lose yet, and a branch gets its truncates when it is the content.
    truncate = next_truncate(pending.truncates, progress) if found.head is not None and found.branch is None else None
    files = until((file for file in pending.files if file.key not in report.passed_over), truncate)
    if truncate is not None and not files:
        report.ddl.extend(apply_truncate(context, table, target, found, truncate))
        return plan_table(context, table, target, report)
    batch = next_batch(files, context.config.batch)
    if found.branch is not None:
        doubt = marker.doubt(progress, pending.loads) if marker is not None else ""
        told = table.source in context.request.load_complete or (marker is not None and not doubt)
        if is_complete(table, found, batch, pending.loads, told=told):
            complete(context, table, target, found, head.id if head else None)
            return plan_table(context, table, target, report)
        if batch is None or not batch.is_load:
            _warn(context, report, waiting(table, found, doubt), *without_load(context, table, target, found, pending))
            return None
    if batch is None:
        check_changed(context, table, target, progress)
        _warn(context, report, *without_batch(context, table, target, found, pending))
        return None
    # A table that begins with this batch may have a truncate behind it.
    truncates, more = applied_truncates(pending.truncates, progress), next_truncate(pending.truncates, progress) is not None
    return BatchPlan(batch, found, head.id if head else None, pending.loads, truncates, more)


def _heed_properties(context: RunContext, table: Table, target: TargetTable, found: BranchState, report: TableReport) -> bool:
    """Compare with the configuration what the table tells of how its rows were made; True when backfills had to be restored."""
    if not is_replaced(table, found):
        refuse_other_key(table, target.properties())
        refuse_other_key_mask(table, target.properties())
    _warn(context, report, *cleaning_warnings(target, table))
    restored = restore_backfills(target)
    report.ddl.extend(restored)
    return bool(restored)


def _warn(context: RunContext, report: TableReport, *texts: str) -> None:
    for text in report.warn(*texts):
        _LOG.warning("table_warning", table=report.table, run_id=context.run_id, warning=text)


def describe_end(target: TargetTable, report: TableReport) -> None:
    """Say in the report where the table stands."""
    if target.exists():
        head = target.head()
        report.snapshot_id = head.id if head else None
        report.frontier = target.progress().frontier


def state_key(table: Table) -> str:
    """Return where a table's last outcome is kept, below the state folder."""
    return f"runs/{table.source}.json"


def keep_state(state: ObjectStore, table: Table, run_id: str, report: TableReport) -> None:
    """Keep the outcome of the table's last run that did something or failed: ``status`` and alarms read it. Failing to is a warning."""
    failpoint("before-state", table.source)
    document = {"run_id": run_id, "ended_at": datetime.now(UTC).isoformat(timespec="seconds"), **report.to_document()}
    try:
        state.put(state_key(table), json.dumps(document, indent=1).encode())
    except FAILURES as error:
        # The batches are committed all the same.
        report.warn(f"{table.source}: {state.root}/{state_key(table)} could not be written: {describe(error)}")
        _LOG.error("state_not_written", table=table.source, run_id=run_id, error=describe(error))
