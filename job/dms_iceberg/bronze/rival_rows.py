"""Which rows of a CSV file without a header fit a reading of its columns, and which take it to be another. Pure."""

import re
from collections import Counter
from collections.abc import Sequence
from decimal import Decimal

import attrs

from dms_iceberg.bronze.csv_shapes import DATE, NUMBER, TIME, WHOLE, Record, Role, is_stream_position
from dms_iceberg.bronze.position import is_sequence
from dms_iceberg.bronze.rival_readings import Reading, Slot, key_places
from dms_iceberg.config.model import Bronze, Table
from dms_iceberg.sql.types import canonical

_LOG_POSITION = re.compile(
    r"[0-9A-F]{1,8}/[0-9A-F]{5,8}([.][0-9]+)?|[^@:/]+[.][0-9]{3,}:[0-9]+([.][0-9]+)?|[0-9A-Fa-f]{8}:[0-9A-Fa-f]{8}:[0-9A-Fa-f]{4}"
)
"""Positions in a log that hardly anything else looks like: of PostgreSQL, MySQL and SQL Server. An SCN is a number like any other."""

_SIGNS = ("/", ":")
"""Characters of which each position in a log has one."""

_WHOLE_TYPES = ("tinyint", "smallint", "int", "bigint")
_NUMBER_TYPES = ("decimal", "float", "double")
_TIME_TYPES = ("date", "timestamp", "timestamp_ntz")

Foreign = frozenset[tuple[tuple[int, ...], str]]
"""Source columns, and a form that one of them would have had in an earlier value: ``sequence``, or the sign of a position."""


@attrs.frozen
class Outcome:
    """What a row says of two readings of its file.

    Attributes:
        named, rival: None where the reading of the document, or the other one, cannot explain the row; else what it takes for granted.
        unmoved: which reading alone says that an update left the key as it was, as most do: 1 the document's, -1 the other, 0 neither.
        differs: they read a value differently.
    """

    named: Foreign | None
    rival: Foreign | None
    unmoved: int
    differs: bool


class Rows:
    """The rows of a file, and what the document says of its source columns."""

    def __init__(self, records: Sequence[Record], bronze: Bronze, table: Table, *, is_cdc: bool) -> None:
        self.is_cdc = is_cdc
        self.keys = key_places(table)
        self.types = [_type_of(name, table) for name in table.source_columns]
        self.begins_with_time = bool(self.types) and self.types[0] in _TIME_TYPES
        self._records = records
        self._words = bronze.change.op_words
        self._absent = {bronze.csv.null, bronze.csv.no_supplement}
        self._blank = {"", *self._absent}

    def forms(self, reading: Reading) -> frozenset[tuple[int, str]]:
        """Return the source columns that have a value in the form of a sequence, or with a sign that positions have."""
        found = set[tuple[int, str]]()
        for place, slot in enumerate(reading):
            if slot.role is Role.SOURCE:
                cells = [record[place] for record in self._records]
                found |= {(slot.of[0], sign) for sign in _SIGNS if any(sign in cell for cell in cells)}
                found |= {(slot.of[0], "sequence")} if any(map(is_sequence, cells)) else set()
        return frozenset(found)

    def has_sequence(self, place: int) -> bool:
        """Whether most rows have a sequence in a place."""
        return 2 * sum(is_sequence(record[place]) for record in self._records) > len(self._records)

    def outcomes(self, named: Reading, rival: Reading) -> Counter[Outcome]:
        """Return what each row says of two readings."""
        places = [place for place, (mine, other) in enumerate(zip(named, rival, strict=True)) if mine != other]
        if not any(record[place] not in self._blank for record in self._records for place in places):
            return Counter()
        sides = [_Side(self, reading, places) for reading in (named, rival)]
        found: Counter[Outcome] = Counter()
        for record in self._records:
            explained = [side.explains(record) for side in sides]
            unmoved = [side.leaves_key(record) for side in sides]
            differs = any(record[place] not in self._blank for place in places)
            found[Outcome(explained[0], explained[1], unmoved[0] - unmoved[1], differs)] += 1
        return found

    def operation(self, reading: Reading, record: Record) -> str:
        """Return what the operation column means; a loaded row without one is an insert."""
        return self._words.get(record[0], "") if reading[0].role is Role.OPERATION else "I"

    def is_blank(self, cell: str) -> bool:
        """Whether a field has no value."""
        return cell in self._blank

    def is_absent(self, cell: str) -> bool:
        """Whether a field has no value, not even empty text."""
        return cell in self._absent

    def has_values(self, place: int) -> bool:
        """Whether any row has a value there."""
        return any(record[place] not in self._blank for record in self._records)

    def are_same(self, place: int, value: str, earlier: str) -> bool:
        """Whether two values of a source column are equal."""
        type_ = self.types[place]
        if value == earlier or type_ not in (*_WHOLE_TYPES, "decimal"):
            return value == earlier
        return bool(NUMBER.fullmatch(value) and NUMBER.fullmatch(earlier)) and Decimal(value) == Decimal(earlier)


