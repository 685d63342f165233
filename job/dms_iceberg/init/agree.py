"""The one ``bronze`` section for all tables, and the tables that it does not fit. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from dms_iceberg.bronze.unnamed_images import Affix
from dms_iceberg.config.model import BeforeImage, Bronze, BronzeFormat, Change, Csv
from dms_iceberg.init.csv_form import CsvForm
from dms_iceberg.init.finding import TableFinding
from dms_iceberg.init.history import format_of
from dms_iceberg.init.role import Sure

_T = TypeVar("_T")
OWN_DOCUMENT = "Give it a document of its own: init --table with its name"


def bronze_of(uri: str, tables: Sequence[TableFinding], form: CsvForm, format_: str) -> Bronze:
    """Return the section that fits most tables."""
    sound = [one for one in tables if not one.problems]
    affix = _most(one.images.affix for one in sound) or Affix()
    words = {word: meaning for one in sound for word, meaning in one.roles.words.items()}
    change = Change(
        op_column=_most(one.roles.op.name for one in sound) or Change().op_column,
        op_words=words or Change().op_words,
        timestamp_column=_most(one.roles.timestamp.name for one in sound),
        sequence_column=_most(one.roles.sequence.name for one in sound),
        stream_position_column=_most(one.roles.stream.name for one in sound),
        before_image_prefix=affix.prefix or None,
        before_image_suffix=affix.suffix or None,
        before_image=BeforeImage.OPTIONAL if form.header is False and _some_lack(sound, affix) else BeforeImage.REQUIRED,
        load_without_op=any(one.roles.op_in_load is False for one in sound),
    )
    csv = Csv(header=form.header is not False, delimiter=form.delimiter, rfc4180=form.rfc4180, null=form.null)
    return Bronze(uri=uri, format=BronzeFormat(format_), csv=csv, change=change)


def _some_lack(tables: Sequence[TableFinding], affix: Affix) -> bool:
    """Whether before-images are absent from some files, and the sequence shows it."""
    return affix != Affix() and any(one.roles.sequence.name is not None for one in tables) and any(map(lacks_images, tables))


def lacks_images(table: TableFinding) -> bool:
    """Whether a sampled file with rows has no before-images."""
    images = table.images.names
    return any(images.isdisjoint(sample.names) for sample in table.samples.both)


def lone_times(tables: Sequence[TableFinding]) -> frozenset[str]:
    """Return columns that look like commit times, where most tables have none: the endpoint gives it to all tables or to none."""
    with_changes = [one.roles.timestamp for one in tables if one.samples.changes and not one.problems]
    names = {role.name for role in with_changes if role.name is not None and role.sure is Sure.LIKELY}
    certain = {role.name for role in with_changes if role.sure is Sure.CERTAIN}
    missing = sum(role.name is None for role in with_changes)
    counts = Counter(role.name for role in with_changes)
    return frozenset(name for name in names - certain if name is not None and missing >= counts[name])


def _most(values: Iterable[_T | None]) -> _T | None:
    found = Counter(value for value in values if value is not None)
    return found.most_common(1)[0][0] if found else None


def main_format(extensions: Iterable[str]) -> str:
    """Return the format that most files have."""
    return Counter(map(format_of, extensions)).most_common(1)[0][0]


def _is_elsewhere(table: TableFinding, name: str) -> bool:
    """Whether a column of a table has values, and does not stand first or second, where DMS writes the operation and the commit time."""
    samples = table.samples.both
    return name in table.columns and any(one.names.index(name) > 1 and any(one.values(name)) for one in samples if name in one.names)


def disagreements(table: TableFinding, bronze: Bronze) -> Iterator[str]:
    """Yield why the section does not fit a table."""
    roles, change = table.roles, bronze.change
    if format_of((*table.files.load, *table.files.changes)[0].extension) != bronze.format.value:
        yield f"its files are not {bronze.format.value}, as those of most tables. {OWN_DOCUMENT}"
    named = (
        ("op_column", roles.op.name, change.op_column),
        ("timestamp_column", roles.timestamp.name, change.timestamp_column),
        ("sequence_column", roles.sequence.name, change.sequence_column),
    )
    for setting, own, common in named:
        if own is not None and own != common:
            yield f"its {setting} is {own}, and that of most tables {common}. {OWN_DOCUMENT}"
        elif own is None and common is not None and _is_elsewhere(table, common):
            yield f"its column {common} is one of the source, and most tables have their {setting} there. {OWN_DOCUMENT}"
    has_order = bool(change.timestamp_column or change.sequence_column)
    if table.samples.changes and not table.has_order and has_order:
        others = " and ".join(name for name in (change.sequence_column, change.timestamp_column) if name)
        yield f"its changes have neither a sequence nor a commit time, and those of other tables have {others}. {OWN_DOCUMENT}"
    affix = Affix(change.before_image_prefix or "", change.before_image_suffix or "")
    if table.images.affix is not None and table.images.affix != affix:
        yield f"its before-images begin or end otherwise than those of most tables. {OWN_DOCUMENT}"
    is_named = affix == Affix() or change.before_image is BeforeImage.OPTIONAL or bronze.format is not BronzeFormat.CSV or bronze.csv.header
    if not is_named and lacks_images(table):
        yield f"some of its files have no before-images, unlike those of most tables, and no header shows which. {OWN_DOCUMENT}"
