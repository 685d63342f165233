"""The text that stands for NULL in CSV files, found by the places where no value can be. Pure."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from dms_iceberg.bronze.position import is_sequence
from dms_iceberg.init.csv_form import WORDS, Records
from dms_iceberg.init.samples import Sample

_TYPED = re.compile(
    r"[+-]?[0-9]+(?:[.][0-9]+)?(?:[eE][+-]?[0-9]+)?|[0-9]{4}-[0-9]{2}-[0-9]{2}(?:[ T][0-9:.]+)?|[0-9]{2}:[0-9]{2}:[0-9.]+", re.ASCII
)
_STARTS = re.compile(r"[+-]?[0-9].*|")
_WHOLE = re.compile(r"[+-]?[0-9]+")
_CODE = re.compile(r"[+-]?0[0-9]+")
_LONGEST_NULL = 8
_NULLS = ("NULL", "null", "\\N", "<null>", "(null)", "<NULL>")

Table = Sequence[tuple[Sample, Records]]
"""The files of a table, each with its records but for the header."""


def find_null(tables: Sequence[Table]) -> tuple[str, str, tuple[str, ...]]:
    """Return the text that stands for NULL, "" if that is an empty field; why; and what else may be one, for a person to check.

    A usual text for NULL is one where it stands in a column whose other values are all numbers, times or sequences, or that has no other.
    Any text is one that stands in all but the key of several deletes, also in a column of numbers or times, and nowhere beside other texts.
    But where inserts have empty fields in as many columns of numbers or times, NULL is an empty field, and the text is a value; unless
    several deletes show the text.
    """
    votes = Counter(text for table in tables for text in _null_texts(table))
    doubts, certain = list[str](), set[str]()
    for table in tables:
        for text, fields in _in_deletes(table):
            if _shows_null(table, text) and (votes[text] or not any(_is_a_value(one, text) for one in tables)):
                votes.setdefault(text, fields)
                certain.add(text)
            elif not votes[text]:
                folder = table[0][0].file.key.rpartition("/")[0]
                doubts.append(
                    f"CSV: all sampled deletes of {folder} have {_shown(table, text)} in the same columns. It is taken for a value. If "
                    "it is the CsvNullValue of the endpoint, write it into bronze.csv.null"
                )
    if not votes:
        return "", "no other text stands in the place of a value", tuple(doubts)
    text, count = votes.most_common(1)[0]
    empty, of_text = (tuple(map(sum, zip(*(_columns_with(table, null) for table in tables), strict=True))) for null in ("", text))
    if any(empty) and empty >= of_text and text not in certain:
        doubts.append(
            f"WARNING: CSV: {text!r} stands among numbers or times, and so do empty fields. It is taken for a value, and NULL for an empty "
            "field. If it is the CsvNullValue of the endpoint, write it into bronze.csv.null before the first run"
        )
        return "", "inserts have empty fields among numbers or times", tuple(doubts)
    if any(empty):
        doubts.append(
            f"WARNING: CSV: empty fields stand among numbers or times, and so does {text!r}, for which more speaks. Empty fields are taken "
            "for empty texts. If the endpoint has no CsvNullValue, set bronze.csv.null to an empty text before the first run"
        )
    return text, f"it stands in {count:,} fields where only NULL explains it", tuple(doubts)


def _columns_with(table: Table, null: str) -> tuple[int, int]:
    """Return in how many columns a text stands beside decimals or times only, and in how many beside whole numbers only.

    Whole numbers may be a text, such as that of a telephone, which may be empty. Columns are those of one file's loaded and inserted rows:
    what only changes have, such as a sequence or a before-image, is empty in all of these or in none. No such column has another text than
    that for NULL, so for one updates count as well.
    """
    width = max((len(row) for _, rows in table for row in rows), default=0)
    found = dict[int, bool]()
    for file in table:
        for place, column in enumerate(zip(*_of_operations([file], width, "IU" if null else "I"), strict=True)):
            others = {value for value in column if value != null}
            # Digits that begin with a zero are a code, which is a text and may be empty.
            if null in column and others and all(_is_typed(value) and not _CODE.fullmatch(value) for value in others):
                found[place] = found.get(place, False) or not all(map(_WHOLE.fullmatch, others))
    return sum(found.values()), sum(not is_strong for is_strong in found.values())


def _null_texts(table: Table) -> Iterator[str]:
    for _, rows in table:
        for column in zip(*(row for row in rows if len(row) == len(rows[0])), strict=True):
            texts = Counter(column)
            for null in _NULLS:
                others = [text for text in texts if text not in ("", null)]
                typed = others and all(_STARTS.fullmatch(text) or is_sequence(text) for text in others)
                if texts[null] and (typed or (not others and texts[null] > 1)):
                    yield from [null] * texts[null]


def _deletes(table: Table) -> list[tuple[str, ...]]:
    rows = [row for sample, rows in table if sample.file.is_cdc for row in rows if WORDS.get(row[0].casefold()) == "D"]
    return [row for row in rows if len(row) == len(rows[0])]


def _inserts(table: Table, width: int) -> list[tuple[str, ...]]:
    """Return loaded and inserted rows, each with an operation, of the width of the deletes."""
    return _of_operations(table, width, "I")


def _of_operations(table: Table, width: int, operations: str) -> list[tuple[str, ...]]:
    found = []
    for sample, rows in table:
        for row in rows:
            if len(row) == width and WORDS.get(row[0].casefold(), "-") in operations:
                found.append(row)
            elif not sample.file.is_cdc and len(row) == width - 1:
                found.append(("I", *row))
    return found


def _in_deletes(table: Table) -> Iterator[tuple[str, int]]:
    """Yield texts that stand in at least two columns, always the same, of every delete; and in how many fields."""
    deletes = _deletes(table)
    repeated = [{text for text, count in Counter(row).items() if count > 1 and not _STARTS.fullmatch(text)} for row in deletes]
    for text in sorted(set.intersection(*repeated)) if repeated else ():
        if len({tuple(cell == text for cell in row) for row in deletes}) == 1:
            yield text, sum(row.count(text) for row in deletes)


def _shows_null(table: Table, text: str) -> bool:
    """Whether a text is in all columns of several deletes but those of a key and of DMS, and in a column of numbers or times as well."""
    deletes = _deletes(table)
    inserts = _inserts(table, len(deletes[0]))
    if len(deletes) < 2 or len(inserts) < 2:
        return False
    typed = False
    for place, column in enumerate(zip(*inserts, strict=True)):
        others = [value for value in column if value not in ("", text)]
        numbers = bool(others) and all(map(_is_typed, others))
        if deletes[0][place] == text:
            typed = typed or numbers
        elif place and not numbers and len(set(others)) < len(others):
            # Not of a key, and a delete has it: deletes have whole rows.
            return False
    return typed


def _shown(table: Table, text: str) -> str:
    """Return a text that may be the one for NULL. One that may be a value of the source is not shown: it could be anybody's."""
    several = len(_deletes(table)) > 1
    return repr(text) if several and len(text) <= _LONGEST_NULL and not any(map(str.isspace, text)) else "one text"


def _is_typed(value: str) -> bool:
    return _TYPED.fullmatch(value) is not None or is_sequence(value)


def _is_a_value(table: Table, text: str) -> bool:
    """Whether loaded or inserted rows of a file have a text in a column that has other texts as well."""
    width = max((len(row) for _, rows in table for row in rows), default=0)
    for file in table:
        for column in list(zip(*_inserts([file], width), strict=True))[1:]:
            others = {value for value in column if value not in ("", text)}
            # What only changes have, such as a place in the log, loaded rows do not.
            if text in column and others and not all(map(_is_typed, others)):
                return True
    return False
