"""Fixtures of several files of this folder."""

import pytest
from pyspark.sql import SparkSession

from support.commands import Command, commanding
from support.maintained import let_hours_pass
from support.pause import Pause, pausing


@pytest.fixture
def hours_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was just done was done three hours ago."""
    let_hours_pass(monkeypatch)


@pytest.fixture
def other(spark: SparkSession) -> SparkSession:
    """A second session: its catalog has its own table instances, as in another process."""
    return spark.newSession()


@pytest.fixture
def pause(monkeypatch: pytest.MonkeyPatch) -> Pause:
    """`pause(module, point, action)` runs ``action`` the first time the job comes to ``point`` of ``module``."""
    return pausing(monkeypatch)


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """`command(name, document, *options)` runs a command in this process."""
    return commanding(capsys)
