"""``make bench BENCH=throughput``: how much the job processes with large batches, large loads and large tables.

1. *Changes*: batches of skewed updates and deletes, one after the other, into one table; once with all files in order, and once with
   late files, so that the job must read the changes of their keys in bronze again.
2. *Load*: the job's full load, compared with a plain Spark copy of the same files into Iceberg, which neither checks for duplicate keys
   nor keeps row counts.
3. *Growth*: the same batches of recent keys for a table and for one ten times larger.
"""

import statistics
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

import attrs
import numpy as np
import typer
from pyspark.sql import SparkSession
from rich.table import Table

from benchmarks.arrivals import Arrivals
from benchmarks.changes import CHURN, EVERYDAY, Pattern, Source
from benchmarks.contestants import BROADCAST, CATALOG, OURS, SOURCE, SPARKS_BROADCAST, Ours, job_config
from benchmarks.dms_files import BatchFiles, write_batch, write_load
from benchmarks.lake import Lake, digest, load
from benchmarks.preparation import CONSOLE, WORK, Cores, Heap, Output, Work, emptied, keep, seconds, session
from benchmarks.shop import COLUMN_TYPES
from dms_iceberg.config.model import BronzeFormat
from dms_iceberg.maintenance.run import maintain
from dms_iceberg.runs.run import run
from dms_iceberg.spark.session import session_settings

CHANGES_GOAL: Final = 40_000
LOAD_GOAL: Final = 0.8
GROWTH_GOAL: Final = 1.3
GROWTH: Final = 10
LATE: Final = 0.1
_COPY: Final = "silver.copy"
_SMALL: Final = "silver.orders_small"


@attrs.frozen
class Figure:
    """One line of the result.

    Attributes:
        name: what is measured.
        taken: seconds of each measured turn.
        value: the value to compare with the goal.
        goal: the minimum, or the maximum if ``is_limit``.
        unit: unit of value and goal.
    """

    name: str
    taken: tuple[float, ...]
    value: float
    goal: float
    unit: str
    is_limit: bool = False
    more: dict[str, float] = attrs.field(factory=dict)

    @property
    def is_met(self) -> bool:
        """Whether the goal is reached."""
        return self.value <= self.goal if self.is_limit else self.value >= self.goal

    def to_document(self) -> dict[str, Any]:
        """Return the figure's part of the JSON file."""
        return {
            "name": self.name,
            "seconds": [round(one, 2) for one in self.taken],
            "value": round(self.value, 2),
            "unit": self.unit,
            "goal": f"at {'most' if self.is_limit else 'least'} {self.goal:g}",
            "met": self.is_met,
            **{name: round(value, 2) for name, value in self.more.items()},
        }


