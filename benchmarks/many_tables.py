"""``make bench BENCH=tables``: the cost of one table among many.

1. *Runs*: a file of changes for each table, merged by one run of the command line; and by single runs for a sample of tables, scaled
   up to all.
2. *Idle*: a run in a warm session that finds nothing new in any table.
3. *Neighbour*: small tables alone, and beside one with a large batch.
4. *Old bronze*: listing past objects that were merged long ago.
"""

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Final

import attrs
import numpy as np
import typer
from pyspark.sql import SparkSession
from rich.table import Table

from benchmarks.old_bronze import LAYOUTS, local_seconds, requests_of_s3
from benchmarks.preparation import CONSOLE, WORK, Cores, Heap, Output, Work, emptied, keep, seconds, session
from benchmarks.small_tables import document, folder_of, now, write_load, write_updates
from dms_iceberg.config.model import Config
from dms_iceberg.config.parse import parse_config
from dms_iceberg.runs.report import BatchReport, RunReport
from dms_iceberg.runs.run import run

RUNS_GOAL: Final = 5.0
IDLE_GOAL: Final = 0.020
_HUGE: Final = "huge"


@attrs.frozen
class Figure:
    """One line of the result: what is measured, its parts, the value to compare with the goal, and the goal; None without a goal."""

    name: str
    parts: Mapping[str, float]
    value: float
    unit: str
    goal: str = ""
    is_met: bool | None = None

    def to_document(self) -> dict[str, Any]:
        """Return the figure's part of the JSON file."""
        parts = {name: round(value, 4) for name, value in self.parts.items()}
        return {"name": self.name, **parts, "value": round(self.value, 4), "unit": self.unit, "goal": self.goal, "met": self.is_met}


def main(
    tables: Annotated[int, typer.Option(min=20, help="Small tables.")] = 200,
    rows: Annotated[int, typer.Option(min=1, help="Rows of each table.")] = 1_000,
    changes: Annotated[int, typer.Option(min=1, help="Changes in a file of a small table.")] = 100,
    sample: Annotated[int, typer.Option(min=1, help="Single runs that are timed.")] = 10,
    huge: Annotated[int, typer.Option(min=1, help="Rows of the large neighbour, and changes in a batch of it.")] = 1_000_000,
    repetitions: Annotated[int, typer.Option(min=1, help="Measured turns; the median counts.")] = 5,
    objects: Annotated[int, typer.Option(min=1, help="Old objects.")] = 100_000,
    parallelism: Annotated[int, typer.Option(min=1, help="Tables merged at once.")] = 4,
    heap: Heap = "4g",
    cores: Cores = 2,
    work: Work = WORK,
    output: Output = Path("build/bench-tables.json"),
) -> None:
    """Time many small tables, idle ones, a large neighbour and old bronze."""
    work = emptied(work)
    output.unlink(missing_ok=True)
    names = [f"t{number}" for number in range(tables)]
    for name in names:
        write_load(folder_of(work, name), rows)
    every = document(work, names, parallelism)
    figures: list[Figure] = []

    def record(*found: Figure) -> None:
        figures.extend(found)
        keep({"tables": tables, "figures": [one.to_document() for one in figures]}, output)
        for one in found:
            CONSOLE.print(f"{one.name}: { {name: round(value, 3) for name, value in one.parts.items()} }")

    with session(parse_config(every, base=str(work)), heap, cores) as spark:
        config = parse_config(every, base=str(work))
        first = checked(run(spark, config), names, rows)
        CONSOLE.print(f"{tables} tables of {rows:,} rows loaded in {first.seconds:.1f} s")
        record(_idle(spark, config, names, repetitions))
        record(_neighbour(spark, work, names[:20], parallelism, changes, huge, repetitions))
    record(_runs(work, every, names, sample, changes, heap))
    record(*_old_bronze(work, objects))
    CONSOLE.print(_shown(figures))


def checked(report: RunReport, names: Iterable[str], read: int) -> RunReport:
    """Return a report after checking that each table has read and applied this many rows.

    Raises:
        RuntimeError: one has not, or failed.
    """
    for name in names:
        table = report.tables[f"shop.{name}"]
        if table.error is not None or (table.rows_read, table.applied) != (read, read):
            raise RuntimeError(f"{name}: {table.error or f'{table.rows_read} rows read, {table.applied} applied, {read} expected'}")
    return report


def _idle(spark: SparkSession, config: Config, names: Sequence[str], repetitions: int) -> Figure:
    taken = [seconds(spark, lambda: checked(run(spark, config), names, 0)) for _ in range(3 + repetitions)]
    each = statistics.median(taken[3:]) / len(names)
    return Figure("idle table", {"run_s": statistics.median(taken[3:])}, each * 1000, "ms", "<= 20 ms", each <= IDLE_GOAL)


