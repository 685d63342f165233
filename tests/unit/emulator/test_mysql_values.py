"""Values and positions of MySQL's binary log, without a server."""

from types import SimpleNamespace
from typing import Any

import pytest
import typer
from pymysqlreplication.constants import FIELD_TYPE

from dms_emulator.binlog_positions import BinlogPositions
from dms_emulator.cli import checked_source
from dms_emulator.errors import EmulatorError
from dms_emulator.mysql_values import LogColumn, described, raw, reader

FEBRUARY = 0x8000000000 + (((2026 * 13 + 2) << 5 | 28) << 17) + (23 << 12 | 59 << 6 | 58)
POSITIONS = BinlogPositions("mysql-bin.changelog.000012")


def utf8(data: bytes) -> str:
    return data.decode()


def column(type_: str, **more: Any) -> LogColumn:
    return LogColumn("c", type_, more.pop("shown", ""), False, **more)


@pytest.mark.parametrize(
    ("bits", "type_", "digits", "text"),
    [
        # Packed as MySQL's my_time_packed_to_binary writes them: a number that is shifted by half its range.
        (0x800000 + (1 << 12 | 2 << 6 | 3), "time", 0, "01:02:03"),
        (0x800000 - (838 << 12 | 59 << 6 | 59), "time", 0, "-838:59:59"),
        ((0x800000 << 8) - 50, "time", 1, "-00:00:00.5"),
        ((0x800000 << 8) - (1 << 8 | 50), "time", 2, "-00:00:01.50"),
        ((0x800000 << 24) - 1, "time", 6, "-00:00:00.000001"),
        (FEBRUARY << 16 | 1230, "datetime", 3, "2026-02-28 23:59:58.123"),
        (0x8000000000, "datetime", 0, "0000-00-00 00:00:00"),
        (0, "timestamp", 0, "0000-00-00 00:00:00"),
        (1_700_000_000 << 24 | 120, "timestamp", 6, "2023-11-14 22:13:20.000120"),
    ],
)  # fmt: skip
def test_times(bits: int, type_: str, digits: int, text: str) -> None:
    assert reader(column(type_, precision=digits), utf8)(f"{bits:b}") == text


def test_dates_are_shown_even_outside_the_calendar() -> None:
    assert [reader(column("date"), utf8)(value) for value in (2024 << 9 | 2 << 5 | 29, 0, 2026 << 9 | 2 << 5 | 31)] == [
        "2024-02-29",
        "0000-00-00",
        "2026-02-31",
    ]


def test_texts_are_decoded_from_their_bytes() -> None:
    assert reader(column("varchar", character_set="utf8mb4"), utf8)("🙂".encode().decode("latin-1")) == "🙂"


def test_bytes_get_the_zeros_back_that_the_log_leaves_out() -> None:
    assert reader(column("binary", size=4, character_set="binary"), utf8)("\x00\xff") == "00ff0000"
    assert reader(column("varbinary", size=4, character_set="binary"), utf8)("\x00\xff") == "00ff"


def test_choices_are_members_by_their_number() -> None:
    assert [reader(column("enum", members=("a", "b"), character_set="utf8mb4"), utf8)(value) for value in (0, 2)] == ["", "b"]
    assert [reader(column("set", members=("a", "b", "c"), character_set="utf8mb4"), utf8)(value) for value in (0, 5)] == ["", "a,c"]


@pytest.mark.parametrize("members", [("ü",), ("", "a"), ("\x00a",)])
def test_choices_that_the_library_may_have_misread_are_refused(members: tuple[str, ...]) -> None:
    with pytest.raises(EmulatorError, match="c: enum in character set latin1 with members that are not ASCII"):
        reader(column("enum", members=members, character_set="latin1"), utf8)


def test_an_unknown_type_is_refused_by_number() -> None:
    with pytest.raises(EmulatorError, match="c: the binary log has type number 140"):
        described(SimpleNamespace(name="c", type=140), key=False, character_set=None)


def test_the_library_is_made_to_hand_over_what_it_would_change() -> None:
    day = SimpleNamespace(type=FIELD_TYPE.DATE, unsigned=False)
    clock = SimpleNamespace(type=FIELD_TYPE.TIME2, fsp=3)
    choice = SimpleNamespace(type=FIELD_TYPE.SET, size=8, unsigned=False)
    for item in (day, clock, choice):
        raw(item)
    assert (day.type, day.unsigned) == (FIELD_TYPE.INT24, True)
    assert (clock.type, clock.bytes, clock.bits) == (FIELD_TYPE.BIT, 5, 40)
    assert (choice.type, choice.unsigned) == (FIELD_TYPE.LONGLONG, True)


def test_positions_rise_along_the_log_and_have_the_servers_text() -> None:
    first, second = (POSITIONS.parse(text) for text in ("mysql-bin.changelog.000012:4294967295", "mysql-bin.changelog.000013:4"))
    assert first < second
    assert POSITIONS.text(second) == "mysql-bin.changelog.000013:4"
    assert POSITIONS.parts(first) == ("mysql-bin.changelog.000012", 4294967295)


@pytest.mark.parametrize(
    "text", ["12", "mysql-bin.changelog.000012", "other.000012:4", "mysql-bin.changelog.x:4", "mysql-bin.changelog.000012:-1"]
)
def test_what_is_no_position_is_refused(text: str) -> None:
    with pytest.raises(EmulatorError, match=r"expected mysql-bin\.changelog\.NUMBER:OFFSET"):
        POSITIONS.parse(text)


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("mysql://me:hunter2@localhost/shop", "it holds a password"),
        ("mariadb://me@localhost/shop?ssl=1", "the parameter 'ssl' is unknown"),
    ],
)
def test_an_address_that_is_none_is_refused_without_repeating_it(url: str, reason: str) -> None:
    with pytest.raises(typer.BadParameter, match=reason) as refused:
        checked_source(url)
    assert "hunter2" not in str(refused.value)
    assert checked_source("mysql://me@localhost:3306/") == "mysql://me@localhost:3306/"
