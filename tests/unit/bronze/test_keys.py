"""The grammar of DMS's keys, and where a listing may jump."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dms_iceberg.bronze.keys import BronzeFile, digits_of, earlier, is_credible, parse_key, resume_after, shown_time, time_of

PREFIX = "public/t/"
SINCE = "20260301100000000"


@pytest.mark.parametrize(
    ("name", "is_cdc", "order"),
    [
        ("LOAD00000001.parquet", False, "00000000000000001"),
        ("LOAD0000000A.csv", False, "0000000000000000A"),
        ("20260301-100130000.parquet", True, "20260301100130000"),
        ("20260301-100130000.csv.gz", True, "20260301100130000"),
        ("2026/03/01/10/20260301-100130000.parquet", True, "20260301100130000"),
        ("20260301/20260301-100130000.json", True, "20260301100130000"),
    ],
)
def test_change_files(name: str, is_cdc: bool, order: str) -> None:
    file = parse_key(PREFIX, PREFIX + name, 1, "e")
    assert file is not None
    assert (file.is_cdc, file.order, file.key, file.relative) == (is_cdc, order, PREFIX + name, name)


@pytest.mark.parametrize(
    "name",
    [
        "LOAD1.parquet",
        "LOAD00000001.parquet.tmp",
        "LOAD0000000g.parquet",
        "20260301-10013000.parquet",
        "20260301-100130000.txt",
        "20260301-100130000",
        "_SUCCESS",
        "awsdms_apply_exceptions/20260301-100130000.parquet",
        "a/awsdms_x/LOAD00000001.parquet",
    ],
)
def test_other_objects_are_passed_over(name: str) -> None:
    assert parse_key(PREFIX, PREFIX + name, 1, "e") is None


def test_segments_of_a_parallel_load_are_told_apart() -> None:
    files = [
        parse_key(PREFIX, PREFIX + name, 1, "e") for name in ("SEGMENT1_LOAD00000001.csv", "SEGMENT2_LOAD00000001.csv", "LOAD00000001.csv")
    ]
    orders = {file.order for file in files if file}
    assert len(orders) == 3
    assert {len(order) for order in orders} == {17}


def test_full_load_comes_before_changes_and_hex_numbers_count_up() -> None:
    names = ["20200101-000000000.csv", "LOAD00000010.csv", "LOAD0000000F.csv", "LOAD00000009.csv"]
    files = sorted(file for name in names if (file := parse_key(PREFIX, PREFIX + name, 1, "e")))
    assert [file.relative for file in files] == names[::-1]


times = st.datetimes(min_value=datetime(2000, 1, 1), max_value=datetime(2040, 1, 1)).map(lambda t: t.replace(tzinfo=UTC))


@given(times)
def test_digits_and_time_are_inverse_and_sort_alike(time: datetime) -> None:
    whole = time.replace(microsecond=time.microsecond // 1000 * 1000)
    assert time_of(digits_of(whole)) == whole
    assert digits_of(whole - timedelta(hours=5)) == earlier(digits_of(whole), hours=5) < digits_of(whole)


@pytest.mark.parametrize("hours", [17_760_000, 18_000_000, 1e9, 1e300])
def test_nothing_is_earlier_than_the_first_time_there_is(hours: float) -> None:
    assert earlier("20260301100000000", hours=hours) == "00010101000000000"


def test_years_have_four_digits() -> None:
    assert digits_of(datetime(7, 3, 1, tzinfo=UTC)) == "00070301000000000"
    assert earlier("20260301100000000", days=700_000) == "01090818100000000"


@pytest.mark.parametrize(
    ("digits", "shown"),
    [
        ("20260301100230000", "2026-03-01T10:02:30Z"),
        ("20260301100230450", "2026-03-01T10:02:30.45Z"),
        ("20260301100230005", "2026-03-01T10:02:30.005Z"),
        ("20260301100230", "2026-03-01T10:02:30Z"),
        ("00010101000000000", "0001-01-01T00:00:00Z"),
        ("20261399000000000", "20261399000000000"),
        ("", ""),
    ],
)
def test_a_time_is_shown_as_the_options_of_commands_take_it(digits: str, shown: str) -> None:
    assert shown_time(digits) == shown
    if shown.endswith("Z"):
        assert digits_of(datetime.fromisoformat(shown)) == digits.ljust(17, "0")


def test_impossible_time_is_left_alone() -> None:
    assert earlier("20260231100000000", hours=1) == "20260231100000000"


_LAYOUTS = {
    "none": lambda t: "",
    "YYYYMMDD /": lambda t: f"{t:%Y/%m/%d}/",
    "YYYYMMDD -": lambda t: f"{t:%Y-%m-%d}/",
    "YYYYMMDD _": lambda t: f"{t:%Y_%m_%d}/",
    "YYYYMMDD": lambda t: f"{t:%Y%m%d}/",
    "YYYYMMDDHH /": lambda t: f"{t:%Y/%m/%d/%H}/",
    "YYYYMMDDHH -": lambda t: f"{t:%Y-%m-%d-%H}/",
    "YYYYMMDDHH _": lambda t: f"{t:%Y_%m_%d_%H}/",
    "YYYYMMDDHH": lambda t: f"{t:%Y%m%d%H}/",
    "YYYYMM /": lambda t: f"{t:%Y/%m}/",
    "YYYYMM -": lambda t: f"{t:%Y-%m}/",
    "YYYYMM _": lambda t: f"{t:%Y_%m}/",
    "YYYYMM": lambda t: f"{t:%Y%m}/",
    "MMYYYYDD /": lambda t: f"{t:%m/%Y/%d}/",
    "MMYYYYDD": lambda t: f"{t:%m%Y%d}/",
    "DDMMYYYY /": lambda t: f"{t:%d/%m/%Y}/",
    "DDMMYYYY": lambda t: f"{t:%d%m%Y}/",
    "DDMMYYYY -": lambda t: f"{t:%d-%m-%Y}/",
}
"""Date folders of DMS: DatePartitionSequence and DatePartitionDelimiter (SLASH, DASH, UNDERSCORE, NONE)."""

years = st.datetimes(min_value=datetime(2019, 12, 1), max_value=datetime(2032, 2, 1)).map(lambda t: t.replace(tzinfo=UTC))


@given(st.sampled_from(sorted(_LAYOUTS)), st.lists(years, min_size=1, max_size=12), years, st.timedeltas(timedelta(0), timedelta(hours=23)))
def test_jump_never_passes_over_a_file_that_is_needed(layout: str, closed: list[datetime], since: datetime, behind: timedelta) -> None:
    """A folder is named after a commit, up to a day before the file in it was closed."""
    keys = sorted(f"{_LAYOUTS[layout](time - behind)}{digits_of(time)[:8]}-{digits_of(time)[8:]}.parquet" for time in closed)
    limit = digits_of(since)
    for relative in keys:
        target = resume_after(relative, limit)
        if target is None:
            continue
        assert target > relative
        passed_over = [key for key in keys if relative <= key <= target]
        needed = [key for key in passed_over if key.rpartition("/")[2][:18].replace("-", "") >= limit]
        assert needed == []


@pytest.mark.parametrize("relative", ["LOAD00000001.csv", "04202501/20250104-000000000.csv", "04012025/20250104-000000000.csv", "x/y.csv"])
def test_layouts_that_do_not_sort_by_time_are_listed_whole(relative: str) -> None:
    assert resume_after(relative, SINCE) is None


def test_without_a_look_back_nothing_is_passed_over() -> None:
    assert resume_after("2020/01/01/20200101-000000000.csv", "") is None


@pytest.mark.parametrize(
    ("relative", "target"),
    [
        ("20250101-000000000.csv", "2026"),
        ("20260101-000000000.csv", "202602/"),
        ("20260201-000000000.csv", "20260228/"),
        ("20260301-000000000.csv", "20260301-100000000"),
        ("2025/01/01/20250101-000000000.csv", "2026"),
        ("2026/01/01/20260101-000000000.csv", "2026/02/20260301-100000000"),
        ("2026/02/21/20260221-000000000.csv", "2026/02/28"),
        ("2026-01-01-10/20260101-100000000.csv", "2026-02-28"),
        ("20260101/20260101-100000000.csv", "202602/"),
        ("2026_01_01/20260101-100000000.csv", "2026_02/"),
        ("202601/20260101-000000000.csv", "202602"),
        ("20260301-100000000.csv", None),
        ("2026/02/28/20260301-000000000.csv", None),
    ],
)
def test_where_a_listing_goes_on(relative: str, target: str | None) -> None:
    assert resume_after(relative, SINCE) == target


@pytest.mark.parametrize(
    ("order", "credible"),
    [
        ("20260302010000000", True),
        ("20260302010000001", False),
        ("20991231000000000", False),
        ("99999999999999999", False),
        ("20260230100000000", False),
        ("19700101000000000", True),
    ],
)
def test_name_that_is_no_date_or_further_ahead_than_any_zone_is_not_believed(order: str, credible: bool) -> None:
    file = BronzeFile(True, order, "x", "x", 1, "e", "csv")
    assert is_credible(file, datetime(2026, 3, 1, 10, tzinfo=UTC)) == credible
