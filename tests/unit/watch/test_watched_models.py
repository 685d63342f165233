"""Whose turn it is among the gold models under watch."""

from collections import Counter
from typing import Any

import pytest

from dms_iceberg.config.parse import parse_config
from dms_iceberg.context import RunContext
from dms_iceberg.gold.report import ModelReport
from dms_iceberg.watch import models
from dms_iceberg.watch.models import WatchedModels

MODELS = {f"gold.{name}": {"sql": "SELECT id FROM silver.t", "refresh_seconds": 5} for name in "abc"}
CONFIG = parse_config(
    {
        "version": 1,
        "pipeline": "shop",
        "bronze": {"uri": "bronze"},
        "catalog": {"name": "lake", "type": "hadoop", "warehouse": "silver"},
        "tables": {"public.t": {"target": "silver.t", "key": ["id"]}},
        "gold": MODELS,
    }
)


class Clock:
    """Time passes where somebody refreshes, and nowhere else."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


def test_no_model_starves_beside_slow_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, done = Clock(), Counter[str]()

    def refresh(_job: Any, only: list[str]) -> dict[str, ModelReport]:
        clock.now += 6
        done.update(only)
        return {name: ModelReport(table=name) for name in only}

    monkeypatch.setattr(models, "time", clock)
    monkeypatch.setattr(models, "refresh_models", refresh)
    turns = WatchedModels(RunContext(None, CONFIG, None, "run"))  # type: ignore[arg-type]
    for _ in range(30):
        clock.now += turns.turn()
    assert len(done) == len(MODELS)
    assert max(done.values()) - min(done.values()) <= 1
