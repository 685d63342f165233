"""Declared formats of times: every text is read exactly, or is no value. The oracle reads the texts in plain Python."""

import datetime as dt
import itertools
import re
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from dms_iceberg.changes.mapping import SilverColumn, typed_sql
from dms_iceberg.config.datetime_pattern import pattern_problem
from dms_iceberg.config.model import Column

UTC = dt.UTC
DAYS = {
    "yyyy-MM-dd": ["2024-05-10", "2024-02-30", "2024-5-1", "1999-12-31", "24-05-10", "2024-05-10 "],
    "y-M-d": ["2024-5-1", "2024-05-10", "2024-13-01"],
    "dd.MM.yyyy": ["10.05.2024", "31.04.2024", "1.5.2024"],
    "yyyy/DDD": ["2024/131", "2023/366", "2024/366"],
    "dd MMM yyyy": ["10 May 2024", "10 may 2024", "10 Mai 2024"],
}
TIMES = {
    "HH:mm:ss": ["16:00:01", "24:00:00", "16:00:60", "6:00:01"],
    "H:m:s": ["6:0:1", "16:00:01"],
    "hh:mm:ss a": ["04:00:01 PM", "12:00:00 am", "16:00:01 PM", "12:30:00 PM"],
    "KK:mm:ss a": ["00:00:01 PM", "12:00:01 PM"],
}
FRACTIONS = {
    "": ["", ".5"],
    ".SSSSSS": [".604805", ".6", ".6048050"],
    ".SSSSSSS": [".6048050", ".6048057", ".604805", ".6", ".60480500"],
    ".SSSSSSSSS": [".604805000", ".604805001", ".6048050"],
    "[.SSSSSSS]": ["", ".6048050", ".6048059", "."],
}
ZONES = {
    "": [""],
    " XXX": [" +03:00", " -05:30", " Z", " +0300", " +03"],
    "X": ["+03", "+0330", "Z", "+03:00"],
    "xxx": ["+03:00", "Z", "-00:30"],
    " Z": [" +0300", " Z"],
    " OOOO": [" GMT", " GMT+03:00"],
    " z": [" UTC", " GMT", " CST", " BST"],
    " 'Z'": [" Z", " X"],
}
"""By part of a pattern, texts that fit it and texts that do not."""


def formats() -> Iterator[tuple[str, str]]:
    """Patterns with texts: each part in turn beside the usual other ones."""
    usual = ("yyyy-MM-dd", "HH:mm:ss")
    for day in DAYS:
        yield from ((f"{day} HH:mm:ss", f"{text} 16:00:01") for text in DAYS[day])
    for time in TIMES:
        yield from ((f"{usual[0]} {time}", f"2024-05-10 {text}") for text in TIMES[time])
    for fraction, zone in itertools.product(FRACTIONS, ZONES):
        pattern = f"{usual[0]} {usual[1]}{fraction}{zone}"
        yield from ((pattern, f"2024-05-10 16:00:01{f}{z}") for f, z in itertools.product(FRACTIONS[fraction], ZONES[zone]))


def day_of(pattern: str, text: str) -> dt.date | None:
    forms = {
        "yyyy-MM-dd": (r"(\d{4})-(\d\d)-(\d\d)", lambda y, m, d: dt.date(int(y), int(m), int(d))),
        "y-M-d": (r"(\d+)-(\d+)-(\d+)", lambda y, m, d: dt.date(int(y), int(m), int(d))),
        "dd.MM.yyyy": (r"(\d\d)\.(\d\d)\.(\d{4})", lambda d, m, y: dt.date(int(y), int(m), int(d))),
        "yyyy/DDD": (r"(\d{4})/(\d{3})", lambda y, n: dt.date.fromordinal(dt.date(int(y), 1, 1).toordinal() + int(n) - 1)),
        "dd MMM yyyy": (r"(\d\d) (?i:(may)) (\d{4})", lambda d, _, y: dt.date(int(y), 5, int(d))),
    }
    form, make = forms[pattern]
    found = re.fullmatch(form, text)
    try:
        day = make(*found.groups()) if found else None
    except ValueError:
        return None
    return day if day is None or pattern != "yyyy/DDD" or day.year == int(text[:4]) else None


def time_of(pattern: str, text: str) -> dt.time | None:
    digits = r"(\d\d):(\d\d):(\d\d)" if pattern[1] != ":" else r"(\d{1,2}):(\d{1,2}):(\d{1,2})"
    found = re.fullmatch(digits + (r" (?i:(am|pm))" if pattern.endswith("a") else r"()"), text)
    if not found:
        return None
    hour, minute, second, half = int(found[1]), int(found[2]), int(found[3]), found[4].lower()
    if half:
        low, high = (1, 12) if pattern.startswith("h") else (0, 11)
        if not low <= hour <= high:
            return None
        hour = hour % 12 + 12 * (half == "pm")
    return dt.time(hour, minute, second) if hour < 24 and minute < 60 and second < 60 else None


