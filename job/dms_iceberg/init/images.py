"""Before-images of a table's files: prefix or suffix, found by names *and* values. Pure."""

from collections.abc import Collection, Iterator, Sequence

import attrs

from dms_iceberg.bronze.unnamed_images import OF_DMS, Affix
from dms_iceberg.init.roles import Roles, Samples, Sure
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
    """

    affix: Affix | None
    sure: Sure
    why: str
    columns: tuple[str, ...] = ()
    of_keys: bool = False
    contradicted: tuple[str, ...] = ()


def find_images(samples: Samples, roles: Roles, own: Collection[str] = ()) -> FoundImages:
    """Return the before-images: columns at the end, named after others, that are empty in every insert and loaded row.

    Args:
        own: columns that are known to be the source's.
    """
    names = [name for name in all_names(samples.both) if name not in roles.names]
    contradicted: tuple[str, ...] = ()
    for affix in _affixes(names):
        pairs = [(name, base) for name, base in _pairs(names, affix) if base in names and name not in own]
        images = [name for name, _ in pairs]
        empty, filled, unfilled = _values(samples, roles, images)
        if empty and images and not _at_end(names, images):
            empty = False if affix != Affix(OF_DMS) else empty
        if empty and (filled or affix == Affix(OF_DMS)):
            columns = tuple(base for _, base in pairs)
            how = "updates have earlier values there" if filled else "no sampled update has one, so the name and the place alone say so"
            why = f"columns at the end that are empty in inserts and loaded rows; {how}"
            return FoundImages(
                affix=affix, sure=Sure.CERTAIN if filled else Sure.LIKELY, why=why, columns=columns, of_keys=unfilled or not filled
            )
        if not empty and affix == Affix(OF_DMS):
            contradicted = tuple(images)
    why = "no columns at the end are named after others and empty in inserts"
    if contradicted:
        why = f"{', '.join(contradicted)} has values in inserts, where nothing stood before: taken for a column of the source"
    return FoundImages(affix=None, sure=Sure.CERTAIN, why=why, contradicted=contradicted)


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


def _at_end(names: Sequence[str], images: Sequence[str]) -> bool:
    return set(names[len(names) - len(images) :]) == set(images)


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


def operations(sample: Sample, roles: Roles) -> list[str]:
    """Return the operation of each row; loaded rows are inserts."""
    if not sample.file.is_cdc or roles.op.name not in sample.names:
        return ["I"] * len(sample.rows)
    return [roles.words.get(value or "", "") for value in sample.values(roles.op.name)]
