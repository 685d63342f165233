"""What the module observability counts in the job's log is what the job writes there."""

import ast
import json
import re
from pathlib import Path
from typing import Any

import hcl2
import pytest

from dms_iceberg.runs.report import RunReport, TableReport

ROOT = Path(__file__).parents[2]
SOURCES = [(ROOT / "job" / "dms_iceberg" / "runs" / name).read_text("utf-8") for name in ("run.py", "apply.py")]
MODULE = ROOT / "terraform" / "modules" / "observability"
FIELD = re.compile(r"\$\.([A-Za-z_]+)")


def logged() -> dict[str, set[str]]:
    """The fields of every event that a run logs. `bind` is followed by hand: it adds table and run_id."""
    found = {}
    for node in (node for source in SOURCES for node in ast.walk(ast.parse(source))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in {"info", "error"} and node.args:
            event = node.args[0]
            assert isinstance(event, ast.Constant)
            found[str(event.value)] = {keyword.arg or "" for keyword in node.keywords} | {"event", "level", "timestamp", "table", "run_id"}
    return found


def metrics() -> dict[str, dict[str, str]]:
    local: dict[str, Any] = {}
    for block in hcl2.loads((MODULE / "metrics.tf").read_text("utf-8"))["locals"]:
        local |= block
    found = local["job_metrics"]
    return {name: {key: json.loads(text) for key, text in one.items()} for name, one in found.items() if not name.startswith("__")}


@pytest.mark.parametrize("name", sorted(metrics()))
def test_counted_lines_exist_with_these_fields(name: str) -> None:
    metric = metrics()[name]
    fields = set(FIELD.findall(metric["pattern"] + " " + metric["value"]))
    event = re.search(r'\$\.event = "(\w+)"', metric["pattern"])
    if event:
        assert fields <= logged()[event[1]]
    else:
        assert name == "FinishedRuns"


def test_report_is_the_line_without_event() -> None:
    pattern = metrics()["FinishedRuns"]["pattern"]
    assert "($.event NOT EXISTS)" in pattern
    report = RunReport("0a", {"public.t": TableReport(table="public.t", target="s.t")}, 1.5).to_document()
    assert set(FIELD.findall(pattern)) - {"event"} <= set(report)
    assert "event" not in report
    assert isinstance(report["run_id"], str)
    assert report["seconds"] >= 0
    # Only the report has all of that: every other line is an event.
    assert all("event" in fields for fields in logged().values())
