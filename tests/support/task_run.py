"""What a DMS task makes of a history: sequences, files and their names, restarts, copies. See `task_files` for what it promises."""

from collections.abc import Collection, Sequence
from enum import StrEnum
from random import Random

import attrs

from dms_emulator.files import NOT_SUPPLIED, Change, ChangeSequence
from support.oracle import Delete, Insert, Key, Row, RowStatement, Transaction, Truncate, Update, Value, source_rows
from support.table_kind import KEYS, TableKind
from support.task_files import BronzeFile, BronzeRow, is_complete


class Profile(StrEnum):
    """What a source's log holds, and so what DMS can write."""

    POSTGRES = "postgres"  # A delete has its key; an old key comes whole, and only when it changed.
    MYSQL = "mysql"  # A delete has its whole row; every update has the old key.
    ORACLE = "oracle"  # A delete has its key; of an old key only the parts that changed.


@attrs.frozen
class TablePlan:
    """The full load saw ``load_at`` transactions; changes are captured from ``changes_from`` on, at most ``load_at``."""

    load_at: int
    changes_from: int


@attrs.frozen
class _Captured:
    number: int
    transaction: int
    commit_us: int
    statement: RowStatement


def write_files(
    rng: Random,
    kinds: Sequence[TableKind],
    transactions: Sequence[Transaction],
    histories: int,
    cut: float,
    restarts: int,
    *,
    copies: bool = True,
    profile: Profile | None = None,
) -> tuple[dict[str, TablePlan], list[BronzeFile], Profile]:
    """Full load, changes, restarts and copies of all tables, and whose habits the files have.

    Args:
        rng: every choice comes from it.
        kinds: tables.
        transactions: what the source committed.
        histories: ranges of keys.
        cut: how likely a file is closed after a row.
        restarts: how often the task stops and starts again.
        copies: a few neighbouring files are written again under later names.
        profile: whose habits the files have; drawn when None.
    """
    once = {kind.name for kind in kinds if kind.only_once}
    # No load shows what a later truncate ended.
    truncated = (place for place, transaction in enumerate(transactions) if Truncate(kinds[0].name) in transaction.statements)
    latest = next(truncated, len(transactions))
    plans = {kind.name: _plan(rng, len(transactions), latest, kind) for kind in kinds}
    profile = Profile(rng.choice(list(Profile))) if profile is None else profile
    writer = _Writer(rng, {kind.name: kind for kind in kinds}, histories, profile, cut, len(transactions))
    stream = [
        _Captured(number, place, transaction.commit_us, statement)
        for number, (place, transaction, statement) in enumerate(
            (place, transaction, statement)
            for place, transaction in enumerate(transactions)
            for statement in transaction.statements
            if not isinstance(statement, Truncate)
        )
    ]
    for kind in kinds:
        load_at = plans[kind.name].load_at
        rows = source_rows(kind.name, transactions[:load_at], kind.cleaning)
        writer.load(kind, list(rows.values()), load_at)
    _run_task(rng, writer, stream, plans, once, restarts)
    for kind in kinds:
        if copies and kind.name not in once:
            writer.copy_some(kind.name)
    files = sorted(writer.files, key=lambda file: (file.table, not file.is_load, file.order))
    return plans, files, profile


