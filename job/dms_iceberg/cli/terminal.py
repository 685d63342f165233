"""Results on standard output: tables, drawn by rich, and the sentences below them."""

import itertools
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table

from dms_iceberg.verify.verdict import KINDS, TableVerdict, Verdict

if TYPE_CHECKING:
    # Their modules import Spark, which takes longer to import than most commands' checks take.
    from dms_iceberg.gold.preview import ModelPreview
    from dms_iceberg.gold.status import ModelStatus
    from dms_iceberg.maintenance.report import MaintenanceRun
    from dms_iceberg.replay.listing import OpenRows
    from dms_iceberg.runs.preview import TablePreview
    from dms_iceberg.runs.report import RunReport
    from dms_iceberg.runs.status import TableStatus


def _console() -> Console:
    # Without a terminal rich assumes 80 columns, too few for the row counts. Texts come from outside: `[red]` in a name is not markup.
    return Console(highlight=False, markup=False, emoji=False, width=None if sys.stdout.isatty() else 160)


def _table(*columns: str, left: int = 1) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number < left else "right")
    return table


def print_verdict(verdict: Verdict) -> None:
    """Print a line per table, then the findings for each."""
    console = _console()
    table = _table("table", "rows source", "filtered", "rejected", "rows silver", *KINDS, "unsettled", "equal", "seconds")
    for one in verdict.tables.values():
        equal = {True: "yes", False: "NO", None: "error" if one.error else "unsettled" if one.unsettled else "-"}[one.equal]
        counts = (one.rows_source, one.filtered, one.rejected, one.rows_silver, *(one.differing[kind] for kind in KINDS), one.unsettled)
        table.add_row(one.table, *(f"{count:,}" for count in counts), equal, f"{one.seconds:.1f}")
    console.print(table)
    for one in verdict.tables.values():
        _print_verdict_of(console, one)


def _print_verdict_of(console: Console, one: TableVerdict) -> None:
    def say(text: str, style: str | None = None) -> None:
        console.print(f"{one.table}: {text}", markup=False, soft_wrap=True, style=style)

    for example in one.examples:
        say(f"{example.kind} {example.key}{': ' if example.columns else ''}{', '.join(example.columns)}")
    if one.differences > len(one.examples):
        say(f"and {one.differences - len(one.examples):,} more keys")
    if one.repaired:
        say(f"{one.repaired:,} repairing changes written to bronze; the next run merges them")
    if one.not_compared:
        say(f"not compared: {', '.join(one.not_compared)}")
    for warning in one.warnings:
        say(f"warning: {warning}")
    if one.skipped is not None:
        say(f"skipped: {one.skipped}")
    if one.error is not None:
        console.print(f"failed: {one.error}", markup=False, style="red", soft_wrap=True)


def print_report(report: "RunReport") -> None:
    """Print a run's row counts, warnings and errors."""
    names = ("rows_read", "applied", "superseded", "stale", "filtered", "quarantined", "files")
    table = _table("table", *(name.replace("_", " ") for name in names), "lag s", "seconds")
    for name, one in report.tables.items():
        lag = "" if one.lag_seconds is None else f"{one.lag_seconds:.1f}"
        table.add_row(name, *(f"{getattr(one, key):,}" for key in names), lag, f"{one.seconds:.1f}")
    console = _console()
    console.print(table)
    for one in report.tables.values():
        for statement in one.ddl:
            console.print(f"schema: {statement}")
        for warning in one.warnings:
            console.print(f"warning: {warning}", soft_wrap=True)
    for name, model in report.models.items():
        if model.waits_for:
            console.print(f"model {name}: waits for {', '.join(model.waits_for)}", soft_wrap=True)
        elif model.refresh:
            what = "all groups" if model.groups is None else f"{model.groups:,} groups"
            console.print(f"model {name}: {what} made again, {model.rows or 0:,} rows, {model.seconds:.1f} s", soft_wrap=True)
            console.print(f"  because: {model.reason}", markup=False, soft_wrap=True)
    for error in report.errors.values():
        console.print(f"failed: {error}", style="red", soft_wrap=True)


def print_maintenance(report: "MaintenanceRun") -> None:
    """Print each step that a table needed, and its outcome."""
    console = _console()
    table = _table("table", "step", "outcome", "why", "done", "seconds", left=5)
    for one in report.all:
        for step in one.steps:
            done = ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in step.counts.items())
            outcome = step.outcome.value.replace("_", " ")
            table.add_row(step.name, step.step.replace("_", " "), outcome, step.reason, done, f"{step.seconds:.1f}")
    if table.row_count:
        console.print(table)
    else:
        console.print("no table needs anything")
    for one in report.all:
        if one.error:
            console.print(f"failed: {one.error}", style="red", soft_wrap=True)


