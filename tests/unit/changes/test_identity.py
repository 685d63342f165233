"""Where changes may be written for the second time: from the clocks of files alone."""

import pytest

from dms_iceberg.bronze.position import load_position, sequence_position
from dms_iceberg.changes.identity import between_clocks, identity_sql, repeated_clocks


def at(second: int, closed: int, counter: int = 61, load: int = 0) -> str:
    return sequence_position(load, f"20260301100{second:03d}00{counter:019d}", f"20260301100{closed:03d}000")


def clock(second: int) -> str:
    return f"a020260301100{second:03d}00"


LOADED = load_position(0, "0" * 16 + "1")
NO_CLOCK = "a0" + "0" * 16


@pytest.mark.parametrize(
    ("files", "high_water", "expected"),
    [
        pytest.param([], "", None, id="nothing"),
        pytest.param([("f1", at(1, 5), at(4, 5))], "", None, id="the first file"),
        pytest.param([("f1", at(1, 5), at(4, 5)), ("f2", at(5, 9), at(8, 9))], LOADED, None, id="in order"),
        pytest.param([("f1", at(5, 9), at(8, 9))], at(4, 5), None, id="behind the table"),
        pytest.param([("f1", at(4, 9), at(8, 9))], at(4, 5), (clock(4), clock(4)), id="the table's last tick"),
        pytest.param([("f2", at(3, 9), at(8, 9)), ("f1", at(1, 5), at(4, 5))], "", (clock(3), clock(4)), id="within the batch"),
        pytest.param([("f1", at(1, 5), at(2, 5))], at(9, 9), (clock(1), clock(2)), id="late"),
        pytest.param(
            [("f1", at(1, 5), at(2, 5)), ("f2", at(8, 9), at(12, 9)), ("f3", at(13, 9), at(14, 9))],
            at(9, 9),
            (clock(1), clock(9)),
            id="late and then written again",
        ),
        pytest.param([("", LOADED, LOADED)], "", None, id="the first of the load"),
        pytest.param([("", LOADED, LOADED)], LOADED, (NO_CLOCK, NO_CLOCK), id="loaded rows have one clock"),
    ],
)
def test_range_of_clocks_in_which_changes_may_be_repeated(
    files: list[tuple[str, str, str]], high_water: str, expected: tuple[str, str] | None
) -> None:
    assert repeated_clocks(files, high_water, 0) == expected


def test_the_range_is_one_of_positions() -> None:
    assert between_clocks(("a01", "a02")) == "(_cdc_position >= 'a01' AND _cdc_position < 'a02:')"


def test_a_column_that_was_added_later_counts_for_changes_after_that() -> None:
    sql = identity_sql(["id", "Note"], 0, {"note": clock(1)})
    assert f"struct(`id`, CASE WHEN _cdc_position >= '{clock(1)}:' THEN `Note` END AS `Note`) AS row" in sql
    assert at(1, 9) < f"{clock(1)}:" < at(2, 1)
