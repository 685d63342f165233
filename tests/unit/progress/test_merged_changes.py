"""Whether bronze still has every change file that was merged: all of them in two numbers."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dms_iceberg.bronze.keys import BronzeFile, digits_of, earlier, parse_key, time_of
from dms_iceberg.loads.rebuild_check import unexplained, unread_changes
from dms_iceberg.loads.rebuilt_keys import Difference
from dms_iceberg.progress.look_back import LookBack
from dms_iceberg.progress.merged_changes import MergedChanges
from dms_iceberg.progress.progress import Progress
from dms_iceberg.silver.row_counts import RowCounts

FIRST, NOW = "20260301100000000", time_of("20260401100000000")
HOUR = LookBack(1, NOW)
TIMES = [earlier(FIRST, minutes=-number) for number in range(60)]

of_times = st.lists(st.sampled_from(TIMES), unique=True)


def cdc(order: str, etag: str = "e", folder: str = "") -> BronzeFile:
    file = parse_key("public/t/", f"public/t/{folder}{order[:8]}-{order[8:]}.parquet", 10, etag)
    assert file is not None
    return file


def merged(*batches: list[BronzeFile], look_back: LookBack = HOUR) -> Progress:
    progress = Progress()
    for files in batches:
        progress = progress.after(files, look_back, [])
    return progress


@given(of_times, of_times, of_times)
def test_a_loss_is_never_claimed_falsely_and_never_missed_beside_two_further_files(
    stay: list[str], lost: list[str], further: list[str]
) -> None:
    lost, further = [one for one in lost if one not in stay], [one for one in further if one not in {*stay, *lost}]
    found = MergedChanges().plus(stay).plus(lost).lost([*stay, *further])
    if not lost:
        assert found == (0 if len(further) < 3 else None)
    elif found is None:
        assert len(further) - len(lost) > 2
    else:
        assert 1 <= found <= len(lost)


@given(of_times, of_times)
def test_numbers_do_not_depend_on_the_grouping(one: list[str], other: list[str]) -> None:
    other = [time for time in other if time not in one]
    together = MergedChanges().plus([*other, *one])
    assert together == MergedChanges().plus(one).plus(other)
    assert together.minus(other) == MergedChanges().plus(one)


def test_progress_counts_each_close_time_once() -> None:
    """Uploaded again, moved with another ETag, copied: one file. Far more files than the list of recent ones holds are counted."""
    many = [cdc(earlier(FIRST, minutes=-number)) for number in range(1000)]
    progress = merged(*(many[start : start + 70] for start in range(0, 1000, 70)))
    assert progress.changes == MergedChanges().plus(file.order for file in many)
    last = many[-1].order
    again = progress.after([cdc(last, "other")], HOUR, []).after([cdc(last, "other", "processed/")], HOUR, [])
    assert again.changes == progress.changes
    assert Progress.from_json(again.to_json()) == again
    assert progress.start.changes == MergedChanges()


@pytest.mark.parametrize(
    ("rebuilt", "unread"),
    [
        (TIMES[:3], 0),
        (TIMES[:2], 1),
        ([TIMES[0], TIMES[1], TIMES[7]], 1),
        ([*TIMES[:3], TIMES[7]], 0),
        ([], 3),
    ],
)
def test_what_a_rebuild_has_not_read_again(rebuilt: list[str], unread: int) -> None:
    main = merged([cdc(time) for time in TIMES[:3]])
    assert unread_changes(main, merged([cdc(time) for time in rebuilt]), NOW) == unread


def test_a_merged_file_that_is_named_ahead_is_left_to_later_runs() -> None:
    ahead = cdc(digits_of(NOW + timedelta(days=40)))
    main = merged([cdc(FIRST)], [ahead])
    assert unread_changes(main, merged([cdc(FIRST)]), NOW) == 0
    assert unread_changes(main, merged([cdc(FIRST)], [ahead]), NOW) == 0
    assert unread_changes(main, merged([ahead]), NOW) == 1


@pytest.mark.parametrize(
    ("difference", "excused", "words"),
    [
        (Difference(), 0, []),
        (Difference(back=2), 0, ["rows of 2 keys that the table had no row of"]),
        (Difference(ended=1), 0, ["of 1 keys only an ended one"]),
        # Each of the keys may have been in quarantine.
        (Difference(back=2, ended=1), 3, []),
        (Difference(back=2, ended=2), 3, ["rows of 2 keys"]),
        # Another filter brings rows back on purpose.
        (Difference(back=9), None, []),
        (Difference(fewer=5), None, []),
        (Difference(fewer=6), None, ["6 rows fewer"]),
        (Difference(back=1, fewer=6), 0, ["rows of 1 keys", "6 rows fewer"]),
    ],
)
def test_what_nothing_explains_is_said_with_numbers(difference: Difference, excused: int | None, words: list[str]) -> None:
    found = unexplained(difference, RowCounts(filtered=2, quarantined=3), excused)
    assert [word in text for word, text in zip(words, found, strict=True)] == [True] * len(words)
