"""Rebuilds of tables that bronze has lost a change file of, or whose rows were changed by hand: one run, one rebuild of all."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from dms_iceberg.context import RunRequest
from dms_iceberg.runs.preview import TablePreview, preview
from dms_iceberg.runs.report import RunReport
from dms_iceberg.runs.run import run
from support.lake import Lake
from support.text_files import cdc_name

COLUMNS = [("id", pa.int64()), ("v", pa.string())]
T1, T2, T3, T4 = "20260301100100", "20260301100200", "20260302100000", "20260303100000"
NEXT_DAY, DAY_AFTER = "20260302-100030000.parquet", "20260303-100030000.parquet"
MODES = {"mirror": {}, "soft": {"mode": "soft_delete"}, "versions": {"mode": "history"}, "log": {"mode": "append"}}
FILTER = {"filter": "v <> 'c'"}
LOST = {f"lost_{name}": entry for name, entry in MODES.items()} | {"lost_filtered": FILTER, "lost_late": {}}
CODE = {"name": "code", "type": "int"}
KEPT: dict[str, tuple[dict[str, Any], str]] = {
    "whole": ({}, ""),
    "late": ({}, ""),
    "many_late": ({}, "3 change files more than the table had merged"),
    "cured": ({"columns": [CODE | {"from": "v"}]}, ""),
    "widened": (FILTER, ""),
    "deleted_by_hand": ({}, "has rows of 1 keys that the table had no row of"),
    "revived_by_hand": ({"mode": "soft_delete"}, "and of 1 keys only an ended one"),
    "ended_by_hand": ({"mode": "history"}, "has rows of 1 keys that the table had no row of, or an ended one"),
    "inserted_by_hand": (FILTER, "lacks 1 key that the content before has"),
    "doubled_by_hand": ({"mode": "append"}, "has 1 rows fewer of some keys than the table"),
}
TWICE = {"name": "twice", "expr": "concat(v, v)", "type": "string"}
CHANGED = {"cured": {"columns": [CODE | {"expr": "try_cast(v AS int)"}]}, "widened": {"publish": ["filter"]}}


def write(lake: Lake) -> None:
    for table in [*LOST, *KEPT]:
        values = "123" if table == "cured" else "abc"
        lake.load(f"public.{table}", COLUMNS, [(number + 1, values[number]) for number in range(3)])
        lake.changes(f"public.{table}", cdc_name(1), COLUMNS, [("U", T1, 61, 1, "x" if table == "cured" else "A", 1)])
        lake.changes(f"public.{table}", cdc_name(2), COLUMNS, [("D", T2, 65, 2, None, 2), ("I", T2, 69, 4, "4", None)])
        lake.changes(f"public.{table}", NEXT_DAY, COLUMNS, [("U", T3, 73, 1, "5", 1)])
        lake.changes(f"public.{table}", DAY_AFTER, COLUMNS, [("U", T4, 73, 1, "6", 1)])


def spoil(lake: Lake) -> None:
    for table in LOST:
        (lake.bronze / "public" / table / cdc_name(2)).unlink()
    for table, count in {"lost_late": 1, "late": 2, "many_late": 3}.items():
        for number in range(count):
            lake.changes(f"public.{table}", cdc_name(3 + number), COLUMNS, [("I", T2, 80 + number, 10 + number, "late", None)])
    name = f"lake.{lake.namespace}.{{}}".format
    for statement in (
        f"DELETE FROM {name('deleted_by_hand')} WHERE id = 3",
        f"UPDATE {name('revived_by_hand')} SET _cdc_deleted = false WHERE id = 2",
        f"DELETE FROM {name('ended_by_hand')} WHERE id = 3",
        f"INSERT INTO {name('inserted_by_hand')} SELECT 99, v, _cdc_position, _cdc_op, _cdc_committed_at FROM {name('whole')} WHERE id = 1",
        f"INSERT INTO {name('doubled_by_hand')} SELECT * FROM {name('doubled_by_hand')} WHERE id = 4",
    ):
        lake.spark.sql(statement)


@attrs.frozen
class Rebuilt:
    lake: Lake
    before: dict[str, list[tuple[Any, ...]]]
    plan: TablePreview
    report: RunReport


@pytest.fixture(scope="module")
def rebuilt(spark: SparkSession, warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rebuilt]:
    lake = Lake(spark, warehouse, tmp_path_factory.mktemp("losses"))
    write(lake)
    tables = {f"public.{table}": entry for table, entry in [*LOST.items(), *((name, entry) for name, (entry, _) in KEPT.items())]}
    assert lake.run(lake.config(tables, batch={"look_back_hours": 1})).failed == []
    spoil(lake)
    later = {}
    for name, entry in tables.items():
        later[name] = CHANGED.get(name.split(".")[1], {**entry, "columns": [*entry.get("columns", []), TWICE]})
    config = lake.config(later, batch={"look_back_hours": 1})
    before = {table: lake.rows(table, "id, v", "1, 2") for table in LOST}
    (plan,) = preview(spark, config, ["public.lost_mirror"], RunRequest(rebuild=frozenset({"public.lost_mirror"})))
    yield Rebuilt(lake, before, plan, run(spark, config, request=RunRequest(rebuild=frozenset(tables))))


@pytest.mark.parametrize("table", LOST)
def test_a_lost_change_file_is_known_whatever_the_rows_and_the_filter_show(rebuilt: Rebuilt, table: str) -> None:
    error = rebuilt.report.tables[f"public.{table}"].error or ""
    assert "at least 1 of the 4 change files are missing below" in error and "Nothing was written" in error
    assert rebuilt.lake.rows(table, "id, v", "1, 2") == rebuilt.before[table]


def test_plan_refuses_as_well(rebuilt: Rebuilt) -> None:
    assert "at least 1 of the 4 change files" in (rebuilt.plan.error or "")


@pytest.mark.parametrize("table", KEPT)
def test_what_nothing_explains_is_told_of_and_what_is_meant_is_not(rebuilt: Rebuilt, table: str) -> None:
    report, words = rebuilt.report.tables[f"public.{table}"], KEPT[table][1]
    assert report.error is None
    assert [words in warning for warning in report.warnings] == ([True] if words else []), report.warnings


def test_files_that_came_too_late_are_in_the_rebuilt_content(rebuilt: Rebuilt) -> None:
    assert rebuilt.lake.rows("late", "id, v") == [(1, "6"), (3, "c"), (4, "4"), (10, "late"), (11, "late")]
    assert rebuilt.lake.rows("widened", "id, v") == [(1, "6"), (3, "c"), (4, "4")]
    assert rebuilt.lake.rows("cured", "id, v") == [(1, "6"), (3, "3"), (4, "4")]
