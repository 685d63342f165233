"""What a refresh reports."""

from typing import Any

import attrs


@attrs.define(kw_only=True)
class ModelReport:
    """What happened to one model.

    Attributes:
        table: the model's name; ``target`` is the same.
        refresh: ``full`` or ``incremental``, None if its tables have not changed.
        reason: why it was refreshed this way.
        groups: how many groups an incremental refresh recomputed.
        rows: rows of the model.
        waits_for: tables that it reads and that do not exist yet.
    """

    table: str
    refresh: str | None = None
    reason: str | None = None
    groups: int | None = None
    rows: int | None = None
    snapshot_id: int | None = None
    waits_for: list[str] = attrs.field(factory=list)
    error: str | None = None
    seconds: float = 0.0

    @property
    def target(self) -> str:
        """The model's table."""
        return self.table

    def to_document(self) -> dict[str, Any]:
        """Return the model's part of ``--json``."""
        names = ("refresh", "reason", "groups", "rows", "snapshot_id", "waits_for", "error")
        return {**{name: getattr(self, name) for name in names}, "seconds": round(self.seconds, 3)}
