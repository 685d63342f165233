"""``make bench BENCH=late``: what batches in order pay for the protection against late changes.

Every other batch is merged with the protection switched off: without lowest position and newest file per key, so that nothing shows
whether a batch is late. Both kinds go into one table, in turn, and the table is compared with the source at the end.
"""

import statistics
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Annotated
from unittest.mock import patch

import numpy as np
import typer
from rich.table import Table

from benchmarks.changes import EVERYDAY, Pattern, Source
from benchmarks.contestants import OURS, Ours, job_config
from benchmarks.dms_files import write_batch
from benchmarks.lake import load
from benchmarks.preparation import CONSOLE, WORK, Cores, Heap, Work, emptied, seconds, session
from dms_iceberg.changes import frames
from dms_iceberg.config.model import BronzeFormat
from dms_iceberg.merge.collapse import latest_aggregates
from dms_iceberg.sql.cdc_columns import FILE_TIME, LOW

_SIZES = {100_000: 3, 1_000: 10}
"""Changes per batch, and how many batches of each kind are discarded first."""


def main(
    rows: Annotated[int, typer.Option(help="Rows of the silver table.")] = 5_000_000,
    repetitions: Annotated[int, typer.Option(min=2, help="Measured batches of each kind and size; the median counts.")] = 11,
    heap: Heap = "6g",
    cores: Cores = 2,
    work: Work = WORK,
) -> None:
    """Time batches in order with the protection against late changes and without it."""
    work = emptied(work)
    shown = Table(title=f"Seconds per batch in order on {rows:,} rows, medians (fastest to slowest)")
    for heading in ("changes", "protected", "unprotected", "protected / unprotected"):
        shown.add_column(heading, justify="right")
    with session(job_config(work, work, BronzeFormat.PARQUET), heap, cores) as spark:
        lake = load(spark, work, rows)
        for size, warm_ups in _SIZES.items():
            lake.reset()
            bronze = work / f"{size}"
            ours, source = Ours(spark, job_config(work, bronze, BronzeFormat.PARQUET)), Source(rows)
            touched, taken = [], {True: list[float](), False: list[float]()}
            for number in range(2 * (warm_ups + repetitions)):
                changes = source.change(size, Pattern.SCATTERED, EVERYDAY)
                touched.append(changes.touched)
                batch, protected = write_batch(changes, number, bronze, work / "csv"), number % 2 == 0
                with nullcontext() if protected else _unprotected():
                    one = seconds(spark, partial(ours, batch))
                if number >= 2 * warm_ups:
                    taken[protected].append(one)
            lake.verify(source, np.unique(np.concatenate(touched)), f"{size} changes", [OURS])
            with_it, without = statistics.median(taken[True]), statistics.median(taken[False])
            shown.add_row(f"{size:,}", _spread(taken[True]), _spread(taken[False]), f"{with_it / without:.2f}")
    CONSOLE.print(shown)


@contextmanager
def _unprotected() -> Iterator[None]:
    def without(value_columns: Sequence[str], *, with_context: bool) -> list[str]:
        aggregates = latest_aggregates(value_columns, with_context=with_context)
        names = [one.rpartition(" AS ")[2] for one in aggregates]
        assert {LOW, FILE_TIME} <= set(names)
        return [f"CAST(NULL AS string) AS {name}" if name in (LOW, FILE_TIME) else one for name, one in zip(names, aggregates, strict=True)]

    with patch.object(frames, "latest_aggregates", without):
        yield


def _spread(taken: Sequence[float]) -> str:
    return f"{statistics.median(taken):.2f} ({min(taken):.2f} to {max(taken):.2f})"
