"""Quarantined rows tried again: in their right order, as often as one likes, and seen by nobody who may not see them.

A replay that is killed is done again: nothing is lost, nothing counts twice.
"""

import hashlib
import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import structlog

from dms_iceberg.cli.app import main
from dms_iceberg.config.model import Config
from dms_iceberg.context import RunContext
from dms_iceberg.progress.progress import Progress
from dms_iceberg.quarantine.listing import list_quarantine
from dms_iceberg.quarantine.open_count import count_open
from dms_iceberg.quarantine.rejected_rows import open_rows
from dms_iceberg.runs.replay import replay
from dms_iceberg.runs.report import RunReport
from dms_iceberg.runs.status import table_statuses
from dms_iceberg.silver.table import TargetTable
from dms_iceberg.silver.table_context import TableContext
from dms_iceberg.storage.open_store import open_store
from support.crash_books import check_books, snapshot_ids
from support.crash_process import JobProcess
from support.lake import Lake

pytestmark = pytest.mark.long

ID_V = [("id", pa.int64()), ("v", pa.string()), ("n", pa.int32())]
T1, T2, T3, T4 = "20260301100100", "20260301100200", "20260301100300", "20260301100400"
STRICT = {"rules": [{"name": "positive", "expr": "n >= 0"}]}


def cdc(minute: int) -> str:
    return f"2026/03/01/10/20260301-10{minute:02d}30000.parquet"


@pytest.fixture(autouse=True)
def _logs_as_before() -> Iterator[None]:
    yield
    structlog.reset_defaults()


def run(lake: Lake, config: Config) -> None:
    errors = {name: one.error for name, one in lake.run(config).tables.items() if one.error}
    assert not errors, errors


def again(lake: Lake, config: Config, *reasons: str) -> RunReport:
    report = replay(lake.spark, config, (), reasons)
    for one in report.tables.values():
        assert one.error is None, one.error
        for batch in one.batches:
            assert batch.rows_read == batch.applied + batch.superseded + batch.stale + batch.filtered + batch.quarantined, batch
    return report


def books(report: RunReport, table: str) -> tuple[int, ...]:
    """Rows read, applied, superseded, stale, filtered, still in quarantine."""
    one = report.tables[f"public.{table}"]
    return one.rows_read, one.applied, one.superseded, one.stale, one.filtered, one.quarantined


def counted(lake: Lake, config: Config) -> dict[str, tuple[int, int]]:
    """Open rows, and keys they belong to, as `status` counts them; a run counts the same without Spark, or not at all."""
    context = RunContext(lake.spark, config, open_store(config.bronze.uri), "test")
    for one in table_statuses(lake.spark, config):
        assert count_open(TableContext.of(context, config.tables[one.table])) in (one.quarantined, None), one.table
    return {one.table.split(".")[1]: (one.quarantined, one.quarantined_keys) for one in table_statuses(lake.spark, config)}


def write_ordered(lake: Lake) -> None:
    """Every way in which something else may have happened to the key of a rejected row."""
    lake.load("public.ordered", ID_V, [(1, "old", -1), (2, "gone", -1), (3, "stays", -1), (4, "good", 1), (7, "good", 1), (9, "bad", -1)])
    changes = [
        ("U", T1, 100, 1, "new", 1),
        ("U", T1, 104, 4, "newer", -4),
        ("I", T1, 108, 5, "gone too", -5),
        ("I", T1, 112, 6, "first", -6),
        ("U", T1, 116, 6, "second", -7),
        ("U", T1, 120, 8, "moved", -8, 7),
        ("U", T1, 124, 10, "moved", 1, 9),
    ]
    lake.changes("public.ordered", cdc(1), ID_V, changes)
    lake.changes("public.ordered", cdc(2), ID_V, [("D", T2, 128, 2, None, None), ("D", T2, 132, 5, None, None)])


def write_newest(lake: Lake) -> None:
    """The newest change of the table is a rejected one; a late change of its key comes after the replay."""
    lake.load("public.newest", ID_V, [(1, "a", 1)])
    lake.changes("public.newest", cdc(4), ID_V, [("U", T1, 100, 1, "b", 1), ("U", T4, 104, 1, "rejected", -1)])


def write_picked(lake: Lake) -> None:
    """Three reasons; one row has two of them."""
    lake.load("public.picked", ID_V, [(1, "ok", -1), (2, "x", 2), (3, "x", -3), (None, "ok", 4)])


