"""Full load: every table as it was when the task began, in numbered LOAD files."""

from collections.abc import Iterator

import structlog

from dms_emulator.files import encode, load_key
from dms_emulator.layout import Change
from dms_emulator.settings import EmulatorSettings
from dms_emulator.source import Rows, Source, SourceTable
from dms_emulator.state import StateFolder, TaskState
from dms_iceberg.storage.store import ObjectStore

_log = structlog.get_logger(__name__)


class FullLoad:
    """One full load of all tables of a task.

    Args:
        source: the database.
        store: where files go.
        folder: the task's state on disk.
        state: the task's state.
        settings: file shape and rows per file.
    """

    def __init__(
        self,
        source: Source,
        store: ObjectStore,
        folder: StateFolder,
        state: TaskState,
        settings: EmulatorSettings,
    ) -> None:
        self._source = source
        self._store = store
        self._folder = folder
        self._state = state
        self._settings = settings
        self._written: set[str] = set()

    def run(self, read: Rows) -> dict[str, int]:
        """Load all tables; return the number of rows by ``schema.table``."""
        left_over = set(self._state.load_keys)
        rows = {}
        for name in list(self._state.tables):
            rows[name] = self._load(read, self._source.table(name))
        # Files of an interrupted load that were not just written again: nothing else would ever replace them.
        for key in left_over - self._written:
            self._store.delete(key)
        self._state.load_keys = []
        return rows

    def _load(self, read: Rows, table: SourceTable) -> int:
        total = 0
        layout = table.layout
        for number, rows in enumerate(self._chunks(read, table), start=1):
            key = load_key(layout.schema, layout.name, number, self._settings.files.extension)
            data = encode(layout, rows, self._settings.files, load=True)
            self._written.add(key)
            # Recorded before the file exists, beside those of an interrupted load.
            self._state.load_keys = sorted({*self._state.load_keys, key})
            self._folder.save(self._state)
            self._store.put(key, data)
            total += len(rows)
        _log.info("table loaded", table=table.name, rows=total)
        return total

    def _chunks(self, read: Rows, table: SourceTable) -> Iterator[list[Change]]:
        started, size = self._state.started_us, self._settings.rows_per_load_file
        changes: list[Change] = []
        for texts in read(table):
            changes.append(Change("I", started, table.values(texts)))
            if len(changes) == size:
                yield changes
                changes = []
        # An empty table has no file and no folder, unless the settings ask for one.
        if changes or self._settings.ugly.empty_files:
            yield changes
