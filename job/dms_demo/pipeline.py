"""The demo itself: source side and job at the same time, then the checks."""

import json
import os
import platform
import secrets
import shutil
import statistics
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

from dms_demo.check import Comparison, Row, compare, last_good_order
from dms_demo.database import Database
from dms_demo.job_side import JobSide
from dms_demo.lag import AppliedFile, Lags, applied_files
from dms_demo.report import DemoReport, LagPoint, TableOutcome
from dms_demo.screen import Screen
from dms_demo.shop import BAD_ORDER, SALT_VARIABLE, configuration, is_orders
from dms_demo.source_side import SourceSide
from dms_demo.story import Rejected, rejected_rows, tell_story
from dms_emulator.stop_request import StopRequest
from dms_iceberg.changes.partial_updates import tables_with_kept_positions
from dms_iceberg.config.load import load_config
from dms_iceberg.config.model import Config, Table
from dms_iceberg.iceberg.table import Snapshot
from dms_iceberg.quarantine.tables import quarantine_table
from dms_iceberg.runs.run import run
from dms_iceberg.silver.table import TargetTable
from dms_iceberg.spark.session import open_session
from dms_iceberg.verify.small_tables import interpreted

BRONZE: Final = "bronze"
_OURS: Final = (BRONZE, "warehouse", "runs", "config.json", "report.html", "report.json")
_SALT_BYTES: Final = 16
_PAUSE_SECONDS: Final = 0.1
_SESSION: Final = {
    "spark.driver.memory": os.environ.get("DMS_ICEBERG_DRIVER_MEMORY", "2g"),
    # With a minute of small batches, the optimising compiler costs more than it saves.
    "spark.driver.defaultJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=512m -XX:+UseSerialGC",
}


def prepare(directory: Path, database: Database) -> Config:
    """Remove the results of an earlier demo from ``directory``, and nothing else; write the configuration document."""
    directory.mkdir(parents=True, exist_ok=True)
    for name in _OURS:
        path = directory / name
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    document = directory / "config.json"
    document.write_text(json.dumps(configuration(database), indent=2) + "\n")
    return load_config(str(document))


def run_demo(database: Database, directory: Path, seconds: float, screen: Screen, stop: StopRequest) -> DemoReport:
    """Run the whole demo and return its report; everything that it started has ended by then.

    Args:
        database: the source, not yet started.
        directory: folder for configuration, bronze, warehouse and run state.
        seconds: how long the writers write.
        screen: shows every step.
        stop: checked between the steps and while they last.

    Raises:
        Stopped: the user asked for the end.
    """
    config = prepare(directory, database)
    salt = os.environ[SALT_VARIABLE] = secrets.token_hex(_SALT_BYTES)
    with ExitStack() as stack:
        source = stack.enter_context(SourceSide(database, directory / BRONZE, seconds))
        spark = _start(config, source, stack, screen)
        stop.check()
        last_good = last_good_order(database, salt)
        # Compiling a plan takes longer than running it over the few rows of a second.
        stack.enter_context(interpreted(spark, enabled=True))
        job = stack.enter_context(JobSide(spark, config))
        screen.now("merging the full load ...")
        _catch_up(job, stop)
        screen.step(f"full load merged into Iceberg: {job.loaded:,} rows")
        started_at = datetime.now(UTC)
        _live(source, job, seconds, screen, stop)
        _finish(source, job, screen, stop)
        before = job.snapshot_count()
        run(spark, config)
        idle = job.snapshot_count() - before
        screen.now("comparing source and silver ...")
        examiner = Examiner(config, spark, source, salt, last_good, directory / BRONZE)
        return examiner.examine(job, started_at, seconds, idle, screen)


def _start(config: Config, source: SourceSide, stack: ExitStack, screen: Screen) -> SparkSession:
    """Start both sides at once: Spark takes some seconds, and so do the shop and its full load."""
    screen.now(f"starting {source.database.engine} and Spark ...")

    def open_spark() -> SparkSession:
        spark = open_session(config, **_SESSION)
        stack.callback(spark.stop)
        return spark

    # Not in the main thread: there PySpark would handle Ctrl-C, and raise wherever it comes.
    with ThreadPoolExecutor(1, "spark") as pool:
        opened = pool.submit(open_spark)
        rows = source.start()
        spark = opened.result()
    database = source.database
    screen.step(f"{database.engine} {database.version()} has the shop, the full load is in bronze: {sum(rows.values()):,} rows")
    return spark


def _live(source: SourceSide, job: JobSide, seconds: float, screen: Screen, stop: StopRequest) -> None:
    """Let writers and capture work beside the watch until the writers' time is over."""
    source.capture()
    source.write()
    screen.step(f"writers, capture and watch run together for {seconds:g} s")
    writers = source.writers
    screen.now(
        lambda: (
            f"{min(writers.elapsed, seconds):.0f} of {seconds:g} s: {writers.tally.commits:,} transactions, "
            f"{job.applied:,} changes in Iceberg, lag {job.lag_text}"
        )
    )
    while not writers.done:
        stop.check()
        source.check()
        job.check()
        time.sleep(_PAUSE_SECONDS)
    screen.now("writers stopped, the rest is merged ...")
    writers.end()
    source.check()