@pytest.mark.release
def test_replay_keeps_the_order(lake: Lake) -> None:
    write_ordered(lake)
    write_newest(lake)
    write_picked(lake)
    odd = {"name": "known", "expr": "v <> 'x'"}
    tables = {"public.ordered": STRICT, "public.newest": STRICT, "public.picked": {"rules": [*STRICT["rules"], odd]}}
    run(lake, lake.config(tables))
    assert lake.rows("ordered", "id, v") == [(1, "new"), (4, "good"), (10, "moved")]
    assert counted(lake, lake.config(tables)) == {"ordered": (9, 8), "newest": (1, 1), "picked": (4, 4)}
    mended = lake.config({"public.ordered": {}, "public.newest": {}, "public.picked": {"rules": [odd]}})

    picked = again(lake, mended, "rule: positive", "older_clock")
    assert books(picked, "ordered") == (9, 4, 1, 4, 0, 0)
    expected = [(1, "new"), (3, "stays"), (4, "newer"), (6, "second"), (8, "moved"), (10, "moved")]
    assert lake.rows("ordered", "id, v") == expected
    assert lake.rows("newest", "id, v") == [(1, "rejected")]
    # Of a row with two reasons the other one is told now.
    assert books(picked, "picked") == (2, 1, 0, 0, 0, 1)
    assert lake.quarantine("picked") == [("rule", "positive"), ("rule", "known"), ("rule", "known"), ("null_key", "key column id is NULL")]
    assert counted(lake, mended) == {"ordered": (0, 0), "newest": (0, 0), "picked": (3, 3)}

    before = {table: lake.snapshots(table) for table in ("ordered", "newest", "picked")}
    assert books(again(lake, mended), "picked") == (3, 0, 0, 0, 0, 3)
    assert {table: lake.snapshots(table) for table in before} == before
    lake.changes("public.newest", cdc(2), ID_V, [("U", T2, 102, 1, "late", 1)])
    run(lake, mended)
    assert lake.rows("newest", "id, v") == [(1, "rejected")]

    # A rollback of silver takes the replay back, and the next one makes up for it.
    name = f"lake.{lake.namespace}.ordered"
    ids = [row[0] for row in lake.spark.sql(f"SELECT snapshot_id FROM {name}.snapshots ORDER BY committed_at").collect()]
    lake.spark.sql(f"CALL lake.system.rollback_to_snapshot(table => '{lake.namespace}.ordered', snapshot_id => {ids[-2]})")
    assert counted(lake, mended)["ordered"] == (9, 8)
    assert books(again(lake, mended), "ordered") == (9, 4, 1, 4, 0, 0)
    assert lake.rows("ordered", "id, v") == expected
    assert counted(lake, mended)["ordered"] == (0, 0)
    check_books(lake.spark, name, 15 + 9)
    # Another load replaces what the first one's quarantine holds.
    later = open_rows(lake.spark, mended, mended.tables["public.picked"], Progress(epoch=1))
    assert later is not None and later.count() == 0


