"""What silver must hold in the modes beside ``mirror``, told from the source's committed transactions alone.

`events` is the story of a table in the source's own order: what `oracle.SilverTable` makes of each statement, with its time. Each mode is
one plain walk over it. Like the oracle it knows nothing of files, positions, batches or Spark.
"""

import datetime as dt
import itertools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal

import attrs

from support.histories import World
from support.oracle import Cleaning, Delete, Insert, Key, Row, Statement, Truncate, Update, source_rows
from support.table_kind import TableKind

_EPOCH = dt.datetime(1970, 1, 1)
EVERY_KEY: Key = ()
"""The key of a truncate's event, which ends all rows."""


@attrs.frozen
class Event:
    """What one change did to one silver key.

    Attributes:
        commit_us: when, as microseconds since 1970 UTC; for a loaded row the time that its file tells.
        op: I, U, D or T (truncate); D for the old key of a change of key.
        key: silver key, or `EVERY_KEY`.
        row: the silver row from then on, None when there is none.
        half: it is the old key of a change of key, which has no row of its own in a file.
        before: the silver key that a change of key began with; None for other changes, or where it is no key in silver.
    """

    commit_us: int
    op: str
    key: Key
    row: Row | None
    half: bool = False
    before: Key | None = None

    @property
    def at(self) -> dt.datetime:
        """When, as a wall clock in UTC."""
        return at_us(self.commit_us)


def at_us(moment: int) -> dt.datetime:
    """Microseconds since 1970 UTC as a wall clock in UTC."""
    return _EPOCH + dt.timedelta(microseconds=moment)


def events(kind: TableKind, world: World) -> Iterator[Event]:
    """The events of a table, full load first; bad changes are none, but for the old key of one that moved."""
    yield from load_events(kind, world)
    yield from change_events(kind, world)


def mirrored(kind: TableKind, story: Iterable[Event]) -> dict[Key, Row]:
    """Mode ``mirror``: the last row of each key that is there."""
    rows: dict[Key, Row] = {}
    for event in story:
        if event.row is not None:
            rows[event.key] = event.row
        elif event.key == EVERY_KEY:
            rows.clear()
        else:
            rows.pop(event.key, None)
    return rows


def load_events(kind: TableKind, world: World) -> Iterator[Event]:
    """The events of the full load."""
    times = load_times(kind, world)
    for row in source_rows(kind.name, world.transactions[: world.plans[kind.name].load_at], kind.cleaning).values():
        yield from _put(kind.cleaning, times.get(kind.cleaning.key_of(row), 0), "I", row)


def load_times(kind: TableKind, world: World) -> dict[Key, int]:
    """The time that the full load tells of each source key, in microseconds since 1970 UTC."""
    names = [column.name for column in kind.layout.columns]
    loads = sorted((file for file in world.files if file.table == kind.name and file.is_load), key=lambda file: file.order)
    rows = (row.change for file in loads for row in file.rows)
    return {kind.cleaning.key_of(dict(zip(names, change.values, strict=True))): change.commit_us for change in rows}


def change_events(kind: TableKind, world: World) -> Iterator[Event]:
    """The events of the changes."""
    for transaction in world.transactions[world.plans[kind.name].changes_from :]:
        for statement in transaction.statements:
            if statement.table == kind.name:
                yield from half_events(kind.cleaning, transaction.commit_us, statement)


def half_events(cleaning: Cleaning, when: int, statement: Statement) -> Iterator[Event]:
    """The events of one statement committed at ``when``: of a change of key its two halves."""
    match statement:
        case Truncate():
            yield Event(when, "T", EVERY_KEY, None)
        case Insert(row=row):
            yield from _put(cleaning, when, "I", row)
        case Delete(key=key):
            yield from _end(cleaning, when, key)
        case Update(key=key, row=row):
            moved = key != cleaning.key_of(row)
            if moved:
                yield from _end(cleaning, when, key, half=True)
            yield from _put(cleaning, when, "U", row, cleaning.silver_key_of(key) if moved else None)


def _put(cleaning: Cleaning, when: int, op: str, row: Row, before: Key | None = None) -> Iterator[Event]:
    key = cleaning.silver_key_of(cleaning.key_of(row))
    if key is None:
        return
    if not cleaning.is_accepted(row):
        yield Event(when, op, key, None)
        return
    made = cleaning.silver_row(row)
    if made is not None:
        yield Event(when, op, key, None if any(rule(row) is False for rule in cleaning.drop) else made, before=before)


