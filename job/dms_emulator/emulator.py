"""The task: full load, then capture; each can be interrupted at any moment and started again."""

import contextlib
import functools
import threading
import time
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Concatenate, ParamSpec, Self, TypeVar

import attrs

from dms_emulator.capture import Capture
from dms_emulator.control import put_control_files
from dms_emulator.errors import EmulatorError
from dms_emulator.full_load import FullLoad
from dms_emulator.open_source import open_source
from dms_emulator.settings import EmulatorSettings
from dms_emulator.source import Beginning, Source
from dms_emulator.state import Phase, Point, StateFolder, TableState, TaskState
from dms_emulator.writer import FileWriter
from dms_iceberg.storage.store import ObjectStore

_Arguments = ParamSpec("_Arguments")
_Result = TypeVar("_Result")


def _source_errors(
    method: "Callable[Concatenate[Emulator, _Arguments], _Result]",
) -> "Callable[Concatenate[Emulator, _Arguments], _Result]":
    """Let errors of the server leave a method as `EmulatorError`."""

    @functools.wraps(method)
    def wrapped(emulator: "Emulator", /, *args: _Arguments.args, **kwargs: _Arguments.kwargs) -> _Result:
        with emulator._source.errors():
            return method(emulator, *args, **kwargs)

    return wrapped


@attrs.frozen
class CaptureReport:
    """What one capture did. ``lsn`` is the log position where the next capture begins to read, as the source shows it."""

    changes: int
    files: int
    lsn: str


