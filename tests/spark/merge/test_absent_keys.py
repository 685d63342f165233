"""Keys of load and changes in two forms: nothing is lost in silence, and correct set-ups hear nothing."""

import os
from typing import Any

import pyarrow as pa
import pytest

from dms_iceberg.bronze.keys import time_of
from dms_iceberg.context import RunRequest
from dms_iceberg.merge import absent_keys
from dms_iceberg.runs.replay import replay
from dms_iceberg.runs.report import TableReport
from dms_iceberg.runs.run import run
from dms_iceberg.runs.status import table_statuses
from support.lake import Lake
from support.text_files import cdc_name

SOURCE = "public.t"
COLUMNS = [("id", pa.string()), ("v", pa.string())]
T1, T2 = "20260301100100", "20260301100200"
WORDS = "keys that updates and deletes named had no row"
FORMS = {
    "capitals": ("{0:08x}-AB".upper().format, "{0:08x}-ab".format),
    "padded": ("k{0}   ".format, "k{0}".format),
    "zeros": ("{0:05d}".format, "{0}".format),
}


def load(lake: Lake, rows: list[tuple[Any, ...]], columns: Any = COLUMNS) -> None:
    before = time_of("20260301100000000").timestamp()
    os.utime(lake.load(SOURCE, columns, rows), (before, before))


def said(report: TableReport) -> list[str]:
    return [text for text in report.warnings if WORDS in text]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "table",
    [
        {},
        *(
            pytest.param(table, marks=pytest.mark.long)
            for table in (
                {"mode": "soft_delete"},
                {"write_mode": "copy-on-write"},
                {"format_version": 3},
                {"partition_by": ["bucket(3, id)"]},
            )
        ),
    ],
)
def test_changes_that_find_no_row_are_said(lake: Lake, form: str, table: dict[str, Any]) -> None:
    of_load, of_changes = FORMS[form]
    config = lake.config({SOURCE: table})
    load(lake, [(of_load(n), "a") for n in range(10, 16)])
    assert said(lake.run_one(config)) == []
    changes = [("U", T1, 61, of_changes(10), "b"), ("U", T1, 65, of_changes(11), "c"), ("D", T1, 69, of_changes(12), "a")]
    lake.changes(SOURCE, cdc_name(1), COLUMNS, [*changes, ("I", T1, 73, of_changes(20), "new")])
    report = lake.run_one(config)
    (text,) = said(report)
    assert f"{SOURCE}: 3 of 3 keys" in text
    assert report.to_document()["absent_keys"] == 3
    (status,) = table_statuses(lake.spark, config)
    assert status.warnings == [text]


def test_one_form_by_expression_and_a_rebuild_mend_it(lake: Lake) -> None:
    load(lake, [("AB-1", "a"), ("AB-2", "a")])
    lake.run_one(lake.config({SOURCE: {}}))
    lake.changes(SOURCE, cdc_name(1), COLUMNS, [("U", T1, 61, "ab-1", "b"), ("D", T1, 65, "ab-2", "a")])
    assert said(lake.run_one(lake.config({SOURCE: {}})))
    mended = lake.config({SOURCE: {"columns": [{"name": "id", "expr": "lower(id)", "type": "string"}]}})
    (report,) = run(lake.spark, mended, request=RunRequest(rebuild=frozenset({SOURCE}))).tables.values()
    assert (report.error, said(report)) == (None, [])
    assert lake.rows("t", "id, v") == [("ab-1", "b")]
    assert table_statuses(lake.spark, mended)[0].warnings == []


