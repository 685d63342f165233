"""The status of every gold model: from Iceberg's metadata alone."""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import Any

import attrs
from pyspark.sql import SparkSession

from dms_iceberg.config.model import Config, Model
from dms_iceberg.errors import DmsIcebergError, TargetError
from dms_iceberg.gold.model_inputs import Input, ModelInputs, definition_of, recorded_inputs
from dms_iceberg.gold.query_columns import tables_with_other_columns
from dms_iceberg.gold.refresh import tables_of
from dms_iceberg.iceberg.commit_properties import GOLD_KEY
from dms_iceberg.maintenance.execute import needed
from dms_iceberg.silver.owner import owner_of_model
from dms_iceberg.silver.table import TargetTable
from dms_iceberg.spark.failures import FAILURES, describe


@attrs.frozen(kw_only=True)
class ModelStatus:
    """The status of one model.

    Attributes:
        rows: rows of the model, None if it was not built yet.
        refreshed_at: when its present content was committed, in UTC; None if another writer has written to it since.
        behind: what changed after that: names of tables that it reads, ``definition`` for its own entry in the configuration, ``content``
            if it is unknown what its content was built from. Empty for a model that is up to date.
        waits_for: tables that it reads and that do not exist yet.
        maintenance: what `maintain` would do for it, except for orphan files: the reason by step.
    """

    model: str
    exists: bool = False
    rows: int | None = None
    snapshots: int = 0
    refreshed_at: str | None = None
    behind: list[str] = attrs.field(factory=list)
    waits_for: list[str] = attrs.field(factory=list)
    maintenance: dict[str, str] = attrs.field(factory=dict)
    error: str | None = None

    def to_document(self) -> dict[str, Any]:
        """Return the model's part of ``--json``."""
        return attrs.asdict(self)


def model_statuses(
    spark: SparkSession, config: Config, *, with_maintenance: bool = True, take_over: Collection[str] = ()
) -> list[ModelStatus]:
    """Return the status of every model.

    Args:
        with_maintenance: read more than its snapshots, to find the maintenance that it needs.
        take_over: models that are this document's by now, though another's before.
    """
    return [_isolated(spark, config, name, with_maintenance=with_maintenance, is_taken_over=name in take_over) for name in config.gold]


def _isolated(spark: SparkSession, config: Config, name: str, *, with_maintenance: bool, is_taken_over: bool) -> ModelStatus:
    try:
        return _status(spark, config, name, with_maintenance=with_maintenance, is_taken_over=is_taken_over)
    except FAILURES as error:
        return ModelStatus(model=name, error=describe(error))
    except DmsIcebergError as error:
        return ModelStatus(model=name, error=str(error))


def _status(spark: SparkSession, config: Config, name: str, *, with_maintenance: bool, is_taken_over: bool) -> ModelStatus:
    model = config.gold[name]
    tables = tables_of(spark, config.catalog.name, model)
    status = ModelStatus(model=name, waits_for=[table.name for table in tables.values() if not table.exists()])
    target = TargetTable(spark, config.catalog.name, name, owner_of_model(config, name))
    if not target.exists():
        return status
    target.refresh()
    if (conflict := target.conflict()) and not (conflict.former and is_taken_over):
        raise TargetError(conflict.text)
    head, last = target.head(), recorded_inputs(target)
    made_at = next((one.timestamp_ms for one in target.lineage() if GOLD_KEY in one.summary), None) if last is not None else None
    behind = ["content"]
    if last is not None:
        behind = [*(["definition"] if last.definition != definition_of(model) else []), *_changed(model, target, tables, last)]
    return attrs.evolve(
        status,
        exists=True,
        rows=int(head.summary.get("total-records", 0)) if head is not None else None,
        snapshots=target.snapshot_count(),
        refreshed_at=None if made_at is None else datetime.fromtimestamp(made_at / 1000, UTC).isoformat(timespec="seconds"),
        behind=behind,
        maintenance=needed(spark, config.maintenance, target, is_silver=False) if with_maintenance else {},
    )


def _changed(model: Model, target: TargetTable, tables: Mapping[str, TargetTable], last: ModelInputs) -> list[str]:
    """Return the names of tables whose rows changed since the model was built, or whose columns did in a way that it shows."""
    there = {name: table for name, table in tables.items() if table.exists()}
    now = ModelInputs("", {name: Input.of(table) for name, table in there.items()})
    changed = [name for name, one in now.inputs.items() if name not in last.inputs or not one.has_content_of(last.inputs[name])]
    if not changed and there.keys() == tables.keys():
        changed = tables_with_other_columns(now.pinned(model.sql, target.parts[0]), target, tables, last, now)
    return [tables[name].name for name in changed]
