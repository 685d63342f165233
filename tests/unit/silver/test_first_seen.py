"""What a table knows of its columns with a backfill, and the SQL of a value that a file lacks. Pure."""

from typing import Any

import attrs
import pytest

from dms_iceberg.changes.clean import typed_steps
from dms_iceberg.changes.mapping import silver_columns
from dms_iceberg.changes.shape import Shape
from dms_iceberg.config.model import Column, Table
from dms_iceberg.progress.progress import Progress
from dms_iceberg.silver.schema.first_seen import known_before, remembered

EXTRA = Column(name="Extra", type="int", backfill=7)
BEGUN = Progress(frontier="20260301100000000")
FIRST = "a02026030110010000"


def table(*columns: Column) -> Table:
    return Table(source="public.t", target="s.t", key=("id",), columns=(Column(name="id", type="bigint"), *columns))


def test_a_table_without_a_merged_file_knows_that_no_change_had_the_column() -> None:
    assert known_before(table(EXTRA, Column(name="made", expr="1", backfill=1), Column(name="plain")), Progress()) == {"extra": ""}


@pytest.mark.parametrize(
    ("column", "seen", "known"),
    [
        (EXTRA, {}, None),
        (EXTRA, {"extra": ""}, ""),
        (EXTRA, {"extra": FIRST}, FIRST),
        (attrs.evolve(EXTRA, renamed_from="Old"), {"old": FIRST}, FIRST),
        (attrs.evolve(EXTRA, renamed_from="Old"), {"old": FIRST, "extra": ""}, ""),
    ],
)
def test_what_is_not_remembered_is_not_known(column: Column, seen: dict[str, str], known: str | None) -> None:
    assert known_before(table(column), attrs.evolve(BEGUN, first_seen=seen)) == {"extra": known}
    assert known_before(table(column), attrs.evolve(BEGUN, first_seen=seen), ["id"]) == {"extra": known or ""}


def test_progress_carries_it_over_batches_and_loads() -> None:
    progress = attrs.evolve(
        BEGUN, first_seen=remembered(attrs.evolve(BEGUN, first_seen={"other": ""}), {"extra": FIRST, "unknown": None, "none": ""})
    )
    assert progress.first_seen == {"other": "", "extra": FIRST, "none": ""}
    assert Progress.from_json(progress.to_json()) == progress
    assert "first_seen" not in BEGUN.to_json()
    # Another load begins again, but what happened at the source has happened.
    assert progress.start == Progress(first_seen={"extra": FIRST})


def sql(first: Any, source: dict[str, str], *, sparse: bool = False) -> str:
    one = table(EXTRA)
    shape = Shape(silver_columns(one, list(source)), {"id": "bigint", "Extra": "int"}, first_seen=first)
    _, selected = typed_steps(one, shape, source, sparse=sparse)
    return next(text for text in selected if text.endswith("AS `Extra`")).removesuffix(" AS `Extra`")


def test_a_column_that_a_file_lacks_is_the_backfill_below_its_first_change() -> None:
    absent = {"id": "bigint"}
    assert sql({"extra": ""}, absent) == "CAST('7' AS int)"
    assert sql({"extra": None}, absent) == "CAST(NULL AS int)"
    assert sql({"extra": FIRST}, absent) == f"CASE WHEN _cdc_position < '{FIRST}' THEN CAST('7' AS int) END"


def test_only_lines_leave_columns_out_row_by_row() -> None:
    there = {"id": "bigint", "extra": "int"}
    assert sql({"extra": FIRST}, there) == "`extra`"
    below = f"CASE WHEN _cdc_position < '{FIRST}' THEN CAST('7' AS int) END"
    assert sql({"extra": FIRST}, there, sparse=True) == f"CASE WHEN `extra` IS NULL THEN {below} ELSE `extra` END"
    assert sql({"extra": None}, there, sparse=True) == "`extra`"
