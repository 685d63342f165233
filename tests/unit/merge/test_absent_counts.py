"""Counts of absent keys, by the summaries of snapshots."""

import json

import pytest

from dms_iceberg.config.model import Table
from dms_iceberg.merge.absent_keys import ASKED_KEY, absent_keys, absent_warning
from dms_iceberg.merge.direct.delta import REPLACED_KEY

TABLE = Table(source="public.t", target="silver.t", key=("id",))


@pytest.mark.parametrize(
    ("summary", "expected"),
    [
        ({}, (0, 0)),
        ({REPLACED_KEY: "1"}, (3, 2)),
        ({REPLACED_KEY: "5"}, (3, 0)),
        ({"added-position-deletes": "2"}, (3, 1)),
        ({"added-position-deletes": "9", "removed-position-deletes": "7"}, (3, 1)),
        # Copy-on-write: two rows of a file with ten were replaced.
        ({"added-records": "12", "deleted-records": "10"}, (3, 1)),
        ({"added-records": "4"}, (3, 3)),
    ],
)
def test_absent_keys_are_a_lower_bound(summary: dict[str, str], expected: tuple[int, int]) -> None:
    asked = {ASKED_KEY: json.dumps([3, 4])} if summary else {}
    assert absent_keys(summary | asked) == expected


@pytest.mark.parametrize(
    ("counts", "is_said"),
    [
        ([], False),
        ([(5, 0)], False),
        ([(1, 1)], False),
        ([(10, 8)], True),
        ([(10, 7)], False),
        ([(4, 4), (96, 0)], False),
        ([(0, 0)], False),
    ],
)
def test_most_of_the_keys_are_absent(counts: list[tuple[int, int]], is_said: bool) -> None:
    assert (absent_warning(TABLE, counts) is not None) is is_said
