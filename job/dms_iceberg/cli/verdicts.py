"""The last lines of `status`, `maintain` and `watch`: the result, and the command that comes next. Pure."""

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from dms_iceberg.cli.amounts import are, counted, lasting, named

if TYPE_CHECKING:
    # Their modules import Spark, which takes longer to import than most commands' checks take.
    from dms_iceberg.cli.stopping import Committed
    from dms_iceberg.gold.status import ModelStatus
    from dms_iceberg.maintenance.report import MaintenanceRun
    from dms_iceberg.runs.status import TableStatus


def status_verdict(statuses: "Sequence[TableStatus]", models: "Sequence[ModelStatus]", config: str) -> Iterator[str]:
    """Yield what the status of all tables and models comes to, a line for each matter, the most urgent one first."""
    document = shlex.quote(config)
    bad = [one.table for one in statuses if one.last_error or one.problem]
    wrong = [one.model for one in models if one.error]
    well = [one for one in statuses if one.table not in bad]
    unmerged = sum(bool(one.new_files) for one in well)
    unseen = sum(one.new_files is None for one in well)
    building = sum(bool(one.building and not one.new_files) for one in well)
    clocked = sum(one.is_behind_the_clock for one in models)
    behind = sum(bool(one.behind) and not one.error for one in models) - clocked
    if bad or wrong:
        yield f"{_part(len(bad) + len(wrong), len(statuses) + len(models), 'an error (above)')}. Once corrected: dms-iceberg run {document}"
    if unmerged:
        yield f"{_part(unmerged, len(statuses), 'files that wait')}: dms-iceberg run {document}"
    if behind:
        yield f"{counted(behind, 'gold model')} {are(behind)} out of date: dms-iceberg run {document}"
    if clocked:
        reads = f"{counted(clocked, 'gold model')} read{'s' * (clocked == 1)} the clock, as of the last refresh"
        yield f"{reads}: dms-iceberg run {document}"
    if unseen:
        yield f"{_part(unseen, len(statuses), 'no file so far, or none could be looked for')} (above)"
    if building:
        yield f"{counted(building, 'table')} {are(building)} still being built beside the content"
    if not (bad or wrong or unmerged or behind or clocked or unseen or building):
        yield f"{_all(len(statuses), len(models))} up to date"
    if rows := sum(one.quarantined for one in statuses):
        of = counted(sum(bool(one.quarantined) for one in statuses), "table")
        yield f"{counted(rows, 'row')} of {of} {are(rows)} in quarantine: dms-iceberg quarantine list {document}"
    needs = [one.maintenance for one in statuses] + [one.maintenance for one in models]
    if needing := sum(map(bool, needs)):
        yield f"{counted(needing, 'table')} need{'s' * (needing == 1)} maintenance: dms-iceberg maintain {document}"


def maintenance_verdict(report: "MaintenanceRun", config: str) -> Iterator[str]:
    """Yield what became of a maintenance, and how to go on where something is left."""
    again = f"dms-iceberg maintain {shlex.quote(config)}"
    outcomes = [step.outcome.value for one in report.all for step in one.steps]
    done, gave_way, no_time = (outcomes.count(outcome) for outcome in ("done", "gave_way", "no_time"))
    failed = [one.table for one in report.all if one.error]
    if done:
        tables = sum(any(step.outcome.value == "done" for step in one.steps) for one in report.all)
        yield f"maintained {tables:,} of {counted(len(report.all), 'table')}: {counted(done, 'step')} in {lasting(report.seconds)}"
    elif not outcomes and not failed:
        yield "no table needs anything"
    if gave_way:
        yield f"{counted(gave_way, 'step')} gave way to other commits; again: {again}"
    if no_time:
        yield f"the time was over before {counted(no_time, 'step')}; go on: {again}"
    if failed:
        yield f"failed: {named(failed)}. Once corrected: {again}"


def watch_verdict(
    committed: "Committed", seconds: float, failed: Collection[str], rejected: Mapping[str, int | None], config: str
) -> Iterator[str]:
    """Yield what a watch comes to that has ended.

    Args:
        committed: the batches that it has committed.
        seconds: how long it watched.
        failed: tables and models whose last turn failed.
        rejected: open rows of the quarantine by table; None if they were not counted, and the quarantine has rows.
        config: the document as the command line names it.
    """
    document = shlex.quote(config)
    tables, files, rows = committed.totals
    merged = f"merged {counted(files, 'file')} with {counted(rows, 'row')} into {counted(tables, 'table')}" if tables else "merged no file"
    yield f"{merged} in {lasting(seconds)}"
    if failed:
        yield f"failed: {named(list(failed))}; the log has the error. Once corrected: dms-iceberg watch {document}"
    if known := sum(count or 0 for count in rejected.values()):
        yield f"{counted(known, 'row')} {are(known)} in quarantine: dms-iceberg quarantine list {document}"
    elif any(count is None for count in rejected.values()):
        yield f"rows may be open in quarantine: dms-iceberg quarantine list {document}"


def _part(number: int, total: int, what: str) -> str:
    return f"{number:,} of {counted(total, 'table')} {'has' if number == 1 else 'have'} {what}"


def _all(tables: int, models: int) -> str:
    if not models:
        return f"all {tables:,} tables are" if tables != 1 else "the table is"
    return f"{counted(tables, 'table')} and {counted(models, 'gold model')} are"
