"""Which way of refreshing a model is taken, by what is known."""

import pytest

from dms_iceberg.config.model import Refresh
from dms_iceberg.gold.choice import Figures, choose

M = 1_000_000
AUTO_FULL, GROUPS = Refresh.FULL, Refresh.INCREMENTAL


@pytest.mark.parametrize(
    ("rows", "files", "model_rows", "found", "expected", "reason"),
    [
        pytest.param(0, 0, 0, (), AUTO_FULL, "all 0 rows", id="empty"),
        pytest.param(2 * M, 20, 6, (), AUTO_FULL, "beside reading all 2,000,000 rows", id="small table"),
        pytest.param(100 * M, 100, 6, (), GROUPS, "costs little", id="large table: worth a look"),
        pytest.param(100 * M, 9_000, 6, (), AUTO_FULL, "costs too much", id="so many files that a look takes long"),
        pytest.param(100 * M, 100, 6, (90 * M,), AUTO_FULL, "(90,000,000 are in files with changes)", id="changes everywhere"),
        pytest.param(100 * M, 100, 6, (1 * M,), GROUPS, "costs little", id="changes in few files"),
        pytest.param(100 * M, 100, 6, (1 * M, 100 * M, 6), AUTO_FULL, "(100,000,000 rows to read, 6 to write)", id="groups everywhere"),
        pytest.param(100 * M, 100, 6, (1 * M, 3 * M, 6), GROUPS, "25.3 s for all (100,000,000 and 6)", id="groups in few files"),
        pytest.param(100 * M, 100, 50 * M, (1 * M, 3 * M, 50 * M), GROUPS, "50,000,000 to write", id="one file of the model"),
        pytest.param(10 * M, 100, 50 * M, (1 * M, 10 * M, 50 * M), AUTO_FULL, "50,000,000 to write", id="all written, all read"),
    ],
)
def test_the_cheaper_way_is_taken(rows: int, files: int, model_rows: int, found: tuple[int, ...], expected: Refresh, reason: str) -> None:
    known = dict(zip(("searched", "read", "rewritten"), found, strict=False))
    choice = choose(Figures(rows=rows, files=files, model_rows=model_rows, **known))
    assert choice.refresh is expected, choice.reason
    assert reason in choice.reason


@pytest.mark.parametrize("rows", [10**exponent for exponent in range(11)])
@pytest.mark.parametrize("model_rows", [0, 10, 10**6, 10**8])
def test_groups_are_never_taken_where_they_read_and_write_as_much(rows: int, model_rows: int) -> None:
    known = Figures(rows=rows, files=10, model_rows=model_rows, searched=0, read=rows, rewritten=model_rows)
    assert choose(known).refresh is Refresh.FULL
