"""Progress: what one snapshot summary remembers, and where it is found again."""

import json

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dms_iceberg.bronze.keys import BronzeFile, digits_of, earlier, folder_time, is_credible, parse_key, time_of
from dms_iceberg.config.model import Batch
from dms_iceberg.errors import TargetError
from dms_iceberg.progress.look_back import LookBack
from dms_iceberg.progress.merged_loads import LOOK_BACK_FILES, MergedLoads
from dms_iceberg.progress.pending import applied_truncates, next_batch
from dms_iceberg.progress.progress import PROGRESS_KEY, Progress
from dms_iceberg.silver.memory.recorded_progress import find_progress

PREFIX = "public/t/"
FIRST = "20260301100000000"
SUMMARY_LIMIT = 16 * 1024
NOW = time_of("20300101000000000")
DAY = LookBack(24, NOW)


def cdc(order: str, etag: str = "e", folder: str = "") -> BronzeFile:
    file = parse_key(PREFIX, f"{PREFIX}{folder}{order[:8]}-{order[8:]}.parquet", 10, etag)
    assert file is not None
    return file


def load(number: int, etag: str = "e") -> BronzeFile:
    file = parse_key(PREFIX, f"{PREFIX}LOAD{number:08X}.parquet", 10, etag)
    assert file is not None
    return file


def minutes(count: int, start: str = FIRST) -> list[BronzeFile]:
    return [cdc(earlier(start, minutes=-number)) for number in range(count)]


times = st.datetimes(
    min_value=time_of("20200101000000000").replace(tzinfo=None), max_value=time_of("20300101000000000").replace(tzinfo=None)
).map(digits_of)
cdc_files = st.builds(cdc, times, st.sampled_from(["e1", "e2"]))
load_files = st.builds(load, st.integers(1, 400), st.just("e1"))
batches = st.lists(
    st.lists(cdc_files, min_size=1, max_size=8) | st.lists(load_files, min_size=1, max_size=60, unique_by=lambda f: f.key), max_size=12
)


@given(batches, st.sampled_from(["", "a0", "b61"]), st.floats(0.1, 1000))
def test_round_trip_through_the_summary(groups: list[list[BronzeFile]], high: str, hours: float) -> None:
    progress = Progress()
    loads: dict[str, BronzeFile] = {}
    for files in groups:
        loads |= {file.key: file for file in files if not file.is_cdc}
        progress = progress.after(sorted(files), LookBack(hours, NOW), list(loads.values())).with_rows(high, named_behind_utc=False)
        assert Progress.from_json(progress.to_json()) == progress


@given(st.lists(cdc_files, min_size=1, max_size=30), st.integers(1, 5), st.floats(0.1, 1000))
def test_whatever_was_merged_counts_as_merged_and_progress_never_goes_back(files: list[BronzeFile], size: int, hours: float) -> None:
    progress = Progress()
    done: list[BronzeFile] = []
    for start in range(0, len(files), size):
        after = progress.after(sorted(files[start : start + size]), LookBack(hours, NOW), [])
        assert (after.frontier, after.since) >= (progress.frontier, progress.since)
        assert after.since <= after.frontier
        progress = after
        done += files[start : start + size]
        assert all(progress.has_merged(file) for file in done)


@given(st.lists(times, min_size=2, max_size=60, unique=True), st.integers(1, 7))
def test_files_in_order_are_never_taken_for_merged_before_they_are(orders: list[str], size: int) -> None:
    files = sorted(cdc(order) for order in orders)
    progress = Progress()
    for start in range(0, len(files), size):
        assert not any(progress.has_merged(file) for file in files[start:])
        progress = progress.after(files[start : start + size], DAY, [])


def test_look_back_is_bounded_and_the_summary_stays_small() -> None:
    progress = Progress(epoch=99)
    known: list[BronzeFile] = []
    for number in range(LOOK_BACK_FILES):
        known.append(load(number))
        progress = progress.after([known[-1]], DAY, known).with_rows("a0" + "9" * 52, named_behind_utc=False)
    for file in minutes(3 * LOOK_BACK_FILES):
        progress = progress.after([file], DAY, known).with_rows("a0" + "9" * 52, named_behind_utc=False)
        assert len(progress.recent) <= LOOK_BACK_FILES
        assert len(progress.to_json()) < SUMMARY_LIMIT
    assert len(progress.recent) == LOOK_BACK_FILES


