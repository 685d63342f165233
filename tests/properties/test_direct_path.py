"""Random histories by the direct path and by MERGE: rows, types, progress, books and quarantine are the same after every run."""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from dms_iceberg.merge import direct
from dms_iceberg.runs.report import BatchReport, RunReport
from properties.merging import Merging
from support.awkward_kinds import AWKWARD, CHANGING, EXACT, NO_TEXT, OURS
from support.bronze_writer import FORMATS
from support.histories import NUMBERS, SEED, seeded_world
from support.mode_oracles import SOFT_DELETE, ModeOracle
from support.table_kinds import CLOCK, CODED, CROWDED, FILTERED, JUDGED, MASKED, NUMBERED, PLAIN

# A further world takes other kinds.
_KINDS = ((PLAIN, JUDGED, MASKED, AWKWARD), (NUMBERED, CODED, CHANGING, CROWDED), (CLOCK, FILTERED, EXACT, OURS, NO_TEXT))


@contextmanager
def _merged_only() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(direct, "MOST_ROWS", 0)
        yield


@pytest.mark.long
@pytest.mark.parametrize("mode", [None, SOFT_DELETE], ids=["mirror", "soft-delete"])
@pytest.mark.parametrize("number", NUMBERS)
def test_both_paths_leave_the_same(spark: SparkSession, warehouse: Path, tmp_path: Path, number: int, mode: ModeOracle | None) -> None:
    kinds = _KINDS[number % len(_KINDS)]
    kinds = kinds if mode is None else tuple(mode.of(kind) for kind in kinds)
    world = seeded_world(SEED + 100 * number + 90, kinds, histories=4, per_table=30, runs=3, restarts=1, max_files=6)
    ours, reference = (Merging(spark, warehouse, tmp_path, world, FORMATS[0], epoch=1) for _ in range(2))
    batches = list[tuple[BatchReport, BatchReport]]()
    for run in range(world.runs):
        ours.deliver(run)
        reference.deliver(run)
        report = ours.run()
        with _merged_only():
            expected = reference.run()
        batches += _paired(report, expected)
        for kind in world.kinds:
            _compare(ours.state(kind), reference.state(kind), f"{kind.name} after run {run}, seed {world.seed}")
    assert any(one.path == "direct" for one, _ in batches), [one.path for one, _ in batches]
    assert not any(other.path == "direct" for _, other in batches)


def _compare(ours: tuple[Any, ...], reference: tuple[Any, ...], place: str) -> None:
    for one, other in zip(ours, reference, strict=True):
        if one != other and isinstance(one, list):
            pytest.fail(f"{place}: {sorted({*one} - {*other})[:5]} instead of {sorted({*other} - {*one})[:5]}")
        assert one == other, place


def _paired(report: RunReport, expected: RunReport) -> list[tuple[BatchReport, BatchReport]]:
    pairs = []
    for name, table in report.tables.items():
        others = expected.tables[name].batches
        assert [_books(one) for one in table.batches] == [_books(one) for one in others], name
        assert _alike(table.warnings) == _alike(expected.tables[name].warnings), name
        pairs += list(zip(table.batches, others, strict=True))
    return pairs


def _alike(warnings: Iterable[str]) -> list[str]:
    """Leave out the numbers of the two worlds' folders and tables."""
    return [re.sub(r"(properties|bronze|epoch)[_-]\d+", r"\1", one) for one in warnings]


def _books(batch: BatchReport) -> tuple[Any, ...]:
    return batch.files, batch.rows_read, batch.applied, batch.superseded, batch.stale, batch.filtered, batch.quarantined, batch.frontier
