"""Random histories, in every format, delivered in every order: silver is the oracle's table, and the books balance.

Each test is one Spark job run twice over histories of twelve key ranges of two tables and more, in Parquet of one more.
A failure names the histories that went wrong, tries the first one again alone, and tells its story file by file. The seed is fixed;
``PROPERTY_SEED`` and ``PROPERTY_WORLDS`` look further.
"""

from pathlib import Path

import pytest
from _pytest.mark import ParameterSet
from pyspark.sql import SparkSession

from dms_iceberg.merge import bulk_load
from dms_iceberg.merge.direct import delta as direct
from dms_iceberg.runs.report import TableReport
from properties.merging import Difference, Merging
from support.awkward_kinds import AWKWARD, CHANGING, EXACT, FLOATING, IMAGED, NO_TEXT, OURS, RESTRUCTURED
from support.bronze_writer import FORMATS, Format
from support.crowding import unclear_rows
from support.histories import NUMBERS, SEED, WORLDS, World, seeded_world
from support.table_kind import TableKind
from support.table_kinds import (
    CLOCK,
    CODED,
    CROWDED,
    DROPPED,
    EMPTIED,
    FILTERED,
    JUDGED,
    KEPT,
    MASKED,
    MOVED,
    NUMBERED,
    PLAIN,
    SCALED,
    SEATS,
)

HISTORIES = 12
# Kinds change places with each further world, so that in ten every kind has met every format.
_KINDS = ((PLAIN, CLOCK, SEATS), (JUDGED, NUMBERED), (CODED, DROPPED, CROWDED), (FILTERED, MASKED, CROWDED), (KEPT, MOVED, SEATS))
# Few histories suffice for these: what is awkward about them is in each. Lines of text with bytes that are no UTF-8 are quarantined as a
# whole, and files without a header cannot tell a column that is gone.
_AWKWARD = {
    "parquet": (AWKWARD, EXACT, FLOATING, OURS, CHANGING, NO_TEXT, IMAGED),
    "csv": (AWKWARD, OURS, CHANGING, RESTRUCTURED),
    "csv-headerless": (AWKWARD, EXACT, FLOATING),
    "json": (AWKWARD, EXACT, FLOATING, CHANGING, IMAGED, CROWDED),
}
_SHAPES = (
    {"runs": 2, "restarts": 1, "max_files": 1_000},
    {"runs": 2, "restarts": 2, "max_files": 25},
)


def _kinds(number: int, place: int, form: Format) -> tuple[TableKind, ...]:
    kinds = _KINDS[(number + place) % len(_KINDS)]
    if not form.quotes:
        # Its texts have line ends.
        kinds = tuple(JUDGED if kind is PLAIN else kind for kind in kinds)
    if form.needs_source_columns:
        # How many columns have images cannot be told there where LOBs have none.
        return (*(SEATS if kind is CROWDED else kind for kind in kinds), EMPTIED)
    if form is not FORMATS[0]:
        return kinds
    # Text files have no types that could change.
    kinds = (*kinds, SCALED)
    # One of the tables is of Iceberg's format 3, in the next world the other.
    return tuple(kind.with_entry({"format_version": 2 + (number + step) % 2}) for step, kind in enumerate(kinds, 1))


