"""The command, and what it refuses."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
import structlog
import typer
from typer.testing import CliRunner

from dms_emulator import Emulator, EmulatorError, EmulatorSettings, Profile
from dms_emulator.cli import emulate
from dms_emulator.files import CsvShape
from dms_emulator.from_config import default_slot, file_shape
from dms_emulator.postgres import LocalPostgres
from dms_iceberg.cli.options import seconds
from dms_iceberg.config.parse import parse_config
from dms_iceberg.storage.open_store import open_store
from emulator.bronze import current_lsn, make_task, run

app = typer.Typer()
app.command()(emulate)


@pytest.fixture(autouse=True)
def _logs_as_before() -> Iterator[None]:
    # The command sends logs to standard error, which the runner replaces and closes.
    yield
    structlog.reset_defaults()


def _document(folder: Path, **bronze: Any) -> Path:
    document = {
        "version": 1,
        "pipeline": "Shop-1",
        "bronze": {"uri": str(folder / "bronze"), **bronze},
        "catalog": {"name": "lake", "type": "hadoop", "warehouse": str(folder / "warehouse")},
        "tables": {"public.t": {"target": "silver.t", "key": ["id"]}},
    }
    path = folder / "pipeline.json"
    path.write_text(json.dumps(document))
    return path


def test_the_command_loads_captures_and_resumes(dsn: str, tmp_path: Path) -> None:
    run(dsn, "create table t (id int primary key)", "insert into t values (1)")
    document = str(_document(tmp_path, format="csv", change={"timestamp_column": "committed"}))

    def emulated(*options: str) -> dict[str, Any]:
        result = CliRunner().invoke(app, [document, "--source", dsn, "--until-lsn", current_lsn(dsn), "--json", *options])
        assert result.exit_code == 0, result.output
        return dict(json.loads(result.stdout.splitlines()[-1]))

    assert emulated("--full-load-only") == {"loaded": {"public.t": 1}, "captured": None}
    run(dsn, "insert into t values (2)")
    assert emulated()["captured"]["changes"] == 1
    assert emulated("--no-partition")["captured"]["changes"] == 0
    load, change = sorted((tmp_path / "bronze").rglob("*.csv"), key=lambda path: path.name, reverse=True)
    assert load.read_text().startswith("Op,committed,id,dms_change_seq,dms_stream_position,BI_id\nI,")
    assert change.parent.parent.parent.parent.parent.name == "t"
    assert (tmp_path / "emulator" / "Shop-1" / "task.json").exists()


def test_zone_booleans_and_lateness_have_switches(dsn: str, tmp_path: Path) -> None:
    run(dsn, "create table t (id int primary key, done boolean, filler text)")
    document = str(_document(tmp_path, format="csv"))
    options = [document, "--source", dsn, "--no-boolean-as-boolean", "--partition-timezone", "Asia/Seoul"]
    # Every change fills a file.
    options += ["--max-kb", "1", "--late-every", "2", "--late-by", "2"]
    assert CliRunner().invoke(app, [*options, "--until-lsn", current_lsn(dsn)]).exit_code == 0
    began = datetime.now(ZoneInfo("Asia/Seoul"))
    run(dsn, *(f"insert into t values ({number}, true, repeat('x', 2000))" for number in range(5)))
    result = CliRunner().invoke(app, [*options, "--until-lsn", current_lsn(dsn)])
    assert result.exit_code == 0, result.output
    files = sorted((tmp_path / "bronze").rglob("2*-*.csv"))
    assert all(",true," in file.read_text() for file in files)
    seconds_after = [(datetime.strptime(file.name[:15] + "+0900", "%Y%m%d-%H%M%S%z") - began).total_seconds() for file in files]
    assert all(-2 < after < 300 for after in seconds_after)
    arrived = sorted(files, key=lambda file: file.stat().st_mtime_ns)
    assert [files.index(file) for file in arrived] == [0, 2, 4, 1, 3]


def test_sigterm_writes_everything_and_exits_0(dsn: str, tmp_path: Path) -> None:
    run(dsn, "create table t (id int primary key)", "insert into t values (1)")
    program = "import typer; from dms_emulator.cli import emulate; app = typer.Typer(); app.command()(emulate); app()"
    command = [sys.executable, "-c", program, str(_document(tmp_path)), "--source", dsn, "--interval", "1h", "--json"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        state = tmp_path / "emulator" / "Shop-1" / "task.json"
        deadline = time.monotonic() + 60
        while not (state.exists() and '"runs": 1' in state.read_text()) and time.monotonic() < deadline:
            time.sleep(0.05)
        run(dsn, "insert into t values (2)")
        time.sleep(1)
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert json.loads(output.splitlines()[-1])["captured"]["changes"] == 1
    assert len(list((tmp_path / "bronze").rglob("2*-*.parquet"))) == 1


@pytest.mark.parametrize(
    "source", ["postgresql://me:hunter2@localhost/db", "host=localhost password=hunter2", "postgresql://h/db?password=hunter2"]
)
def test_a_password_in_the_source_is_refused(tmp_path: Path, source: str) -> None:
    result = CliRunner().invoke(app, [str(_document(tmp_path)), "--source", source])
    assert result.exit_code == 2
    assert "PGPASSWORD" in result.output
    assert "hunter2" not in result.output


def test_wrong_options_are_explained(dsn: str, tmp_path: Path) -> None:
    document = str(_document(tmp_path))
    for options, word in (
        (["--full-load-only", "--cdc-only"], "exclude"),
        (["--late-every", "1"], "late_every"),
        (["--interval", "soon"], "duration"),
        (["--slot", "X-Y"], "found 'X-Y', allowed are"),
        (["--partition-timezone", "Nowhere/City"], "Nowhere/City"),
    ):
        result = CliRunner().invoke(app, [document, "--source", dsn, *options])
        assert (result.exit_code, word in result.output) == (2, True), result.output
        assert "Attribute(" not in result.output
    bad = CliRunner().invoke(app, [document, "--source", "nonsense hunter2"])
    assert bad.exit_code == 2
    assert "hunter2" not in bad.output


def test_capture_without_a_full_load(dsn: str, tmp_path: Path) -> None:
    run(dsn, "create table t (id int primary key)", "insert into t values (1)")
    with make_task(dsn, tmp_path, "public.t").emulator() as emulator:
        emulator.skip_full_load()
        run(dsn, "insert into t values (2)")
        assert emulator.capture(until_lsn=current_lsn(dsn)).changes == 1
    assert list((tmp_path / "bronze").rglob("LOAD*")) == []


@pytest.mark.parametrize(("text", "value"), [("500ms", 0.5), ("1s", 1.0), ("2m", 120.0), ("7", 7.0), ("1.5h", 5400.0)])
def test_durations(text: str, value: float) -> None:
    assert seconds(text) == value


def test_the_shape_follows_the_document(tmp_path: Path) -> None:
    document = json.loads(_document(tmp_path).read_text())
    document["bronze"] |= {
        "format": "json",
        "change": {
            "op_column": "action",
            "op_words": {"INSERT": "I", "UPDATE": "U", "DELETE": "D"},
            "sequence_column": None,
        },
    }
    config = parse_config(document)
    shape = file_shape(config.bronze, gzip=True)
    assert (shape.extension, shape.op_column, shape.op_words["D"]) == ("json.gz", "action", "DELETE")
    assert shape.sequence_column is None and shape.csv.rfc4180
    document["bronze"] |= {"format": "csv", "csv": {"rfc4180": False, "null": "~"}}
    assert file_shape(parse_config(document).bronze).csv == CsvShape(header=True, rfc4180=False, null="~")
    assert default_slot(config) == "dms_shop_1"


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        ("create table t (id int)", "no primary key"),
        ("create view t as select 1 as id", "not an ordinary table"),
        ("create table t (id int primary key) partition by range (id)", "a partitioned table.*it has none yet"),
        ("create unlogged table t (id int primary key)", "not logged"),
        ("create table other (id int primary key)", "does not exist"),
    ],
)
def test_tables_that_cannot_be_captured_are_named(dsn: str, tmp_path: Path, statement: str, problem: str) -> None:
    run(dsn, statement)
    with make_task(dsn, tmp_path, "public.t").emulator() as emulator:
        with pytest.raises(EmulatorError, match=rf"public\.t: .*{problem}"):
            emulator.full_load()
        # Nothing was left in the source.
        assert emulator.needs_full_load
        run(dsn, "create table if not exists untouched (id int)")


def test_the_mysql_profile_needs_whole_rows(dsn: str, tmp_path: Path) -> None:
    run(dsn, "create table t (id int primary key)")
    with (
        make_task(dsn, tmp_path, "public.t", profile=Profile.MYSQL).emulator() as emulator,
        pytest.raises(EmulatorError, match=r'ALTER TABLE "public"\."t" REPLICA IDENTITY FULL'),
    ):
        emulator.full_load()


def test_an_unreachable_source_and_a_wrong_wal_level(tmp_path: Path) -> None:
    settings = EmulatorSettings(state_dir=tmp_path)
    store = open_store(str(tmp_path / "bronze"))
    with pytest.raises(EmulatorError, match="cannot connect"):
        Emulator("host=127.0.0.1 port=1 user=x dbname=y connect_timeout=2", ["public.t"], store, settings)
    with LocalPostgres(settings={"wal_level": "replica"}) as server:
        run(server.dsn(), "create table t (id int primary key)")
        with (
            Emulator(server.dsn(), ["public.t"], store, settings) as emulator,
            pytest.raises(EmulatorError, match="wal_level = logical"),
        ):
            emulator.full_load()


def test_a_malformed_table_or_lsn_is_explained(dsn: str, tmp_path: Path) -> None:
    with make_task(dsn, tmp_path, "orders").emulator() as emulator, pytest.raises(EmulatorError, match=r"schema\.table"):
        emulator.full_load()
    with make_task(dsn, tmp_path, "public.t").emulator() as emulator, pytest.raises(EmulatorError, match="16/B374D848"):
        emulator.capture(until_lsn="12")
