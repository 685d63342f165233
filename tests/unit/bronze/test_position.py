"""A position is text that compares like the tuple (load, clock, file time, counter)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dms_iceberg.bronze.position import (
    CLOCK_DIGITS,
    begin_before,
    clock_of,
    is_load_position,
    load_position,
    load_prefix,
    sequence_position,
)

numbers = st.integers(0, 10**6) | st.integers(0, 12)
clocks = st.integers(1, 10**CLOCK_DIGITS - 1) | st.integers(1, 3)
file_times = st.integers(0, 10**17 - 1) | st.integers(0, 3)
counters = st.integers(0, 10**19 - 1) | st.integers(0, 1100)
places = st.tuples(numbers, clocks, file_times, counters)


def encode(place: tuple[int, int, int, int]) -> str:
    number, clock, file_time, counter = place
    return sequence_position(number, f"{clock:016d}{counter:019d}", f"{file_time:017d}")


@given(places, places)
def test_text_compares_like_the_tuple(left: tuple[int, int, int, int], right: tuple[int, int, int, int]) -> None:
    assert (encode(left) < encode(right)) == (left < right)
    assert (encode(left) == encode(right)) == (left == right)


@given(places, places)
def test_bytes_compare_like_the_text(left: tuple[int, int, int, int], right: tuple[int, int, int, int]) -> None:
    """Spark compares UTF-8 bytes, Python code points."""
    assert (encode(left) < encode(right)) == (encode(left).encode() < encode(right).encode())


@given(numbers, file_times, places)
def test_load_rows_lie_below_every_change_of_their_load(number: int, order: int, place: tuple[int, int, int, int]) -> None:
    load = load_position(number, f"{order:017d}")
    _, clock, file_time, counter = place
    assert load < encode((number, clock, file_time, counter))
    assert load < load_prefix(number + 1)
    assert encode((number, clock, file_time, counter)) < load_position(number + 1, f"{0:017d}")
    assert is_load_position(load, number)
    assert not is_load_position(encode((number, clock, file_time, counter)), number)


@given(numbers, st.integers(0, 10**17 - 1), st.integers(0, 10**17 - 1))
def test_load_rows_compare_like_their_files(number: int, left: int, right: int) -> None:
    assert (load_position(number, f"{left:017d}") < load_position(number, f"{right:017d}")) == (left < right)


@given(places)
def test_clock_is_found_again(place: tuple[int, int, int, int]) -> None:
    assert clock_of(encode(place)) == f"{place[1]:016d}0"


@given(places, places)
def test_the_begin_is_below_every_place_of_the_same_clock(place: tuple[int, int, int, int], other: tuple[int, int, int, int]) -> None:
    number, clock, *_ = place
    assert begin_before(encode(place), hours=1) <= encode((number, clock, *other[2:]))


@pytest.mark.parametrize(
    ("position", "begin"),
    [
        ("a02026030110000000202603011001300000000000000000000061", "a02026030109000000"),
        ("b102026030100300099202603011001300000000000000000000061", "b102026022823300099"),
        ("a0" + "0" * 33, "a0" + "0" * 16),
        ("", ""),
    ],
)
def test_the_begin_is_so_much_earlier(position: str, begin: str) -> None:
    assert begin_before(position, hours=1) == begin


def test_nothing_applied_yet_counts_as_load() -> None:
    assert is_load_position("", 0)


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ((0, 2026030110000000, 20260301100130000, 61), "a02026030110000000202603011001300000000000000000000061"),
        ((10, 1, 2, 0), "b100000000000000001000000000000000020000000000000000000"),
    ],
)
def test_examples(place: tuple[int, int, int, int], text: str) -> None:
    """The encoding is in every table: it must never change unnoticed."""
    assert encode(place) == text
