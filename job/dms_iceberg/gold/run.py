"""Refresh all models of a configuration, each after those that it reads."""

import time
from collections.abc import Collection

import structlog

from dms_iceberg.config.gold_checks import model_order
from dms_iceberg.context import RunContext
from dms_iceberg.gold.refresh import refresh_model, tables_of
from dms_iceberg.gold.report import ModelReport
from dms_iceberg.maintenance.run import maintain_model
from dms_iceberg.retry import attempt, on_conflict, planned_again
from dms_iceberg.silver.table import TargetTable

_LOG = structlog.get_logger("dms_iceberg")


def refresh_models(context: RunContext, only: Collection[str] | None = None) -> dict[str, ModelReport]:
    """Refresh the models whose tables have changed. An error ends in the report of its model.

    Args:
        only: names of the models to refresh; all when None.
    """
    return {name: _refresh(context, name) for name in model_order(context.config) if only is None or name in only}


def _refresh(context: RunContext, name: str) -> ModelReport:
    started = time.monotonic()
    report = ModelReport(table=name)

    def refresh() -> bool:
        with planned_again():
            refresh_model(context, name, context.config.gold[name], report)
        return False

    def work() -> None:
        on_conflict(refresh)

    attempt(context, report, work)
    report.seconds = time.monotonic() - started
    log = _LOG.bind(model=name, run_id=context.run_id)
    if report.error:
        log.error("model_failed", error=report.error)
        # Another writer may have created the model, or a table that it reads, again; the catalog's cache would keep the old one.
        model = TargetTable(context.spark, context.config.catalog.name, name)
        for table in (model, *tables_of(context.spark, context.config, context.config.gold[name]).values()):
            table.forget()
    elif report.refresh:
        done = {name: value for name, value in report.to_document().items() if name in ("refresh", "reason", "groups", "rows", "seconds")}
        log.info("model_refreshed", **done)
        # Errors of maintenance are logged; the model is up to date nevertheless.
        maintain_model(context, name)
    return report
