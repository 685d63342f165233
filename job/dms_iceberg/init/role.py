"""The purpose of a column, how sure it is and why; and the samples that show it. Values only."""

from collections.abc import Iterable, Mapping
from enum import StrEnum

import attrs

from dms_iceberg.init.samples import Sample


class Sure(StrEnum):
    """How sure a finding is."""

    CERTAIN = "certain"
    LIKELY = "likely"
    DOUBTFUL = "doubtful"


@attrs.frozen(kw_only=True)
class Role:
    """A column with a purpose, or that there is none (``name`` None), and why."""

    name: str | None
    sure: Sure
    why: str


@attrs.frozen(kw_only=True)
class Added:
    """A column with something that another column with a purpose has as well.

    Attributes:
        what: the operation, or the time, of each change.
        rule: the expression of the mapping rule that adds such a column.
    """

    name: str
    what: str
    rule: str


@attrs.frozen(kw_only=True)
class Roles:
    """What DMS has added to a table's files.

    Attributes:
        op: the operation of each change.
        words: the words of the operation column, with I, U or D.
        op_in_load: whether all LOAD files have it, with a value; None where there are no LOAD rows.
        timestamp: the commit time.
        sequence: ``$AR_H_CHANGE_SEQ``.
        stream: ``$AR_H_STREAM_POSITION``.
        added: columns with the operation or time of each change once more: columns of silver, and never of a key.
        doubts: columns that may have a purpose, and why that is not certain.
    """

    op: Role
    words: Mapping[str, str] = attrs.field(factory=dict)
    op_in_load: bool | None = None
    timestamp: Role
    sequence: Role
    stream: Role
    added: tuple[Added, ...] = ()
    doubts: tuple[str, ...] = ()

    @property
    def added_names(self) -> frozenset[str]:
        """The columns of ``added``."""
        return frozenset(one.name for one in self.added)

    @property
    def names(self) -> frozenset[str]:
        """The columns with a purpose."""
        return frozenset(role.name for role in (self.op, self.timestamp, self.sequence, self.stream) if role.name is not None)


@attrs.frozen(kw_only=True)
class Samples:
    """The samples of a table, with named columns, in order. Files without rows are left out."""

    load: tuple[Sample, ...]
    changes: tuple[Sample, ...]

    @property
    def both(self) -> tuple[Sample, ...]:
        """All of them, changes first: their columns are complete."""
        return (*self.changes, *self.load)


def filled(values: Iterable[str | None]) -> list[str]:
    """Return the values that are there: neither NULL nor empty."""
    return [value for value in values if value]
