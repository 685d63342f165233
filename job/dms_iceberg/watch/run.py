"""Tables take turns in one session: the one that has waited longest is next, and no backlog delays the others for more than a batch."""

import asyncio
import contextlib
import gc
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Protocol

import structlog
from pyspark.sql import SparkSession

from dms_iceberg.changes.partial_updates import tables_with_kept_positions
from dms_iceberg.config.model import Config
from dms_iceberg.context import RunContext
from dms_iceberg.errors import DmsIcebergError
from dms_iceberg.runs.run import Listener
from dms_iceberg.spark.arrow_allocators import forget_readers
from dms_iceberg.spark.failures import describe_defect
from dms_iceberg.storage.open_store import open_store
from dms_iceberg.watch.models import WatchedModels
from dms_iceberg.watch.table import LONGEST_BACK_OFF_SECONDS, WatchedTable

_LOG = structlog.get_logger("dms_iceberg")
IDLE_SECONDS_WITH_QUEUE = 300.0
"""With a queue, a table is also looked at this often without a message."""

MAINTENANCE_SECONDS = 1.0
"""How often a table is looked for that is due for maintenance."""
LONGEST_PAUSE_SECONDS = 30.0
"""The longest time without maintenance after that of a table, while others are due."""
TIDY_SECONDS = 60.0
"""How often memory of ended readers is released (`forget_readers`)."""


class SessionLostError(DmsIcebergError):
    """Spark's own process has ended: only a new process can continue."""


class Wakers(Protocol):
    """A source of notifications of new files."""

    def receive(self) -> set[str] | None:
        """Wait some seconds and return the tables that have new files, None if it may be any table."""
        ...


