"""How much of a table a repair may write."""

import pytest

from dms_iceberg.verify.repair_checks import allowed_keys


@pytest.mark.parametrize(
    ("share", "source", "silver", "allowed"),
    [
        (0.01, 0, 0, 0),
        (0.01, 1, 1, 0),
        (0.01, 2, 2, 1),
        # Another table would differ in every row.
        (0.01, 7, 8, 4),
        (0.01, 0, 8, 4),
        (0.01, 500, 20, 10),
        (0.01, 5_000, 5_000, 50),
        (1.0, 8, 8, 8),
        (0.0, 5_000, 5_000, 10),
    ],
)
def test_a_share_of_the_larger_side_and_a_few_keys_of_a_small_table(share: float, source: int, silver: int, allowed: int) -> None:
    assert allowed_keys(share, source, silver) == allowed
