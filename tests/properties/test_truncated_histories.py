"""Random histories of tables that are truncated: silver is the oracle's table, whenever the operator reports a truncate.

What was committed before a truncate may arrive after it was reported, and what came after it before. Files are late, copied and written
again, rows share keys within a transaction, and columns come and go, as in the other random histories. At the end a truncate is reported
that was before the load, whose files are gone by then: it is refused. ``PROPERTY_SEED`` and ``PROPERTY_WORLDS`` look further.
"""

from collections.abc import Sequence
from pathlib import Path

import attrs
import pytest
from pyspark.sql import SparkSession

from properties.merging import Difference, Merging, RowDifference
from support.awkward_kinds import CHANGING
from support.bronze_writer import FORMATS, Format
from support.histories import NUMBERS, SEED, World, seeded_world
from support.mode_oracles import APPEND, HISTORY, SOFT_DELETE, ModeOracle, at_us, versions
from support.table_kind import TableKind
from support.table_kinds import CODED, CROWDED, DROPPED, FILTERED, JUDGED, KEPT, MOVED, SEATS

_KINDS = ((CROWDED, JUDGED, CHANGING), (SEATS, KEPT, DROPPED), (CROWDED, MOVED, CODED), (SEATS, FILTERED, CHANGING))
_SHAPE = {"histories": 8, "per_table": 60, "runs": 4, "restarts": 2, "max_files": 1_000, "truncates": 2}
_SMALL_SHAPE = {**_SHAPE, "histories": 4, "per_table": 20, "runs": 2, "restarts": 1, "truncates": 1}
_NAMED = tuple(form for form in FORMATS if not form.needs_source_columns and form.quotes)
# With track_columns a truncate that is reported after later changes is refused.
_MODES = (SOFT_DELETE, attrs.evolve(HISTORY, tracked={}, expected=versions), APPEND)


def _kinds(number: int, version: int) -> tuple[TableKind, ...]:
    return tuple(kind.with_entry({"format_version": 2 + (version + step) % 2}) for step, kind in enumerate(_KINDS[number % len(_KINDS)]))


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize(
    ("form", "shape", "step"),
    [
        pytest.param(FORMATS[0], _SMALL_SHAPE, 2, id="parquet-small"),
        *(pytest.param(form, _SHAPE, 1, id=form.name, marks=pytest.mark.long) for form in _NAMED),
    ],
)
def test_a_mirror(
    spark: SparkSession, warehouse: Path, tmp_path: Path, form: Format, shape: dict[str, int], step: int, number: int
) -> None:
    place = FORMATS.index(form)
    world = seeded_world(SEED + 100 * number + 20 + place, _kinds(number + place, number)[::step], **shape)
    merging = Merging(spark, warehouse, tmp_path, world, form)
    merging.run_all()
    _resolve(merging)
    wrong = merging.differences()
    assert not wrong, _told(wrong, world)
    before = merging.snapshots()
    assert not any(table.batches for table in merging.run().tables.values())
    assert merging.snapshots() == before
    merging.truncate_before_the_load()


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("oracle", [pytest.param(oracle, id=oracle.mode, marks=pytest.mark.long) for oracle in _MODES])
def test_another_mode(spark: SparkSession, warehouse: Path, tmp_path: Path, oracle: ModeOracle, number: int) -> None:
    place = len(oracle.mode)
    # In a log of changes no row takes another's place, nor a value another row's.
    kinds = tuple(oracle.of(kind) for kind in _kinds(number + place, number) if oracle is not APPEND or not (kind.deferred or kind.kept))
    world = seeded_world(SEED + 100 * number + 30 + place, kinds, **_SHAPE)
    merging = Merging(spark, warehouse, tmp_path, world, FORMATS[0])
    merging.run_all()
    _resolve(merging)
    wrong = [one for one in merging.row_differences(oracle) if not _is_late_delete(one, world)]
    assert not wrong, _told(wrong, world)
    merging.truncate_before_the_load()


def _resolve(merging: Merging) -> None:
    """Replay changes that seemed to meet a row which a truncate had ended, as its report told later."""
    for kind in merging.world.kinds:
        if merging.open_reasons(kind)["ambiguous_key_change"]:
            merging.replay(kind)


def _is_late_delete(difference: RowDifference, world: World) -> bool:
    """Whether a key's one row has only the time of a truncate in place of its delete's: the limit "TRUNCATE" of `soft_delete`."""
    if [len(difference.missing), len(difference.surplus)] != [1, 1] or "_cdc_deleted_at" not in difference.missing[0]:
        return False
    expected, found = dict(difference.missing[0]), dict(difference.surplus[0])
    deleted, ended = expected.pop("_cdc_deleted_at"), found.pop("_cdc_deleted_at")
    return expected == found and ended in map(at_us, world.truncates.values()) and deleted is not None and deleted < ended


def _told(wrong: Sequence[Difference | RowDifference], world: World) -> str:
    return "\n".join(
        [
            f"{len(wrong)} differ (seed {world.seed}; truncated { ({run: str(at_us(at)) for run, at in world.truncates.items()}) })",
            *map(str, wrong[:10]),
            world.story(),
        ]
    )
