"""What maintenance tells its caller: step by step, per table, for all tables. Plain data that turns into JSON."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import attrs


class Outcome(StrEnum):
    """What became of a step.

    * ``done``: it is done.
    * ``gave_way``: somebody else, mostly a batch, committed first. Nothing was changed, and a later run tries again.
    * ``no_time``: the budget was used up before it began.
    """

    DONE = "done"
    GAVE_WAY = "gave_way"
    NO_TIME = "no_time"


@attrs.frozen(kw_only=True)
class StepReport:
    """A step that a table needed.

    Attributes:
        name: of the table it was for in the catalog: the target, its quarantine table or that one's replays.
        step: see `need.Step`.
        counts: what was done, by what it is done to.
    """

    name: str
    step: str
    reason: str
    outcome: Outcome
    counts: Mapping[str, int] = attrs.field(factory=dict)
    seconds: float = 0.0

    def to_document(self) -> dict[str, Any]:
        """Return the step's part of ``--json``."""
        return {**attrs.asdict(self), "counts": dict(self.counts)}


@attrs.define(kw_only=True)
class MaintenanceReport:
    """What was done for one table or model, and the error that ended it."""

    table: str
    target: str
    steps: list[StepReport] = attrs.field(factory=list)
    error: str | None = None
    seconds: float = 0.0

    def to_document(self) -> dict[str, Any]:
        """Return the table's part of ``--json``."""
        steps = [step.to_document() for step in self.steps]
        return {"target": self.target, "steps": steps, "seconds": round(self.seconds, 3), "error": self.error}


@attrs.frozen
class MaintenanceRun:
    """The maintenance of all (chosen) tables and models."""

    tables: dict[str, MaintenanceReport]
    models: dict[str, MaintenanceReport]
    seconds: float

    @property
    def exit_code(self) -> int:
        """0, or 1 when one failed; to have given way is no failure."""
        return 1 if any(one.error for one in self.all) else 0

    @property
    def all(self) -> list[MaintenanceReport]:
        """Tables, then models."""
        return [*self.tables.values(), *self.models.values()]

    def to_document(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        tables, models = ({name: one.to_document() for name, one in reports.items()} for reports in (self.tables, self.models))
        return {"seconds": round(self.seconds, 3), "tables": tables, "models": models}
