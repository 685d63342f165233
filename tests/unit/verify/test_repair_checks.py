"""How much of a table a repair may write: every key counts, whatever brought it into the repair."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import attrs
import pytest

from dms_iceberg.bronze.keys import BronzeFile, parse_key
from dms_iceberg.progress.look_back import LookBack
from dms_iceberg.progress.progress import Progress
from dms_iceberg.verify.repair_checks import allowed_keys, clock_doubt, newest_merged, rows_in_common, size_doubts
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


@pytest.mark.parametrize(
    ("differing", "unsettled", "common"),
    [({}, 0, 8), ({"missing": 5}, 0, 8), ({"surplus": 2, "different": 3}, 1, 2), ({"different": 8}, 0, 0), ({"collided": 6}, 5, 0)],
)
def test_rows_in_common_are_those_that_are_known_to_be_the_same(differing: Mapping[str, int], unsettled: int, common: int) -> None:
    verdict = TableVerdict(table="public.t", target="silver.t", rows_silver=8, unsettled=unsettled)
    verdict.differing |= differing
    assert rows_in_common(verdict) == common


@attrs.frozen
class _Progress:
    committed: str
    since: str = ""


@attrs.frozen
class _Target:
    newest: str
    since: str = ""

    def progress(self) -> _Progress:
        return _Progress(self.newest, self.since)


@attrs.frozen
class _Comparison:
    clock: str
    target: _Target


@pytest.mark.parametrize(
    ("now", "says"),
    [
        ("20260301100000500000", ""),
        ("20260301100001000000", ""),
        ("20260301100000499999", "went back while it was compared, from 2026-03-01T10:00:00.5Z to 2026-03-01T10:00:00.499Z"),
        ("20260301095959000000", "went back while it was compared"),
    ],
)
def test_a_clock_that_went_back_since_the_first_look_is_refused(now: str, says: str) -> None:
    comparison = _Comparison("20260301100000500000", _Target("20260301100000000"))
    found = clock_doubt(comparison, now)  # type: ignore[arg-type]
    assert (len(found), says in "".join(found)) == (int(bool(says)), True)


def test_a_clock_before_the_newest_change_of_silver_is_refused() -> None:
    found = clock_doubt(_Comparison("20260301100000500000", _Target("20260301100002000")), "20260301100001000000")  # type: ignore[arg-type]
    assert "silver holds a change committed at 2026-03-01T10:00:02Z" in found[0]


@pytest.mark.parametrize(("since", "refused"), [("20260301100001000", True), ("20260301100000999", False), ("", False)])
def test_a_repair_whose_name_no_run_looks_for_is_refused(since: str, refused: bool) -> None:
    comparison = _Comparison("20260301100000500000", _Target("20260301090000000", since))
    found = clock_doubt(comparison, "20260301100001000999")  # type: ignore[arg-type]
    assert ["it would never be merged" in text for text in found] == [True] * refused


def bronze_file(relative: str) -> BronzeFile:
    found = parse_key("public/t/", f"public/t/{relative}", 10, relative, "20260301120000000")
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("names", "since", "newest"),
    [
        (["LOAD00000001.parquet", "20260301-100000000.parquet", "20260301-100001000.parquet"], "", "20260301-100001000.parquet"),
        # What the job itself has written shows nothing of the task.
        (["20260301-100000000.parquet", "_repair/20260301-100001000.parquet"], "", "20260301-100000000.parquet"),
        # After a reload in place at 10:00:01, an earlier change file has the columns of the load before.
        (["LOAD00000001.parquet", "20260301-100000000.parquet"], "20260301100001000", "LOAD00000001.parquet"),
        (["20260301-100000000.parquet"], "20260301100001000", None),
        ([], "", None),
    ],
)
def test_the_newest_file_is_one_of_the_load_that_silver_holds(names: Sequence[str], since: str, newest: str | None) -> None:
    files = [bronze_file(name) for name in names]
    look_back = LookBack(24, datetime(2026, 3, 1, 12, tzinfo=UTC))
    progress = attrs.evolve(Progress().after(files, look_back, [one for one in files if not one.is_cdc]), since=since)
    found = newest_merged([*files, bronze_file("20260301-110000000.parquet")], progress)
    assert (found.relative if found else None) == newest
