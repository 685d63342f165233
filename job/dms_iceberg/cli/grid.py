"""Tables on standard output that cut no name: where a table is wider than the terminal, each of its rows becomes a paragraph."""

import sys
import textwrap
from collections.abc import Collection, Iterable, Sequence

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table

_UNBOUNDED = 100_000
_GAPS = ((0, 1), (0, 1, 0, 0))
"""Padding of cells: two blanks between columns, or one where two are too many."""


def console() -> Console:
    """Return the console of results. What reads them instead of a terminal gets each row in one line."""
    # Texts come from outside: `[red]` in a name is not markup.
    return Console(highlight=False, markup=False, emoji=False, width=None if sys.stdout.isatty() else _UNBOUNDED)


def print_grid(
    out: Console, columns: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1, unless_zero: Collection[str] = ()
) -> None:
    """Print a table; nothing without rows.

    Args:
        out: where to.
        columns: their headings; the first is what a row is about.
        rows: a text for each column.
        left: how many columns are aligned to the left.
        unless_zero: columns that are left out where every row has 0 in them.
    """
    listed = [list(row) for row in rows]
    shown = [n for n, name in enumerate(columns) if not (name in unless_zero and all(row[n] == "0" for row in listed))]
    if not listed:
        return
    for gap in _GAPS:
        table = Table(box=None, pad_edge=False, padding=gap, header_style="bold")
        for number in shown:
            table.add_column(columns[number], justify="left" if number < left else "right", no_wrap=True)
        for row in listed:
            table.add_row(*(row[number] for number in shown))
        if Measurement.get(out, out.options.update(width=_UNBOUNDED), table).maximum <= out.width:
            out.print(table)
            return
    for row in listed:
        _print_paragraph(out, [(columns[number], row[number]) for number in shown])


def _print_paragraph(out: Console, cells: Sequence[tuple[str, str]]) -> None:
    (_, name), *rest = cells
    out.print(name, style="bold", soft_wrap=True)
    text = "; ".join(f"{column} {value}" for column, value in rest if value)
    for line in textwrap.wrap(text, max(20, out.width - 2), break_long_words=False, break_on_hyphens=False):
        out.print(f"  {line}", soft_wrap=True)
