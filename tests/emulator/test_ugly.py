"""DMS's ugly sides: each switch does what it says, and nothing of it happens without."""

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dms_emulator import Ugly
from dms_emulator.files import CsvShape, FileShape
from dms_emulator.state import StateFolder
from emulator.bronze import Task, current_lsn, make_task, read, replay, run, source_rows, texts

TABLE = "create table t (id int primary key, v text)"


def _insert(dsn: str, *numbers: int) -> None:
    run(dsn, *(f"insert into t values ({number}, 'v{number}')" for number in numbers))


def _counters(task: Task) -> list[int]:
    return [int(row["dms_change_seq"][16:]) for row in task.changes("public.t")]


def test_a_restart_repeats_the_last_changes_with_a_counter_that_starts_again(dsn: str, tmp_path: Path) -> None:
    run(dsn, TABLE)
    task = make_task(dsn, tmp_path, "public.t", ugly=Ugly(reset_counter=True, reemit_changes=3))
    task.load()
    _insert(dsn, *range(1, 11))
    assert task.catch_up() == 10
    _insert(dsn, 11, 12)
    assert task.catch_up() == 3 + 2
    first, second = (read(path) for path in task.files("public.t"))
    assert [row["id"] for row in first] == list(range(1, 11))
    assert [row["id"] for row in second] == [8, 9, 10, 11, 12]
    assert [int(row["dms_change_seq"][16:]) for row in second] == [61, 73, 85, 97, 109]
    # The same changes: their time and the source's own position say so, their sequence does not.
    same = ("id", "dms_commit_ts", "dms_stream_position", "v", "Op")
    assert list(texts(first[7:], *same)) == list(texts(second[:3], *same))
    assert [row["dms_change_seq"] for row in first[7:]] != [row["dms_change_seq"] for row in second[:3]]


def test_whole_transactions_are_repeated(dsn: str, tmp_path: Path) -> None:
    run(dsn, TABLE)
    task = make_task(dsn, tmp_path, "public.t", ugly=Ugly(reemit_changes=2))
    task.load()
    _insert(dsn, 1)
    run(dsn, "insert into t select g, 'bulk' from generate_series(2, 6) g")
    _insert(dsn, 7)
    task.catch_up()
    assert task.catch_up() == 6
    # Without a reset the same changes get the same sequences.
    assert _counters(task)[1:7] == _counters(task)[7:]


def test_without_the_switches_nothing_is_repeated_and_the_counter_goes_on(dsn: str, tmp_path: Path) -> None:
    run(dsn, TABLE)
    task = make_task(dsn, tmp_path, "public.t")
    task.load()
    for number in (1, 2, 3):
        _insert(dsn, number)
        assert task.catch_up() == 1
    assert _counters(task) == [61, 73, 85]


def test_a_late_file_appears_after_newer_ones_under_its_old_name(dsn: str, tmp_path: Path) -> None:
    run(dsn, TABLE)
    task = make_task(dsn, tmp_path, "public.t", ugly=Ugly(late_every=3, late_by=2), interval=0.01)
    task.load()
    stop = threading.Event()
    seen: list[str] = []
    with task.emulator() as emulator:
        runner = threading.Thread(target=emulator.capture, args=(stop,))
        runner.start()
        for number in range(1, 9):
            _insert(dsn, number)
            _wait(lambda number=number: _closed(task) == number)
            # The third and the sixth file are missing for a while.
            _wait(lambda number=number: len(task.files("public.t")) == number - (number in (3, 4, 6, 7)))
            seen += [path.name for path in task.files("public.t") if path.name not in seen]
        stop.set()
        runner.join()
    late = [name for index, name in enumerate(seen) if any(name < before for before in seen[:index])]
    assert len(late) == 2
    assert [row["id"] for row in task.changes("public.t")] == list(range(1, 9))
    assert replay(task.rows("public.t"), ("id",)) == source_rows(dsn, "t", ("id",))


def _closed(task: Task) -> int:
    state = StateFolder(task.settings.state_dir).load()
    return state.tables["public.t"].files if state else 0


