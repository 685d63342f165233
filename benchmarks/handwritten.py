"""``make bench``: the job, the usual hand-written script and the floor, in one session on one machine; writes ``bench.json``."""

import statistics
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
import typer
from rich.table import Table

from benchmarks.cases import CASES, GOALS, Case, Result
from benchmarks.changes import Source
from benchmarks.contestants import BROADCAST, SPARKS_BROADCAST, Contestant, Floor, Handwritten, Ours, job_config
from benchmarks.dms_files import write_batch
from benchmarks.lake import Lake, load
from benchmarks.preparation import CONSOLE, WORK, Cores, Heap, Output, Work, emptied, keep, seconds, session
from dms_iceberg.config.model import BronzeFormat
from dms_iceberg.spark.session import session_settings

# The compiler of the JVM settles after some seconds of work, and a small batch gives it little work.
_LARGE = 10_000


def main(
    case: Annotated[list[str] | None, typer.Option(help="Case, or `all`; may be repeated. Without it: the cases of the goals.")] = None,
    rows: Annotated[int, typer.Option(help="Rows of the silver table.")] = 5_000_000,
    repetitions: Annotated[int, typer.Option(min=1, help="Measured batches per case; the median counts.")] = 5,
    warm_ups: Annotated[int | None, typer.Option(min=0, help="Discarded batches before them; 3, or 10 of small batches.")] = None,
    heap: Heap = "6g",
    cores: Cores = 2,
    work: Work = WORK,
    output: Output = Path("build/bench.json"),
) -> None:
    """Time the job, the usual hand-written script and the floor on the same batches."""
    chosen = _chosen(case or [])
    work = emptied(work)
    output.unlink(missing_ok=True)
    results: list[Result] = []
    with session(job_config(work, work, BronzeFormat.PARQUET), heap, cores) as spark:
        CONSOLE.print(f"loading {rows:,} rows ...")
        lake = load(spark, work, rows)
        for one in chosen:
            discarded = warm_ups if warm_ups is not None else (3 if one.size >= _LARGE else 10)
            results.append(_measure(lake, one, discarded, repetitions))
            # After each case: so an interrupted run keeps what it has measured.
            keep({"cases": [result.to_document() for result in results]}, output)
    CONSOLE.print(_shown(results, rows))


def _chosen(names: Sequence[str]) -> list[Case]:
    if list(names) == ["all"]:
        return list(CASES)
    known = {case.name: case for case in CASES}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise typer.BadParameter(f"{', '.join(unknown)}: not among all, {', '.join(known)}")
    return [known[name] for name in names] or list(GOALS)


def _measure(lake: Lake, case: Case, warm_ups: int, repetitions: int) -> Result:
    """Give the contestants the same new batches in turn, then check that both tables are right."""
    lake.reset()
    folder = lake.work / case.name
    bronze = {kind: folder / kind.value for kind in (BronzeFormat.PARQUET, BronzeFormat.CSV)}
    config = job_config(lake.work, bronze[case.format], case.format)
    contestants: list[tuple[str, Contestant]] = [
        ("ours", Ours(lake.spark, config)),
        ("handwritten", Handwritten(lake.spark)),
        ("floor", Floor(lake.spark, case.format, lake.files, folder / "floor")),
    ]
    source, own_broadcast = Source(lake.size), session_settings(config)[BROADCAST]
    touched, taken = [], {name: list[float]() for name, _ in contestants}
    for number in range(warm_ups + repetitions):
        changes = source.change(case.size, case.pattern, case.mix)
        touched.append(changes.touched)
        batch = write_batch(changes, number, bronze[BronzeFormat.PARQUET], bronze[BronzeFormat.CSV])
        # Another contestant begins each time, so that none always runs after the same other one.
        for turn in range(len(contestants)):
            name, contestant = contestants[(number + turn) % len(contestants)]
            lake.spark.conf.set(BROADCAST, own_broadcast if name == "ours" else SPARKS_BROADCAST)
            one = seconds(lake.spark, partial(contestant, batch))
            if number >= warm_ups:
                taken[name].append(one)
    lake.verify(source, np.unique(np.concatenate(touched)), case.name)
    medians = {name: statistics.median(values) for name, values in taken.items()}
    CONSOLE.print(f"{case.name}: " + ", ".join(f"{name} {[round(one, 2) for one in values]}" for name, values in taken.items()))
    return Result(case.name, medians["ours"], medians["handwritten"], medians["floor"])


def _shown(results: Sequence[Result], rows: int) -> Table:
    table = Table(title=f"Seconds per batch on {rows:,} rows, medians")
    table.add_column("case", no_wrap=True)
    for heading in ("job", "hand-written", "floor", "faster than hand-written", "times the floor"):
        table.add_column(heading, justify="right")
    for result in results:
        times = (result.ours_s, result.handwritten_s, result.floor_s)
        table.add_row(result.name, *(f"{one:.2f}" for one in times), f"{result.ratio_handwritten:.1f} x", f"{result.ratio_floor:.2f} x")
    return table
