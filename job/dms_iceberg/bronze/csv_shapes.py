"""Compares the values in columns of CSV without a header with the columns that the configuration expects. Pure.

DMS's order in a row is: operation, commit time, the source's columns, then those of ``add-column`` rules, then before-images (seen in files
of real tasks).
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from itertools import combinations

import attrs

from dms_iceberg.bronze.position import is_sequence
from dms_iceberg.bronze.unnamed_images import OF_DMS
from dms_iceberg.config.former_names import former_names, key_in_file
from dms_iceberg.config.image_names import image_of, image_settings
from dms_iceberg.config.key_columns import key_column
from dms_iceberg.config.model import BeforeImage, Bronze, Table
from dms_iceberg.config.service_columns import is_sequenced
from dms_iceberg.sql.types import canonical

Record = Sequence[str]

STREAM_POSITION = r"(?![0-9]{4}-[0-9]{2}-[0-9]{2})(?=.*[0-9])[ !#-?A-Z\[-~]{1,512}"
"""A regular expression of Python and Java for a position in a source's log: ``0/16B3748`` (PostgreSQL), ``mysql-bin.000024:373``, an SCN.

Not all forms are known, so whatever has a digit and is neither a date nor has an ``@`` or quotes may be one."""

TIME = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}.*")
WHOLE = re.compile(r"[+-]?[0-9]+")
NUMBER = re.compile(r"[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]+)?")
DATE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}.*")
_POSITION = re.compile(STREAM_POSITION)


def is_stream_position(text: str) -> bool:
    """Whether a text may be a position in a source's log."""
    return _POSITION.fullmatch(text) is not None and not is_sequence(text)


class Role(StrEnum):
    """The purpose of a column."""

    OPERATION = "operation"
    TIME = "time"
    SOURCE = "source"
    SEQUENCE = "sequence"
    STREAM = "stream"
    IMAGE = "image"


@attrs.frozen
class FileColumn:
    """A column of a file without a header.

    Attributes:
        setting: the configuration key that names it, "" for source columns.
    """

    name: str
    role: Role = Role.SOURCE
    setting: str = ""


@attrs.frozen
class Found:
    """How many values of a column fit its role, and how many do not. Empty values do not count in most columns."""

    fit: int
    unfit: int

    @property
    def contradicts(self) -> bool:
        """Whether more values contradict the role than fit it."""
        return self.unfit > self.fit


def key_type(table: Table, key: str) -> str | None:
    """Return the declared type of a key column of CSV, None where its values may be any text (string, binary, no type, or an ``expr``)."""
    column = key_column(table, key)
    if column is None or column.expr is not None or column.type is None:
        return None
    type_ = canonical(column.type)
    return None if type_ in ("string", "binary") else type_


def key_images(names: Iterable[str], bronze: Bronze, table: Table) -> dict[str, str]:
    """Return the before-images of the key among ``names``, by key column. A file from before a rename has those of the former name.

    A file from after it may have them as well, where the task renames the column and not its image.
    """
    by_name = {name.lower(): name for name in names}
    former = {new.lower(): old for old, new in former_names(table)}
    found = {}
    for key, name in key_in_file(by_name, table).items():
        images = [image_of(bronze.change, one) for one in (name, former.get(key.lower(), name))]
        there = [by_name[image.lower()] for image in images if image is not None and image.lower() in by_name]
        found.update({key: there[0]} if there else {})
    return found


class Imaged(StrEnum):
    """Which columns have a before-image: those of the key (column-filter ``pk-only``), all, or none."""

    KEY = "key"
    ALL = "all"
    NONE = "none"


def possible_columns(bronze: Bronze, table: Table, *, is_cdc: bool) -> list[tuple[FileColumn, ...]]:
    """Return every list of columns that the configuration allows a file, each of another length, the one of `expected_columns` first.

    Without a sequence, whose place shows that no source column was added or dropped, there is only that one.
    """
    kinds = [Imaged.KEY]
    if bronze.change.sequence_column:
        kinds += [Imaged.ALL, *([Imaged.NONE] if bronze.change.before_image is BeforeImage.OPTIONAL else [])]
    found = [expected_columns(bronze, table, is_cdc=is_cdc, imaged=kind) for kind in kinds]
    return list({len(columns): columns for columns in reversed(found)}.values())[::-1]


