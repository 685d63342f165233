"""Fixtures of several files of this folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from support.commands import Command
from support.documents import Documents
from support.lake import Lake


@pytest.fixture(autouse=True)
def _logs_as_before() -> Iterator[None]:
    yield
    structlog.reset_defaults()


@pytest.fixture
def documents(lake: Lake, command: Command, tmp_path: Path) -> Documents:
    """The documents of several pipelines over one catalog."""
    return Documents(lake, command, tmp_path)
