"""What the place of a column in a file says of it. Pure.

DMS's order is: operation, commit time, the source's columns, those of ``add-column`` rules, then before-images (seen in files of real
tasks). So nothing before the sequence or the stream position is a before-image, and nothing behind them is a column of the source.
"""

from collections.abc import Collection, Sequence
from enum import StrEnum

import attrs

from dms_iceberg.config.model import Change


class Place(StrEnum):
    """Where a column stands: among those of the source, where before-images are, or where the file does not show it."""

    SOURCE = "source"
    IMAGE = "image"
    UNKNOWN = "unknown"


@attrs.frozen
class Places:
    """The order of a file's columns, all names in lower case.

    Attributes:
        names: all columns.
        service: columns that DMS adds, but before-images.
        last: the place of the last sequence or stream position column; -1 where the file has none or none in DMS's order.
        known: the order of the columns is that of DMS.
    """

    names: Sequence[str]
    service: frozenset[str]
    last: int
    known: bool

    @classmethod
    def of(cls, names: Sequence[str], change: Change, keys: Collection[str], *, ordered: bool = True) -> "Places":
        """Return the places of a file's columns.

        Args:
            keys: the key columns by their names in the file, in lower case.
            ordered: the format has an order of columns; JSON lines have none.
        """
        folded = [name.lower() for name in names]
        ordering = {name.lower() for name in (change.sequence_column, change.stream_position_column) if name}
        service = frozenset(ordering | {name.lower() for name in (change.op_column, change.timestamp_column) if name})
        added = [place for place, name in enumerate(folded) if name in ordering]
        of_key = [place for place, name in enumerate(folded) if name in keys]
        # Whoever sorts the columns, or writes the service columns first, says nothing by their order.
        is_sorted = folded == sorted(folded) or list(names) == sorted(names)
        known = ordered and not is_sorted and bool(of_key) and (not added or max(of_key) < min(added))
        return cls(folded, service, max(added) if known and added else -1, known)

    def of_images(self, candidates: Collection[str]) -> dict[str, Place]:
        """Return where each of ``candidates`` stands, which would be all before-images of one rule."""
        folded = {name.lower() for name in candidates}
        end = len(self.names)
        while end and self.names[end - 1] in folded:
            end -= 1
        return {name: self._place(self.names.index(name.lower()), end) for name in candidates}

    def _place(self, place: int, end: int) -> Place:
        if not self.known:
            return Place.UNKNOWN
        if self.last >= 0:
            return Place.IMAGE if place > self.last else Place.SOURCE
        # Without a sequence and stream position the last columns may be the source's as well.
        return Place.UNKNOWN if place >= end else Place.SOURCE

    def behind(self) -> frozenset[str]:
        """Return the columns that stand where before-images are."""
        return frozenset(self.names[self.last + 1 :]) if self.last >= 0 else frozenset()
