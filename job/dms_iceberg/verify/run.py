"""Compare many tables, one after the other over one connection: a failure of one does not affect the others."""

import time
import uuid
from collections.abc import Iterable

import structlog
from pyspark.sql import SparkSession

from dms_iceberg.changes.partial_updates import tables_with_kept_positions
from dms_iceberg.config.model import Config, Table
from dms_iceberg.context import RunContext
from dms_iceberg.errors import DmsIcebergError
from dms_iceberg.modes.lookup import table_mode
from dms_iceberg.quarantine.tables import refuse_moved
from dms_iceberg.silver.table_context import TableContext
from dms_iceberg.source.errors import SourceError
from dms_iceberg.spark.failures import FAILURES, describe
from dms_iceberg.storage.open_store import open_store
from dms_iceberg.storage.store import ObjectStore, join
from dms_iceberg.verify.cleaning import plan_cleaning
from dms_iceberg.verify.compare import Comparison
from dms_iceberg.verify.facts import NotedSource
from dms_iceberg.verify.noted_source import note_key, read_note, write_note
from dms_iceberg.verify.options import Options
from dms_iceberg.verify.reading_progress import Listener, Reading
from dms_iceberg.verify.repair import refuse_repair, write_repair
from dms_iceberg.verify.repair_checks import allowed_keys
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
    if not table_mode(table.mode).is_verified:
        verdict.skipped = f"mode is {table.mode}: only silver tables in mode mirror hold what the source holds now"
        return
    if target.exists():
        target.refresh()
        target.refuse_other_owner()
        if options.repair:
            refuse_moved(here.context.config, table, target)
    cleaning = plan_cleaning(here, source.columns(table.schema_name, table.table_name), options.without)
    verdict.not_compared, verdict.one_sided = list(cleaning.not_compared), list(cleaning.one_sided)
    comparison = Comparison(source, cleaning, options, verdict, reading)
    difference = comparison.run()
    state = open_store(here.context.config.state_uri)
    try:
        before = read_note(state, target.uuid())
    except (SourceError, *FAILURES) as error:
        # Without the note nothing is repaired; what was compared is said nevertheless.
        if options.repair:
            raise
        verdict.warnings.append(str(error) if isinstance(error, SourceError) else f"{note_key(target.uuid())}: {describe(error)}")
        return
    noted = _noted(comparison, before)
    if options.repair:
        write_repair(comparison, difference, noted)
    _note(comparison, state, noted)


def _noted(comparison: Comparison, noted: NotedSource | None) -> NotedSource | None:
    """Return what is noted of the source, by the operator's word if it is another one now; say in the verdict if it is."""
    verdict, facts, accepted = comparison.verdict, comparison.facts, comparison.options.accept_source
    verdict.source = facts.token
    if accepted and accepted != facts.token:
        raise SourceError(f"{verdict.table}: --accept-source {accepted}, but the source is {facts.token}. Look which server answers.")
    if accepted:
        return NotedSource.of(facts)
    if noted is not None and not facts.is_copy:
        verdict.warnings += [
            f"the source: {text}. A repair is refused; if it is the right one: --accept-source {facts.token}"
            for text in noted.contradictions(facts)
        ]
    return noted


def _note(comparison: Comparison, state: ObjectStore, noted: NotedSource | None) -> None:
    """Note the source for later comparisons, unless it is another one than is noted, follows another server, or is no likely source."""
    facts, verdict, table, uuid = comparison.facts, comparison.verdict, comparison.cleaning.table, comparison.target.uuid()
    likely = allowed_keys(Options().max_repair, verdict.rows_source, verdict.rows_silver)
    # A repair that an operator has allowed was from the right source.
    is_unlikely = not verdict.repaired and verdict.differences + verdict.unsettled > likely
    if facts.is_copy or (is_unlikely if noted is None else noted.contradictions(facts)):
        return
    note = (noted or NotedSource.of(facts)).after(facts, comparison.clock if verdict.repaired else "")
    try:
        write_note(state, uuid, table, note)
    except FAILURES as error:
        _LOG.info("source_not_noted", table=table.source, reason=describe(error))
        if not comparison.options.repair:
            # A comparison needs no right to write.
            return
        verdict.warnings.append(
            f"{join(state.root, note_key(uuid))} could not be written ({describe(error)}), so a later comparison cannot tell whether its "
            "source is this one"
        )
