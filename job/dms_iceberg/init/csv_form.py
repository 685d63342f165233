"""The form of CSV files, found by their contents: delimiter, quotes, header. Pure."""

import re
from collections import Counter
from collections.abc import Iterable, Sequence

import attrs

from dms_iceberg.bronze.csv_sample import FirstRecord, parse_head, refuse_unquoted
from dms_iceberg.errors import BronzeError
from dms_iceberg.init.samples import ROWS, Sample

DELIMITERS = (",", ";", "\t", "|", "\x01", "^", "~", ":")
"""Delimiters that are tried."""
WORDS = {"i": "I", "insert": "I", "u": "U", "update": "U", "d": "D", "delete": "D"}
"""Words of operations, in lower case, and the operation each means: DMS's own, and those of ``$AR_H_OPERATION``."""
_VALUE = re.compile(r"[+-]?[0-9].*|")

Records = tuple[tuple[str, ...], ...]


@attrs.frozen(kw_only=True)
class CsvForm:
    """The form of the CSV files of a folder. ``header`` is None where the files do not show it."""

    delimiter: str = ","
    rfc4180: bool = True
    header: bool | None = None
    null: str = ""


def find_form(tables: Sequence[Sequence[Sample]]) -> CsvForm:
    """Return the form that most files have; the endpoint gives all tables the same one.

    Args:
        tables: for each table the samples of its files.
    """
    samples = [sample for table in tables for sample in table if sample.text]
    if not samples:
        return CsvForm()
    delimiter = max(DELIMITERS, key=lambda one: _evidence(samples, one))
    # A file with a quote that RFC 4180 does not allow shows the endpoint's Rfc4180; other files cannot.
    rfc4180 = not any(_is_plain(sample, delimiter) for sample in samples)
    form = CsvForm(delimiter=delimiter, rfc4180=rfc4180)
    found = Counter(found for table in tables if (found := find_header([records(one, form) for one in table], table)) is not None)
    return attrs.evolve(form, header=found.most_common(1)[0][0] if found else None)


def records(sample: Sample, form: CsvForm) -> Records:
    """Return the first records of a file, its header included; none where it has no valid one."""
    found = parse_head(sample.text, form.delimiter, rfc4180=form.rfc4180, whole=sample.whole)
    return found.records[: ROWS + 1] if isinstance(found, FirstRecord) else ()


def _evidence(samples: Sequence[Sample], delimiter: str) -> tuple[int, int, int]:
    """Return how many files have operations in their first column, how many have rows of one width over 1, and how wide these are."""
    even = width = words = 0
    for sample in samples:
        rows = records(sample, CsvForm(delimiter=delimiter)) or records(sample, CsvForm(delimiter=delimiter, rfc4180=False))
        widths = Counter(map(len, rows))
        words += all(row[0].casefold() in WORDS for row in rows[-1:])
        if widths and (usual := widths.most_common(1)[0])[0] > 1 and usual[1] * 10 > widths.total() * 9:
            even, width = even + 1, width + usual[0]
    return words, even, width


def _is_plain(sample: Sample, delimiter: str) -> bool:
    first = FirstRecord((), only=True, records=records(sample, CsvForm(delimiter=delimiter)), text=sample.text, whole=sample.whole)
    try:
        refuse_unquoted(first, sample.file, delimiter, None, "")
    except BronzeError:
        return True
    return False


def find_header(files: Sequence[Records], samples: Sequence[Sample]) -> bool | None:
    """Return whether the files of a table begin with a header; None where they do not show it, or differ."""
    answers = {has_header(one, files, sample) for one, sample in zip(files, samples, strict=True)} - {None}
    return answers.pop() if len(answers) == 1 else None


def has_header(rows: Records, files: Iterable[Records], sample: Sample) -> bool | None:
    """Return whether the first record of a file is a header; None where nothing shows it.

    A header has names that are each there once and none that is a value. If a row begins with an operation, it is data; if only the others
    do, the first is a header. So is a line with which another file of the table begins as well, but for the operation's name.
    """
    if not rows:
        return None
    first, rest = rows[0], rows[1:]
    if sample.file.is_cdc and first[0].casefold() in WORDS:
        return False
    are_mostly_names = all(first) and 2 * sum(_VALUE.fullmatch(one) is None for one in first) > len(first)
    if are_mostly_names and first[0].casefold() not in WORDS and rest and all(row[0].casefold() in WORDS for row in rest):
        return True
    if not _are_names(first):
        return False
    shared = [other[0] for other in files if other and other is not rows]
    if any(first in (other, other[1:]) or other == first[1:] for other in shared):
        return True
    columns = list(zip(*(row for row in rest if len(row) == len(first)), strict=True))
    return True if any(_all_values(column) for column in columns) else None


def _are_names(fields: Sequence[str]) -> bool:
    folded = [field.casefold() for field in fields]
    return len(set(folded)) == len(folded) and all(field.strip() for field in fields) and not any(_VALUE.fullmatch(one) for one in fields)


def _all_values(column: Sequence[str]) -> bool:
    return any(column) and all(_VALUE.fullmatch(one) for one in column)


def named(sample: Sample, rows: Records, names: Sequence[str], null: str) -> Sample:
    """Return a sample with these names and rows; rows of another number of fields are left out."""
    texts = tuple(tuple(None if cell in ("", null) else cell for cell in row) for row in rows if len(row) == len(names))
    return attrs.evolve(sample, names=tuple(names), rows=texts)
