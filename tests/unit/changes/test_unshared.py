"""Which columns do not distinguish two writings of a change, and up to which clock."""

from typing import Any

import pytest

from dms_iceberg.bronze.columns import SourceColumns
from dms_iceberg.changes.frames import ReadGroup
from dms_iceberg.changes.mapping import SilverColumn
from dms_iceberg.changes.shape import Shape
from dms_iceberg.changes.unshared import reached_without, unshared_columns
from dms_iceberg.config.model import BronzeFormat, Column

KEY = SilverColumn("id", "id", True, Column(name="id"))
COPY = SilverColumn("Note", "note", False, Column(name="Note", source="note"))
EXPRESSION = SilverColumn("size", None, False, Column(name="size", expr="length(note)"))
RETIRED = SilverColumn("gone", None, False, Column(name="gone", type="string"), retired=True)
FAMILY = ("v", "v__string")
WHOLE = SilverColumn("v", "v", False, Column(name="v"), family=FAMILY)
TEXT = SilverColumn("v__string", "v", False, Column(name="v__string"), family=FAMILY)
TYPES = {"id": "bigint", "Note": "string", "size": "int", "gone": "string", "v": "int", "v__string": "string"}


def files(**types: str) -> ReadGroup:
    """A group with a key and these columns; nobody reads its files here."""
    nothing: Any = None
    return ReadGroup(nothing, nothing, SourceColumns((("id", "bigint"), *types.items()), "Op", None, None, {}))


@pytest.mark.parametrize(
    ("column", "groups", "lacked"),
    [
        (COPY, [files(NOTE="string")], False),
        (COPY, [files(note="string"), files()], True),
        (EXPRESSION, [files(note="string")], False),
        (EXPRESSION, [files()], True),
        (RETIRED, [files(gone="string")], True),
        (WHOLE, [files(v="int")], False),
        (WHOLE, [files(v="int"), files(v="string")], True),
        (TEXT, [files(v="int")], True),
    ],
)
def test_a_column_that_some_files_lack_is_unshared(column: SilverColumn, groups: list[ReadGroup], lacked: bool) -> None:
    shape = Shape((KEY, column), TYPES)
    assert unshared_columns(shape, groups, BronzeFormat.PARQUET) == [column.name] * lacked
    # JSON lines leave out what is NULL.
    assert unshared_columns(shape, groups, BronzeFormat.JSON) == [column.name] * column.retired


def test_the_clock_of_a_copy_goes_up_and_that_of_others_stays() -> None:
    shape = Shape((KEY, COPY, EXPRESSION, WHOLE, TEXT), TYPES)

    def reached(known: dict[str, str], clock: str, *groups: ReadGroup) -> dict[str, str]:
        return reached_without(shape, groups, BronzeFormat.PARQUET, known, clock)

    every = dict.fromkeys(("Note", "size", "v", "v__string"), "a02")
    assert reached({"other": "a01"}, "a02", files(note="string", v="int"), files(v="int")) == {"other": "a01", **every}
    known = {"Note": "a02", "size": "a02", "v": "a02"}
    assert reached(known, "a03", files(v="string")) == known | {"Note": "a03", "v__string": "a03"}
    assert reached({"Note": "a04"}, "a03", files(v="int"))["Note"] == "a04"
