"""Before-images with a prefix or suffix that the configuration does not name.

A source may itself have columns like that: ``customer_id`` beside ``id``, ``old_status`` beside ``status``. Images differ from these in
that DMS writes at least one for each key column, with one prefix and suffix, after all other columns.
"""

import re
from collections.abc import Collection, Iterator, Sequence

import attrs

from dms_iceberg.config.former_names import former_names, key_in_file
from dms_iceberg.config.image_names import imaged, sources_of
from dms_iceberg.config.model import Change, Table

OF_DMS = "BI_"
"""The prefix that DMS gives before-images where the mapping rule does not set another (user guide, ``before-image-def``)."""

_WORDS = {"bi", "before", "old", "was", "were", "prev", "previous", "prior", "former", "orig", "original", "pre"}
"""Words in a name which suggest that its value is the earlier value of another column."""
_ENOUGH = 3
"""If all columns have an image-like counterpart, and they are at least so many, the counterparts are not columns of another entity
(``customer_id`` and ``customer_name`` beside ``id`` and ``name``)."""


@attrs.frozen
class Affix:
    """What a name has before and after the name of another column."""

    prefix: str = ""
    suffix: str = ""

    @property
    def lower(self) -> "Affix":
        """The same in lower case."""
        return Affix(self.prefix.lower(), self.suffix.lower())

    @property
    def says_before(self) -> bool:
        """Whether one of its words is in `_WORDS`."""
        return any(word in _WORDS for part in (self.prefix, self.suffix) for word in re.split(r"[^a-z]+", part.lower()))


@attrs.frozen
class _Columns:
    """A file's columns by what is known about them. Names are in lower case, except those of ``names`` and ``free``.

    Attributes:
        names: all columns, in the order and spelling of the file.
        free: columns that are neither declared, nor service columns, nor named before-images.
        known: known columns of the source; files may have more.
        keys: key columns.
        hidden: columns whose values silver does not show, because they are dropped or masked.
        service: columns that DMS adds.
        ordering: service columns that DMS adds after the source's columns, if they have their default places.
    """

    names: Sequence[str]
    free: Collection[str]
    known: Collection[str]
    keys: frozenset[str]
    hidden: frozenset[str]
    service: frozenset[str]
    ordering: frozenset[str]

    def bases(self, affix: Affix) -> dict[str, str]:
        """Return the columns whose names are a known column's name with ``affix``, each with that column."""
        change = Change(before_image_prefix=affix.prefix, before_image_suffix=affix.suffix)
        found = {name: imaged(change, name) for name in self.free}
        return {name: base for name, base in found.items() if base is not None and base in self.known and base not in self.service}

    def affixes(self) -> Iterator[Affix]:
        """Yield the affixes that turn the name of a key column or hidden column into the name of a free column."""
        for base in (*sorted(self.keys)[:1], *self.hidden):
            for name in self.free:
                for found in re.finditer(f"(?={re.escape(base)})", name.lower()):
                    if len(name) > len(base):
                        yield Affix(name[: found.start()], name[found.start() + len(base) :])

    def follow(self, images: Collection[str]) -> bool | None:
        """Return whether ``images``, and no other free columns, follow the service columns; None if the order does not show it.

        JSON lines have no order, so their names are sorted.
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
    """Return columns that may be before-images though ``change`` names another prefix and suffix, or none, each with its `Affix`.

    Args:
        names: a file's columns, in their order.
        declared: names that the configuration has, in lower case.
        known: known columns of the source, in lower case.
    """
    free = [name for name in names if name.lower() not in declared and imaged(change, name) is None]
    masked = {name.lower() for one in table.columns if one.mask for name in sources_of(one)}
    hidden = {name.lower() for name in table.drop} | masked | {old.lower() for old, new in former_names(table) if new.lower() in masked}
    ordering = frozenset(name.lower() for name in (change.sequence_column, change.stream_position_column) if name)
    service = ordering | {name.lower() for name in (change.op_column, change.timestamp_column) if name}
    keys = frozenset(name.lower() for name in key_in_file(names, table).values())
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
    # If only key columns have a counterpart, nothing distinguishes `customer_id` from an image.
    beyond_keys = imaged_columns & columns.hidden and imaged_columns - columns.keys
    return hidden if affix.says_before or beyond_keys else []
