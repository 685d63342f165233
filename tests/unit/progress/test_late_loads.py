"""LOAD files that appear after the load of a table was complete: which are late, which are known of a former load, and what is said."""

import itertools
from collections.abc import Sequence

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dms_iceberg.bronze.keys import BronzeFile, digits_of, parse_key, time_of
from dms_iceberg.config.model import Batch, Table
from dms_iceberg.errors import BronzeError
from dms_iceberg.progress.late_loads import LATE_HOURS, refuse_late_loads
from dms_iceberg.progress.merged_loads import LOOK_BACK_FILES, MergedLoads
from dms_iceberg.progress.pending import Pending, next_batch, pending_files
from dms_iceberg.progress.progress import LookBack, Progress

TABLE = Table(source="public.t", target="s.t", key=("id",))
NOW = time_of("20260302000000000")
LOOK_BACK = LookBack(24, NOW)
BEGAN = time_of("20260301100000000")
MINUTE = time_of("20260301100100000") - BEGAN
DISCARD = "ALTER TABLE lake.s.t DROP BRANCH b"
LATE = 60 * LATE_HOURS


def at(minute: float) -> str:
    """17 digits, minutes after ten o'clock."""
    return digits_of(BEGAN + minute * MINUTE)


def load(number: int, minute: float, etag: str = "", folder: str = "") -> BronzeFile:
    """A LOAD file; of one number all have the same ETag, unless one is given."""
    found = parse_key("public/t/", f"public/t/{folder}LOAD{number:08X}.parquet", 1, etag or f"load {number}", at(minute))
    assert found is not None
    return found


def change(minute: float) -> BronzeFile:
    digits = at(minute)
    name = f"{digits[:8]}-{digits[8:]}.parquet"
    found = parse_key("public/t/", f"public/t/{name}", 1, name, at(minute))
    assert found is not None
    return found


def merged(files: Sequence[BronzeFile], progress: Progress | None = None) -> Progress:
    """Progress once LOAD files, and then changes, are merged."""
    progress = progress or Progress()
    loads = [file for file in files if not file.is_cdc]
    for batch in (loads, [file for file in files if file.is_cdc]):
        progress = progress.after(batch, LOOK_BACK, loads) if batch else progress
    return progress


def look(progress: Progress, *files: BronzeFile, discard: str = "") -> Pending:
    return pending_files(sorted(files, key=lambda one: one.key), progress, TABLE.source, NOW, discard)


FIRST, SECOND, THEN = load(1, 0), load(2, 5), change(30)
OLD = (FIRST, SECOND, THEN)
TOLD = attrs.evolve(merged([THEN]), load_told=True)
RELOADED_AT = at(120)


def reloaded(before: Sequence[BronzeFile], files: Sequence[BronzeFile], times: int = 1) -> Progress:
    """Progress once the table of a load was loaded again in place, ``times`` times, the last time as ``files``."""
    progress = merged(before)
    for _ in range(times):
        former = progress.former_loads.and_of(progress.loads)
        progress = attrs.evolve(progress, reload=progress.reload + 1, reloaded_at=RELOADED_AT, former_loads=former).start
        progress = merged(files, progress)
    return progress