def test_one_batch_of_more_files_than_the_look_back_holds() -> None:
    files = minutes(3 * LOOK_BACK_FILES)
    progress = Progress().after(files, DAY, [])
    assert len(progress.recent) == LOOK_BACK_FILES
    assert all(progress.has_merged(file) for file in files)
    assert not progress.has_merged(cdc(earlier(FIRST, minutes=-3 * LOOK_BACK_FILES)))


@pytest.mark.parametrize("hours", [17_000_000, 1e9, 1e300])
def test_a_longer_look_back_never_looks_less_far(hours: float) -> None:
    assert LookBack(hours, NOW).begin(FIRST) < DAY.begin(FIRST)


def test_late_file_within_the_look_back_is_new_and_behind_it_is_not() -> None:
    progress = Progress().after(minutes(50), LookBack(0.5, NOW), [])
    assert not progress.has_merged(cdc(earlier(progress.frontier, seconds=90)))
    assert progress.has_merged(cdc(earlier(progress.frontier, minutes=45, seconds=30)))


@given(st.lists(st.integers(-20 * 60, 15 * 60), min_size=1, max_size=40), st.integers(1, 5), st.integers(1, 20))
def test_no_file_within_the_look_back_is_passed_over_whatever_is_named_ahead(minutes_ahead: list[int], size: int, hours: int) -> None:
    now = time_of(FIRST)
    progress = Progress()
    merged = list(dict.fromkeys(cdc(earlier(FIRST, minutes=-minute)) for minute in minutes_ahead))
    assert all(is_credible(file, now) for file in merged)
    for start in range(0, len(merged), size):
        progress = progress.after(merged[start : start + size], LookBack(hours, now), [])
    for minute in range(0, 60 * hours, 7):
        late = cdc(earlier(FIRST, minutes=minute), "late")
        assert not progress.has_merged(late)
    assert progress.frontier_until(FIRST) <= FIRST


def test_names_behind_the_commits_in_them_are_remembered() -> None:
    progress = Progress().after([cdc(FIRST)], DAY, []).with_rows("", named_behind_utc=True)
    assert progress.after([cdc("20260301180100000")], DAY, []).named_behind_utc
    assert Progress.from_json(progress.to_json()) == progress
    assert not Progress().after([cdc(FIRST)], DAY, []).named_behind_utc


def test_names_in_the_document_stay_where_those_in_the_code_changed() -> None:
    document = json.loads(Progress(named_behind_utc=True, pending_since=FIRST).to_json())
    assert (document["behind"], document["waiting"]) == (True, FIRST)


def test_rewritten_change_file_is_a_new_file() -> None:
    progress = Progress().after([cdc(FIRST, "old")], DAY, [])
    assert progress.has_merged(cdc(FIRST, "old"))
    assert not progress.has_merged(cdc(FIRST, "new"))


def test_file_that_was_uploaded_again_is_not_lost_once_the_new_version_is_merged() -> None:
    old, new, other = cdc(FIRST, "old"), cdc(FIRST, "new"), minutes(3)[-1]
    progress = Progress().after([old, other], DAY, [])
    assert progress.lost([old, other]) is None
    assert progress.lost([new, other]) is not None
    assert progress.rewritten([new, cdc(earlier(FIRST, minutes=-9))]) == [new]
    assert progress.after([new], DAY, []).lost([new, other]) is None
    assert progress.after([new], DAY, []).lost([other]) is not None


def test_files_of_one_millisecond_in_two_folders_are_two_files() -> None:
    progress = Progress().after([cdc(FIRST, folder="a/")], DAY, [])
    assert not progress.has_merged(cdc(FIRST, folder="b/"))


def test_high_water_mark_never_sinks() -> None:
    progress = Progress().after([cdc(FIRST)], DAY, []).with_rows("b61", named_behind_utc=False)
    progress = progress.after([cdc(FIRST, "again")], DAY, []).with_rows("a9", named_behind_utc=False)
    assert progress.high_water == "b61"


