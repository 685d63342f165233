"""Fixtures of several files of this folder."""

import datetime as dt

import pytest

from dms_iceberg.maintenance import steps


@pytest.fixture
def hours_later(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was just done was done three hours ago."""
    monkeypatch.setattr(steps, "now_ms", lambda: int((dt.datetime.now(dt.UTC) + dt.timedelta(hours=3)).timestamp() * 1000))
