"""Rebuilds that are killed, given up or overtaken by runs: readers see the old content or the new, and what is left over is told of."""

import signal
from collections.abc import Callable

import pyarrow as pa
import pytest

from dms_iceberg.context import RunRequest
from dms_iceberg.loads import rebuild
from dms_iceberg.loads.rebuild import is_rebuilding
from dms_iceberg.runs import plan
from dms_iceberg.runs.run import run
from dms_iceberg.silver.table import TargetTable
from support.crash_process import JobProcess
from support.lake import Lake
from support.text_files import cdc_name

T1 = "20260301100100"
PERSON = [("id", pa.int64()), ("email", pa.string()), ("amount", pa.int32())]


@pytest.mark.release
def test_killed_during_a_rebuild(lake: Lake) -> None:
    points = ("after-quarantine", "before-publish", "before-switch", "after-switch")
    tables = {point: f"t_{point.replace('-', '_')}" for point in points}
    before = {"rules": [{"name": "small", "expr": "amount < 3"}]}
    after = {"rules": [{"name": "tiny", "expr": "amount < 2"}], "columns": [{"name": "email", "mask": "redact"}]}
    for table in tables.values():
        lake.load(f"public.{table}", PERSON, [(1, "a", 1), (2, "b", 2)])
        lake.changes(f"public.{table}", cdc_name(1), PERSON, [("U", T1, 61, 1, "A", 1), ("I", T1, 65, 3, "c", 3)])
    assert lake.run(lake.config({f"public.{table}": before for table in tables.values()})).failed == []
    names = {f"public.{table}" for table in tables.values()}
    document = lake.document(dict.fromkeys(sorted(names), after), parallelism=len(names), batch={"max_files": 1})
    kill_at = [f"{point}@public.{table}" for point, table in tables.items()]
    with JobProcess(document, lake.folder, kill_at, [word for name in sorted(names) for word in ("--rebuild", name)]) as job:
        assert job.wait() == -signal.SIGKILL, job.text()
    old, new = [(1, "A"), (2, "b")], [(1, "***")]
    for point, table in tables.items():
        assert lake.rows(table, "id, email") == (new if point == "after-switch" else old), point
    config = lake.config(dict.fromkeys(names, after), parallelism=len(names), batch={"max_files": 1})
    report = run(lake.spark, config, request=RunRequest(rebuild=frozenset(names)))
    assert report.failed == []
    for table in tables.values():
        assert lake.rows(table, "id, email") == new
        assert lake.quarantine(table, "reason, detail, key") == [("rule", "tiny", '{"id":3}'), ("rule", "tiny", '{"id":2}')]
        assert not is_rebuilding(TargetTable(lake.spark, "lake", f"{lake.namespace}.{table}"))


@pytest.fixture
def before_switch(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], None]:
    """`before_switch(action)`: something is done whenever a rebuild is about to be published."""

    def arm(action: Callable[[], None]) -> None:
        monkeypatch.setattr(rebuild, "failpoint", lambda point, _table="": action() if point == "before-switch" else None)

    return arm


@pytest.mark.long
def test_branches_of_rebuilds_that_nobody_went_on_with(lake: Lake, before_switch: Callable[[Callable[[], None]], None]) -> None:
    """They are told of, and go when another rebuild begins, or another load is the content."""
    columns = {"columns": [{"name": "email", "mask": "redact"}]}
    lake.enter(1)
    lake.load("public.t", PERSON, [(1, "a", 1)])
    lake.run_one(lake.config({"public.t": {}}))
    name = "dms_iceberg_rebuild_20260101000000000_1000_0123456789ab"

    def leave() -> None:
        lake.spark.sql(f"ALTER TABLE lake.{lake.namespace}.t CREATE BRANCH {name}")

    leave()
    (warning,) = lake.run_one(lake.config({"public.t": {}})).warnings
    assert "begun on 20260101000000" in warning and f"DROP BRANCH `{name}`" in warning
    seen: list[list[str]] = []
    before_switch(lambda: seen.append(lake.target("t").branches()))
    config = lake.config({"public.t": columns})
    report = run(lake.spark, config, request=RunRequest(rebuild=frozenset({"public.t"}))).tables["public.t"]
    assert (report.error, report.warnings, len(seen)) == (None, [], 1)
    assert len(seen[0]) == 1 and name not in seen[0]
    leave()
    lake.enter(2)
    lake.load("public.t", PERSON, [(2, "b", 1)])
    config = lake.config({"public.t": columns})
    assert run(lake.spark, config, request=RunRequest(load_complete=frozenset({"public.t"}))).failed == []
    assert (lake.rows("t", "id, email"), lake.target("t").branches()) == ([(2, "***")], [])


@pytest.mark.long
def test_a_rebuild_beside_runs_that_never_rest_ends_with_an_error(
    lake: Lake, monkeypatch: pytest.MonkeyPatch, before_switch: Callable[[Callable[[], None]], None]
) -> None:
    """Each of them merges a file that the rebuild then has to read as well: no two tries fail at the same place."""
    monkeypatch.setattr(plan, "MOST_COMPARISONS", 2)
    lake.load("public.t", PERSON, [(1, "a", 1)])
    lake.run_one(lake.config({"public.t": {}}))
    other, config = lake.spark.newSession(), lake.config({"public.t": {"columns": [{"name": "email", "mask": "redact"}]}})
    minutes = iter(range(1, 5))

    def overtake() -> None:
        minute = next(minutes)
        lake.changes("public.t", cdc_name(minute), PERSON, [("I", f"2026030110{minute:02d}00", 61, 10 + minute, "n", 1)])
        assert run(other, config).failed == []

    before_switch(overtake)
    word = RunRequest(rebuild=frozenset({"public.t"}))
    report = run(lake.spark, config, request=word).tables["public.t"]
    assert "gave up after 2 tries to publish the rebuilt content" in (report.error or "")
    assert lake.rows("t", "id, email") == [(1, "a"), (11, "***"), (12, "***")]
    before_switch(lambda: None)
    report = run(lake.spark, config, request=word).tables["public.t"]
    assert (report.error, report.batches) == (None, []), "it has all there is already"
    assert lake.rows("t", "id, email") == [(1, "***"), (11, "***"), (12, "***")]
