"""The job is killed with SIGKILL at every named point of a batch, and while files are being written; then it is started again.

One death finds many tables, each at a point of its own: see `dms_iceberg.failpoints`. All tables have the same files, so one expectation
holds for all: a late file, a schema change with a backfill, a key change, a deletion and rejected rows.
"""

import signal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from dms_iceberg import failpoints
from support.crash_books import check_books, snapshot_ids
from support.crash_process import JobProcess
from support.lake import Lake

ID_V = [("id", pa.int64()), ("v", pa.string()), ("amount", pa.int32())]
ID_V_W = [*ID_V, ("w", pa.int32())]
T2, T3, T4 = "20260301100200", "20260301100300", "20260301100400"
TABLE = {
    "rules": [{"name": "not_negative", "expr": "amount >= 0"}],
    "columns": [{"name": "w", "type": "int", "backfill": 7}],
}
LOADED = [(1, "a", 1, 7), (2, "b", 2, 7), (3, "c", 3, 7)]
"""Files from before the column was added stand for rows from before it: they get the backfill as well."""
BEFORE = [(1, "a", 1), (3, "new", 3), (5, "e", 5)]
AFTER = [(1, "A", 1, None), (3, "new", 3, 7), (6, "e", 5, 9)]
LATE = (8, "late", 8, 7)
NOT_OF_A_BATCH = ("before-switch", "after-switch", "after-truncate-recorded", "before-resolve", "after-resolve", "within-take-over")
NEW_POINTS = tuple(point for point in failpoints.POINTS if point not in ("after-create", *NOT_OF_A_BATCH))
FIRST_LOAD_POINTS = ("after-create", "before-publish", "after-commit")
LATE_POINTS = ("before-merge", "before-publish", "after-commit")
BY_TARGET = ("before-backfill", "after-backfill", "after-evolve")
COMMITTED = ("after-commit", "before-state")


def cdc(minute: int) -> str:
    return f"2026/03/01/10/20260301-10{minute:02d}30000.parquet"


def write_load(lake: Lake, table: str) -> None:
    lake.load(table, ID_V, [(1, "a", 1), (2, "b", 2), (3, "c", 3), (4, "bad", -1)])


def write_first_changes(lake: Lake, table: str) -> None:
    rows = [("D", T3, 200, 2, None, None), ("U", T3, 204, 3, "new", 3), ("I", T3, 208, 5, "e", 5)]
    lake.changes(table, cdc(3), ID_V, rows)


def write_late_changes(lake: Lake, table: str) -> None:
    """Behind the first changes: two are too late, one is not."""
    rows = [("U", T2, 100, 2, "late", 2), ("U", T2, 104, 3, "late", 3), ("I", T2, 108, 8, "late", 8)]
    lake.changes(table, cdc(2), ID_V, rows)


def write_new_changes(lake: Lake, table: str) -> None:
    """A file with a new column, a key change, a rejected row and a row that comes and goes."""
    rows = [
        ("U", T4, 212, 1, "A", 1, None, None),
        ("U", T4, 216, 6, "e", 5, 9, 5),
        ("I", T4, 220, 7, "bad", -7, 1, None),
        ("I", T4, 224, 9, "gone", 1, 1, None),
        ("D", T4, 228, 9, None, None, None, None),
    ]
    lake.changes(table, cdc(4), ID_V_W, rows)


def kill(lake: Lake, document: dict[str, Any], points: list[str]) -> None:
    with JobProcess(document, lake.folder, points) as job:
        assert job.wait() == -signal.SIGKILL, job.text()


def name_of(lake: Lake, table: str) -> str:
    return f"lake.{lake.namespace}.`{table}`"


def bad_ids(lake: Lake, table: str) -> list[tuple[Any, ...]]:
    rows = lake.quarantine(table, "id, key")
    assert len({row[0] for row in rows}) == len(rows)
    return sorted(row[1] for row in rows)


