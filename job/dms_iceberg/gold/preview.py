"""Which gold models a run would refresh: derived from their status and from what the run would merge."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

import attrs

from dms_iceberg.config.gold_checks import model_order
from dms_iceberg.config.incremental import incremental_problems
from dms_iceberg.config.model import Config, Refresh
from dms_iceberg.config.model_meaning import names_in
from dms_iceberg.config.model_sql import references
from dms_iceberg.gold.status import ModelStatus


@attrs.frozen(kw_only=True)
class ModelPreview:
    """What a run would do to one model.

    Attributes:
        refresh: ``full`` or ``incremental``, or ``auto`` if the run chooses; None if nothing that the model reads changes. Some incremental
            refreshes turn out to be full, such as the one after a column of its table was renamed.
        because: names of the tables that it reads and that changed or would change; ``definition``, ``content`` and ``clock``
            as in `ModelStatus.behind`; or ``new``.
        waits_for: tables that it reads, that do not exist, and that the run would not create.
    """

    model: str
    refresh: str | None = None
    because: list[str] = attrs.field(factory=list)
    waits_for: list[str] = attrs.field(factory=list)
    error: str | None = None

    def to_document(self) -> dict[str, Any]:
        """Return the model's part of ``--json``."""
        return attrs.asdict(self)


def preview_models(
    config: Config, statuses: Iterable[ModelStatus], changing: Collection[str], renamed: Mapping[str, Collection[str]] | None = None
) -> list[ModelPreview]:
    """Return the preview of every model, in the order in which a run refreshes them.

    Args:
        statuses: what they are behind.
        changing: silver tables whose rows a run would change, or that it would create.
        renamed: by silver table, the old and new names of columns that a run would rename.
    """
    by_model = {one.model: one for one in statuses}
    changed = {name.casefold() for name in changing}
    previews = []
    for name in model_order(config):
        names = names_in(config.gold[name].sql)
        other = {
            table.casefold()
            for table, columns in (renamed or {}).items()
            if columns and (names is None or not names.isdisjoint(column.casefold() for column in columns))
        }
        one = _preview_model(config, by_model[name], changed | other)
        previews.append(one)
        if one.refresh is not None:
            changed.add(name.casefold())
    return previews


def _preview_model(config: Config, status: ModelStatus, changed: set[str]) -> ModelPreview:
    model = config.gold[status.model]
    missing = [name for name in status.waits_for if name.casefold() not in changed]
    if status.error is not None or missing:
        return ModelPreview(model=status.model, waits_for=missing, error=status.error)
    behind = status.behind if status.exists else ["new"]
    known = {name.casefold() for name in behind}
    because = [*behind, *sorted({one.name for one in references(model.sql)} & (changed - known))]
    is_full = bool(known & {"new", "definition", "content"}) or incremental_problems(model.sql, config.gold)
    refresh = Refresh.FULL if is_full else model.refresh
    return ModelPreview(model=status.model, refresh=refresh.value if because else None, because=because)
