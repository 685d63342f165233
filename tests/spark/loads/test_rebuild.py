"""Tables that are made again from bronze after a change of configuration: one run before, one rebuild of all, and what came of each.

Then rebuilds that are killed, given up or overtaken by runs: readers see the old content or the new, and what is left over is told of.
"""

import json
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from dms_iceberg.context import RunRequest
from dms_iceberg.errors import ConfigError
from dms_iceberg.loads import rebuild
from dms_iceberg.loads.rebuild import is_rebuilding
from dms_iceberg.runs import plan
from dms_iceberg.runs.preview import TablePreview, preview
from dms_iceberg.runs.report import RunReport
from dms_iceberg.runs.run import run
from dms_iceberg.runs.status import TableStatus, table_statuses
from dms_iceberg.silver.memory.key import KEY_PROPERTY
from dms_iceberg.silver.table import TargetTable
from support.crash_process import JobProcess
from support.lake import Lake
from support.shifted import COLUMNS, write
from support.text_files import cdc_name

pytestmark = pytest.mark.long

T1, T2, T3 = "20260301100100", "20260301100200", "20260301100300"
ID = ("id", pa.int64())
PERSON = [ID, ("email", pa.string()), ("amount", pa.int32())]
NOTED = [*PERSON, ("note", pa.string())]

BEFORE: dict[str, dict[str, Any]] = {
    "public.masked": {},
    "public.filtered": {"rules": [{"name": "small", "expr": "amount < 3"}]},
    "public.rekeyed": {},
    "public.blind": {},
    "public.completed": {"rules": [{"name": "small", "expr": "amount < 3"}], "drop": ["extra"]},
    "public.soft": {"mode": "soft_delete"},
    "public.versions": {"mode": "history"},
    "public.log": {"mode": "append"},
    "public.expired": {},
    "public.torn": {},
    "public.unknown_rows": {},
}
KEPT = {"name": "note", "null_in_update": "keep"}
AFTER: dict[str, dict[str, Any]] = {
    "public.masked": {"columns": [{"name": "email", "mask": "redact"}, {"name": "twice", "expr": "amount * 2", "type": "bigint"}]},
    "public.filtered": {"filter": "id <> 2", "rules": [{"name": "tiny", "expr": "amount < 2"}]},
    "public.rekeyed": {"key": ["id", "email"]},
    "public.blind": {"key": ["id", "email"]},
    "public.completed": {"columns": [KEPT, {"name": "extra", "backfill": 7}]},
    "public.soft": {"mode": "soft_delete", "columns": [{"name": "email", "mask": "redact"}]},
    "public.versions": {"mode": "history", "columns": [{"name": "email", "mask": "redact"}]},
    "public.log": {"mode": "append", "columns": [{"name": "email", "mask": "redact"}]},
    "public.expired": {"columns": [{"name": "email", "mask": "redact"}]},
    "public.torn": {"columns": [{"name": "email", "mask": "redact"}]},
    "public.unknown_rows": {"columns": [{"name": "email", "mask": "redact"}]},
}
PLANNED = ("public.masked", "public.expired", "public.torn")
REFUSED = ("public.expired", "public.torn", "public.unknown_rows", "public.blind")


def write_before(lake: Lake) -> None:
    for table in BEFORE:
        if table == "public.completed":
            lake.load(table, NOTED, [(1, "a", 1, "x"), (2, "b", 2, "y")])
            lake.changes(table, cdc_name(1), NOTED, [("U", T1, 61, 1, "A", 9, "z"), ("I", T1, 65, 3, "c", 1, "w")])
            rows = [("U", T2, 77, 1, "AA", 1, None, 8), ("I", T2, 81, 5, "e", 1, "v", None)]
            lake.changes(table, cdc_name(2), [*NOTED, ("extra", pa.int32())], rows)
            continue
        lake.load(table, PERSON, [(1, "a", 1), (2, "b", 2)])
        rows = [("U", T1, 61, 1, "A", 1), ("I", T1, 65, 3, "c", 3), ("I", T1, 69, 4, "d", 1)]
        gone = None if table == "public.blind" else "d"
        lake.changes(table, cdc_name(1), PERSON, [*rows, ("D", T1, 73, 4, gone, None)])


def write_after(lake: Lake) -> None:
    """A change that no run has seen yet: a rebuild comes as far as the table was, and the same run goes on from there."""
    for table in ("public.masked", "public.filtered"):
        lake.changes(table, cdc_name(3), PERSON, [("I", T3, 77, 5, "e", 1)])
    (lake.bronze / "public" / "expired" / "LOAD00000001.parquet").unlink()
    (lake.bronze / "public" / "torn" / cdc_name(1)).unlink()
    name = f"lake.{lake.namespace}.unknown_rows"
    lake.spark.sql(f"INSERT INTO {name} SELECT 99, email, amount, _cdc_position, _cdc_op, _cdc_committed_at FROM {name} WHERE id = 1")


