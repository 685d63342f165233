"""A table of rows that is made of change files alone lacks what has not changed: it is said, until somebody says that it is meant so."""

from typing import Any

import pyarrow as pa
import pytest

from dms_iceberg.context import NO_REQUEST, RunRequest
from dms_iceberg.runs.preview import preview
from dms_iceberg.runs.run import run
from dms_iceberg.runs.status import table_statuses
from support.confirming import confirming
from support.lake import Lake

ID_V = [("id", pa.int64()), ("v", pa.string())]
SAID = "no file of a full load was merged or is in bronze"


def cdc(number: int) -> str:
    return f"2026/03/01/10/20260301-1005{number:02d}000.parquet"


def change(lake: Lake, table: str, number: int) -> None:
    lake.changes(f"public.{table}", cdc(number), ID_V, [("I", f"202603011001{number:02d}", number, number, "a")])


def said(lake: Lake, config: Any, request: RunRequest = NO_REQUEST) -> dict[str, set[str]]:
    """Which tables are warned about, by what says it; the run comes last."""
    planned = preview(lake.spark, config, request=request)
    status = table_statuses(lake.spark, config)
    assert not [one.error for one in planned if one.error]
    report = run(lake.spark, config, request=request)
    assert report.errors == {}
    found = {"plan": planned, "status": status, "run": list(report.tables.values())}
    return {
        where: {one.table.removeprefix("public.") for one in reports if any(SAID in text for text in one.warnings)}
        for where, reports in found.items()
    }


def test_a_table_without_a_load_is_reported_until_it_is_said_to_be_complete(lake: Lake) -> None:
    entries = {"mirror": {}, "soft": {"mode": "soft_delete"}, "versions": {"mode": "history"}, "log": {"mode": "append"}}
    others = {name: {} for name in ("empty", "lost", "loaded", "told")}
    config = lake.config({f"public.{name}": entry for name, entry in {**entries, **others}.items()})
    for name in (*entries, *others):
        change(lake, name, 1)
    empty = lake.reported("public.empty")
    lake.reported("public.lost", 7)
    load = lake.load("public.loaded", ID_V, [(7, "x")])
    without = {"mirror", "soft", "versions", "lost", "told"}
    assert said(lake, config) == {"plan": without, "status": without, "run": without}
    (lost,) = (one for one in preview(lake.spark, config, ["public.lost"]))
    assert "lost.json says that 7 rows were loaded" in " ".join(lost.warnings)
    # A lifecycle rule removes the load that was merged.
    load.unlink()
    empty.unlink()
    change(lake, "loaded", 2)
    # Nothing has come, and a batch comes with the word.
    change(lake, "soft", 2)
    word = RunRequest(frozenset({"public.told", "public.soft"}))
    (plan,) = preview(lake.spark, config, ["public.told"], RunRequest(frozenset({"public.told"})))
    assert plan.steps == ["record its load as complete"]
    rest = {"mirror", "versions", "lost"}
    assert said(lake, config, word) == {"plan": rest, "status": rest | {"told", "soft"}, "run": rest}
    assert said(lake, config) == {"plan": rest, "status": rest, "run": rest}


@pytest.mark.long
def test_a_rebuild_and_a_truncate_keep_what_is_known(lake: Lake) -> None:
    config = lake.config({"public.t": {}, "public.u": {}})
    for name in "tu":
        change(lake, name, 1)
    run(lake.spark, config, request=RunRequest(frozenset({"public.t"})))
    rebuild = RunRequest(rebuild=frozenset({"public.t"}))
    assert not run(lake.spark, config, ["public.t"], request=rebuild).tables["public.t"].warnings
    truncate = RunRequest(truncate=frozenset({"public.u"}), truncated_at="20260301100200000")
    assert confirming(lambda told: run(lake.spark, config, ["public.u"], request=told), truncate).errors == {}
    assert said(lake, config) == {"plan": set(), "status": set(), "run": set()}