def _finish(source: SourceSide, job: JobSide, screen: Screen, stop: StopRequest) -> None:
    """Let the watch merge the rest, and end it."""
    source.drain()
    _catch_up(job, stop)
    job.end()
    screen.step(f"writers stopped, the rest is merged: {job.applied:,} changes in {job.batches} batches")


def _catch_up(job: JobSide, stop: StopRequest) -> None:
    while job.has_unmerged_files:
        stop.check()
        job.check()
        time.sleep(_PAUSE_SECONDS)


class Examiner:
    """Examines both sides once nothing writes any more."""

    def __init__(self, config: Config, spark: SparkSession, source: SourceSide, salt: str, last_good: Row, bronze: Path) -> None:
        self._config = config
        self._spark = spark
        self._source = source
        self._salt = salt
        self._last_good = last_good
        self._bronze = bronze

    def examine(self, job: JobSide, started_at: datetime, seconds: float, idle: int, screen: Screen) -> DemoReport:
        """Compare the tables, measure the lag, and collect the report."""
        outcomes, points, story = [], [], []
        files: list[AppliedFile] = []
        rejected: list[Rejected] = []
        for table in tables_with_kept_positions(self._config, ()):
            target = TargetTable(self._spark, self._config.catalog.name, table.target)
            lineage = list(target.lineage())
            applied = applied_files(self._bronze, table.source, table.key[0], lineage)
            refused = rejected_rows(self._spark, table.source, quarantine_table(self._config, table))
            outcomes.append(self._outcome(job, table, target, lineage, applied, refused))
            points += lag_points(table.source, applied, started_at)
            if is_orders(table.source):
                story = tell_story(self._spark, target.parts, lineage, applied)
            files += applied
            rejected += refused
        writers = self._source.writers
        return DemoReport(
            source=self._source.database.engine,
            started_at=started_at,
            seconds=seconds,
            total_seconds=screen.elapsed,
            tables=outcomes,
            lags=Lags.of(files),
            later_lags=Lags.of([file for file in files if not file.is_of_first]),
            later_changes=sum(len(file.commits) for file in files if not file.is_of_first),
            points=points,
            events=[((event.at - started_at).total_seconds(), event) for event in writers.events],
            quarantined=rejected,
            story=story,
            schema_changes=job.schema_changes,
            transactions=writers.tally.to_document(),
            batches=job.batches,
            idle_snapshots=idle,
            environment=self._environment(),
        )

    def _outcome(
        self,
        job: JobSide,
        table: Table,
        target: TargetTable,
        lineage: Sequence[Snapshot],
        applied: Sequence[AppliedFile],
        refused: Sequence[Rejected],
    ) -> TableOutcome:
        captured = sum(len(file.commits) for file in applied)
        books = job.books(table.source)
        problem = job.errors.get(table.source)
        if problem is None and books.accounted != books.rows_read:
            problem = f"the row counts do not add up: {books}"
        elif problem is None and books.rows_read != captured:
            problem = f"the job read {books.rows_read:,} changes, the change files hold {captured:,}"
        elif problem is None and {row.key for row in refused} != _expected_rejects(table):
            problem = f"in quarantine are {sorted({row.key for row in refused})}, expected {sorted(_expected_rejects(table))}"
        return TableOutcome(
            source=table.source,
            target=table.target,
            comparison=self._compare(table, target),
            books=books,
            lags=Lags.of(applied),
            later_lags=Lags.of([file for file in applied if not file.is_of_first]),
            loaded=job.loads(table.source),
            captured=captured,
            files=len(applied),
            snapshots=len(lineage),
            problem=problem,
        )

    def _compare(self, table: Table, target: TargetTable) -> Comparison:
        return compare(self._spark, self._source.database, self._salt, table.source, target.parts, self._last_good)

    def _environment(self) -> dict[str, str]:
        return {
            self._source.database.engine: self._source.database.version(),
            "Spark": self._spark.version,
            "Python": platform.python_version(),
            "processors": str(os.cpu_count()),
        }


def _expected_rejects(table: Table) -> set[str]:
    return {f'{{"order_id":{BAD_ORDER}}}'} if is_orders(table.source) else set()


def lag_points(table: str, files: Sequence[AppliedFile], start: datetime) -> list[LagPoint]:
    """Return one dot per file: its median change."""
    return [
        LagPoint(
            table,
            round(statistics.median(file.commits) / 1e6 - start.timestamp(), 3),
            round(statistics.median(file.lags), 3),
            len(file.commits),
            file.is_of_first,
        )
        for file in files
        if file.commits
    ]
