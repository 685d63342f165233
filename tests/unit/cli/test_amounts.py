"""Numbers, sizes and times as people read them."""

from datetime import UTC, datetime, timedelta

import pytest

from dms_iceberg.cli.amounts import ago, counted, lasting, size

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0.0 s"),
        (0.44, "0.4 s"),
        (9.94, "9.9 s"),
        (9.96, "10 s"),
        (42.4, "42 s"),
        (59.6, "1 min"),
        (65, "1 min 5 s"),
        (3_600, "1 h"),
        (3_601, "1 h"),
        (3_840, "1 h 4 min"),
        (3 * 86_400 + 7_200, "3 d 2 h"),
        (400 * 86_400, "400 d"),
        (-65, "-1 min 5 s"),
    ],
)
def test_times(seconds: float, text: str) -> None:
    assert lasting(seconds) == text


def test_moments() -> None:
    assert ago(NOW - timedelta(minutes=64), NOW) == "1 h 4 min ago"
    assert ago(NOW + timedelta(seconds=180), NOW) == "in 3 min"


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0, "0 bytes"),
        (1, "1 byte"),
        (999, "999 bytes"),
        (1_000, "1.0 kB"),
        (999_999, "1.0 MB"),
        (2_345_678, "2.3 MB"),
        (5 * 10**15, "5000.0 TB"),
    ],
)
def test_sizes(number: int, text: str) -> None:
    assert size(number) == text


def test_numbers_of_things() -> None:
    assert (counted(1, "table"), counted(0, "table"), counted(1234, "file")) == ("1 table", "0 tables", "1,234 files")
    assert (counted(1, "batch", "batches"), counted(2, "batch", "batches")) == ("1 batch", "2 batches")
