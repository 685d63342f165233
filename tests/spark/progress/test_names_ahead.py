"""Files named ahead of now, as by a `DatePartitionTimezone` or a wrong clock: they hide no late file, and none is lost."""

from datetime import UTC, datetime, timedelta
from typing import Any

import attrs
import pyarrow as pa
import pytest

from dms_iceberg.bronze.keys import digits_of
from dms_iceberg.progress.progress import PROGRESS_KEY, Progress
from dms_iceberg.runs.preview import preview
from dms_iceberg.runs.status import table_statuses
from support.lake import Lake

ID_V = [("id", pa.int64()), ("v", pa.string())]
NOW = datetime.now(UTC)


def at(**delta: float) -> str:
    """17 digits of a moment from now."""
    return digits_of(NOW + timedelta(**delta))


def cdc(time: str) -> str:
    return f"{time[:4]}/{time[4:6]}/{time[6:8]}/{time[:8]}-{time[8:]}.parquet"


def write(lake: Lake, closed: str, *rows: tuple[int, str], committed: str = "") -> None:
    """Write inserts of (key, value), committed a minute ago, into a file named after ``closed``."""
    lake.reported("public.t")
    clock = (committed or at(minutes=-1))[:14]
    lake.changes("public.t", cdc(closed), ID_V, [("I", clock, 61 + 4 * number, *row) for number, row in enumerate(rows)])


@pytest.mark.long
@pytest.mark.parametrize("mode", ["mirror", "append"])
@pytest.mark.parametrize(("ahead", "look_back", "waits"), [(30, 24, True), (14, 5, False)])
def test_file_named_hours_ahead_hides_no_late_file(lake: Lake, ahead: int, look_back: int, waits: bool, mode: str) -> None:
    config = lake.config({"public.t": {"mode": mode}}, batch={"look_back_hours": look_back})
    write(lake, at(minutes=-10), (1, "in order"))
    write(lake, at(hours=ahead), (2, "ahead"))
    first = lake.run_one(config)
    write(lake, at(minutes=-5), (3, "next"))
    write(lake, at(hours=-4), (4, "late"), committed=at(hours=-5))
    report = lake.run_one(config)
    assert report.applied == 2
    assert lake.rows("t", "id, v") == [(1, "in order"), *([] if waits else [(2, "ahead")]), (3, "next"), (4, "late")]
    assert lake.run_one(config).batches == []
    (status,) = table_statuses(lake.spark, config)
    for warnings in (first.warnings, report.warnings, preview(lake.spark, config)[0].warnings, status.warnings):
        assert [cdc(at(hours=ahead)) in text and "15 hours ahead" in text for text in warnings] == [True] * waits


def test_file_named_ahead_in_an_old_date_folder_is_found_until_it_is_merged(lake: Lake) -> None:
    """A task that catches up writes into folders of the commits, and a listing begins at those of the look-back."""
    config = lake.config({"public.t": {}}, batch={"look_back_hours": 1})
    old, name = at(days=-9), cdc(at(hours=30))
    folder = cdc(old).rpartition("/")[0]
    lake.changes("public.t", f"{folder}/{name.rpartition('/')[2]}", ID_V, [("I", old[:14], 61, 1, "old")])
    write(lake, at(hours=-2), (2, "from before the look-back"), committed=at(hours=-2))
    write(lake, at(minutes=-10), (3, "new"))
    for applied, closed in ((2, -5), (1, -3)):
        report = lake.run_one(config)
        assert report.applied == applied
        assert [name.rpartition("/")[2] in text and "15 hours ahead" in text for text in report.warnings] == [True]
        write(lake, at(minutes=closed), (closed, "next"))


def test_a_merged_file_from_far_ahead_is_told(lake: Lake) -> None:
    """It looked back from that name, so late files were passed over; from now on they are not."""
    config = lake.config({"public.t": {}})
    write(lake, at(minutes=-10), (1, "in order"))
    lake.run_one(config)
    remember(lake, frontier=at(hours=30))
    write(lake, at(minutes=-5), (2, "next"))
    write(lake, at(minutes=-2), (3, "after"))
    assert lake.run_one(config).applied == 2
    write(lake, at(minutes=-3), (4, "late"))
    (plan,) = preview(lake.spark, config)
    report = lake.run_one(config)
    assert report.applied == 1
    assert lake.rows("t", "id, v") == [(1, "in order"), (2, "next"), (3, "after"), (4, "late")]
    for warnings in (plan.warnings, report.warnings):
        assert ["a merged file is named" in text and "--rebuild public.t" in text for text in warnings] == [True]


def test_clock_that_went_back_is_noticed_behind_a_file_named_ahead(lake: Lake) -> None:
    """A change that nobody has seen, older than what its key has: it is quarantined, as behind any other file."""
    config = lake.config({"public.t": {}})
    write(lake, at(hours=14), (2, "ahead"))
    write(lake, at(minutes=-10), (1, "new"), committed=at(minutes=-11))
    lake.run_one(config)
    write(lake, at(minutes=-5), (1, "by an older clock"), committed=at(minutes=-20))
    report = lake.run_one(config)
    assert (report.stale, report.quarantined) == (0, 1)


@pytest.mark.long
@pytest.mark.parametrize("runs", ["in two runs", "in one run"])
@pytest.mark.parametrize("mode", ["mirror", "append"])
def test_delete_in_a_file_from_before_a_change_of_the_zone_is_found(lake: Lake, mode: str, runs: str) -> None:
    """Names were eight hours behind UTC, the commits in them were not; a late change of the deleted key does not bring it back."""
    config = lake.config({"public.t": {"mode": mode}})
    lake.load("public.t", ID_V, [(1, "a"), (2, "b")])
    deleted, changed = at(minutes=-61)[:14], at(minutes=-62)[:14]
    lake.changes("public.t", cdc(at(hours=-9)), ID_V, [("D", deleted, 61, 1, None)])
    if runs == "in two runs":
        lake.run_one(config)
    write(lake, at(minutes=-5), (3, "in UTC from now on"), committed=at(minutes=-6))
    lake.run_one(config)
    assert lake.target("t").progress().named_behind_utc
    lake.changes("public.t", cdc(at(minutes=-4)), ID_V, [("U", changed, 65, 1, "late")])
    lake.run_one(config)
    if mode == "mirror":
        assert lake.rows("t", "id, v") == [(2, "b"), (3, "in UTC from now on")]
    else:
        assert len(lake.rows("t", "id, v")) == 5


def remember(lake: Lake, **changed: Any) -> None:
    """Let the table's progress be as another version would have written it."""
    target = lake.target("t")
    head = target.head()
    assert head is not None
    draft = target.transaction(head.id)
    made: Progress = attrs.evolve(target.progress(), recent=(), **changed)
    draft.touch({PROGRESS_KEY: made.to_json()})
    target.commit(draft)