class Watch:
    """A watch over the (chosen) tables of a configuration.

    Args:
        interval: seconds between two looks at a table that has nothing new.
        queue: source of notifications, so that idle tables need no listing; None to list them.
        listener: called after every committed batch, from the table's thread.

    Attributes:
        run_id: id of this watch in its log lines and snapshots.

    Raises:
        ConfigError: ``only`` names a table that is not configured.
    """

    def __init__(
        self,
        spark: SparkSession,
        config: Config,
        only: Iterable[str] = (),
        *,
        interval: float = 1.0,
        queue: Wakers | None = None,
        listener: Listener | None = None,
    ) -> None:
        self._spark, self._queue = spark, queue
        tables = tables_with_kept_positions(config, only)
        self.run_id = uuid.uuid4().hex[:12]
        context = RunContext(spark, config, open_store(config.bronze.uri), self.run_id)
        state = open_store(config.state_uri)
        pause = interval if queue is None else max(interval, IDLE_SECONDS_WITH_QUEUE)
        self.tables = {table.source: WatchedTable(context, table, state, pause, listener) for table in tables}
        self._models = WatchedModels(context) if config.gold else None
        self._workers = max(1, min(config.parallelism, len(tables)))
        self._free_workers = asyncio.Semaphore(self._workers)
        self._stopping = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lost: str | None = None

    async def run(self) -> list[str]:
        """Merge until `stop`; return the tables and models whose last turn failed. Running batches are finished first.

        Raises:
            SessionLostError: Spark's process has ended.
        """
        self._loop = asyncio.get_running_loop()
        wakes = {name: asyncio.Event() for name in self.tables}
        locks = {name: asyncio.Lock() for name in self.tables}
        with _collecting_soon(), ThreadPoolExecutor(self._workers, "table") as pool, ThreadPoolExecutor(4, "beside") as beside:
            async with asyncio.TaskGroup() as group:
                for name, table in self.tables.items():
                    group.create_task(self._run_table(table, wakes[name], locks[name], pool))
                group.create_task(self._maintain(locks, beside))
                group.create_task(self._wake_all_at_stop(wakes))
                group.create_task(self._tidy(beside))
                if self._queue is not None:
                    group.create_task(self._listen(self._queue, wakes, beside))
                if self._models is not None:
                    group.create_task(self._refresh(self._models, beside))
            if self._lost is None:
                await asyncio.gather(*(self._loop.run_in_executor(pool, table.end) for table in self.tables.values()))
        if self._lost is not None:
            raise SessionLostError(self._lost)
        models = self._models.errors if self._models is not None else {}
        return [*(name for name, table in self.tables.items() if table.error), *models]

    def stop(self) -> None:
        """Make `run` end after the running batches. May be called from any thread, and from a signal handler of the event loop."""
        if self._loop is None:
            self._stopping.set()
            return
        # If the loop is closed, the watch has already ended.
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._stopping.set)

    def open_rows(self) -> dict[str, int | None]:
        """Return how many rows of each table are open in quarantine, once the watch has ended; None as `count_open`."""
        with ThreadPoolExecutor(self._workers) as pool:
            return dict(zip(self.tables, pool.map(WatchedTable.open_rows, self.tables.values()), strict=True))

    async def _run_table(self, table: WatchedTable, wake: asyncio.Event, lock: asyncio.Lock, pool: ThreadPoolExecutor) -> None:
        woken = True
        while not self._stopping.is_set():
            async with lock, self._free_workers:
                # A notification that came while this table waited for a worker is served by this turn.
                woken = woken or wake.is_set()
                wake.clear()
                rest = await asyncio.get_running_loop().run_in_executor(pool, self._turn, table, woken)
            woken = False
            if table.error and not await asyncio.get_running_loop().run_in_executor(pool, self._is_alive):
                self._lost = f"Spark's process is gone: {table.error} Everything committed is consistent; start again."
                self._stopping.set()
                return
            # A notification does not shorten the pause of a table that failed.
            await _wait(self._stopping if table.error else wake, rest)

    def _turn(self, table: WatchedTable, woken: bool) -> float:
        # Turns queue up for a worker. When the watch ends, those that still wait do not begin.
        if self._stopping.is_set():
            return 0.0
        try:
            return table.turn(woken=woken and self._queue is not None)
        except Exception as error:
            # Whatever the error is, it must not end the watch of the other tables.
            _LOG.error("turn_failed", table=table.name, error=describe_defect(error))
            return LONGEST_BACK_OFF_SECONDS

    async def _maintain(self, locks: Mapping[str, asyncio.Lock], pool: ThreadPoolExecutor) -> None:
        """Maintain one table at a time, that which is due longest, and as long again none.

        Tables that began together are due together. If all were maintained in the same minute, none would be merged in it.
        """
        while not self._stopping.is_set():
            began = time.monotonic()
            due = [(at, name) for name, table in self.tables.items() if (at := table.maintenance_due) is not None and at <= began]
            if due:
                _, name = min(due)
                async with locks[name]:
                    await asyncio.get_running_loop().run_in_executor(pool, self._maintain_table, self.tables[name])
            took = time.monotonic() - began
            await _wait(self._stopping, min(took, LONGEST_PAUSE_SECONDS) if due else MAINTENANCE_SECONDS)

    def _maintain_table(self, table: WatchedTable) -> None:
        if self._stopping.is_set():
            return
        try:
            table.maintain()
        except Exception as error:
            _LOG.error("maintenance_failed", table=table.name, error=describe_defect(error))

    async def _refresh(self, models: WatchedModels, pool: ThreadPoolExecutor) -> None:
        while not self._stopping.is_set():
            rest = await asyncio.get_running_loop().run_in_executor(pool, models.turn)
            await _wait(self._stopping, rest)

    async def _wake_all_at_stop(self, wakes: dict[str, asyncio.Event]) -> None:
        await self._stopping.wait()
        for wake in wakes.values():
            wake.set()

    async def _tidy(self, pool: ThreadPoolExecutor) -> None:
        while not self._stopping.is_set():
            await _wait(self._stopping, TIDY_SECONDS)
            await asyncio.get_running_loop().run_in_executor(pool, forget_readers, self._spark)

    async def _listen(self, queue: Wakers, wakes: dict[str, asyncio.Event], pool: ThreadPoolExecutor) -> None:
        while not self._stopping.is_set():
            named = await asyncio.get_running_loop().run_in_executor(pool, queue.receive)
            for name in wakes if named is None else named & wakes.keys():
                wakes[name].set()

    def _is_alive(self) -> bool:
        try:
            return not self._spark._jsc.sc().isStopped()
        except Exception:
            return False


@contextlib.contextmanager
def _collecting_soon() -> Iterator[None]:
    """Make Python's collector look often at objects created from now on, instead of at all objects once in a hundred batches.

    Each of Py4J's Java objects is part of a reference cycle that only a full collection finds, and some of them hold all snapshots of a
    table. A full collection is due only when the new objects are a quarter of those that it would look at.
    """
    gc.collect()
    gc.freeze()
    gc.collect()
    try:
        yield
    finally:
        gc.unfreeze()


async def _wait(event: asyncio.Event, seconds: float) -> None:
    if seconds > 0:
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(event.wait(), seconds)
