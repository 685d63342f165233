"""The part that AWS would run: the database, its users, and the replication task that writes change files."""

import contextlib
import tempfile
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from dms_demo.database import Database
from dms_demo.sample import sample_shop
from dms_demo.shop import STORY_ORDER, table_names
from dms_demo.writers import Writers
from dms_emulator import CaptureReport, Emulator, EmulatorSettings
from dms_iceberg.storage.store import LocalStore

FLUSH_SECONDS: Final = 1.0
"""The emulated task's ``CdcMaxBatchInterval``; DMS's own default is 60."""


class SourceSide:
    """Database, emulator and writers; all end with the context.

    Args:
        database: the server, not yet started.
        bronze: folder for the change files.
        seconds: how long the writers write.
    """

    def __init__(self, database: Database, bronze: Path, seconds: float) -> None:
        self.database = database
        self._bronze = bronze
        self._seconds = seconds
        self._stack = contextlib.ExitStack()
        self._stop = threading.Event()
        self._capture: Future[CaptureReport] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stack.close()

    def start(self) -> dict[str, int]:
        """Start the server, fill the shop, write the full load; return the number of rows by table."""
        with contextlib.ExitStack() as stack:
            stack.enter_context(self.database)
            self._open_shop()
            state = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="dms-iceberg-task-")))
            settings = EmulatorSettings(state_dir=state, interval=FLUSH_SECONDS)
            self._bronze.mkdir(parents=True)
            store = LocalStore(self._bronze.absolute())
            self._emulator = stack.enter_context(Emulator(self.database.dsn, table_names(self.database), store, settings))
            rows = self._emulator.full_load()
            self.writers = Writers(self.database, self._seconds)
            self._stack = stack.pop_all()
        return rows

    def capture(self) -> None:
        """Begin to write change files in the background."""
        pool = self._stack.enter_context(ThreadPoolExecutor(1, "capture"))
        self._stack.callback(self._stop.set)
        self._capture = pool.submit(self._emulator.capture, self._stop)

    def write(self) -> None:
        """Start the writers; whatever happens, they end before the server does."""
        self._stack.callback(self.writers.end)
        self.writers.start()

    def check(self) -> None:
        """Raise the error that ended the capture or a writer too early, if any."""
        if self.writers.failure is not None:
            raise self.writers.failure
        if self._capture is not None and self._capture.done():
            self._capture.result()
            raise RuntimeError("the capture ended although nobody asked it to")

    def drain(self) -> None:
        """Write everything committed so far to files: stop the capture, and resume it up to the log's end."""
        self._stop.set()
        if self._capture is not None:
            self._capture.result()
        self._emulator.capture(until_lsn=self.database.log_end())

    def _open_shop(self) -> None:
        self.database.create(sample_shop())
        with self.database.session() as session:
            session.execute("UPDATE orders SET status = 'new' WHERE order_id = %s", (STORY_ORDER,))
            session.commit()
