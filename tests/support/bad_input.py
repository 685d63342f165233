"""Tables whose files are damaged or impossible: one run holds a table for every case, and the cases are judged one by one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from dms_iceberg.runs.report import TableReport
from dms_iceberg.storage.store import LocalStore
from support.lake import Lake

ID_V = [("id", pa.int64()), ("v", pa.string())]
Writer = Callable[[Lake, str], object]


@attrs.frozen
class Case:
    """A table whose files are wrong in one way.

    Attributes:
        error: what the table's error must say; empty when the run must succeed.
        rows: values of ``columns`` afterwards, None when there must be no table.
        rejected: (reason, part of the detail) in quarantine.
    """

    name: str
    write: Writer
    error: tuple[str, ...] = ()
    rows: list[tuple[Any, ...]] | None = None
    rejected: list[tuple[str, str]] = attrs.field(factory=list)
    table: dict[str, Any] = attrs.field(factory=dict)
    columns: str = "id, v"

    @property
    def source(self) -> str:
        return f"public.{self.name}"


@attrs.frozen
class Outcome:
    lake: Lake
    tables: dict[str, TableReport]


def run_cases(spark: SparkSession, warehouse: Path, folder: Path, cases: list[Case], bronze: dict[str, Any]) -> Outcome:
    lake = Lake(spark, warehouse, folder)
    for case in cases:
        case.write(lake, case.source)
    config = lake.config({case.source: case.table for case in cases}, bronze=bronze)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LocalStore, "read", vanishing_read)
        return Outcome(lake, lake.run(config).tables)


_read = LocalStore.read


def vanishing_read(store: LocalStore, key: str, start: int = 0, length: int | None = None) -> bytes:
    """Let files vanish between listing and inspection, or between inspection and reading."""
    if "gone_before_inspection" in key:
        store.delete(key)
    data = _read(store, key, start, length)
    if "gone_before_reading" in key:
        store.delete(key)
    return data


def judge(case: Case, outcome: Outcome) -> None:
    lake, report = outcome.lake, outcome.tables[case.source]
    for batch in report.batches:
        assert batch.rows_read == batch.applied + batch.superseded + batch.stale + batch.filtered + batch.quarantined
    if case.error:
        assert report.error is not None, "no error"
        missing = [part for part in case.error if part not in report.error]
        assert not missing, f"{missing} not in: {report.error}"
        assert len(report.error) < 1500, "a page of stack trace is no explanation"
    else:
        assert report.error is None, report.error
    exists = lake.spark.catalog.tableExists(f"lake.{lake.namespace}.{case.name}")
    assert exists == (case.rows is not None)
    if case.rows is not None:
        assert lake.rows(case.name, case.columns) == case.rows
    found = lake.quarantine(case.name) if report.quarantined else []
    assert [reason for reason, _ in found] == [reason for reason, _ in case.rejected]
    for (_, detail), (_, part) in zip(found, case.rejected, strict=True):
        assert part in detail
    assert report.quarantined == len(case.rejected)


def load(lake: Lake, table: str, rows: list[tuple[Any, ...]] | None = None) -> Path:
    """Two good rows, or others."""
    return lake.load(table, ID_V, [(1, "a"), (2, "b")] if rows is None else rows)
