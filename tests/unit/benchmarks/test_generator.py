"""The benchmark's generator: the source's state, the batches over it, and the files, without Spark."""

import csv
import json
from datetime import datetime
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from benchmarks.arrivals import Arrivals
from benchmarks.cases import CASES, Result
from benchmarks.changes import CHURN, DELETE, DELETE_HEAVY, EVERYDAY, INSERT, UPDATE, Changes, Mix, Pattern, Source
from benchmarks.dms_files import FILE_ROWS, write_batch, write_load
from benchmarks.shop import ABSENT, COLUMN_TYPES, LOADED, ROW_SCHEMA, rows
from dms_iceberg.bronze.keys import Kind, parse_key, table_prefix

PREFIX = table_prefix("shop", "orders")


def shares(changes: Changes) -> list[float]:
    return [float(np.mean(changes.ops == op)) for op in (INSERT, UPDATE, DELETE)]


def csv_text(value: object) -> str:
    return value.strftime("%Y-%m-%d %H:%M:%S.%f") if isinstance(value, datetime) else str(value)


@pytest.mark.parametrize(("mix", "expected"), [(EVERYDAY, [0.2, 0.6, 0.2]), (DELETE_HEAVY, [0.1, 0.2, 0.7])])
def test_batch_has_the_mix_and_size(mix: Mix, expected: list[float]) -> None:
    changes = Source(50_000).change(10_000, Pattern.SCATTERED, mix)
    assert len(changes) == 10_000
    assert shares(changes) == pytest.approx(expected)


@pytest.mark.parametrize("skewed", [False, True])
def test_replaying_batches_gives_the_source(skewed: bool) -> None:
    source = Source(5_000, seed=3)
    state = dict.fromkeys(range(5_000), LOADED)
    for _ in range(4):
        changes = source.change_skewed(4_000, CHURN) if skewed else source.change(1_000, Pattern.SCATTERED, EVERYDAY)
        assert [state.get(key, ABSENT) for key in changes.touched.tolist()] == changes.before.tolist()
        for op, key, version in zip(changes.ops.tolist(), changes.keys.tolist(), changes.versions.tolist(), strict=True):
            if op == DELETE:
                del state[key]
            else:
                assert (key in state) == (op == UPDATE)
                state[key] = version
        assert [state.get(key, ABSENT) for key in changes.touched.tolist()] == changes.after.tolist()
    assert source.keys().tolist() == sorted(state)
    assert source.versions(source.keys()).tolist() == [state[key] for key in sorted(state)]


def test_some_keys_change_twice() -> None:
    changes = Source(5_000).change(1_000, Pattern.SCATTERED, EVERYDAY)
    assert len(changes.touched) < len(changes)


def test_skewed_changes_mostly_hit_a_fifth_of_the_rows_again_and_again() -> None:
    changes = Source(50_000).change_skewed(50_000, CHURN)
    old = changes.keys[changes.keys < 50_000]
    assert float(np.mean(old % 5 == 0)) == pytest.approx(0.8, abs=0.01)
    assert len(np.unique(old[old % 5 == 0])) < 10_001
    # As many changes as rows: every other delete is followed by an insert.
    assert shares(changes) == pytest.approx([0.25, 0.5, 0.25], abs=0.01)


def test_files_that_are_kept_back_come_with_the_next_batch(tmp_path: Path) -> None:
    source, arrivals = Source(60_000), Arrivals(tmp_path / "written", tmp_path / "bronze", late=0.5)
    first = write_batch(source.change(50_000, Pattern.SCATTERED, EVERYDAY), 0, tmp_path / "written").parquet
    second = write_batch(source.change(50_000, Pattern.SCATTERED, EVERYDAY), 1, tmp_path / "written").parquet
    come = arrivals.deliver(first)
    assert len(come) == 1
    rest = arrivals.deliver(second, last=True)
    assert {path.name for path in (*come, *rest)} == {path.name for path in (*first, *second)}
    assert min(path.name for path in rest) in {path.name for path in first}
    assert all(path.is_file() and path.is_relative_to(tmp_path / "bronze") for path in (*come, *rest))


def test_recent_keys_are_the_last_twentieth() -> None:
    changes = Source(100_000).change(1_000, Pattern.RECENT, EVERYDAY)
    assert changes.touched.min() >= 95_000


