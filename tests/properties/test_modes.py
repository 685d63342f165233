"""Random histories in the modes beside ``mirror``: silver is what the mode's oracle tells, row by row, and the books balance.

As in `test_convergence`, one Spark job runs over many histories at once: late, copied, re-emitted, split and regrouped files, restarts,
filters, rules and changes of key. ``PROPERTY_SEED`` and ``PROPERTY_WORLDS`` look further.
"""

from pathlib import Path
from random import Random

import attrs
import pytest
from pyspark.sql import SparkSession

from properties.merging import Merging, RowDifference
from support.awkward_kinds import AWKWARD, CHANGING, FLOATING, NO_TEXT, OURS, RESTRUCTURED
from support.bronze_writer import FORMATS
from support.histories import NUMBERS, SEED, World, seeded_world
from support.mode_oracles import APPEND, HISTORY, MIRROR, SOFT_DELETE, ModeOracle, load_events
from support.reloads import Reloaded, a_year_earlier, came_back, with_load_time, with_transfer_times
from support.table_kinds import CODED, CROWDED, DROPPED, FILTERED, JUDGED, SEATS

HISTORIES = 12
_KINDS = (FILTERED, JUDGED, DROPPED, CODED)
_SHAPES = {
    SOFT_DELETE: {"runs": 2, "restarts": 1, "max_files": 1_000},
    HISTORY: {"runs": 2, "restarts": 2, "max_files": 1_000},
    APPEND: {"runs": 2, "restarts": 2, "max_files": 25},
}


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize(
    "oracle",
    # The main suite has the rules of each mode one by one, and random histories of mirrors.
    [pytest.param(oracle, id=oracle.mode, marks=pytest.mark.long) for oracle in _SHAPES],
)
def test_silver_is_what_the_modes_oracle_tells(
    spark: SparkSession, warehouse: Path, tmp_path: Path, oracle: ModeOracle, number: int
) -> None:
    place, form = number + len(oracle.mode), FORMATS[number % len(FORMATS)]
    # How many columns have images cannot be told where LOBs have none and no header names them.
    crowded = SEATS if form.needs_source_columns else (CROWDED, SEATS)[number % 2]
    # In a log of changes no row takes another's place.
    other = _KINDS[(place + 1) % len(_KINDS)] if oracle is APPEND else crowded
    # One of the tables is of Iceberg's format 3, in the next world the other.
    kinds = tuple(
        oracle.of(kind).with_entry({"format_version": 2 + (number + step) % 2})
        for step, kind in enumerate((_KINDS[place % len(_KINDS)], other))
    )
    world = seeded_world(SEED + 100 * number + place, kinds, histories=HISTORIES, per_table=90, **_SHAPES[oracle])
    # Loads tell the time of their transfer, as DMS does by default, or a time before all changes.
    world = with_transfer_times(world, Random(world.seed)) if number % 2 == 0 else world
    merging = Merging(spark, warehouse, tmp_path, world, form)
    merging.run_all()
    wrong = merging.row_differences(oracle)
    if wrong:
        kind = wrong[0].kind
        alone = world.only(kind, world.owner(kind, HISTORIES)[wrong[0].key])
        pytest.fail(_told(wrong, world, oracle, Merging(spark, warehouse, tmp_path, alone, form)))
    before = merging.snapshots()
    assert not any(table.batches for table in merging.run().tables.values())
    assert merging.snapshots() == before


@pytest.mark.long
@pytest.mark.parametrize("number", NUMBERS)
def test_versions_of_a_load_that_came_over_after_changes(spark: SparkSession, warehouse: Path, tmp_path: Path, number: int) -> None:
    """Batches in order, which do not read all versions of their keys: what is known of the load's time must be enough."""
    kinds = tuple(attrs.evolve(HISTORY.of(kind), in_order=True) for kind in (CODED, FILTERED))
    shape = {"histories": 4, "per_table": 120, "runs": 6, "restarts": 0, "max_files": 1_000, "rising": True}
    worlds = (seeded_world(SEED + 100 * number + 80 + 1_000 * again, kinds, **shape) for again in range(30))
    timed = [with_transfer_times(world, Random(world.seed)) for world in worlds]
    world = max(timed, key=lambda one: sum(came_back(kind, one) for kind in kinds))
    assert any(came_back(kind, world) for kind in kinds)
    merging = Merging(spark, warehouse, tmp_path, world, FORMATS[0])
    merging.run_all()
    wrong = merging.row_differences(HISTORY)
    assert not wrong, f"{len(wrong)} keys differ (seed {world.seed})\n" + "\n".join(map(str, wrong[:10]))


