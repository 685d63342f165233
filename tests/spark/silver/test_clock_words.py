"""Texts that Spark reads as the present time: a batch that is run again would give other rows, and a plan that is kept the first day's."""

from typing import Any

import pyarrow as pa
import pytest

from support.lake import Lake

COLUMNS = [("id", pa.int64()), ("v", pa.string()), ("at", pa.timestamp("us")), ("day", pa.date32())]


def _run(lake: Lake, entry: dict[str, Any], *, fails: bool) -> str:
    lake.load("public.t", COLUMNS, [(1, "today", None, None), (2, "b", None, None)])
    return lake.run_one(lake.config({"public.t": entry}), fails=fails).error or ""


@pytest.mark.parametrize(
    ("sql", "word"),
    [
        ("at >= 'today'", "today"),
        ("at BETWEEN '2026-01-01' AND 'tomorrow'", "tomorrow"),
        ("day < 'Yesterday UTC'", "Yesterday UTC"),
        ("to_date('today') > day", "today"),
        ("datediff(day, 'today') < 3", "today"),
        ("date_trunc('month', 'now') < at", "now"),
        ("at < trim(' now ')", "now"),
        ("at < lower('NOW')", "now"),
        ("at >= '00:00'", "00:00"),
        ("at < concat('to', 'day')", "today"),
        ("at < '\\ttoday'", "\ttoday"),
        ("CASE WHEN v = 'b' THEN at < 'today' END", "today"),
    ],
)
def test_a_text_that_becomes_the_present_time_is_refused(lake: Lake, sql: str, word: str) -> None:
    error = _run(lake, {"filter": sql}, fails=True)
    assert f"filter: {word!r} as a date or time gives another value each time" in error
    assert not lake.spark.catalog.tableExists(f"lake.{lake.namespace}.t")
    rule = {"rules": [{"name": "fresh", "expr": "v <> 'b'"}, {"name": "old", "expr": sql}]}
    assert f"rules[1].expr: {word!r} as a date" in _run(lake, rule, fails=True)


@pytest.mark.parametrize(
    "sql", ["v = 'today'", "v IN ('now', 'today')", "CASE WHEN v = 'today' THEN 'now' END = 'now'", "at IS NULL AND v <> 'b'"]
)
def test_such_a_word_may_be_a_text(lake: Lake, sql: str) -> None:
    _run(lake, {"filter": sql}, fails=False)
    assert lake.rows("t", "id, v") == [(1, "today")]


@pytest.mark.parametrize("text", ["today", "to', 'day", "08:00"])
def test_a_filter_that_is_declared_later_is_refused_as_well(lake: Lake, text: str) -> None:
    _run(lake, {}, fails=False)
    lake.changes("public.t", "2026/03/01/10/20260301-100130000.parquet", COLUMNS, [("U", "20260301100100", 61, 1, "b", None, None, None)])
    entry = {"filter": f"at >= concat('{text}')"}
    for _ in range(2):
        error = lake.run_one(lake.config({"public.t": entry}), fails=True).error or ""
        assert "as a date or time gives another value each time" in error


def test_files_are_looked_at_with_their_own_types(lake: Lake) -> None:
    lake.load("public.t", [("id", pa.int64()), ("d", pa.date32())], [(1, None)])
    lake.load("public.t", [("id", pa.int64()), ("d", pa.string())], [(2, "zzz")], number=2)
    report = lake.run_one(lake.config({"public.t": {"filter": "d >= 'today'", "drop": ["d"]}}), fails=True)
    assert "filter: 'today' as a date or time" in (report.error or "")


def test_files_that_lack_a_column_are_looked_at_with_its_type_in_others(lake: Lake) -> None:
    """As text it would not go with the function."""
    lake.load("public.t", [("id", pa.int64()), ("at", pa.timestamp("us"))], [(1, None)])
    lake.load("public.t", [("id", pa.int64()), ("raw", pa.binary())], [(2, b"ab")], number=2)
    columns = [{"name": "size", "expr": "coalesce(raw, X'00') = X'6162' AND at IS NULL"}]
    lake.run_one(lake.config({"public.t": {"columns": columns, "drop": ["raw"]}}))
    assert lake.rows("t", "id, size") == [(1, False), (2, True)]


def test_all_that_spark_refuses_is_told_at_once(lake: Lake) -> None:
    entry = {"columns": [{"name": "wrong", "expr": "nothing_there(v)", "type": "int"}], "filter": "explode_all(v)"}
    error = _run(lake, entry, fails=True)
    assert "columns[0].expr: Spark refuses it" in error
    assert "filter: Spark refuses it" in error