class Emulator:
    """A DMS task with a PostgreSQL, MySQL or MariaDB as source and an S3 or directory target.

        with Emulator(dsn, ["public.orders"], open_store(uri), settings) as emulator:
            if emulator.needs_full_load:
                emulator.full_load()
            emulator.capture(stop)

    Args:
        dsn: the source: ``mysql://user@host/``, or what libpq understands.
        tables: ``schema.table`` names. Each needs a primary key.
        sink: where files go; keys are relative to it.
        settings: endpoint and task settings.

    Raises:
        EmulatorError: the source cannot be reached.
    """

    def __init__(self, dsn: str, tables: Sequence[str], sink: ObjectStore, settings: EmulatorSettings) -> None:
        self._tables = tuple(dict.fromkeys(tables))
        self._sink = sink
        self._settings = settings
        self._folder = StateFolder(settings.state_dir)
        self._source: Source = open_source(dsn, settings)
        self._loading: tuple[Beginning, TaskState] | None = None

    @property
    def needs_full_load(self) -> bool:
        """Whether the task never began, or its full load was interrupted."""
        state = self._folder.load()
        return state is None or state.phase is Phase.LOADING

    @_source_errors
    def prepare(self, *, reload: bool = False) -> None:
        """Check the tables, then let the source keep their changes. `full_load` calls it too.

        Args:
            reload: begin again although the task is capturing. Old files stay, as with ``DO_NOTHING``.

        Raises:
            EmulatorError: a table cannot be captured, or what the source keeps and the state do not match.
        """
        self._end_loading()
        old = self._folder.load()
        if old is not None and old.phase is Phase.CAPTURING and not reload:
            raise EmulatorError(
                f"the task in {self._settings.state_dir} is loaded and captures already: resume its capture, or ask for a reload"
            )
        if old is None and not reload:
            self._source.check_free(self._settings.state_dir)
        self._source.check(self._tables)
        state = TaskState({name: TableState() for name in self._tables})
        state.load_keys = old.load_keys if old is not None else []
        for name, table in state.tables.items():
            if old is not None and name in old.tables:
                # Files of the old run stay, so names of the new run must sort after theirs.
                table.last_ms = old.tables[name].last_ms
        state.started_us = time.time_ns() // 1000
        # The state is written first: after a crash it shows that what the source keeps is ours.
        self._folder.save(state)
        beginning = self._source.begin(self._tables)
        state.point = Point(beginning.position)
        self._loading = (beginning, state)

    @_source_errors
    def full_load(self, *, reload: bool = False) -> dict[str, int]:
        """Write the LOAD files of all tables; return the number of rows by table. An interrupted load starts again.

        Raises:
            EmulatorError: as `prepare`.
        """
        if self._loading is None:
            self.prepare(reload=reload)
        assert self._loading is not None  # noqa: S101 - prepare sets it or raises
        beginning, state = self._loading
        with beginning.reading(consistent=not self._settings.ugly.overlap) as read:
            rows = FullLoad(self._source, self._sink, self._folder, state, self._settings).run(read)
        self._begin_capturing(state)
        return rows

    def skip_full_load(self) -> None:
        """Capture from now on without a full load, as a ``cdc`` task does.

        Raises:
            EmulatorError: as `prepare`.
        """
        if self._loading is None:
            self.prepare()
        assert self._loading is not None  # noqa: S101 - prepare sets it or raises
        self._begin_capturing(self._loading[1])

    @_source_errors
    def capture(self, stop: threading.Event | None = None, until_lsn: str | None = None) -> CaptureReport:
        """Write change files until ``stop`` is set, or until everything committed before ``until_lsn`` is written.

        After such an end no file is open and the source knows it. After any other end, for example by SIGKILL, the next call
        continues without a gap and without repeating a change.

        Args:
            stop: checked ten times a second.
            until_lsn: a log position: an LSN as ``pg_current_wal_lsn()`` returns it, or ``file:offset`` of MySQL's binary log.

        Raises:
            EmulatorError: there was no full load, the source has lost changes or given them to someone else, or it
                closed the connection.
        """
        self._end_loading()
        until = self._source.position_number(until_lsn) if until_lsn is not None else None
        state = self._checked_state()
        writer = FileWriter(self._sink, self._folder, state, self._settings)
        writer.recover()
        stream = self._source.stream(self._tables)
        try:
            run = Capture(stream, self._source.profile, writer, self._folder, state, self._settings)
            self._mark(writer, "CHANGE PROCESSING", 0)
            run.run(stop or threading.Event(), until)
            self._mark(writer, "NOT RUNNING", run.changes)
            self._folder.save(state)
        finally:
            stream.close()
        return CaptureReport(run.changes, writer.files, self._source.position_text(state.point.lsn))

    def close(self) -> None:
        """Close the connections. The source goes on keeping changes, so that the task can be resumed."""
        self._end_loading()
        self._source.close()

    @_source_errors
    def drop(self) -> None:
        """Remove what the task has made in the source, for PostgreSQL slot and publication."""
        self._end_loading()
        self._source.drop()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _begin_capturing(self, state: TaskState) -> None:
        state.phase = Phase.CAPTURING
        self._folder.save(state)
        self._end_loading()

    def _end_loading(self) -> None:
        if self._loading is not None:
            self._loading[0].close()
            self._loading = None

    def _checked_state(self) -> TaskState:
        state = self._folder.load()
        if state is None or state.phase is Phase.LOADING:
            raise EmulatorError(f"the task in {self._settings.state_dir} has no finished full load to continue: run the full load")
        added = [name for name in self._tables if name not in state.tables]
        if added:
            raise EmulatorError(
                f"tables {', '.join(added)}: not part of the task in {self._settings.state_dir}, so they were never"
                " loaded. Ask for a reload, or give them a task (slot and state folder) of their own"
            )
        self._source.check_kept(state.point.lsn, self._settings.state_dir)
        return state

    def _mark(self, writer: FileWriter, status: str, changes: int) -> None:
        """Write the traces that some engine versions leave when a task starts and stops."""
        ugly = self._settings.ugly
        if ugly.control_tables:
            put_control_files(self._sink, self._settings.files, self._settings.slot, status, changes)
        if ugly.empty_files:
            for name in self._tables:
                with contextlib.suppress(EmulatorError):  # dropped or renamed in between
                    writer.put_empty(self._source.table(name))