def _end(cleaning: Cleaning, when: int, source_key: Key, *, half: bool = False) -> Iterator[Event]:
    key = cleaning.silver_key_of(source_key)
    if key is not None:
        yield Event(when, "D", key, None, half)


def soft_deleted(kind: TableKind, story: Iterable[Event]) -> list[Row]:
    """Mode ``soft_delete``: the last row that each key had, and when it ended."""
    rows: dict[Key, dict[str, object]] = {}
    for event in story:
        if event.row is not None:
            rows[event.key] = {**event.row, "_cdc_op": event.op, "_cdc_deleted": False, "_cdc_deleted_at": None}
        elif event.op == "T":
            for row in [*rows.values()] if event.key == EVERY_KEY else [rows[event.key]] if event.key in rows else []:
                row |= {} if row["_cdc_deleted"] else {"_cdc_deleted": True, "_cdc_deleted_at": event.at}
        elif event.key in rows:
            rows[event.key] |= {"_cdc_deleted": True, "_cdc_deleted_at": event.at}
    return list(rows.values())


def changelog(kind: TableKind, story: Iterable[Event]) -> list[Row]:
    """Mode ``append``: every change that the filter lets in, every delete with its key, and every truncate."""
    cleaning = kind.cleaning
    rows = []
    for event in story:
        if event.half or (event.row is None and event.op not in "DT"):
            continue
        deleted = dict.fromkeys(cleaning.columns) | dict(zip(cleaning.silver_key, event.key, strict=event.key != EVERY_KEY))
        before = None if event.before is None else _json(dict(zip(cleaning.silver_key, event.before, strict=True)))
        rows.append({**(event.row or deleted), "_cdc_op": event.op, "_cdc_committed_at": event.at, "_cdc_key_before": before})
    return rows


def versions(kind: TableKind, story: Iterable[Event], tracked: Sequence[str] = ()) -> list[Row]:
    """Mode ``history``: what each key was, one row after the other, and from when until when."""
    lives: dict[Key, list[Event]] = {}
    for event in story:
        if event.key == EVERY_KEY:
            for life in lives.values():
                life += [event] if life and life[-1].row is not None else []
            continue
        life = lives.setdefault(event.key, [])
        before = life[-1].row if life else None
        same = event.row is not None and before is not None and bool(tracked) and all(event.row[n] == before[n] for n in tracked)
        if not same and (event.row is not None or before is not None):
            life.append(event)
    return [row for life in lives.values() for row in _spans(life)]


def _spans(life: Sequence[Event]) -> Iterator[Row]:
    starts = list(itertools.accumulate((event.at for event in life), max))
    for event, start, end in itertools.zip_longest(life, starts, starts[1:]):
        if event.row is not None:
            yield {**event.row, "_cdc_op": event.op, "_valid_from": start, "_valid_to": end, "_is_current": end is None}


def _json(row: Row) -> str:
    shown = (f"{json.dumps(name)}:{_json_value(value)}" for name, value in row.items())
    return f"{{{','.join(shown)}}}"


def _json_value(value: object) -> str:
    # The scale of every decimal key there is.
    return f"{value:.2f}" if isinstance(value, Decimal) else json.dumps(value, ensure_ascii=False)


@attrs.frozen
class ModeOracle:
    """A mode: its word, the metadata columns whose content is told, and how.

    Attributes:
        tracked: by table name, ``track_columns``.
    """

    mode: str
    columns: tuple[str, ...]
    expected: Callable[[TableKind, Iterable[Event]], list[Row]]
    tracked: Mapping[str, tuple[str, ...]] = attrs.field(factory=dict, eq=False)

    def of(self, kind: TableKind) -> TableKind:
        """Return a table in this mode."""
        tracked = {"track_columns": list(self.tracked[kind.name])} if kind.name in self.tracked else {}
        return kind.with_entry({"mode": self.mode, **tracked})


MIRROR = ModeOracle("mirror", (), lambda kind, story: [*mirrored(kind, story).values()])
SOFT_DELETE = ModeOracle("soft_delete", ("_cdc_op", "_cdc_deleted", "_cdc_deleted_at"), soft_deleted)
APPEND = ModeOracle("append", ("_cdc_op", "_cdc_committed_at", "_cdc_key_before"), changelog)
_TRACKED = {"order_lines": ("status",)}
HISTORY = ModeOracle(
    "history",
    ("_cdc_op", "_valid_from", "_valid_to", "_is_current"),
    lambda kind, story: versions(kind, story, _TRACKED.get(kind.name, ())),
    _TRACKED,
)