def main(
    rows: Annotated[int, typer.Option(min=GROWTH, help="Rows of the large table.")] = 5_000_000,
    size: Annotated[int, typer.Option(min=1, help="Changes per batch of the first part.")] = 500_000,
    recent: Annotated[int, typer.Option(min=1, help="Changes per batch of the third part.")] = 20_000,
    repetitions: Annotated[int, typer.Option(min=1, help="Measured turns; the median counts.")] = 5,
    warm_ups: Annotated[int, typer.Option(min=0, help="Discarded turns before them.")] = 2,
    part: Annotated[list[str] | None, typer.Option(help="changes, load or growth; all when none is given.")] = None,
    heap: Heap = "6g",
    cores: Cores = 2,
    work: Work = WORK,
    output: Output = Path("build/bench-throughput.json"),
) -> None:
    """Time large batches, a full load, and batches on tables of two sizes."""
    parts = part or ["changes", "load", "growth"]
    work = emptied(work)
    output.unlink(missing_ok=True)
    figures: list[Figure] = []

    def record(figure: Figure) -> None:
        figures.append(figure)
        CONSOLE.print(f"{figure.name}: {[round(one, 2) for one in figure.taken]}")
        # After each part: so an interrupted run keeps what it has measured.
        keep({"rows": rows, "figures": [one.to_document() for one in figures]}, output)

    with session(job_config(work, work, BronzeFormat.PARQUET), heap, cores) as spark:
        if "load" in parts:
            record(_loading(spark, work, rows, warm_ups, repetitions))
        if {"changes", "growth"} & set(parts):
            large = load(spark, work, rows, copy=None)
            for late in (0.0, LATE) if "changes" in parts else ():
                record(_changing(large, size, late, warm_ups, repetitions))
            if "growth" in parts:
                small = load(spark, work, rows // GROWTH, _SMALL, copy=None)
                record(_growing({_SMALL: small, OURS: large}, recent, warm_ups, repetitions))
    CONSOLE.print(_shown(figures, rows))


def _changing(lake: Lake, size: int, late: float, warm_ups: int, repetitions: int) -> Figure:
    """Merge batches of skewed changes, with the share ``late`` of the files a batch late; check the table, and maintain it."""
    lake.reset()
    name = "changes, out of order" if late else "changes, in order"
    written, bronze = lake.work / f"{name} written", lake.work / name
    config = job_config(lake.work, bronze, BronzeFormat.PARQUET)
    ours, source, arrivals = Ours(lake.spark, config), Source(lake.size), Arrivals(written, bronze, late)
    touched, taken = [], []
    for number in range(warm_ups + repetitions):
        changes = source.change_skewed(size, CHURN)
        touched.append(changes.touched)
        files = write_batch(changes, number, written).parquet
        # The last batch delivers everything, also what the batch before held back: otherwise the table could not be compared.
        batch = BatchFiles(tuple(arrivals.deliver(files, last=number == warm_ups + repetitions - 1)))
        one = seconds(lake.spark, partial(ours, batch))
        if number >= warm_ups:
            taken.append(one)
    lake.verify(source, np.unique(np.concatenate(touched)), name, [OURS])
    orderly = seconds(lake.spark, lambda: maintain(lake.spark, config, config.tables.values()))
    lake.verify(source, np.unique(np.concatenate(touched)), f"{name}, maintained", [OURS])
    shared = size * len(taken) / (sum(taken) + orderly * len(taken) / (warm_ups + repetitions))
    more = {"maintenance_s": orderly, "with_maintenance": shared}
    return Figure(name, tuple(taken), size / statistics.median(taken), CHANGES_GOAL, "changes/s", more=more)


def _loading(spark: SparkSession, work: Path, rows: int, warm_ups: int, repetitions: int) -> Figure:
    """Load the same files with the job and with a plain copy, in turn."""
    bronze = work / "full"
    files = [str(path) for path in write_load(bronze, rows)]
    config = job_config(work, bronze, BronzeFormat.PARQUET)
    own_broadcast = session_settings(config)[BROADCAST]

    def job() -> None:
        report = run(spark, config).tables[SOURCE]
        if report.error is not None or report.applied != rows:
            raise RuntimeError(f"the load failed: {report.error or f'{report.applied} of {rows} rows applied'}")

    def copy() -> None:
        frame = spark.read.parquet(*files).select(*COLUMN_TYPES)
        frame.writeTo(f"{CATALOG}.{_COPY}").using("iceberg").tableProperty("format-version", "2").create()

    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {CATALOG}.silver")
    expected = digest(spark.read.parquet(*files))
    turns, taken = {OURS: job, _COPY: copy}, {OURS: list[float](), _COPY: list[float]()}
    for number in range(warm_ups + repetitions):
        for name in list(turns)[:: 1 if number % 2 else -1]:
            spark.conf.set(BROADCAST, own_broadcast if name == OURS else SPARKS_BROADCAST)
            one = seconds(spark, turns[name])
            if number >= warm_ups:
                taken[name].append(one)
            if (found := digest(spark.table(f"{CATALOG}.{name}"))) != expected:
                raise AssertionError(f"load: {name} holds {found}, the files {expected}")
            spark.sql(f"DROP TABLE {CATALOG}.{name} PURGE")
    spark.conf.set(BROADCAST, own_broadcast)
    copied = statistics.median(taken[_COPY])
    loaded = statistics.median(taken[OURS])
    return Figure(
        "load", tuple(taken[OURS]), copied / loaded, LOAD_GOAL, "of a copy's speed", more={"copy_s": copied, "rows_per_s": rows / loaded}
    )


def _growing(lakes: dict[str, Lake], size: int, warm_ups: int, repetitions: int) -> Figure:
    """Merge batches of recent keys into the small and the large table, in turn."""
    taken, sources = dict[str, list[float]](), dict[str, Source]()
    touched = dict[str, list[Any]]()
    jobs = {}
    for name, lake in lakes.items():
        lake.reset()
        taken[name], touched[name], sources[name] = list[float](), [], Source(lake.size)
        jobs[name] = Ours(lake.spark, job_config(lake.work, lake.work / f"recent {name}", BronzeFormat.PARQUET, name))
    # With small batches the JVM's compiler needs more of them.
    for number in range(3 * warm_ups + repetitions):
        for name in list(lakes)[:: 1 if number % 2 else -1]:
            changes = sources[name].change(size, Pattern.RECENT, EVERYDAY)
            touched[name].append(changes.touched)
            batch = write_batch(changes, number, lakes[name].work / f"recent {name}")
            one = seconds(lakes[name].spark, partial(jobs[name], batch))
            if number >= 3 * warm_ups:
                taken[name].append(one)
    for name, lake in lakes.items():
        lake.verify(sources[name], np.unique(np.concatenate(touched[name])), f"growth, {name}", [name])
    small, large = (statistics.median(values) for values in taken.values())
    more = {"small_s": small, "large_s": large}
    return Figure("growth", tuple(taken[OURS]), large / small, GROWTH_GOAL, "times the small one", is_limit=True, more=more)


def _shown(figures: Sequence[Figure], rows: int) -> Table:
    table = Table(title=f"Tables of {rows:,} rows, medians")
    table.add_column("figure", no_wrap=True)
    for heading in ("seconds a turn", "value", "goal", "met"):
        table.add_column(heading, justify="right")
    for one in figures:
        goal = f"{'<=' if one.is_limit else '>='} {one.goal:,g}"
        met = "yes" if one.is_met else "no"
        table.add_row(one.name, f"{statistics.median(one.taken):.2f}", f"{one.value:,.2f} {one.unit}", goal, met)
    return table