class _Ends:
    """When each table's batch was committed, in seconds since the run began."""

    def __init__(self) -> None:
        self._began = time.perf_counter()
        self.of: dict[str, float] = {}

    def __call__(self, table: str, _batch: BatchReport) -> None:
        self.of[table.removeprefix("shop.")] = time.perf_counter() - self._began


def _neighbour(
    spark: SparkSession, work: Path, names: Sequence[str], parallelism: int, changes: int, huge: int, repetitions: int
) -> Figure:
    """Merge into small tables, in turn alone and beside a large one, which comes first."""
    write_load(folder_of(work, _HUGE), huge)
    alone = parse_config(document(work, names, parallelism), base=str(work))
    beside = parse_config(document(work, [_HUGE, *names], parallelism), base=str(work))
    checked(run(spark, beside, [f"shop.{_HUGE}"]), [_HUGE], huge)
    last: dict[str, list[float]] = {"alone": [], "beside": []}
    mean: dict[str, list[float]] = {"alone": [], "beside": []}
    own = []
    for turn in range(1 + repetitions):
        for kind, config in (("alone", alone), ("beside", beside))[:: 1 if turn % 2 else -1]:
            for name in names:
                write_updates(folder_of(work, name), now(), np.arange(changes), turn)
            if kind == "beside":
                write_updates(folder_of(work, _HUGE), now(), np.arange(huge), turn)
            ends = _Ends()
            checked(run(spark, config, listener=ends), names, changes)
            if turn:
                small = [ends.of[name] for name in names]
                last[kind].append(max(small))
                mean[kind].append(statistics.mean(small))
                own += [ends.of[_HUGE]] if kind == "beside" else []
    parts = {f"{what}_{kind}_s": statistics.median(of[kind]) for what, of in (("last", last), ("mean", mean)) for kind in of}
    delay = parts["last_beside_s"] / parts["last_alone_s"]
    share = parallelism / (parallelism - 1) if parallelism > 1 else float("inf")
    parts |= {"huge_s": statistics.median(own)}
    return Figure("delay by a huge neighbour", parts, delay, "times", f"<= {share:.2f} times (its share)", delay <= share)


def _runs(work: Path, every: Mapping[str, Any], names: Sequence[str], sample: int, changes: int, heap: str) -> Figure:
    """Time the command line: one run for all tables, and one for each of the first ones."""
    path = work / "tables.json"
    path.write_text(json.dumps(every))
    command = [sys.executable, "-m", "dms_iceberg.cli.app", "run", str(path), "--json"]
    environment = {**os.environ, "DMS_ICEBERG_DRIVER_MEMORY": heap}

    def timed(chosen: Sequence[str], options: Sequence[str], number: int) -> float:
        for name in chosen:
            write_updates(folder_of(work, name), now(), np.arange(changes), number)
        started = time.perf_counter()
        done = subprocess.run([*command, *options], env=environment, capture_output=True, text=True, check=False)
        taken = time.perf_counter() - started
        found = json.loads(done.stdout)["tables"] if done.returncode == 0 else {}
        if {name for name, one in found.items() if one["applied"] == changes} != {f"shop.{name}" for name in chosen}:
            raise RuntimeError(f"exit code {done.returncode}: {done.stdout[-2000:]} {done.stderr[-2000:]}")
        return taken

    together = timed(names, [], 1)
    singles = [timed([name], ["--table", f"shop.{name}"], 2) for name in names[:sample]]
    apart = statistics.mean(singles) * len(names)
    parts = {"one_run_s": together, "single_run_s": statistics.mean(singles), "single_runs_scaled_s": apart}
    return Figure(f"{len(names)} tables in one run", parts, apart / together, "times faster", ">= 5 times", apart / together >= RUNS_GOAL)


def _old_bronze(work: Path, objects: int) -> list[Figure]:
    found = []
    for layout in LAYOUTS:
        empty, old = local_seconds(work / "old", objects, layout)
        parts = {"empty_s": empty, "old_s": old}
        found.append(Figure(f"listing past {objects:,} files, {layout}", parts, (old - empty) * 1000, "ms more"))
        none, some = requests_of_s3(objects, layout)
        requests = {"empty": float(none), "old": float(some)}
        found.append(Figure(f"listing past {objects:,} objects on S3, {layout}", requests, some - none, "requests more"))
    return found


def _shown(figures: Sequence[Figure]) -> Table:
    table = Table(title="What a table among many costs")
    table.add_column("figure")
    for heading in ("value", "goal", "met"):
        table.add_column(heading, justify="right")
    for one in figures:
        met = "" if one.is_met is None else "yes" if one.is_met else "no"
        table.add_row(one.name, f"{one.value:,.2f} {one.unit}", one.goal, met)
    return table
