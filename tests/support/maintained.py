"""Keeping the tables of a lake in order in tests, with the clock of files turned back."""

import datetime as dt
import os
import time
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from dms_iceberg.config.model import Config
from dms_iceberg.maintenance import execute
from dms_iceberg.maintenance.report import MaintenanceReport
from dms_iceberg.maintenance.run import maintain

EAGER: dict[str, Any] = {
    "after_run": "nothing",
    "snapshots_kept": 2,
    "snapshots_max_age_hours": 0.000001,
    "small_files": 2,
    "delete_files_per_data_file": 1,
    "deleted_rows_percent": 1,
    "manifests": 2,
    "orphan_files_older_than_hours": 24,
}
"""Thresholds at which almost everything is done. Snapshots of the last hour stay all the same: see `hours_later`."""


def let_hours_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let what was just done have been done three hours ago, as far as snapshots expire by age."""
    monkeypatch.setattr(execute, "now_ms", lambda: int((dt.datetime.now(dt.UTC) + dt.timedelta(hours=3)).timestamp() * 1000))


def kept_in_order(spark: SparkSession, config: Config, budget: float | None = None, *, fails: bool = False) -> list[MaintenanceReport]:
    """Maintain all tables and models of a configuration."""
    reports = maintain(spark, config, config.tables.values(), config.gold, budget).all
    assert any(one.error for one in reports) == fails, [one.error for one in reports]
    return reports


def taken(reports: list[MaintenanceReport]) -> dict[tuple[str, str], str]:
    """The outcome of each step by the table's short name and the step, orphan files left out: they are always looked for."""
    steps = [step for report in reports for step in report.steps if step.step != "orphan_files"]
    return {(step.name.split(".")[-1], step.step): step.outcome.value for step in steps}


def days_ago(days: float, *paths: Path) -> None:
    """Let files be that old."""
    at = time.time() - days * 86_400
    for path in paths:
        os.utime(path, (at, at))


def files_below(folder: Path) -> set[Path]:
    """All files below a folder, without Hadoop's checksums."""
    return {path for path in folder.rglob("*") if path.is_file() and path.suffix != ".crc"}