CASES = [
    ("the next file of a load, soon after", merged(OLD), load(3, LATE), False),
    ("the next file, of a load with no change yet, hours later", merged([FIRST, SECOND]), load(3, 600), False),
    ("the next file, longer after", merged(OLD), load(3, LATE + 6), True),
    ("a segment beside the files", merged(OLD), load(1, 120, folder="SEGMENT1_"), True),
    ("a folder beside the files", merged(OLD), load(1, 120, folder="processed/"), False),
    ("a folder beside the files, with another ETag", merged(OLD), load(1, 120, "touched", "processed/"), True),
    ("a missing file", merged([FIRST, load(3, 6), THEN]), SECOND, False),
    ("a missing file that was restored", merged([FIRST, load(3, 6), THEN]), load(2, 900), False),
    ("a file that was restored with its time", merged([FIRST, THEN]), SECOND, False),
    ("no LOAD file is merged, and nobody said that there is none", merged([THEN]), load(1, 900), False),
    ("when the newest file was written is not known", attrs.evolve(merged(OLD), load_written=""), load(3, 900), False),
    ("the load was said to have no file", TOLD, load(1, 31), True),
    ("the same, and the table is empty", attrs.evolve(Progress(), load_told=True), load(1, 900), False),
    ("the same, and the file was merged for all that", merged([load(1, 31)], TOLD), load(2, 32), False),
    ("the load of an epoch", attrs.evolve(merged(OLD), epoch=2), load(3, 900), True),
    ("after a reload in place", reloaded(OLD, [load(1, 121, "new")]), load(3, 122), True),
    ("after a reload in place without a file", reloaded(OLD, []), load(1, 122, "new"), True),
    ("a file of the load before, written again", reloaded(OLD, [load(1, 121, "new")]), load(2, 200, "touched"), True),
]


@pytest.mark.parametrize(("progress", "file", "is_late"), [one[1:] for one in CASES], ids=[one[0] for one in CASES])
def test_a_file_is_late_where_the_load_was_complete(progress: Progress, file: BronzeFile, is_late: bool) -> None:
    there = [one for one in (FIRST, SECOND, load(3, 6)) if progress.reload == 0 and progress.loads.has(one) and one.key != file.key]
    found = look(progress, *there, file)
    assert list(found.late) == ([file] if is_late else [])
    assert file in found.files or progress.loads.has(file), "the operator may say that it belongs to the load"
    built = look(progress, *there, file, discard=DISCARD)
    assert list(built.late) == [], "what is built on a branch is not complete"
    if not is_late:
        refuse_late_loads(TABLE, progress, found.late, None)
        return
    for confirmed in (None, 3):
        with pytest.raises(BronzeError) as raised:
            refuse_late_loads(TABLE, progress, found.late, confirmed)
        ways = (file.key, "--reload-started-at", "move it out", "--load-complete public.t --confirm-rows public.t=0")
        assert all(word in str(raised.value) for word in ways)
        assert ("--confirm-rows 3 is wrong" in str(raised.value)) == (confirmed == 3)
    refuse_late_loads(TABLE, progress, found.late, 0)


def test_files_that_follow_each_other_are_of_one_load_however_late_the_run_is() -> None:
    following = [load(number, 5 + (number - 2) * (LATE - 1)) for number in range(3, 7)]
    assert list(look(merged(OLD), FIRST, SECOND, *following).late) == []
    again = [load(number, 900 + number, folder="SEGMENT1_") for number in (1, 2)]
    assert list(look(merged(OLD), FIRST, SECOND, *following, *again).late) == again


def test_a_late_file_makes_no_gap() -> None:
    assert look(reloaded(OLD, [load(1, 121, "new")]), load(2, 200, "touched", "processed/")).warnings("public.t") == []


@pytest.mark.parametrize("folder", ["", "processed/"])
@pytest.mark.parametrize("times", [1, 2])
def test_a_file_of_the_load_before_is_known_by_name_and_etag(folder: str, times: int) -> None:
    progress = reloaded(OLD, [load(1, 121, "new")], times)
    progress = Progress.from_json(progress.to_json())
    restored = load(2, 200, folder=folder)
    found = look(progress, load(1, 121, "new"), restored)
    assert (found.files, list(found.late), list(found.former)) == ([], [], [restored])
    (warning,) = found.warnings("public.t")
    assert restored.key in warning and "the load before the reload of 2026-03-01T12:00:00Z" in warning
    # DMS may write the same rows again while the next reload is built: what a load that nobody has published has is read.
    again = attrs.evolve(progress, reload=progress.reload + 1, reloaded_at=at(190)).start
    assert look(again, restored, discard=DISCARD).files == [restored]


