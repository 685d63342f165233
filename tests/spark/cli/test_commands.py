"""The command line on a lake with a good and a damaged table: what is printed, what is done, and the exit codes."""

import json
import signal
import threading
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from dms_iceberg.cli.app import main
from dms_iceberg.cli.stopping import STOPPING, Stopping
from dms_iceberg.config.parse import parse_config
from dms_iceberg.merge.direct import delta as direct
from dms_iceberg.runs import status
from dms_iceberg.runs.report import BatchReport
from dms_iceberg.runs.run import run
from support.commands import Command
from support.lake import Lake
from support.pause import Pause

TABLES = {"public.good": {}, "public.bad": {}}


@pytest.fixture(scope="module")
def lake(spark: SparkSession, warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Lake:
    lake = Lake(spark, warehouse, tmp_path_factory.mktemp("commands"))
    lake.load("public.good", [("id", pa.int64())], [(1,), (2,)])
    lake.path("public.bad", "LOAD00000001.parquet").write_bytes(b"PAR1 cut off")
    return lake


@pytest.fixture(scope="module")
def document(lake: Lake) -> Path:
    path = lake.folder / "pipeline.json"
    path.write_text(json.dumps(lake.document(TABLES)))
    return path


def test_plan_tells_what_run_would_do_and_run_does_it(command: Command, document: Path, lake: Lake) -> None:
    short = command("plan", document)
    assert (short.code, "CREATE TABLE" in short.out, "1 statement more with --sql" in short.out) == (1, False, True)
    assert "public.good: 1 file, 2 rows, " in short.out
    plan = command("plan", document, "--sql")
    assert plan.code == 1
    assert f"CREATE TABLE IF NOT EXISTS `lake`.`{lake.namespace}`.`good` (`id` bigint" in plan.out
    assert "would fail:" in plan.out and "LOAD00000001.parquet" in plan.out
    assert not lake.spark.catalog.tableExists(f"lake.{lake.namespace}.good")
    good = command("plan", document, "--table", "public.good", "--json")
    assert (good.code, list(good.tables)) == (0, ["public.good"])
    assert (good.tables["public.good"]["files"], good.tables["public.good"]["rows"]) == (1, 2)

    run = command("run", document)
    assert run.code == 1
    assert "failed:" in run.out and "not a whole Parquet file" in run.out
    assert "merged 1 file with 2 rows into 1 table in " in run.out
    assert "failed: public.bad; the others are not affected." in run.out
    assert run.out.splitlines()[-1] == f"next: dms-iceberg status {document}"
    steps = [line["step"] for line in map(json.loads, run.err.splitlines()) if line["event"] == "step"]
    assert steps == [f"reading the document {document}", "starting Spark", "merging 2 tables"]
    assert lake.rows("good") != []
    again = command("run", document, "--table", "public.good", "--json")
    assert (again.code, again.tables["public.good"]["rows_read"]) == (0, 0)
    status = command("status", document, "--json")
    assert status.code == 0
    assert (status.tables["public.good"]["rows"], status.tables["public.good"]["last_error"]) == (2, None)
    assert "not a whole Parquet file" in status.tables["public.bad"]["last_error"]


def test_run_and_status_end_with_what_it_comes_to(command: Command, lake: Lake, tmp_path: Path) -> None:
    rule = {"rules": [{"name": "small", "expr": "id < 3", "on_fail": "quarantine"}]}
    lake.load("public.judged", [("id", pa.int64())], [(1,), (7,)])
    path = tmp_path / "judged.json"
    path.write_text(json.dumps(lake.document({"public.judged": rule}, state_uri=str(tmp_path))))
    assert command("status", path).out.splitlines()[-1] == f"1 of 1 table has files that wait: dms-iceberg run {path}"
    listing = f"dms-iceberg quarantine list {path}"
    assert command("run", path).out.splitlines()[-2:] == [
        "1 row went to quarantine; silver keeps the last good version of their keys",
        f"next: {listing}",
    ]
    assert command("run", path).out.splitlines() == [
        "nothing new: 1 table, and no file that is not merged",
        "1 row of earlier runs is still open in quarantine",
        f"next: {listing}",
    ]
    assert command("status", path).out.splitlines()[-2:] == ["the table is up to date", f"1 row of 1 table is in quarantine: {listing}"]
    assert "new_files" not in command("status", path, "--json").tables["public.judged"]


def test_ctrl_c_ends_a_run_after_the_batch_at_hand(command: Command, lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in (1, 2, 3):
        lake.load("public.stopped", [("id", pa.int64())], [(number,)], number)
    path = tmp_path / "stopped.json"
    path.write_text(json.dumps(lake.document({"public.stopped": {}}, batch={"max_files": 1})))
    merged = Stopping.merged

    def press(self: Stopping, table: str, batch: BatchReport) -> None:
        merged(self, table, batch)
        if not self.is_stopping:
            signal.pthread_kill(int(threading.main_thread().ident or 0), signal.SIGINT)
            while not self.is_stopping:
                time.sleep(0.01)

    with monkeypatch.context() as patch:
        patch.setattr(Stopping, "merged", press)
        stopped = command("run", path)
    assert (stopped.code, STOPPING in stopped.err) == (130, True)
    assert lake.rows("stopped", "id") == [(1,)]
    assert "merged 1 file with 1 row into 1 table in " in stopped.out
    assert "stopped before the end of public.stopped" in stopped.out
    assert stopped.out.splitlines()[-1] == f"next: dms-iceberg run {path}"
    again = command("run", path)
    assert (again.code, lake.rows("stopped", "id")) == (0, [(1,), (2,), (3,)])


def test_an_error_is_forgotten_when_its_cause_is_gone(command: Command, lake: Lake, tmp_path: Path) -> None:
    for name in ("public.moved", "public.elsewhere"):
        lake.load(name, [("id", pa.int64())], [(1,), (2,)])
    path = tmp_path / "moved.json"
    path.write_text(json.dumps(lake.document({"public.moved": {}}, state_uri=str(tmp_path))))
    assert command("run", path).code == 0
    load = lake.path("public.moved", "LOAD00000001.parquet")
    load.rename(load.with_name(".hidden"))
    load.write_bytes(b"PAR1 cut off")
    assert command("run", path).code == 1
    assert "its ETag changed" in command("status", path, "--json").tables["public.moved"]["last_error"]
    load.with_name(".hidden").replace(load)
    assert command("run", path, "--json").tables["public.moved"]["batches"] == 0
    assert command("status", path, "--json").tables["public.moved"]["last_error"] is None


def test_two_source_tables_have_two_targets(command: Command, lake: Lake, tmp_path: Path) -> None:
    """Else each would overwrite the other's rows: that of a second document has the same name, in another schema."""
    lake.load("public.owned", [("id", pa.int64())], [(1,), (2,)])
    lake.load("billing.owned", [("id", pa.int64())], [(2,), (3,)])
    target, words = f"{lake.namespace}.owned", f"{lake.namespace}.owned was made from the source table public.owned"
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    first.write_text(json.dumps(lake.document({"public.owned": {}})))
    second.write_text(json.dumps(lake.document({"billing.owned": {"target": target}}, state_uri=str(tmp_path))))
    assert command("run", first).code == 0
    for name, option in (("plan", "--sql"), ("run", "--table=billing.owned"), ("run", "--rebuild=billing.owned")):
        refused = command(name, second, option)
        assert (refused.code, words in refused.out) == (1, True), refused.out
    assert words in command("status", second, "--json").tables["billing.owned"]["problem"]
    assert lake.rows("owned", "id") == [(1,), (2,)]
    assert command("run", first).code == 0


def test_the_loser_of_two_runs_says_so(command: Command, lake: Lake, other: SparkSession, pause: Pause, tmp_path: Path) -> None:
    lake.load("public.raced", [("id", pa.int64())], [(1,)])
    document = lake.document({"public.raced": {}})
    path = tmp_path / "raced.json"
    path.write_text(json.dumps(document))
    pause("before-merge", lambda: run(other, parse_config(document, base=str(tmp_path))))
    lost = command("run", path)
    assert "another run was first: it has merged what was new in public.raced, and left nothing to do" in lost.out
    assert (lost.code, lake.rows("raced", "id")) == (0, [(1,)])


@pytest.mark.parametrize(
    "damage",
    [b"", b'{"run_id": "x", "ended_', b"\xff\xfe", b"[]", b'{"lag_seconds": "soon"}'],
    ids=["empty", "half written", "no text", "no object", "wrong type"],
)
def test_status_goes_on_past_a_damaged_state_file(command: Command, lake: Lake, tmp_path: Path, damage: bytes) -> None:
    state = tmp_path / "state" / "runs" / "test"
    state.mkdir(parents=True)
    (state / "public.bad.json").write_bytes(damage)
    path = tmp_path / "pipeline.json"
    path.write_text(json.dumps(lake.document(TABLES, state_uri=str(tmp_path / "state"))))
    status = command("status", path)
    assert status.code == 0
    assert "public.good" in status.out
    assert "runs/test/public.bad.json: the state file is damaged" in status.out


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("run", ["--table", "public.god"], "did you mean 'public.good'?"),
        ("plan", ["--table", "elsewhere"], "allowed: public.good, public.bad"),
        ("status", ["--table", "public.god"], "--table public.god: not among the configured tables"),
        ("run", ["--load-complete", "public.god"], "--load-complete public.god: not among the configured tables"),
        ("run", ["--reload-started-at", "2026-03-01T10:00:00Z"], "name the tables that were loaded again with --table"),
        ("run", ["--table", "public.good", "--reload-started-at", "yesterday"], "not a time with its zone"),
        ("run", ["--table", "public.good", "--reload-started-at", "2026-03-01"], "not a time with its zone"),
        ("run", ["--truncate", "public.god"], "--truncate public.god: not among the configured tables"),
        (
            "plan",
            ["--truncate", "public.good", "--table", "public.bad"],
            "--truncate public.good: not among the tables chosen",
        ),
        (
            "run",
            ["--table", "public.good", "--load-complete", "public.bad"],
            "--load-complete public.bad: not among the tables chosen with --table",
        ),
        ("run", ["--truncated-at", "2026-03-01T10:00:00Z"], "name the tables that were truncated with --truncate"),
        ("run", ["--tabel", "public.good"], "No such option"),
        ("maintain", ["--table", "public.god"], "--table public.god: not among the configured tables"),
        ("maintain", ["--budget", "soon"], "'soon' is no duration; write 500ms, 30s or 2m"),
    ],
)
def test_wrong_usage_ends_with_2(command: Command, document: Path, name: str, options: list[str], message: str) -> None:
    ended = command(name, document, *options)
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.err


