"""LOAD files that are missing among others are told, and those are not that were merged and have expired."""

import random
from collections.abc import Iterable
from datetime import UTC, datetime

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dms_iceberg.bronze.keys import BronzeFile, parse_key
from dms_iceberg.errors import BronzeError
from dms_iceberg.progress.load_gaps import Gaps, find_gaps
from dms_iceberg.progress.look_back import LookBack
from dms_iceberg.progress.merged_loads import LOOK_BACK_FILES, MergedLoads
from dms_iceberg.progress.pending import pending_files
from dms_iceberg.progress.progress import Progress

PREFIX = "public/t/"
FOLDERS = ("", "north/", "SEGMENT1_", "north/SEGMENT2_")
NOW = datetime(2026, 3, 1, tzinfo=UTC)


def file(number: int, folder: str = "") -> BronzeFile:
    key = f"{PREFIX}{folder}LOAD{number:08X}.csv.gz"
    found = parse_key(PREFIX, key, 1, f"e{number}")
    assert found is not None
    return found


def merged(files: Iterable[BronzeFile]) -> MergedLoads:
    known = list(files)
    return MergedLoads().plus(known, known)


def keys(*numbers: int, folder: str = "") -> tuple[str, ...]:
    return tuple(file(number, folder).key for number in numbers)


@pytest.mark.parametrize("folder", FOLDERS)
def test_numbers_in_between_and_at_the_beginning_are_told(folder: str) -> None:
    loads = [file(number, folder) for number in (2, 4, 0x10)]
    assert find_gaps(loads, MergedLoads()) == Gaps(keys(1, 3, 5, folder=folder), more=True)
    assert find_gaps(loads[:2], MergedLoads()) == Gaps(keys(1, 3, folder=folder))


def test_an_absurd_number_costs_nothing() -> None:
    assert find_gaps([file(1), file(0xFFFFFFFF)], MergedLoads()) == Gaps(keys(2, 3, 4), more=True)


@pytest.mark.parametrize("count", [5, LOOK_BACK_FILES + 5])
def test_what_was_merged_may_expire(count: int) -> None:
    progress = merged(file(number) for number in range(1, count + 1))
    there = [file(3), file(count), file(count + 2)]
    assert find_gaps(there, progress) == Gaps(keys(count + 1))
    assert find_gaps([], progress) == Gaps()


@given(st.dictionaries(st.sampled_from(FOLDERS), st.sets(st.integers(1, 12), min_size=1)), st.sets(st.integers(1, 12)))
def test_what_is_missing_is_what_no_listing_had(there: dict[str, set[int]], before: set[int]) -> None:
    loads = [file(number, folder) for folder, numbers in there.items() for number in numbers]
    progress = merged(file(number, folder) for folder in there for number in before)
    wanted = {
        file(number, folder).key for folder, numbers in there.items() for number in range(1, max(numbers)) if number not in numbers | before
    }
    found = find_gaps(loads, progress)
    assert set(found.keys) <= wanted
    assert len(found.keys) == min(len(wanted), 3)
    assert found.more == (len(wanted) > 3)


def test_warning_names_what_is_missing() -> None:
    pending = pending_files([file(1), file(3)], Progress(), "public.t", datetime(2026, 3, 1, tzinfo=UTC))
    (warning,) = pending.warnings("public.t")
    assert warning.startswith(f"public.t: {PREFIX}LOAD00000002.csv.gz: not there, although")
    assert "load the table again" in warning


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("count", [30, LOOK_BACK_FILES + 30, 2 * LOOK_BACK_FILES])
def test_each_file_is_merged_once_in_whatever_order_they_come(seed: int, count: int) -> None:
    """Uploads overlap, and a missing file may be restored after hundreds of others were merged, or after these have expired."""
    dice = random.Random(seed)
    whole = [file(number, folder) for folder in dice.sample(FOLDERS, 2) for number in range(1, count // 2 + 1)]
    whole = [attrs.evolve(one, etag=one.key) for one in whole]
    coming = sorted(whole, key=lambda one: (one.order[9:], dice.random()))
    for late in dice.sample(range(len(coming)), dice.randint(1, 8)):
        coming.append(coming.pop(late))
    progress, listed, done = Progress(), list[BronzeFile](), list[str]()
    while coming:
        size = dice.randint(1, 90)
        arrived, coming = coming[:size], coming[size:]
        listed += arrived
        pending = pending_files(listed, progress, "public.t", NOW)
        assert {one.key for one in pending.files} == {one.key for one in listed} - {*done}
        batch = pending.files[: dice.choice([1, 50, 999])]
        progress = Progress.from_json(progress.after(batch, LookBack(24, NOW), pending.loads).to_json())
        done += [one.key for one in batch]
    while pending := pending_files(listed, progress, "public.t", NOW).files:
        progress = progress.after(pending[:70], LookBack(24, NOW), listed)
        done += [one.key for one in pending[:70]]
    assert sorted(done) == sorted(one.key for one in whole)
    assert pending_files(listed, progress, "public.t", NOW).gaps == Gaps()
    assert progress.loads.are_all_in(listed)


def test_a_file_that_is_missing_among_hundreds_is_told_until_it_is_there() -> None:
    there = [file(number) for number in range(1, LOOK_BACK_FILES + 50) if number not in (7, 190)]
    progress = Progress().after(there, LookBack(24, NOW), there)
    assert pending_files(there, progress, "public.t", NOW).gaps == Gaps(keys(7, 190))
    restored = [*there, file(7)]
    (new,) = pending_files(restored, progress, "public.t", NOW).files
    progress = progress.after([new], LookBack(24, NOW), restored)
    assert pending_files(restored, progress, "public.t", NOW).gaps == Gaps(keys(190))
    again = [*there, attrs.evolve(file(7), etag="another")]
    with pytest.raises(BronzeError, match="is not the one that was merged"):
        pending_files(again, progress, "public.t", NOW)


def test_a_restored_file_is_known_by_its_number_where_the_others_have_expired() -> None:
    there = [file(number) for number in range(1, LOOK_BACK_FILES + 50) if number != 7]
    progress = Progress().after(there[:150], LookBack(24, NOW), there[:150])
    progress = progress.after(there[150:], LookBack(24, NOW), there[150:])
    assert not progress.loads.has(file(7))
    assert progress.loads.has(file(8))


def test_beyond_some_number_of_missing_files_none_is_known() -> None:
    there = [file(2 * number) for number in range(1, LOOK_BACK_FILES + 50)]
    progress = Progress().after(there, LookBack(24, NOW), there)
    assert len(progress.to_json()) < 1000
    assert pending_files(there, progress, "public.t", NOW).gaps.more
    with pytest.raises(BronzeError, match="one of the first"):
        pending_files([*there, file(7)], progress, "public.t", NOW)
