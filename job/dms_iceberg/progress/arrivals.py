"""When rows last arrived at keys of a table: the transaction of then may go on in the next batch. Pure."""

from typing import Self

import attrs


@attrs.frozen
class Arrivals:
    """Latest commit times of changes that are merged, as `suspicion.commit_sql` has them; None without any.

    Attributes:
        inserted: of an insert.
        moved: of an update that moved its row to another key.
    """

    inserted: int | None = None
    moved: int | None = None

    def plus(self, other: "Arrivals") -> Self:
        """Return this with the changes of another batch."""
        return type(self)(_later(self.inserted, other.inserted), _later(self.moved, other.moved))


NO_ARRIVALS = Arrivals()


def _later(one: int | None, other: int | None) -> int | None:
    return max((at for at in (one, other) if at is not None), default=None)
