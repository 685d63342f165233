"""What a task remembers between runs: one small JSON file in a local folder, which is replaced as a whole."""

import contextlib
import json
import os
from enum import StrEnum
from pathlib import Path
from typing import Any, Final, NamedTuple

import attrs
import cattrs

from dms_emulator.errors import EmulatorError
from dms_emulator.sequence import FIRST_COUNTER, STEP_TO_NEW_TRANSACTION

_FILE: Final = "task.json"
_HELD: Final = "held"
_VERSION: Final = 1


class Phase(StrEnum):
    """The phase of a task. A full load that did not end must start again."""

    LOADING = "loading"
    CAPTURING = "capturing"


class Position(NamedTuple):
    """A change's place in the source's log: its transaction's position, and its number in the transaction, from 1."""

    lsn: int = 0
    ordinal: int = 0


START: Final = Position()


@attrs.frozen
class Point:
    """A place between transactions from which the stream can be read again.

    It has the state of the sequence: the same changes get the same sequences when they are read again.
    """

    lsn: int = 0
    counter: int = FIRST_COUNTER - STEP_TO_NEW_TRANSACTION
    held: str = ""


@attrs.frozen
class Pending:
    """A file about to be written. If it exists after a crash, everything up to ``position`` is delivered."""

    key: str
    position: Position


@attrs.define
class HeldFile:
    """A file that is held back: it is kept in the state folder and written after ``wait`` newer files of its table."""

    key: str
    name: str
    wait: int


@attrs.define
class TableState:
    """One table.

    Attributes:
        delivered: the last change that is in a file.
        last_ms: close time of the last file, milliseconds since 1970 UTC: names must rise.
        files: number of files closed.
        pending: the file being written, if any.
        held: files that are held back, oldest first.
    """

    delivered: Position = START
    last_ms: int = 0
    files: int = 0
    pending: Pending | None = None
    held: list[HeldFile] = attrs.field(factory=list)


@attrs.define
class TaskState:
    """The task.

    Attributes:
        tables: the captured tables by ``schema.table``.
        phase: full load or capture.
        point: where a resumed run begins to read.
        started_us: start of the task, microseconds since 1970 UTC: the time of every LOAD row.
        load_keys: LOAD files of a load that has not ended.
        runs: number of captures that have begun.
    """

    tables: dict[str, TableState]
    phase: Phase = Phase.LOADING
    point: Point = Point()
    started_us: int = 0
    load_keys: list[str] = attrs.field(factory=list)
    runs: int = 0


class StateFolder:
    """The folder on disk. Every write is complete and synced before it returns."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._path = folder / _FILE
        self._converter = cattrs.Converter(forbid_extra_keys=True)

    def load(self) -> TaskState | None:
        """Return the state, None if the task never began.

        Raises:
            EmulatorError: the file is not a state file of this package.
        """
        try:
            document: dict[str, Any] = json.loads(self._path.read_text())
            if document.pop("version") != _VERSION:
                raise ValueError("another version of the state")
            return self._converter.structure(document, TaskState)
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, AttributeError, cattrs.BaseValidationError) as error:
            raise EmulatorError(
                f"{self._path}: not a state of this emulator ({type(error).__name__});"
                " remove the folder and start the task again with a full load"
            ) from error

    def save(self, state: TaskState) -> None:
        """Replace the state."""
        document = {"version": _VERSION, **self._converter.unstructure(state)}
        self._write(self._path, json.dumps(document).encode())

    def hold(self, name: str, data: bytes) -> None:
        """Keep a file's content."""
        self._write(self.folder / _HELD / name, data)

    def held(self, name: str) -> bytes | None:
        """Return the content kept under ``name``, None if it was released."""
        with contextlib.suppress(FileNotFoundError):
            return (self.folder / _HELD / name).read_bytes()
        return None

    def release(self, name: str) -> None:
        """Delete a file's kept content."""
        (self.folder / _HELD / name).unlink(missing_ok=True)

    def _write(self, path: Path, data: bytes) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name}.tmp")
        with temporary.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
