"""An operator who confirms the rows that leave: what a run asks for is said in a second one."""

import re
from collections.abc import Callable

import attrs

from dms_iceberg.context import RunRequest
from dms_iceberg.runs.report import RunReport, TableReport

_ASKED = re.compile(r"run with .*--confirm-rows (?:\S+=)?([0-9]+)\.$")


def asked(report: TableReport) -> int | None:
    """Return the number that a run asks to confirm for a table."""
    found = _ASKED.search(report.error or "")
    return int(found[1]) if found else None


def confirming(run: Callable[[RunRequest], RunReport], request: RunRequest) -> RunReport:
    """Run with a request, then once more with the numbers that were asked for; the report has the batches of both."""
    first = run(request)
    numbers = {name: number for name, one in first.tables.items() if (number := asked(one)) is not None}
    if not numbers:
        return first
    assert all(numbers.values()), "nothing has to be confirmed where no row leaves"
    second = run(attrs.evolve(request, confirm_rows=numbers))
    for name, one in second.tables.items():
        one.batches[:0] = first.tables[name].batches
    return second
