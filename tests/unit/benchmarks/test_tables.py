"""What is pure in the benchmarks of throughput and of many tables."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from benchmarks.many_tables import checked
from benchmarks.old_bronze import LAYOUTS, local_seconds, old_times, requests_of_s3
from benchmarks.small_tables import document, file_name, write_load, write_updates
from benchmarks.throughput import Figure
from dms_iceberg.bronze.keys import Kind, digits_of, parse_key
from dms_iceberg.config.parse import parse_config
from dms_iceberg.runs.report import RunReport, TableReport

CLOSED = datetime(2026, 3, 1, 10, 1, 2, 345_678, UTC)


def test_files_are_named_after_the_time_of_their_close() -> None:
    file = parse_key("shop/t0/", f"shop/t0/{file_name(CLOSED)}", 1, "e")
    assert file is not None
    assert (file.kind, file.order) == (Kind.CDC, digits_of(CLOSED))


def test_updates_change_what_the_load_wrote(tmp_path: Path) -> None:
    write_load(tmp_path, 10)
    write_updates(tmp_path, CLOSED, np.arange(3), 7)
    loaded = pq.read_table(tmp_path / "LOAD00000001.parquet").to_pylist()
    changed = pq.read_table(tmp_path / file_name(CLOSED)).to_pylist()
    assert [row["id"] for row in loaded] == list(range(10))
    assert [(row["Op"], row["id"], row["n"]) for row in changed] == [("U", 0, 7), ("U", 1, 7), ("U", 2, 7)]
    assert [row["dms_change_seq"] for row in changed] == sorted({row["dms_change_seq"] for row in changed})
    assert {row["dms_change_seq"][:16] for row in changed} == {digits_of(CLOSED)[:16]}


def test_configuration_has_every_table(tmp_path: Path) -> None:
    config = parse_config(document(tmp_path, ["a", "b"], 3), base=str(tmp_path))
    assert {name: table.target for name, table in config.tables.items()} == {"shop.a": "silver.a", "shop.b": "silver.b"}
    assert config.parallelism == 3


def test_a_table_that_read_nothing_ends_the_benchmark() -> None:
    report = RunReport("run", {"shop.a": TableReport(table="shop.a", target="silver.a")}, 1.0)
    assert checked(report, ["a"], 0) is report
    with pytest.raises(RuntimeError, match="a: 0 rows read"):
        checked(report, ["a"], 5)


def test_old_files_lie_before_the_look_back() -> None:
    times = old_times(1_000, CLOSED)
    assert len({file_name(one) for one in times}) == 1_000
    assert max(times) == CLOSED - timedelta(days=2)


@pytest.mark.long
@pytest.mark.parametrize("layout", LAYOUTS)
def test_listing_behind_old_files_finds_the_new_ones(layout: str, tmp_path: Path) -> None:
    assert all(taken > 0 for taken in local_seconds(tmp_path, 100, layout))
    empty, old = requests_of_s3(3_000, layout)
    assert empty == 1
    assert old < 6


@pytest.mark.parametrize(("is_limit", "value", "met"), [(False, 0.8, True), (False, 0.79, False), (True, 1.3, True), (True, 1.31, False)])
def test_figure_says_whether_its_goal_is_met(is_limit: bool, value: float, met: bool) -> None:
    figure = Figure("load", (1.0, 2.0), value, 1.3 if is_limit else 0.8, "times", is_limit=is_limit)
    assert figure.is_met is met
    assert figure.to_document()["goal"] == ("at most 1.3" if is_limit else "at least 0.8")
