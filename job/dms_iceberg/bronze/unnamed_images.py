"""Before-images with a prefix or suffix that the configuration does not name.

A source may itself have columns like that: ``customer_id`` beside ``id``, ``old_status`` beside ``status``. Images differ from these in
that DMS writes at least one for each key column, with one prefix and suffix, after all other columns. Where the order of a file's columns
does not show which they are, nothing does.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence

import attrs

from dms_iceberg.bronze.column_places import Place, Places
from dms_iceberg.config.former_names import former_names, key_in_file
from dms_iceberg.config.image_names import image_of, imaged, sources_of
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

    def is_apart(self, name: str) -> bool:
        """Whether it is a word of its own in ``name``, as in ``old_age`` and ``oldAge``: ``bi`` is none in ``big``."""
        begin, end = len(self.prefix), len(name) - len(self.suffix)
        joints = [*([name[begin - 1 : begin + 1]] if self.prefix else []), *([name[end - 1 : end + 1]] if self.suffix else [])]
        return all(not joint.isalnum() or joint[0].isupper() != joint[1].isupper() for joint in joints)


@attrs.frozen
class Unnamed:
    """Columns like before-images whose prefix and suffix the configuration does not name, each with its `Affix`.

    Attributes:
        images: the file shows that they are before-images.
        undecided: they may be before-images or columns of the source.
    """

    images: Mapping[str, Affix] = attrs.field(factory=dict)
    undecided: Mapping[str, Affix] = attrs.field(factory=dict)


@attrs.frozen
class _Columns:
    """A file's columns by what is known about them. Names are in lower case, except those of ``names`` and ``free``.

    Attributes:
        names: all columns, in the order and spelling of the file.
        free: columns that are neither declared, nor service columns, nor named before-images.
        known: known columns of the source; files may have more.
        keys: key columns.
        hidden: columns whose values silver does not show, because they are dropped or masked.
        places: where they stand.
        named: each key column has a before-image with the prefix and suffix that the configuration names, where images stand.
    """

    names: Sequence[str]
    free: Collection[str]
    known: Collection[str]
    keys: frozenset[str]
    hidden: frozenset[str]
    places: Places
    named: bool

    def bases(self, affix: Affix) -> dict[str, str]:
        """Return the columns whose names are a known column's name with ``affix``, each with that column."""
        change = Change(before_image_prefix=affix.prefix, before_image_suffix=affix.suffix)
        found = {name: imaged(change, name) for name in self.free}
        service = self.places.service
        return {name: base for name, base in found.items() if base is not None and base in self.known and base not in service}

    def affixes(self) -> Iterator[Affix]:
        """Yield the affixes that turn the name of a key column or hidden column into the name of a free column."""
        for base in (*sorted(self.keys)[:1], *self.hidden):
            for name in self.free:
                for found in re.finditer(f"(?={re.escape(base)})", name.lower()):
                    if len(name) > len(base):
                        yield Affix(name[: found.start()], name[found.start() + len(base) :])


def hidden_columns(table: Table) -> frozenset[str]:
    """Return, in lower case, the source columns whose values silver does not show, because they are dropped or masked."""
    masked = {name.lower() for one in table.columns if one.mask for name in sources_of(one)}
    former = {old.lower() for old, new in former_names(table) if new.lower() in masked}
    return frozenset({name.lower() for name in table.drop} | masked | former)


def names_key_images(places: Places, change: Change, keys: Collection[str]) -> bool:
    """Whether each key column has the before-image that ``change`` names, where images stand: so the file has no others."""
    images = {image.lower() for key in keys if (image := image_of(change, key)) is not None}
    there = places.of_images(images & set(places.names))
    return bool(images) and len(there) == len(images) == len(keys) and Place.SOURCE not in there.values()


