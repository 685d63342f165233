"""The capture loop: reads the source's changes, hands changes to the writer, and confirms positions once the files exist."""

import threading
import time
from collections import deque
from typing import Final

import attrs
import structlog

from dms_emulator.layout import NOT_SUPPLIED, BeforeImages, Change, Value
from dms_emulator.sequence import ChangeSequence
from dms_emulator.settings import EmulatorSettings, Profile
from dms_emulator.source import Batch, Begin, ChangeStream, Commit, Message, RowChange, SourceTable, Texts
from dms_emulator.state import START, Point, Position, StateFolder, TaskState
from dms_emulator.writer import FileWriter

_log = structlog.get_logger(__name__)

_MAX_WAIT: Final = 0.1
_CONFIRM_SECONDS: Final = 1.0
_ASK_SECONDS: Final = 10.0
_ASK_SECONDS_TO_END: Final = 0.05
_SECOND_US: Final = 1_000_000


class Trail:
    """Remembers a point after which at least ``changes`` changes follow: a restart writes these again."""

    def __init__(self, changes: int, start: Point) -> None:
        self._changes = changes
        self._points: deque[tuple[int, Point]] = deque([(0, start)])
        self._total = 0

    def committed(self, changes: int, point: Point) -> None:
        """Add a transaction with so many changes that ended at ``point``."""
        self._total += changes
        points = self._points
        points.append((self._total, point))
        while len(points) > 1 and self._total - points[1][0] >= self._changes:
            points.popleft()

    @property
    def point(self) -> Point:
        """The latest point that is far enough back."""
        return self._points[0][1]


@attrs.define
class _Transaction:
    """The transaction being read: the point from which it can be read again, its change count, and texts that its changes share."""

    lsn: int
    commit_us: int
    before: Point
    stream_prefix: str
    ordinal: int = 0