def test_maintain_tells_what_it_did_and_what_it_could_not(command: Command, document: Path, lake: Lake) -> None:
    command("run", document, "--table", "public.good")
    done = command("maintain", document, "--budget", "5m", "--json")
    assert done.code == 0
    assert [step["step"] for step in done.tables["public.good"]["steps"]] == ["orphan_files"]
    assert done.tables["public.bad"] == {
        "target": f"{lake.namespace}.bad",
        "steps": [],
        "seconds": done.tables["public.bad"]["seconds"],
        "error": None,
    }
    assert "run_id" not in json.loads(done.out.splitlines()[-1]), "alarms take the line that has it for the end of a run"
    assert "orphan files" in command("maintain", document, "--table", "public.good").out


def test_wrong_configuration_ends_with_2_and_names_every_problem(command: Command, tmp_path: Path) -> None:
    missing = command("run", tmp_path / "nowhere.json")
    assert (missing.code, "nowhere.json" in missing.err) == (2, True)
    wrong = tmp_path / "wrong.json"
    wrong.write_text(json.dumps({"version": 1, "colums": []}))
    for name in ("run", "plan", "status", "validate"):
        ended = command(name, wrong)
        assert (ended.code, ended.out) == (2, "")
        assert "colums" in ended.err and "bronze" in ended.err
    checked = command("validate", wrong, "--json")
    assert (checked.code, json.loads(checked.out)["valid"]) == (2, False)


