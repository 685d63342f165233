"""Random histories, in every format, delivered in every order: silver is the oracle's table, and the books balance.

Each test is one Spark job run several times over some sixty histories: key ranges of ten tables. A failure names the
histories that went wrong, tries the first one again alone, and tells its story file by file. The seed is fixed;
``PROPERTY_SEED`` and ``PROPERTY_WORLDS`` look further.
"""

import os
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from properties.merging import Difference, Merging
from support.bronze_writer import FORMATS, Format
from support.histories import World, seeded_world

HISTORIES = 6
SEED = int(os.environ.get("PROPERTY_SEED", "20260301"))
WORLDS = int(os.environ.get("PROPERTY_WORLDS", "1"))
# How much at once: everything in one batch, several small batches in a run, one file at a time.
_SHAPES = (
    {"runs": 4, "restarts": 1, "max_files": 5},
    {"runs": 3, "restarts": 2, "max_files": 1_000},
    {"runs": 2, "restarts": 1, "max_files": 4},
)


def _cases() -> list[object]:
    return [
        pytest.param(form, SEED + 100 * number + place, _SHAPES[(number + place) % len(_SHAPES)], id=f"{form.name}-{number}")
        for number in range(WORLDS)
        for place, form in enumerate(FORMATS)
    ]


@pytest.mark.parametrize(("form", "seed", "shape"), _cases())
def test_silver_is_the_oracles_table(
    spark: SparkSession, warehouse: Path, tmp_path: Path, form: Format, seed: int, shape: dict[str, int]
) -> None:
    world = seeded_world(seed, histories=HISTORIES, **shape)
    merging = Merging(spark, warehouse, tmp_path, world, form)
    reports = merging.run_all()
    wrong = merging.differences()
    if wrong:
        pytest.fail(_told(wrong, world, form, Merging(spark, warehouse, tmp_path, *_alone(wrong, world), form)))
    for kind in world.kinds:
        files = [file for file in world.files if file.table == kind.name]
        tables = [report.tables[kind.source] for report in reports]
        assert sum(table.files for table in tables) == len(files)
        assert sum(table.rows_read for table in tables) == sum(len(file.rows) for file in files)
        bad = world.bad_rows(kind)
        assert sum(table.quarantined for table in tables) == bad == merging.quarantined(kind), kind.name
    before = merging.snapshots()
    again = merging.run()
    assert not any(table.batches for table in again.tables.values())
    assert merging.snapshots() == before


def _alone(wrong: list[Difference], world: World) -> tuple[World]:
    first = wrong[0]
    return (world.only(first.kind, world.owner(first.kind, HISTORIES)[first.key]),)


def _told(wrong: list[Difference], world: World, form: Format, single: Merging) -> str:
    single.run_all()
    again = single.differences()
    owners = sorted({(each.kind.name, world.owner(each.kind, HISTORIES)[each.key]) for each in wrong})
    return "\n".join(
        [
            f"{len(wrong)} rows differ ({form.name}, seed {world.seed}, at most {world.max_files} files a batch)",
            *map(str, wrong[:10]),
            f"histories: {owners}",
            "the first of them alone: " + ("\n".join(map(str, again)) if again else "right; so another history matters"),
            single.world.story(),
        ]
    )
