"""Statements of a transaction in which rows may share a key until it ends: shifts, swaps, cycles, rows that pass through others' keys."""

from collections.abc import Callable, Mapping, Sequence
from random import Random

import attrs

from support.oracle import Delete, Insert, Key, Row, Statement, Update
from support.table_kind import TableKind


@attrs.define
class _Path:
    """A row on its way: what it is now, and the keys it still goes to; None for its end."""

    row: Row | None
    stops: list[Key | None]


def deferred_statements(
    rng: Random, kind: TableKind, live: Mapping[Key, Row], pool: Sequence[Key], invent: Callable[[Key], Row]
) -> list[Statement]:
    """Return statements over some rows of ``live``, after which each key of ``pool`` has one row at most again.

    Args:
        invent: a new row with a key.
    """
    taken = [key for key in pool if key in live]
    free = [key for key in pool if key not in live]
    moving = rng.sample(taken, rng.randint(1, min(3, len(taken))))
    # Where the rows may end: on each other's keys, and on free ones.
    ends: list[Key] = rng.sample([*moving, *free], len(moving)) if rng.random() < 0.5 else [*moving[1:], rng.choice([moving[0], *free])]
    paths = []
    for key, end in zip(moving, ends, strict=True):
        through = [rng.choice([*moving, *free])] if rng.random() < 0.3 else []
        last: list[Key | None] = [None] if rng.random() < 0.15 else [end]
        paths.append(_Path(live[key], [*through, *last]))
    used = {path.stops[-1] for path in paths}
    left = [key for key in [*moving, *free] if key not in used]
    if left and rng.random() < 0.25:
        end = rng.choice(left)
        paths.append(_Path(None, [rng.choice([*moving, end]), end]))
    return _interleaved(rng, kind, paths, invent)


def _interleaved(rng: Random, kind: TableKind, paths: list[_Path], invent: Callable[[Key], Row]) -> list[Statement]:
    made: list[Statement] = []
    # Half of them as one statement writes them: row after row.
    shuffled = rng.random() < 0.5
    while paths:
        path = rng.choice(paths) if shuffled else paths[0]
        stop, row = path.stops.pop(0), path.row
        if not path.stops:
            paths.remove(path)
        if stop is None:
            if row is not None:
                made.append(Delete(kind.name, kind.cleaning.key_of(row), row))
        elif row is None:
            path.row = invent(stop)
            made.append(Insert(kind.name, path.row))
        else:
            keys = dict(zip(kind.cleaning.source_key, stop, strict=True))
            after = {**(row if rng.random() < 0.7 else invent(stop)), **keys}
            if after != row:
                made.append(Update(kind.name, kind.cleaning.key_of(row), after, frozenset(), row))
            path.row = after
    return made
