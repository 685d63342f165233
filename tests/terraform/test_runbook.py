"""Each alarm has a paragraph in the runbook and a row in the module's table, and no paragraph or row is of an alarm that is not made."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
MODULE = ROOT / "terraform" / "modules" / "observability"
RULES = {"job-state", "replication-state"}
"""Notifications that are messages of a rule, not alarms."""


def made() -> set[str]:
    """The alarms of the module, as they stand in its code."""
    return set(re.findall(r"^ +([a-z-]+) += merge\(\s*local\.counted", (MODULE / "alarms.tf").read_text("utf-8"), re.MULTILINE))


def runbook() -> dict[str, str]:
    """What the section "Alarms" says, by its headings, which are the anchors."""
    [section] = re.findall(r"^## Alarms\n(.*?)(?=^## )", (ROOT / "docs" / "operations.md").read_text("utf-8"), re.MULTILINE | re.DOTALL)
    return dict(re.findall(r"^### (\S+)\n\n(.*?)(?=^### |\Z)", section, re.MULTILINE | re.DOTALL))


def test_each_notification_has_a_paragraph() -> None:
    assert len(made()) > 15, "the search finds them"
    assert set(runbook()) == made() | RULES
    assert [name for name, text in runbook().items() if len(text.split()) < 15] == []


def test_rules_name_their_paragraph() -> None:
    named = set(re.findall(r"\$\{var\.runbook\}#([a-z-]+)", (MODULE / "alarms.tf").read_text("utf-8")))
    assert named == RULES


def test_alarms_name_their_own() -> None:
    """So the anchor is the alarm's kind."""
    assert "What to do: ${var.runbook}#${each.key}" in (MODULE / "alarms.tf").read_text("utf-8")


def test_a_headings_anchor_is_the_only_one_of_its_name() -> None:
    """GitHub numbers a second heading of a name, and the link would lead to the first."""
    headings = re.findall(r"^#+ (.+)$", (ROOT / "docs" / "operations.md").read_text("utf-8"), re.MULTILINE)
    assert [name for name in runbook() if headings.count(name) != 1] == []


def test_the_module_lists_all_of_them() -> None:
    rows = re.findall(r"^\| (`[a-z-]+`(?:, `[a-z-]+`)*) \| [^|]+ \| [^|]+ \|$", (MODULE / "README.md").read_text("utf-8"), re.MULTILINE)
    assert {name for row in rows for name in re.findall(r"`([a-z-]+)`", row)} == made() | RULES


def test_any_of_them_can_be_left_out() -> None:
    [allowed] = re.findall(r"setsubtract\(\s*var\.disabled_alarms,\s*\[(.*?)\]", (MODULE / "variables.tf").read_text("utf-8"), re.DOTALL)
    assert set(re.findall(r'"([a-z-]+)"', allowed)) == made() | RULES
