"""``make bench BENCH=watch``: how far a watch is behind its source, with many tables that change all the time.

A writer simulates DMS: every second it closes one file for each table, with changes committed in that second. No rival is timed: the
hand-written script is a run per table, whose start alone takes longer than everything measured here.
"""

import asyncio
import statistics
import threading
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from benchmarks.preparation import CONSOLE, WORK, Cores, Heap, Work, emptied, heap_mib, resident_mib, session
from benchmarks.small_tables import Rows, columns, document, file_name, folder_of, sequence, write, write_load
from dms_iceberg.config.parse import parse_config
from dms_iceberg.runs.report import BatchReport
from dms_iceberg.runs.run import run
from dms_iceberg.watch.run import Watch


class Writer(threading.Thread):
    """Closes one file a second for each table."""

    def __init__(self, work: Path, tables: int, rows: int, changes: int, seconds: float) -> None:
        super().__init__()
        self._folders = [folder_of(work, f"t{number}") for number in range(tables)]
        self._rows, self._changes, self._until = rows, changes, time.time() + seconds
        self._counter, self._random = 0, np.random.default_rng(7)
        self._sources = {folder: Rows(rows, rows + rows // 100) for folder in self._folders}
        self.written = 0

    def run(self) -> None:
        """Write until the time is over."""
        closing = time.time()
        # A file begins where the one before it was really closed: commit times that overlap would make the batches late ones.
        closed = dict.fromkeys(self._folders, closing)
        while closing < self._until:
            closing += 1.0
            time.sleep(max(0.0, closing - time.time()))
            for folder in self._folders:
                began, closed[folder] = closed[folder], time.time()
                self._close(folder, began, closed[folder])

    def _close(self, folder: Path, began: float, now: float) -> None:
        ids = self._random.integers(0, self._rows + self._rows // 100, self._changes)
        commits = np.sort(self._random.uniform(began, now, self._changes))
        moments = [datetime.fromtimestamp(one, UTC) for one in commits]
        sequences = []
        for moment in moments:
            self._counter += 1
            sequences.append(sequence(moment, self._counter))
        op = self._sources[folder].operations(ids, self._random)
        closed = datetime.fromtimestamp(now, UTC)
        write(folder, file_name(closed), columns(op, [f"{one:%Y-%m-%d %H:%M:%S.%f}" for one in moments], ids, sequences))
        self.written += self._changes


class Seen:
    """The reports of the watch's batches."""

    def __init__(self) -> None:
        self.batches: list[BatchReport] = []
        self.own: list[float] = []

    def __call__(self, _table: str, batch: BatchReport) -> None:
        """Add a batch (a `runs.run.Listener`)."""
        if batch.lag_p95_seconds is None:
            return
        self.batches.append(batch)
        closed = datetime.strptime(batch.frontier, "%Y%m%d%H%M%S%f").replace(tzinfo=UTC)
        self.own.append(time.time() - closed.timestamp())


def _quantile(values: list[float], part: float) -> float:
    return float(np.quantile(np.array(values), part))


def main(
    tables: Annotated[int, typer.Option(min=1, help="Tables.")] = 20,
    rows: Annotated[int, typer.Option(min=100, help="Rows of each table at the start.")] = 250_000,
    changes_per_second: Annotated[int, typer.Option(min=1, help="Changes per second, over all tables.")] = 1_000,
    seconds: Annotated[float, typer.Option(min=5, help="Seconds for which the writer writes.")] = 180.0,
    warm_up: Annotated[float, typer.Option(min=0, help="The first seconds do not count: the JVM compiles.")] = 60.0,
    parallelism: Annotated[int, typer.Option(min=1, help="Tables merged at once.")] = 2,
    heap: Heap = "6g",
    cores: Cores = 2,
    work: Work = WORK,
) -> None:
    """Measure the lag of a watch."""
    work = emptied(work)
    for number in range(tables):
        write_load(folder_of(work, f"t{number}"), rows)
    config = parse_config(document(work, [f"t{number}" for number in range(tables)], parallelism), base=str(work))
    with session(config, heap, cores) as spark:
        seen = Seen()
        watch = Watch(spark, config, interval=0.5, listener=seen)
        loaded = run(spark, config)
        if loaded.errors:
            raise typer.Exit(1)
        CONSOLE.print(f"{tables} tables of {rows:,} rows loaded in {loaded.seconds:.1f} s")
        heaps, resident = [heap_mib(spark)], list[float]()
        writer = Writer(work, tables, rows, changes_per_second // tables, warm_up + seconds)
        thread = threading.Thread(target=lambda: asyncio.run(watch.run()))
        thread.start()
        writer.start()
        time.sleep(warm_up)
        first = len(seen.batches)
        resident.append(resident_mib())
        writer.join()
        last = len(seen.batches)
        watch.stop()
        thread.join()
        heaps.append(heap_mib(spark))
        resident.append(resident_mib())
        _print_results(seen, first, last, seconds)
        CONSOLE.print(f"heap in use at rest: {heaps[0]:,.0f} MiB before, {heaps[1]:,.0f} MiB after {len(seen.batches):,} batches")
        CONSOLE.print(f"Python: {resident[0]:,.0f} MiB after the warm-up, {resident[1]:,.0f} MiB at the end")
        after = run(spark, config)
        read = sum(batch.rows_read for batch in seen.batches) + sum(one.rows_read for one in after.tables.values())
        if read != writer.written or after.errors:
            CONSOLE.print(f"written {writer.written:,} changes, read {read:,}: {after.errors}", style="red")
            raise typer.Exit(1)


def _print_results(seen: Seen, first: int, last: int, seconds: float) -> None:
    batches, own = seen.batches[first:last], seen.own[first:last]
    rows = sum(batch.rows_read for batch in batches)
    p50 = [batch.lag_p50_seconds or 0.0 for batch in batches]
    p95 = [batch.lag_p95_seconds or 0.0 for batch in batches]
    CONSOLE.print(
        f"{rows / seconds:,.0f} changes/s merged in {len(batches):,} batches of {statistics.median(b.files for b in batches):.0f} files"
    )
    CONSOLE.print(f"source commit to visible: p50 {_quantile(p50, 0.5):.1f} s, p95 {_quantile(p95, 0.95):.1f} s")
    CONSOLE.print(f"file closed to visible, newest file of a batch: p50 {_quantile(own, 0.5):.1f} s, p95 {_quantile(own, 0.95):.1f} s")
    paths = Counter(batch.path.split(" ")[0] or "none" for batch in batches)
    CONSOLE.print(f"batches by path: {', '.join(f'{path} {count}' for path, count in paths.most_common())}")
    CONSOLE.print(f"a batch takes {statistics.median(b.seconds for b in batches):.2f} s (median)")
