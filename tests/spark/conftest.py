"""Fixtures of several files of this folder."""

from collections.abc import Iterator

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
def pause() -> Iterator[Pause]:
    """`pause(point, action)` runs ``action`` the first time the job comes to ``point``."""
    with pausing() as arm:
        yield arm


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    """`command(name, document, *options)` runs a command in this process."""
    return commanding(capsys)
