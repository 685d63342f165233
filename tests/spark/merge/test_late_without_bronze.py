"""Late changes of a table whose change files are all gone from bronze."""

import shutil

import pyarrow as pa
import pytest

from dms_iceberg.replay.run import replay
from support.lake import Lake
from support.text_files import cdc_name

pytestmark = pytest.mark.long

ID_V = [("id", pa.int64()), ("v", pa.string())]


def clock(minute: int) -> str:
    return f"2026030110{minute:02d}00"


def test_late_changes_wait_in_quarantine_where_bronze_has_lost_every_file(lake: Lake) -> None:
    config = lake.config({"public.t": {}})
    lake.load("public.t", ID_V, [(1, "load"), (2, "load")])
    gone = lake.changes("public.t", cdc_name(7), ID_V, [("D", clock(7), 700, 1, None, None)])
    lake.run_one(config)
    gone.unlink()
    lake.changes("public.t", cdc_name(5), ID_V, [("U", clock(5), 500, 1, "late", None)])
    lake.changes("public.t", cdc_name(6), ID_V, [("U", clock(6), 600, 1, "later", None)])
    report = lake.run_one(config)
    assert (report.applied, report.quarantined) == (0, 2)
    assert lake.rows("t", "id, v") == [(2, "load")]
    assert [reason for (reason,) in lake.quarantine("t", "reason")] == ["older_than_bronze"] * 2
    # Neither file makes bronze reach back to before it.
    lake.changes("public.t", cdc_name(4), ID_V, [("U", clock(6), 604, 1, "latest", None)])
    assert lake.run_one(config).quarantined == 1
    assert lake.rows("t", "id, v") == [(2, "load")]


def test_a_late_file_that_was_rejected_does_not_say_how_far_bronze_reaches(lake: Lake) -> None:
    """Whether its rows are still in quarantine or were dismissed: what was deleted before stays so."""
    config = lake.config({"public.t": {}})
    lake.load("public.t", ID_V, [(1, "load"), (2, "load")])
    gone = lake.changes("public.t", cdc_name(7), ID_V, [("D", clock(7), 700, 1, None, None)])
    lake.run_one(config)
    gone.unlink()
    lake.changes("public.t", cdc_name(5), ID_V, [("U", clock(5), 500, 1, "late", None)])
    assert lake.run_one(config).quarantined == 1
    lake.spark.sql(f"DELETE FROM lake.quarantine_{lake.namespace}.`{lake.namespace}__t`")
    lake.changes("public.t", cdc_name(6), ID_V, [("U", clock(6), 600, 1, "later", None)])
    assert lake.run_one(config).quarantined == 1
    assert lake.rows("t", "id, v") == [(2, "load")]


def test_late_rows_are_replayed_once_bronze_has_its_files_again(lake: Lake) -> None:
    strict, config = lake.config({"public.t": {"rules": [{"name": "good", "expr": "v <> 'bad'"}]}}), lake.config({"public.t": {}})
    lake.load("public.t", ID_V, [(1, "load"), (2, "load"), (3, "bad"), (4, "bad")])
    gone = lake.changes("public.t", cdc_name(7), ID_V, [("D", clock(7), 700, 1, None, None), ("D", clock(7), 704, 4, None, None)])
    lake.run_one(strict)
    away = gone.rename(lake.folder / "away.parquet")
    lake.changes("public.t", cdc_name(5), ID_V, [("U", clock(5), 500, 1, "late", None), ("U", clock(5), 504, 2, "late", None)])
    assert lake.run_one(config).quarantined == 2
    report = replay(lake.spark, config).tables["public.t"]
    assert (report.error, report.quarantined) == (None, 4)
    shutil.copy(away, gone)
    # With another ETag it is another version of the file that was merged, and tells what that did.
    report = replay(lake.spark, config).tables["public.t"]
    assert (report.error, report.applied, report.stale, report.quarantined) == (None, 2, 2, 0)
    assert lake.rows("t", "id, v") == [(2, "late"), (3, "bad")]
    assert lake.run_one(config).quarantined == 0
    assert lake.rows("t", "id, v") == [(2, "late"), (3, "bad")]
