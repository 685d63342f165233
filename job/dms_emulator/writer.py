"""Open files of every table: when they close, how they are named, and how none is lost or written twice."""

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
        table: the structure of the rows; another structure begins a new file.
        point: the last place between transactions before the first row.
        deadline: when the file closes, by the monotonic clock.
        last: position of the last row.
        size: bytes of the rows as received.
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
    """Collects changes and writes files.

    A file is recorded in the state before it is written. After a crash its existence shows whether its changes are
    delivered, so no change is lost and none is written twice.

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
        """Resolve the files that were being written when the task last ended."""
        for table in self._state.tables.values():
            pending, table.pending = table.pending, None
            if pending is not None and any(item.key == pending.key for item in self._store.list(pending.key)):
                table.delivered = pending.position
        self._folder.save(self._state)

    def delivered(self, table: SourceTable) -> Position:
        """Return the last change of a table that needs no file any more."""
        return self._table_state(table.name).delivered

    def add(self, table: SourceTable, change: Change, position: Position, size: int, point: Point) -> None:
        """Add a change; close the table's file if its structure changed or it is large enough."""
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
        """Return where to read again so that every open row is read again; None if no file is open."""
        return min((file.point for file in self._open.values()), key=lambda point: point.lsn, default=None)

    def next_deadline(self) -> float | None:
        """Return when the next file must close, by the monotonic clock."""
        return min((file.deadline for file in self._open.values()), default=None)

    def close_due(self) -> None:
        """Close the files whose deadline has passed; each table has its own."""
        now = time.monotonic()
        due = [name for name, file in self._open.items() if file.deadline <= now]
        if due:
            self.close(due)

    def close_all(self) -> None:
        """Close every file, and write those that are held back."""
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
        """Write a change file without rows: a header, or zero bytes."""
        key = self._next_key(table)
        self._store.put(key, encode(table.layout, (), self._settings.files))

    def _encode(self, file: OpenFile) -> _Closed:
        key = self._next_key(file.table)
        data = encode(file.table.layout, file.changes, self._settings.files)
        _log.debug("file closed", key=key, rows=len(file.changes), bytes=len(data))
        return _Closed(key, data, self._table_state(file.table.name), file.last)

    def _next_key(self, table: SourceTable) -> str:
        state = self._table_state(table.name)
        # Names are unique and rise, even if the clock does not.
        state.last_ms = max(time.time_ns() // 1_000_000, state.last_ms + 1)
        schema, name = table.layout.schema, table.layout.name
        extension = self._settings.files.extension
        return cdc_key(schema, name, state.last_ms, extension, self._settings.partition)

    def _hold_back(self, file: _Closed) -> bool:
        """Keep every n-th file of a table in the state folder; record the others in the state."""
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
                # Without content, the file was written before a crash that came before the state was saved.
                if data is not None:
                    self._store.put(held.key, data)
                    self._folder.release(held.name)
                table.held.remove(held)

    def _table_state(self, name: str) -> TableState:
        return self._state.tables.setdefault(name, TableState())