@pytest.mark.parametrize(
    ("table", "rows", "changes"),
    [
        pytest.param({}, [("1", "a"), ("2", "a")], [("U", T1, 61, "1", "b"), ("D", T1, 65, "2", "a")], id="right"),
        pytest.param({"filter": "v <> 'a'"}, [("1", "a"), ("2", "b")], [("U", T1, 61, "1", "b"), ("D", T1, 65, "9", "a")], id="filter"),
        pytest.param(
            {"rules": [{"name": "r", "expr": "v <> 'a'", "on_fail": "drop"}]}, [("1", "a")], [("U", T1, 61, "1", "b")], id="rule that drops"
        ),
        pytest.param(
            {"rules": [{"name": "r", "expr": "v <> 'a'", "on_fail": "quarantine"}]},
            [("1", "a"), ("2", "b")],
            [("U", T1, 61, "1", "b"), ("D", T1, 65, "1", "b")],
            id="in quarantine",
        ),
        pytest.param({}, [("1", "a")], [("I", T1, 61, "3", "b"), ("U", T1, 65, "3", "c"), ("D", T1, 69, "3", "c")], id="came and went"),
        pytest.param({}, [("1", "a")], [("U", T1, 61, "2", "b", "1"), ("U", T1, 65, "2", "c")], id="another key"),
        pytest.param({"mode": "append"}, [("1", "a")], [("U", T1, 61, "2", "b")], id="append"),
        pytest.param({"mode": "history"}, [("1", "a")], [("U", T1, 61, "2", "b")], id="history"),
        pytest.param({}, [(str(n), "a") for n in range(9)], [("U", T1, 61 + n, str(n), "b") for n in range(5)] + [("D", T1, 99, "x", "a")]),
    ],
)
def test_correct_set_ups_hear_nothing(
    lake: Lake, table: dict[str, Any], rows: list[tuple[Any, ...]], changes: list[tuple[Any, ...]]
) -> None:
    config = lake.config({SOURCE: table})
    load(lake, rows)
    lake.run_one(config)
    lake.changes(SOURCE, cdc_name(1), COLUMNS, changes)
    assert said(lake.run_one(config)) == []
    # The task wrote the same again after a restart, into a later file.
    lake.changes(SOURCE, cdc_name(2), COLUMNS, changes)
    assert said(lake.run_one(config)) == []
    assert [text for text in table_statuses(lake.spark, config)[0].warnings if WORDS in text] == []


def test_a_table_of_change_files_alone_hears_nothing(lake: Lake) -> None:
    config = lake.config({SOURCE: {}})
    lake.changes(SOURCE, cdc_name(1), COLUMNS, [("U", T1, 61, "1", "b")])
    lake.run_one(config)
    lake.changes(SOURCE, cdc_name(2), COLUMNS, [("U", T2, 61, "2", "b"), ("D", T2, 65, "3", "b")])
    assert said(lake.run_one(config)) == []


def test_rows_deleted_while_the_load_ran_are_not_asked_for(lake: Lake) -> None:
    config = lake.config({SOURCE: {}})
    # The load ends after the change.
    lake.load(SOURCE, COLUMNS, [("1", "a")])
    lake.run_one(config)
    lake.changes(SOURCE, cdc_name(1), COLUMNS, [("D", T1, 61, "2", "b"), ("D", T1, 65, "3", "b")])
    assert said(lake.run_one(config)) == []


V = [("id", pa.string()), ("v", pa.int64())]
SMALL = {"rules": [{"name": "small", "expr": "v < 5"}]}


def rejected_and_found_absent(lake: Lake, keys: int) -> None:
    """A load that lacks some keys, as they were rejected, and the deletes and updates of these keys."""
    load(lake, [("0", 1), *((f"k{n}", 9) for n in range(keys))], V)
    lake.run_one(lake.config({SOURCE: SMALL}))
    changes = [("U" if n % 2 else "D", T1, 61 + n, f"k{n}", 1) for n in range(keys)]
    lake.changes(SOURCE, cdc_name(1), V, changes)
    lake.run_one(lake.config({SOURCE: SMALL}))


@pytest.mark.parametrize("write_mode", ["merge-on-read", "copy-on-write"])
def test_rows_that_a_replay_has_resolved_count_as_well(lake: Lake, write_mode: str) -> None:
    """The changes that found no row are from before the replay, which finds the rejected rows stale."""
    config = lake.config({SOURCE: {"write_mode": write_mode}})
    rejected_and_found_absent(lake, 4)
    assert replay(lake.spark, config).errors == {}
    assert lake.open_quarantine(config, "t") == []
    assert [text for text in table_statuses(lake.spark, config)[0].warnings if WORDS in text] == []
    # The next run looks back as far.
    lake.changes(SOURCE, cdc_name(2), V, [("U", T2, 61, "0", 1)])
    assert said(lake.run_one(config)) == []


def test_rows_that_were_resolved_do_not_hide_keys_in_two_forms(lake: Lake) -> None:
    config = lake.config({SOURCE: {}})
    rejected_and_found_absent(lake, 2)
    assert replay(lake.spark, config).errors == {}
    lake.changes(SOURCE, cdc_name(2), V, [("U", T2, 61 + n, f"K{n}", 2) for n in range(3)])
    assert said(lake.run_one(config))
    assert [text for text in table_statuses(lake.spark, config)[0].warnings if WORDS in text]


def test_rows_that_were_resolved_before_all_that_is_looked_at_do_not_count(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    config = lake.config({SOURCE: {}})
    rejected_and_found_absent(lake, 6)
    assert replay(lake.spark, config).errors == {}
    monkeypatch.setattr(absent_keys, "_MOST_SNAPSHOTS", 2)
    lake.changes(SOURCE, cdc_name(2), V, [("U", T2, 61 + n, f"K{n}", 2) for n in range(3)])
    assert said(lake.run_one(config))