@attrs.frozen
class Rebuilt:
    lake: Lake
    old: dict[str, list[tuple[Any, ...]]]
    statuses: dict[str, TableStatus]
    plans: dict[str, TablePreview]
    report: RunReport

    def rows(self, table: str, columns: str = "id, email, amount", *, missing: int = 0) -> list[tuple[Any, ...]]:
        one = self.report.tables[f"public.{table}"]
        assert one.error is None
        assert [f"lacks {missing} key" in warning for warning in one.warnings] == ([True] if missing else []), one.warnings
        for batch in one.batches:
            assert batch.rows_read == batch.applied + batch.superseded + batch.stale + batch.filtered + batch.quarantined
        assert TargetTable(self.lake.spark, "lake", f"{self.lake.namespace}.{table}").branches() == []
        return self.lake.rows(table, columns)


@pytest.fixture(scope="module")
def rebuilt(spark: SparkSession, warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rebuilt]:
    lake = Lake(spark, warehouse, tmp_path_factory.mktemp("rebuilt"))
    write_before(lake)
    assert lake.run(lake.config(BEFORE)).failed == []
    write_after(lake)
    old = {table: lake.rows(table.split(".")[1], "id, email") for table in REFUSED}
    after = lake.config(AFTER, batch={"max_files": 1})
    statuses = {one.table: one for one in table_statuses(spark, after)}
    plans = {one.table: one for one in preview(spark, after, PLANNED, RunRequest(rebuild=frozenset(PLANNED)))}
    yield Rebuilt(lake, old, statuses, plans, run(spark, after, request=RunRequest(rebuild=frozenset(AFTER))))


def test_a_mask_and_a_new_column_reach_every_row(rebuilt: Rebuilt) -> None:
    rows = [(1, "***", 1, 2), (2, "***", 2, 4), (3, "***", 3, 6), (5, "***", 1, 2)]
    assert rebuilt.rows("masked", "id, email, amount, twice") == rows
    one = rebuilt.report.tables["public.masked"]
    assert [batch.rows_read for batch in one.batches] == [2, 4, 1]
    table = TargetTable(rebuilt.lake.spark, "lake", f"{rebuilt.lake.namespace}.masked")
    assert len(list(table.lineage())) >= 6, "the old content is an ancestor"


def test_what_the_configuration_of_now_differs_in_is_told_until_the_rebuild(rebuilt: Rebuilt) -> None:
    (warning,) = rebuilt.statuses["public.masked"].warnings
    assert "made with another configuration of column email. " in warning and "--rebuild public.masked" in warning
    (warning,) = rebuilt.statuses["public.filtered"].warnings
    assert "of the filter, rule small, rule tiny. " in warning
    after = rebuilt.lake.config(AFTER)
    assert [one.warnings for one in table_statuses(rebuilt.lake.spark, after, ["public.masked", "public.filtered"])] == [[], []]


def test_plan_shows_what_is_read_again(rebuilt: Rebuilt) -> None:
    plan = rebuilt.plans["public.masked"]
    assert (plan.files, plan.rebuilt_files, plan.rows, plan.error, plan.warnings) == (3, 2, 7, None, [])
    assert plan.sql == rebuilt.report.tables["public.masked"].ddl
    for table in REFUSED[:2]:
        assert "no longer has all that it was made of" in (rebuilt.plans[table].error or "")


def test_rows_and_quarantine_follow_the_filter_and_the_rules_of_now(rebuilt: Rebuilt) -> None:
    assert rebuilt.rows("filtered", missing=1) == [(1, "A", 1), (5, "e", 1)]
    assert rebuilt.lake.quarantine("filtered", "reason, detail, key") == [("rule", "tiny", '{"id":3}')]


def test_another_key(rebuilt: Rebuilt) -> None:
    assert sorted(rebuilt.rows("rekeyed")) == [(1, "A", 1), (1, "a", 1), (2, "b", 2), (3, "c", 3)]
    properties = dict(rebuilt.lake.spark.sql(f"SHOW TBLPROPERTIES lake.{rebuilt.lake.namespace}.rekeyed").collect())
    assert properties[KEY_PROPERTY] == '["id","email"]'


