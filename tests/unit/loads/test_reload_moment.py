"""When a reload in place began, as the operator states it, beside what the files and the table know."""

import itertools
from collections.abc import Sequence
from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dms_iceberg.bronze.keys import BronzeFile, Truncate, digits_of, parse_key, time_of
from dms_iceberg.cli.options import run_request
from dms_iceberg.config.model import Mode, Table
from dms_iceberg.config.parse import parse_config
from dms_iceberg.context import BranchState, RunContext
from dms_iceberg.errors import BronzeError, ConfigError, TargetError
from dms_iceberg.loads.moments import Effect, has_load_file, load_doubt, refuse_ignored_load, refuse_unconfirmed, reload_doubt
from dms_iceberg.loads.zone_names import refuse_names_before_reload
from dms_iceberg.progress.look_back import LookBack
from dms_iceberg.progress.merged_loads import LOOK_BACK_FILES, MergedLoads
from dms_iceberg.progress.pending import Pending, changes_until, pending_files
from dms_iceberg.progress.progress import Progress
from dms_iceberg.storage.store import StoredObject

TABLE = Table(source="public.t", target="s.t", key=("id",))
NOW = time_of("20260302000000000")
CONFIG = parse_config(
    {
        "version": 1,
        "pipeline": "shop",
        "bronze": {"uri": "s3://bronze/dms", "format": "parquet"},
        "catalog": {"type": "glue", "warehouse": "s3://silver/"},
        "tables": {"public.t": {"target": "s.t", "key": ["id"]}},
    }
)
LOOK_BACK = LookBack(24, NOW)


def at(minute: float) -> str:
    """17 digits, minutes after ten o'clock."""
    return digits_of(time_of("20260301100000000") + minute * (time_of("20260301100100000") - time_of("20260301100000000")))


def load(number: int, minute: float, etag: str = "", folder: str = "") -> BronzeFile:
    found = parse_key("public/t/", f"public/t/{folder}LOAD{number:08X}.parquet", 1, etag or f"load {number} at {minute}", at(minute))
    assert found is not None
    return found


def change(minute: float, written: float | None = None) -> BronzeFile:
    digits = at(minute)
    name = f"{digits[:8]}-{digits[8:]}.parquet"
    found = parse_key("public/t/", f"public/t/{name}", 1, name, at(minute if written is None else written))
    assert found is not None
    return found


OLD = (load(1, 0), load(2, 1))
MERGED = Progress().after(OLD, LOOK_BACK, OLD)
NEW = (load(1, 120), load(2, 121))
LEFT_OVER = (NEW[0], OLD[1])


def pending(listing: Sequence[BronzeFile], started: str) -> Pending:
    return pending_files(listing, attrs.evolve(Progress(), reload=1, reloaded_at=started).start, TABLE.source, NOW)


def judged(listing: Sequence[BronzeFile], minute: float, main: Progress = MERGED, mode: Mode = Mode.MIRROR) -> str:
    """What is said of a moment: "early" or "late" where it is refused, "" where it is certain, or its doubt."""
    try:
        return reload_doubt(attrs.evolve(TABLE, mode=mode), main, pending(listing, at(minute)), at(minute))
    except BronzeError as error:
        return next(word for word in ("twice", "too early", "too late", "zone") if word in str(error)).removeprefix("too ")


