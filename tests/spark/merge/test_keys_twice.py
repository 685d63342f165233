"""Rows that share a key: the newest is in the table, and the others are not lost without a word."""

import json
import os
from typing import Any

import pyarrow as pa
import pytest

from dms_iceberg.bronze.keys import time_of
from dms_iceberg.config.model import Config
from support.lake import Lake
from support.text_files import cdc_name

SOURCE = "public.t"
COLUMNS = [("id", pa.string()), ("v", pa.string())]
T1, T2 = "20260301100100", "20260301100200"
FIRST = [("D", T1, 61, "3", "c"), ("U", T1, 65, "2", "x"), ("I", T1, 69, "4", "d")]
SECOND = [("I", T2, 61, "3", "y"), ("D", T2, 65, "2", "x"), ("I", T2, 69, "2", "z"), ("I", T2, 73, "1", "e")]


def config(lake: Lake, batch: dict[str, int] | None = None, **more: Any) -> Config:
    return lake.config({SOURCE: {"key": ["id"], **more}}, **({"batch": batch} if batch else {}))


def warnings(lake: Lake, given: Config) -> list[str]:
    report = lake.run_one(given)
    return [text for text in report.warnings if "Example of the key" in text]


@pytest.mark.parametrize("mode", ["mirror", pytest.param("soft_delete", marks=pytest.mark.long)])
def test_a_key_twice_in_a_full_load_is_warned_of(lake: Lake, mode: str) -> None:
    lake.load(SOURCE, COLUMNS, [("1", "a"), ("1", "b"), ("2", "c"), ("1", "d")])
    (text,) = warnings(lake, config(lake, mode=mode))
    assert f"{SOURCE}: the full load has a key more than once, 2 times" in text
    assert json.dumps({"id": "1"}, separators=(",", ":")) in text


@pytest.mark.parametrize("mode", ["mirror", pytest.param("soft_delete", marks=pytest.mark.long)])
def test_a_key_twice_in_two_batches_of_a_full_load_is_warned_of(lake: Lake, mode: str) -> None:
    given = config(lake, batch={"max_files": 1}, mode=mode)
    lake.load(SOURCE, COLUMNS, [("1", "a"), ("2", "b")])
    lake.load(SOURCE, COLUMNS, [("2", "c"), ("3", "d")], number=2)
    (text,) = warnings(lake, given)
    assert "more than once, 1 times" in text and '{"id":"2"}' in text


def test_the_key_is_shown_as_silver_has_it(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DMS_ICEBERG_MASK_SALT", "salt")
    lake.load(SOURCE, COLUMNS, [("secret", "a"), ("secret", "b")])
    (text,) = warnings(lake, config(lake, columns=[{"name": "id", "mask": "sha256"}]))
    assert "secret" not in text


@pytest.mark.parametrize("mode", ["mirror", pytest.param("soft_delete", marks=pytest.mark.long)])
def test_an_insert_of_a_key_that_is_live_is_warned_of(lake: Lake, mode: str) -> None:
    given = config(lake, mode=mode)
    before = time_of("20260301100000000").timestamp()
    os.utime(lake.load(SOURCE, COLUMNS, [("1", "a"), ("2", "b"), ("3", "c")]), (before, before))
    assert warnings(lake, given) == []
    lake.changes(SOURCE, cdc_name(1), COLUMNS, [(*one, None) for one in FIRST])
    assert warnings(lake, given) == []
    # The key was free again, and a delete goes before an insert.
    lake.changes(SOURCE, cdc_name(2), COLUMNS, [(*one, None) for one in SECOND])
    (text,) = warnings(lake, given)
    assert "an insert (or a change of key) came to a key that another row has, 1 times" in text and '{"id":"1"}' in text


def test_an_insert_of_a_key_that_is_live_is_warned_of_beside_a_row_that_silver_leaves_out(lake: Lake) -> None:
    given = config(lake, filter="v <> 'out'")
    before = time_of("20260301100000000").timestamp()
    os.utime(lake.load(SOURCE, COLUMNS, [("1", "a"), ("2", "b"), ("3", "out")]), (before, before))
    assert warnings(lake, given) == []
    # The update replaces no row, the insert one.
    lake.changes(SOURCE, cdc_name(1), COLUMNS, [("I", T1, 61, "1", "LOST", None), ("U", T1, 65, "3", "out", None)])
    (text,) = warnings(lake, given)
    assert "an insert (or a change of key) came to a key that another row has, 1 times" in text and '{"id":"1"}' in text
    # An update that does replace one is none.
    lake.changes(SOURCE, cdc_name(2), COLUMNS, [("I", T2, 61, "4", "new", None), ("U", T2, 65, "2", "B", None)])
    assert warnings(lake, given) == []


def test_a_key_twice_in_a_full_load_is_warned_of_though_the_filter_keeps_one_row_out(lake: Lake) -> None:
    """The newer row decides whether there is one."""
    lake.load(SOURCE, COLUMNS, [("1", "keep"), ("1", "out"), ("2", "c"), ("3", "out"), ("3", "out")])
    (text,) = warnings(lake, config(lake, filter="v <> 'out'"))
    assert "the full load has a key more than once, 1 times" in text and '{"id":"1"}' in text
    assert lake.rows("t", "id, v") == [("2", "c")]


def test_inserts_of_a_key_in_one_batch_are_warned_of_and_a_change_that_is_written_again_is_not(lake: Lake) -> None:
    given = config(lake)
    lake.changes(SOURCE, cdc_name(1), COLUMNS, [("I", T1, 61, "5", "first", None), ("I", T2, 65, "5", "second", None)])
    (text,) = warnings(lake, given)
    assert "came to a key that another row has, 1 times" in text and '{"id":"5"}' in text
    gone = [("I", T1, 61, "7", "a", None), ("D", T1, 65, "7", "a", None), ("I", T2, 69, "7", "b", None)]
    lake.changes(SOURCE, cdc_name(2), COLUMNS, [("I", T1, 61, "6", "first", None), ("I", T1, 61, "6", "first", None), *gone])
    assert warnings(lake, given) == []


def test_a_row_that_comes_and_goes_hides_no_insert_of_a_live_key(lake: Lake) -> None:
    given = config(lake)
    before = time_of("20260301100000000").timestamp()
    os.utime(lake.load(SOURCE, COLUMNS, [("1", "a")]), (before, before))
    assert warnings(lake, given) == []
    brief = [("I", T1, 65, "9", "x", None), ("D", T2, 69, "9", "x", None)]
    lake.changes(SOURCE, cdc_name(1), COLUMNS, [("I", T1, 61, "1", "other", None), *brief])
    (text,) = warnings(lake, given)
    assert "came to a key that another row has, 1 times" in text and '{"id":"1"}' in text


@pytest.mark.parametrize("mode", ["mirror", pytest.param("soft_delete", marks=pytest.mark.long)])
def test_rows_without_a_usable_key_do_not_share_one(lake: Lake, mode: str) -> None:
    given = config(lake, mode=mode, columns=[{"name": "id", "type": "bigint"}])
    lake.load(SOURCE, COLUMNS, [("1", "a")])
    assert warnings(lake, given) == []
    lake.changes(SOURCE, cdc_name(1), COLUMNS, [("I", T1, 61, "x", "b", None), ("I", T2, 65, "y", "c", None)])
    assert warnings(lake, given) == []
    assert len(lake.open_quarantine(given, "t")) == 2
