"""`plan` names what a run then does to a table, action by action."""

import os
from collections import defaultdict
from typing import Any

import pyarrow as pa
import pytest

from dms_iceberg.bronze.keys import time_of
from dms_iceberg.context import RunRequest
from dms_iceberg.runs import run as run_module
from dms_iceberg.runs.preview import preview
from dms_iceberg.runs.run import run
from dms_iceberg.runs.wording import words
from support.lake import Lake
from support.text_files import cdc_name

COLUMNS = [("id", pa.int64()), ("email", pa.string()), ("amount", pa.int32())]
T1, T2, AT = "20260301100100", "20260301100200", "20260301100230000"
LEFT = "dms_iceberg_rebuild_20260101000000000_1000_0123456789ab"
BEFORE: dict[str, dict[str, Any]] = {"public.made_again": {"rules": [{"name": "small", "expr": "amount < 2"}]}, "public.altered": {}}
AFTER: dict[str, dict[str, Any]] = {
    "public.made_again": {},
    "public.altered": {"mode": "soft_delete", "columns": [{"name": "mail", "from": "email", "renamed_from": "email"}]},
    "public.fresh": {},
}
STEPS = {
    "public.made_again": [
        "record in bronze the truncate at 2026-03-01T10:02:30Z",
        f"remove what was built with another configuration ({LEFT})",
        "merge a batch for the rebuild",
        "merge a batch for the rebuild",
        "resolve the quarantined rows that the rebuild did not reject again",
        "check and publish the rebuild",
        "apply the truncate at 2026-03-01T10:02:30Z",
    ],
    "public.altered": ["rename columns", "switch the mode", "add or widen columns", "merge a batch"],
    "public.fresh": ["create the table and merge a batch"],
}


def test_plan_names_the_actions_of_a_run_in_their_order(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    for table in AFTER:
        path = lake.load(table, COLUMNS, [(1, "a", 1), (2, "b", 2)])
        written = time_of("20260301100000000").timestamp()
        os.utime(path, (written, written))
    lake.changes("public.made_again", cdc_name(1), COLUMNS, [("U", T1, 61, 1, "A", 1), ("I", T1, 65, 3, "c", 2)])
    assert lake.run(lake.config(BEFORE)).failed == []
    lake.spark.sql(f"ALTER TABLE lake.{lake.namespace}.made_again CREATE BRANCH {LEFT}")
    lake.changes("public.altered", cdc_name(2), [*COLUMNS, ("note", pa.string())], [("U", T2, 69, 1, "A", 1, "new")])
    config, name = lake.config(AFTER), frozenset({"public.made_again"})
    request = RunRequest(truncate=name, truncated_at=AT, rebuild=name, confirm_rows={"public.made_again": 1})
    planned = {one.table: one for one in preview(lake.spark, config, request=request)}
    assert {table: (one.steps, one.error) for table, one in planned.items()} == {table: (steps, None) for table, steps in STEPS.items()}

    done, apply = defaultdict[str, list[str | None]](list), run_module.apply
    monkeypatch.setattr(
        run_module, "apply", lambda here, state, action: done[here.table.source].append(words(action)) or apply(here, state, action)
    )
    assert run(lake.spark, config, request=request).failed == []
    assert {table: [text for text in texts if text is not None] for table, texts in done.items()} == STEPS
    assert lake.open_quarantine(config, "made_again") == []
    assert [one.steps for one in preview(lake.spark, config)] == [[], [], []]
