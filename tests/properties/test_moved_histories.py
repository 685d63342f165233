"""Random histories whose merged files somebody moves to other folders of their tables between runs: silver is the oracle's table."""

from pathlib import Path
from random import Random

import pytest
from pyspark.sql import SparkSession

from properties.merging import Merging
from support.bronze_writer import FORMATS
from support.histories import NUMBERS, SEED, seeded_world
from support.odd_files import move_away
from support.table_kinds import DROPPED, PLAIN


@pytest.mark.parametrize("number", NUMBERS)
def test_moved_files(spark: SparkSession, warehouse: Path, tmp_path: Path, number: int) -> None:
    seed = SEED + 100 * number + 90
    world = seeded_world(seed, (PLAIN, DROPPED), histories=6, per_table=60, runs=3, restarts=1, max_files=25)
    merging = Merging(spark, warehouse, tmp_path, world, FORMATS[0])
    rng, reports = Random(seed), []
    for run in range(world.runs):
        merging.deliver(run)
        reports.append(merging.run())
        assert move_away(rng, merging.root)
    merging.check_books(reports)
    for kind in world.kinds:
        if world.overlaps(kind) and merging.open_reasons(kind)["ambiguous_key_change"]:
            merging.replay(kind)
    wrong = merging.differences()
    assert not wrong, f"{len(wrong)} rows differ (seed {seed})\n" + "\n".join(map(str, wrong[:10]))
