"""``make bench BENCH=small``: a small batch by the direct path and by MERGE, in turn, on two tables with the same rows.

Processor time counts, of Python and JVM together: what one batch takes, the batches of other tables wait for.
"""

import statistics
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated, Any, Final
from unittest.mock import patch

import numpy as np
import typer
from pyspark.sql import SparkSession
from rich.table import Table

from benchmarks.preparation import CONSOLE, WORK, Cores, Heap, Work, emptied, session, timed
from benchmarks.small_tables import Rows, are_equal, columns, document, file_name, folder_of, sequence, write, write_load
from dms_iceberg.config.model import Config
from dms_iceberg.config.parse import parse_config
from dms_iceberg.merge.direct import delta as direct
from dms_iceberg.runs.run import run

PATHS: Final = ("direct", "merge")


def main(
    rows: Annotated[int, typer.Option(min=1_000, help="Rows of each table at the start.")] = 1_000_000,
    changes: Annotated[int, typer.Option(min=1, help="Changes of a batch, at most 10,000.")] = 1_000,
    batches: Annotated[int, typer.Option(min=2, help="Batches of each table; the first half does not count: the JVM compiles.")] = 60,
    mode: Annotated[str, typer.Option(help="Mode of both tables: mirror or soft_delete.")] = "mirror",
    partition_by: Annotated[str, typer.Option(help="Partition transform of both tables, such as 'bucket(16, id)'.")] = "",
    heap: Heap = "4g",
    cores: Cores = 2,
    work: Work = WORK,
) -> None:
    """Measure a small batch by both paths."""
    work = emptied(work)
    for name in PATHS:
        write_load(folder_of(work, name), rows)
    config = parse_config(document(work, PATHS, 1, mode=mode, partition_by=[partition_by] if partition_by else []), base=str(work))
    random, at = np.random.default_rng(7), datetime.now(UTC) - timedelta(hours=1)
    source = Rows(rows, rows + rows // 100)
    took: dict[str, list[tuple[float, float]]] = {name: [] for name in PATHS}
    with session(config, heap, cores) as spark:
        if run(spark, config).errors:
            raise typer.Exit(1)
        for _ in range(batches):
            at += timedelta(seconds=5)
            _write(work, at, np.unique(random.integers(0, rows + rows // 100, changes)), random, source)
            for name in PATHS:
                took[name].append(_merged(spark, config, name))
        _print(took)
        if not are_equal(spark, *PATHS):
            CONSOLE.print("the two tables differ", style="red")
            raise typer.Exit(1)


def _write(work: Path, at: datetime, ids: Any, random: np.random.Generator, source: Rows) -> None:
    moments = [at + timedelta(microseconds=900 * number) for number in range(len(ids))]
    ids = random.permutation(ids)
    ops = source.operations(ids, random)
    stamps = [f"{one:%Y-%m-%d %H:%M:%S.%f}" for one in moments]
    data = columns(ops, stamps, ids, [sequence(one, number) for number, one in enumerate(moments)])
    for name in PATHS:
        write(folder_of(work, name), file_name(moments[-1] + timedelta(milliseconds=10)), data)


def _merged(spark: SparkSession, config: Config, name: str) -> tuple[float, float]:
    """Merge the table's next file; return wall and processor seconds."""
    with patch.object(direct, "MOST_ROWS", direct.MOST_ROWS if name == "direct" else 0):
        report, taken = timed(lambda: run(spark, config, only=[f"shop.{name}"]))
    found = [batch.path for table in report.tables.values() for batch in table.batches]
    if len(found) != 1 or not found[0].startswith(name):
        CONSOLE.print(f"{name}: {report.errors} {found}", style="red")
        raise typer.Exit(1)
    return taken


def _print(took: dict[str, list[tuple[float, float]]]) -> None:
    table = Table("path", "wall time", "processor time", "fastest", "slowest")
    medians = {}
    for name, all_of in took.items():
        counted = all_of[len(all_of) // 2 :]
        wall, processor = (statistics.median(column) for column in zip(*counted, strict=True))
        medians[name] = processor
        ends = [f(one for _, one in counted) for f in (min, max)]
        table.add_row(name, f"{wall:.2f} s", f"{processor:.2f} s", *(f"{one:.2f} s" for one in ends))
    CONSOLE.print(table)
    CONSOLE.print(f"direct / merge, processor time: {medians['direct'] / medians['merge']:.2f}")
