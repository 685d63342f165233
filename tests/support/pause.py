"""Doing something at the moment when a batch has come to a named point."""

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

Pause = Callable[[ModuleType, str, Callable[[], Any]], None]


def pausing(monkeypatch: pytest.MonkeyPatch) -> Pause:
    """Return `pause(module, point, action)`, which runs ``action`` the first time the job comes to ``point`` of ``module``."""

    def arm(module: ModuleType, point: str, action: Callable[[], Any]) -> None:
        waiting = [action]

        def reach(reached: str, table: str = "") -> None:
            if reached == point and waiting:
                waiting.pop()()

        monkeypatch.setattr(module, "failpoint", reach)

    return arm