def test_list_shows_keys_as_silver_has_them_and_no_other_value(
    lake: Lake, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REPLAY_SALT", "salt")
    first = hashlib.sha256(b"saltsecret-person-1").hexdigest()
    columns = [("person", pa.string()), ("email", pa.string()), ("ssn", pa.string()), ("n", pa.int32())]
    rows = [(f"secret-person-{n}", f"secret-mail-{n}", "secret-number", -n) for n in range(1, 6)]
    lake.load("public.people", columns, rows)
    lake.load("public.plain", columns, rows[:1])
    keyed: dict[str, Any] = {"key": ["person"], **STRICT, "drop": ["ssn"]}
    masked = [{"name": "person", "mask": "sha256", "mask_salt": "env:REPLAY_SALT"}, {"name": "email", "mask": "redact"}]
    document = lake.document({"public.people": {**keyed, "columns": masked}, "public.plain": keyed})
    path = Path(lake.folder) / "people.json"
    path.write_text(json.dumps(document))
    assert command("run", path) == 0
    capsys.readouterr()
    assert command("quarantine", "list", path) == 0
    shown = capsys.readouterr().out
    assert f'    {{"person":"{first}"}}: insert, row 1 of public/people/LOAD00000001.parquet' in shown
    assert "public.people: 5 open rows\n  rule: positive\n    5 rows of 5 keys" in shown
    assert '{"person":"secret-person-1"}: insert' in shown
    assert "mail" not in shown and "number" not in shown and shown.count("secret") == 1

    # The mask was declared after the row was rejected: the stored key is older than it.
    document["tables"]["public.plain"]["columns"] = masked
    path.write_text(json.dumps(document))
    assert command("quarantine", "list", path, "--json", "--examples", "1", "--table", "public.plain") == 0
    shown = capsys.readouterr().out
    assert "secret" not in shown
    (group,) = json.loads(shown)["tables"]["public.plain"]["reasons"]
    assert (group["reason"], group["detail"], group["rows"], group["keys"]) == ("rule", "positive", 1, 1)
    assert group["examples"] == [{"key": '{"person":"(hidden)"}', "op": "I", "file": "public/plain/LOAD00000001.parquet", "row": 0}]

    for table in document["tables"].values():
        table["rules"] = []
    path.write_text(json.dumps(document))
    assert command("quarantine", "replay", path, "--json", "--table", "public.people") == 0
    report = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert report["tables"]["public.people"]["applied"] == 5 and "run_id" not in report
    assert (first, "***", -1) in lake.rows("people", "person, email, n")
    assert command("quarantine", "list", path, "--table", "public.people") == 0
    assert capsys.readouterr().out == "no row is in quarantine\n"


def command(*words: object) -> object:
    with pytest.raises(SystemExit) as ended:
        main([*map(str, words)])
    return ended.value.code or 0


def test_rows_of_text_files_that_are_ordered_by_time_alone(lake: Lake) -> None:
    """Their place in the order has the number that another reading of the file gives in another way."""
    change = {"sequence_column": None, "before_image_prefix": None}
    json_lines = {"bronze": {"format": "json", "change": change}}

    def write(name: str, rows: list[tuple[str, str, int | None, str | None]]) -> None:
        lines = [json.dumps({"Op": op, "dms_commit_ts": at, "id": key, "v": v}) for op, at, key, v in rows]
        lake.path("public.t", name).write_text("\n".join(lines) + "\n")

    write("LOAD00000001.json", [("I", "2026-03-01 10:00:00.000000", 1, "a")])
    one, two = "2026-03-01 10:01:00.000000", "2026-03-01 10:02:00.000000"
    write("20260301-100130000.json", [("I", one, 8, "x"), ("U", one, 1, "bad"), ("I", one, 2, "bad"), ("I", one, 3, "bad")])
    write("20260301-100230000.json", [("D", two, 2, None), ("U", two, 3, "later")])
    columns = [{"name": "id", "type": "bigint"}]
    strict = {"columns": columns, "rules": [{"name": "good", "expr": "v <> 'bad'"}]}
    run(lake, lake.config({"public.t": strict}, **json_lines))
    assert lake.rows("t", "id, v") == [(1, "a"), (3, "later"), (8, "x")]
    mended = lake.config({"public.t": {"columns": columns}}, **json_lines)
    assert books(again(lake, mended), "t") == (3, 1, 0, 2, 0, 0)
    assert lake.rows("t", "id, v") == [(1, "bad"), (3, "later"), (8, "x")]
    assert list_quarantine(lake.spark, mended)[0].rows == 0


def test_what_bronze_has_lost_is_not_needed_or_keeps_the_row_in_quarantine(lake: Lake) -> None:
    """The record is enough for the row itself; but an older change cannot be placed without the files that may delete its key."""
    lake.load("public.t", ID_V, [(1, "a", 1)])
    lost = lake.changes("public.t", cdc(1), ID_V, [("I", T1, 100, 2, "rejected", -2), ("I", T1, 104, 3, "c", 1)])
    kept = lake.changes("public.t", cdc(3), ID_V, [("U", T3, 108, 1, "A", 1), ("U", T3, 112, 3, "newest", -3)])
    run(lake, lake.config({"public.t": STRICT}))
    lost.unlink()
    mended = lake.config({"public.t": {}})
    report = again(lake, mended)
    assert books(report, "t") == (2, 1, 0, 0, 0, 1)
    assert lake.rows("t", "id, v") == [(1, "A"), (3, "newest")]
    assert lake.quarantine("t")[0][1].startswith("bronze begins at 20260301100330000")
    kept.unlink()
    assert books(again(lake, mended), "t") == (1, 0, 0, 0, 0, 1)
    assert lake.quarantine("t")[0][1].startswith("bronze has no change file left")
    target = TargetTable(lake.spark, "lake", f"{lake.namespace}.t")
    assert target.progress().frontier == "20260301100330000" == report.tables["public.t"].frontier


@pytest.mark.release
def test_change_with_an_older_clock_is_settled_only_when_its_original_has_come(lake: Lake) -> None:
    """Replayed or not, a change that nobody has seen is never dropped as stale."""
    config = lake.config({"public.t": {}})
    lake.load("public.t", ID_V, [(1, "a", 1)])
    lake.changes("public.t", cdc(3), ID_V, [("U", T3, 200, 1, "new", 1)])
    lake.changes("public.t", cdc(4), ID_V, [("U", T2, 61, 1, "older", 1)])
    run(lake, config)
    assert books(again(lake, config), "t") == (1, 0, 0, 0, 0, 1)
    assert lake.quarantine("t", "reason") == [("older_clock",)]
    lake.changes("public.t", cdc(2), ID_V, [("U", T2, 100, 1, "older", 1)])
    run(lake, config)
    assert books(again(lake, config), "t") == (1, 0, 0, 1, 0, 0)
    assert lake.rows("t", "id, v") == [(1, "new")]
    assert counted(lake, config) == {"t": (0, 0)}


def test_loaded_rows_do_not_wait_for_change_files_of_which_nothing_was_applied(lake: Lake) -> None:
    """A change that was rejected has deleted nothing."""
    lake.load("public.t", ID_V, [(1, "a", 1), (2, "b", -1)])
    lake.changes("public.t", cdc(1), ID_V, [("U", T1, 100, 1, "A", -1)])
    run(lake, lake.config({"public.t": STRICT}))
    assert books(again(lake, lake.config({"public.t": {}})), "t") == (2, 2, 0, 0, 0, 0)
    assert lake.rows("t", "id, v") == [(1, "A"), (2, "b")]


POINTS = ("before-resolve", "after-resolve", "before-publish", "after-commit")
BEFORE, AFTER = [(1, "a"), (2, "b")], [(1, "rejected"), (2, "later"), (4, "stays")]


@pytest.mark.release
@pytest.mark.timeout(1200)
def test_killed_at_every_point_of_a_replay(lake: Lake) -> None:
    tables = {point: f"r_{point.replace('-', '_')}" for point in POINTS}
    sources = [f"public.{table}" for table in tables.values()]
    for source in sources:
        lake.load(source, ID_V, [(1, "a", 1), (2, "b", 2), (4, "stays", -4)])
        changes = [
            ("U", T1, 100, 1, "rejected", -1),
            ("U", T1, 104, 2, "later", -2),
            ("I", T1, 108, 3, "gone", -3),
            ("D", T2, 112, 3, None, None),
        ]
        lake.changes(source, "2026/03/01/10/20260301-100230000.parquet", ID_V, changes)
    strict, mended = lake.config(dict.fromkeys(sources, STRICT)), lake.config({source: {} for source in sources})
    assert [one.error for one in lake.run(strict).tables.values()] == [None] * len(sources)

    document = lake.document({source: {} for source in sources}, parallelism=len(sources))
    named = [f"{point}@public.{table}" for point, table in tables.items()]
    with JobProcess(document, lake.folder, named, command=("quarantine", "replay")) as job:
        assert job.wait() == -signal.SIGKILL, job.text()
    opened = {one.table: one.quarantined for one in table_statuses(lake.spark, mended)}
    for point, table in tables.items():
        done = point == "after-commit"
        assert lake.rows(table, "id, v") == (AFTER if done else BEFORE), point
        assert opened[f"public.{table}"] == (0 if done else 4), point

    # A run finds no file, and leaves the quarantine alone.
    assert not any(one.batches for one in lake.run(mended).tables.values())
    report = replay(lake.spark, mended)
    for point, table in tables.items():
        one = report.tables[f"public.{table}"]
        assert (one.error, one.rows_read) == (None, 0 if point == "after-commit" else 4), point
        assert lake.rows(table, "id, v") == AFTER, point
        name = f"lake.{lake.namespace}.{table}"
        books = check_books(lake.spark, name, 7 + 4)
        assert (books[-1]["applied"], books[-1]["stale"]) == (3, 1), point
    assert [one.quarantined for one in table_statuses(lake.spark, mended)] == [0] * len(sources)
    before = [snapshot_ids(lake.spark, f"lake.{lake.namespace}.{table}") for table in tables.values()]
    assert not any(one.batches for one in replay(lake.spark, mended).tables.values())
    assert [snapshot_ids(lake.spark, f"lake.{lake.namespace}.{table}") for table in tables.values()] == before
