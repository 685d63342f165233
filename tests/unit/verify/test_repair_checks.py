"""How much of a table a repair may write: every key counts, whatever brought it into the repair."""

from collections.abc import Mapping

import pytest

from dms_iceberg.verify.repair_checks import allowed_keys, size_doubts
from dms_iceberg.verify.verdict import TableVerdict


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


@pytest.mark.parametrize(
    ("counts", "rows", "share", "says"),
    [
        ({"different": 10}, 1_000, 0.01, None),
        ({"different": 10, "same": 1}, 1_000, 0.01, "replace 10 rows, confirm 1 row, 1.1% of 1,000 rows"),
        ({"same": 11}, 1_000, 0.01, "it would confirm 11 rows, 1.1% of 1,000 rows"),
        ({"missing": 6, "absent": 6}, 994, 0.01, "insert 6 rows, confirm the absence of 6 rows, 1.2% of 1,000 rows"),
        ({"different": 60_000, "same": 40_000}, 1_000_000, 1.0, None),
        ({"different": 60_000, "same": 40_001}, 1_000_000, 1.0, "100,001 keys would be written"),
        # The table is empty by now.
        ({"absent": 2}, 0, 0.01, "100.0% of 2 rows"),
        ({"absent": 2}, 0, 1.0, None),
        # Its only row came after the first look.
        ({"missing": 1}, 0, 1.0, None),
    ],
)
def test_keys_of_the_quarantine_weigh_as_much_as_others(counts: Mapping[str, int], rows: int, share: float, says: str | None) -> None:
    verdict = TableVerdict(table="public.t", target="silver.t", rows_source=rows, rows_silver=rows)
    found = list(size_doubts(verdict, share, counts))
    assert (len(found), (says or "") in "".join(found)) == (int(says is not None), True)
