"""Before-images of a table's files: prefix or suffix, found by names *and* values. Pure."""

from collections.abc import Collection, Iterator, Sequence

import attrs

from dms_iceberg.bronze.unnamed_images import OF_DMS, Affix
from dms_iceberg.init.earlier_values import are_earlier_values, contradict_earlier_values, operations
from dms_iceberg.init.role import Roles, Samples, Sure
from dms_iceberg.init.samples import Sample, all_names


@attrs.frozen(kw_only=True)
class FoundImages:
    """The before-images of a table.

    Attributes:
        affix: what their names have before and after those of their columns; None without any.
        columns: the columns that have one.
        of_keys: an update without any was seen, or none with one: they may be those of key columns (``pk-only``). With the filter
            ``all`` every update has some.
        contradicted: columns that are named like before-images, but have values where nothing stood before.
        doubts: columns that may be before-images, and why they are taken for the source's.
    """

    affix: Affix | None
    sure: Sure
    why: str
    columns: tuple[str, ...] = ()
    of_keys: bool = False
    contradicted: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()

    @property
    def names(self) -> frozenset[str]:
        """The before-images' own names."""
        return (
            frozenset(f"{self.affix.prefix}{base}{self.affix.suffix}" for base in self.columns) if self.affix is not None else frozenset()
        )


def find_images(samples: Samples, roles: Roles, own: Collection[str] = (), *, complete: bool = False) -> FoundImages:
    """Return the before-images: the last columns, named after others in their order, that are empty in every insert and loaded row.

    A source has columns like that as well: ``replaced_by_id`` beside ``id``. So they must stand after the sequence and the stream position
    where these are, and where they do not begin with DMS's own prefix, updates must show that they are what a row was before.

    Args:
        own: columns that are known to be the source's.
        complete: the samples are all files of the table.
    """
    names = [name for name in all_names(samples.both) if name not in roles.names]
    contradicted: tuple[str, ...] = ()
    doubts = list[str]()
    for affix in _affixes(names):
        pairs = [(name, base) for name, base in _pairs(names, affix) if base in names and name not in own]
        images = [name for name, _ in pairs]
        if not images:
            continue
        empty, filled, unfilled = _values(samples, roles, images)
        of_dms = affix == Affix(OF_DMS)
        if not empty:
            contradicted = tuple(images) if of_dms else contradicted
            continue
        in_place = _are_last(samples, roles, pairs, of_dms=of_dms)
        after_added = in_place and any(_added(sample, roles) for sample in samples.changes)
        if in_place and (of_dms or (filled and are_earlier_values(samples, roles, pairs, sure=after_added or complete))):
            against = filled and of_dms and contradict_earlier_values(samples, roles, pairs)
            how = "updates have values there" if filled else "no sampled update has one, so the name and the place alone say so"
            return FoundImages(
                affix=affix,
                sure=Sure.DOUBTFUL if against else Sure.CERTAIN if filled else Sure.LIKELY,
                why=f"columns at the end that are empty in inserts and loaded rows; {how}",
                columns=tuple(base for _, base in pairs),
                of_keys=unfilled or not filled,
                doubts=(_to_decide(images),) if against else (),
            )
        if filled and (in_place or of_dms or affix.says_before) and not doubts:
            doubts.append(_doubt(images, affix, in_place=in_place))
    why = "no columns at the end are named after others, empty in inserts, and shown to be what rows were before"
    if contradicted:
        why = f"{', '.join(contradicted)} has values in inserts, where nothing stood before: taken for a column of the source"
    return FoundImages(affix=None, sure=Sure.DOUBTFUL if doubts else Sure.CERTAIN, why=why, contradicted=contradicted, doubts=tuple(doubts))


def _doubt(images: Sequence[str], affix: Affix, *, in_place: bool) -> str:
    setting = " and ".join(
        f"bronze.change.before_image_{part} to {text}" for part, text in (("prefix", affix.prefix), ("suffix", affix.suffix)) if text
    )
    against = "no update shows that it is what the row was before" if in_place else "it does not stand where DMS writes these"
    return (
        f"{', '.join(images)} is named like a before-image and empty in inserts, but {against}: taken for a column of the source. If a "
        f"mapping rule writes before-images there, set {setting}"
    )


def _to_decide(images: Sequence[str]) -> str:
    return (
        f"to decide: {', '.join(images)} is taken for a before-image, as it is named and placed like those of DMS, but a sampled update "
        "of a row has a value there that is no earlier one of it. If it is a column of the source, set bronze.change.before_image_prefix "
        "to null before the first run: else such an update removes the row that has the value as its key, and silver lacks the column. If "
        "the task's rule add-before-image-columns writes it, leave it: else old keys would stay in silver"
    )


def _affixes(names: Sequence[str]) -> Iterator[Affix]:
    """Yield what the last column has more than another one: DMS's own prefix first."""
    found = [Affix(OF_DMS)] if any(name.startswith(OF_DMS) and name.removeprefix(OF_DMS) in names for name in names) else []
    last = names[-1] if names else ""
    for base in sorted(names[:-1], key=len, reverse=True):
        if base and base != last and (place := last.find(base)) >= 0:
            found.append(Affix(last[:place], last[place + len(base) :]))
    yield from dict.fromkeys(found)


def _pairs(names: Sequence[str], affix: Affix) -> Iterator[tuple[str, str]]:
    for name in names:
        if name.startswith(affix.prefix) and name.endswith(affix.suffix) and len(name) > len(affix.prefix) + len(affix.suffix):
            yield name, name[len(affix.prefix) : len(name) - len(affix.suffix)]


def _added(sample: Sample, roles: Roles) -> list[str]:
    """Return the columns of mapping rules that a file has. DMS writes them after the source's columns and before the images."""
    return [name for name in (roles.sequence.name, roles.stream.name) if name in sample.names]


def _are_last(samples: Samples, roles: Roles, pairs: Sequence[tuple[str, str]], *, of_dms: bool) -> bool:
    """Whether the images that a file has are its last columns, in the order of the columns they are of, in every file."""
    for sample in samples.both:
        there = {name: base for name, base in pairs if name in sample.names}
        if not there:
            continue
        places = [sample.names.index(name) for name in there]
        if any(sample.names.index(name) > min(places) for name in _added(sample, roles)):
            return False
        if of_dms and sample.file.extension.startswith("json"):
            # JSON may leave out what is NULL, so names come in the order of the first rows that have them.
            continue
        last = sample.names[len(sample.names) - len(there) :]
        bases = [sample.names.index(there[name]) if there[name] in sample.names else -1 for name in last if name in there]
        if set(last) != set(there) or bases != sorted(bases):
            return False
    return True


def _values(samples: Samples, roles: Roles, images: Sequence[str]) -> tuple[bool, bool, bool]:
    """Return whether inserts and loaded rows have nothing in these columns, whether an update has something, and whether one has not."""
    filled = unfilled = False
    for sample in samples.both:
        places = [sample.names.index(name) for name in images if name in sample.names]
        for row, operation in zip(sample.rows, operations(sample, roles), strict=True):
            if any(row[place] for place in places):
                if operation == "I":
                    return False, filled, unfilled
                filled = filled or operation == "U"
            else:
                unfilled = unfilled or operation == "U"
    return True, filled, unfilled
