"""LOAD files that are missing among others are told, and those are not that were merged and have expired."""

from collections.abc import Iterable
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dms_iceberg.bronze.keys import BronzeFile, parse_key
from dms_iceberg.progress.load_gaps import Gaps, find_gaps
from dms_iceberg.progress.merged_loads import LOOK_BACK_FILES, MergedLoads
from dms_iceberg.progress.pending import pending_files
from dms_iceberg.progress.progress import Progress

PREFIX = "public/t/"
FOLDERS = ("", "north/", "SEGMENT1_", "north/SEGMENT2_")


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
