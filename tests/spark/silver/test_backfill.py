"""A column that files lack: not yet added, dropped since, and NULL in every row are three things."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from dms_iceberg.context import RunRequest
from dms_iceberg.progress.progress import Progress
from dms_iceberg.runs.preview import preview
from dms_iceberg.runs.replay import replay
from dms_iceberg.runs.run import run
from support.lake import COMMIT, Lake, sequence, timestamp
from support.text_files import cdc_name, change_line, load_line, write_text

ID_V, EXTRA = [("id", pa.int64()), ("v", pa.string())], ("extra", pa.int32())
ADDED: dict[str, Any] = {"columns": [{"name": "extra", "type": "int", "backfill": 7}]}
STRICT = {**ADDED, "rules": [{"name": "good", "expr": "v <> 'bad'"}]}
MODES = ("mirror", "soft_delete", "history", "append")


def clock(minute: int) -> str:
    return f"202603011{minute // 60}{minute % 60:02d}00"


def changed(lake: Lake, table: str, minute: int, *rows: tuple[Any, ...], extra: bool = False) -> None:
    """A Parquet file closed half a minute after its changes, (op, minute, values...)."""
    columns = [*ID_V, EXTRA] if extra else ID_V
    lake.changes(table, cdc_name(minute), columns, [(op, clock(at), 60 + n, *values) for n, (op, at, *values) in enumerate(rows)])


def line(op: str, minute: int, **row: Any) -> str:
    """A line of JSON; members that are NULL are left out."""
    service = {"Op": op, "dms_commit_ts": timestamp(clock(minute)), "dms_change_seq": sequence(clock(minute), 60)}
    return json.dumps({**service, **row})


def loaded(**row: Any) -> str:
    return json.dumps({"Op": "I", "dms_commit_ts": COMMIT, "dms_change_seq": "", **row})


@attrs.frozen
class Filled:
    lake: Lake
    tables: dict[str, dict[str, Any]]
    warnings: list[str]

    def filled(self, table: str) -> list[tuple[Any, ...]]:
        return self.lake.rows(table, "id, extra", "id, _cdc_position")

    def run(self, *only: str, **word: frozenset[str]) -> None:
        report = run(self.lake.spark, self.lake.config(self.tables), only, request=RunRequest(**word))
        assert report.failed == [], report.errors


@pytest.fixture(scope="module")
def parquet(spark: SparkSession, warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    """Files that lack the column before it was added, and after it was dropped, as they come and late."""
    lake = Lake(spark, warehouse, tmp_path_factory.mktemp("backfill"))
    tables: dict[str, dict[str, Any]] = {f"public.{mode}": {**STRICT, "mode": mode} for mode in MODES}
    filled = Filled(lake, tables, [])
    lake.enter(1)
    for table in tables:
        lake.load(table, ID_V, [(1, "a"), (2, "b"), (3, "c")])
        changed(lake, table, 2, ("I", 1, 4, "d"))
    filled.run()
    for table in tables:
        # In one batch: a file from before, one with the column, and one from after.
        changed(lake, table, 10, ("U", 9, 1, "A"), ("I", 9, 5, "bad"))
        changed(lake, table, 20, ("I", 19, 6, "f", None), ("I", 18, 7, "g", 1), extra=True)
        changed(lake, table, 30, ("U", 29, 2, "B"), ("I", 29, 8, "bad"))
    filled.run()
    for table in tables:
        changed(lake, table, 12, ("I", 11, 9, "late"))
        changed(lake, table, 40, ("I", 39, 10, "new"))
    filled.run()
    yield filled


CURRENT = [(1, 7), (2, None), (3, 7), (4, 7), (6, None), (7, 1), (9, 7), (10, None)]


@pytest.mark.parametrize("mode", MODES)
def test_before_the_first_change_with_the_column_the_backfill_and_from_there_on_null(parquet: Filled, mode: str) -> None:
    expected = (
        CURRENT if mode in ("mirror", "soft_delete") else sorted([*CURRENT, (1, 7), (2, 7)], key=lambda row: (row[0], row[1] is None))
    )
    assert parquet.filled(mode) == expected


def test_replayed_rows_and_a_rebuild_give_the_same(parquet: Filled) -> None:
    lenient = parquet.lake.config({"public.mirror": ADDED})
    report = replay(parquet.lake.spark, lenient).tables["public.mirror"]
    assert (report.error, report.applied) == (None, 2)
    expected = sorted([*CURRENT, (5, 7), (8, None)])
    assert parquet.filled("mirror") == expected
    assert run(parquet.lake.spark, lenient, request=RunRequest(rebuild=frozenset({"public.mirror"}))).failed == []
    assert parquet.filled("mirror") == expected


def test_a_new_load_without_a_column_that_was_there_before_has_null(parquet: Filled) -> None:
    parquet.lake.enter(2)
    parquet.lake.load("public.soft_delete", ID_V, [(1, "again")])
    changed(parquet.lake, "public.soft_delete", 50, ("I", 49, 11, "k"))
    parquet.run("public.soft_delete")
    assert [row for row in parquet.filled("soft_delete") if row[0] in (1, 11)] == [(1, None), (11, None)]


@pytest.mark.long
def test_json_lines_tell_row_by_row(lake: Lake) -> None:
    config = lake.config({"public.t": ADDED}, bronze={"format": "json"})
    write_text(lake, "public.t", "LOAD00000001.json", [loaded(id="1", v="a"), loaded(id="2", v="b"), loaded(id="3", v="c")], None)
    write_text(lake, "public.t", cdc_name(2, "json"), [line("I", 1, id="4", v="d")], None)
    lake.run_one(config)
    with_member = [line("U", 9, id="1", v="A"), line("I", 10, id="5", v="e", extra=1), line("U", 11, id="2", v="B")]
    write_text(lake, "public.t", cdc_name(12, "json"), with_member, None)
    lake.run_one(config)
    # No row of the file has it, as all are NULL.
    write_text(lake, "public.t", cdc_name(20, "json"), [line("U", 19, id="3", v="C")], None)
    lake.run_one(config)
    expected = [("1", 7), ("2", None), ("3", None), ("4", 7), ("5", 1)]
    assert lake.rows("t", "id, extra") == expected
    # A late file that had it sooner: what is still to come is right, and what was merged before is told of.
    write_text(lake, "public.t", cdc_name(5, "json"), [line("I", 4, id="6", v="f", extra=2), line("I", 5, id="7", v="g")], None)
    (warning,) = lake.run_one(config).warnings
    assert "has the column 'extra' earlier than any other" in warning and "--rebuild public.t" in warning
    assert lake.rows("t", "id, extra") == [*expected, ("6", 2), ("7", None)]
    assert run(lake.spark, config, request=RunRequest(rebuild=frozenset({"public.t"}))).failed == []
    assert lake.rows("t", "id, extra") == [("1", None), *expected[1:], ("6", 2), ("7", None)]


def test_a_load_that_has_the_column_leaves_nothing_to_fill(lake: Lake) -> None:
    config = lake.config({"public.t": ADDED}, bronze={"format": "csv"})
    header = "Op,dms_commit_ts,id,v,extra,dms_change_seq"
    write_text(lake, "public.t", "LOAD00000001.csv", [load_line(1, "a", 5), load_line(2, "b", "")], header)
    write_text(lake, "public.t", cdc_name(2, "csv"), [change_line("U", clock(1), 61, 1, "A"), change_line("I", clock(1), 65, 3, "c")])
    lake.run_one(config)
    assert lake.rows("t", "id, extra") == [("1", None), ("2", None), ("3", None)]


def test_a_table_of_an_earlier_version_takes_null_and_says_so_until_it_is_rebuilt(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    config = lake.config({"public.t": ADDED})
    lake.load("public.t", ID_V, [(1, "a"), (2, "b")])
    changed(lake, "public.t", 10, ("I", 9, 3, "c", 1), extra=True)
    to_json = Progress.to_json
    with monkeypatch.context() as patch:
        patch.setattr(Progress, "to_json", lambda one: json.dumps({k: v for k, v in json.loads(to_json(one)).items() if k != "first_seen"}))
        lake.run_one(config)
    assert lake.rows("t", "id, extra") == [(1, 7), (2, 7), (3, 1)]
    changed(lake, "public.t", 5, ("U", 4, 1, "A"))
    changed(lake, "public.t", 20, ("U", 19, 2, "B"))
    (planned,) = preview(lake.spark, config)
    late, warning = lake.run_one(config).warnings
    assert planned.warnings == [late, warning]
    assert "the backfill of 'extra' was declared after" in late and "--rebuild public.t" in late
    for part in ('tables."public.t".columns[0].backfill', "does not know since when", "--rebuild public.t"):
        assert part in warning
    assert lake.rows("t", "id, extra") == [(1, None), (2, None), (3, 1)]
    assert run(lake.spark, config, request=RunRequest(rebuild=frozenset({"public.t"}))).failed == []
    assert lake.rows("t", "id, extra") == [(1, 7), (2, None), (3, 1)]
    changed(lake, "public.t", 30, ("U", 29, 3, "C"))
    assert lake.run_one(config).warnings == []
    assert lake.rows("t", "id, extra") == [(1, 7), (2, None), (3, None)]


def test_a_plan_of_a_load_and_changes_awaits_a_column_as_the_run_does(lake: Lake) -> None:
    """The second batch of a plan took the column for one that the source had dropped, and refused it."""
    config = lake.config({"public.t": ADDED})
    lake.load("public.t", ID_V, [(1, "a")])
    changed(lake, "public.t", 10, ("I", 9, 3, "c"))
    (planned,) = preview(lake.spark, config)
    assert (planned.error, planned.batches) == (None, 2)
    assert lake.run_one(config).warnings == planned.warnings
    assert lake.rows("t", "id") == [(1,), (3,)]


def test_what_is_known_of_a_column_follows_its_renames(lake: Lake) -> None:
    lake.load("public.t", ID_V, [(1, "a"), (2, "b")])
    lake.run_one(lake.config({"public.t": {}}))
    changed(lake, "public.t", 10, ("I", 9, 3, "c", 1), extra=True)
    lake.run_one(lake.config({"public.t": ADDED}))
    renamed = {"name": "more", "from": "extra", "renamed_from": "extra", "type": "int", "backfill": 7}
    changed(lake, "public.t", 20, ("U", 19, 1, "A"))
    lake.run_one(lake.config({"public.t": {"columns": [renamed]}}))
    changed(lake, "public.t", 30, ("U", 29, 2, "B"))
    changed(lake, "public.t", 5, ("I", 4, 4, "d"))
    del renamed["renamed_from"]
    assert lake.run_one(lake.config({"public.t": {"columns": [renamed]}})).warnings == []
    assert lake.rows("t", "id, more") == [(1, None), (2, None), (3, 1), (4, 7)]


@pytest.mark.parametrize(("type_", "value"), [(pa.int32(), True), (pa.int32(), 0.5), (pa.date32(), "soon")])
def test_a_backfill_that_is_no_value_of_the_files_type_is_refused_by_name(lake: Lake, type_: pa.DataType, value: Any) -> None:
    one = lake.config({"public.t": {"columns": [{"name": "extra", "backfill": value}]}})
    lake.changes("public.t", cdc_name(1), ID_V, [("I", clock(0), 61, 1, "a")])
    lake.run_one(one)
    lake.changes("public.t", cdc_name(2), [*ID_V, ("extra", type_)], [("I", clock(1), 65, 2, "b", None)])
    (report,) = run(lake.spark, one).tables.values()
    assert report.error is not None
    assert report.error.startswith("tables.\"public.t\".columns[0].backfill: the column 'extra' has the type")
    assert lake.rows("t", "id") == [(1,)]