def _wait(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_a_file_held_back_comes_when_the_capture_ends(dsn: str, tmp_path: Path) -> None:
    run(dsn, TABLE)
    task = make_task(dsn, tmp_path, "public.t", ugly=Ugly(late_every=2, late_by=9))
    task.load()
    for number in (1, 2, 3, 4):
        _insert(dsn, number)
        task.catch_up()
    assert [row["id"] for row in task.changes("public.t")] == [1, 2, 3, 4]
    assert list((tmp_path / "state" / "held").iterdir()) == []


def test_holding_every_file_back_is_refused() -> None:
    with pytest.raises(ValueError, match="late_every: found 1"):
        Ugly(late_every=1)


@pytest.mark.parametrize("overlap", [False, True])
def test_changes_during_the_load_come_once_or_twice(dsn: str, tmp_path: Path, overlap: bool) -> None:
    run(dsn, TABLE)
    _insert(dsn, 1)
    task = make_task(dsn, tmp_path, "public.t", ugly=Ugly(overlap=overlap))
    with task.emulator() as emulator:
        emulator.prepare()
        _insert(dsn, 2)
        emulator.full_load()
        emulator.capture(until_lsn=current_lsn(dsn))
    load = [row["id"] for row in read(task.files("public.t")[0])]
    assert load == ([1, 2] if overlap else [1])
    assert [row["id"] for row in task.changes("public.t")] == [2]


def test_load_files_without_op(dsn: str, tmp_path: Path) -> None:
    run(dsn, TABLE)
    _insert(dsn, 1)
    shape = FileShape(format="csv", op_on_full_load=False, csv=CsvShape(header=True))
    task = make_task(dsn, tmp_path, "public.t", files=shape)
    task.load()
    _insert(dsn, 2)
    task.catch_up()
    load, change = (path.read_text().splitlines()[0] for path in task.files("public.t"))
    assert f"Op,{load}" == change


def test_lobs_are_cut_between_characters(dsn: str, tmp_path: Path) -> None:
    run(dsn, "create table t (id int primary key, v text, j jsonb, a text[], x bytea, short varchar(5000))")
    task = make_task(dsn, tmp_path, "public.t", lob_max_kb=1)
    run(
        dsn,
        "insert into t values (1, repeat('ż', 600), to_jsonb(repeat('j', 2000)), array[repeat('a', 2000)],"
        " decode(repeat('ff', 3000), 'hex'), repeat('s', 5000))",
    )
    task.load()
    run(dsn, "update t set id = 2")
    task.catch_up()
    for row in task.rows("public.t"):
        assert row["v"] == "ż" * 512
        assert row["j"] == '"' + "j" * 1023
        assert row["a"] == "{" + "a" * 1023
        assert row["x"] == b"\xff" * 1024
        assert row["short"] == "s" * 5000


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        (FileShape(format="csv", csv=CsvShape(header=True)), b"Op,dms_commit_ts,id,v,dms_change_seq,dms_stream_position,BI_id\n"),
        (FileShape(format="csv"), b""),
        (FileShape(), None),
    ],
    ids=["header only", "zero bytes", "zero rows"],
)
def test_empty_files(dsn: str, tmp_path: Path, shape: FileShape, expected: bytes | None) -> None:
    run(dsn, TABLE)
    task = make_task(dsn, tmp_path, "public.t", files=shape, ugly=Ugly(empty_files=True))
    task.load()
    task.catch_up()
    files = task.files("public.t")
    assert [path.name.startswith("LOAD") for path in files] == [True, False, False]
    for path in files:
        if expected is None:
            assert read(path) == []
        else:
            assert path.read_bytes() == expected


def test_control_tables_stand_beside_the_schemas(dsn: str, tmp_path: Path) -> None:
    run(dsn, TABLE)
    task = make_task(dsn, tmp_path, "public.t", ugly=Ugly(control_tables=True))
    task.load()
    _insert(dsn, 1)
    task.catch_up()
    assert sorted(path.name for path in task.bronze.iterdir()) == ["awsdms_history", "awsdms_status", "public"]
    rows = [row for path in sorted((task.bronze / "awsdms_status").iterdir()) for row in read(path)]
    assert [row["task_status"] for row in rows] == ["CHANGE PROCESSING", "NOT RUNNING"]
