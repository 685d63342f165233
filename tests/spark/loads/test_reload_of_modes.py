"""A new load of tables that keep what a load does not have: they get what it changes, in one commit."""

import signal

import pyarrow as pa
import pytest

from dms_iceberg.loads.epochs import building
from support.crash_books import check_books
from support.crash_process import JobProcess
from support.lake import Lake
from support.text_files import cdc_name

pytestmark = pytest.mark.release

ID_V = [("id", pa.int64()), ("v", pa.string())]
T1, T2 = "20260301100100", "20260301100200"
T4 = "20260302100400"
LOADED = "2026-03-02 10:00:00.000000"
OLD_ROWS = {
    "soft_delete": [(1, "A", False), (2, "b", False), (3, "c", True)],
    "history": [(1, "A", True), (1, "a", False), (2, "b", True), (3, "c", False)],
    "append": [(1, "A", "U"), (1, "a", "I"), (2, "b", "I"), (3, "c", "I"), (3, None, "D")],
}
NEW_ROWS = {
    # Row 1 is the same, row 2 vanished, row 3 came back, row 4 is new and was changed since.
    "soft_delete": [(1, "A", False), (2, "b", True), (3, "c2", False), (4, "D", False)],
    "history": [(1, "A", True), (1, "a", False), (2, "b", False), (3, "c", False), (3, "c2", True), (4, "D", True), (4, "d", False)],
    "append": sorted([*OLD_ROWS["append"], (1, "A", "I"), (3, "c2", "I"), (4, "d", "I"), (4, "D", "U")], key=str),
}
MODES = {"soft_delete": "_cdc_deleted", "history": "_is_current", "append": "_cdc_op"}


def shown(lake: Lake, table: str) -> list[tuple[object, ...]]:
    mode = next(mode for mode in MODES if table.startswith(mode))
    return sorted(lake.rows(table, f"id, v, {MODES[mode]}"), key=str)


def test_modes_that_keep_rows_get_what_the_load_changes(lake: Lake) -> None:
    """A first kill finds each table at another step; a run without a word goes on from there."""
    points = {"build": "after-collapse", "merge": "before-switch", "done": "after-switch"}
    tables = {f"public.{mode}_{point}": {"mode": mode} for mode in MODES for point in points}
    lake.enter(1)
    for table in tables:
        lake.load(table, ID_V, [(1, "a"), (2, "b")])
        lake.changes(table, cdc_name(1), ID_V, [("U", T1, 61, 1, "A"), ("I", T1, 65, 3, "c"), ("D", T2, 69, 3, None)])
    assert [one.error for one in lake.run(lake.config(tables)).tables.values() if one.error] == []
    names = [name.removeprefix("public.") for name in tables]
    assert {name: shown(lake, name) for name in names} == {name: OLD_ROWS[name.rpartition("_")[0]] for name in names}
    lake.enter(2)
    service = [("Op", pa.string()), ("dms_commit_ts", pa.string()), *ID_V, ("dms_change_seq", pa.string())]
    for table in tables:
        lake.parquet(table, "LOAD00000001.parquet", service, [("I", LOADED, 1, "A", ""), ("I", LOADED, 3, "c2", "")])
    config = lake.config(tables, batch={"max_files": 1})
    report = lake.run(config)
    assert [one.error for one in report.tables.values() if one.error] == []
    assert all("--load-complete" in one.warnings[-1] for one in report.tables.values())
    assert {name: shown(lake, name) for name in names} == {name: OLD_ROWS[name.rpartition("_")[0]] for name in names}
    for table in tables:
        lake.parquet(table, "LOAD00000002.parquet", service, [("I", LOADED, 4, "d", "")])
        lake.changes(table, "2026/03/02/10/20260302-100500000.parquet", ID_V, [("U", T4, 61, 4, "D")])
    kill_at = [f"{point}@public.{mode}_{name}" for mode in MODES for name, point in points.items()]
    document = lake.document(tables, parallelism=len(tables), batch={"max_files": 1})
    with JobProcess(document, lake.folder, kill_at) as job:
        assert job.wait() == -signal.SIGKILL, job.text()
    assert {mode: shown(lake, f"{mode}_merge") for mode in MODES} == OLD_ROWS
    report = lake.run(config)
    assert [one.error for one in report.tables.values() if one.error] == []
    assert {name: shown(lake, name) for name in names} == {name: NEW_ROWS[name.rpartition("_")[0]] for name in names}
    for name in names:
        assert building(lake.target(name)) == []
        check_books(lake.spark, f"lake.{lake.namespace}.{name}", 5 + 4)
    # A row that is the same is not touched: its place is still in the first load.
    assert lake.rows("soft_delete_done", "substr(_cdc_position, 1, 5), CAST(_cdc_deleted_at AS string)", "id")[:2] == [
        ("d1000", None),
        ("d2000", "2026-03-02 10:00:00"),
    ]
    ended = lake.rows("history_done", "id, CAST(_valid_from AS string), CAST(_valid_to AS string)", "1, _valid_from")
    assert ended[2:5] == [
        (2, "2026-03-01 10:00:00", "2026-03-02 10:00:00"),
        (3, "2026-03-01 10:01:00", "2026-03-01 10:02:00"),
        (3, "2026-03-02 10:00:00", None),
    ]