def test_columns_that_updates_leave_out_are_taken_from_changes_that_were_rejected_before(rebuilt: Rebuilt) -> None:
    rows = rebuilt.rows("completed", "id, email, amount, note, extra")
    assert rows == [(1, "AA", 1, "z", 8), (2, "b", 2, "y", 7), (3, "c", 1, "w", 7), (5, "e", 1, "v", None)]
    config = rebuilt.lake.config({"public.completed": AFTER["public.completed"]})
    assert rebuilt.lake.open_quarantine(config, "completed") == []
    # A NULL of the source's own stays one.
    assert rebuilt.lake.run_one(config).ddl == []
    assert rebuilt.rows("completed", "id, email, amount, note, extra") == rows


def test_what_a_rebuild_brought_from_quarantine_is_open_again_after_a_rollback(rebuilt: Rebuilt) -> None:
    config, name = rebuilt.lake.config({"public.completed": AFTER["public.completed"]}), f"{rebuilt.lake.namespace}.completed"
    old = f"SELECT snapshot_id FROM lake.{name}.history WHERE NOT is_current_ancestor ORDER BY made_current_at DESC"
    ((before, *_), *_) = rebuilt.lake.spark.sql(old).collect()
    [(head,)] = rebuilt.lake.spark.sql(f"SELECT snapshot_id FROM lake.{name}.refs WHERE name = 'main'").collect()
    rebuilt.lake.spark.sql(f"CALL lake.system.set_current_snapshot('{name}', {before})")
    assert rebuilt.lake.open_quarantine(config, "completed") == [("rule", "small")]
    rebuilt.lake.spark.sql(f"CALL lake.system.set_current_snapshot('{name}', {head})")
    assert rebuilt.lake.open_quarantine(config, "completed") == []


def test_modes_that_keep_more_than_the_current_state(rebuilt: Rebuilt) -> None:
    assert rebuilt.rows("soft", "id, email, _cdc_deleted") == [
        (1, "***", False),
        (2, "***", False),
        (3, "***", False),
        (4, "***", True),
    ]
    versions = rebuilt.rows("versions", "id, email, _is_current, _valid_to IS NULL")
    assert sorted(versions) == [
        (1, "***", False, False),
        *((n, "***", True, True) for n in (1, 2, 3)),
        (4, "***", False, False),
    ]
    assert sorted(rebuilt.rows("log", "id, _cdc_op, coalesce(email, '')")) == [
        (1, "I", "***"),
        (1, "U", "***"),
        (2, "I", "***"),
        (3, "I", "***"),
        (4, "D", ""),
        (4, "I", "***"),
    ]


@pytest.mark.parametrize(
    ("table", "part"),
    [
        ("expired", "files of the full load are missing"),
        ("torn", "change files from 2026-03-01T"),
        ("blind", "1 deletes were quarantined, so deleted rows would be there again"),
        ("unknown_rows", "it lacks 1 keys that the table has, and only 0 rows were filtered or quarantined"),
    ],
)
def test_a_rebuild_that_would_lose_rows_is_refused(rebuilt: Rebuilt, table: str, part: str) -> None:
    assert part in (rebuilt.report.tables[f"public.{table}"].error or "")
    assert rebuilt.lake.rows(table, "id, email") == rebuilt.old[f"public.{table}"]


def test_names_of_tables_to_rebuild_are_checked(lake: Lake) -> None:
    config = lake.config({"public.t": {}, "public.other": {}})
    with pytest.raises(ConfigError, match=r"public\.tt.*did you mean"):
        run(lake.spark, config, request=RunRequest(rebuild=frozenset({"public.tt"})))
    with pytest.raises(ConfigError, match="not among the tables chosen with --table"):
        preview(lake.spark, config, ["public.t"], RunRequest(rebuild=frozenset({"public.other"})))
    # Nothing is merged that could be read again.
    assert run(lake.spark, config, request=RunRequest(rebuild=frozenset({"public.t"}))).tables["public.t"].error is None


