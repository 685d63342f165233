"""What ``quarantine list`` prints: the open rows by table and reason, with the places where an editor shows them."""

import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

import attrs
from rich.console import Console

from dms_iceberg.cli.amounts import counted
from dms_iceberg.cli.grid import console
from dms_iceberg.quarantine.details import LOST_TO_REPAIR

if TYPE_CHECKING:
    from dms_iceberg.config.model import Bronze
    from dms_iceberg.quarantine.examples import Example
    from dms_iceberg.quarantine.listing import OpenReason, OpenRows

_WHILE_BUILT = (
    "What a load has rejected is open, and can be replayed, once the load is complete. If columns, filter or rules are corrected before, "
    "the next run builds it again."
)
_OPERATIONS = {"I": "insert", "U": "update", "D": "delete"}


@attrs.frozen
class Place:
    """How rows of a file are numbered for people.

    Attributes:
        word: what has the number.
        first: the number of the first row, which is 0 wherever the number is kept.
        is_estimate: an editor shows another number where a value spans lines, or a line is empty.
    """

    word: str = "row"
    first: int = 1
    is_estimate: bool = False

    def of(self, row: int) -> str:
        """Return the place of a row that is numbered from 0."""
        return f"{self.word} {row + self.first:,}"


def place_in(bronze: "Bronze") -> Place:
    """Return how rows of the bronze files are numbered: as an editor numbers lines, and from 1 where there are no lines."""
    if bronze.format == "parquet":
        return Place()
    has_header = bronze.format == "csv" and bronze.csv.header
    return Place("line", 2 if has_header else 1, is_estimate=True)


def print_quarantine(tables: "Sequence[OpenRows]", place: Place | None = None, config: str = "CONFIG") -> None:
    """Print the open rows of the quarantine, with examples.

    Args:
        tables: the rows.
        place: how rows are numbered.
        config: the document as the command line names it.
    """
    out, place = console(), place or Place()
    shown = [groups for one in tables for groups in _print_table(out, one, place)]
    if place.is_estimate and any(group.examples for groups in shown for group in groups):
        out.print("Lines are counted as if no value spanned several lines and no line were empty.", soft_wrap=True)
    if any(one.building for one in tables):
        out.print(_WHILE_BUILT, soft_wrap=True)
    details = {group.detail for one in tables for group in one.reasons}
    lost, open_ = details & LOST_TO_REPAIR, details - LOST_TO_REPAIR
    if open_:
        repaired = ", and what a repair wrote where a change came after one" if lost else ""
        out.print(f"silver keeps the last good version of these keys{repaired}. Once the cause is corrected:", soft_wrap=True)
    elif lost:
        out.print("silver has what a repair wrote for these keys. To see whether the source has the same:", soft_wrap=True)
    if shown:
        command = "quarantine replay" if open_ else "verify" if lost else "status"
        source = " --source ..." if command == "verify" else ""
        out.print(f"next: dms-iceberg {command} {shlex.quote(config)}{source}", soft_wrap=True)
    elif not any(one.error for one in tables):
        out.print("no row is in quarantine")
    for one in tables:
        if one.error:
            out.print(f"failed: {one.error}", style="red", soft_wrap=True)


def _print_table(out: Console, one: "OpenRows", place: Place) -> "list[Sequence[OpenReason]]":
    """Print the rows of a table, and return what is printed."""
    parts = {"": one.reasons} | {f" that load {load}, which is being built, has rejected": groups for load, groups in one.building.items()}
    printed = {which: groups for which, groups in parts.items() if groups}
    for which, groups in printed.items():
        rows = counted(sum(group.rows for group in groups), "row" if which else "open row")
        out.print(f"{one.table}: {rows}{which}", style="bold", soft_wrap=True)
        for group in groups:
            _print_reason(out, group, place)
    return list(printed.values())


def _print_reason(out: Console, group: "OpenReason", place: Place) -> None:
    out.print(f"  {group.reason}: {group.detail}", soft_wrap=True)
    count = f"{counted(group.rows, 'row')} of {counted(group.keys, 'key')}"
    times = [one[:19] for one in (group.first, group.last) if one]
    when = "" if not times else f", committed at {times[0]}" + (f" to {times[-1]}" if times[-1] != times[0] else "") + " (UTC)"
    out.print(f"    {count}{when}", soft_wrap=True)
    for example in group.examples:
        out.print(f"    {_where(example, place)}", soft_wrap=True)
    rest = group.rows - len(group.examples)
    if group.examples and rest:
        out.print(f"    and {counted(rest, 'row')} more", soft_wrap=True)


def _where(example: "Example", place: Place) -> str:
    operation = _OPERATIONS.get(example.op or "", "unknown operation")
    return f"{example.key}: {operation}, {place.of(example.row)} of {example.file}"
