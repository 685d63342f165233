"""The columns that a CSV file without a header may have, by what DMS can write: every list of one length. Pure.

DMS's order is: operation, commit time, the source's columns, sequence, stream position, before-images.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise, product

import attrs

from dms_iceberg.bronze.csv_shapes import FileColumn, Role
from dms_iceberg.config.model import Table


@attrs.frozen
class Slot:
    """A column of a reading.

    Attributes:
        of: the places, in ``source_columns``, of the source column that it is, or of those whose before-image it may be.
    """

    role: Role
    of: tuple[int, ...] = ()


Reading = tuple[Slot, ...]

SETTINGS = {
    Role.OPERATION: "load_without_op",
    Role.TIME: "timestamp_column",
    Role.SEQUENCE: "sequence_column",
    Role.STREAM: "stream_position_column",
}
"""The settings that name, or deny, a service column."""


def differing(named: Reading, rival: Reading) -> list[Role]:
    """Return the kinds of service columns that only one of two readings has."""
    mine, other = {slot.role for slot in named}, {slot.role for slot in rival}
    return [role for role in (*SETTINGS, Role.IMAGE) if (role in mine) != (role in other)]


def reading_of(columns: Sequence[FileColumn], table: Table) -> Reading:
    """Return the columns that the document names as a reading."""
    keys, sources = key_places(table), range(len(table.source_columns))
    images = sum(column.role is Role.IMAGE for column in columns)
    of = iter(keys if images == len(keys) else sources)
    source = iter(sources)
    places = {Role.SOURCE: source, Role.IMAGE: of}
    return tuple(Slot(column.role, (next(places[column.role]),) if column.role in places else ()) for column in columns)


def key_places(table: Table) -> list[int]:
    """Return the places of the key's columns among ``source_columns``."""
    names = {name.lower() for name in table.key}
    return [place for place, name in enumerate(table.source_columns) if name.lower() in names]


def rivals(named: Reading, table: Table, *, is_cdc: bool, begins_with_time: bool) -> Iterator[Reading]:
    """Yield every other list of columns that DMS might write, of the same length.

    Args:
        begins_with_time: the first column of the source is one of times, which look like commit times.
    """
    roles = {slot.role for slot in named}
    has = {role: role in roles for role in SETTINGS}
    # Operations and commit times have a form of their own: where they stand, nothing else does, but in a column of times.
    certain = {Role.OPERATION: is_cdc or has[Role.OPERATION], Role.TIME: has[Role.TIME] and not begins_with_time}
    choices = [(True,) if certain.get(role) else (True, False) for role in SETTINGS]
    sources = [Slot(Role.SOURCE, (place,)) for place in range(len(table.source_columns))]
    for chosen in product(*choices):
        there = dict(zip(SETTINGS, chosen, strict=True))
        before = [Slot(role) for role in (Role.OPERATION, Role.TIME) if there[role]]
        after = [Slot(role) for role in (Role.SEQUENCE, Role.STREAM) if there[role]]
        left = len(named) - len(before) - len(sources) - len(after)
        for images in _image_slots(left, key_places(table), len(sources)):
            rival = (*before, *sources, *after, *images)
            if rival != named:
                yield rival


def _image_slots(count: int, keys: Sequence[int], sources: int) -> Iterator[tuple[Slot, ...]]:
    """Yield the before-images of ``count`` columns, those of the key among them; the others may be of any columns (``non-lob``)."""
    if count == 0:
        yield ()
    if not keys or not len(keys) <= count <= sources:
        return
    bounds = [-1, *keys, sources]
    gaps = [tuple(range(begin + 1, end)) for begin, end in pairwise(bounds)]
    for others in _spread(count - len(keys), [len(gap) for gap in gaps]):
        slots = list[Slot]()
        for number, (gap, taken) in enumerate(zip(gaps, others, strict=True)):
            slots += [Slot(Role.IMAGE, (place,) if taken == len(gap) else gap) for place in gap[:taken]]
            slots += [Slot(Role.IMAGE, (keys[number],))] if number < len(keys) else []
        yield tuple(slots)


def _spread(count: int, most: Sequence[int]) -> Iterator[tuple[int, ...]]:
    if not most:
        yield from [()] if count == 0 else []
        return
    for first in range(max(0, count - sum(most[1:])), min(count, most[0]) + 1):
        yield from ((first, *rest) for rest in _spread(count - first, most[1:]))
