"""Random histories in mode ``history`` of which the same files are merged in batches of one, of two, all at once, and late: one table.

Loaded rows tell times at, just before and just after those of changes of their keys. Most changes share a commit time with others, also
where one key is deleted and inserted again; restarted tasks write changes again, and some versions have no length.
"""

import itertools
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

import attrs
import pytest
from pyspark.sql import SparkSession

from properties.merging import Merging
from support.bronze_writer import FORMATS, Format
from support.crowding import told_events
from support.histories import NUMBERS, SEED, World, make_world
from support.mode_oracles import HISTORY, ModeOracle, versions
from support.oracle import Key
from support.reloads import with_times_of_changes
from support.table_kind import TableKind
from support.table_kinds import CODED, CROWDED, FILTERED, JUDGED

_HISTORIES = 25
_TRACKED = {CROWDED.name: ("size",), FILTERED.name: ("status",)}
_TRACKING = attrs.evolve(HISTORY, tracked=_TRACKED, expected=lambda kind, story: versions(kind, story, _TRACKED.get(kind.name, ())))


@attrs.frozen
class _Case:
    """A table, how its files are written, and its oracle.

    Attributes:
        whole_seconds: the commit times of the source have no fraction.
        bounds: how many files a batch has at most, one grouping after the other.
    """

    kind: TableKind
    form: Format = FORMATS[0]
    oracle: ModeOracle = HISTORY
    whole_seconds: bool = False
    bounds: tuple[int, ...] = (1, 2, 1_000)

    def world(self, seed: int) -> World:
        """Return a world of a load, which has seen some of the changes, and three change files, that arrive before two runs."""
        kind = self.oracle.of(self.kind)
        shape: dict[str, Any] = {"histories": _HISTORIES, "transactions": 300, "keys": 3, "cut": 0.005, "runs": 2, "max_files": 1_000}
        steady = self.form.shape.sequence_column is None
        for again in range(seed, seed + 100_000, 1_000):
            rng = Random(again)
            restarts = 0 if kind.in_order else 1
            world = make_world(rng, [kind], restarts=restarts, steady=steady, whole_seconds=self.whole_seconds, seed=again, **shape)
            if len(world.files) == 4 and world.files[0].is_load and (kind.in_order or world.overlaps(kind)):
                return with_times_of_changes(world, rng)
        raise AssertionError(f"no world from seed {seed} on")


_CASES = {
    "loaded-and-inserted": _Case(CODED, bounds=(1, 1_000)),
    "no-sequence": _Case(CODED, FORMATS[0].without_sequence()),
    "whole-seconds": _Case(FILTERED, FORMATS[0].without_sequence(), _TRACKING, whole_seconds=True),
    "tracked": _Case(FILTERED, FORMATS[0], _TRACKING),
    "rules": _Case(JUDGED, whole_seconds=True),
    "crowded": _Case(CROWDED),
    "crowded-tracked": _Case(CROWDED, FORMATS[0], _TRACKING),
}


def _groupings(world: World, bounds: Sequence[int]) -> dict[str, World]:
    at_once = attrs.evolve(world, runs=1, arrivals=(0,) * len(world.files), uploads={})
    return {"late": world} | {f"of {bound}": attrs.evolve(at_once, max_files=bound) for bound in bounds}


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=[pytest.mark.long] if place else [], id=name) for place, (name, case) in enumerate(_CASES.items())]
)
def test_versions_do_not_depend_on_how_files_are_grouped(
    spark: SparkSession, warehouse: Path, tmp_path: Path, case: _Case, number: int
) -> None:
    world = case.world(SEED + 100 * number)
    (kind,) = world.kinds
    tables = {}
    for name, grouped in _groupings(world, case.bounds).items():
        # The number of the load, which is that of its folder, is in every position.
        merging = Merging(spark, warehouse, tmp_path, grouped, case.form, epoch=1)
        merging.run_all()
        wrong = [one for one in merging.row_differences(case.oracle, told_events) if not merging.waits_for(kind, one.key)]
        assert not wrong, f"{name}, seed {world.seed}\n" + "\n".join(map(str, wrong[:10])) + _story(grouped, kind, wrong[0].key)
        if not (world.overlaps(kind) and merging.open_reasons(kind)["ambiguous_key_change"]):
            tables[name] = merging.state(kind)[:2]
    # Also in metadata columns that no oracle tells.
    for (one, first), (other, second) in itertools.pairwise(tables.items()):
        assert first == second, f"{one} / {other}, seed {world.seed}"


def _story(world: World, kind: TableKind, key: Key) -> str:
    return "\n" + world.only(kind, world.owner(kind, _HISTORIES)[key]).story()
