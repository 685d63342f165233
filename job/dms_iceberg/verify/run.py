"""Compare many tables, one after the other over one connection: a failure of one does not affect the others."""

import time
import uuid
from collections.abc import Iterable

import structlog
from pyspark.sql import SparkSession

from dms_iceberg.config.model import Config, Mode, Table
from dms_iceberg.context import RunContext
from dms_iceberg.errors import DmsIcebergError
from dms_iceberg.runs.request import tables_with_kept_positions
from dms_iceberg.silver.quarantine_tables import refuse_moved
from dms_iceberg.silver.table_context import TableContext
from dms_iceberg.spark.failures import FAILURES, describe
from dms_iceberg.storage.open_store import open_store
from dms_iceberg.verify.cleaning import plan_cleaning
from dms_iceberg.verify.compare import Comparison, Options
from dms_iceberg.verify.reading_progress import Listener, Reading
from dms_iceberg.verify.repair import refuse_repair, write_repair
from dms_iceberg.verify.source import Source
from dms_iceberg.verify.verdict import TableVerdict, Verdict

_LOG = structlog.get_logger("dms_iceberg")


def verify(
    spark: SparkSession,
    config: Config,
    source: Source,
    only: Iterable[str] = (),
    options: Options | None = None,
    listener: Listener | None = None,
) -> Verdict:
    """Compare the configured tables with their source tables.

    Args:
        only: source names of the tables to compare; all when empty.
        listener: called with the progress of reading the source.

    Raises:
        ConfigError: ``only`` names a table that is not configured, or the pipeline's files cannot be repaired.
    """
    started = time.monotonic()
    options = options or Options()
    tables = tables_with_kept_positions(config, only)
    if options.repair:
        refuse_repair(config, options)
    context = RunContext(spark, config, open_store(config.bronze.uri), uuid.uuid4().hex[:12])
    readings = [Reading(table.source, number, len(tables), listener) for number, table in enumerate(tables, start=1)]
    verdicts = [_verify_table(context, source, table, options, reading) for table, reading in zip(tables, readings, strict=True)]
    return Verdict({verdict.table: verdict for verdict in verdicts}, time.monotonic() - started)


def _verify_table(context: RunContext, source: Source, table: Table, options: Options, reading: Reading) -> TableVerdict:
    started = time.monotonic()
    verdict = TableVerdict(table=table.source, target=table.target)
    try:
        _compare(TableContext.of(context, table), source, options, verdict, reading)
    except FAILURES as error:
        verdict.error = f"{table.source}: {describe(error)}"
    except DmsIcebergError as error:
        verdict.error = str(error)
    verdict.seconds = time.monotonic() - started
    _LOG.info(
        "table_verified",
        table=table.source,
        equal=verdict.equal,
        rows_source=verdict.rows_source,
        rows_silver=verdict.rows_silver,
        differing=verdict.differences,
        unsettled=verdict.unsettled,
        seconds=round(verdict.seconds, 3),
    )
    return verdict


def _compare(here: TableContext, source: Source, options: Options, verdict: TableVerdict, reading: Reading) -> None:
    table, target = here.table, here.target
    if table.mode is not Mode.MIRROR:
        verdict.skipped = f"mode is {table.mode}: only silver tables in mode mirror hold what the source holds now"
        return
    if target.exists():
        target.refresh()
        target.refuse_other_owner()
        if options.repair:
            refuse_moved(here.context.config, table, target)
    cleaning = plan_cleaning(here, source.columns(table.schema_name, table.table_name))
    verdict.not_compared = list(cleaning.not_compared)
    comparison = Comparison(source, cleaning, options, verdict, reading)
    difference = comparison.run()
    if options.repair:
        verdict.repaired = write_repair(comparison, difference)