def _cases() -> list[ParameterSet]:
    """Return the worlds, those of Parquet planned as on Glue; of these the main suite has half of the first, planned quickly."""
    found = []
    for number in range(WORLDS):
        for place, form in enumerate(FORMATS):
            # Text with a header has quotes and is compressed in every other world only.
            if form.name == ("csv-gz", "csv")[number % 2]:
                continue
            written = form.without_stream_position() if form.needs_source_columns else form
            kinds, shape = _kinds(number, place, form), _SHAPES[(number + place) % len(_SHAPES)]
            world, mark = (written, SEED + 100 * number + place, kinds, shape), pytest.mark.release if number else pytest.mark.long
            if not number and not place:
                found.append(pytest.param(*world, False, HISTORIES // 2, id=f"{form.name}-{number}-half-and-quickly"))
            found.append(pytest.param(*world, not place, HISTORIES, id=f"{form.name}-{number}", marks=mark))
    return found


@pytest.mark.parametrize(("form", "seed", "kinds", "shape", "as_on_glue", "histories"), _cases())
def test_silver_is_the_oracles_table(
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    spark: SparkSession,
    warehouse: Path,
    tmp_path: Path,
    form: Format,
    seed: int,
    kinds: tuple[TableKind, ...],
    shape: dict[str, int],
    as_on_glue: bool,
    histories: int,
) -> None:
    if as_on_glue:
        request.getfixturevalue("planned_as_on_glue")
    if form is not FORMATS[0]:
        # Every load counts as a large one.
        monkeypatch.setattr(bulk_load, "BULK_BYTES", 0)
    if form.name in ("json", "csv-headerless"):
        # Small batches take the MERGE as well.
        monkeypatch.setattr(direct, "MOST_ROWS", 0)
    world = seeded_world(seed, kinds, histories=histories, per_table=140 * histories // HISTORIES // len(kinds), **shape)
    merging = Merging(spark, warehouse, tmp_path, world, form)
    reports = merging.run_all()
    _resolve(merging)
    wrong = merging.differences()
    if wrong:
        pytest.fail(_told(wrong, world, histories, form, Merging(spark, warehouse, tmp_path, *_alone(wrong, world, histories), form)))
    for kind in world.kinds:
        _check_sums(merging, kind, [report.tables[kind.source] for report in reports], is_identified=form.tells_repetitions)
    before = merging.snapshots()
    again = merging.run()
    assert not any(table.batches for table in again.tables.values())
    assert merging.snapshots() == before


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize(
    "form",
    [
        pytest.param(form, id=form.name, marks=pytest.mark.long if form is FORMATS[0] else pytest.mark.release)
        for form in FORMATS
        if form.name in _AWKWARD
    ],
)
def test_awkward_keys_numbers_and_columns(spark: SparkSession, warehouse: Path, tmp_path: Path, form: Format, number: int) -> None:
    seed = SEED + 100 * number + 50 + FORMATS.index(form)
    # Lines of JSON leave out what is NULL.
    written = form.without_stream_position() if form.needs_source_columns else form.without_nulls()
    kinds = _AWKWARD[form.name]
    # Four with each world, in the next one the others.
    chosen = tuple(kinds[(4 * number + step) % len(kinds)] for step in range(min(4, len(kinds))))
    world = seeded_world(seed, chosen, histories=5, per_table=30, runs=2, restarts=1, max_files=50)
    merging = Merging(spark, warehouse, tmp_path, world, written)
    reports = merging.run_all()
    _resolve(merging)
    wrong = merging.differences()
    assert not wrong, f"{len(wrong)} rows differ ({form.name}, seed {seed})\n" + "\n".join(map(str, wrong[:10]))
    for kind in world.kinds:
        _check_sums(merging, kind, [report.tables[kind.source] for report in reports], is_identified=written.tells_repetitions)


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize(
    ("form", "kinds"),
    [
        pytest.param(FORMATS[0], (DROPPED,), id="parquet", marks=pytest.mark.long),
        # Changes of crowded keys from a clock that went back, some of which have no effect.
        pytest.param(FORMATS[-1], (PLAIN, CODED, FILTERED), id="json", marks=pytest.mark.long),
    ],
)
def test_commit_times_of_whole_seconds(
    spark: SparkSession, warehouse: Path, tmp_path: Path, form: Format, kinds: tuple[TableKind, ...], number: int
) -> None:
    """A MySQL's. The task stops and starts again within a second, with a counter that may begin again, and writes its changes again."""
    shape = {"histories": 6, "per_table": 60, "runs": 2, "restarts": 4, "max_files": 1_000}
    worlds = (seeded_world(SEED + 100 * number + 80 + 1_000 * more, kinds, whole_seconds=True, **shape) for more in range(20))
    # A run merges what comes before merged changes of its second.
    world = next(one for one in worlds if any(_is_split(one, kind) for kind in kinds))
    merging = Merging(spark, warehouse, tmp_path, world, form)
    reports = merging.run_all()
    for kind in world.kinds:
        _check_sums(merging, kind, [report.tables[kind.source] for report in reports], is_identified=form.tells_repetitions)
    _resolve(merging)
    # An insert and a delete of one second may be one commit, and so may look like another row beside the one that was loaded.
    wrong = [one for one in merging.differences() if not merging.waits(one)]
    assert not wrong, f"{len(wrong)} rows differ ({form.name}, seed {world.seed})\n" + "\n".join([*map(str, wrong[:10]), world.story()])


def _is_split(world: World, kind: TableKind) -> bool:
    """Whether a run of the job gets a change of a second of which an earlier run has merged a newer one."""
    seen: dict[int, tuple[int, int]] = {}
    files = sorted(zip(world.arrivals, world.files, strict=True), key=lambda one: (one[0], one[1].order))
    for run, file in files:
        for row in file.rows if file.table == kind.name and not file.is_load else ():
            first, newest = seen.get(row.change.commit_us, (run, row.number))
            if run > first and row.number < newest:
                return True
            seen[row.change.commit_us] = (first, max(newest, row.number))
    return False


def _resolve(merging: Merging) -> None:
    """Replay changes that seemed to meet a row of the load which came after them, as a later one tells."""
    for kind in merging.world.kinds:
        if not kind.deferred and merging.world.overlaps(kind) and merging.open_reasons(kind)["ambiguous_key_change"]:
            merging.replay(kind)


def _check_sums(merging: Merging, kind: TableKind, tables: list[TableReport], *, is_identified: bool) -> None:
    """Every file and row was read once, as often as it was uploaded, and exactly the bad rows are in quarantine."""
    files = [file for file in merging.world.files if file.table == kind.name] + merging.world.uploaded(kind)
    assert sum(table.files for table in tables) == len(files), kind.name
    assert sum(table.rows_read for table in tables) == sum(len(file.rows) for file in files), kind.name
    quarantined = merging.quarantined(kind)
    assert sum(table.quarantined for table in tables) == quarantined.total(), kind.name
    # Two reasons are no bad rows. A row written again that arrives before its first writing looks like one from a clock that
    # went back. An update written again after its row's delete has no earlier value for a column that it leaves out.
    assert quarantined.pop("older_clock", 0) <= merging.world.early_copies(kind), kind.name
    unclear = quarantined.pop("ambiguous_key_change", 0)
    if kind.deferred:
        expected = unclear_rows(kind, merging.world)
        # Without a place in the log a row that goes back to a key with the same values looks like one that was written again.
        assert unclear == expected or (unclear > expected and not is_identified), kind.name
    elif unclear and is_identified and not merging.world.overlaps(kind):
        # What looked as if two rows had a key, because an older change was still to come.
        assert merging.open_reasons(kind)["ambiguous_key_change"] == 0, kind.name
    assert not quarantined.pop("not_supplied", 0) or kind.kept, kind.name
    assert quarantined.total() == merging.world.bad_rows(kind, files), f"{kind.name}: {quarantined}"


def _alone(wrong: list[Difference], world: World, histories: int) -> tuple[World]:
    first = wrong[0]
    return (world.only(first.kind, world.owner(first.kind, histories)[first.key]),)


def _told(wrong: list[Difference], world: World, histories: int, form: Format, single: Merging) -> str:
    single.run_all()
    _resolve(single)
    again = single.differences()
    owners = sorted({(each.kind.name, world.owner(each.kind, histories)[each.key]) for each in wrong})
    return "\n".join(
        [
            f"{len(wrong)} rows differ ({form.name}, seed {world.seed}, at most {world.max_files} files a batch)",
            *map(str, wrong[:10]),
            f"histories: {owners}",
            "the first of them alone: " + ("\n".join(map(str, again)) if again else "right; so another history matters"),
            single.world.story(),
        ]
    )