def unnamed_images(
    names: Sequence[str], change: Change, table: Table, declared: Collection[str], known: Collection[str], *, ordered: bool = True
) -> Unnamed:
    """Return columns that may be before-images though ``change`` names another prefix and suffix, or none.

    Args:
        names: a file's columns, in their order.
        declared: names that the configuration has, in lower case.
        known: known columns of the source, in lower case.
        ordered: the format has an order of columns; JSON lines have none.
    """
    keys = frozenset(name.lower() for name in key_in_file(names, table).values())
    places = Places.of(names, change, keys, ordered=ordered)
    free = [name for name in names if name.lower() not in declared and imaged(change, name) is None and name.lower() not in places.service]
    columns = _Columns(names, free, known, keys, hidden_columns(table), places, names_key_images(places, change, keys))
    images, undecided = dict[str, Affix](), dict[str, Affix]()
    for affix in {one.lower: one for one in (*columns.affixes(), Affix(OF_DMS))}.values():
        bases = columns.bases(affix)
        of = places.of_images(bases)
        for place in Place:
            here = {name: base for name, base in bases.items() if of[name] is place}
            found = _suspects(affix, here, columns, place)
            (images if found.certain else undecided).update(dict.fromkeys(found.names, affix))
    return Unnamed(images, {name: affix for name, affix in undecided.items() if name not in images})


@attrs.frozen
class _Suspects:
    """Columns that look like images, and whether the file shows that they are."""

    names: Collection[str] = ()
    certain: bool = False


def _suspects(affix: Affix, bases: Mapping[str, str], columns: _Columns, place: Place) -> _Suspects:
    """Return which of the columns ``bases``, that all stand at one ``place``, look like images of these."""
    hidden = [name for name, base in bases.items() if base in columns.hidden]
    imaged_columns = set(bases.values())
    all_keys = columns.keys <= imaged_columns
    match place:
        case Place.IMAGE:
            return _behind(affix, bases, hidden, columns, all_keys=all_keys)
        case Place.SOURCE:
            # By its place no image: only what silver hides is not shown on that alone.
            looks = _looks_like_images(affix, bases, columns, all_keys=all_keys) if hidden and not columns.named else ()
            return _Suspects([name for name in hidden if name in looks])
        case _:
            # Images of the named prefix and suffix show that there are no others, unless these are of the key as well.
            return (
                _Suspects() if columns.named and not all_keys else _Suspects(_looks_like_images(affix, bases, columns, all_keys=all_keys))
            )


def _behind(affix: Affix, bases: Mapping[str, str], hidden: Sequence[str], columns: _Columns, *, all_keys: bool) -> _Suspects:
    """Return the suspects among columns that stand where images are. There they are images, or columns of other ``add-column`` rules."""
    if not all_keys:
        apart = [name for name in hidden if affix.is_apart(name)]
        if columns.named:
            return _Suspects(apart if affix.says_before else ())
        return _Suspects(apart, certain=affix.says_before)
    free = {name.lower() for name in columns.free}
    are_alone = free & columns.places.behind() == {name.lower() for name in bases}
    beyond_keys = set(bases.values()) - columns.keys
    if affix.lower == Affix(OF_DMS).lower or are_alone or (beyond_keys and (affix.says_before or hidden)):
        return _Suspects(list(bases), certain=True)
    return _Suspects(hidden)


def _looks_like_images(affix: Affix, bases: Mapping[str, str], columns: _Columns, *, all_keys: bool) -> Collection[str]:
    """Return which of ``bases`` look like images by their names alone."""
    hidden = [name for name, base in bases.items() if base in columns.hidden]
    if not all_keys:
        return [name for name in hidden if affix.says_before and affix.is_apart(name)]
    if affix.lower == Affix(OF_DMS).lower:
        return list(bases)
    imaged_columns = set(bases.values())
    others = {name.lower() for name in columns.names} - columns.places.service - {name.lower() for name in bases}
    if (others <= imaged_columns and len(others) >= _ENOUGH) or (affix.says_before and len(imaged_columns) > 1):
        return list(bases)
    # If only key columns have a counterpart, nothing distinguishes `customer_id` from an image.
    beyond_keys = imaged_columns & columns.hidden and imaged_columns - columns.keys
    return hidden if affix.says_before or beyond_keys else []