def test_a_table_rolled_back_past_a_rebuild_knows_what_its_rows_were_made_with(lake: Lake) -> None:
    old = lake.config({"public.t": {}})
    new = lake.config({"public.t": {"key": ["id", "email"], "columns": [{"name": "amount", "expr": "amount * 2"}]}})
    lake.load("public.t", PERSON, [(1, "a", 1), (2, "b", 2)])
    lake.run_one(old)
    first = lake.target("t").head()
    assert run(lake.spark, new, request=RunRequest(rebuild=frozenset({"public.t"}))).failed == []
    rebuilt = lake.target("t").head()
    assert first is not None and rebuilt is not None

    def turn(snapshot: int) -> None:
        lake.spark.sql(f"CALL lake.system.set_current_snapshot('{lake.namespace}.t', {snapshot})")

    turn(first.id)
    assert "the key in silver is now id, email" in (lake.run_one(new, fails=True).error or "")
    assert lake.run_one(old).warnings == []
    turn(rebuilt.id)
    assert "the key in silver is now id, but" in (lake.run_one(old, fails=True).error or "")
    assert lake.run_one(new).warnings == []
    turn(first.id)
    lake.changes("public.t", cdc_name(1), NOTED, [("U", T1, 61, 1, "a", 9, "new column")])
    assert lake.run_one(old).warnings == []
    assert lake.rows("t", "id, amount, note") == [(1, 9, "new column"), (2, 2, None)]
    # Written on, the line of the rebuild is given up.
    assert json.loads(lake.target("t").properties()[KEY_PROPERTY]) == ["id"]
    assert lake.run_one(old).warnings == []


def test_a_rebuild_that_reads_a_repair_closes_all_that_it_judged(lake: Lake) -> None:
    """The repair resolves a row on the branch. The others stayed open, so a late change of their key won over one that is filtered now."""
    rule = {"name": "good", "expr": "v <> 'x'"}
    old = lake.config({"public.t": {"rules": [rule]}}, batch={"max_files": 1})
    lake.load("public.t", COLUMNS, [(2, "b"), (3, "c")])
    write(lake, "public.t", 1, [("I", (1, "a"), None)])
    # With images of keys alone the second update does not identify its row.
    write(lake, "public.t", 2, [("U", (3, "b"), (2, "b")), ("U", (4, "c"), (3, "c"))], images=False, at="2026030110020000")
    write(lake, "public.t", 5, [("U", (1, "x"), None)], at="2026030110050000")
    assert lake.run_one(old).quarantined == 2
    repair = [("D", (2, None), None), ("U", (3, "b"), None), ("U", (4, "c"), None)]
    write(lake, "public.t", 7, repair, images=False, at="2026030110070000", folder="_repair")
    lake.run_one(old)
    assert lake.open_quarantine(old, "t", "reason, key") == [("rule", '{"id":1}')]
    new = lake.config({"public.t": {"filter": "v <> 'x'"}}, batch={"max_files": 1})
    assert run(lake.spark, new, request=RunRequest(rebuild=frozenset({"public.t"}))).failed == []
    assert lake.open_quarantine(new, "t") == []
    write(lake, "public.t", 3, [("U", (1, "late"), None)], at="2026030110030000")
    lake.run_one(new)
    assert lake.rows("t", "id, v") == [(3, "b"), (4, "c")]


def test_a_rebuild_leaves_open_what_it_did_not_read(lake: Lake) -> None:
    """Rows of a batch that was rolled back come again, under the same ids; a row that a file has lost is in the quarantine alone."""
    rule = {"rules": [{"name": "small", "expr": "amount < 3"}]}
    old, new = (lake.config({f"public.{name}": one for name in ("back", "again")}) for one in (rule, {**rule, "filter": "id < 100"}))
    names = frozenset({"public.back", "public.again"})
    for table in sorted(names):
        lake.load(table, PERSON, [(1, "a", 1), (2, "b", 2)])
        lake.changes(table, cdc_name(1), PERSON, [("I", T1, 61, 3, "c", 1), ("I", T1, 65, 4, "bad", 9), ("I", T1, 69, 5, "mended", 9)])
    assert lake.run(old).failed == []
    first = lake.target("back").head()
    lake.changes("public.back", cdc_name(2), PERSON, [("I", T2, 61, 6, "worse", 9), ("I", T2, 65, 7, "e", 1)])
    lake.changes("public.again", cdc_name(1), PERSON, [("I", T1, 61, 3, "c", 1), ("I", T1, 69, 5, "mended", 1)])
    assert lake.run(old).failed == []
    assert first is not None
    assert lake.open_quarantine(old, "again", "key") == [('{"id":4}',)]
    lake.spark.sql(f"CALL lake.system.rollback_to_snapshot('{lake.namespace}.back', {first.id})")
    assert run(lake.spark, new, request=RunRequest(rebuild=names)).failed == []
    assert lake.rows("back", "id") == [(1,), (2,), (3,), (7,)]
    assert lake.rows("again", "id") == [(1,), (2,), (3,), (5,)]
    assert lake.open_quarantine(new, "back", "key") == [(f'{{"id":{one}}}',) for one in (4, 5, 6)]
    assert lake.open_quarantine(new, "again", "key") == [('{"id":4}',)]


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
    assert "begun at 2026-01-01T00:00:00Z" in warning and f"DROP BRANCH `{name}`" in warning
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
