"""What the tests of the trigger share."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from events import Bronze
from settings import Settings
from support.notifications import CONFIG_URI


@pytest.fixture
def settings() -> Settings:
    return Settings("shop-merge", CONFIG_URI, Bronze("bronze", "dms/shop/"), "https://queue", "https://dead")


LogLines = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def log_lines(capsys: pytest.CaptureFixture[str]) -> LogLines:
    """Return a function that gives the log lines written since it was last called."""
    return lambda: [json.loads(line) for line in capsys.readouterr().out.splitlines()]
