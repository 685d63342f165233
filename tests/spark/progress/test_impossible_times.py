"""Sequences, commit times and file names that lie in the far future: none may make everything after it look late."""

from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from dms_iceberg.runs.preview import preview
from dms_iceberg.runs.report import TableReport
from dms_iceberg.silver.table import TargetTable
from support.lake import COMMIT, Lake, sequence, timestamp
from support.text_files import cdc_name

ID_V = [("id", pa.int64()), ("v", pa.string())]
SERVICE = ["Op", "dms_commit_ts", "id", "v", "dms_change_seq"]
T1, T5 = "20260301100100", "20260301100500"
# More than two days after the close of the file of minute 1, and just within.
BEYOND, WITHIN = "20260303100200", "20260303100100"
SEQUENCES = {
    10: ("9" * 35, "no_position"),
    11: ("0" * 35, "no_position"),
    12: (sequence("20260230100100", 69), "no_position"),
    13: (sequence("99991231235959", 69), "future_clock"),
    14: (sequence("20270229100100", 69), "future_clock"),
    15: (sequence(BEYOND, 69), "future_clock"),
}
COMMITS = {
    10: ("9999-12-31 23:59:59.999999", "future_clock"),
    11: ("9999-12-31 23:59:59-12:00", "future_clock"),
    12: (timestamp(BEYOND), "future_clock"),
}
NAMES = ["2099/12/31/10/20991231-100000000.parquet", "2026/02/30/10/20260230-100000000.parquet"]
TABLES = ("sequences", "commits", "fast_clock", "named_ahead")


def write(lake: Lake, table: str, name: str, rows: list[tuple[Any, ...]]) -> None:
    """Write a CDC file; the table ``commits`` has no sequence column."""
    names = SERVICE[:-1] if table == "commits" else SERVICE
    types = dict(ID_V)
    lake.parquet(f"public.{table}", name, [(name, types.get(name, pa.string())) for name in names], [row[: len(names)] for row in rows])


@pytest.fixture(scope="module")
def lake(spark: SparkSession, warehouse: Any, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    return Lake(spark, warehouse, tmp_path_factory.mktemp("impossible_times"))


@pytest.fixture(scope="module")
def runs(lake: Lake) -> list[dict[str, TableReport]]:
    """The impossible times, then an ordinary change of each table."""
    good = [("I", COMMIT, number, "a", sequence(T1, 60 + number)) for number in (1, 2)]
    bad_sequences = [("I", COMMIT, number, "x", text) for number, (text, _) in SEQUENCES.items()]
    bad_commits = [("I", text, number, "x", "") for number, (text, _) in COMMITS.items()]
    write(lake, "sequences", cdc_name(1), [*good, *bad_sequences])
    write(lake, "commits", cdc_name(1), [*good, *bad_commits])
    write(lake, "fast_clock", cdc_name(1), [*good, ("I", COMMIT, 3, "a", sequence(WITHIN, 69))])
    lake.reported("public.named_ahead")
    write(lake, "named_ahead", cdc_name(1), good)
    write(lake, "named_ahead", cdc_name(3), [("I", COMMIT, 3, "a", sequence(T1, 69))])
    for name in NAMES:
        write(lake, "named_ahead", name, [("I", COMMIT, 4, "from nowhere", sequence(T1, 73))])
    config = lake.config({f"public.{table}": {} for table in TABLES})
    first = lake.run(config).tables
    for table in TABLES[:-1]:
        write(lake, table, cdc_name(5), [("U", timestamp(T5), 1, "b", sequence(T5, 100))])
    # Late, and still noticed.
    write(lake, "named_ahead", cdc_name(2), [("U", COMMIT, 1, "b", sequence("20260301100130", 81))])
    return [first, lake.run(config).tables]


@pytest.mark.parametrize(("table", "bad"), [("sequences", SEQUENCES), ("commits", COMMITS), ("fast_clock", {})])
def test_impossible_time_is_quarantined_and_later_changes_are_not_late(
    table: str, bad: dict[int, tuple[str, str]], lake: Lake, runs: list[dict[str, TableReport]]
) -> None:
    first, second = (run[f"public.{table}"] for run in runs)
    assert (first.error, second.error) == (None, None)
    if bad:
        found = dict(lake.quarantine(table, "int(get_json_object(key, '$.id')), reason"))
        assert found == {number: reason for number, (_, reason) in bad.items()}
    assert (first.quarantined, second.applied, second.stale, second.quarantined) == (len(bad), 1, 0, 0)
    rows = lake.rows(table, "id, v")
    assert rows == [(1, "b"), (2, "a"), *([] if bad else [(3, "a")])]
    committed = TargetTable(lake.spark, "lake", f"{lake.namespace}.{table}").progress().committed
    assert committed.startswith(T5 if bad else WITHIN)


def test_file_named_in_the_future_moves_no_frontier_and_is_told(lake: Lake, runs: list[dict[str, TableReport]]) -> None:
    first, second = (run["public.named_ahead"] for run in runs)
    assert (first.error, second.error) == (None, None)
    assert first.frontier == second.frontier == "20260301100330000"
    assert (first.rows_read, second.rows_read, second.applied) == (3, 1, 1)
    assert lake.rows("named_ahead", "id, v") == [(1, "b"), (2, "a"), (3, "a")]
    (plan,) = preview(lake.spark, lake.config({"public.named_ahead": {}}))
    assert (plan.files, plan.error) == (0, None)
    for warnings in (first.warnings, second.warnings, plan.warnings):
        (warning,) = warnings
        assert "15 hours ahead" in warning
        assert all(f"public/named_ahead/{name}" in warning for name in NAMES)