def expected_columns(bronze: Bronze, table: Table, *, is_cdc: bool, imaged: Imaged = Imaged.KEY) -> tuple[FileColumn, ...]:
    """Return the columns that a file has by the configuration, in DMS's order; before-images are in the order of the source's columns."""
    change = bronze.change
    keys = {key.lower(): key for key in table.key if imaged is not Imaged.NONE}
    keys |= {name.lower(): name for name in table.source_columns if imaged is Imaged.ALL and name.lower() not in keys}
    columns = [FileColumn(change.op_column, Role.OPERATION, "load_without_op")] if is_cdc or not change.load_without_op else []
    if change.timestamp_column:
        columns.append(FileColumn(change.timestamp_column, Role.TIME, "timestamp_column"))
    columns += [FileColumn(name) for name in table.source_columns]
    if change.sequence_column:
        columns.append(FileColumn(change.sequence_column, Role.SEQUENCE, "sequence_column"))
    if change.stream_position_column:
        columns.append(FileColumn(change.stream_position_column, Role.STREAM, "stream_position_column"))
    in_order = [keys[name.lower()] for name in table.source_columns if name.lower() in keys]
    setting = " and ".join(image_settings(change))
    columns += [FileColumn(image, Role.IMAGE, setting) for key in in_order if (image := image_of(change, key)) is not None]
    return tuple(columns)


def examine(columns: Sequence[FileColumn], records: Sequence[Record], bronze: Bronze, *, is_cdc: bool) -> list[Found]:
    """Return for each column how many values in ``records`` fit its role; each record must have ``len(columns)`` fields."""
    words = bronze.change.op_words
    place = next((number for number, column in enumerate(columns) if column.role is Role.OPERATION), None)
    operations = ["I" if place is None else words.get(record[place], "") for record in records]
    found = []
    for number, column in enumerate(columns):
        cells = ["" if record[number] in _absent(column, bronze) else record[number] for record in records]
        found.append(_examine(column, cells, operations, words, is_cdc=is_cdc))
    return found


def _absent(column: FileColumn, bronze: Bronze) -> set[str]:
    return {"", bronze.csv.null} | ({bronze.csv.no_supplement or ""} if column.role is Role.IMAGE else set())


def _examine(column: FileColumn, cells: Sequence[str], operations: Sequence[str], words: dict[str, str], *, is_cdc: bool) -> Found:
    match column.role:
        case Role.SOURCE:
            return Found(0, 0)
        case Role.OPERATION:
            fits = [cell in words for cell in cells]
        case Role.IMAGE:
            # Inserts and loaded rows have no before-image. A value that does not fit the key may have been a bad key.
            fits = [is_cdc and op != "I" for cell, op in zip(cells, operations, strict=True) if cell]
        case Role.STREAM:
            fits = [is_stream_position(cell) for cell in cells if cell]
            if is_cdc and any(fits):
                # All changes have a stream position, or none has; before-images may be empty in some.
                fits += [False] * cells.count("")
        case Role.SEQUENCE:
            fits = [is_sequence(cell) for cell in cells if cell or is_cdc]
        case Role.TIME:
            fits = [TIME.fullmatch(cell) is not None for cell in cells if cell]
    return Found(fits.count(True), fits.count(False))


def readings(columns: Sequence[FileColumn], records: Sequence[Record], bronze: Bronze, *, is_cdc: bool) -> list[tuple[str, ...]]:
    """Return the smallest sets of settings such that the records fit without the columns that these name, the likeliest set first.

    The columns that belong to one setting are in the files together or not at all. A column whose values are clearly there is not left out.
    """
    seen = [{_shape(cell, bronze) for cell in cells} for cells in zip(*records, strict=True)]
    there = {
        "load_without_op": is_cdc or seen[0] == {"operation"},
        "timestamp_column": {"time"} in seen[:2],
        "sequence_column": {"sequence"} in seen,
        "stream_position_column": {"log position"} in seen,
    }
    # Columns that give changes their order are the least likely to be missing.
    settings = [column.setting for column in reversed(columns) if column.setting and not there.get(column.setting, False)]
    for count in range(1, len(set(settings)) + 1):
        fitting = []
        for absent in combinations(dict.fromkeys(settings), count):
            left = [column for column in columns if column.setting not in absent]
            if len(left) == len(seen) and not any(found.contradicts for found in examine(left, records, bronze, is_cdc=is_cdc)):
                fitting.append(absent)
        if fitting:
            return fitting
    return []


