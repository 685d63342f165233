"""Doing something at the moment when the job has come to a named point, wherever that point stands."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from dms_iceberg import failpoints

Pause = Callable[[str, Callable[[], Any]], None]


@contextmanager
def pausing() -> Iterator[Pause]:
    """Yield `pause(point, action)`: it runs ``action`` the first time the job comes to ``point``.

    A point that the job never came to fails the test: it would have shown nothing.
    """
    waiting: dict[str, Callable[[], Any]] = {}

    def reach(point: str, table: str = "") -> None:
        action = waiting.pop(point, None)
        if action is not None:
            action()

    def arm(point: str, action: Callable[[], Any]) -> None:
        assert point in failpoints.POINTS
        waiting[point] = action

    original = failpoints.failpoint
    with pytest.MonkeyPatch.context() as patch:
        for module in [one for name, one in sys.modules.items() if name.startswith("dms_iceberg.")]:
            if getattr(module, "failpoint", None) is original:
                patch.setattr(module, "failpoint", reach)
        yield arm
    assert not waiting, f"the job never came to {', '.join(waiting)}"