class Capture:
    """One run of change capture, beginning at the state's point."""

    def __init__(
        self,
        stream: ChangeStream,
        profile: Profile,
        writer: FileWriter,
        folder: StateFolder,
        state: TaskState,
        settings: EmulatorSettings,
    ) -> None:
        self._stream = stream
        self._profile = profile
        self._writer = writer
        self._folder = folder
        self._state = state
        self._settings = settings
        self._point = self._begin_run()
        self._sequence = ChangeSequence(self._point.counter, self._point.held)
        self._trail = Trail(settings.ugly.reemit_changes, self._point)
        self._transaction: _Transaction | None = None
        self._confirmed_at = self._asked_at = time.monotonic()
        self.changes = 0

    def _begin_run(self) -> Point:
        state, ugly = self._state, self._settings.ugly
        resumed = state.runs > 0
        if resumed and ugly.reemit_changes > 0:
            for table in state.tables.values():
                table.delivered = START
        if resumed and ugly.reset_counter:
            state.point = Point(state.point.lsn)
        state.runs += 1
        self._folder.save(state)
        return state.point

    def run(self, stop: threading.Event, until: int | None) -> None:
        """Read until ``stop`` is set, or until everything committed before the log position ``until`` is in files.

        Then close the files that are still open, and confirm the position.
        """
        self._stream.start(self._state.point.lsn)
        while not stop.is_set() and not self._reached(until):
            batch = self._stream.poll(self._wait())
            self._take(batch)
            self._writer.close_due()
            self._confirm(batch.reply_wanted)
            self._ask(until)
        self._writer.close_all()
        self._confirm(force=True)

    def _reached(self, until: int | None) -> bool:
        return until is not None and self._transaction is None and self._point.lsn >= until

    def _wait(self) -> float:
        deadline = self._writer.next_deadline()
        if deadline is None:
            return _MAX_WAIT
        return min(max(deadline - time.monotonic(), 0.0), _MAX_WAIT)

    def _take(self, batch: Batch) -> None:
        for message in batch.messages:
            self._handle(message)
        # While idle, the log's end is between transactions too: the log of other tables can be removed.
        if self._transaction is None and batch.end > self._point.lsn:
            self._point = attrs.evolve(self._point, lsn=batch.end)

    def _confirm(self, reply_wanted: bool = False, *, force: bool = False) -> None:
        """Confirm the oldest point that is still needed. Write the state to disk first."""
        points = [self._writer.oldest_point() or self._point]
        if self._settings.ugly.reemit_changes > 0:
            points.append(self._trail.point)
        safe = min(points, key=lambda point: point.lsn)
        now = time.monotonic()
        due = force or now - self._confirmed_at >= _CONFIRM_SECONDS
        if due and safe.lsn > self._state.point.lsn:
            self._state.point = safe
            self._confirmed_at = now
            reply_wanted = True
        if force or reply_wanted:
            self._folder.save(self._state)
            self._stream.confirm(self._state.point.lsn)

    def _ask(self, until: int | None) -> None:
        """Ask the server for its position: with ``wal_sender_timeout = 0`` it sends nothing by itself."""
        now = time.monotonic()
        if now - self._asked_at >= (_ASK_SECONDS if until is None else _ASK_SECONDS_TO_END):
            self._asked_at = now
            self._stream.confirm(self._state.point.lsn, ask=True)

    def _handle(self, message: Message) -> None:
        match message:
            case RowChange():
                self._change(message)
            case Begin():
                self._begin(message)
            case Commit():
                self._commit(message)

    def _begin(self, message: Begin) -> None:
        commit_us = message.commit_us
        if self._profile is Profile.MYSQL:
            commit_us -= commit_us % _SECOND_US
        self._sequence.begin(commit_us)
        self._transaction = _Transaction(message.position, commit_us, self._point, f"{message.label}.")

    def _commit(self, message: Commit) -> None:
        self._point = Point(message.end, self._sequence.counter, self._sequence.held)
        if self._transaction is not None and self._transaction.ordinal:
            self._trail.committed(self._transaction.ordinal, self._point)
        self._transaction = None

    def _change(self, message: RowChange) -> None:
        transaction = self._transaction
        if transaction is None:
            raise RuntimeError("the source's log: a row change outside a transaction")
        transaction.ordinal += 1
        # Skipped changes count too, so that a change gets the same sequence when it is read again.
        sequence = self._sequence.advance()
        table = message.table
        position = Position(transaction.lsn, transaction.ordinal)
        if position <= self._writer.delivered(table):
            return
        values, before, row_before = self._row(table, message)
        change = Change(
            message.op,
            transaction.commit_us,
            values,
            sequence,
            f"{transaction.stream_prefix}{transaction.ordinal}",
            before,
            row_before,
        )
        self._writer.add(table, change, position, message.size, transaction.before)
        self.changes += 1

    def _row(self, table: SourceTable, message: RowChange) -> tuple[tuple[Value, ...], tuple[Value, ...] | None, tuple[Value, ...] | None]:
        """Return a change's values, the key before a key change, and the row before it, if the log has it and files need it."""
        new, old, images = message.new, message.old, self._settings.files.before_images is BeforeImages.ALL
        if new is None:
            row: Texts = old or []
            if not (message.old_is_row and (images or self._profile is Profile.MYSQL)):
                row = table.only_key(row)
            return table.values(row), None, None
        if old is None:
            return table.values(new), None, None
        if NOT_SUPPLIED in new:
            new = _filled(new, old)
        # If one part of the key changed, the unchanged parts are written too (real files).
        moved = any(old[index] != new[index] for index in table.key_indexes)
        row_before = table.values(old) if images and message.old_is_row else None
        return table.values(new), table.key_values(old) if moved else None, row_before


def _filled(new: Texts, old: Texts) -> Texts:
    """Return a row whose unchanged TOAST values are taken from the old row, if that has them."""
    return [was if now is NOT_SUPPLIED and was is not None else now for now, was in zip(new, old, strict=True)]
