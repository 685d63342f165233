"""``make bench BENCH=maintain``: what reading costs after many small batches, before and after maintenance.

A table is loaded and gets many small batches. Then all columns of all rows are read, in turn, from the table as the batches left it,
as ``maintain`` with its default thresholds left it, and from a fresh copy. The time of a batch and the used heap are reported for the
first and the last twentieth of the batches (without the very first twentieth, when the JVM compiles).
"""

import statistics
import time
from pathlib import Path
from typing import Annotated

import attrs
import numpy as np
import typer
from pyspark.sql import DataFrame, SparkSession
from rich.table import Table

from benchmarks.changes import EVERYDAY, Pattern, Source
from benchmarks.contestants import CATALOG, HANDWRITTEN, OURS, SOURCE, job_config
from benchmarks.dms_files import write_batch
from benchmarks.lake import digest, load
from benchmarks.preparation import CONSOLE, WORK, Cores, Heap, Output, Work, emptied, heap_mib, keep, session
from dms_iceberg.config.model import AfterRun, Batch, BronzeFormat, Config, Maintenance
from dms_iceberg.maintenance.run import maintain
from dms_iceberg.runs.report import BatchReport
from dms_iceberg.runs.run import run


def main(
    rows: Annotated[int, typer.Option(help="Rows of the silver table.")] = 500_000,
    batches: Annotated[int, typer.Option(min=1, help="Batches merged after the load.")] = 100,
    size: Annotated[int, typer.Option(min=1, help="Changes per batch.")] = 100,
    repetitions: Annotated[int, typer.Option(min=1, help="Readings of each; the median counts.")] = 7,
    heap: Heap = "3g",
    cores: Cores = 2,
    work: Work = WORK,
    output: Output = Path("build/bench-maintained.json"),
) -> None:
    """Time full reads of a table before and after maintenance, and of a fresh copy."""
    work = emptied(work)
    with session(job_config(work, work, BronzeFormat.PARQUET), heap, cores) as spark:
        lake = load(spark, work, rows)
        source, touched = Source(rows), []
        for number in range(batches):
            changes = source.change(size, Pattern.SCATTERED, EVERYDAY)
            touched.append(changes.touched)
            write_batch(changes, number, work / "changes", work / "csv")
        config = _configured(work)
        merged = _merge(spark, config, batches)
        before = _head(spark)
        started = time.perf_counter()
        (report,) = maintain(spark, config, config.tables.values()).tables.values()
        maintaining = time.perf_counter() - started
        if report.error is not None:
            raise RuntimeError(f"maintenance failed: {report.error}")
        lake.verify(source, np.unique(np.concatenate(touched)), "maintained", [OURS])
        spark.sql(f"DROP TABLE {CATALOG}.{HANDWRITTEN} PURGE")
        spark.sql(f"CREATE TABLE {CATALOG}.{HANDWRITTEN} USING iceberg AS SELECT * FROM {CATALOG}.{OURS}")
        readings = {"unmaintained": before, "maintained": None, "fresh": None}
        names = {name: OURS if name != "fresh" else HANDWRITTEN for name in readings}
        seconds = {name: list[float]() for name in readings}
        for turn in range(repetitions + 1):
            for name, snapshot in readings.items():
                at = f" VERSION AS OF {snapshot}" if snapshot else ""
                taken = _read(spark.sql(f"SELECT * FROM {CATALOG}.{names[name]}{at}"))
                if turn:
                    seconds[name].append(taken)
        files = {name: _files(spark, names[name], snapshot) for name, snapshot in readings.items()}
    medians = {name: statistics.median(values) for name, values in seconds.items()}
    shown = Table(title=f"Reading {rows:,} rows after {batches:,} batches of {size:,} changes")
    for heading in ("table", "data files", "delete files", "seconds", "times fresh"):
        shown.add_column(heading, justify="right")
    for name, median in medians.items():
        shown.add_row(name, *(f"{count:,}" for count in files[name]), f"{median:.2f}", f"{median / medians['fresh']:.2f}")
    CONSOLE.print(shown)
    CONSOLE.print(f"merging took {merged.seconds:.0f} s, maintenance {maintaining:.1f} s: {', '.join(one.step for one in report.steps)}")
    CONSOLE.print(f"a batch: {merged.first_s:.2f} s at first, {merged.last_s:.2f} s at last (medians)")
    CONSOLE.print(f"heap in use after a collection: {merged.first_mib:,.0f} MiB at first, {merged.last_mib:,.0f} MiB at last")
    ratios = {f"ratio_{name}": medians[name] / medians["fresh"] for name in medians if name != "fresh"}
    keep({"rows": rows, "batches": batches, "size": size, "seconds": medians, **ratios, "merging": attrs.asdict(merged)}, output)


def _configured(work: Path) -> Config:
    """Return the job's configuration with one batch per file, and maintenance only on request."""
    config = job_config(work, work / "changes", BronzeFormat.PARQUET)
    rules = Maintenance(after_run=AfterRun.NOTHING)
    tables = {name: attrs.evolve(table, maintenance=rules) for name, table in config.tables.items()}
    return attrs.evolve(config, batch=Batch(max_files=1), maintenance=rules, tables=tables)


@attrs.frozen
class Merged:
    """Seconds of all batches, and the median of the first and the last ones; the used heap after each of these."""

    seconds: float
    first_s: float
    last_s: float
    first_mib: float
    last_mib: float


def _merge(spark: SparkSession, config: Config, batches: int) -> Merged:
    part = max(1, batches // 20)
    heap: list[float] = []
    done: list[BatchReport] = []

    def listener(_table: str, batch: BatchReport) -> None:
        done.append(batch)
        if len(done) == 2 * part:
            heap.append(heap_mib(spark))

    report = run(spark, config, listener=listener).tables[SOURCE]
    if report.error is not None or report.quarantined:
        raise RuntimeError(f"the job failed: {report.error or f'{report.quarantined} rows in quarantine'}")
    first, last = (statistics.median(batch.seconds for batch in some) for some in (done[part : 2 * part] or done, done[-part:]))
    last_mib = heap_mib(spark)
    return Merged(report.seconds, first, last, heap[0] if heap else last_mib, last_mib)


def _head(spark: SparkSession) -> int:
    found: int = spark.sql(f"SELECT snapshot_id FROM {CATALOG}.{OURS}.refs WHERE name = 'main'").collect()[0].snapshot_id
    return found


def _read(frame: DataFrame) -> float:
    started = time.perf_counter()
    digest(frame)
    return time.perf_counter() - started


def _files(spark: SparkSession, name: str, snapshot: int | None) -> tuple[int, int]:
    asked = f"snapshot_id = {snapshot}" if snapshot else "snapshot_id = (SELECT max_by(snapshot_id, made_current_at) FROM {0}.history)"
    asked = asked.format(f"{CATALOG}.{name}")
    row = spark.sql(f"SELECT summary FROM {CATALOG}.{name}.snapshots WHERE {asked}").collect()[0]
    return int(row.summary["total-data-files"]), int(row.summary["total-delete-files"])
