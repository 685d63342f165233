"""``make bench BENCH=quarantine``: batches of a table with very many open rows in quarantine, and the same batches of one without them.

The quarantine is read where a batch is late, rejects rows itself, or reports what is open. So each kind of batch is measured by itself.
"""

import statistics
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final

import numpy as np
import typer
from pyspark.sql import SparkSession
from rich.table import Table

from benchmarks.preparation import CONSOLE, WORK, Cores, Heap, Work, emptied, session, timed
from benchmarks.small_tables import Ids, are_equal, columns, document, file_name, folder_of, now, sequence, write, write_load
from dms_iceberg.config.model import Config
from dms_iceberg.config.parse import parse_config
from dms_iceberg.quarantine.tables import quarantine_table
from dms_iceberg.runs.run import run

NAMES: Final = ("clean", "rejecting")
IN_ORDER, REJECTED, LATE, IDLE = "in order", "one row in a hundred rejected", "late", "nothing new"
STEPS: Final = (IN_ORDER, REJECTED, LATE, IDLE)
_LIMIT, _BEYOND = 1_000, 5_000
"""Of the column ``n``: a rule rejects rows from the first on, and such rows have the second."""
_RULE: Final = {"name": "small", "expr": f"n < {_LIMIT}", "on_fail": "quarantine"}
_Taken = dict[tuple[str, str], list[tuple[float, float]]]


def main(
    rows: Annotated[int, typer.Option(min=1_000, help="Rows of each table at the start.")] = 1_000_000,
    rejected: Annotated[int, typer.Option(min=1, help="Open rows in the quarantine of one of the two tables.")] = 300_000,
    changes: Annotated[int, typer.Option(min=100, help="Changes of a batch.")] = 1_000,
    rounds: Annotated[int, typer.Option(min=2, help="Batches of each kind; the first half does not count: the JVM compiles.")] = 16,
    heap: Heap = "4g",
    cores: Cores = 2,
    work: Work = WORK,
) -> None:
    """Measure batches beside a large quarantine."""
    work = emptied(work)
    random, at = np.random.default_rng(7), now() - timedelta(hours=2)
    for name in NAMES:
        write_load(folder_of(work, name), rows)
    _write(work, NAMES[1:], at, np.arange(rows, rows + rejected), op="I", beyond=np.arange(rejected))
    config = parse_config(document(work, NAMES, 1, rules=[_RULE]), base=str(work))
    taken: _Taken = {(step, name): [] for step in STEPS for name in NAMES}
    with session(config, heap, cores) as spark:
        _run(spark, config)
        for number in range(rounds):
            at += timedelta(minutes=1)
            for step in STEPS:
                ids = np.sort(random.choice(rows, changes, replace=False))
                if step != IDLE:
                    late = timedelta(seconds=40) if step == LATE else timedelta()
                    _write(work, NAMES, at - late, ids, beyond=np.arange(0, changes, 100) if step == REJECTED else ())
                for name in NAMES[:: 1 if number % 2 else -1]:
                    taken[step, name].append(timed(partial(_run, spark, config, name))[1])
                at += timedelta(seconds=5)
        _print(taken, rounds)
        _check(spark, config, rejected)


def _write(work: Path, names: Sequence[str], at: datetime, ids: Ids, *, op: str = "U", beyond: Any = ()) -> None:
    """Write a file of changes to each table; the rows at the places ``beyond`` break the rule."""
    data = columns([op] * len(ids), [f"{at:%Y-%m-%d %H:%M:%S.%f}"] * len(ids), ids, [sequence(at, one) for one in range(len(ids))])
    data["n"][list(beyond)] = _BEYOND
    for name in names:
        write(folder_of(work, name), file_name(at + timedelta(milliseconds=10)), data)


def _run(spark: SparkSession, config: Config, *names: str) -> None:
    report = run(spark, config, only=[f"shop.{name}" for name in names])
    if report.errors:
        CONSOLE.print(str(report.errors), style="red")
        raise typer.Exit(1)


def _print(taken: _Taken, rounds: int) -> None:
    table = Table("batch", *(f"{name}, {what}" for name in NAMES for what in ("wall time", "processor time")), "times")
    for step in STEPS:
        found = {name: [statistics.median(one) for one in zip(*taken[step, name][rounds // 2 :], strict=True)] for name in NAMES}
        clean, rejecting = (found[name][1] for name in NAMES)
        table.add_row(step, *(f"{one:.2f} s" for name in NAMES for one in found[name]), f"{rejecting / clean:.2f}")
    CONSOLE.print(table)


def _check(spark: SparkSession, config: Config, rejected: int) -> None:
    """Both tables are equal, and their quarantines differ by the rows that one had from the start."""
    counts = [spark.table(quarantine_table(config, config.tables[f"shop.{name}"])).count() for name in NAMES]
    if counts[1] - counts[0] != rejected or not are_equal(spark, *NAMES):
        CONSOLE.print(f"the two tables differ, or their quarantines by other rows than {rejected}: {counts}", style="red")
        raise typer.Exit(1)
