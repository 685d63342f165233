"""The figures of the full benchmark: one `Outcome` for each contestant and case, and the document with all of them."""

import statistics
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

import attrs
from rich.table import Table

TITLES: Final = {
    "job": "this job",
    "handwritten": "hand-written script (Iceberg, copy-on-write)",
    "iceberg-merge": "Iceberg MERGE (merge-on-read)",
    "delta": "Delta MERGE (deletion vectors)",
    "hudi-dms": "Hudi (DMS payload)",
    "hudi-event-time": "Hudi (event-time ordering)",
    "floor": "floor (read, join with the keys, write; no table)",
}
"""The contestants in the order of tables and charts."""


@attrs.frozen
class Outcome:
    """The result of one contestant in one case.

    Attributes:
        seconds: time of each measured batch, in turn.
        warm_up_seconds: time of the discarded batches before them.
        cpu_seconds: processor time of each measured batch, over all cores.
        read_s: seconds for reading all columns of the table after the batches; None for the floor.
        grown_bytes: by how much the contestant's folder grew with the batches.
        measured_at: when the last batch ended, in UTC.
        correct: whether the table has the source's rows; None if nothing can be compared.
        wrong: if it is not correct, numbers of keys with a missing, an extra, a different or a repeated row.
        error: why there are no figures.
    """

    contestant: str
    seconds: tuple[float, ...] = ()
    warm_up_seconds: tuple[float, ...] = ()
    cpu_seconds: tuple[float, ...] = ()
    read_s: float | None = None
    grown_bytes: int | None = None
    measured_at: str | None = None
    correct: bool | None = None
    wrong: Mapping[str, int] = attrs.field(factory=dict)
    error: str | None = None

    @property
    def median_s(self) -> float | None:
        """Median of the measured batches."""
        return statistics.median(self.seconds) if self.seconds else None

    @property
    def wrong_keys(self) -> int:
        """Number of keys of the table that are wrong."""
        return sum(self.wrong.values())

    def to_document(self, job: "Outcome | None") -> dict[str, Any]:
        """Return the outcome's part of ``bench-full.json``; ``job`` is this project's outcome in the same case."""
        median, ours = self.median_s, job.median_s if job else None
        return {
            "contestant": self.contestant,
            "median_s": _rounded(median),
            "seconds": [_rounded(one) for one in self.seconds],
            "warm_up_seconds": [_rounded(one) for one in self.warm_up_seconds],
            "cpu_s": _rounded(statistics.median(self.cpu_seconds)) if self.cpu_seconds else None,
            "times_the_job": _rounded(median / ours) if median and ours else None,
            "read_s": _rounded(self.read_s),
            "grown_bytes": self.grown_bytes,
            "measured_at": self.measured_at,
            "correct": self.correct,
            "wrong": dict(self.wrong),
            "error": self.error,
        }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 3)


def outcome_of(contestant: str, found: Mapping[str, Any], warm_ups: int) -> Outcome:
    """Return the outcome from the document that a contestant's process wrote."""
    seconds = tuple(found["seconds"])
    return Outcome(
        contestant,
        seconds[warm_ups:],
        seconds[:warm_ups],
        tuple(found["cpu_seconds"])[warm_ups:],
        found.get("read_s"),
        found.get("grown_bytes"),
        found.get("measured_at"),
        found.get("correct"),
        found.get("wrong", {}),
    )


def case_document(name: str, says: str, changes: int, outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """Return one case with all its outcomes, in the order of `TITLES`."""
    job = next((one for one in outcomes if one.contestant == "job"), None)
    ordered = sorted(outcomes, key=lambda one: list(TITLES).index(one.contestant))
    return {"name": name, "says": says, "changes": changes, "results": [one.to_document(job) for one in ordered]}


def cell(result: Mapping[str, Any]) -> str:
    """Return a result in a few characters: seconds, and what is wrong."""
    if result["error"]:
        return "failed"
    wrong = "" if result["correct"] in (True, None) else f" ({sum(result['wrong'].values()):,} wrong)"
    return f"{result['median_s']:.2f}{wrong}"


def shown(cases: Sequence[Mapping[str, Any]], rows: int) -> Table:
    """Return the table for the terminal: a row for each case, a column for each contestant."""
    names = [name for name in TITLES if any(result["contestant"] == name for case in cases for result in case["results"])]
    table = Table(title=f"Seconds per batch on {rows:,} rows, medians; wrong: keys whose row is not the source's")
    table.add_column("case", no_wrap=True)
    for name in names:
        table.add_column(name, justify="right")
    for case in cases:
        cells = {result["contestant"]: cell(result) for result in case["results"]}
        table.add_row(case["name"], *(cells.get(name, "") for name in names))
    return table


def markdown(cases: Sequence[Mapping[str, Any]], figure: str = "median_s") -> str:
    """Return the same as a Markdown table; ``figure`` is ``median_s``, ``spread``, ``cpu_s`` or ``read_s``."""
    results = [result for case in cases for result in case["results"]]
    there = {result["contestant"] for result in results if result["error"] or _figure(result, figure)}
    return _markdown_table(cases, there, lambda found, name: _markdown_cell(found.get(name), figure))


def _markdown_table(cases: Sequence[Mapping[str, Any]], there: Collection[str], show: Callable[[Mapping[str, Any], str], str]) -> str:
    """Return a row for each case and a column for each contestant that is ``there``; ``show`` gets a case's results by contestant."""
    names = [name for name in TITLES if name in there]
    lines = [f"| case | {' | '.join(names)} |", f"|---|{'---|' * len(names)}"]
    for case in cases:
        found = {result["contestant"]: result for result in case["results"]}
        lines.append(f"| {case['name']} | {' | '.join(show(found, name) for name in names)} |")
    return "\n".join(lines) + "\n"


def _markdown_cell(result: Mapping[str, Any] | None, figure: str) -> str:
    if result is None:
        return ""
    if result["error"]:
        return "failed"
    return cell(result) if figure == "median_s" else _figure(result, figure)


def _figure(result: Mapping[str, Any], figure: str) -> str:
    if figure == "spread":
        return f"{min(result['seconds']):.2f} to {max(result['seconds']):.2f}" if result["seconds"] else ""
    return "" if result[figure] is None else f"{result[figure]:.2f}"