@pytest.mark.release
@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("oracle", _SHAPES, ids=lambda oracle: oracle.mode)
def test_awkward_keys_and_columns(spark: SparkSession, warehouse: Path, tmp_path: Path, oracle: ModeOracle, number: int) -> None:
    # A log shows the key before a change as JSON, which has no number for NaN.
    awkward = (AWKWARD, NO_TEXT, OURS, CHANGING, *(() if oracle is APPEND else (FLOATING,)))
    kinds = tuple(oracle.of(kind) for kind in awkward)
    world = seeded_world(SEED + 100 * number + 60, kinds, histories=5, per_table=30, runs=2, restarts=1, max_files=1_000)
    merging = Merging(spark, warehouse, tmp_path, world, FORMATS[0])
    merging.run_all()
    wrong = merging.row_differences(oracle)
    assert not wrong, f"{len(wrong)} keys differ (seed {world.seed})\n" + "\n".join(map(str, wrong[:10]))


@pytest.mark.long
@pytest.mark.parametrize("number", NUMBERS)
def test_changes_written_again_with_other_columns(spark: SparkSession, warehouse: Path, tmp_path: Path, number: int) -> None:
    """A task that starts again after the source has added and dropped columns: what it writes again is no other change, in any mode."""
    oracles = (MIRROR, *_SHAPES)
    kinds = tuple(oracle.of(RESTRUCTURED).named(f"{RESTRUCTURED.name}_{oracle.mode}") for oracle in oracles)
    world = seeded_world(SEED + 100 * number + 70, kinds, histories=5, per_table=40, runs=3, restarts=4, max_files=1_000)
    merging = Merging(spark, warehouse, tmp_path, world, FORMATS[0])
    merging.run_all()
    for kind, oracle in zip(kinds, oracles, strict=True):
        wrong = merging.row_differences(oracle, kinds=(kind,))
        assert not wrong, f"{len(wrong)} keys differ ({oracle.mode}, seed {world.seed})\n" + "\n".join(map(str, wrong[:10])) + world.story()


@pytest.mark.parametrize(
    "oracle",
    [pytest.param(oracle, id=oracle.mode, marks=pytest.mark.long if oracle is APPEND else pytest.mark.release) for oracle in _SHAPES],
)
def test_a_second_load_becomes_what_it_changes(spark: SparkSession, warehouse: Path, tmp_path: Path, oracle: ModeOracle) -> None:
    kinds = (oracle.of(JUDGED if oracle is HISTORY else FILTERED),)
    # Both loads have rows, which tell when they were; where a load has none, what is gone ended when it was completed.
    shape = {"histories": 12, "per_table": 60, "runs": 1, "restarts": 1, "max_files": 1_000}
    # The same source a year apart: of what it ended with, its load has some rows as they were, others changed, gone and come back.
    worlds = (seeded_world(SEED + 8 + 1_000 * number, kinds, **shape) for number in range(10))
    world = next(one for one in worlds if any(load_events(kinds[0], one)))
    first, second = a_year_earlier(world), with_load_time(world)
    before = Merging(spark, warehouse, tmp_path, first, FORMATS[0])
    before.run_all()
    merging = Merging(spark, warehouse, tmp_path, second, FORMATS[0], before)
    merging.run_all()
    wrong = merging.row_differences(oracle, Reloaded(first, second, is_log=oracle is APPEND))
    assert not wrong, "\n".join(map(str, wrong[:10]))


@pytest.mark.parametrize("oracle", [pytest.param(oracle, id=oracle.mode, marks=pytest.mark.long) for oracle in (SOFT_DELETE, HISTORY)])
@pytest.mark.parametrize("number", NUMBERS)
def test_a_mirror_that_becomes_another_mode_on_the_way(
    spark: SparkSession, warehouse: Path, tmp_path: Path, oracle: ModeOracle, number: int
) -> None:
    """What a mirror has not kept is missing afterwards, and nothing else: also where the load comes in part after the switch."""
    kinds = (JUDGED, DROPPED, SEATS)
    world = seeded_world(SEED + 100 * number + 9, kinds, histories=HISTORIES, per_table=90, runs=3, restarts=1, max_files=1_000)
    merging = Merging(spark, warehouse, tmp_path, world, FORMATS[number % len(FORMATS)])
    mirrored = merging.config
    switched = merging.configured({kind.name: {"mode": oracle.mode} for kind in kinds})
    for run in range(world.runs):
        merging.config = switched if run else mirrored
        merging.deliver(run)
        merging.run()
    for found in merging.row_differences(oracle):
        # An older version that a mirror has replaced may be there in part.
        lost = [row for row in found.missing if not row.get("_is_current", not row.get("_cdc_deleted"))]
        known = [row for row in found.surplus if row.get("_is_current") is False]
        assert (found.missing, found.surplus) == (lost, known), f"(seed {world.seed})\n{found}\n{world.story()}"


def _told(wrong: list[RowDifference], world: World, oracle: ModeOracle, single: Merging) -> str:
    single.run_all()
    again = single.row_differences(oracle)
    return "\n".join(
        [
            f"{len(wrong)} keys differ ({oracle.mode}, seed {world.seed}, at most {world.max_files} files a batch)",
            *map(str, wrong[:10]),
            "the first history alone: " + ("\n".join(map(str, again)) if again else "right; so another history matters"),
            single.world.story(),
        ]
    )
