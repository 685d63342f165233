"""A watch beside a test: what it merged, and its end."""

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pyarrow as pa

from dms_iceberg.config.model import Config
from dms_iceberg.runs.report import BatchReport
from dms_iceberg.watch.run import Watch
from support.lake import Lake

ID_V = [("id", pa.int64()), ("v", pa.string())]
PATIENCE = 120


class Watched:
    """A watch in a thread of its own, and the batches it merged.

    Args:
        pause: what a table waits for after each of its batches.
    """

    def __init__(self, lake: Lake, config: Config, *, pause: threading.Event | None = None, **options: Any) -> None:
        self.merged: list[tuple[str, BatchReport]] = []
        self._pause = pause
        self.watch = Watch(lake.spark, config, interval=0.1, listener=self._heard, **options)
        self.failed: list[str] | None = None
        self.error: Exception | None = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _heard(self, table: str, batch: BatchReport) -> None:
        self.merged.append((table, batch))
        if self._pause is not None:
            assert self._pause.wait(PATIENCE)

    def _run(self) -> None:
        try:
            self.failed = asyncio.run(self.watch.run())
        except Exception as error:
            self.error = error

    def until(self, seen: Callable[[], object]) -> None:
        """Wait until something is true; the watch must not end meanwhile."""
        deadline = time.monotonic() + PATIENCE
        while not seen():
            assert self._thread.is_alive(), self.error
            assert time.monotonic() < deadline, [(name, batch.rows_read) for name, batch in self.merged]
            time.sleep(0.02)

    def until_rows(self, count: int, table: str = "public.t") -> None:
        """Wait until so many rows of a table were read."""
        self.until(lambda: sum(batch.rows_read for name, batch in self.merged if name == table) >= count)

    def end(self) -> None:
        """Let it end after the batches at hand, and wait for that."""
        self.watch.stop()
        self.join()

    def join(self) -> None:
        """Wait for its end."""
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()


@contextmanager
def watching(lake: Lake, config: Config, **options: Any) -> Iterator[Watched]:
    """A watch that ends with the block."""
    one = Watched(lake, config, **options)
    try:
        yield one
    finally:
        one.end()


def change(lake: Lake, table: str, minute: int, id_: int, v: str) -> None:
    """Write a file with one update, committed in a minute after 10:00."""
    lake.changes(table, f"2026/03/01/10/20260301-10{minute:02d}30000.parquet", ID_V, [("U", f"2026030110{minute:02d}00", minute, id_, v)])
