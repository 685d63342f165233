"""The status of every gold model: from Iceberg's metadata alone."""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import Any

import attrs
from pyspark.sql import SparkSession

from dms_iceberg.config.gold_checks import model_order
from dms_iceberg.config.model import Config, Model
from dms_iceberg.config.model_meaning import clock_of
from dms_iceberg.errors import DmsIcebergError
from dms_iceberg.gold.model_inputs import Input, ModelInputs, recorded_inputs
from dms_iceberg.gold.query_columns import has_other_names
from dms_iceberg.gold.refresh import refuse_other_owners, tables_of
from dms_iceberg.iceberg.commit_properties import GOLD_KEY
from dms_iceberg.maintenance.execute import needed
from dms_iceberg.silver.owner import owner_of_model
from dms_iceberg.silver.table import TargetTable
from dms_iceberg.spark.failures import FAILURES, describe

CLOCK = "clock"
"""What a model is behind that reads the clock: of one that reads no more than the day, since the next day began."""


@attrs.frozen(kw_only=True)
class ModelStatus:
    """The status of one model.

    Attributes:
        rows: rows of the model, None if it was not built yet.
        refreshed_at: when its present content was committed, in UTC; None if another writer has written to it since.
        behind: what changed after that: names of tables that it reads, ``definition`` for its own entry in the configuration, ``content``
            if it is unknown what its content was built from, ``clock`` if it reads the clock, which has gone on. Empty for a model that is
            up to date.
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

    @property
    def is_behind_the_clock(self) -> bool:
        """Whether the model is up to date but for the clock that it reads."""
        return self.behind == [CLOCK] and not self.error

    def to_document(self) -> dict[str, Any]:
        """Return the model's part of ``--json``."""
        return attrs.asdict(self)


def model_statuses(
    spark: SparkSession, config: Config, *, with_maintenance: bool = True, take_over: Collection[str] = ()
) -> list[ModelStatus]:
    """Return the status of every model.

    Args:
        with_maintenance: read more than its snapshots, to find the maintenance that it needs.
        take_over: source tables and models that a run would take over from another owner.
    """
    taken, found = set(take_over), {}
    for name in model_order(config):
        found[name] = _isolated(spark, config, name, with_maintenance=with_maintenance, taken=taken)
        if found[name].error is not None:
            # The models that read it find it another's still.
            taken.discard(name)
    return [found[name] for name in config.gold]


def _isolated(spark: SparkSession, config: Config, name: str, *, with_maintenance: bool, taken: Collection[str]) -> ModelStatus:
    try:
        return _status(spark, config, name, with_maintenance=with_maintenance, taken=taken)
    except FAILURES as error:
        return ModelStatus(model=name, error=describe(error))
    except DmsIcebergError as error:
        return ModelStatus(model=name, error=str(error))


def _status(spark: SparkSession, config: Config, name: str, *, with_maintenance: bool, taken: Collection[str]) -> ModelStatus:
    model = config.gold[name]
    tables = tables_of(spark, config, model)
    target = TargetTable(spark, config.catalog.name, name, owner_of_model(config, name))
    refuse_other_owners((target, *tables.values()), taken)
    status = ModelStatus(model=name, waits_for=[table.name for table in tables.values() if not table.exists()])
    if not target.exists():
        return status
    head, last = target.head(), recorded_inputs(target)
    made_at = next((one.timestamp_ms for one in target.lineage() if GOLD_KEY in one.summary), None) if last is not None else None
    behind = ["content"]
    if last is not None:
        behind = _behind(model, tables, last)
    return attrs.evolve(
        status,
        exists=True,
        rows=int(head.summary.get("total-records", 0)) if head is not None else None,
        snapshots=target.snapshot_count(),
        refreshed_at=None if made_at is None else datetime.fromtimestamp(made_at / 1000, UTC).isoformat(timespec="seconds"),
        behind=behind,
        maintenance=needed(spark, config.maintenance, target, is_silver=False) if with_maintenance else {},
    )


def _behind(model: Model, tables: Mapping[str, TargetTable], last: ModelInputs) -> list[str]:
    """Return `ModelStatus.behind` of a model of which it is known what it was built from."""
    now = ModelInputs.of(model, {name: table for name, table in tables.items() if table.exists()})
    same = last.definition == now.definition

    def has_changed(name: str, one: Input) -> bool:
        was = last.inputs.get(name)
        if was is None or not one.has_content_of(was):
            return True
        # What was recorded is of the names in the former SQL.
        return same and (one.names != was.names or has_other_names(tables[name], model.sql))

    changed = [tables[name].name for name, one in now.inputs.items() if has_changed(name, one)]
    return [*([] if same else ["definition"]), *changed, *([CLOCK] if now.clock_went_on(last, clock_of(model.sql)) else [])]
