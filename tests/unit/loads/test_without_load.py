"""Which tables are made of change files alone, and what else tells that they have all of their rows."""

import attrs
import pytest

from dms_iceberg.bronze.keys import BronzeFile, parse_key
from dms_iceberg.config.model import Mode, Table
from dms_iceberg.loads.changes_alone import is_of_changes_alone
from dms_iceberg.progress.merged_loads import MergedLoads
from dms_iceberg.progress.pending import Pending
from dms_iceberg.progress.progress import Progress

TABLE = Table(source="public.t", target="silver.t", key=("id",))
NOTHING = Pending([], [], [], [])
MERGED = Progress(frontier="20260301100000000")


def file(name: str) -> BronzeFile:
    found = parse_key("public/t/", f"public/t/{name}", 1, "e")
    assert found is not None
    return found


CHANGES, LOAD = file("20260301-100000000.parquet"), file("LOAD00000001.parquet")


@pytest.mark.parametrize(
    ("progress", "pending", "alone"),
    [
        pytest.param(Progress(), NOTHING, False, id="nothing yet"),
        pytest.param(Progress(), attrs.evolve(NOTHING, files=[CHANGES]), True, id="only changes wait"),
        pytest.param(MERGED, NOTHING, True, id="only changes are merged"),
        pytest.param(Progress(), attrs.evolve(NOTHING, files=[LOAD, CHANGES], loads=[LOAD]), False, id="the load waits"),
        pytest.param(MERGED, attrs.evolve(NOTHING, loads=[LOAD]), False, id="the load is listed"),
        pytest.param(attrs.evolve(MERGED, loads=MergedLoads(frozenset([b"x"]))), NOTHING, False, id="the load was merged and has expired"),
        pytest.param(attrs.evolve(MERGED, load_told=True), NOTHING, False, id="it was said"),
        pytest.param(attrs.evolve(MERGED, truncated="20260301100000000"), NOTHING, False, id="it was truncated"),
    ],
)
def test_a_table_of_changes_alone(progress: Progress, pending: Pending, alone: bool) -> None:
    for mode in Mode:
        assert is_of_changes_alone(attrs.evolve(TABLE, mode=mode), progress, pending) == (alone and mode is not Mode.APPEND)


def test_what_was_said_of_a_load_is_remembered_and_not_of_the_next_one() -> None:
    said = Progress(load_told=True)
    assert Progress.from_json(said.to_json()) == said
    assert not said.start.load_told
    assert "load_told" not in MERGED.to_json()
