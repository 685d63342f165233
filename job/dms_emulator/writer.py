"""Open files of every table: when they close, what they are called, and how none is lost or written twice."""

import time
from collections.abc import Iterable

import attrs
import structlog

from dms_emulator.files import cdc_key, encode
from dms_emulator.layout import Change
from dms_emulator.settings import EmulatorSettings
from dms_emulator.source import SourceTable
from dms_emulator.state import START, HeldFile, Pending, Point, Position, StateFolder, TableState, TaskState
from dms_iceberg.storage.store import ObjectStore

_log = structlog.get_logger(__name__)


@attrs.define
class OpenFile:
    """Rows of a table that are not in a file yet.

    Attributes:
        table: the structure they have; another one makes another file.
        point: the last place between transactions before the first of them.
        deadline: when the file closes, by the monotonic clock.
        last: position of the last row.
        size: bytes of the rows as they came.
    """

    table: SourceTable
    point: Point
    deadline: float
    last: Position = START
    size: int = 0
    changes: list[Change] = attrs.field(factory=list)


@attrs.frozen
class _Closed:
    key: str
    data: bytes
    state: TableState
    last: Position


class FileWriter:
    """Collects changes and puts files.

    A file is announced in the state before it is put. After a crash its presence tells whether its changes are
    delivered, so no change is lost and none comes twice.

    Args:
        store: where files go.
        folder: the task's state on disk.
        state: the task's state.
        settings: limits and shape.
    """

    def __init__(self, store: ObjectStore, folder: StateFolder, state: TaskState, settings: EmulatorSettings) -> None:
        self._store = store
        self._folder = folder
        self._state = state
        self._settings = settings
        self._open: dict[str, OpenFile] = {}
        self.files = 0

    def recover(self) -> None:
        """Settle the files that were being put when the task ended last."""
        for table in self._state.tables.values():
            pending, table.pending = table.pending, None
            if pending is not None and any(item.key == pending.key for item in self._store.list(pending.key)):
                table.delivered = pending.position
        self._folder.save(self._state)

    def delivered(self, table: SourceTable) -> Position:
        """The last change of a table that needs no file any more."""
        return self._table_state(table.name).delivered

    def add(self, table: SourceTable, change: Change, position: Position, size: int, point: Point) -> None:
        """Take a change; closes the table's file when its structure changed or it is large enough."""
        name = table.name
        file = self._open.get(name)
        if file is not None and file.table is not table:
            self.close((name,))
            file = None
        if file is None:
            file = OpenFile(table, point, time.monotonic() + self._settings.interval)
            self._open[name] = file
        file.changes.append(change)
        file.last = position
        file.size += size
        if file.size >= self._settings.max_kb * 1024:
            self.close((name,))

    def oldest_point(self) -> Point | None:
        """Where to read again so that every open row comes again; None when no file is open."""
        return min((file.point for file in self._open.values()), key=lambda point: point.lsn, default=None)

    def next_deadline(self) -> float | None:
        """When the next file is to close, by the monotonic clock."""
        return min((file.deadline for file in self._open.values()), default=None)

    def close_due(self) -> None:
        """Close the files whose time has come: each table has its own."""
        now = time.monotonic()
        due = [name for name, file in self._open.items() if file.deadline <= now]
        if due:
            self.close(due)

    def close_all(self) -> None:
        """Close every file, and deliver those held back."""
        self.close(list(self._open))
        for table in self._state.tables.values():
            self._deliver(table, all_of_them=True)

    def close(self, names: Iterable[str]) -> None:
        """Close the files of some tables."""
        closed = [self._encode(self._open.pop(name)) for name in names]
        announced = [file for file in closed if not self._hold_back(file)]
        if not closed:
            return
        self._folder.save(self._state)
        for file in announced:
            self._store.put(file.key, file.data)
            file.state.delivered = file.last
            file.state.pending = None
            self._deliver(file.state)
        self.files += len(closed)

    def put_empty(self, table: SourceTable) -> None:
        """Put a change file without rows: a header, or nothing at all."""
        key = self._next_key(table)
        self._store.put(key, encode(table.layout, (), self._settings.files))

    def _encode(self, file: OpenFile) -> _Closed:
        key = self._next_key(file.table)
        data = encode(file.table.layout, file.changes, self._settings.files)
        _log.debug("file closed", key=key, rows=len(file.changes), bytes=len(data))
        return _Closed(key, data, self._table_state(file.table.name), file.last)

    def _next_key(self, table: SourceTable) -> str:
        state = self._table_state(table.name)
        # Names are unique and rise, also when the clock does not.
        state.last_ms = max(time.time_ns() // 1_000_000, state.last_ms + 1)
        schema, name = table.layout.schema, table.layout.name
        extension = self._settings.files.extension
        return cdc_key(schema, name, state.last_ms, extension, self._settings.partition)

    def _hold_back(self, file: _Closed) -> bool:
        """Keep every n-th file of a table in the state folder; announce the others."""
        ugly = self._settings.ugly
        file.state.files += 1
        if ugly.late_every <= 0 or file.state.files % ugly.late_every != 0:
            file.state.pending = Pending(file.key, file.last)
            return False
        name = file.key.replace("/", "%")
        self._folder.hold(name, file.data)
        file.state.held.append(HeldFile(file.key, name, ugly.late_by))
        file.state.delivered = file.last
        return True

    def _deliver(self, table: TableState, *, all_of_them: bool = False) -> None:
        for held in list(table.held):
            held.wait -= 1
            if held.wait <= 0 or all_of_them:
                data = self._folder.held(held.name)
                # No content: it was put before a crash, and the state did not get to know.
                if data is not None:
                    self._store.put(held.key, data)
                    self._folder.release(held.name)
                table.held.remove(held)

    def _table_state(self, name: str) -> TableState:
        return self._state.tables.setdefault(name, TableState())
