"""The source columns that a table's files have had: what tells a typing error from a column that the source has dropped."""

import json
from collections.abc import Iterable, Mapping

import attrs

SEEN_PROPERTY = "dms-iceberg.source-columns"
"""Table property with a `Seen` as JSON."""


@attrs.frozen
class Seen:
    """Source columns of merged files, by the names they have now, in lower case.

    Attributes:
        names: the columns.
        whole: they are of all files since the first; else the table is of an earlier version, and there may have been others.
    """

    names: frozenset[str] = frozenset()
    whole: bool = False

    @classmethod
    def from_properties(cls, properties: Mapping[str, str], otherwise: "Seen | None" = None) -> "Seen":
        """Return what a table, or the summary of a snapshot, tells; where it tells nothing ``otherwise``, or that nothing is known."""
        text = properties.get(SEEN_PROPERTY)
        if text is None:
            return otherwise if otherwise is not None else cls()
        document = json.loads(text)
        return cls(frozenset(document["names"]), document["whole"])

    def to_properties(self) -> dict[str, str]:
        """Return the table property."""
        document = {"names": sorted(self.names), "whole": self.whole}
        return {SEEN_PROPERTY: json.dumps(document, ensure_ascii=False, separators=(",", ":"))}

    def plus(self, names: Iterable[str]) -> "Seen":
        """Return this with the columns of further files."""
        return attrs.evolve(self, names=self.names | {name.lower() for name in names})