CASES = [
    ("right", NEW, 119, ""),
    ("right, and a file is left over from the load before", LEFT_OVER, 119, ""),
    ("at the very moment of the first file", NEW, 120, ""),
    ("with changes before and after", (*NEW, change(118), change(125)), 119, ""),
    ("with a change file that was open then", (*NEW, change(119.5), change(125)), 119, "was closed after --reload-started-at"),
    ("before the load before", NEW, -60, "early"),
    ("while the load before was written", LEFT_OVER, 0.5, "early"),
    ("when the load before ended", LEFT_OVER, 1, "early"),
    ("between the new files", NEW, 120.5, "late"),
    ("after them", NEW, 122, "late"),
    ("hours later, as a local time written as Z", NEW, 240, "late"),
    ("hours earlier, with changes in between", (*NEW, change(60), change(122)), 2, "was closed after --reload-started-at"),
    ("hours earlier, without any change in between", (*NEW, change(122)), 2, ""),
    ("after a file that the load never merged", (*OLD, load(3, 2), load(4, 121)), 119, "late"),
    ("no LOAD file is left", (), 119, "Bronze has no LOAD file of this reload"),
    ("the new load has no file yet", OLD, 119, ""),
    ("a copy of bronze, written later", (load(1, 130), attrs.evolve(OLD[1], modified=at(130))), 119, "bronze was copied"),
    ("DMS wrote the same rows again", (load(1, 120), attrs.evolve(OLD[1], modified=at(121))), 119, "DMS wrote the same rows again"),
    ("written again before the moment", (attrs.evolve(OLD[0], modified=at(100)), load(2, 120)), 119, "bronze was copied"),
    ("a file that was left over unmerged", (load(1, 120), load(2, 121), load(3, 60)), 50, "before LOAD files with lower numbers"),
    ("uploads that overlap", (load(1, 120.5), load(2, 120)), 119, ""),
    ("another segment", (load(1, 120, folder="a/"), load(1, 110, folder="b/")), 100, ""),
    ("names ahead of UTC", (*NEW, change(300, written=122)), 119, "zone"),
]


