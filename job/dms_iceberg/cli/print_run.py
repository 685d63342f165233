"""What a run prints: the row counts of each table, what went wrong, and at the end a verdict in words with the next command."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Final

from rich.console import Console

from dms_iceberg.cli.amounts import are, counted, lasting, named
from dms_iceberg.cli.grid import console, print_grid

if TYPE_CHECKING:
    # Their modules import Spark, which takes longer to import than most commands' checks take.
    from dms_iceberg.gold.report import ModelReport
    from dms_iceberg.runs.report import RunReport, TableReport

_COUNTS: Final = ("rows_read", "applied", "superseded", "stale", "filtered", "quarantined")
_MOSTLY_ZERO: Final = ("superseded", "stale", "filtered", "quarantined")


def print_report(report: "RunReport", config: str = "CONFIG", *, is_replay: bool = False, is_stopping: bool = False) -> None:
    """Print a run's row counts, schema changes, warnings, errors and verdict.

    Args:
        report: the report of a run, or of a replay of the quarantine.
        config: the document as the command line names it.
        is_replay: it is of a replay, whose quarantined rows were in quarantine before.
        is_stopping: Ctrl-C was heard.
    """
    out = console()
    columns = ("table", "files", *(name.replace("_", " ") for name in _COUNTS), "lag", "time")
    tables = report.tables.values()
    print_grid(out, columns, (_row(one) for one in tables if one.batches or one.error), unless_zero=_MOSTLY_ZERO)
    for one in tables:
        for statement in one.ddl:
            out.print(f"schema: {statement}", soft_wrap=True)
        for warning in one.warnings:
            out.print(f"warning: {warning}", soft_wrap=True)
    for name, model in report.models.items():
        _print_model(out, name, model)
    for error in report.errors.values():
        out.print(f"failed: {error}", style="red", soft_wrap=True)
    for line in replay_verdict(report, config) if is_replay else verdict(report, config, is_stopping=is_stopping):
        out.print(line, soft_wrap=True)


def _row(one: "TableReport") -> list[str]:
    lag = "" if one.lag_seconds is None else lasting(one.lag_seconds)
    return [one.table, f"{one.files:,}", *(f"{getattr(one, key):,}" for key in _COUNTS), lag, lasting(one.seconds)]


def _print_model(out: Console, name: str, model: "ModelReport") -> None:
    if model.waits_for:
        out.print(f"model {name}: waits for {', '.join(model.waits_for)}", soft_wrap=True)
    elif model.refresh:
        what = "all groups" if model.groups is None else counted(model.groups, "group")
        rows, took = counted(model.rows or 0, "row"), lasting(model.seconds)
        out.print(f"model {name}: {what} made again, {rows}, {took}", soft_wrap=True)
        out.print(f"  because: {model.reason}", soft_wrap=True)


def verdict(report: "RunReport", config: str, *, is_stopping: bool = False) -> Iterator[str]:
    """Yield what became of a run, in sentences, and the commands that come next. ``is_stopping``: Ctrl-C was heard."""
    tables = list(report.tables.values())
    late = [one.table for one in tables if one.lost_races and not one.batches and not one.error and not one.stopped]
    stopped = [one.table for one in tables if one.stopped and not one.error]
    incomplete = [one.table for one in tables if one.waits and not one.error]
    quarantined, document = sum(one.quarantined for one in tables), shlex.quote(config)
    if done := list(_done(tables, report.seconds)):
        yield from done
    elif not report.failed and not late and not stopped:
        yield f"nothing new: {counted(len(tables), 'table')}, and no file that is not merged"
    if late:
        yield f"another run was first: it has merged what was new in {named(late)}, and left nothing to do"
    if incomplete:
        yield f"waits until its load is complete, as status shows: {named(incomplete)}"
    if stopped:
        yield f"stopped before the end of {named(stopped)}: what is merged is committed, and the next run goes on there"
    elif is_stopping and not report.failed:
        yield f"stopped after the last batch: no file was left to merge{'; gold models wait for the next run' * report.models_wait}"
    if report.failed:
        rest = "" if len(report.failed) == len(tables) + len(report.models) else "; the others are not affected"
        yield f"failed: {named(report.failed)}{rest}. Once the cause is gone, run again: nothing is lost"
    if quarantined:
        but = ", except where a warning above says otherwise" if any(one.lost_versions for one in tables) else ""
        yield f"{counted(quarantined, 'row')} went to quarantine; silver keeps the last good version of their keys{but}"
    older = list(older_open_rows({one.table: one.older for one in tables}))
    yield from older
    command = "quarantine list" if quarantined or (older and not stopped) else "run" if stopped else "status"
    yield f"next: dms-iceberg {command} {document}"


def _done(tables: "Sequence[TableReport]", seconds: float) -> Iterator[str]:
    """Yield what was merged, and what replaced or ended the content of tables."""
    if merged := [one for one in tables if one.batches]:
        files, rows = counted(sum(one.files for one in merged), "file"), counted(sum(one.rows_read for one in merged), "row")
        yield f"merged {files} with {rows} into {counted(len(merged), 'table')} in {lasting(seconds)}"
    for what in dict.fromkeys(chain.from_iterable(one.content for one in tables)):
        yield f"{what}: {named([one.table for one in tables if what in one.content])}"


def older_open_rows(tables: Mapping[str, int | None]) -> Iterator[str]:
    """Yield how many rows from before a run are still open in quarantine, by table; None if the quarantine has rows, and any may be."""
    if known := sum(count or 0 for count in tables.values()):
        yield f"{counted(known, 'row')} of earlier runs {are(known)} still open in quarantine"
    if unknown := [table for table, count in tables.items() if count is None]:
        yield f"the quarantine has rows of earlier runs that may be open: {named(unknown)}"


def replay_verdict(report: "RunReport", config: str) -> Iterator[str]:
    """Yield what became of a replay, in sentences, and the command that comes next."""
    tables = report.tables.values()
    tried, open_ = sum(one.rows_read for one in tables), sum(one.quarantined for one in tables)
    if report.failed:
        yield f"failed: {named(report.failed)}; the rows of these tables stay in quarantine"
    if stopped := [one.table for one in tables if one.stopped and not one.error]:
        yield f"stopped before the end of {named(stopped)}; start it again to go on"
    if not tried:
        if not report.failed:
            yield "no row was replayed"
        return
    yield f"replayed {counted(tried, 'row')}: {counted(tried - open_, 'row')} resolved, {counted(open_, 'row')} still open"
    if open_:
        yield f"next: dms-iceberg quarantine list {shlex.quote(config)}"
