"""Files with neither commit time nor sequence: places in the file, what is refused, and what is said."""

import json
import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from typer.testing import CliRunner

from dms_iceberg.bronze.keys import BronzeFile, digits_of
from dms_iceberg.changes.open_files import open_files
from dms_iceberg.cli.app import app
from dms_iceberg.config.load import load_config
from dms_iceberg.config.model import Config
from dms_iceberg.context import RunContext, RunRequest
from dms_iceberg.errors import ConfigError
from dms_iceberg.progress.progress import Progress
from dms_iceberg.runs.replay import replay
from dms_iceberg.runs.request import check_request
from dms_iceberg.runs.run import run
from dms_iceberg.storage.open_store import open_store
from support.lake import Lake

NEITHER = {"timestamp_column": None, "sequence_column": None, "stream_position_column": None}
TYPED = {"columns": [{"name": "id", "type": "int"}]}


def by_file(lake: Lake, change: dict[str, Any] = NEITHER, **entry: object) -> Config:
    bronze = {"uri": str(lake.bronze), "format": "csv", "csv": {"header": True}, "change": change}
    return lake.config({"public.t": {**TYPED, **entry}}, bronze=bronze)


def write(lake: Lake, name: str, *lines: str, header: str = "Op,id,v") -> Path:
    path = lake.path("public.t", name)
    path.write_text("\n".join([header, *lines]) + "\n")
    return path


@pytest.mark.parametrize("mode", [pytest.param("mirror", marks=pytest.mark.long), "soft_delete"])
def test_files_and_places_in_them_are_the_order(lake: Lake, mode: str) -> None:
    config = by_file(lake, {**NEITHER, "load_without_op": True}, mode=mode)
    write(lake, "LOAD00000001.csv", "1,loaded", "2,loaded", "3,loaded", header="id,v")
    write(lake, "20260301-100000000.csv", "U,1,first", "U,1,second", "D,2,", "I,4,new", "D,4,", "I,4,again")
    lake.run_one(config)
    write(lake, "20260301-120000500.csv", "U,1,latest")
    assert [batch.path for batch in lake.run_one(config).batches] == ["direct"]
    # It comes late, with one change that is older than what its key has, and two that are the newest.
    write(lake, "20260301-110000000.csv", "U,1,late", "D,3,", "U,4,late")
    lake.run_one(config)
    present = "WHERE NOT _cdc_deleted" if mode == "soft_delete" else ""
    rows = lake.spark.sql(f"SELECT id, v, CAST(_cdc_committed_at AS string) FROM lake.{lake.namespace}.t {present} ORDER BY id").collect()
    assert [tuple(row) for row in rows] == [(1, "latest", "2026-03-01 12:00:00.5"), (4, "late", "2026-03-01 11:00:00")]
    assert lake.target("t").progress().by_file
    # A restarted task writes changes again, up to the present, into a later file.
    write(lake, "20260301-130000000.csv", "U,4,late", "U,1,latest", "I,5,next")
    lake.run_one(config)
    assert [row for row in lake.rows("t", "id, v") if row[0] in (1, 4, 5)] == [(1, "latest"), (4, "late"), (5, "next")]
    assert lake.open_quarantine(config, "t") == []


