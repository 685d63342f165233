"""Kept runs of keys, beside the list of keys that they stand for."""

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dms_iceberg.iceberg.rows.key_runs import KeyRuns, key_runs

LOW, HIGH = -(2**63), 2**63 - 1
_ENDS = st.one_of(st.integers(-300, 300), st.integers(LOW, LOW + 300), st.integers(HIGH - 300, HIGH), st.integers(LOW, HIGH))


def runs_of(keys: list[int], type_: pa.DataType | None = None, pieces: int = 1) -> KeyRuns | None:
    array = pa.array(keys, type_ or pa.int64())
    size = -(-len(array) // pieces) or 1
    return key_runs(pa.chunked_array([array.slice(start, size) for start in range(0, len(array), size)], array.type))


@given(st.lists(st.tuples(_ENDS, st.integers(1, 60)), max_size=12), st.sets(_ENDS), st.integers(1, 3))
def test_runs_find_what_the_list_has(parts: list[tuple[int, int]], others: set[int], pieces: int) -> None:
    keys = [key for first, length in parts for key in range(first, min(first + length, HIGH + 1))]
    runs = runs_of(keys, pieces=pieces)
    if runs is None:
        wraps = any(one == HIGH for one in keys) or any(abs(one - two) > HIGH for one in keys for two in keys)
        scattered = not keys or len(parts) * 12 > len(keys)
        assert scattered or wraps or len({*keys}) < len(keys)
        return
    assert len({*keys}) == len(keys)
    assert runs.nbytes <= 2 * len(keys)
    ends = {one + step for first, length in parts for one in (first, first + length) for step in (-1, 0)}
    wanted = [one for one in (*others, *ends) if LOW <= one <= HIGH]
    assert runs.find(wanted) == [(position, key) for position, key in enumerate(keys) if key in wanted]


def test_a_range_is_one_run_and_a_compacted_file_a_few() -> None:
    runs = runs_of([*range(1_000, 60_000), *range(100, 1_000), 60_500, 99])
    assert runs is not None
    assert (len(runs.firsts), runs.nbytes) == (4, 96)
    assert runs.find([99, 100, 60_500, 5, 60_000, 1_000, 1_000]) == [(0, 1_000), (59_000, 100), (59_900, 60_500), (59_901, 99)]


@pytest.mark.parametrize(
    "keys",
    [
        pytest.param([], id="none"),
        pytest.param([*range(50), None, *range(50, 100)], id="null"),
        pytest.param([*range(50), *range(49, 100)], id="doubled"),
        pytest.param([*range(50, 100), *range(51)], id="doubled-far-away"),
        pytest.param([*range(0, 200, 2)], id="scattered"),
        pytest.param([*range(HIGH - 50, HIGH + 1), *range(LOW, LOW + 50)], id="from-the-highest-to-the-lowest"),
    ],
)
def test_other_keys_are_not_kept(keys: list[int]) -> None:
    assert runs_of(keys) is None


def test_only_integers_that_the_file_has_as_such_are_kept() -> None:
    assert runs_of([*range(100)], pa.int32()) is not None
    assert runs_of([*range(100)], pa.date32()) is None
    assert runs_of([*range(100)], pa.float64()) is None
