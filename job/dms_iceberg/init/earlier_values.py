"""Whether columns hold values from before a change, judged by the samples. Pure."""

from collections.abc import Iterator, Sequence

import attrs

from dms_iceberg.init.role import Roles, Samples
from dms_iceberg.init.samples import Row, Sample

_Values = tuple[str | None, ...]


def operations(sample: Sample, roles: Roles) -> list[str]:
    """Return the operation of each row; loaded rows are inserts."""
    if not sample.file.is_cdc or roles.op.name not in sample.names:
        return ["I"] * len(sample.rows)
    return [roles.words.get(value or "", "") for value in sample.values(roles.op.name)]


def are_earlier_values(samples: Samples, roles: Roles, pairs: Sequence[tuple[str, str]], *, sure: bool) -> bool:
    """Return whether updates show that columns have the earlier values of others, and none contradicts it.

    Of a moved key the earlier value was that of a row, and the new one was not. A reference to another row differs in the second: the row
    that has it was there before as well. Of a row that stayed, the earlier values are those that it was last seen with.

    Args:
        pairs: the columns, each with the one whose earlier values it may have.
        sure: a row that was not seen was not there: the samples are all files, or no column of a source can stand in this place.
    """
    if not sure:
        return False
    shown = False
    for answer in _answers(samples, roles, pairs):
        if answer is False:
            return False
        shown = shown or answer is True
    return shown


def contradict_earlier_values(samples: Samples, roles: Roles, pairs: Sequence[tuple[str, str]]) -> bool:
    """Return whether an update contradicts that columns have the earlier values of others, and none shows it. See `are_earlier_values`."""
    answers = set(_answers(samples, roles, pairs))
    return False in answers and True not in answers


def _answers(samples: Samples, roles: Roles, pairs: Sequence[tuple[str, str]]) -> Iterator[bool | None]:
    """Yield for each update with such values what it says: shown (True), contradicted (False), or nothing (None)."""
    bases = tuple(base for _, base in pairs)
    unique = [place for place, base in enumerate(bases) if _is_unique(samples, base)]
    seen = _Seen(unique)
    done = set[tuple[tuple[str, ...], Row]]()
    for sample in (*samples.load, *samples.changes):
        for row, operation in zip(sample.rows, operations(sample, roles), strict=True):
            # DMS writes changes again after a restart.
            if sample.file.is_cdc and (sample.names, row) in done:
                continue
            done.add((sample.names, row))
            cells = dict(zip(sample.names, row, strict=True))
            new = tuple(cells.get(base) for base in bases)
            old = tuple(cells.get(name) for name, _ in pairs)
            if operation == "U" and any(old):
                yield seen.evidence(old, new)
                seen.remove(old)
            if operation == "D":
                seen.remove(new)
            elif operation:
                seen.add(new)


def _is_unique(samples: Samples, name: str) -> bool:
    largest = max(samples.load, key=lambda one: len(one.rows), default=None)
    values = [] if largest is None else largest.values(name)
    return bool(values) and None not in values and len(set(values)) == len(values)


@attrs.define
class _Seen:
    """The rows that are there, by the columns in question, and by each of these that is unique."""

    unique: Sequence[int]
    rows: set[_Values] = attrs.field(factory=set)
    by: dict[tuple[int, str | None], _Values] = attrs.field(factory=dict)

    def evidence(self, old: _Values, new: _Values) -> bool | None:
        """Return whether an update with these values proves (True) or contradicts (False) that a row was ``old`` before."""
        for place in self.unique:
            known = self.by.get((place, new[place]))
            if known is None:
                continue
            if old[place] != new[place]:
                return False
            return True if old != new and len(old) > 1 and known == old else None
        if old == new:
            return None
        if new in self.rows:
            return False
        return True if old in self.rows else None

    def add(self, values: _Values) -> None:
        """Add a row, in the place of one with the same value of a unique column."""
        for place in self.unique:
            if (known := self.by.get((place, values[place]))) is not None:
                self.rows.discard(known)
            self.by[place, values[place]] = values
        self.rows.add(values)

    def remove(self, values: _Values) -> None:
        """Remove a row: a delete may have its key only."""
        self.rows.discard(values)
        for place in self.unique:
            if (known := self.by.pop((place, values[place]), None)) is not None:
                self.rows.discard(known)
