"""Ctrl-C while tables are merged: an answer at once, an end after the batches at hand, and what was committed."""

import os
import signal
import threading
from collections.abc import Callable, Mapping
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, NoReturn, Self

from dms_iceberg.cli.amounts import counted
from dms_iceberg.cli.words import Words
from dms_iceberg.runs.observer import RunObserver

if TYPE_CHECKING:
    from dms_iceberg.runs.report import BatchReport

STOPPING: Final = "stopping after the batch at hand; Ctrl-C again stops now"
_PATIENCE: Final = 1.0


class Committed:
    """Sums of the batches that were committed, by table. The methods may be called from any thread."""

    def __init__(self) -> None:
        self._batches: dict[str, tuple[int, int, int]] = {}

    def merged(self, table: str, batch: "BatchReport") -> None:
        """Add a committed batch (a `runs.run.Listener`)."""
        batches, files, rows = self._batches.get(table, (0, 0, 0))
        self._batches[table] = (batches + 1, files + batch.files, rows + batch.rows_read)

    @property
    def totals(self) -> tuple[int, int, int]:
        """The number of tables with a committed batch, and of files and rows of all batches."""
        sums = self._batches.values()
        return len(sums), sum(files for _, files, _ in sums), sum(rows for *_, rows in sums)

    @property
    def text(self) -> str:
        """What was committed, in words."""
        return committed_words(dict(self._batches))


def committed_words(sums: Mapping[str, tuple[int, int, int]]) -> str:
    """Return in words how many batches, files and rows of each table were committed."""
    if not sums:
        return "nothing was committed"
    parts = (
        f"{table}: {counted(batches, 'batch', 'batches')} of {counted(files, 'file')} and {counted(rows, 'row')}"
        for table, (batches, files, rows) in sums.items()
    )
    return f"committed: {'; '.join(parts)}"


def end_now(number: int, words: Words, committed: Committed, silence: Callable[[], None]) -> NoReturn:
    """End the process at the second signal, and say what was committed.

    Args:
        number: the signal.
        words: says it.
        committed: the batches that were committed.
        silence: keeps Spark from logging that its jobs are cut off.
    """
    words.tell(f"stopped; {committed.text}. What was at hand was not committed: the next run merges it.")
    silencing = threading.Thread(target=silence, daemon=True)
    silencing.start()
    silencing.join(_PATIENCE)
    # Threads of the tables, which wait for Spark, would hold up any other end. Spark's own process ends with this one.
    os._exit(128 + number)


class Stopping(RunObserver):
    """Passes what a run does on to ``words``, and asks it to end at the first Ctrl-C. The second ends the process.

    A batch that is cut off is no loss: the next run merges its files. Enter it once Spark runs, which may take the signal for itself when
    it starts. Not in the main thread, where Python hears no signals, it changes nothing.

    Args:
        words: shows what happens.
        silence: keeps Spark from logging that its jobs are cut off.
    """

    def __init__(self, words: Words, silence: Callable[[], None] = lambda: None) -> None:
        self._words, self._silence, self._committed = words, silence, Committed()
        self._former: Any = None
        self._heard = False

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._former = signal.signal(signal.SIGINT, self._hear)
        return self

    def __exit__(self, *_: object) -> None:
        if self._former is not None:
            signal.signal(signal.SIGINT, self._former)

    @property
    def is_stopping(self) -> bool:
        """Whether Ctrl-C was heard."""
        return self._heard

    def merged(self, table: str, batch: "BatchReport") -> None:
        """Hear of a committed batch (a `runs.run.Listener`)."""
        self._committed.merged(table, batch)
        self._words.merged(table, batch)

    def doing(self, table: str, what: str) -> None:
        """Show what is about to be done to a table."""
        self._words.doing(table, what)

    def done(self, table: str) -> None:
        """Take the table's line away."""
        self._words.done(table)

    def _hear(self, number: int, _: FrameType | None) -> None:
        if not self._heard:
            self._heard = True
            self._words.tell(STOPPING)
            return
        end_now(number, self._words, self._committed, self._silence)