def after(point: str) -> list[tuple[Any, ...]]:
    return [*AFTER, LATE] if point in LATE_POINTS else AFTER


@pytest.mark.long
@pytest.mark.timeout(1200)
def test_killed_at_every_point(lake: Lake) -> None:
    tables = {point: f"p_{point.replace('-', '_')}" for point in NEW_POINTS}
    fresh = {point: f"l_{point.replace('-', '_')}" for point in FIRST_LOAD_POINTS}
    plain = {f"public.{table}": {"rules": TABLE["rules"]} for table in tables.values()}
    for source in plain:
        write_load(lake, source)
        write_first_changes(lake, source)
    again(lake, plain)
    for point, table in tables.items():
        write_new_changes(lake, f"public.{table}")
        if point in LATE_POINTS:
            write_late_changes(lake, f"public.{table}")
    for table in fresh.values():
        write_load(lake, f"public.{table}")
    sources = {f"public.{table}": TABLE for table in (*tables.values(), *fresh.values())}
    named = [f"{point}@public.{table}" for point, table in (*tables.items(), *fresh.items()) if point not in BY_TARGET]
    named += [f"{point}@{lake.namespace}.{tables[point]}" for point in BY_TARGET if point in tables]
    kill(lake, lake.document(sources, parallelism=len(sources)), named)
    for point, table in tables.items():
        assert lake.rows(table, "id, v, amount") == ([row[:3] for row in after(point)] if point in COMMITTED else BEFORE), point
    again(lake, sources)
    for point, table in tables.items():
        assert lake.rows(table, "id, v, amount, w") == after(point), point
        assert bad_ids(lake, table) == ['{"id":4}', '{"id":7}']
        check_books(lake.spark, name_of(lake, table), 4 + 3 + 5 + (3 if point in LATE_POINTS else 0))
    for table in fresh.values():
        assert lake.rows(table, "id, v, amount, w") == LOADED, table
        assert bad_ids(lake, table) == ['{"id":4}']
        check_books(lake.spark, name_of(lake, table), 4)
    nothing_left(lake, sources)


def again(lake: Lake, tables: dict[str, dict[str, Any]]) -> None:
    report = lake.run(lake.config(tables))
    assert [one.error for one in report.tables.values() if one.error] == []


def nothing_left(lake: Lake, tables: dict[str, dict[str, Any]]) -> None:
    names = [name_of(lake, source.split(".")[1]) for source in tables]
    before = [snapshot_ids(lake.spark, name) for name in names]
    again(lake, tables)
    assert [snapshot_ids(lake.spark, name) for name in names] == before


def _files(folder: Path, pattern: str) -> set[str]:
    return {path.name for path in folder.glob(pattern)}


def test_killed_while_files_are_written(lake: Lake) -> None:
    """Inside the JVM, where no hook reaches: at the first data file of an append, and between the data files of a MERGE and its commit."""
    sources = {"public.t": TABLE}
    write_load(lake, "public.t")
    table = lake.warehouse / lake.namespace / "t"
    with JobProcess(lake.document(sources), lake.folder) as job:
        job.freeze_when(lambda: _files(table / "data", "*.parquet"))
        assert len(_files(table / "metadata", "v*.metadata.json")) == 1
    again(lake, sources)
    assert lake.rows("t", "id, v, amount, w") == LOADED
    write_first_changes(lake, "public.t")
    versions, manifests = _files(table / "metadata", "v*.metadata.json"), _files(table / "metadata", "*.avro")
    with JobProcess(lake.document(sources), lake.folder) as job:
        job.freeze_when(lambda: _files(table / "metadata", "*.avro") - manifests)
        assert _files(table / "metadata", "v*.metadata.json") == versions
    again(lake, sources)
    assert lake.rows("t", "id, v, amount, w") == [(1, "a", 1, 7), (3, "new", 3, 7), (5, "e", 5, 7)]
    check_books(lake.spark, name_of(lake, "t"), 4 + 3)
    nothing_left(lake, sources)