def _plan(rng: Random, transactions: int, latest: int, kind: TableKind) -> TablePlan:
    # Of a column that is gone the oracle's source still knows the values, but no load would show them.
    latest = min(latest, int(min((end for _, end in kind.lifetimes.values()), default=1.0) * transactions))
    load_at = min(latest, rng.choice((0, rng.randint(0, transactions), rng.randint(0, transactions // 2))))
    overlap = 0 if kind.in_order else rng.choice((0, rng.randint(0, load_at)))
    return TablePlan(load_at, load_at - overlap)


def _run_task(
    rng: Random,
    writer: "_Writer",
    stream: Sequence[_Captured],
    plans: dict[str, TablePlan],
    once: Collection[str],
    restarts: int,
) -> None:
    """Write the stream, stopping now and then and starting again a little further back."""
    place, seen = 0, -1
    stops = sorted(rng.randint(0, len(stream)) for _ in range(restarts))
    while True:
        stop = stops.pop(0) if stops else len(stream)
        for captured in stream[place:stop]:
            writer.see(captured)
            table = captured.statement.table
            again = captured.number <= seen
            if captured.transaction >= plans[table].changes_from and not (again and table in once):
                writer.write(captured)
        seen = max(seen, stop - 1)
        writer.stop()
        if stop == len(stream) and not stops:
            return
        back = rng.choice((0, 1, 2, rng.randint(0, stop), rng.randint(0, min(stop, 12))))
        place = _steady(stream, max(0, stop - back))
        writer.start_again()


def _steady(stream: Sequence[_Captured], place: int) -> int:
    """The last place up to ``place`` where the source's clock was not behind an earlier reading.

    A new run knows nothing of a time part that the last one held; from such a place on, both give the same.
    """
    highest, found = -1, 0
    for captured in stream[: place + 1]:
        if captured.commit_us >= highest:
            highest, found = captured.commit_us, captured.number
    return found if place < len(stream) else place


class _Writer:
    """Buffers rows table by table and closes files."""

    def __init__(self, rng: Random, kinds: dict[str, TableKind], histories: int, profile: Profile, cut: float, transactions: int) -> None:
        self.files: list[BronzeFile] = []
        self._rng = rng
        self._kinds = kinds
        self._profile = profile
        self._cut = cut
        self._owner = {
            (name, kind.key(history, index)): history
            for name, kind in kinds.items()
            for history in range(histories)
            for index in range(KEYS)
        }
        self._transactions = transactions
        self._open: dict[str, list[BronzeRow]] = {}
        self._columns: dict[str, frozenset[str] | None] = {}
        self._closed_ms: dict[str, int] = {}
        self._sequence = ChangeSequence()
        self._transaction = -1
        # The newest transaction that was read, and the one that was when the task started again.
        self._newest, self._restarted = -1, -1
        # What a restarted task's counter does is not known but for a new task, where it starts again (design, order).
        self._habit = rng.choice(("reset", "reset", "runs on", "repeats"))
        self._first_given: dict[int, str] = {}

    def load(self, kind: TableKind, rows: list[Row], load_at: int) -> None:
        """Write the full load in up to three files; sometimes one of them twice under another number."""
        cuts = sorted(self._rng.randint(0, len(rows)) for _ in range(self._rng.randint(0, 2)))
        parts = [rows[start:end] for start, end in zip([0, *cuts], [*cuts, len(rows)], strict=True)]
        parts = [part for part in parts if part]
        if parts and self._rng.random() < 0.1:
            parts.append(self._rng.choice(parts))
        for number, part in enumerate(parts, 1):
            made = tuple(BronzeRow(-1, self._history(kind, row), Change("I", 0, _values(kind, row, frozenset()))) for row in part)
            self.files.append(BronzeFile(kind.name, True, number, made, columns=self._columns_at(kind, max(0, load_at - 1))))

    def write(self, captured: _Captured) -> None:
        """Write one change to its table's open file, and perhaps close that."""
        statement = captured.statement
        kind = self._kinds[statement.table]
        change = self._change(kind, captured)
        row = BronzeRow(captured.number, self._history(kind, statement.row), change)
        columns = self._columns_at(kind, max(captured.transaction, self._restarted) if kind.restructured else captured.transaction)
        if self._columns.get(kind.name) != columns and kind.name in self._open:
            # Other columns begin another file.
            self._close(kind.name)
        self._columns[kind.name] = columns
        self._open.setdefault(kind.name, []).append(row)
        if self._rng.random() < self._cut:
            self._close(kind.name)

    def stop(self) -> None:
        """Force out what is pending, as a stopping task does."""
        for table in list(self._open):
            self._close(table)

    def see(self, captured: _Captured) -> None:
        """Take note of a change of any table: the sequence's time part belongs to the task, not to a table."""
        if captured.transaction != self._transaction:
            self._transaction = captured.transaction
            self._newest = max(self._newest, captured.transaction)
            self._sequence.begin(captured.commit_us)

    def start_again(self) -> None:
        """Be a new task run: the counter starts again, runs on, or gives the same changes the same values."""
        counter = self._sequence.counter
        self._sequence = ChangeSequence() if self._habit == "reset" else ChangeSequence(counter=counter)
        self._transaction = -1
        self._restarted = self._newest

    def copy_some(self, table: str) -> None:
        """Write a few neighbouring files again under later names, if that is a re-emission to its end."""
        if self._rng.random() < 0.6:
            return
        files = sorted((f for f in self.files if f.table == table and not f.is_load), key=lambda f: f.order)
        if not files:
            return
        first = self._rng.randrange(len(files))
        last = min(len(files) - 1, first + self._rng.randint(0, 3))
        behind = files[self._rng.randint(last, len(files) - 1)].order
        copies = [attrs.evolve(file, order=behind + step) for step, file in enumerate(files[first : last + 1], 1)]
        taken = {file.order for file in files}
        if all(copy.order not in taken for copy in copies) and is_complete([*files, *copies]):
            self.files.extend(copies)

    def _close(self, table: str) -> None:
        rows = self._open.pop(table)
        written_ms = -(-max(row.change.commit_us for row in rows) // 1000)
        lag_ms = self._rng.choice((0, 1, 5, 60_000)) if self._rng.random() < 0.5 else 0
        close_ms = max(self._closed_ms.get(table, 0) + 1 + self._rng.choice((0, 0, 3)), written_ms + lag_ms)
        self._closed_ms[table] = close_ms
        self.files.append(BronzeFile(table, False, close_ms, tuple(rows), columns=self._columns.get(table)))

    def _columns_at(self, kind: TableKind, transaction: int) -> frozenset[str] | None:
        return kind.columns_at(transaction, self._transactions) if kind.lifetimes else None

    def _sequence_of(self, captured: _Captured) -> str:
        given = self._sequence.advance()
        if self._habit == "repeats":
            return self._first_given.setdefault(captured.number, given)
        return given

    def _change(self, kind: TableKind, captured: _Captured) -> Change:
        statement = captured.statement
        sequence = self._sequence_of(captured)
        position = f"0/{captured.number:08X}"
        match statement:
            case Insert(row=row):
                return Change("I", captured.commit_us, _values(kind, row, frozenset()), sequence, position)
            case Delete(row=row):
                whole = kind.images or self._profile is Profile.MYSQL
                left_out = frozenset() if whole else frozenset(kind.pools)
                values = tuple(None if value is NOT_SUPPLIED else value for value in _values(kind, row, left_out))
                return Change("D", captured.commit_us, values, sequence, position)
            case Update(key=old, row=row, unsent=unsent, before=whole_before):
                values = _values(kind, row, unsent)
                before = self._before(old, kind.cleaning.key_of(row))
                image = _values(kind, whole_before, frozenset()) if kind.images and whole_before is not None else None
                return Change("U", captured.commit_us, values, sequence, position, before, image)

    def _before(self, old: Key, new: Key) -> Key | None:
        if self._profile is Profile.MYSQL:
            return old
        if old == new:
            return None
        if self._profile is Profile.ORACLE:
            return tuple(was if was != now else None for was, now in zip(old, new, strict=True))
        return old

    def _history(self, kind: TableKind, row: Row) -> int:
        return self._owner[kind.name, kind.cleaning.key_of(row)]


def _values(kind: TableKind, row: Row, left_out: frozenset[str]) -> tuple[Value, ...]:
    return tuple(NOT_SUPPLIED if c.name in left_out else row[c.name] for c in kind.layout.columns)