@pytest.mark.parametrize("change", [NEITHER, {"timestamp_column": "at", "sequence_column": None}], ids=["neither", "timestamp"])
@pytest.mark.parametrize("form", ["csv", "json"])
def test_positions_do_not_depend_on_what_is_read_with_a_file(lake: Lake, form: str, change: dict[str, Any]) -> None:
    """Spark reads several small files in one task, and numbers rows within the task."""
    names = [f"20260301-10000{number}000.{form}" for number in range(4)]
    for number, name in enumerate(names):
        rows = [{"Op": "I", "at": "2026-03-01 09:00:00", "id": str(10 * number + place)} for place in range(5)]
        lines = [",".join(rows[0]), *(",".join(row.values()) for row in rows)] if form == "csv" else [json.dumps(row) for row in rows]
        lake.path("public.t", name).write_text("\n".join(lines) + "\n")
    bronze = {"format": form, "csv": {"header": True}, "change": change}
    config = lake.config({"public.t": TYPED}, bronze=bronze)
    table = config.tables["public.t"]
    context = RunContext(lake.spark, config, open_store(config.bronze.uri), "test")
    listed = [one for one in context.listing(table, Progress()) if isinstance(one, BronzeFile)]

    def places(chosen: list[BronzeFile]) -> dict[str, int]:
        (group,) = open_files(context, table, chosen, ())
        return {row.id: row._cdc_row for row in group.frame.collect()}

    together = places(listed)
    assert together == {key: place for file in listed for key, place in places([file]).items()}
    assert sorted(together.values()) == sorted(list(range(5)) * 4)


def test_a_replay_takes_its_place_among_files(lake: Lake) -> None:
    """A rejected row of the first file loses to a later change in another one, and wins over an earlier one in its own."""
    rule = {"rules": [{"name": "short", "expr": "length(v) < 5", "on_fail": "quarantine"}]}
    write(lake, "20260301-100000000.csv", "I,1,a", "U,1,long 1", "I,2,b", "U,2,long 2", "I,3,c", "D,3,", "I,3,long 3")
    lake.run_one(by_file(lake, **rule))
    write(lake, "20260301-110000000.csv", "U,2,later", "U,2,last")
    config = by_file(lake, rules=[{**rule["rules"][0], "expr": "length(v) < 9"}])
    lake.run_one(config)
    (report,) = replay(lake.spark, config).tables.values()
    assert report.error is None
    assert lake.rows("t", "id, v") == [(1, "long 1"), (2, "last"), (3, "long 3")]
    assert lake.open_quarantine(config, "t") == []


def test_another_order_needs_another_load(lake: Lake) -> None:
    lake.enter(1)
    first = write(lake, "20260301-100000000.csv", "I,1,a")
    config = by_file(lake)
    lake.run_one(config)
    named = {"timestamp_column": "at", "sequence_column": None}
    write(lake, "20260301-110000000.csv", "U,2026-03-01 10:30:00,1,b", header="Op,at,id,v")
    report = lake.run_one(by_file(lake, named), fails=True)
    assert "are ordered by file, and bronze.change now asks for an order by commit time" in str(report.error)
    assert "new load epoch" in str(report.error)
    lake.enter(2)
    write(lake, "LOAD00000001.csv", "I,2026-03-01 11:00:00,1,b", header="Op,at,id,v")
    write(lake, "20260301-120000000.csv", "U,2026-03-01 11:30:00,1,c", header="Op,at,id,v")
    lake.run_one(by_file(lake, named))
    assert lake.rows("t", "id, v") == [(1, "c")]
    report = lake.run_one(by_file(lake), fails=True)
    assert "are ordered by commit time, and bronze.change now asks for an order by file" in str(report.error)
    assert first.exists()


def test_a_rebuild_takes_another_order_where_all_files_have_its_column(lake: Lake) -> None:
    """The files of such a load had the column from the first, and the document did not name it."""
    header = "Op,at,id,v"
    write(lake, "20260301-100000000.csv", "I,2026-03-01 09:30:00,1,first", header=header)
    write(lake, "20260301-100500000.csv", "U,2026-03-01 09:20:00,1,older", header=header)
    lake.run_one(by_file(lake, drop=["at"]))
    assert lake.rows("t", "v") == [("older",)]
    timed = by_file(lake, {"timestamp_column": "at", "sequence_column": None})
    write(lake, "20260301-110000000.csv", "I,2026-03-01 10:30:00,2,b", header=header)
    assert "One load has one order" in str(lake.run_one(timed, fails=True).error)
    (rebuilt,) = run(lake.spark, timed, request=RunRequest(rebuild=frozenset({"public.t"}))).tables.values()
    assert rebuilt.error is None
    assert lake.rows("t", "id, v") == [(1, "first"), (2, "b")]
    assert not lake.target("t").progress().by_file


