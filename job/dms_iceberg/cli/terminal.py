"""Results on standard output: tables, drawn by rich, and the sentences below them."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from rich.console import Console

from dms_iceberg.cli.amounts import ago, counted, lasting
from dms_iceberg.cli.grid import console, print_grid
from dms_iceberg.cli.verdicts import maintenance_verdict, status_verdict
from dms_iceberg.verify.verdict import KINDS, TableVerdict, Verdict, shown_counts

if TYPE_CHECKING:
    # Their modules import Spark, which takes longer to import than most commands' checks take.
    from dms_iceberg.gold.status import ModelStatus
    from dms_iceberg.maintenance.report import MaintenanceRun
    from dms_iceberg.runs.status import TableStatus


def print_verdict(verdict: Verdict) -> None:
    """Print a line per table, then the findings for each."""
    out = console()
    columns = ("table", "rows source", "filtered", "rejected", "rows silver", *KINDS, "unsettled", "equal", "time")
    rows = []
    for one in verdict.tables.values():
        different = "NO" if one.differences else "partly"
        equal = {True: "yes", False: different, None: "error" if one.error else "unsettled" if one.unsettled else "-"}[one.equal]
        counts = (one.rows_source, one.filtered, one.rejected, one.rows_silver, *(one.differing[kind] for kind in KINDS), one.unsettled)
        rows.append([one.table, *(f"{count:,}" for count in counts), equal, lasting(one.seconds)])
    print_grid(out, columns, rows, unless_zero=("filtered", "rejected", *KINDS, "unsettled"))
    for one in verdict.tables.values():
        _print_verdict_of(out, one)


def _print_verdict_of(out: Console, one: TableVerdict) -> None:
    def say(text: str, style: str | None = None) -> None:
        out.print(f"{one.table}: {text}", soft_wrap=True, style=style)

    for example in one.examples:
        say(f"{example.kind} {example.key}{': ' if example.columns else ''}{', '.join(example.columns)}")
    if one.differences > len(one.examples):
        say(f"and {one.differences - len(one.examples):,} more keys")
    for line in _repair_and_columns(one):
        say(line)
    for warning in one.warnings:
        say(f"warning: {warning}")
    if one.skipped is not None:
        say(f"skipped: {one.skipped}")
    if one.error is not None:
        out.print(f"failed: {one.error}", style="red", soft_wrap=True)


def _repair_and_columns(one: TableVerdict) -> Iterator[str]:
    if one.repaired:
        yield f"{one.repaired:,} repairing changes written to bronze; the next run merges them"
    elif one.to_repair and not one.error:
        yield f"a repair would {shown_counts(one.to_repair)}; nothing was written"
    if one.one_sided:
        yield f"columns that one side lacks: {', '.join(one.one_sided)}"
    if one.not_compared:
        yield f"not compared: {', '.join(one.not_compared)}"


def print_maintenance(report: "MaintenanceRun", config: str = "CONFIG") -> None:
    """Print each step that a table needed, its outcome, and the verdict; ``config`` is the document as the command line names it."""
    out, rows = console(), []
    for one in report.all:
        for step in one.steps:
            done = ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in step.counts.items())
            outcome = step.outcome.value.replace("_", " ")
            rows.append([step.name, step.step.replace("_", " "), outcome, step.reason, done, lasting(step.seconds)])
    print_grid(out, ("table", "step", "outcome", "why", "done", "time"), rows, left=5)
    for one in report.all:
        if one.error:
            out.print(f"failed: {one.error}", style="red", soft_wrap=True)
    for line in maintenance_verdict(report, config):
        out.print(line, soft_wrap=True)


def print_status(
    statuses: "Sequence[TableStatus]", models: "Sequence[ModelStatus]" = (), config: str = "CONFIG", now: datetime | None = None
) -> None:
    """Print the status of every table and gold model, and the verdict.

    Args:
        statuses: the tables.
        models: the gold models.
        config: the document as the command line names it.
        now: times are shown as those before it.
    """
    out, now = console(), now or datetime.now(UTC)
    columns = ("table", "rows", "newest merged file", "lag", "in quarantine")
    print_grid(out, columns, (_status_row(one, now) for one in statuses))
    sizes = ("table", "target", "load epoch", "snapshots", "delete files")
    counts = ([one.table, one.target, str(one.epoch), f"{one.snapshots:,}", f"{one.delete_files:,}"] for one in statuses if one.exists)
    print_grid(out, sizes, counts, left=2)
    for one in statuses:
        if not one.exists and not one.last_error:
            out.print(f"{one.table}: the table does not exist yet", soft_wrap=True)
        if one.building:
            out.print(f"{one.table}: is being built beside the content: {', '.join(one.building)}", soft_wrap=True)
        if one.last_error:
            out.print(f"{one.table}: last run failed: {one.last_error}", style="red", soft_wrap=True)
        if one.problem:
            out.print(f"{one.table}: the next run would fail: {one.problem}", style="red", soft_wrap=True)
        _print_needs(out, one.table, one.maintenance)
        for warning in one.warnings:
            out.print(f"warning: {warning}", soft_wrap=True)
    if models:
        _print_models(out, models, now)
    for line in status_verdict(statuses, models, config):
        out.print(line, soft_wrap=True)


def _status_row(one: "TableStatus", now: datetime) -> list[str]:
    rejected = f"{one.quarantined:,}" + (f" ({counted(one.quarantined_keys, 'key')})" if one.quarantined else "")
    lag = "" if one.lag_seconds is None else lasting(one.lag_seconds)
    return [one.table, "" if one.rows is None else f"{one.rows:,}", _frontier(one.frontier, now), lag, rejected]


def _frontier(digits: str, now: datetime) -> str:
    """Return how long ago the newest merged file was closed; digits that are no time as they are."""
    from dms_iceberg.bronze.keys import time_of

    try:
        return ago(time_of(digits), now) if digits else ""
    except ValueError:
        return digits


def _print_models(out: Console, models: "Sequence[ModelStatus]", now: datetime) -> None:
    rows = []
    for one in models:
        refreshed = ago(datetime.fromisoformat(one.refreshed_at), now) if one.refreshed_at else ""
        counts = ("" if one.rows is None else f"{one.rows:,}", f"{one.snapshots:,}")
        rows.append([one.model, refreshed, *counts, ", ".join(one.behind), ", ".join(one.waits_for)])
    print_grid(out, ("model", "refreshed", "rows", "snapshots", "behind", "waits for"), rows, left=2)
    for one in models:
        if one.error:
            out.print(f"{one.model}: {one.error}", style="red", soft_wrap=True)
        _print_needs(out, one.model, one.maintenance)


def _print_needs(out: Console, name: str, needs: Mapping[str, str]) -> None:
    for step, reason in needs.items():
        out.print(f"{name}: needs {step.replace('_', ' ')}: {reason}", soft_wrap=True)
