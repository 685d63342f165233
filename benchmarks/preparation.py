"""What every benchmark does before and after measuring: scratch folder, logs, session, pauses, figures."""

import gc
import json
import logging
import os
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, Final, TypeVar

import psutil
import structlog
import typer
from pyspark.sql import SparkSession
from rich.console import Console

from dms_iceberg.config.model import Config
from dms_iceberg.spark.session import open_session

CONSOLE: Final = Console()
_T = TypeVar("_T")

Heap = Annotated[str, typer.Option(help="Heap of the one Spark session.")]
Cores = Annotated[int, typer.Option(min=1, help="Cores of the one Spark session.")]
Work = Annotated[Path, typer.Option(help="Scratch folder, emptied first.")]
Output = Annotated[Path, typer.Option(help="JSON file for the figures.")]
WORK: Final = Path("build/bench")


def emptied(work: Path) -> Path:
    """Return the scratch folder as an absolute path, empty. From then on the job's log lines are suppressed: the figures stay readable."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    work = work.resolve()
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    return work


@contextmanager
def session(config: Config, heap: str, cores: int) -> Iterator[SparkSession]:
    """Open the job's session with this many cores and shuffle partitions; stop it at the end."""
    settings = {"spark.master": f"local[{cores}]", "spark.sql.shuffle.partitions": str(cores), "spark.driver.memory": heap}
    spark = open_session(config, **settings)
    try:
        yield spark
    finally:
        spark.stop()


def seconds(spark: SparkSession, work: Callable[[], object]) -> float:
    """Return the seconds that ``work`` takes, after removing garbage and writing out pages of earlier work."""
    gc.collect()
    jvm: Any = spark._jvm
    jvm.System.gc()
    os.sync()
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def timed(work: Callable[[], _T]) -> tuple[_T, tuple[float, float]]:
    """Return what ``work`` returns, and the wall and processor seconds that it takes.

    Processor time is that of this process and its JVM, compiler and garbage collector included, over all cores.
    """
    wall, processor = time.perf_counter(), _processor_seconds()
    result = work()
    return result, (time.perf_counter() - wall, _processor_seconds() - processor)


def _processor_seconds() -> float:
    this = psutil.Process()
    times = [process.cpu_times() for process in (this, *this.children(recursive=True))]
    return float(sum(one.user + one.system for one in times))


def resident_mib() -> float:
    """Return the resident memory of this Python process, without the JVM."""
    return float(psutil.Process().memory_info().rss) / (1 << 20)


def heap_mib(spark: SparkSession) -> float:
    """Return the used MiB of the JVM's heap after two collections: what Spark releases because of the first goes with the second."""
    jvm: Any = spark._jvm
    gc.collect()
    jvm.System.gc()
    time.sleep(1)
    jvm.System.gc()
    runtime = jvm.Runtime.getRuntime()
    return float(runtime.totalMemory() - runtime.freeMemory()) / 2**20


def keep(figures: Mapping[str, Any], output: Path) -> None:
    """Write the figures as JSON."""
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