def test_a_sequence_may_follow_commit_times_within_a_load(lake: Lake) -> None:
    change = {"timestamp_column": "at", "sequence_column": None, "stream_position_column": None}
    sequenced(lake, "20260301-100001000.parquet", "0.000000", "timed", None)
    lake.run_one(lake.config({"public.t": {}}, bronze={"change": change}))
    sequenced(lake, "20260301-100002000.parquet", "1.000000", "sequenced", 1)
    config = lake.config({"public.t": {}}, bronze={"change": {**change, "sequence_column": "seq"}})
    lake.run_one(config)
    assert lake.rows("t", "id, v") == [(1, "sequenced")]


def sequenced(lake: Lake, name: str, time: str, value: str, number: int | None) -> None:
    """Write an update of row 1; with a ``number``, its sequence."""
    columns = [("Op", pa.string()), ("at", pa.string()), ("id", pa.int64()), ("v", pa.string())]
    row: tuple[Any, ...] = ("U", f"2026-03-01 10:00:0{time}", 1, value)
    if number is not None:
        columns.append(("seq", pa.string()))
        row = (*row, f"2026030110000{time[0]}00{number:019d}")
    lake.parquet("public.t", name, columns, [row])


@pytest.mark.parametrize("sequence", ["seq", None], ids=["file", "document"])
@pytest.mark.parametrize("batches", [1, 2])
def test_a_sequence_that_is_lost_is_refused(lake: Lake, sequence: str | None, batches: int) -> None:
    """A commit time of the same second or hundredth would lose to the position of a change with a sequence."""
    change = {"timestamp_column": "at", "sequence_column": "seq", "stream_position_column": None}
    config = lake.config({"public.t": {}}, bronze={"change": change})
    sequenced(lake, "20260301-100001000.parquet", "0.000000", "timed", None)
    lake.run_one(config)
    sequenced(lake, "20260301-100002000.parquet", "1.000000", "first", 1)
    if batches == 2 or sequence is None:
        lake.run_one(config)
    sequenced(lake, "20260301-100003000.parquet", "1.000000", "second", None)
    later = lake.config({"public.t": {"drop": ["seq"]}}, bronze={"change": {**change, "sequence_column": sequence}})
    error = str(lake.run_one(config if sequence else later, fails=True).error)
    assert "20260301-100003000.parquet: has not" in error and "new load epoch" in error
    assert lake.rows("t", "id, v") == [(1, "timed" if batches == 1 and sequence else "first")]


def test_names_that_are_no_order_are_refused(lake: Lake) -> None:
    config = by_file(lake)
    write(lake, "20260301-100000000.csv", "I,1,a")
    lake.run_one(config)
    other = write(lake, "2026/03/01/20260301-100000000.csv", "U,1,bbb")
    assert "have one close time and different sizes" in str(lake.run_one(config, fails=True).error)
    # A copy of the file is no harm.
    write(lake, "2026/03/01/20260301-100000000.csv", "I,1,a")
    lake.run_one(config)
    now = datetime.now(UTC)
    ahead = digits_of(now + timedelta(hours=9))
    name = f"{ahead[:8]}-{ahead[8:]}.csv"
    path = write(lake, name, "U,1,local")
    error = str(lake.run_one(config, fails=True).error)
    assert name in error and "later than the time when it was written" in error and "DatePartitionTimezone" in error
    # Copied much later, it is not told from one in UTC.
    path.unlink()
    past = write(lake, "20260301-103000000.csv", "U,1,past")
    os.utime(past, (now.timestamp(), now.timestamp()))
    lake.run_one(config)
    assert lake.rows("t", "id, v") == [(1, "past")]
    assert other.exists()