def test_a_file_that_both_loads_have_is_merged() -> None:
    progress = reloaded(OLD, [FIRST, attrs.evolve(SECOND, modified=at(122))])
    found = look(progress, attrs.evolve(SECOND, modified=at(122)))
    assert (found.files, list(found.former), list(found.late)) == ([], [], [])


def test_untouched_files_of_the_load_before_are_left_without_a_word() -> None:
    found = look(reloaded(OLD, [load(1, 121, "new")]), load(1, 121, "new"), SECOND)
    assert (found.files, found.warnings("public.t"), list(found.left)) == ([], [], [SECOND])


def test_former_files_are_bounded_and_belong_to_one_folder() -> None:
    half = LOOK_BACK_FILES // 2 + 1
    first, second = ([load(number, 0, f"{word} {number}") for number in range(1, half + 1)] for word in ("first", "second"))
    one, two = (merged(files).loads for files in (first, second))
    assert one.and_of(two) == two, "beyond the bound those of the later load"
    assert one.and_of(merged([load(1, 0, "third")]).loads).has(first[0])
    many = merged([load(number, 0) for number in range(1, LOOK_BACK_FILES + 2)]).loads
    assert many.entries == frozenset() and one.and_of(many) == one, "of more files none is known by itself"
    assert len(attrs.evolve(Progress(), former_loads=one).to_json()) < 2500
    assert Progress().former_loads == MergedLoads()


@pytest.mark.parametrize(("reload", "discard"), list(itertools.product((0, 1), ("", DISCARD))))
def test_an_overwritten_file_of_a_load_that_is_built_has_a_way_out(reload: int, discard: str) -> None:
    progress = attrs.evolve(merged([FIRST, SECOND]), epoch=2, reload=reload)
    with pytest.raises(BronzeError, match="its ETag changed") as raised:
        look(progress, load(1, 50, "new"), SECOND, discard=discard)
    is_of_new_epoch = bool(discard) and not reload
    assert (DISCARD in str(raised.value), "--reload-started-at" in str(raised.value)) == (is_of_new_epoch, not is_of_new_epoch)
    assert "load_epoch" in str(raised.value)


minutes = st.floats(0.5, 600)


@given(
    st.lists(minutes, min_size=1, max_size=8),
    st.lists(minutes, max_size=8),
    st.sampled_from(["SEGMENT1_", "north/", "a/"]),
    st.floats(0.1, LATE - 1) | st.none(),
    st.lists(st.integers(1, 3), min_size=1, max_size=6),
    st.lists(st.booleans(), min_size=1, max_size=6),
)
def test_no_file_is_late_that_a_task_writes_or_that_a_copy_brings(
    loads: list[float], changes: list[float], folder: str, copied: float | None, sizes: list[int], runs: list[bool]
) -> None:
    """A task takes its time for a load, in two folders or segments; a copy brings its files in the order of their names."""
    times = list(itertools.accumulate(loads))
    files = [load(number // 2 + 1, time, f"file {number}", folder if number % 2 else "") for number, time in enumerate(times)]
    files += [change(times[-1] + time) for time in itertools.accumulate(changes)]
    if copied is not None:
        ordered = sorted(files, key=lambda one: one.key)
        files = [attrs.evolve(one, modified=at(10_000 + copied * number)) for number, one in enumerate(ordered)]
    progress, bounds = Progress(), itertools.cycle(sizes)
    for seen, is_run in zip(range(1, len(files) + 1), itertools.cycle(runs), strict=False):
        if not is_run:
            continue
        # Each run lists what is there by then, and merges a batch of it.
        there = files[:seen]
        found = look(progress, *there)
        assert list(found.late) == []
        if batch := next_batch(found.files, Batch(max_files=next(bounds))):
            progress = progress.after(batch.files, LOOK_BACK, found.loads)
