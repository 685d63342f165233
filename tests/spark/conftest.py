"""Fixtures of several files of this folder."""

import datetime as dt

import pytest
from pyspark.sql import SparkSession

from dms_iceberg.maintenance import steps
from support.pause import Pause, pausing


@pytest.fixture
def hours_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was just done was done three hours ago."""
    monkeypatch.setattr(steps, "now_ms", lambda: int((dt.datetime.now(dt.UTC) + dt.timedelta(hours=3)).timestamp() * 1000))


@pytest.fixture
def other(spark: SparkSession) -> SparkSession:
    """A second session: its catalog has its own table instances, as in another process."""
    return spark.newSession()


@pytest.fixture
def pause(monkeypatch: pytest.MonkeyPatch) -> Pause:
    """`pause(module, point, action)` runs ``action`` the first time the job comes to ``point`` of ``module``."""
    return pausing(monkeypatch)
