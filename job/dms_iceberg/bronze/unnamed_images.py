"""Before-images under a prefix or suffix that the configuration does not name.

A source may have columns like that of its own: ``customer_id`` beside ``id``, ``old_status`` beside ``status``. What tells images from them
is that DMS writes one for each key column at least, by one prefix and suffix, behind all other columns.
"""

import re
from collections.abc import Collection, Iterator, Sequence

import attrs

from dms_iceberg.config.images import imaged, sources_of
from dms_iceberg.config.model import Change, Table

OF_DMS = "BI_"
"""The prefix that DMS gives before-images where the mapping rule does not say another (user guide, ``before-image-def``)."""

_WORDS = {"bi", "before", "old", "was", "were", "prev", "previous", "prior", "former", "orig", "original", "pre"}
"""Words by which a name says that its value is what another column had before."""
_ENOUGH = 3
"""So many columns, and all there are, are no other entity's (``customer_id`` and ``customer_name`` beside ``id`` and ``name``)."""


@attrs.frozen
class Affix:
    """What a name has before and behind that of another column."""

    prefix: str = ""
    suffix: str = ""

    @property
    def lower(self) -> "Affix":
        """The same in lower case."""
        return Affix(self.prefix.lower(), self.suffix.lower())

    @property
    def says_before(self) -> bool:
        """Whether one of its words is of `_WORDS`."""
        return any(word in _WORDS for part in (self.prefix, self.suffix) for word in re.split(r"[^a-z]+", part.lower()))


@attrs.frozen
class _Columns:
    """What is known of a file's columns, names in lower case.

    Attributes:
        names: all, in their order in the file, as they are written there.
        free: those of them that nothing says to be a source column.
        known: columns of the source, wherever they are known from; files may have more.
        keys: key columns.
        hidden: columns whose values silver does not show.
        service: columns that DMS adds.
        ordering: those of them that it adds behind the source's columns, where they have their default places.
    """

    names: Sequence[str]
    free: Collection[str]
    known: Collection[str]
    keys: frozenset[str]
    hidden: frozenset[str]
    service: frozenset[str]
    ordering: frozenset[str]

    def bases(self, affix: Affix) -> dict[str, str]:
        """Return the names that ``affix`` makes of known columns, with these."""
        change = Change(before_image_prefix=affix.prefix, before_image_suffix=affix.suffix)
        found = {name: imaged(change, name) for name in self.free}
        return {name: base for name, base in found.items() if base is not None and base in self.known and base not in self.service}

    def affixes(self) -> Iterator[Affix]:
        """Yield what makes a name of a key column or a hidden one."""
        for base in (*sorted(self.keys)[:1], *self.hidden):
            for name in self.free:
                for found in re.finditer(f"(?={re.escape(base)})", name.lower()):
                    if len(name) > len(base):
                        yield Affix(name[: found.start()], name[found.start() + len(base) :])

    def follow(self, images: Collection[str]) -> bool | None:
        """Return whether ``images``, and no other undeclared columns, are behind the service columns; None if the order does not tell.

        JSON lines have none, so their names are sorted.
        """
        folded = [name.lower() for name in self.names]
        last = max((place for place, name in enumerate(folded) if name in self.ordering), default=-1)
        leading = [name for name in folded[: max(last, 0)] if name not in self.service]
        if not leading or folded == sorted(folded) or list(self.names) == sorted(self.names):
            return None
        free = {name.lower() for name in self.free}
        return free.intersection(folded[last + 1 :]) == {name.lower() for name in images}


def unnamed_images(
    names: Sequence[str], change: Change, table: Table, declared: Collection[str], known: Collection[str]
) -> dict[str, Affix]:
    """Return the columns that may be before-images though ``change`` names another prefix and suffix, or none, with those they have.

    Args:
        names: a file's columns, in their order.
        declared: names that the configuration has, in lower case.
        known: columns that are known of the source, in lower case.
    """
    free = [name for name in names if name.lower() not in declared and imaged(change, name) is None]
    hidden = {name.lower() for name in (*table.drop, *(name for one in table.columns if one.mask for name in sources_of(one)))}
    ordering = frozenset(name.lower() for name in (change.sequence_column, change.stream_position_column) if name)
    service = ordering | {name.lower() for name in (change.op_column, change.timestamp_column) if name}
    keys = frozenset(key.lower() for key in table.key)
    free = [name for name in free if name.lower() not in service]
    columns = _Columns(names, free, known, keys, frozenset(hidden), service, ordering)
    found: dict[str, Affix] = {}
    for affix in {one.lower: one for one in (*columns.affixes(), Affix(OF_DMS))}.values():
        found.update(dict.fromkeys(_suspects(affix, columns), affix))
    return found


def _suspects(affix: Affix, columns: _Columns) -> list[str]:
    bases = columns.bases(affix)
    imaged_columns = set(bases.values())
    hidden = [name for name, base in bases.items() if base in columns.hidden]
    if not columns.keys <= imaged_columns:
        return hidden if affix.says_before else []
    if affix.lower == Affix(OF_DMS).lower:
        return list(bases)
    follow = columns.follow(bases)
    others = {name.lower() for name in columns.names} - columns.service - {name.lower() for name in bases}
    is_all = follow is None and others <= imaged_columns and len(others) >= _ENOUGH
    if follow or is_all or (affix.says_before and len(imaged_columns) > 1):
        return list(bases)
    # Of the keys alone, nothing tells `customer_id` from an image.
    beyond_keys = imaged_columns & columns.hidden and imaged_columns - columns.keys
    return hidden if affix.says_before or beyond_keys else []
