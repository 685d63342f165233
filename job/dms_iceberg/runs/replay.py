"""Replay the quarantine of many tables: a failure of one does not affect the others."""

import time
import uuid
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

import structlog
from pyspark.sql import SparkSession

from dms_iceberg.changes.partial_updates import tables_with_kept_positions
from dms_iceberg.config.model import Config, Table
from dms_iceberg.context import RunContext, RunRequest
from dms_iceberg.retry import attempt
from dms_iceberg.runs.observer import NO_OBSERVER, RunObserver
from dms_iceberg.runs.report import RunReport, TableReport
from dms_iceberg.runs.run import describe_end, step
from dms_iceberg.runs.state import RunMemory
from dms_iceberg.silver.table_context import TableContext
from dms_iceberg.storage.open_store import open_store

_LOG = structlog.get_logger("dms_iceberg")


def replay(
    spark: SparkSession, config: Config, only: Iterable[str] = (), reasons: Iterable[str] = (), observer: RunObserver = NO_OBSERVER
) -> RunReport:
    """Merge the open rows of the quarantine into silver, in their place in the order of changes; rows that fail again stay open.

    Args:
        only: source names of the tables; all when empty.
        reasons: replay only rows with one of these, alone (``cast``) or with the detail (``rule: amount_not_negative``); all when empty.
        observer: hears what is done to each table, and may keep tables from being begun.

    Raises:
        ConfigError: ``only`` names a table that is not configured.
    """
    started = time.monotonic()
    tables = tables_with_kept_positions(config, only)
    context = RunContext(spark, config, open_store(config.bronze.uri), uuid.uuid4().hex[:12], RunRequest(replay=tuple(reasons)))
    with ThreadPoolExecutor(max(1, min(config.parallelism, len(tables)))) as pool:
        reports = list(pool.map(lambda table: _replay_table(context, table, observer), tables))
    return RunReport(context.run_id, {report.table: report for report in reports}, time.monotonic() - started)


def _replay_table(context: RunContext, table: Table, observer: RunObserver) -> TableReport:
    started = time.monotonic()
    report = TableReport(table=table.source, target=table.target)
    attempt(context, report, lambda: _replay_all(TableContext.of(context, table), report, observer))
    report.seconds = time.monotonic() - started
    if report.error:
        _LOG.error("replay_failed", table=table.source, run_id=context.run_id, error=report.error)
    observer.done(table.source)
    return report


def _replay_all(here: TableContext, report: TableReport, observer: RunObserver) -> None:
    memory, more = RunMemory(), True
    while more and not observer.is_stopping:
        more = step(here, memory, report, observer=observer)
    report.stopped = more
    describe_end(here.target, report)
