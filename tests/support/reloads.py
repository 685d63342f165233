"""Times that loads tell, and a source that is loaded again after changes that nobody captured: what a table must hold then.

A table in a mode beside ``mirror`` keeps what a load does not have.

Two worlds over the same keys: of a key the second one's load has what the first one ended with, something else, or nothing.
"""

import datetime as dt
from collections.abc import Iterator
from random import Random

import attrs

from support.histories import START_US, World
from support.mode_oracles import Event, change_events, events, load_events, load_times
from support.oracle import Key, Row, source_rows
from support.table_kind import TableKind
from support.task_files import BronzeFile, BronzeRow

_YEAR_US = dt.timedelta(days=365) // dt.timedelta(microseconds=1)
LOAD_US = START_US - 3_600_000_000
"""When the second load was: its rows tell it as their commit time."""


def a_year_earlier(world: World) -> World:
    """The same world, 365 days earlier."""
    return attrs.evolve(
        world,
        transactions=tuple(attrs.evolve(one, commit_us=one.commit_us - _YEAR_US) for one in world.transactions),
        files=tuple(map(_earlier, world.files)),
    )


def _earlier(file: BronzeFile) -> BronzeFile:
    if file.is_load:
        return file
    return attrs.evolve(file, order=file.order - _YEAR_US // 1000, rows=tuple(map(_earlier_row, file.rows)))


def _earlier_row(row: BronzeRow) -> BronzeRow:
    change = row.change
    sequence = f"{int(change.sequence[:4]) - 1}{change.sequence[4:]}"
    return attrs.evolve(row, change=attrs.evolve(change, commit_us=change.commit_us - _YEAR_US, sequence=sequence))


def with_load_time(world: World) -> World:
    """The same world with a load that tells its time, and is there before the first run."""

    arrivals = (0 if file.is_load else run for file, run in zip(world.files, world.arrivals, strict=True))
    files = tuple(_at(file, LOAD_US) if file.is_load else file for file in world.files)
    return attrs.evolve(world, files=files, arrivals=tuple(arrivals))


def with_transfer_times(world: World, rng: Random) -> World:
    """The same world with loads that tell when each row came over: after it was read, and often after changes captured meanwhile."""
    times: dict[tuple[str, tuple[BronzeRow, ...]], int] = {}

    def timed(file: BronzeFile) -> BronzeFile:
        if not file.is_load:
            return file
        # A file that is there twice is a copy.
        if (file.table, file.rows) not in times:
            read = max(0, world.plans[file.table].load_at - 1)
            later = [one.commit_us for one in world.transactions[read:]]
            times[file.table, file.rows] = rng.choice(later) + rng.choice((0, 1, 15_000))
        return _at(file, times[file.table, file.rows])

    return attrs.evolve(world, files=tuple(map(timed, world.files)))


def with_times_of_changes(world: World, rng: Random) -> World:
    """The same world with loads that tell for each row a time at, just before or after that of a change of its key, or no near one."""
    kinds = {kind.name: kind for kind in world.kinds}
    changed: dict[tuple[str, Key], set[int]] = {}
    for file in world.files:
        for row in () if file.is_load else file.rows:
            changed.setdefault((file.table, _key_of(kinds[file.table], row)), set()).add(row.change.commit_us)

    def timed(table: str, row: BronzeRow) -> BronzeRow:
        times = sorted(changed.get((table, _key_of(kinds[table], row)), ()))
        near = rng.choice(times) + rng.choice((-1, 0, 0, 0, 1)) if times else LOAD_US
        return attrs.evolve(row, change=attrs.evolve(row.change, commit_us=near if rng.random() < 0.9 else LOAD_US))

    def told(file: BronzeFile) -> BronzeFile:
        return attrs.evolve(file, rows=tuple(timed(file.table, row) for row in file.rows)) if file.is_load else file

    return attrs.evolve(world, files=tuple(map(told, world.files)))


def _key_of(kind: TableKind, row: BronzeRow) -> Key:
    return kind.cleaning.key_of(dict(zip((column.name for column in kind.layout.columns), row.change.values, strict=True)))


def came_back(kind: TableKind, world: World) -> int:
    """How many loaded keys were deleted and inserted again before the times of their load, the insert in a later batch in order.

    Each run merges one batch.
    """
    names = [column.name for column in kind.layout.columns]
    times, count, reached = load_times(kind, world), 0, ""
    seen, gone = set[int](), dict[Key, int]()
    for run in range(world.runs):
        arrived = [file for file, at in zip(world.files, world.arrivals, strict=True) if at == run and file.table == kind.name]
        rows = sorted((row for file in arrived if not file.is_load for row in file.rows), key=lambda row: row.number)
        ticks = [row.change.sequence[:16] for row in rows]
        in_order = bool(ticks) and min(ticks) > reached
        reached = max([reached, *ticks])
        for row in rows:
            key = kind.cleaning.key_of(dict(zip(names, row.change.values, strict=True)))
            if row.number in seen or row.change.commit_us >= times.get(key, 0):
                continue
            seen.add(row.number)
            if row.change.op == "D":
                gone[key] = run
            elif row.change.op == "I":
                count += in_order and gone.pop(key, run) < run
    return count


def _at(file: BronzeFile, moment: int) -> BronzeFile:
    rows = (attrs.evolve(row, change=attrs.evolve(row.change, commit_us=moment)) for row in file.rows)
    return attrs.evolve(file, rows=tuple(rows))


@attrs.frozen
class Reloaded:
    """The events of a table in both worlds. ``is_log``: as a log tells them, which has the rows of each load."""

    first: World
    second: World
    is_log: bool

    def __call__(self, kind: TableKind, world: World) -> Iterator[Event]:
        """Yield them in order; ``world`` is the second."""
        before = list(events(kind, self.first))
        yield from before
        loaded = [attrs.evolve(event, commit_us=LOAD_US) for event in load_events(kind, world)]
        yield from loaded if self.is_log else self._differences(kind, before, loaded)
        yield from change_events(kind, world)

    def _differences(self, kind: TableKind, before: list[Event], loaded: list[Event]) -> Iterator[Event]:
        present: dict[Key, Row | None] = {event.key: event.row for event in before}
        cleaning, plan = kind.cleaning, self.second.plans[kind.name]
        at_source = source_rows(kind.name, self.second.transactions[: plan.load_at], cleaning).values()
        # A row that is set aside is at the source all the same: what is known of it stays.
        spared = {cleaning.silver_key_of(cleaning.key_of(row)) for row in at_source if cleaning.is_bad(row)}
        rows = {event.key: event.row for event in loaded}
        for key, was in present.items():
            if was is not None and rows.get(key) is None and key not in spared:
                yield Event(LOAD_US, "D", key, None)
        for key, row in rows.items():
            if row is not None and row != present.get(key):
                yield Event(LOAD_US, "I" if present.get(key) is None else "U", key, row)
