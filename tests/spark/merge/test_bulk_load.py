"""Large loads: written as they are read where every key comes once, and the usual way where one does not. The result is the same."""

import json
import secrets
import signal
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from dms_iceberg.iceberg.transaction import Transaction
from dms_iceberg.merge import bulk_load
from dms_iceberg.merge import rising_keys as rising_keys_module
from dms_iceberg.merge.batch_context import BatchContext
from dms_iceberg.merge.rising_keys import RisingKeys, rising_keys
from dms_iceberg.progress.progress import ACCOUNTING_KEY
from support.crash_process import JobProcess
from support.lake import Lake

ID_V = [("id", pa.int64()), ("v", pa.string())]
T1, T2 = "20260301100100", "20260301100200"


@pytest.fixture
def staged(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Every load counts as large; yields how many rows each of them staged."""
    found: list[int] = []
    stage = Transaction.stage

    def counting(draft: Transaction, frame: Any) -> Any:
        made = stage(draft, frame)
        found.append(made.rows)
        return made

    monkeypatch.setattr(bulk_load, "BULK_BYTES", 0)
    monkeypatch.setattr(Transaction, "stage", counting)
    yield found


def data_files(lake: Lake, table: str) -> tuple[int, int]:
    """How many data files the table names, and how many there are."""
    named = lake.spark.sql(f"SELECT 1 FROM lake.{lake.namespace}.{table}.all_data_files").count()
    return named, len(list((lake.warehouse / lake.namespace / table / "data").rglob("*.parquet")))


def test_load_in_several_batches_then_changes(lake: Lake, staged: list[int]) -> None:
    config = lake.config({"public.t": {}}, batch={"max_files": 1})
    lake.load("public.t", ID_V, [(1, "a"), (2, "b")])
    lake.load("public.t", ID_V, [(3, "c"), (4, "d"), (5, None)], number=2)
    report = lake.run_one(config)
    assert staged == [2, 3]
    assert (report.rows_read, report.applied, len(report.batches)) == (5, 5, 2)
    lake.changes("public.t", "2026/03/01/10/20260301-100130000.parquet", ID_V, [("D", T1, 61, 1, None), ("U", T1, 65, 4, "D", 4)])
    lake.run_one(config)
    assert lake.rows("t", "id, v, _cdc_op") == [(2, "b", "I"), (3, "c", "I"), (4, "D", "U"), (5, None, "I")]
    assert len(staged) == 2


def test_snapshot_carries_progress_and_books(lake: Lake, staged: list[int]) -> None:
    config = lake.config({"public.t": {}})
    lake.load("public.t", ID_V, [(1, "a"), (2, "b")])
    lake.run_one(config)
    head = lake.target("t").head()
    assert head is not None
    assert json.loads(head.summary[ACCOUNTING_KEY])["applied"] == 2
    assert lake.run_one(config).batches == []
    assert data_files(lake, "t") == (1, 1)


def test_key_that_comes_twice_is_merged_the_usual_way(lake: Lake, staged: list[int]) -> None:
    lake.load("public.t", ID_V, [(1, "a"), (2, "b")])
    lake.load("public.t", ID_V, [(2, "again"), (3, "c")], number=2)
    report = lake.run_one(lake.config({"public.t": {}}))
    assert staged == []
    assert (report.rows_read, report.applied, report.superseded) == (4, 3, 1)
    assert ["more than once, 1 times" in text for text in report.warnings] == [True]
    assert lake.rows("t", "id, v") == [(1, "a"), (2, "again"), (3, "c")]


def test_key_that_the_table_has_is_merged_the_usual_way(lake: Lake, staged: list[int]) -> None:
    lake.load("public.t", ID_V, [(1, "a"), (2, "b")])
    lake.load("public.t", ID_V, [(2, "again"), (3, "c")], number=2)
    report = lake.run_one(lake.config({"public.t": {}}, batch={"max_files": 1}))
    assert staged == [2]
    assert (report.rows_read, report.applied) == (4, 4)
    assert ["more than once, 1 times" in text for text in report.warnings] == [True]
    assert lake.rows("t", "id, v") == [(1, "a"), (2, "again"), (3, "c")]


def test_rows_that_are_not_written_are_in_the_books(lake: Lake, staged: list[int]) -> None:
    table = {
        "columns": [{"name": "id", "type": "int"}],
        "filter": "v <> 'out'",
        "rules": [{"name": "no_dots", "expr": "v NOT LIKE '%.%'"}, {"name": "short", "expr": "length(v) < 5", "on_fail": "drop"}],
    }
    rows = [(1, "a"), (2, "out"), (3, "d.t"), (4, "too long"), (2**40, "e")]
    lake.load("public.t", ID_V, rows)
    report = lake.run_one(lake.config({"public.t": table}))
    assert staged == [1]
    assert (report.rows_read, report.applied, report.filtered, report.quarantined) == (5, 1, 2, 2)
    assert lake.rows("t", "id, v") == [(1, "a")]
    assert len(lake.quarantine("t")) == 2


def test_rule_that_stops_the_batch_leaves_no_file(lake: Lake, staged: list[int]) -> None:
    table = {"rules": [{"name": "no_dots", "expr": "v NOT LIKE '%.%'", "on_fail": "fail"}]}
    lake.load("public.t", ID_V, [(1, "a"), (2, "d.t")])
    report = lake.run_one(lake.config({"public.t": table}), fails=True)
    assert "no_dots" in str(report.error)
    assert staged == [1]
    assert data_files(lake, "t") == (0, 0)


def test_composite_key_and_files_without_a_row(lake: Lake, staged: list[int]) -> None:
    columns = [("a", pa.string()), ("b", pa.int32()), ("v", pa.string())]
    lake.load("public.t", columns, [("x", 1, "one"), ("x", 2, "two"), ("y", 1, "three")])
    lake.load("public.t", columns, [], number=2)
    report = lake.run_one(lake.config({"public.t": {"key": ["a", "b"]}}))
    assert staged == [3]
    assert report.applied == 3


@pytest.fixture
def shuffled(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """For each load, whether its keys had to be shuffled."""
    found: list[bool] = []

    def noted(batch: BatchContext) -> RisingKeys | None:
        keys = rising_keys(batch)
        found.append(keys is None)
        return keys

    monkeypatch.setattr(bulk_load, "rising_keys", noted)
    return found


BIGGEST = 2**63 - 1


@pytest.mark.parametrize(
    ("files", "entry", "is_shuffled"),
    [
        pytest.param([[3, 4, 9], [-5, 0]], {}, False, id="files_in_any_order"),
        pytest.param([[1, 2], [], [3]], {}, False, id="empty_file"),
        pytest.param([[-BIGGEST - 1, BIGGEST]], {}, False, id="ends"),
        pytest.param([[1, 3], [2]], {}, True, id="ranges_overlap"),
        pytest.param([[2, 1]], {}, True, id="falling"),
        pytest.param([[1, 2]], {"columns": [{"name": "id", "type": "string"}]}, True, id="other_type"),
        pytest.param([[1, 2]], {"columns": [{"name": "id", "mask": "sha256"}]}, True, id="masked"),
        pytest.param([[1, 2]], {"columns": [{"name": "id", "expr": "id * 2"}]}, True, id="expression"),
    ],
)
def test_rising_keys_are_not_shuffled(
    lake: Lake,
    staged: list[int],
    shuffled: list[bool],
    monkeypatch: pytest.MonkeyPatch,
    files: list[list[int]],
    entry: dict[str, Any],
    is_shuffled: bool,
) -> None:
    monkeypatch.setenv("DMS_ICEBERG_MASK_SALT", "pepper")
    for number, keys in enumerate(files, 1):
        lake.load("public.t", ID_V, [(key, f"v{key}") for key in keys], number=number)
    report = lake.run_one(lake.config({"public.t": entry}))
    expected = sorted(f"v{key}" for keys in files for key in keys)
    assert shuffled == [is_shuffled]
    assert (staged, report.applied) == ([len(expected)], len(expected))
    assert sorted(value for (value,) in lake.rows("t", "v")) == expected


@pytest.mark.parametrize("files", [[[1, 1]], [[1, 2], [2, 3]], [[1, 5], [3, 3, 4]], [[None, 1]], [[1], [1]]])
def test_keys_that_come_twice_or_are_missing_do_not_pass_for_rising(
    lake: Lake, staged: list[int], shuffled: list[bool], files: Any
) -> None:
    for number, keys in enumerate(files, 1):
        lake.load("public.t", ID_V, [(key, "v") for key in keys], number=number)
    report = lake.run_one(lake.config({"public.t": {}}))
    every = [key for keys in files for key in keys]
    assert shuffled == [True]
    assert report.rows_read == len(every)
    assert [key for (key,) in lake.rows("t", "id")] == sorted({key for key in every if key is not None})


def test_pieces_of_a_file_are_compared_with_each_other(
    lake: Lake, staged: list[int], shuffled: list[bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rising_keys_module, "_PIECE", 3)
    lake.load("public.t", ID_V, [(key, "v") for key in range(10)])
    lake.run_one(lake.config({"public.t": {}}))
    assert shuffled == [False]
    lake.load("public.u", ID_V, [(key, "v") for key in (0, 1, 2, 2, 3)])
    report = lake.run_one(lake.config({"public.u": {}}))
    assert (shuffled, report.applied, report.superseded) == ([False, True], 4, 1)


def test_load_behind_changes_is_merged_the_usual_way(lake: Lake, staged: list[int]) -> None:
    config = lake.config({"public.t": {}})
    lake.load("public.t", ID_V, [(1, "a")])
    lake.changes("public.t", "2026/03/01/10/20260301-100130000.parquet", ID_V, [("D", T1, 61, 2, None)])
    lake.run_one(config)
    lake.load("public.t", ID_V, [(2, "deleted since"), (3, "c")], number=2)
    lake.run_one(config)
    assert staged == [1]
    assert lake.rows("t", "id, v") == [(1, "a"), (3, "c")]


def test_rows_that_all_lack_their_key_are_gathered_the_usual_way(lake: Lake, staged: list[int]) -> None:
    lake.load("public.t", ID_V, [(1, "a"), (None, "b"), (None, "c")])
    report = lake.run_one(lake.config({"public.t": {}}))
    assert staged == []
    assert (report.applied, report.quarantined) == (1, 2)


def test_partitions_get_their_rows(lake: Lake, staged: list[int]) -> None:
    config = lake.config({"public.t": {"partition_by": ["bucket(4, id)"]}})
    lake.load("public.t", ID_V, [(number, f"v{number}") for number in range(50)])
    lake.run_one(config)
    assert staged == [50]
    assert lake.rows("t", "id, v") == [(number, f"v{number}") for number in range(50)]
    partitions = lake.spark.sql(f"SELECT DISTINCT partition FROM lake.{lake.namespace}.t.files").count()
    assert partitions == data_files(lake, "t")[0] == 4


def test_partitioned_table(lake: Lake, staged: list[int]) -> None:
    table = {"partition_by": ["bucket(3, id)", "v"]}
    rows = [(number, "abc"[number % 3]) for number in range(200)]
    lake.load("public.t", ID_V, rows)
    report = lake.run_one(lake.config({"public.t": table}))
    assert staged == [200]
    assert report.applied == 200
    assert lake.rows("t", "id, v") == rows
    assert lake.spark.sql(f"SELECT 1 FROM lake.{lake.namespace}.t.partitions").count() == 9
    assert data_files(lake, "t") == (9, 9)


@pytest.mark.release
def test_killed_with_files_written_and_no_snapshot(lake: Lake) -> None:
    """Before the snapshot and after it; both tables are loaded in bulk, by their size."""
    rows = [(number, secrets.token_hex(512)) for number in range(bulk_load.BULK_BYTES // 500)]
    points = {"before-merge": "public.a", "after-commit": "public.b"}
    for table in points.values():
        assert lake.load(table, ID_V, rows).stat().st_size >= bulk_load.BULK_BYTES
    tables: dict[str, Any] = {table: {} for table in points.values()}
    with JobProcess(lake.document(tables), lake.folder, [f"{point}@{table}" for point, table in points.items()]) as job:
        assert job.wait() == -signal.SIGKILL, job.text()
    assert (lake.snapshots("a"), lake.snapshots("b")) == (0, 1)
    lake.run(lake.config(tables))
    for table in "ab":
        assert lake.rows(table, "id, v") == rows
        assert lake.snapshots(table) == 1
    assert lake.run(lake.config(tables)).tables["public.a"].batches == []
