"""``make bench BENCH=models``: a gold model that is refreshed by groups, in full, and in the way that the job takes for the cheaper.

All read one table and group it by the same column. They are refreshed after every batch of changes, in turn. In the end each must equal
the result of its query.
"""

import statistics
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import attrs
import typer
from pyspark.sql import SparkSession
from rich.table import Table

from benchmarks.changes import EVERYDAY, Pattern, Source
from benchmarks.contestants import CATALOG, OURS, SOURCE, job_config
from benchmarks.dms_files import write_batch
from benchmarks.lake import digest, load
from benchmarks.preparation import CONSOLE, WORK, Cores, Heap, Output, Work, emptied, keep, seconds, session
from dms_iceberg.config.model import BronzeFormat, Config, Model, Refresh
from dms_iceberg.config.model_sql import pinned
from dms_iceberg.context import RunContext
from dms_iceberg.gold.run import refresh_models
from dms_iceberg.runs.run import run
from dms_iceberg.storage.open_store import open_store

QUERY: Final = "SELECT {0}, count(*) AS orders, sum(amount) AS total, max(ordered_at) AS newest FROM " + OURS + " GROUP BY {0}"
GROUPS: Final = {"customer": "customer_id", "status": "status"}
"""A column with many groups, few of which a batch changes, and a column with few groups, all of which it changes."""
COLUMNS: Final = ("orders", "total", "newest")


def main(
    rows: Annotated[int, typer.Option(help="Rows of the silver table.")] = 2_000_000,
    size: Annotated[int, typer.Option(min=1, help="Changes per batch.")] = 1_000,
    repetitions: Annotated[int, typer.Option(min=1, help="Measured batches; the median counts.")] = 5,
    warm_ups: Annotated[int, typer.Option(min=0, help="Discarded batches before them.")] = 3,
    heap: Heap = "4g",
    cores: Cores = 2,
    work: Work = WORK,
    output: Output = Path("build/bench-models.json"),
) -> None:
    """Time the refresh of models after every batch, in each way."""
    work = emptied(work)
    with session(job_config(work, work, BronzeFormat.PARQUET), heap, cores) as spark:
        load(spark, work, rows, copy=None)
        job = RunContext(spark, _configured(work), open_store(str(work / "changes")), "bench")
        source, taken = Source(rows), {name: list[float]() for name in job.config.gold}
        for number in range(-1, warm_ups + repetitions):
            if number >= 0:
                write_batch(source.change(size, Pattern.SCATTERED, EVERYDAY), number, work / "changes", work / "csv")
                _merge(job)
            names = list(taken)
            for turn in range(len(names)):
                name = names[(number + turn) % len(names)]
                one = seconds(spark, partial(_refresh, job, name, made=number < 0))
                if number >= warm_ups:
                    taken[name].append(one)
        for name, model in job.config.gold.items():
            _verify(spark, name, model)
    medians = {name.partition(".")[2]: statistics.median(values) for name, values in taken.items()}
    shown = Table(title=f"Seconds to refresh a model of {rows:,} rows after {size:,} changes, medians")
    for heading in ("grouped by", *Refresh):
        shown.add_column(heading, justify="right")
    for group in GROUPS:
        shown.add_row(group, *(f"{medians[f'{group}_{kind}']:.2f}" for kind in Refresh))
    CONSOLE.print(shown)
    keep({"rows": rows, "size": size, "seconds": medians}, output)


def _configured(work: Path) -> Config:
    models = {f"gold.{group}_{kind}": Model(sql=QUERY.format(column), refresh=kind) for group, column in GROUPS.items() for kind in Refresh}
    return attrs.evolve(job_config(work, work / "changes", BronzeFormat.PARQUET), gold=models)


def _merge(job: RunContext) -> None:
    report = run(job.spark, attrs.evolve(job.config, gold={})).tables[SOURCE]
    if report.error is not None or not report.applied:
        raise RuntimeError(f"the job failed: {report.error or 'no change applied'}")


def _refresh(job: RunContext, name: str, *, made: bool) -> None:
    (report,) = refresh_models(job, [name]).values()
    expected = Refresh.FULL if made else job.config.gold[name].refresh
    if report.error is not None or expected not in (report.refresh, Refresh.AUTO):
        raise RuntimeError(f"{name}: {report.error or f'refreshed {report.refresh}, not {expected}'}")


def _verify(spark: SparkSession, name: str, model: Model) -> None:
    """Compare a model with the result of its query.

    Raises:
        AssertionError: they differ.
    """
    spark.sql(f"REFRESH TABLE {CATALOG}.{name}")
    queried = spark.sql(pinned(model.sql, CATALOG, {}))
    found, expected = (digest(frame, (frame.columns[0], *COLUMNS)) for frame in (spark.table(f"{CATALOG}.{name}"), queried))
    if found != expected:
        raise AssertionError(f"{name} holds {found}, its query tells {expected}")