class _Side:
    """A reading of the rows of a file, of which only some ``places`` matter because the other reading has the rest as well."""

    def __init__(self, rows: Rows, reading: Reading, places: Sequence[int]) -> None:
        self._rows, self._reading = rows, reading
        self._slots = [(place, reading[place]) for place in places]
        self._streams = {place for place, slot in self._slots if slot.role is Role.STREAM and rows.is_cdc and rows.has_values(place)}
        images = [(place, slot.of) for place, slot in enumerate(reading) if slot.role is Role.IMAGE]
        sources = {slot.of[0]: place for place, slot in enumerate(reading) if slot.role is Role.SOURCE}
        self._images = [place for place, _ in images]
        # By the place in source_columns: where the key column is, and its image.
        self._keys = [(of[0], sources[of[0]], place) for place, of in images if len(of) == 1 and of[0] in rows.keys]

    def explains(self, record: Record) -> Foreign | None:
        """Return what the reading takes for granted to explain a row, None where it cannot."""
        operation = self._rows.operation(self._reading, record)
        if not operation or (operation != "I" and not self._rows.is_cdc):
            return None
        is_imaged = self._rows.is_cdc and operation != "I"
        if is_imaged and not self._has_whole_key(record, operation):
            return None
        foreign = set[tuple[tuple[int, ...], str]]()
        for place, slot in self._slots:
            if not self._fits(place, slot, record[place], is_imaged=is_imaged):
                return None
            if slot.role is Role.IMAGE and (form := _form(record[place])):
                foreign.add((slot.of, form))
        return frozenset(foreign)

    def _fits(self, place: int, slot: Slot, cell: str, *, is_imaged: bool) -> bool:
        blank = self._rows.is_blank(cell)
        match slot.role:
            case Role.OPERATION:
                return True
            case Role.TIME:
                return blank or TIME.fullmatch(cell) is not None
            case Role.SOURCE:
                return slot.of[0] not in self._rows.keys if blank else _is_of(cell, self._rows.types[slot.of[0]])
            case Role.SEQUENCE:
                return is_sequence(cell) or (blank and not self._rows.is_cdc)
            case Role.STREAM:
                return place not in self._streams if blank else is_stream_position(cell)
            case Role.IMAGE:
                return blank or (is_imaged and any(_is_of(cell, self._rows.types[of]) for of in slot.of))

    def _has_whole_key(self, record: Record, operation: str) -> bool:
        """Whether a row has images of all columns of its key or none at all; what a delete deletes has the key of the row."""
        cells = [(of, record[source], record[image]) for of, source, image in self._keys]
        if not cells or all(self._rows.is_blank(record[place]) for place in self._images):
            return True
        if any(self._rows.is_absent(image) for _, _, image in cells):
            return False
        return operation != "D" or all(self._rows.are_same(of, value, image) for of, value, image in cells)

    def leaves_key(self, record: Record) -> bool:
        """Whether the row is an update that leaves the key as it was."""
        cells = [(of, record[source], record[image]) for of, source, image in self._keys]
        is_update = self._rows.is_cdc and self._rows.operation(self._reading, record) == "U"
        return is_update and bool(cells) and all(image and self._rows.are_same(of, value, image) for of, value, image in cells)


def _form(cell: str) -> str:
    if is_sequence(cell):
        return "sequence"
    return next(sign for sign in _SIGNS if sign in cell) if _LOG_POSITION.fullmatch(cell) else ""


def _type_of(name: str, table: Table) -> str | None:
    """Return the declared type of a source column by its name without parameters, None where its text may be anything."""
    column = next((one for one in table.columns if (one.source_name or "").lower() == name.lower()), None)
    if column is None or column.type is None or column.format is not None or column.trim:
        return None
    return canonical(column.type).split("(")[0]


def _is_of(cell: str, type_: str | None) -> bool:
    if type_ in _WHOLE_TYPES:
        return WHOLE.fullmatch(cell) is not None
    if type_ in _NUMBER_TYPES:
        return NUMBER.fullmatch(cell) is not None or (type_ != "decimal" and cell.strip("+-").lower() in ("nan", "inf", "infinity"))
    return type_ not in _TIME_TYPES or DATE.fullmatch(cell) is not None
