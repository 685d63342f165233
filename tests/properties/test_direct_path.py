"""Random histories by the direct path and by MERGE: rows, types, progress, books and quarantine are the same after every run."""

import random
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from dms_iceberg.merge.direct import delta as direct
from dms_iceberg.runs.report import BatchReport, RunReport
from properties.merging import Merging
from support.awkward_kinds import AWKWARD, CHANGING, EXACT, NO_TEXT, OURS
from support.bronze_writer import FORMATS
from support.histories import NUMBERS, SEED, seeded_world
from support.lake import Lake
from support.mode_oracles import SOFT_DELETE, ModeOracle
from support.table_kinds import CLOCK, CODED, CROWDED, FILTERED, JUDGED, MASKED, NUMBERED, PLAIN

# A further world takes other kinds.
_KINDS = ((PLAIN, JUDGED, MASKED, AWKWARD), (NUMBERED, CODED, CHANGING, CROWDED), (CLOCK, FILTERED, EXACT, OURS, NO_TEXT))
_PARTITIONS = {
    JUDGED.name: ["truncate(1, city)", "days(seen_at)"],
    AWKWARD.name: ["bucket(2, code)", "truncate(1000, size)"],
    CODED.name: ["note"],
    CROWDED.name: ["size"],
    FILTERED.name: ["bucket(2, order)", "status"],
    OURS.name: ["bucket(2, key)", "`dotted.name`"],
}


@contextmanager
def _merged_only() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(direct, "MOST_ROWS", 0)
        yield


COLUMNS = [
    ("id", pa.int64()),
    ("code", pa.string()),
    ("name", pa.string()),
    ("seen", pa.timestamp("us")),
    ("amount", pa.decimal128(12, 2)),
    ("ratio", pa.float64()),
]
KEY, VALUES = ("id", "code"), ("name", "seen", "amount", "ratio")
_IDS = (*range(10), -(2**63), 7 - 2**63)
_CODES = ("", "a", "A", "ä", " a", "a" * 40)
_POOLS: dict[str, tuple[Any, ...]] = {
    "name": (None, "", "x", "xy", "Zoë", "long " * 30),
    "seen": (None, datetime(1969, 12, 31, 23, 59, 59, 999_999), datetime(2026, 1, 1), datetime(2026, 1, 31, 23, 30)),
    "amount": (None, Decimal("-0.01"), Decimal("9999999999.99")),
    "ratio": (None, -0.0, 0.5, float("inf")),
}
_ENTRIES: dict[str, dict[str, Any]] = {
    "whole": {},
    "by_value": {"partition_by": ["truncate(1, name)", "bucket(2, amount)"]},
    # The partition of the lowest numbers overflows.
    "by_key": {"partition_by": ["truncate(1000, id)"]},
    "by_day": {"partition_by": ["days(seen)", "bucket(2, code)"]},
    "kept": {"mode": "soft_delete"},
    "whole_v3": {"format_version": 3},
    "kept_v3": {"mode": "soft_delete", "format_version": 3, "partition_by": ["bucket(2, code)"]},
    "kept_by_value": {"mode": "soft_delete", "partition_by": ["name", "months(seen)"]},
}
Row = tuple[Any, ...]


@pytest.mark.long
@pytest.mark.parametrize("number", NUMBERS)
def test_batches_in_order_are_those_of_a_dictionary_by_both_paths(lake: Lake, number: int) -> None:
    """Nearly every batch of these takes the direct path; of the histories below, in which files come late, few do."""
    rng = random.Random(SEED + number)
    names = {f"{path}_{name}": {"key": list(KEY), **entry} for name, entry in _ENTRIES.items() for path in ("direct", "merged")}
    config = lake.config({f"public.{name}": entry for name, entry in names.items()}, parallelism=2)
    rows: dict[Row, Row] = {}
    deleted: dict[Row, Row] = {}
    paths = []
    for step in range(8):
        changes = list(_changes(rng, rows, deleted, step))
        for name in names:
            file = f"2026/03/01/10/20260301-10{step + 1:02d}59000.parquet"
            lake.changes(f"public.{name}", file, COLUMNS, changes, KEY)
        reports = [lake.run(config, *(f"public.{name}" for name in names if name.startswith("direct")))]
        with _merged_only():
            reports.append(lake.run(config, *(f"public.{name}" for name in names if name.startswith("merged"))))
        assert not any(report.errors for report in reports), [report.errors for report in reports]
        paths += [batch.path for table in reports[0].tables.values() for batch in table.batches]
        for name in _ENTRIES:
            ours, theirs = (lake.rows(f"{path}_{name}", order="id, code") for path in ("direct", "merged"))
            assert list(map(repr, ours)) == list(map(repr, theirs)), (name, step)
            is_kept = name.startswith("kept")
            found = lake.rows(f"direct_{name}", f"id, code, {', '.join(VALUES)}, {'_cdc_deleted' if is_kept else 'false'}", "id, code")
            expected = {key: (*values, False) for key, values in rows.items()}
            expected |= {key: (*values, True) for key, values in deleted.items()} if is_kept else {}
            assert {repr(row) for row in found} == {repr((*key, *values)) for key, values in expected.items()}, (name, step)
    assert paths.count("direct") > len(paths) * 0.6, paths


def _changes(rng: random.Random, rows: dict[Row, Row], deleted: dict[Row, Row], step: int) -> Iterator[Row]:
    """Change rows, each in a transaction of its own, and give the changes as DMS writes them."""
    left = set[Row]()
    for second in range(rng.choice((1, 10, 50))):
        at = f"2026030110{step + 1:02d}{second:02d}00"
        key = (rng.choice(_IDS), rng.choice(_CODES))
        values = tuple(rng.choice(_POOLS[name]) for name in VALUES)
        if key not in rows:
            if key in left and rng.random() < 0.9:
                # A key that a row leaves and another one takes within seconds is crowded, if clocks are as coarse: seldom.
                continue
            rows[key] = values
            deleted.pop(key, None)
            yield ("I", at, 61, *key, *values, *(None for _ in KEY))
        elif rng.random() < 0.3:
            deleted[key] = rows.pop(key)
            left.add(key)
            yield ("D", at, 61, *key, *deleted[key], *(None for _ in KEY))
        else:
            rows[key] = values
            yield ("U", at, 61, *key, *values, *key)


@pytest.mark.long
@pytest.mark.parametrize("mode", [None, SOFT_DELETE], ids=["mirror", "soft-delete"])
@pytest.mark.parametrize("number", NUMBERS)
def test_both_paths_leave_the_same(spark: SparkSession, warehouse: Path, tmp_path: Path, number: int, mode: ModeOracle | None) -> None:
    kinds = _KINDS[number % len(_KINDS)]
    entries = ({"partition_by": _PARTITIONS.get(kind.name, []), "format_version": 2 + (at + number) % 2} for at, kind in enumerate(kinds))
    kinds = tuple(kind.with_entry(entry) for kind, entry in zip(kinds, entries, strict=True))
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
    # In some worlds every batch is crowded; that the direct path is taken is for the test above.
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