def micros_of(pattern: str, text: str) -> int | None:
    """The digits after the second; None where some do not fit."""
    count = pattern.count("S")
    if not count:
        return 0 if not text else None
    if not text:
        return 0 if pattern.startswith("[") else None
    digits = text.removeprefix(".")
    fits = 1 <= len(digits) <= count and not digits[6:].strip("0")
    return int(digits[:6].ljust(6, "0")) if fits else None


def offset_of(pattern: str, text: str) -> int | None:
    """Minutes east of UTC; None where the text is no offset of the pattern."""
    forms = {
        "": r"()",
        " XXX": r" ([+-]\d\d:\d\d|Z)",
        "X": r"([+-]\d\d(?:\d\d)?|Z)",
        "xxx": r"([+-]\d\d:\d\d)",
        " Z": r" ([+-]\d{4})",
        " OOOO": r" GMT([+-]\d\d:\d\d)?",
        " z": r" (?:UTC|GMT)()",
        " 'Z'": r" Z()",
    }
    found = re.fullmatch(forms[pattern], text)
    if not found:
        return None
    digits = (found[1] or "").replace(":", "")
    if digits in ("", "Z"):
        return 0
    return (-1 if digits[0] == "-" else 1) * (int(digits[1:3]) * 60 + int(digits[3:5] or 0))


def expected(pattern: str, text: str) -> dt.datetime | None:
    """The moment, in UTC; None where the text has not exactly the form of the pattern, or no microsecond holds it."""
    day_form = next(one for one in DAYS if pattern.startswith(one + " "))
    rest = pattern[len(day_form) + 1 :]
    time_form = next(one for one in sorted(TIMES, key=len, reverse=True) if rest.startswith(one))
    rest = rest[len(time_form) :]
    fraction = next(one for one in sorted(FRACTIONS, key=len, reverse=True) if rest.startswith(one))
    zone = rest[len(fraction) :]
    found = []
    for day, time, part, end in _splits(text, day_form):
        parts = (day_of(day_form, day), time_of(time_form, time), micros_of(fraction, part), offset_of(zone, end))
        if None not in parts:
            found.append(parts)
    if not found:
        return None
    ((date, clock, micros, offset),) = found
    assert isinstance(date, dt.date)
    assert isinstance(clock, dt.time)
    assert isinstance(micros, int)
    assert isinstance(offset, int)
    return dt.datetime.combine(date, clock.replace(microsecond=micros), UTC) - dt.timedelta(minutes=offset)


def _splits(text: str, day_form: str) -> Iterator[tuple[str, str, str, str]]:
    """All ways to divide a text into day, time, fraction and zone."""
    words = day_form.count(" ") + 1
    pieces = text.split(" ")
    day, rest = " ".join(pieces[:words]), " ".join(pieces[words:])
    if text.startswith(day + "  "):
        day, rest = day + " ", rest[1:]
    seen = set()
    for first in range(len(rest) + 1):
        for second in range(first, len(rest) + 1):
            split = (day, rest[:first], rest[first:second], rest[second:])
            is_whole = re.fullmatch(r"(\.\d*)?", split[2]) and not re.match(r"\d", split[3])
            if is_whole and split not in seen:
                seen.add(split)
                yield split


def test_every_text_is_read_exactly_or_is_no_value(spark: SparkSession) -> None:
    cases = list(dict.fromkeys(formats()))
    assert not [pattern for pattern, _ in cases if pattern_problem(pattern)]
    found: dict[tuple[str, str], dt.datetime | None] = {}
    rows = spark.createDataFrame([(number, text) for number, (_, text) in enumerate(cases)], "n int, t string")
    numbers: dict[str, list[int]] = {}
    for number, (pattern, _) in enumerate(cases):
        numbers.setdefault(pattern, []).append(number)
    whens = []
    for pattern, own in numbers.items():
        column = SilverColumn("t", "t", False, Column(name="t", type="timestamp", format=pattern))
        whens.append(f"WHEN n IN ({', '.join(map(str, own))}) THEN unix_micros({typed_sql(column, 'string', 'timestamp')})")
    for row in rows.selectExpr("n", f"CASE {' '.join(whens)} END AS micros").collect():
        found[cases[row.n]] = None if row.micros is None else dt.datetime(1970, 1, 1, tzinfo=UTC) + dt.timedelta(microseconds=row.micros)
    wanted = {case: expected(*case) for case in cases}
    assert sum(one is not None for one in wanted.values()) > 60
    assert {case: found[case] for case in cases if found[case] != wanted[case]} == {}


@pytest.mark.parametrize("type_", ["date", "timestamp_ntz"])
def test_wall_clocks_and_dates(spark: SparkSession, type_: str) -> None:
    column = SilverColumn("t", "t", False, Column(name="t", type=type_, format="yyyy-MM-dd HH:mm:ss.SSSSSSS"))
    sql = typed_sql(column, "string", type_)
    texts = ["2024-05-10 23:59:59.9999990", "2024-05-10 23:59:59.9999999", "9999-12-31 23:59:59.9999999"]
    rows = spark.createDataFrame([(text,) for text in texts], "t string").selectExpr(f"CAST({sql} AS string) AS v").collect()
    shown = "2024-05-10" if type_ == "date" else "2024-05-10 23:59:59.999999"
    assert [row.v for row in rows] == [shown, None, None]
