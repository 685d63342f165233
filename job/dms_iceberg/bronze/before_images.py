"""Which columns of a file are before-images, and the warnings for columns of which that is not certain.

Before-images of key columns show that a row has moved to another key. The others (column-filter ``all`` and ``non-lob``) hold a row's data
again, where no mask and no ``drop`` of the column applies: they must not get into silver. A source may have a column whose name only looks
like a before-image, and files may lack the column that an image belongs to. The order of a file's columns shows which it is. Where it does
not, the file is refused, unless the column is declared or in the table already.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

import attrs

from dms_iceberg.bronze.column_places import Place, Places
from dms_iceberg.bronze.unnamed_images import OF_DMS, Affix, hidden_columns, names_key_images, unnamed_images
from dms_iceberg.config.former_names import key_in_file
from dms_iceberg.config.image_names import affixes, declared_sources, image_settings, imaged, mentioned_sources
from dms_iceberg.config.model import Change, OtherColumns, Table
from dms_iceberg.errors import BronzeError


@attrs.frozen
class Images:
    """Columns of a file that look like before-images, by their names in it.

    Attributes:
        known: before-images of known columns; never in silver.
        doubtful: named like before-images and where these are, but of unknown columns. Left out of silver as well.
        unnamed: with a prefix or suffix that the configuration does not name (`unnamed_images`). Left out of silver as well.
        shown: like ``unnamed``, but the table has them already. They count as the source's own columns.
        found: the prefixes and suffixes of ``unnamed`` and ``shown``, without DMS's default prefix.
        undecided: before-images or columns of the source, and the file does not show which: it is refused. For each the column that it
            would be the image of, and its prefix and suffix.
    """

    known: frozenset[str] = frozenset()
    doubtful: frozenset[str] = frozenset()
    unnamed: frozenset[str] = frozenset()
    shown: frozenset[str] = frozenset()
    found: frozenset[Affix] = frozenset()
    undecided: Mapping[str, tuple[str, Affix]] = attrs.field(factory=dict)

    @property
    def left_out(self) -> frozenset[str]:
        """All columns that are left out of silver."""
        return self.known | self.doubtful | self.unnamed | self.undecided.keys()


class _Known:
    """The known columns of a table's source, in lower case.

    Attributes:
        declared: declared as columns of the source, whatever their names.
        mentioned: the configuration has their names somewhere.
        there: silver has them.
        all: ``mentioned``, ``there``, and the columns of files.
    """

    def __init__(self, table: Table, sources: Iterable[str], existing: Iterable[str]) -> None:
        # A silver column that is computed, or copies one of another name, does not show that the source has a column of its name.
        derived = {column.name.lower() for column in table.columns if (column.source_name or "").lower() != column.name.lower()}
        self.declared = declared_sources(table)
        self.mentioned = mentioned_sources(table)
        self.there = {name.lower() for name in existing} - derived
        self.all = {name.lower() for name in sources} | self.mentioned | self.there

    def bases(self, names: Iterable[str], change: Change) -> dict[str, str]:
        """Return those of ``names`` that look like before-images, with the column that each would belong to."""
        return {name: base for name in names if name.lower() not in self.declared and (base := imaged(change, name)) is not None}


def find_images(
    names: Collection[str],
    change: Change,
    table: Table,
    known: Collection[str] = (),
    existing: Collection[str] = (),
    *,
    ordered: bool = True,
) -> Images:
    """Separate before-images from source columns, ignoring case. A column that the configuration declares is a source column.

    Args:
        names: a file's columns, in their order.
        known: columns of the table's other files. JSON lines may leave out NULLs, and files the columns that the source has dropped.
        existing: the silver table's columns.
        ordered: the format has an order of columns; JSON lines have none.
    """
    found = _Known(table, (*names, *known), existing)
    bases = found.bases(names, change)
    named = _by_place(list(names), change, table, bases, found, ordered=ordered)
    suspects = unnamed_images(list(names), change, table, found.mentioned, found.all, ordered=ordered)
    undecided = {name: affix for name, affix in suspects.undecided.items() if name.lower() not in found.there}
    there = {**suspects.images, **suspects.undecided}
    return Images(
        named.known,
        named.doubtful,
        frozenset(name for name in suspects.images if name.lower() not in found.there),
        frozenset(name for name in there if name.lower() in found.there),
        frozenset(affix for name, affix in there.items() if name not in undecided and affix != Affix(OF_DMS)),
        {**named.undecided, **{name: (_base(name, affix), affix) for name, affix in undecided.items()}},
    )


def _by_place(names: Sequence[str], change: Change, table: Table, bases: Mapping[str, str], found: _Known, *, ordered: bool) -> Images:
    """Return which of ``bases``, that are named as ``change`` says, are before-images by their place in a file."""
    keys = {name.lower() for name in key_in_file(names, table).values()}
    places = Places.of(names, change, keys, ordered=ordered)
    hidden = frozenset[str]() if names_key_images(places, change, keys) else hidden_columns(table)
    affix = Affix(change.before_image_prefix or "", change.before_image_suffix or "")
    known, doubtful, undecided = set[str](), set[str](), dict[str, tuple[str, Affix]]()
    for name, place in places.of_images(bases).items():
        base = bases[name]
        is_known, is_new = base in found.all, name.lower() not in found.mentioned | found.there
        if place is Place.SOURCE:
            # A column of the source. What may be a row's former key, or show what is hidden, is not taken for one by its place alone.
            if base in keys or (base in hidden and is_new):
                undecided[name] = base, affix
        elif is_known:
            known.add(name)
        elif is_new and place is Place.IMAGE:
            doubtful.add(name)
        elif is_new:
            undecided[name] = base, affix
    return Images(frozenset(known), frozenset(doubtful), undecided=undecided)


def _base(name: str, affix: Affix) -> str:
    return name[len(affix.prefix) : len(name) - len(affix.suffix)].lower()


def refuse_undecided(images: Images, example: str, change: Change, table: Table) -> None:
    """Refuse a file with a column that may be a before-image or a column of the source: it would be lost, or show what is hidden.

    Args:
        example: the file, for the message.

    Raises:
        BronzeError: there is such a column.
    """
    for name, (base, affix) in sorted(images.undecided.items()):
        named = affix.lower == Affix(change.before_image_prefix or "", change.before_image_suffix or "").lower
        of_key = named and base in {key.lower() for key in table.key}
        if table.other_columns is OtherColumns.DROP and not of_key:
            # Whatever it is, silver does not get it.
            continue
        hides = f" {base!r} is masked or dropped, so no before-image of it may be shown." if base in hidden_columns(table) else ""
        other = "" if named else " with a prefix or suffix that the document does not name"
        declare = f'declare it in tables."{table.source}".columns, as {{"name": "{name}"}}, with a mask if it needs one'
        # Where the document names both, the column could not be declared.
        settings = " and ".join(f"bronze.change.{key}" for key in image_settings(change))
        prefix = f"set {settings} to what the task writes, or to null if it writes no before-images"
        as_column = f"{prefix if named and base in mentioned_sources(table) else declare}; or leave it out with drop"
        as_image = "leave it out with drop" if named else f"set {_setting([affix])}"
        if of_key:
            as_column, as_image = prefix, "have the files written in the order of DMS, in which before-images come last"
        raise BronzeError(
            f"{example}: the column {name!r} of {table.source} may be a column of the source, or the before-image of {base!r}{other} "
            f"({affixes(change)}), and the file does not show which.{hides} If it is a column of the source, {as_column}. If it is a "
            f"before-image, {as_image}."
        )


def silver_images(existing: Collection[str], change: Change, table: Table, sources: Collection[str]) -> dict[str, str]:
    """Return the silver table's columns that are before-images of a known column, with that column in lower case.

    Args:
        sources: columns of the table's files.
    """
    found = _Known(table, sources, existing)
    # A file has shown by its place that such a column is one of the source.
    own = {name.lower() for name in sources}
    bases = found.bases((name for name in existing if name.lower() in found.there - own), change)
    return {name: base for name, base in bases.items() if base in found.all}


def image_warnings(table: Table, change: Change, found: Iterable[Images], retired: Mapping[str, str]) -> list[str]:
    """Return warnings for the operator about columns that look like before-images.

    Args:
        found: what `find_images` returned, for each group of files.
        retired: columns of the silver table that are before-images, with the column that each belongs to.
    """
    found = list(found)
    keeps = table.other_columns is OtherColumns.KEEP
    doubtful = sorted({name for one in found for name in one.doubtful}) if keeps else []
    unnamed = sorted({name for one in found for name in one.unnamed}) if keeps else []
    shown = sorted({name for one in found for name in one.shown})
    given = affixes(change)
    setting = _setting(affix for one in found for affix in one.found)
    declare = f'declare it in tables."{table.source}".columns, as {{"name": "..."}}'
    warnings = [
        f"{table.source}: the files have a column {name!r}, which looks like the before-image of a column {imaged(change, name)!r} "
        f"({given}), though nothing knows such a column. It is not added to {table.target}. If it is a column of the source, {declare}; if "
        "it is a before-image, leave it out with drop."
        for name in doubtful
    ]
    if unnamed:
        warnings.append(
            f"{table.source}: the columns {', '.join(map(repr, unnamed))} of the files look like before-images, but {given}. They are not "
            f"added to {table.target}, and a change of a key leaves the old row behind. Set {setting}; if one of them is a column of the "
            f"source, {declare}."
        )
    if shown:
        warnings.append(
            f"{table.source}: {table.target} has the columns {', '.join(map(repr, shown))}, which look like before-images, but {given}. "
            f"They show values as the source has them, whatever mask or drop says of their columns. Set {setting} and remove them with "
            f"ALTER TABLE ... DROP COLUMN; if one of them is a column of the source, {declare}."
        )
    return warnings + [
        f"{table.source}: {table.target} has the column {name!r}, the before-image of {base!r} ({given}): it shows values of {base!r} as "
        "they were at the source, whatever mask or drop says of that column. It is NULL in every row that is written from now on; others "
        "keep their value. Remove it with ALTER TABLE ... DROP COLUMN; its values are gone for good when the snapshots before that have "
        f"expired. If it is a column of the source, {declare}, or choose another prefix, in the mapping rule and here."
        for name, base in retired.items()
    ]


def _setting(found: Iterable[Affix]) -> str:
    """Return the settings by which columns with one of these prefixes and suffixes are before-images, for messages."""
    texts = set()
    for affix in set(found) or {Affix(OF_DMS)}:
        named = {"prefix": affix.prefix, "suffix": affix.suffix}
        texts.add(" and ".join(f"bronze.change.before_image_{kind} to {text!r}" for kind, text in named.items() if text))
    return ", or ".join(sorted(texts))