def test_the_latest_truncates_are_remembered_in_order() -> None:
    """Bronze may lose the object of a truncate; what it ended has ended at that moment all the same."""
    moments = [earlier(FIRST, days=-number) for number in range(LOOK_BACK_FILES + 50)]
    progress = Progress(reloaded_at=earlier(FIRST, days=1))
    for at in moments:
        progress = Progress.from_json(progress.with_truncate(at).to_json())
    assert progress.truncated == moments[-1]
    assert list(progress.truncates) == moments[-LOOK_BACK_FILES - 1 :]
    assert applied_truncates([moments[0], earlier(moments[-1], days=-1)], progress) == [moments[0], *progress.truncates]
    assert len(progress.to_json()) < SUMMARY_LIMIT
    assert progress.start.truncates == ()


def test_newer_format_is_not_guessed_at() -> None:
    document = json.loads(Progress().to_json()) | {"format": 99}
    with pytest.raises(TargetError, match="format 99"):
        Progress.from_json(json.dumps(document))


@pytest.mark.parametrize("count", [3, LOOK_BACK_FILES, LOOK_BACK_FILES + 1, 3 * LOOK_BACK_FILES])
@pytest.mark.parametrize("size", [1, 70, 1000])
def test_merged_loads_below_and_beyond_the_limit(count: int, size: int) -> None:
    files = [load(number) for number in range(1, count + 1)]
    merged = MergedLoads()
    for start in range(0, count, size):
        assert not any(merged.has(file) for file in files[start:])
        merged = merged.plus(files[start : start + size], files)
    assert all(merged.has(file) for file in files)
    assert merged.changed(files) is None
    assert not merged.has(load(count + 1))
    assert merged.changed([*files, load(count + 1)]) is None
    rewritten = [*files[:1], load(2, "other"), *files[2:]]
    assert merged.changed(rewritten) is not None


def test_changed_load_file_is_named_while_they_are_few() -> None:
    files = [load(1), load(2)]
    merged = MergedLoads().plus(files, files)
    assert merged.changed([files[0], load(2, "other")]) == f"{PREFIX}LOAD00000002.parquet"


PARTS = ("lake", "silver", "t")


def summary(progress: Progress | None, parent: str, rows: str = "0") -> dict[str, str]:
    return {"parent-id": parent, "total-records": rows} | ({PROGRESS_KEY: progress.to_json()} if progress else {})


OLD = Progress().after(minutes(1), DAY, [])
NEW = OLD.after(minutes(3), DAY, [])


def copy_of(progress: Progress, snapshot: int) -> dict[str, str]:
    return {"snapshot": str(snapshot), "progress": progress.to_json()}


def found(lineage: list[dict[str, str]], copy: dict[str, str] | None, known: dict[int, bool]) -> Progress:
    return find_progress(PARTS, lineage, copy, known.items())


def test_first_carrier_among_the_ancestors_counts() -> None:
    lineage = [summary(None, "3", "5"), summary(NEW, "2"), summary(OLD, "1"), summary(None, "")]
    assert found(lineage, None, {1: False, 2: True, 3: True}) == NEW


def test_table_that_never_was_merged_into_has_no_progress() -> None:
    assert found([], None, {}) == Progress()
    assert found([summary(None, "")], None, {1: False}) == Progress()


@pytest.mark.parametrize("copy", [None, copy_of(NEW, 2)])
def test_rows_without_progress_are_refused_with_the_way_out(copy: dict[str, str] | None) -> None:
    """As after CREATE OR REPLACE TABLE ... AS SELECT, which keeps the table's properties."""
    with pytest.raises(TargetError, match=r"5 rows.*set_current_snapshot\('silver.t', 2\).*or drop the table"):
        found([summary(None, "", "5")], copy, {1: True, 2: True, 3: False})
    with pytest.raises(TargetError, match=r"5 rows.*load it into a new target"):
        found([summary(None, "3", "5"), summary(None, "", "7")], copy, {3: False, 4: False})


def test_snapshot_that_does_not_say_how_many_rows_there_are_is_not_taken_for_empty() -> None:
    with pytest.raises(TargetError, match="an unknown number of rows"):
        found([{"parent-id": ""}], None, {1: False})


def test_copy_counts_where_expiry_removed_the_carrier() -> None:
    assert found([summary(None, "2", "5")], copy_of(NEW, 2), {3: False}) == NEW


def test_copy_counts_where_the_line_is_cut_right_behind_its_snapshot() -> None:
    assert found([summary(None, "3"), summary(None, "2")], copy_of(NEW, 2), {2: False, 3: False}) == NEW