def test_truncates_are_refused(lake: Lake) -> None:
    config = by_file(lake)
    request = RunRequest(truncate=frozenset({"public.t"}), truncated_at="20260301110000000")
    with pytest.raises(ConfigError, match="nothing tells which of them were made before the truncate"):
        check_request(config, (), request)
    write(lake, "20260301-100000000.csv", "I,1,a")
    lake.path("public.t", "_repair/TRUNCATE-20260301-110000000.json").write_text("{}")
    assert "a truncate of 2026-03-01T11:00:00Z is recorded in bronze" in str(lake.run_one(config, fails=True).error)


@pytest.mark.parametrize(
    ("change", "words"), [(NEITHER, "ordered by file"), ({"sequence_column": None}, "ordered by commit time"), ({}, "")]
)
@pytest.mark.parametrize("command", ["validate", "plan", "status"])
def test_commands_say_once_what_the_order_does_not_promise(
    lake: Lake, tmp_path: Path, command: str, change: dict[str, Any], words: str
) -> None:
    for table in ("public.t", "public.u"):
        lake.load(table, [("id", pa.int64())], [(1,)])
    path = tmp_path / "shop.json"
    path.write_text(json.dumps(lake.document({"public.t": {}, "public.u": {}}, bronze={"change": change})))
    done = CliRunner().invoke(app, [command, str(path)])
    assert done.exit_code == 0
    assert words in done.output and done.output.count("$AR_H_CHANGE_SEQ") == bool(words)


def test_the_column_says_that_it_may_be_the_close_of_a_file(lake: Lake) -> None:
    write(lake, "20260301-100000000.csv", "I,1,a")
    lake.run_one(by_file(lake))
    field = lake.spark.table(f"lake.{lake.namespace}.t").schema["_cdc_committed_at"]
    assert "close time of the change's file where files have neither commit time nor sequence" in field.metadata["comment"]


def test_lag_is_counted_from_the_close_of_a_file(lake: Lake, tmp_path: Path) -> None:
    """An older file of the same batch tells the median, and the report and `status` say the same."""
    path = tmp_path / "shop.json"
    bronze = {"format": "csv", "csv": {"header": True}, "change": NEITHER}
    path.write_text(json.dumps(lake.document({"public.t": TYPED}, bronze=bronze)))
    now = datetime.now(UTC)
    for seconds, lines in ((3_600, ("I,1,a", "I,2,b", "I,3,c")), (90, ("U,1,d",))):
        closed = digits_of(now - timedelta(seconds=seconds))
        written = write(lake, f"{closed[:8]}-{closed[8:]}.csv", *lines)
        # The object is as old as its name says, or as new as now: no clock but the name's counts.
        os.utime(written, (now.timestamp(), now.timestamp()))
    report = lake.run_one(load_config(str(path)))
    (batch,) = report.batches
    assert batch.lag_seconds is not None and batch.lag_p50_seconds is not None and batch.lag_p95_seconds is not None
    # A session that is busy with other tests may take long for a run.
    assert 90 <= batch.lag_seconds < 1_200
    assert 3_600 <= batch.lag_p50_seconds <= batch.lag_p95_seconds < 4_800
    assert report.to_document()["lag_seconds"] == batch.lag_seconds
    status = json.loads(CliRunner().invoke(app, ["status", str(path), "--json"]).stdout.splitlines()[-1])
    assert status["tables"]["public.t"]["lag_seconds"] == batch.lag_seconds


def test_parquet_without_a_clock_is_refused_by_name_unless_it_is_meant(lake: Lake) -> None:
    """Nothing is guessed: a document that names columns which files lack is no document for an order by file."""
    lake.parquet("public.t", "20260301-100000000.parquet", [("Op", pa.string()), ("id", pa.int64())], [("I", 1)])
    error = str(lake.run_one(lake.config({"public.t": {}}), fails=True).error)
    assert "the changes have no order" in error and "set both to null" in error
    lake.run_one(lake.config({"public.t": {}}, bronze={"change": NEITHER}))
    assert lake.rows("t", "id") == [(1,)]