def test_a_batch_larger_than_its_pattern_is_refused() -> None:
    with pytest.raises(ValueError, match="recent has 500 rows"):
        Source(10_000).change(1_000, Pattern.RECENT, EVERYDAY)


def test_rows_depend_on_key_and_version_alone() -> None:
    keys = np.arange(2_000)
    whole = rows(keys, np.full(2_000, 7))
    assert whole.schema == ROW_SCHEMA
    assert whole.column_names == list(COLUMN_TYPES)
    assert whole.slice(500, 10) == rows(keys[500:510], np.full(10, 7))
    assert whole["note"].null_count == pytest.approx(200, abs=60)
    assert Decimal(0) <= min(whole["amount"].to_pylist()) <= max(whole["amount"].to_pylist()) < Decimal(100_000)
    assert rows(keys, np.full(2_000, 8))["note"] != whole["note"]


def test_load_files_hold_every_key_once(tmp_path: Path) -> None:
    paths = write_load(tmp_path, 1_000)
    assert [path.name for path in paths] == ["LOAD00000001.parquet"]
    table = pq.read_table(paths[0])
    assert table["order_id"].to_pylist() == list(range(1_000))
    assert set(table["Op"].to_pylist()) == {"I"}
    assert set(table["dms_change_seq"].to_pylist()) == {""}


def test_csv_and_parquet_hold_the_same_changes(tmp_path: Path) -> None:
    changes = Source(80_000).change(30_000, Pattern.SCATTERED, EVERYDAY)
    batch = write_batch(changes, 0, tmp_path / "parquet", tmp_path / "csv")
    assert len(batch.parquet) == len(batch.csv) == -(-30_000 // FILE_ROWS)
    previous = ""
    for parquet, text in zip(batch.parquet, batch.csv, strict=True):
        table = pq.read_table(parquet)
        with text.open(newline="") as file:
            header, *lines = csv.reader(file)
        assert header == table.column_names
        for name, cells in zip(header, zip(*lines, strict=True), strict=True):
            shown = ["" if value is None else csv_text(value) for value in table[name].to_pylist()]
            assert [cell.lower() for cell in cells] == [value.lower() for value in shown], name
        sequences = table["dms_change_seq"].to_pylist()
        assert all(len(sequence) == 35 for sequence in sequences)
        assert [previous, *sequences] == sorted([previous, *sequences])
        previous = sequences[-1]


def test_deletes_hold_their_key_alone(tmp_path: Path) -> None:
    batch = write_batch(Source(5_000).change(1_000, Pattern.SCATTERED, DELETE_HEAVY), 0, tmp_path / "p", tmp_path / "c")
    deleted = [row for row in pq.read_table(batch.parquet[0]).to_pylist() if row["Op"] == "D"]
    assert len(deleted) == 700
    for row in deleted:
        assert all(row[name] is None for name in COLUMN_TYPES if name != "order_id")
        assert row["order_id"] is not None


def test_files_of_later_batches_sort_later(tmp_path: Path) -> None:
    source = Source(60_000)
    orders = []
    for number in range(3):
        batch = write_batch(source.change(30_000, Pattern.SCATTERED, EVERYDAY), number, tmp_path / "p", tmp_path / "c")
        for path in batch.parquet:
            file = parse_key(PREFIX, path.relative_to(tmp_path / "p").as_posix(), path.stat().st_size, "etag")
            assert file is not None
            assert file.kind is Kind.CDC
            orders.append(file.order)
    assert orders == sorted(set(orders))


def test_cases_have_unique_names_with_format_pattern_and_size() -> None:
    names = [case.name for case in CASES]
    assert names[0] == "parquet-scattered-100k"
    assert len(set(names)) == len(names)


def test_result_document_is_what_bench_json_promises() -> None:
    result = Result("parquet-scattered-100k", ours_s=2.0, handwritten_s=20.0, floor_s=1.0)
    assert json.loads(json.dumps(result.to_document())) == {
        "name": "parquet-scattered-100k",
        "ours_s": 2.0,
        "handwritten_s": 20.0,
        "floor_s": 1.0,
        "ratio_handwritten": 10.0,
        "ratio_floor": 2.0,
    }