def print_plan(previews: "Sequence[TablePreview]", models: "Sequence[ModelPreview]" = ()) -> None:
    """Print what a run would do."""
    console = _console()
    table = _table("table", "files", "bytes", "rows", "batches")
    for one in previews:
        table.add_row(one.table, f"{one.files:,}", f"{one.bytes:,}", "?" if one.rows is None else f"{one.rows:,}", f"{one.batches:,}")
    console.print(table)
    for one in previews:
        if one.steps:
            steps = ((step, len(list(same))) for step, same in itertools.groupby(one.steps))
            texts = (step if times == 1 else f"{step} ({times:,} times)" for step, times in steps)
            console.print(f"{one.table} would {'; '.join(texts)}", soft_wrap=True)
        if one.rebuilt_files:
            console.print(
                f"{one.table}: {one.rebuilt_files:,} merged files are read again, for a content that replaces the table's at once"
            )
        for statement in one.sql:
            console.print(f"{statement};", soft_wrap=True)
        for warning in one.warnings:
            console.print(f"warning: {warning}", soft_wrap=True)
        if one.no_files:
            console.print(f"would do nothing: {one.no_files}", style="red", soft_wrap=True)
        if one.error:
            console.print(f"would fail: {one.error}", style="red", soft_wrap=True)
    for model in models:
        _print_model_plan(console, model)


def _print_model_plan(console: Console, one: "ModelPreview") -> None:
    if one.error:
        console.print(f"{one.model} would fail: {one.error}", style="red", soft_wrap=True)
    elif one.waits_for:
        console.print(f"{one.model} would wait for {', '.join(one.waits_for)}", soft_wrap=True)
    elif one.refresh:
        console.print(f"{one.model}: {one.refresh} refresh, because of: {', '.join(one.because)}", soft_wrap=True)


def print_quarantine(tables: "Sequence[OpenRows]") -> None:
    """Print the open rows of the quarantine, with examples."""
    console = _console()
    table = _table("table", "reason", "rows", "keys", "first commit", "last commit", left=2)
    for one in tables:
        for group in one.reasons:
            reason = f"{group.reason}: {group.detail}"
            table.add_row(one.table, reason, f"{group.rows:,}", f"{group.keys:,}", group.first or "", group.last or "")
    if any(one.reasons for one in tables):
        console.print(table)
    elif not any(one.error for one in tables):
        console.print("no row is in quarantine")
    for one in tables:
        for group in one.reasons:
            for example in group.examples:
                where = f"operation {example.op or 'unknown'}, row {example.row} of {example.file}"
                console.print(f"{one.table} {example.key}: {group.reason}: {group.detail} ({where})", soft_wrap=True)
        if one.error:
            console.print(f"failed: {one.error}", style="red", soft_wrap=True)


def print_status(statuses: "Sequence[TableStatus]", models: "Sequence[ModelStatus]" = ()) -> None:
    """Print the status of every table and gold model."""
    console = _console()
    table = _table("table", "target", "epoch", "frontier", "rows", "lag s", "snapshots", "delete files", "quarantined", "of keys", left=2)
    for one in statuses:
        lag = "" if one.lag_seconds is None else f"{one.lag_seconds:.1f}"
        rows = "" if one.rows is None else f"{one.rows:,}"
        table.add_row(
            one.table,
            one.target,
            str(one.epoch),
            one.frontier,
            rows,
            lag,
            f"{one.snapshots:,}",
            f"{one.delete_files:,}",
            f"{one.quarantined:,}",
            f"{one.quarantined_keys:,}",
        )
    console.print(table)
    for one in statuses:
        if one.last_error:
            console.print(f"{one.table}: last run failed: {one.last_error}", style="red", soft_wrap=True)
        if one.problem:
            console.print(f"{one.table}: the next run would fail: {one.problem}", style="red", soft_wrap=True)
        _print_needs(console, one.table, one.maintenance)
        for warning in one.warnings:
            console.print(f"warning: {warning}", soft_wrap=True)
    if models:
        _print_models(console, models)


def _print_models(console: Console, models: "Sequence[ModelStatus]") -> None:
    table = _table("model", "refreshed at", "rows", "snapshots", "behind", "waits for", left=2)
    for one in models:
        rows = "" if one.rows is None else f"{one.rows:,}"
        table.add_row(one.model, one.refreshed_at or "", rows, f"{one.snapshots:,}", ", ".join(one.behind), ", ".join(one.waits_for))
    console.print(table)
    for one in models:
        if one.error:
            console.print(f"{one.model}: {one.error}", style="red", soft_wrap=True)
        _print_needs(console, one.model, one.maintenance)


def _print_needs(console: Console, name: str, needs: Mapping[str, str]) -> None:
    for step, reason in needs.items():
        console.print(f"{name}: needs {step.replace('_', ' ')}: {reason}", soft_wrap=True)
