"""Merged files that somebody moves to another folder of their table, such as ``processed/``: known again, and said."""

import shutil

import pyarrow as pa
import pytest

from dms_iceberg.config.model import Config
from dms_iceberg.context import RunRequest
from dms_iceberg.runs.preview import preview
from dms_iceberg.runs.run import run
from dms_iceberg.runs.status import table_statuses
from support.lake import Lake

ID_V = [("id", pa.int64()), ("v", pa.string())]
T1, T2, T3 = "20260301100100", "20260301100200", "20260301100300"


def merged(lake: Lake) -> Config:
    """Two LOAD files and two change files, merged; in the second row 2 is deleted."""
    lake.load("public.t", ID_V, [(1, "a"), (2, "b")])
    lake.load("public.t", ID_V, [(3, "c")], number=2)
    lake.changes("public.t", "20260301-100130000.parquet", ID_V, [("U", T1, 61, 1, "a2")])
    lake.changes("public.t", "20260301-100230000.parquet", ID_V, [("D", T2, 65, 2, None)])
    config = lake.config({"public.t": {}})
    lake.run_one(config)
    return config


def move(lake: Lake, *, anew: bool = False) -> None:
    """Move every file; ``anew``: under other ETags, as a copy between file systems does."""
    for path in sorted(lake.path("public.t", "x").parent.glob("*.parquet")):
        target = lake.path("public.t", f"processed/{path.name}")
        if anew:
            shutil.copy(path, target)
            path.unlink()
        else:
            path.rename(target)


def said(lake: Lake, config: Config) -> list[str]:
    """What plan, run and status say of moved files. The run merges what is new."""
    (plan,) = preview(lake.spark, config)
    report = lake.run_one(config)
    (status,) = table_statuses(lake.spark, config)
    return ["\n".join(one for one in texts if "processed/" in one) for texts in (plan.warnings, report.warnings, status.warnings)]


def test_moved_files_count_as_merged(lake: Lake) -> None:
    """A late change is compared with them, and a rebuild reads them."""
    config = merged(lake)
    move(lake)
    late = [("U", T1, 62, 2, "older than its delete"), ("U", T1, 63, 3, "c2")]
    lake.changes("public.t", "20260301-100145000.parquet", ID_V, late)
    lake.changes("public.t", "20260301-100330000.parquet", ID_V, [("I", T3, 71, 4, "d")])
    texts = said(lake, config)
    for text in texts:
        assert "public/t/processed/20260301-100130000.parquet" in text
        assert "and 1 more: moved since they were merged from public/t/20260301-100130000.parquet" in text
        assert "move them back" in text
    rows = [(1, "a2"), (3, "c2"), (4, "d")]
    assert lake.rows("t", "id, v") == rows
    assert lake.open_quarantine(config, "t") == []
    (report,) = run(lake.spark, config, request=RunRequest(rebuild=frozenset(["public.t"]))).tables.values()
    assert report.error is None
    assert lake.rows("t", "id, v") == rows


def test_other_etags_are_read_again_and_the_reason_is_true(lake: Lake) -> None:
    config = merged(lake)
    move(lake, anew=True)
    texts = said(lake, config)
    for text in texts[:2]:
        assert "public/t/processed/LOAD00000001.parquet, public/t/processed/LOAD00000002.parquet: named like what was merged" in text
        assert "those that cannot be judged go to quarantine" in text
    assert lake.rows("t", "id, v") == [(1, "a2"), (3, "c")]
    details = {detail for reason, detail in lake.quarantine("t") if reason == "older_than_bronze"}
    assert all("none of the merged change files is in bronze any more (deleted, or moved)" in detail for detail in details)


@pytest.mark.parametrize("moved", ["loads", "changes"])
def test_a_part_that_is_moved(lake: Lake, moved: str) -> None:
    config = merged(lake)
    folder = lake.path("public.t", "x").parent
    for path in sorted(folder.glob("LOAD*" if moved == "loads" else "2026*")):
        path.rename(lake.path("public.t", f"processed/{path.name}"))
    lake.load("public.t", ID_V, [(9, "z")], number=3)
    assert all(said(lake, config))
    assert lake.rows("t", "id, v") == [(1, "a2"), (3, "c"), (9, "z")]
    assert lake.open_quarantine(config, "t") == []


@pytest.mark.parametrize("mode", ["append", pytest.param("history", marks=pytest.mark.long)])
def test_a_rebuild_reads_a_copied_file_once(lake: Lake, mode: str) -> None:
    merged(lake)
    config = lake.config({"public.t": {"mode": mode, "target": f"{lake.namespace}.{mode}"}})
    lake.run_one(config)
    before = lake.rows(mode, "id, v")
    for path in sorted(lake.path("public.t", "x").parent.glob("*.parquet")):
        shutil.copy2(path, lake.path("public.t", f"processed/{path.name}"))
    (report,) = run(lake.spark, config, request=RunRequest(rebuild=frozenset(["public.t"]))).tables.values()
    assert report.error is None
    assert sorted(lake.rows(mode, "id, v"), key=str) == sorted(before, key=str)
