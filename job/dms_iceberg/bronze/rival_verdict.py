"""Refuses a CSV file without a header whose number of columns fits two readings, unless fields show that the document's is right. Pure.

Sequence and stream position are as many columns as sequence and before-image of the key; a stream position and that image are as many as
the images of two columns. So the number of columns does not show that the document names what the task writes: only fields do. A row
decides where one reading explains it and another cannot. The document is believed only where no row decides, and only what it says itself:
a default is nobody's word.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import attrs

from dms_iceberg.bronze.csv_shapes import FileColumn, Record, Role
from dms_iceberg.bronze.keys import BronzeFile
from dms_iceberg.bronze.other_images import Likeness, likeness, of_other_columns
from dms_iceberg.bronze.rival_readings import SETTINGS, Reading, differing, reading_of, rivals
from dms_iceberg.bronze.rival_rows import Foreign, Outcome, Rows
from dms_iceberg.config.image_names import image_settings
from dms_iceberg.config.model import BeforeImage, Bronze, Table
from dms_iceberg.errors import BronzeError
from dms_iceberg.storage.store import join


@attrs.frozen
class Weighed:
    """What the first rows of a file say of its columns.

    Attributes:
        columns: those of the document.
        forms: source columns that have values in the form of a sequence or position.
        rivals: outcomes of the rows, with their numbers, for every other reading that has as many columns.
        rows: how many rows were looked at.
        likeness: which columns the images of the key are like.
    """

    columns: tuple[FileColumn, ...]
    named: Reading
    forms: frozenset[tuple[int, str]]
    rivals: Mapping[Reading, Mapping[Outcome, int]]
    rows: int
    likeness: Likeness


@attrs.frozen
class Counts:
    """How many rows only the document's reading explains, only the rival, or both in different ways.

    Attributes:
        unmoved_named, unmoved_rival: of these last, the updates that leave the key as it was by one reading alone. Most do; but an update
            may give the key what another column had.
    """

    named: int = 0
    rival: int = 0
    open: int = 0
    unmoved_named: int = 0
    unmoved_rival: int = 0

    @classmethod
    def of(cls, outcomes: Iterable[tuple[Outcome, int]], forms: Collection[tuple[int, str]]) -> "Counts":
        """Return the counts. A value in the form of a position is no earlier value of a column whose values never have that form."""
        counts: Counter[str] = Counter()
        for outcome, number in outcomes:
            named, rival = _may_be(outcome.named, forms), _may_be(outcome.rival, forms)
            if named != rival:
                counts["named" if named else "rival"] += number
            elif named and outcome.differs:
                counts["open"] += number
                counts["unmoved_named"] += number * (outcome.unmoved > 0)
                counts["unmoved_rival"] += number * (outcome.unmoved < 0)
        return cls(**counts)

    @property
    def balance(self) -> int:
        """How many more rows speak for the document than against it."""
        return self.named + self.unmoved_named - self.rival - self.unmoved_rival

    @property
    def is_shown(self) -> bool:
        """Whether the rows show that the document is right."""
        return self.named > self.rival and self.balance > 0

    @property
    def speaks_against(self) -> bool:
        """Whether the rows show, or make it likely, that the document is wrong."""
        return self.rival + self.unmoved_rival > 0 and self.balance <= 0

    @property
    def is_silent(self) -> bool:
        """Whether both readings say the same of all rows."""
        return not (self.named or self.rival or self.open)


def _may_be(explained: Foreign | None, forms: Collection[tuple[int, str]]) -> bool:
    return explained is not None and all(any((place, form) in forms for place in of) for of, form in explained)


def weigh(columns: Sequence[FileColumn], records: Sequence[Record], bronze: Bronze, table: Table, *, is_cdc: bool) -> Weighed:
    """Return what ``records``, which have as many fields as ``columns``, say of these and of other readings."""
    named, rows = reading_of(columns, table), Rows(records, bronze, table, is_cdc=is_cdc)
    others = list(rivals(named, table, is_cdc=is_cdc, begins_with_time=rows.begins_with_time))
    forms = rows.forms(named) if others else frozenset()
    sequence = next((place for place, slot in enumerate(named) if slot.role is Role.SEQUENCE), None)
    if is_cdc and sequence is not None and rows.has_sequence(sequence) and not any(form == "sequence" for _, form in forms):
        # Nothing else looks like it.
        others = [rival for rival in others if rival[sequence].role is Role.SEQUENCE]
    outcomes = {rival: rows.outcomes(named, rival) for rival in others}
    return Weighed(tuple(columns), named, forms, outcomes, len(records), likeness(named, records, rows))


@attrs.frozen
class Doubt:
    """A reading of a file that the rows of all files do not rule out.

    Attributes:
        counts: what the rows of the file say.
        is_said: it contradicts what the document itself says, and not only a default.
    """

    rival: Reading
    counts: Counts
    is_said: bool


def find_doubts(weighed: Sequence[Weighed], bronze: Bronze) -> Iterator[tuple[int, Doubt]]:
    """Yield the number of each file whose rows, with those of the other files, leave another reading possible, and that reading."""
    forms = {form for one in weighed for form in one.forms}
    together: dict[tuple[Reading, Reading], Counter[Outcome]] = {}
    for one in weighed:
        for rival, outcomes in one.rivals.items():
            together.setdefault((one.named, rival), Counter()).update(outcomes)
    for number, one in enumerate(weighed):
        for rival, outcomes in one.rivals.items():
            own, whole = Counts.of(outcomes.items(), forms), Counts.of(together[one.named, rival].items(), forms)
            doubt = Doubt(rival, own, _is_said(one.named, rival, bronze))
            if not _is_settled(doubt, whole):
                yield number, doubt


def _is_settled(doubt: Doubt, whole: Counts) -> bool:
    own = doubt.counts
    if own.speaks_against:
        # An update may give the key what another column had, and so look like the rival: the other files show it.
        return doubt.is_said and own.rival == 0 and whole.is_shown
    return own.is_silent or own.is_shown or doubt.is_said or whole.is_shown


def _is_said(named: Reading, rival: Reading, bronze: Bronze) -> bool:
    change = bronze.change
    for role in differing(named, rival):
        if role is not Role.IMAGE and SETTINGS[role] not in change.assumed:
            return True
        # Images that the document denies; or none, where it names them and does not call them optional.
        allows_both = bool(image_settings(change)) and change.before_image is BeforeImage.OPTIONAL
        if role is Role.IMAGE and "before_image_prefix" not in change.assumed and not allows_both:
            return True
    return False


def refuse_doubtful(files: Sequence[tuple[BronzeFile, Weighed]], bronze: Bronze, table: Table, root: str) -> None:
    """Refuse the first file of which its rows and those of the others do not show that it has the columns that the document names.

    Raises:
        BronzeError: there is such a file.
    """
    _refuse_other_images(files, table, root)
    for number, doubt in find_doubts([weighed for _, weighed in files], bronze):
        file, weighed = files[number]
        named, rival, against = weighed.named, doubt.rival, doubt.counts.rival + doubt.counts.unmoved_rival
        shown = f"for the latter speak {against} of its first {weighed.rows} rows" if against else "its rows fit both alike"
        raise BronzeError(
            f"{join(root, file.key)}: {len(named)} columns may be two things, and without a header nothing is guessed. The document names "
            f"{_text(named, weighed, bronze, table)}; as many are {_text(rival, weighed, bronze, table)}; {shown}. If the task writes the "
            f"latter, {_change(named, rival, bronze)}. If the document is right, {_insist(named, rival, doubt, bronze)}. A header "
            "(AddColumnName) or Parquet leaves no doubt."
        )


def _refuse_other_images(files: Sequence[tuple[BronzeFile, Weighed]], table: Table, root: str) -> None:
    for key, other, count in of_other_columns([weighed.likeness for _, weighed in files]):
        file = next(file for file, weighed in files if (key, other) in weighed.likeness)
        name, of = table.source_columns[key], table.source_columns[other]
        raise BronzeError(
            f"{join(root, file.key)}: the document has the before-image of the key column {name!r}, but {count} of the first rows have "
            f"the value of {of!r} there, and not that of {name!r}. By the column-filter pk-only the task writes the images of the "
            f'source\'s primary key. If {of!r} belongs to that, correct tables."{table.source}".key; or let the task write the images of '
            f"all columns (column-filter all), a header (AddColumnName) or Parquet. If these rows gave {of!r} what {name!r} had before, "
            "merge the file together with later ones: updates that leave the key decide."
        )


def _text(reading: Reading, weighed: Weighed, bronze: Bronze, table: Table) -> str:
    """Return the columns of a reading, for messages."""
    change, roles = bronze.change, [slot.role for slot in reading]
    names = {Role.OPERATION: change.op_column, Role.TIME: change.timestamp_column or "a commit time"}
    names |= {Role.SEQUENCE: change.sequence_column or "a sequence", Role.STREAM: change.stream_position_column or "a stream position"}
    parts = [names[role] for role in (Role.OPERATION, Role.TIME) if role in roles]
    parts.append(f"the {len(table.source_columns)} source_columns")
    parts += [names[role] for role in (Role.SEQUENCE, Role.STREAM) if role in roles]
    images = roles.count(Role.IMAGE)
    if reading == weighed.named:
        parts += [column.name for column in weighed.columns if column.role is Role.IMAGE][:_MOST_IMAGES]
        parts += ["..."] if images > _MOST_IMAGES else []
    elif images:
        parts.append(f"before-images of {images} column{'s' if images > 1 else ''}, the key among them")
    return f"[{', '.join(parts)}]"


_MOST_IMAGES = 5


def _change(named: Reading, rival: Reading, bronze: Bronze) -> str:
    """Return what makes the document name a rival, for messages."""
    has = {slot.role for slot in rival}
    told = []
    for role in differing(named, rival):
        if role is Role.OPERATION:
            told.append(f"bronze.change.load_without_op to {'false' if role in has else 'true'}")
        elif role is Role.IMAGE and role not in has:
            told.append("bronze.change.before_image_prefix to null")
        elif role is Role.IMAGE:
            # Where images are optional, the document has named them.
            told += [] if image_settings(bronze.change) else ["bronze.change.before_image_prefix to that of the mapping rule"]
        else:
            told.append(f"bronze.change.{SETTINGS[role]} to {'its name' if role in has else 'null'}")
    return f"set {' and '.join(told)}"


def _insist(named: Reading, rival: Reading, doubt: Doubt, bronze: Bronze) -> str:
    """Return what to do where the document is right, for messages."""
    if doubt.counts.rival:
        return "restore the file"
    names = [SETTINGS[role] for role in differing(named, rival) if role is not Role.IMAGE]
    said = [f"bronze.change.{name} {_value(getattr(bronze.change, name))}" for name in names if name in bronze.change.assumed]
    declare = f"declare {' and '.join(said)}" if said else ""
    wait = "merge the file together with later ones: inserts, deletes and updates that leave the key decide"
    if not doubt.counts.speaks_against:
        return declare or wait
    return f"{declare}, and {wait}" if declare else wait


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else repr(value)