def test_copy_of_a_snapshot_that_was_rolled_back_is_not_trusted() -> None:
    with pytest.raises(TargetError, match="is not known"):
        found([summary(None, "1")], copy_of(NEW, 2), {2: True, 3: False})
    assert found([summary(OLD, "")], copy_of(NEW, 2), {1: True, 2: True}) == OLD


def test_copy_does_not_count_for_a_table_that_was_rolled_back_before_its_first_batch() -> None:
    assert found([summary(None, "")], copy_of(NEW, 2), {1: False}) == Progress()


def test_progress_without_a_change_stays_itself() -> None:
    assert NEW.after([], DAY, []) == NEW


@pytest.mark.parametrize("count", [3, 2 * LOOK_BACK_FILES])
def test_a_full_load_that_bronze_keeps_no_longer_is_not_a_changed_one(count: int) -> None:
    files = [load(number) for number in range(1, count + 1)]
    loads = MergedLoads().plus(files, files)
    assert loads.changed([]) is None
    assert loads.changed([load(1, "another")]) is not None


def segment(name: str, first: int, last: int) -> list[BronzeFile]:
    found = [parse_key(PREFIX, f"{PREFIX}{name}/LOAD{number:08X}.parquet", 10, "e") for number in range(first, last + 1)]
    return [file for file in found if file is not None]


@pytest.mark.parametrize(("one", "other"), [("a", "b"), ("b", "a")])
def test_segments_of_a_parallel_load_grow_side_by_side(one: str, other: str) -> None:
    """Neither is a file merged twice nor is a grown segment taken for a changed one, in whichever order they sort."""
    merged, listed = MergedLoads(), []
    for first in range(1, 2 * LOOK_BACK_FILES, 90):
        for name in (one, other):
            files = segment(name, first, first + 89)
            listed += files
            assert merged.changed(listed) is None
            assert not any(merged.has(file) for file in files)
            merged = merged.plus(sorted(files), listed)
            assert all(merged.has(file) for file in listed)
    assert merged.changed([attrs.evolve(listed[0], etag="other"), *listed[1:]]) is not None


@pytest.mark.parametrize("count", [30, 300])
def test_date_folders_are_listed_as_far_back_as_the_look_back_says(count: int) -> None:
    """Also where the list of merged files, which is bounded, covers hours only."""
    look_back = LookBack(120, NOW)
    progress = Progress().after(minutes(count), look_back, []).with_rows("a0" + FIRST[:16], named_behind_utc=False)
    assert progress.committed == FIRST
    assert progress.to_come(look_back) == earlier(FIRST, hours=120)
    assert progress.to_come(LookBack(120, time_of("20260220100000000"))) == "20260215100000000"


def test_date_folders_of_files_that_are_still_to_be_merged_are_listed() -> None:
    first, old, last = cdc(FIRST, folder="2026/03/01/"), cdc("20260301110000000", folder="2026/02/03/"), cdc("20260301120000000")
    (taken,), progress = (batch := next_batch([first, old, last], Batch(max_files=1))).files, Progress()
    assert taken == first
    progress = progress.after(batch.files, DAY, [], pending_since=batch.pending_since).with_rows("a0" + FIRST[:16], named_behind_utc=False)
    assert progress.to_come(DAY) == "20260203000000000"
    assert Progress.from_json(progress.to_json()) == progress
    progress = progress.after([old], DAY, [], pending_since=next_batch([old, last], Batch(max_files=1)).pending_since)
    assert progress.to_come(DAY) == earlier(FIRST, hours=24)
    whole = next_batch([first, old, last], Batch())
    assert whole is not None and whole.first(1) == batch and whole.first(3) == whole


@pytest.mark.parametrize(
    ("folder", "since"),
    [
        ("2026/02/03/", "20260203000000000"),
        ("2026/02/03/09/", "20260203000000000"),
        ("20260203/", "20260203000000000"),
        ("2026-02-03-09/", "20260203000000000"),
        ("2026_02/", "20260201000000000"),
        ("202602/", "20260201000000000"),
        ("02202603/", ""),
        ("x/", ""),
        ("", ""),
    ],
)
def test_time_of_a_date_folder(folder: str, since: str) -> None:
    assert folder_time(cdc(FIRST, folder=folder)) == since
