"""``python -m benchmarks.protection``: what a batch in order pays for the protection against late changes.

Every other batch is merged with the protection switched off: no lowest position and no newest file per key, so that nothing tells whether
a batch is late. Both kinds go into one table, in turn, and the table is compared with the source at the end.
"""

import logging
import shutil
import statistics
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Annotated
from unittest.mock import patch

import numpy as np
import structlog
import typer
from rich.console import Console
from rich.table import Table

from benchmarks.__main__ import timed
from benchmarks.changes import EVERYDAY, Pattern, Source
from benchmarks.contestants import OURS, Ours, job_config
from benchmarks.dms_files import write_batch
from benchmarks.lake import load
from dms_iceberg.changes import frames
from dms_iceberg.changes.collapse import LOW, winner_aggregates
from dms_iceberg.changes.normalise import FILE_TIME
from dms_iceberg.config.model import BronzeFormat
from dms_iceberg.session import open_session

_CONSOLE = Console()
_SIZES = {100_000: 3, 1_000: 10}
"""Changes in a batch, and how many batches of each kind are discarded first."""


def main(
    rows: Annotated[int, typer.Option(help="Rows of the silver table.")] = 5_000_000,
    repetitions: Annotated[int, typer.Option(min=2, help="Measured batches of each kind and size; the median counts.")] = 11,
    heap: Annotated[str, typer.Option(help="Heap of the one Spark session.")] = "6g",
    cores: Annotated[int, typer.Option(min=1, help="Cores of the one Spark session.")] = 2,
    work: Annotated[Path, typer.Option(help="Scratch folder, emptied first.")] = Path("build/bench"),
) -> None:
    """Time batches in order with the protection against late changes and without it."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    work = work.resolve()
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    settings = {"spark.master": f"local[{cores}]", "spark.sql.shuffle.partitions": str(cores), "spark.driver.memory": heap}
    spark = open_session(job_config(work, work / "load", BronzeFormat.PARQUET), **settings)
    shown = Table(title=f"Seconds per batch in order on {rows:,} rows, medians (fastest to slowest)")
    for heading in ("changes", "protected", "unprotected", "protected / unprotected"):
        shown.add_column(heading, justify="right")
    try:
        lake = load(spark, work, rows)
        for size, warm_ups in _SIZES.items():
            lake.reset()
            bronze = work / f"{size}"
            ours, source = Ours(spark, job_config(work, bronze, BronzeFormat.PARQUET)), Source(rows)
            touched, seconds = [], {True: list[float](), False: list[float]()}
            for number in range(2 * (warm_ups + repetitions)):
                changes = source.change(size, Pattern.SCATTERED, EVERYDAY)
                touched.append(changes.touched)
                batch, protected = write_batch(changes, number, bronze, work / "csv"), number % 2 == 0
                with nullcontext() if protected else _unprotected():
                    taken = timed(lake, ours, batch)
                if number >= 2 * warm_ups:
                    seconds[protected].append(taken)
            lake.verify(source, np.unique(np.concatenate(touched)), f"{size} changes", [OURS])
            with_it, without = statistics.median(seconds[True]), statistics.median(seconds[False])
            shown.add_row(f"{size:,}", _spread(seconds[True]), _spread(seconds[False]), f"{with_it / without:.2f}")
    finally:
        spark.stop()
    _CONSOLE.print(shown)


@contextmanager
def _unprotected() -> Iterator[None]:
    def without(value_columns: Sequence[str], *, context: bool) -> list[str]:
        aggregates = winner_aggregates(value_columns, context=context)
        names = [one.rpartition(" AS ")[2] for one in aggregates]
        assert {LOW, FILE_TIME} <= set(names)
        return [f"CAST(NULL AS string) AS {name}" if name in (LOW, FILE_TIME) else one for name, one in zip(names, aggregates, strict=True)]

    with patch.object(frames, "winner_aggregates", without):
        yield


def _spread(seconds: Sequence[float]) -> str:
    return f"{statistics.median(seconds):.2f} ({min(seconds):.2f} to {max(seconds):.2f})"


if __name__ == "__main__":
    typer.run(main)
