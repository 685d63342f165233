"""When rows last arrived at keys of a table: the transaction that brought them may continue in the next batch. Pure."""

from typing import Self

import attrs


@attrs.frozen
class Arrivals:
    """Latest commit times of merged changes, as `suspicion.commit_sql` computes them; None without any.

    Attributes:
        inserted: the latest of inserts and of updates that moved their row to another key.
        moved: the latest of updates that moved their row to another key.
    """

    inserted: int | None = None
    moved: int | None = None

    def plus(self, other: "Arrivals") -> Self:
        """Return this with the changes of another batch."""
        return type(self)(_later(self.inserted, other.inserted), _later(self.moved, other.moved))


NO_ARRIVALS = Arrivals()


def _later(one: int | None, other: int | None) -> int | None:
    return max((at for at in (one, other) if at is not None), default=None)
