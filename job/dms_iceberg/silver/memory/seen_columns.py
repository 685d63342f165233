"""The source columns that a table's files have had: they distinguish a typing error from a column that the source has dropped."""

import json
from collections.abc import Iterable, Mapping

import attrs

SEEN_PROPERTY = "dms-iceberg.source-columns"
"""Table property with a `Seen` as JSON."""


@attrs.frozen
class Seen:
    """Source columns of merged files, by their present names, in lower case.

    Attributes:
        names: the columns.
        gone: those of ``names`` that the newest file lacks; not of JSON lines, which may omit what is NULL.
        found: columns that only files have which are not merged yet.
        own: present names of renamed columns (``renamed_from``) that files have had, and not the former names alone.
    """

    names: frozenset[str] = frozenset()
    gone: frozenset[str] = frozenset()
    found: frozenset[str] = frozenset()
    own: frozenset[str] = frozenset()

    @property
    def every(self) -> frozenset[str]:
        """The columns that any known file has, merged or not."""
        return self.names | self.found

    @classmethod
    def from_properties(cls, properties: Mapping[str, str], otherwise: "Seen | None" = None) -> "Seen":
        """Read what a table, or the summary of a snapshot, records; without a record return ``otherwise``, or that nothing is known."""
        text = properties.get(SEEN_PROPERTY)
        if text is None:
            return otherwise if otherwise is not None else cls()
        document = json.loads(text)
        return cls(frozenset(document["names"]), *(frozenset(document.get(name, ())) for name in ("gone", "found", "own")))

    def to_properties(self) -> dict[str, str]:
        """Return the table property."""
        document = {"names": sorted(self.names)}
        document |= {name: sorted(some) for name, some in (("gone", self.gone), ("found", self.found), ("own", self.own)) if some}
        return {SEEN_PROPERTY: json.dumps(document, ensure_ascii=False, separators=(",", ":"))}

    def renamed(self, former: Iterable[tuple[str, str]]) -> "Seen":
        """Return these columns when files first have the present names of renamed ones; ``former`` are pairs of a former and a new name."""
        # A name that is gone was another column's; the renamed one has it from now on.
        new = {old.lower(): now.lower() for old, now in former if now.lower() not in self.names - self.gone and old.lower() in self.names}
        gone = self.gone - {*new.values()}
        return attrs.evolve(
            self,
            names=frozenset(new.get(name, name) for name in self.names),
            gone=frozenset(new.get(name, name) for name in gone),
        )

    def plus(self, names: Iterable[str], found: Iterable[str] = ()) -> "Seen":
        """Return these columns with those of further files; ``found`` are those of files that are not merged yet."""
        merged = self.names | {name.lower() for name in names}
        return attrs.evolve(self, names=merged, found=(self.found | {name.lower() for name in found}) - merged)
