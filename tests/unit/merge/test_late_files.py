"""Which older files may hold something newer than a late change."""

import pytest

from dms_iceberg.bronze.position import load_position, sequence_position
from dms_iceberg.merge.late.changes import context_since
from dms_iceberg.progress.progress import Progress

LOW = sequence_position(0, f"2026030112000000{1:019d}", "20260301120100000")
HIGH = sequence_position(0, f"2026030115000000{1:019d}", "20260301150100000")


@pytest.mark.parametrize(
    ("frontier", "since"),
    [
        pytest.param("20260301150100000", "20260301110000000", id="utc"),
        pytest.param("20260302000100000", "20260301110000000", id="names ahead of UTC are late enough"),
        pytest.param("20260301070100000", "20260228230000000", id="names behind UTC"),
    ],
)
def test_files_closed_before_the_commit_cannot_hold_something_newer(frontier: str, since: str) -> None:
    assert context_since(LOW, Progress(frontier=frontier, high_water=HIGH)) == since


def test_files_from_before_a_change_of_the_zone_may_be_named_hours_before_their_commits() -> None:
    assert context_since(LOW, Progress(frontier="20260301150100000", high_water=HIGH, named_behind_utc=True)) == "20260228230000000"


def test_everything_is_newer_than_a_row_of_the_full_load() -> None:
    assert context_since(load_position(0, "0" * 17), Progress(frontier="20260301150100000", high_water=HIGH)) == "0" * 17
