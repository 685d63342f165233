"""What a command does at the moment, on standard error: a line that is redrawn on a terminal, single lines of the log elsewhere.

And the answer to Ctrl-C.
"""

import logging
import os
import signal
import sys
import threading
from types import FrameType
from typing import TYPE_CHECKING, Any, Final, Self

import structlog
import typer
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Column

from dms_iceberg.cli.amounts import counted
from dms_iceberg.logs import configure_logs

if TYPE_CHECKING:
    # Its module imports Spark, which takes longer to import than most commands' checks take.
    from dms_iceberg.runs.report import BatchReport
    from dms_iceberg.verify.reading_progress import Read

INTERRUPTED: Final = 128 + signal.SIGINT
"""Exit code after Ctrl-C."""
_LOG = structlog.get_logger("dms_iceberg")


class Words:
    """Says what a command does, from its first moment on; also what runs of several tables at once.

    A terminal shows the present step with its time, and below it the tables at work. Without one, and with ``quiet``, each step is one
    line of the log (event ``step``), and the tables are in the log by their own events.

    The first Ctrl-C is answered at once, and ends the command with exit code 130 as soon as no thread is at work. The second ends the
    process.

    Args:
        quiet: the command prints a document (``--json``), so that a terminal shows the log instead.
    """

    def __init__(self, *, quiet: bool = False) -> None:
        self._drawn = sys.stderr.isatty() and not quiet
        configure_logs(terminal=self._drawn)
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False, table_column=Column(overflow="fold")),
            TextColumn("{task.fields[done]}", markup=False, table_column=Column(overflow="ellipsis", no_wrap=True)),
            TimeElapsedColumn(),
            console=Console(stderr=True, highlight=False),
            transient=True,
            # It would send standard output to standard error.
            redirect_stdout=False,
            disable=not self._drawn,
        )
        self._said = "starting"
        self._former: Any = None
        self._interrupted = False
        self._step: TaskID | None = None
        self._lines: dict[str, TaskID] = {}
        self._files: dict[str, int] = {}
        self._rows: dict[str, int] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._former = signal.signal(signal.SIGINT, self._hear)
        self._progress.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._progress.stop()
        if self._former is not None:
            signal.signal(signal.SIGINT, self._former)
        if self._interrupted:
            logging.disable(logging.NOTSET)
        if kind is KeyboardInterrupt:
            self.tell(f"stopped while {self._said}; nothing is left half done, and the command can be started again")
            raise typer.Exit(INTERRUPTED) from None

    def _hear(self, number: int, _: FrameType | None) -> None:
        if self._interrupted:
            # Threads that wait for Spark would hold up any other end. Spark's own process ends with this one.
            os._exit(128 + number)
        self._interrupted = True
        self.tell("stopping; Ctrl-C again stops now")
        # Py4J logs a traceback of the call that is cut off.
        logging.disable()
        raise KeyboardInterrupt

    def say(self, text: str) -> None:
        """Show that a step begins; the one before it has ended."""
        if not self._drawn:
            log(text)
        self.show(text)

    def show(self, text: str) -> None:
        """Show that a step begins, on a terminal only: one that a log need not have."""
        self._said = text
        if not self._drawn:
            return
        if self._step is not None:
            self._progress.remove_task(self._step)
        self._step = self._progress.add_task(text, total=None, done="")

    def now(self, text: str) -> None:
        """Show how far the step has come. Nothing is logged: there may be many of these a second."""
        if self._step is not None:
            self._progress.update(self._step, done=text)

    def warn(self, text: str) -> None:
        """Show a warning that stays; in the log it has the level of one."""
        if self._drawn:
            self.tell(f"warning: {text}")
        else:
            _LOG.warning("warning", warning=text)

    def tell(self, text: str) -> None:
        """Show a line that stays. A handler of signals may call it."""
        try:
            if self._drawn:
                self._progress.console.print(text, markup=False, soft_wrap=True)
            else:
                log(text)
            sys.stderr.flush()
        except RuntimeError:
            # The signal has come in the middle of another write, which a buffered stream refuses.
            os.write(2, f"{text}\n".encode())

    def print(self, text: str) -> None:
        """Print a result on standard output, while a step is shown."""
        self._progress.stop()
        typer.echo(text)
        self._progress.start()

    def doing(self, table: str, what: str) -> None:
        """Show what is done to a table (a `runs.observer.RunObserver`)."""
        self._line(table, f"{self._so_far(table)}{what}")

    def merged(self, table: str, batch: "BatchReport") -> None:
        """Show a committed batch (a `runs.run.Listener`)."""
        self._files[table] = self._files.get(table, 0) + batch.files
        self._rows[table] = self._rows.get(table, 0) + batch.rows_read
        rest = f"{counted(batch.remaining, 'file')} to come" if batch.remaining else ""
        self._line(table, f"{self._so_far(table)}{rest}")

    def done(self, table: str) -> None:
        """Take the line of a table away: nothing more is done to it."""
        if (task := self._lines.pop(table, None)) is not None:
            self._progress.remove_task(task)

    def read(self, read: "Read") -> None:
        """Show how much of the source was read (a `verify.reading_progress.Listener`)."""
        for earlier in [name for name in self._lines if name != read.table]:
            self.done(earlier)
        place, rows = f"{read.number} of {read.tables}", f"{read.rows:,} rows of the source read, silver has {read.expected:,}"
        self._line(read.table, f"({place}) {rows}")

    def _so_far(self, table: str) -> str:
        return f"{counted(self._files[table], 'file')}, {counted(self._rows[table], 'row')}; " if table in self._files else ""

    def _line(self, table: str, text: str) -> None:
        if not self._drawn:
            return
        if table not in self._lines:
            self._lines[table] = self._progress.add_task(table, total=None, done=text)
        else:
            self._progress.update(self._lines[table], done=text)


def log(text: str) -> None:
    """Write a step as a line of the log."""
    _LOG.info("step", step=text)
