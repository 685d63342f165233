"""What maintenance reports: step by step, per table, for all tables. Plain data that turns into JSON."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

import attrs


class Outcome(StrEnum):
    """The outcome of a step.

    * ``done``: it is done.
    * ``gave_way``: skipped because of a concurrent commit, mostly of a batch. Nothing was changed, and a later run tries again.
    * ``no_time``: the budget was used up before the step began.
    """

    DONE = "done"
    GAVE_WAY = "gave_way"
    NO_TIME = "no_time"


@attrs.frozen(kw_only=True)
class StepReport:
    """A step that a table needed.

    Attributes:
        name: the table in the catalog: the target, its quarantine table or its table of replays.
        step: see `plan.Step`.
        counts: how many of what the step changed, by kind.
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
    """What was done for one table or model, and the error that stopped it."""

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
        """0, or 1 if one failed; a step that was skipped because of a concurrent commit is not a failure."""
        return 1 if any(one.error for one in self.all) else 0

    @property
    def all(self) -> list[MaintenanceReport]:
        """Tables, then models."""
        return [*self.tables.values(), *self.models.values()]

    def to_document(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""
        tables, models = ({name: one.to_document() for name, one in reports.items()} for reports in (self.tables, self.models))
        return {"seconds": round(self.seconds, 3), "tables": tables, "models": models}
