"""What becomes of keys that two rows have at once within a commit, told from the source's transactions and what its log has of them.

Each change is one or two *steps*: a row arrives at a silver key, is updated at it, or leaves it. A run of steps of one key with one commit
time in which a row arrives while another is there is *crowded*. In it the step that takes a row away, or updates one, must say which of
those that are there it means; one that does not is *unclear*, and its whole change has no effect. Of what is left of a crowded run only
the end counts: the row that is there, or that none is any more.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import attrs

from support.histories import World
from support.mode_oracles import Event, events, half_events, load_times
from support.oracle import Cleaning, Delete, Insert, Key, Row, RowStatement, Truncate, Unfit, Update, source_rows
from support.table_kind import TableKind
from support.task_run import Profile

Texts: TypeAlias = tuple[Any, ...]


@attrs.frozen
class Step:
    """What one change does to one silver key.

    Attributes:
        kind: A (a row arrives), U (a row is updated), L (a row leaves) or T (the table is truncated).
        at: commit time.
        change: number of the change; -1 for a loaded row and for a truncate.
        texts: values of the silver row after it; None for those that do not fit.
        readings: what the row was before, in the readings of its image; none where only its key is told.
        event: what it does to silver by itself; None for a bad row.
    """

    kind: str
    at: int
    change: int
    texts: Texts | None
    readings: tuple[Mapping[str, Any], ...]
    event: Event | None


@attrs.define
class _There:
    """A row that has the key: its values, and the step that silver has it from."""

    row: Mapping[str, Any]
    shown: Step


def steps_of(kind: TableKind, world: World) -> dict[Key, list[Step]]:
    """Return the steps of each silver key, full load first."""
    found: dict[Key, list[Step]] = {}
    plan = world.plans[kind.name]
    times = load_times(kind, world)
    for row in source_rows(kind.name, world.transactions[: plan.load_at], kind.cleaning).values():
        source_key = kind.cleaning.key_of(row)
        key = kind.cleaning.silver_key_of(source_key)
        if key is not None:
            # A bad row is at the source as well.
            event = next(iter(half_events(kind.cleaning, times.get(source_key, 0), Insert(kind.name, row))), None)
            found.setdefault(key, []).append(Step("U", -1, -1, _texts(kind, row), (), event))
    number = -1
    for place, transaction in enumerate(world.transactions):
        for statement in transaction.statements:
            if isinstance(statement, Truncate):
                if statement.table == kind.name:
                    for key, steps in found.items():
                        steps.append(Step("T", transaction.commit_us, -1, None, (), Event(transaction.commit_us, "T", key, None)))
                continue
            number += 1
            if statement.table == kind.name and place >= plan.changes_from:
                for key, step in _steps(kind, world, transaction.commit_us, number, statement):
                    found.setdefault(key, []).append(step)
    return found


def _steps(kind: TableKind, world: World, at: int, number: int, statement: RowStatement) -> Iterator[tuple[Key, Step]]:
    cleaning = kind.cleaning
    events = {(event.half, event.key): event for event in half_events(cleaning, at, statement)}
    readings = _readings(kind, world, statement)
    old = None if isinstance(statement, Insert) else cleaning.silver_key_of(statement.key)
    new = None if isinstance(statement, Delete) else cleaning.silver_key_of(cleaning.key_of(statement.row))
    moved = isinstance(statement, Update) and statement.key != cleaning.key_of(statement.row)
    if old is not None and (moved or isinstance(statement, Delete)):
        yield old, Step("L", at, number, None, readings, events.get((moved, old)))
    if new is not None and not isinstance(statement, Delete):
        kind_of = "A" if moved or isinstance(statement, Insert) else "U"
        yield new, Step(kind_of, at, number, _texts(kind, statement.row), readings, events.get((False, new)))


def _readings(kind: TableKind, world: World, statement: RowStatement) -> tuple[Mapping[str, Any], ...]:
    """What the log tells of the row before a change, beside its key, in the two ways to read a NULL."""
    keys = set(kind.cleaning.source_key)
    imaged = kind.imaged_columns
    match statement:
        case Delete(row=row) if kind.images or world.profile is Profile.MYSQL:
            told = {name: value for name, value in row.items() if name not in keys}
            return (_made(kind, row, set(row)),) if any(value is not None for value in told.values()) else ()
        case Update(row=row, before=before) if kind.images and before is not None:
            if all(before[name] is None for name in imaged - keys):
                return ()
            other = {name: value if before[name] is None else before[name] for name, value in row.items()}
            return (_made(kind, before, imaged), _made(kind, other, imaged))
    return ()


def _made(kind: TableKind, row: Row, known: set[str]) -> Mapping[str, Any]:
    """Silver values of a row, without those that are made of columns not ``known``."""
    cleaning = kind.cleaning
    return {name: value for name, value in _values(cleaning, row).items() if kind.made_of(name) <= known}


def _values(cleaning: Cleaning, row: Row) -> dict[str, Any]:
    made = {}
    for name, make in cleaning.columns.items():
        if name in cleaning.silver_key:
            continue
        try:
            made[name] = make(row)
        except Unfit:
            made[name] = None
    return made


def _texts(kind: TableKind, row: Row) -> Mapping[str, Any]:
    return _values(kind.cleaning, row)


def runs(steps: Sequence[Step]) -> Iterator[tuple[list[Step], bool, list[_There], bool, list[Step]]]:
    """Yield each run of steps of a key: the steps, whether it was crowded, the rows that were left and whether one is from before, and
    the unclear steps."""
    there: list[_There] = []
    count, place = 0, 0
    while place < len(steps):
        run = [steps[place]]
        while place + len(run) < len(steps) and steps[place + len(run)].at == run[0].at:
            run.append(steps[place + len(run)])
        place += len(run)
        count, there = min(count, 1), there[-1:] if count else []
        before = list(there)
        crowded, unclear = False, list[Step]()
        for step in run:
            count, crowded = _play(step, count, there, unclear, crowded=crowded)
        yield run, crowded, list(there), any(one.shown in [b.shown for b in before] for one in there), unclear


def _play(step: Step, count: int, there: list[_There], unclear: list[Step], *, crowded: bool) -> tuple[int, bool]:
    if step.kind == "T":
        there.clear()
        return 0, crowded
    if step.kind == "A":
        there.append(_There(step.texts or {}, step))
        return count + 1, crowded or count > 0
    meant = there[-1:] if count < 2 else [one for one in there if _may_be(one, step)]
    if count > 1 and len(meant) != 1:
        unclear.append(step)
        return count - (step.kind == "L"), crowded
    if count < 2:
        there.clear()
    else:
        there.remove(meant[0])
    if step.kind == "U":
        # The last good version stays where the new one is bad.
        shown = meant[0].shown if step.event is None and meant else step
        there.append(_There(step.texts or {}, shown))
        return max(count, 1), crowded
    return max(count - 1, 0), crowded


def _may_be(one: _There, step: Step) -> bool:
    return any(all(one.row[name] == value for name, value in reading.items()) for reading in step.readings)


def unclear_changes(kind: TableKind, world: World) -> frozenset[int]:
    """Return the numbers of the changes that do not say which row they mean."""
    return frozenset(step.change for steps in steps_of(kind, world).values() for _, _, _, _, unclear in runs(steps) for step in unclear)


def unclear_rows(kind: TableKind, world: World) -> int:
    """Return how many rows of files are unclear and not bad anyway."""
    unclear = unclear_changes(kind, world)
    columns = [column.name for column in kind.layout.columns]
    count = 0
    for file in world.files:
        for row in file.rows if file.table == kind.name else ():
            values = dict(zip(columns, row.change.values, strict=True))
            bad = row.change.op != "D" and kind.cleaning.is_bad(values)
            count += row.number in unclear and not bad
    return count


def told_events(kind: TableKind, world: World) -> Iterator[Event]:
    """The events of a table as silver shall have them."""
    return clear_events(kind, world) if kind.deferred else events(kind, world)


def clear_events(kind: TableKind, world: World) -> Iterator[Event]:
    """Yield the events of a table (`mode_oracles.events`) with the net effect of crowded runs, key by key."""
    unclear = unclear_changes(kind, world)
    for steps in steps_of(kind, world).values():
        for run, crowded, left, stays, _ in runs(steps):
            clear = [step for step in run if step.change not in unclear]
            if not crowded:
                yield from (step.event for step in clear if step.event is not None)
                continue
            rows = [one.shown for one in left if one.shown in clear and one.shown.event is not None]
            leaves = [step for step in clear if step.kind == "L"]
            last = max(rows, key=clear.index) if rows else None if stays or not leaves else leaves[-1]
            if last is not None and last.event is not None:
                yield last.event