@pytest.mark.parametrize(("listing", "minute", "said"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_a_moment_is_certain_or_doubtful_or_refused(listing: Sequence[BronzeFile], minute: float, said: str) -> None:
    found = judged(listing, minute)
    assert said in found and bool(found) == bool(said), found


def test_names_behind_utc_are_refused() -> None:
    assert judged(NEW, 119, attrs.evolve(MERGED, named_behind_utc=True)) == "zone"


@pytest.mark.parametrize(
    ("minutes_behind", "written", "is_refused"),
    [
        (60, 125, True),
        (210, 125, True),
        (300, 125, True),
        (720, 125, True),
        (720, 800, True),
        (1, 119.5, False),
        (30, 125, False),
        (60, 118, False),
        (2000, 125, False),
        (60, 500, False),
    ],
    ids=["an hour", "half an hour more", "New York", "the last zone", "hours after the reload", "an open file", "a slow upload",
         "all before the reload", "a copy of an old file", "named after it"],
)  # fmt: skip
def test_a_name_from_before_the_reload_on_a_file_from_after_it(minutes_behind: int, written: float, is_refused: bool) -> None:
    """Such a file counts as merged with the reload: it is refused before the load is the content, and after."""
    behind = change(written - minutes_behind, written=written)
    listing = [*NEW, behind]
    # No moment is later than the clock, so an old name is the only thing that can show the zone.
    assert (judged(listing, 119) == "zone") == is_refused
    content = attrs.evolve(Progress(reload=1, reloaded_at=at(119)).start).after(NEW, LOOK_BACK, NEW)
    found = pending_files(listing, content, TABLE.source, NOW)
    assert (found.behind == [behind]) == is_refused
    if is_refused:
        with pytest.raises(BronzeError, match=r"has a name from before the reload in place of 2026-03-01T11:59:00Z"):
            refuse_names_before_reload(TABLE, content, found)
    else:
        refuse_names_before_reload(TABLE, content, found)
    merged = MERGED.after([behind], LOOK_BACK, OLD)
    assert judged(listing, 119, merged) != "zone", "it was merged before the reload, so it has been copied since"


def test_a_listing_after_a_reload_has_the_names_of_every_zone() -> None:

    class Store:
        def list(self, prefix: str, after: str = "") -> list[StoredObject]:
            written = time_of(at(125))
            keys = [f"public/t/20260301-{hour:02d}0500000.parquet" for hour in range(13)]
            return [StoredObject(key, 1, "e", written) for key in keys if key > after]

    context: Any = RunContext(None, CONFIG, Store(), "run")  # type: ignore[arg-type]
    content = Progress(reload=1, reloaded_at=at(119)).start
    found = pending_files(context.listing(TABLE, content), content, TABLE.source, NOW)
    # Names of ten minutes past are those of a slow upload: 12:05 was written then.
    assert [file.relative[9:11] for file in found.behind] == [f"{hour:02d}" for hour in range(12)]
    assert [file.relative[9:11] for file in found.files] == ["12"]


@pytest.mark.parametrize("mode", Mode)
@pytest.mark.parametrize("first", [120, 121])
def test_what_is_merged_already_would_count_twice_where_a_mode_keeps_it(mode: Mode, first: float) -> None:
    """The file was open when the reload began, and a run merged it before it saw a LOAD file."""
    open_then = change(120.5)
    merged = MERGED.after([open_then], LOOK_BACK, OLD)
    listing = [load(1, first), open_then, change(125)]
    keeps = mode in (Mode.APPEND, Mode.HISTORY)
    expected = "twice" if keeps else "" if first == 120 else "was closed after"
    found = judged(listing, 119, merged, mode)
    assert expected in found and bool(found) == bool(expected)
    assert judged(listing, 120.5, merged, mode) == ("late" if first == 120 else ""), "the moment at which it was closed"
    assert judged(listing, 119, MERGED, mode) == ("" if first == 120 else judged(listing, 119, MERGED)), "nothing is merged yet"


def test_what_is_merged_before_the_reload() -> None:
    main = MERGED.after([change(60)], LOOK_BACK, OLD)
    listing = [*NEW, change(60), change(90), change(50), change(119), change(125), Truncate(at(95)), Truncate(at(122))]
    found = changes_until(listing, main, TABLE.source, at(119), NOW)
    assert found.files == [change(50), change(90), change(119)], "no LOAD file of the reload, and nothing from after it"
    assert (found.loads, found.truncates) == ([], [at(95)])
    done = main.after(found.files, LOOK_BACK, ())
    assert changes_until(listing, attrs.evolve(done, truncated=at(95)), TABLE.source, at(119), NOW).files == []


UNRECORDED = attrs.evolve(MERGED, load_written="")


@pytest.mark.parametrize(
    ("listing", "minute", "said"), [(NEW, 119, ""), (LEFT_OVER, 119, ""), (NEW, 122, "late"), (LEFT_OVER, 0.5, "early")]
)
def test_a_table_that_did_not_record_when_it_was_loaded_knows_its_files(listing: Sequence[BronzeFile], minute: float, said: str) -> None:
    assert judged(listing, minute, UNRECORDED) == said


MANY = tuple(load(number, number / 100) for number in range(1, LOOK_BACK_FILES + 2))
SEGMENTED = Progress().after(MANY, LOOK_BACK, MANY)


@pytest.mark.parametrize(
    ("main", "minute", "said"),
    [
        (SEGMENTED, 119, ""),
        (SEGMENTED, 1, "early"),
        (SEGMENTED, 120.5, "late"),
        (attrs.evolve(SEGMENTED, load_written=""), 119, "the table does not know each file"),
    ],
)
def test_beyond_the_files_that_are_known_one_by_one(main: Progress, minute: float, said: str) -> None:
    assert main.loads.segments
    found = judged((*NEW, *MANY[2:]), minute, main)
    assert said in found and bool(found) == bool(said), found


def test_the_progress_keeps_when_the_load_was_written() -> None:
    assert MERGED.load_written == at(1)
    assert Progress.from_json(MERGED.to_json()) == MERGED
    assert Progress.from_json(Progress().to_json()).load_written == ""
    assert MERGED.start.load_written == "", "the next load tells its own time"
    assert MERGED.after([change(5)], LOOK_BACK, OLD).load_written == at(1), "a lifecycle rule may remove the file"


minutes = st.integers(3, 300)


@given(
    began=minutes,
    told=st.integers(-60, 400),
    new=st.integers(1, 3),
    left=st.booleans(),
    changes=st.lists(st.integers(2, 400), max_size=6, unique=True),
)
def test_what_is_certain_reads_the_files_of_the_right_moment(began: int, told: int, new: int, left: bool, changes: list[int]) -> None:
    """The oracle knows when the reload began: a moment is certain only if it reads the same LOAD files, and no change from before."""
    written = [load(number, began + number) for number in range(1, new + 1)]
    # While DMS loads a table it writes none of its changes.
    files = [change(minute) for minute in changes if minute <= began or minute > began + new]
    listing = [*written, *(OLD[new:] if left else ()), *files]
    if judged(listing, told):
        return
    right, found = pending(listing, at(began)), pending(listing, at(told))
    assert found.loads == right.loads or not found.loads
    if found.loads:
        late = [file for file in right.files if file not in found.files]
        early = [file for file in found.files if file not in right.files]
        assert not [file for file in late if file.order > at(began + new)], "a change from after the load is left out"
        assert not early, "a change from before the reload would win"


def test_an_empty_reload_is_not_published_beside_files_that_it_ignores() -> None:
    found = BranchState(Progress(reload=1, reloaded_at=at(119)), None, "b")
    with pytest.raises(BronzeError, match=r"LOAD00000001\.parquet and 1 more is left out as older"):
        refuse_ignored_load(TABLE, found, pending(OLD, at(119)))
    refuse_ignored_load(TABLE, found, pending(LEFT_OVER, at(119)))
    refuse_ignored_load(TABLE, found, pending((), at(119)))
    built = BranchState(attrs.evolve(found.progress, loads=MergedLoads().plus([NEW[0]], NEW)), 7, "b")
    refuse_ignored_load(TABLE, built, pending((OLD[1],), at(119)))
    assert has_load_file(built, pending((), at(119)))


def test_a_new_epoch_is_certain_with_a_file() -> None:
    main, found = BranchState(MERGED, 1), BranchState(Progress(epoch=1), None, "b")
    assert load_doubt(TABLE, main, found, pending(NEW, "")) == ""
    assert "no LOAD file of the table in load epoch 1" in load_doubt(TABLE, main, found, pending((change(5),), ""))


@pytest.mark.parametrize("doubt", ["", "Nobody knows."])
@pytest.mark.parametrize(("leave", "confirmed"), [*itertools.product([None, 0, 2], [None, 0, 2, 3])])
def test_a_number_is_confirmed_by_itself_alone(doubt: str, leave: int | None, confirmed: int | None) -> None:
    if leave is not None and leave == confirmed:
        refuse_unconfirmed(TABLE, doubt, Effect(leave, 1), confirmed)
        return
    with pytest.raises(TargetError) as refused:
        refuse_unconfirmed(TABLE, doubt, Effect(leave, 1), confirmed)
    said = "known once the load is built" if leave is None else f"{leave} of the {leave + 1} rows"
    assert said in str(refused.value)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((["public.t"], "2026-03-01T10:00:00Z", [], None, [], ["3"]), ""),
        (([], None, ["public.t"], "2026-03-01T10:00:00Z", [], ["public.t=3"]), ""),
        (([], None, ["public.t", "public.u"], "2026-03-01T10:00:00Z", [], ["public.t=3"]), ""),
        (([], None, ["public.t"], None, [], ["3"]), "for which moment the rows were counted"),
        (([], None, ["public.t"], "2026-03-01T10:00:00Z", [], ["3", "public.t=3"]), "not one whole number"),
        (([], None, ["public.t"], "2026-03-01T10:00:00Z", [], ["-3"]), "not one whole number"),
        (([], None, ["public.t"], "2026-03-01T10:00:00Z", [], ["public.u=3"]), "belongs to a table"),
        (([], "2999-01-01T00:00:00Z", [], None), "is to come"),
        (([], None, [], None, [], ["3"]), "belongs to a table"),
        ((["public.t", "public.u"], None, [], None, [], ["3"]), "belongs to a table"),
    ],
)
def test_what_the_command_line_takes(words: tuple[object, ...], says: str) -> None:
    if not says:
        assert run_request(*words).confirm_rows == {"public.t": 3}  # type: ignore[arg-type]
        return
    with pytest.raises(ConfigError, match=says):
        run_request(*words)  # type: ignore[arg-type]
