"""The report on a terminal."""

import shutil
import sys
from pathlib import Path

from rich.console import Console
from rich.table import Table

from dms_demo import wording
from dms_demo.report import DemoReport


def print_summary(report: DemoReport, directory: Path, console: Console) -> None:
    """Print the findings and the paths of the reports."""
    _print_tables(report, console)
    for line in wording.problems(report):
        console.print(line, style="red", markup=False, soft_wrap=True)
    for row in report.quarantined:
        console.print(f"\nin quarantine: {wording.rejected(row)}", markup=False, soft_wrap=True)
    for statement in report.schema_changes:
        console.print(f"schema change: {statement}", markup=False, soft_wrap=True)
    console.print(f"\n{wording.story_note()}", markup=False)
    story = _grid(wording.STORY_COLUMNS, left=4)
    for cells in wording.story_rows(report):
        story.add_row(*cells)
    console.print(story)
    style = "bold green" if report.equal else "bold red"
    console.print(f"\n{wording.conclusion(report)}", style=style, markup=False)
    for line in wording.lag_lines(report):
        console.print(line, markup=False, soft_wrap=True)
    console.print(f"report: {directory / 'report.html'}", markup=False, soft_wrap=True)
    console.print(f"look:   {_command()} status {directory / 'config.json'}", markup=False, soft_wrap=True)


def _command() -> str:
    """Return how to call this program: by its name, or by its path beside Python if that is on no search path."""
    return "dms-iceberg" if shutil.which("dms-iceberg") else str(Path(sys.executable).with_name("dms-iceberg"))


def _print_tables(report: DemoReport, console: Console) -> None:
    table = _grid(wording.TABLE_COLUMNS_IN_SHORT, left=1)
    for outcome, cells in zip(report.tables, wording.table_rows(report), strict=True):
        *plain, verdict = (cells[name] for name in wording.TABLE_COLUMNS_IN_SHORT)
        table.add_row(*plain, f"[{'green' if outcome.equal else 'red'}]{verdict}[/]")
    console.print()
    console.print(table)


def _grid(columns: tuple[str, ...], left: int) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for place, column in enumerate(columns):
        table.add_column(column, justify="left" if place < left else "right", no_wrap=True)
    return table
