"""A watch maintains one table at a time, that which is due longest, and as long again none."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import pytest

from dms_iceberg.watch import run as watch_run
from dms_iceberg.watch.run import Watch

TOOK = 0.05


class Table:
    """Stands for a watched table: due since a moment, maintained once."""

    def __init__(self, name: str, due: float | None, spans: list[tuple[str, float, float]]) -> None:
        self.name, self.maintenance_due, self._spans = name, due, spans

    def maintain(self) -> None:
        began = time.monotonic()
        time.sleep(TOOK)
        self._spans.append((self.name, began, time.monotonic()))
        self.maintenance_due = None
        if self.name == "fails":
            raise OSError("gone")


def test_the_longest_due_is_next_and_none_follows_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch_run, "MAINTENANCE_SECONDS", 0.01)
    now, spans = time.monotonic(), list[tuple[str, float, float]]()
    dues = {"late": now - 1, "fails": now - 9, "idle": None, "soon": now + 3_600, "longest": now - 60}
    watch: Any = object.__new__(Watch)
    watch.tables = {name: Table(name, due, spans) for name, due in dues.items()}

    async def maintained() -> None:
        watch._stopping = asyncio.Event()
        locks = {name: asyncio.Lock() for name in dues}
        with ThreadPoolExecutor(4) as pool:
            task = asyncio.create_task(watch._maintain(locks, pool))
            async with locks["longest"]:
                await asyncio.sleep(2 * TOOK)
                assert spans == [], "its batch is under way"
            while len(spans) < 3:
                await asyncio.sleep(TOOK)
            watch._stopping.set()
            await task

    asyncio.run(asyncio.wait_for(maintained(), 30))
    assert [name for name, _, _ in spans] == ["longest", "fails", "late"]
    assert all(after - end >= TOOK for (_, _, end), (_, after, _) in pairwise(spans))