def test_a_valid_document_ends_with_0(command: Command, document: Path) -> None:
    assert (command("validate", document).code, command("validate", document, "--json").out) == (0, '{"valid": true, "problems": []}\n')


def test_status_counts_no_delete_twice(
    command: Command, spark: SparkSession, warehouse: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a table of an earlier version two tasks both write the position deletes again that were there; the summary counts them twice."""
    # They are tasks of a MERGE.
    monkeypatch.setattr(direct, "MOST_ROWS", 0)
    lake, columns = Lake(spark, warehouse, tmp_path), [("id", pa.int64())]
    path = tmp_path / "status.json"
    path.write_text(json.dumps(lake.document({"public.t": {}})))
    lake.load("public.t", columns, [(key,) for key in range(200)])
    assert spark.conf.get("spark.sql.adaptive.enabled") == "false", "one task would write them all"
    for turn in (1, 2):
        clock = f"202603011000{turn:02d}00"
        rows = [("U", clock, key, key, None) for key in range(100 * (turn - 1), 100 * turn)]
        lake.changes("public.t", f"2026/03/01/10/20260301-1000{turn:02d}500.parquet", columns, rows)
        assert command("run", path).code == 0
        spark.sql(f"ALTER TABLE lake.{lake.namespace}.t SET TBLPROPERTIES ('write.merge.distribution-mode' = 'none')")
    summary = spark.sql(f"SELECT summary FROM lake.{lake.namespace}.t.snapshots ORDER BY committed_at DESC").first()
    assert summary is not None
    assert int(summary[0]["total-position-deletes"]) > 200
    assert command("status", path, "--json").tables["public.t"]["rows"] == 200
    # Beyond some delete files, Spark counts.
    monkeypatch.setattr(status, "_MOST_DELETE_FILES", 0)
    assert command("status", path, "--json").tables["public.t"]["rows"] == 200


def test_many_tables_at_once_are_seen_as_one_after_the_other(
    command: Command, lake: Lake, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rule: dict[str, Any] = {"rules": [{"name": "small", "expr": "id < 3", "on_fail": "quarantine"}]}
    tables: dict[str, dict[str, Any]] = {f"public.{name}": rule for name in ("one", "two", "three", "four")}
    for number, name in enumerate(tables):
        lake.load(name, [("id", pa.int64())], [(key,) for key in range(3 + number)])
    shown = []
    for parallelism in (1, 4):
        path = tmp_path / f"{parallelism}.json"
        path.write_text(json.dumps(lake.document(tables | {"public.none": {}}, parallelism=parallelism, state_uri=str(tmp_path))))
        assert command("run", path).code == 0
        statuses = command("status", path, "--json").tables
        with pytest.raises(SystemExit):
            main(["quarantine", "list", str(path), "--json"])
        shown.append((statuses, json.loads(capsys.readouterr().out)["tables"]))
    assert shown[0] == shown[1]
    assert [one["quarantined"] for one in shown[0][0].values()] == [0, 1, 2, 3, 0]
    assert [one["rows"] for one in shown[0][1].values()] == [0, 1, 2, 3, 0]


@pytest.mark.parametrize("name", ["plan", "run"])
def test_a_salt_that_is_not_set_stops_a_table_before_a_file_is_opened(
    lake: Lake, command: Command, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.delenv("DMS_ICEBERG_MASK_SALT", raising=False)
    path = lake.folder / "salted.json"
    path.write_text(json.dumps(lake.document({"public.bad": {"columns": [{"name": "email", "mask": "sha256"}]}})))
    ended = command(name, path, "--json")
    assert ended.code == 1
    error = ended.tables["public.bad"]["error"]
    assert "the environment variable DMS_ICEBERG_MASK_SALT is not set" in error
    # What is wrong with the file would have been told by whoever opens it.
    assert "Parquet" not in error and "LOAD00000001" not in error
