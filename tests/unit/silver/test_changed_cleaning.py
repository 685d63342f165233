"""What a table's rows were made with, and what a changed configuration says of it."""

from typing import Any

import pytest

from dms_iceberg.config.model import Column, Mask, Mode, OnFail, OtherColumns, Rule, Table
from dms_iceberg.silver.memory.cleaning import CLEANING_PROPERTY, Cleaning, made_by, other_cleaning


def table(*columns: Column, **options: Any) -> Table:
    return Table(**{"source": "public.t", "target": "s.t", "key": ("id",), "columns": columns, **options})


HASHED = Column(name="Email", mask=Mask.SHA256, mask_salt="env:S")
MADE = table(HASHED, Column(name="city", expr="trim(location)"), filter="id > 0", rules=(Rule(name="r", expr="id < 9"),))
COLUMNS = ["id", "email", "city", "note"]


def test_the_same_configuration_is_no_difference() -> None:
    properties = Cleaning.of(MADE).to_properties()
    assert Cleaning.from_properties(properties) == Cleaning.of(MADE)
    assert other_cleaning(MADE, properties, COLUMNS) is None
    # Types are widened in place, a source column may be renamed, and spaces around a condition mean nothing.
    same = table(
        HASHED,
        Column(name="city", expr=" trim(location)", type="string", backfill="x"),
        Column(name="note", source="remark"),
        filter="id > 0 ",
        rules=MADE.rules,
    )
    assert other_cleaning(same, properties, COLUMNS) is None


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"columns": (MADE.columns[1],)}, "column email"),
        ({"columns": (Column(name="email", mask=Mask.SHA256, mask_salt="env:OTHER"), MADE.columns[1])}, "column email"),
        ({"columns": (HASHED, Column(name="city", expr="location"))}, "column city"),
        ({"columns": (*MADE.columns, Column(name="note", trim=True))}, "column note"),
        ({"filter": None}, "the filter"),
        ({"rules": (Rule(name="r", expr="id < 9", on_fail=OnFail.DROP), Rule(name="new", expr="true"))}, "rule new, rule r"),
    ],
)
def test_what_differs_is_named(changed: dict[str, Any], told: str) -> None:
    entry = {"filter": MADE.filter, "rules": MADE.rules, "columns": MADE.columns} | changed
    warning = other_cleaning(table(*entry.pop("columns"), **entry), Cleaning.of(MADE).to_properties(), COLUMNS)
    assert warning is not None
    assert f"made with another configuration of {told}. " in warning and "--rebuild public.t" in warning


def test_columns_that_are_left_out_or_not_yet_there_are_not_told_of() -> None:
    properties = Cleaning.of(MADE).to_properties()
    rest = {"filter": MADE.filter, "rules": MADE.rules}
    assert other_cleaning(table(MADE.columns[1], drop=("EMAIL",), **rest), properties, COLUMNS) is None
    assert other_cleaning(table(MADE.columns[1], other_columns=OtherColumns.DROP, **rest), properties, COLUMNS) is None
    assert other_cleaning(table(MADE.columns[1], Column(name="mail", source="email"), **rest), properties, COLUMNS) is None
    later = Column(name="later", expr="upper(note)")
    assert other_cleaning(table(*MADE.columns, later, **rest), properties, COLUMNS) is None


def test_a_column_that_the_table_gets_is_noted_and_the_others_stay() -> None:
    now = Cleaning.of(table(Column(name="Later", expr="upper(note)"), Column(name="email", mask=Mask.REDACT)))
    made = Cleaning.of(MADE).plus(now, ["later"])
    assert set(made.columns) == {"email", "city", "later"}
    assert made.columns["email"] == Cleaning.of(MADE).columns["email"]
    assert made.filter == Cleaning.of(MADE).filter


def test_a_table_without_a_batch_tells_nothing() -> None:
    assert other_cleaning(MADE, {}, COLUMNS) is None
    assert len(Cleaning.of(MADE).to_properties()[CLEANING_PROPERTY]) < 200


def test_a_load_of_another_mode_is_another_load() -> None:
    assert len({made_by(table(mode=mode))["dms-iceberg.made-by"] for mode in Mode}) == len(Mode)


NARROW = {"other_columns": OtherColumns.DROP}


@pytest.mark.parametrize(
    ("before", "after", "is_same"),
    [
        # Rows of the load lack a column, or show one, that the document now shows or leaves out.
        (table(), table(drop=("note",)), False),
        (table(drop=("note", "city")), table(drop=("note",), publish=("city",)), False),
        (table(Column(name="note"), **NARROW), table(Column(name="note")), False),
        (table(Column(name="note"), **NARROW), table(Column(name="note"), Column(name="city"), **NARROW), False),
        (table(Column(name="note"), Column(name="city"), **NARROW), table(Column(name="note"), **NARROW), False),
        # What loses and shows nothing.
        (table(drop=("note", "city")), table(drop=("City", "Note")), True),
        (table(), table(publish=("note",)), True),
        (table(), table(Column(name="note"), Column(name="n", type="int", backfill=1)), True),
        (table(Column(name="note"), **NARROW), table(Column(name="note", source="remark", type="string"), **NARROW), True),
        (table(Column(name="note"), **NARROW), table(Column(name="remark", renamed_from="note"), **NARROW), True),
        (table(), table(Column(name="remark", renamed_from="note")), True),
    ],
)
def test_a_load_whose_rows_have_other_columns_is_another_load(before: Table, after: Table, *, is_same: bool) -> None:
    assert (made_by(before) == made_by(after)) is is_same