def image_readings(records: Sequence[Record], bronze: Bronze, table: Table, *, is_cdc: bool) -> list[str]:
    """Return the settings with which the records fit if some files have before-images and others none; empty where none would help."""
    change = bronze.change
    named = bool(image_settings(change))
    if not change.sequence_column or (named and change.before_image is BeforeImage.OPTIONAL):
        return []
    prefixed = change if named else attrs.evolve(change, before_image_prefix=OF_DMS)
    allowed = attrs.evolve(bronze, change=attrs.evolve(prefixed, before_image=BeforeImage.OPTIONAL))
    for columns in possible_columns(allowed, table, is_cdc=is_cdc):
        if len(columns) == len(records[0]) and not any(one.contradicts for one in examine(columns, records, bronze, is_cdc=is_cdc)):
            texts = [f"bronze.change.before_image_prefix to {OF_DMS!r} (or to the one of the mapping rule)"] if not named else []
            return [*texts, "bronze.change.before_image to 'optional'"]
    return []


def has_empty_images(names: Sequence[str], records: Sequence[Record], bronze: Bronze, table: Table) -> bool:
    """Whether an insert has an empty field as before-image of a column that may hold empty text, although another text stands for NULL."""
    change = bronze.change
    if not bronze.csv.null:
        return False
    places = {name.lower(): number for number, name in enumerate(names)}
    images = [places[image.lower()] for key, image in key_images(names, bronze, table).items() if key_type(table, key) is None]
    operation = places.get(change.op_column.lower())
    inserts = (record for record in records if len(record) == len(names) and operation is not None)
    return any(not record[place] for record in inserts if change.op_words.get(record[operation or 0]) == "I" for place in images)


def further_rows(names: Sequence[str], bronze: Bronze, *, is_cdc: bool) -> str | None:
    """Return a regular expression of Python and Java that finds, in a value, what looks like the next rows of its file.

    It matches how rows begin (operation and time), or how rows of changes end (the sequence). None where files have neither. Without a
    time a row begins with an operation and at least two more fields, because texts have lines that begin with a word and a comma.
    """
    change, end = bronze.change, _literal(bronze.csv.delimiter)
    first = [name.lower() for name in names[:2]]
    words = "|".join(map(_literal, change.op_words))
    begins = f"(?:{words}){end}" if first[:1] == [change.op_column.lower()] else ""
    time = change.timestamp_column is not None and change.timestamp_column.lower() in first[1 if begins else 0 :][:1]
    found = []
    if time:
        found.append(rf"\n{begins}[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}[ T][0-9]{{2}}:[0-9]{{2}}[^{end}\n]*{end}")
    elif begins:
        found += [rf"\n{begins}(?:[^{end}\n]*{end}){{2}}", *_row_ends(begins, end, len(names) - 1)]
    if is_cdc and is_sequenced(names, change):
        found.append(rf"{end}[0-9]{{35}}(?:{end}[^\n]*)?\n")
    return "|".join(found) or None


def _row_ends(begins: str, end: str, fields: int) -> list[str]:
    """Return the forms of a further row of which a value holds less than three fields.

    A quote that opens in a column and closes in the same column of a later row leaves a row of the right width. Its value has all fields
    of the opening row after this column, and the closing row's fields up to it: together as many as a row has in other columns.

    Args:
        begins: a regular expression of the operation and its delimiter.
        end: that of the delimiter.
        fields: how many fields a row has after the operation.
    """
    further = rf"(?:{end}[^{end}\n]*)"
    # The first field of the closing row has no delimiter of its own.
    return [rf"{further}{{{fields - 1 - after}}}\n{begins}[^{end}\n]*{further}{{{after}}}(?![^\n])" for after in range(min(fields, 2))]


def _literal(text: str) -> str:
    return "".join(char if char.isalnum() or ord(char) > 0xFFFF else f"\\u{ord(char):04x}" for char in text)


def shapes(records: Sequence[Record], bronze: Bronze) -> list[str]:
    """Return what the values of each column of ``records`` look like, with counts and without quoting a value."""
    return [_counted(Counter(_shape(cell, bronze) for cell in cells)) for cells in zip(*records, strict=True)]


def _counted(counts: Counter[str]) -> str:
    return ", ".join(f"{shape} {count}" for shape, count in counts.most_common())


_SHAPES: tuple[tuple[str, Callable[[str], object]], ...] = (
    ("sequence", is_sequence),
    ("time", TIME.fullmatch),
    ("date", DATE.fullmatch),
    ("whole number", WHOLE.fullmatch),
    ("number", NUMBER.fullmatch),
    ("log position", re.compile(r"[0-9A-Fa-f]+/[0-9A-Fa-f]+|[^@]*:[0-9A-Fa-f]+").fullmatch),
)


def _shape(text: str, bronze: Bronze) -> str:
    if not text:
        return "empty"
    if text == bronze.csv.null:
        return "bronze.csv.null"
    if text in bronze.change.op_words:
        return "operation"
    return next((name for name, matches in _SHAPES if matches(text)), "text")
