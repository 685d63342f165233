"""A table that somebody rolled back, compacted or expired: progress follows the ancestors of main's head, and nothing else."""

import pyarrow as pa
import pytest

from dms_iceberg.progress.progress import PROGRESS_KEY
from dms_iceberg.silver.table import TargetTable
from support.crash_books import check_books, snapshot_ids
from support.lake import Lake

pytestmark = pytest.mark.long

ID_V = [("id", pa.int64()), ("v", pa.string())]
ID_V_W = [*ID_V, ("w", pa.int32())]
T1, T2, T3 = "20260301100100", "20260301100200", "20260301100300"
RULE = {"rules": [{"name": "known", "expr": "v <> 'bad'"}]}
DONE = [(1, "A"), (3, "c2")]


def cdc(minute: int) -> str:
    return f"2026/03/01/10/20260301-10{minute:02d}30000.parquet"


def silver(lake: Lake) -> str:
    return f"lake.{lake.namespace}.`t`"


def call(lake: Lake, procedure: str, arguments: str) -> None:
    lake.spark.sql(f"CALL lake.system.{procedure}(table => '{lake.namespace}.t', {arguments})")


def three_batches(lake: Lake) -> list[int]:
    """A load of 2 rows and two files of 3 and 2 changes, merged one by one; returns the snapshots."""
    lake.load("public.t", ID_V, [(1, "a"), (2, "b")])
    lake.changes("public.t", cdc(1), ID_V, [("U", T1, 61, 1, "A"), ("I", T1, 65, 3, "c"), ("I", T1, 69, 4, "bad")])
    lake.changes("public.t", cdc(2), ID_V, [("D", T2, 73, 2, None), ("U", T2, 77, 3, "c2")])
    lake.run_one(lake.config({"public.t": RULE}, batch={"max_files": 1}))
    assert lake.rows("t", "id, v") == DONE
    return snapshot_ids(lake.spark, silver(lake))


def run_again(lake: Lake, batches: int) -> None:
    """A run makes up for what is lost, and the next one finds nothing left."""
    config = lake.config({"public.t": RULE}, batch={"max_files": 1})
    assert len(lake.run_one(config).batches) == batches
    assert lake.rows("t", "id, v") == DONE
    assert len(lake.quarantine("t")) == 1
    check_books(lake.spark, silver(lake), 7)
    before = snapshot_ids(lake.spark, silver(lake))
    assert lake.run_one(config).batches == []
    assert snapshot_ids(lake.spark, silver(lake)) == before


def test_batches_lost_by_a_rollback_are_merged_again(lake: Lake) -> None:
    load, first, _ = three_batches(lake)
    call(lake, "rollback_to_snapshot", f"snapshot_id => {load}")
    assert lake.rows("t", "id, v") == [(1, "a"), (2, "b")]
    run_again(lake, 2)
    call(lake, "set_current_snapshot", f"snapshot_id => {first}")
    run_again(lake, 1)


def test_rollback_and_return_merges_nothing_again(lake: Lake) -> None:
    load, _, last = three_batches(lake)
    call(lake, "rollback_to_snapshot", f"snapshot_id => {load}")
    call(lake, "set_current_snapshot", f"snapshot_id => {last}")
    run_again(lake, 0)


def test_commits_of_others_do_not_lose_the_progress(lake: Lake) -> None:
    three_batches(lake)
    call(lake, "rewrite_data_files", "options => map('rewrite-all', 'true')")
    lake.spark.sql(f"INSERT INTO {silver(lake)} SELECT * FROM {silver(lake)} WHERE false")
    assert PROGRESS_KEY not in TargetTable(lake.spark, "lake", f"{lake.namespace}.t").head().summary  # type: ignore[union-attr]
    run_again(lake, 0)
    lake.changes("public.t", cdc(3), ID_V, [("U", T3, 81, 1, "AA")])
    lake.run_one(lake.config({"public.t": RULE}))
    assert lake.rows("t", "id, v") == [(1, "AA"), (3, "c2")]
    check_books(lake.spark, silver(lake), 8)


def test_rollback_behind_a_compaction(lake: Lake) -> None:
    _, first, _ = three_batches(lake)
    call(lake, "rewrite_data_files", "options => map('rewrite-all', 'true')")
    call(lake, "rollback_to_snapshot", f"snapshot_id => {first}")
    run_again(lake, 1)


def expire_all_but_the_head(lake: Lake) -> None:
    call(lake, "expire_snapshots", "older_than => TIMESTAMP '2999-01-01 00:00:00', retain_last => 1")


def test_copy_of_the_progress_takes_over_when_its_snapshot_expired(lake: Lake) -> None:
    three_batches(lake)
    call(lake, "rewrite_data_files", "options => map('rewrite-all', 'true')")
    expire_all_but_the_head(lake)
    (head,) = snapshot_ids(lake.spark, silver(lake))
    config = lake.config({"public.t": RULE}, batch={"max_files": 1})
    assert lake.run_one(config).batches == []
    assert snapshot_ids(lake.spark, silver(lake)) == [head]
    lake.changes("public.t", cdc(3), ID_V, [("U", T3, 81, 1, "AA")])
    assert [batch.rows_read for batch in lake.run_one(config).batches] == [1]
    assert lake.rows("t", "id, v") == [(1, "AA"), (3, "c2")]


def test_copy_of_the_progress_is_not_trusted_after_a_rollback(lake: Lake) -> None:
    load, _, _ = three_batches(lake)
    call(lake, "rollback_to_snapshot", f"snapshot_id => {load}")
    call(lake, "rewrite_data_files", "options => map('rewrite-all', 'true')")
    run_again(lake, 2)


def test_copy_is_not_trusted_when_what_was_rolled_back_has_expired(lake: Lake) -> None:
    """Nothing is left of the snapshot that the copy tells of: neither that it was an ancestor, nor that it was none."""
    load, _, _ = three_batches(lake)
    call(lake, "rollback_to_snapshot", f"snapshot_id => {load}")
    call(lake, "rewrite_data_files", "options => map('rewrite-all', 'true')")
    expire_all_but_the_head(lake)
    config = lake.config({"public.t": RULE}, batch={"max_files": 1})
    assert [batch.rows_read for batch in lake.run_one(config).batches] == [3, 2]
    assert lake.rows("t", "id, v") == DONE


def test_copy_is_made_by_the_commit_of_the_batch(lake: Lake) -> None:
    """A kill between two commits would leave a copy that is older than the data."""
    three_batches(lake)
    target = TargetTable(lake.spark, "lake", f"{lake.namespace}.t")
    head = target.head()
    assert head is not None
    assert str(head.id) in target.properties()["dms-iceberg.progress-copy"]
    metadata = lake.spark.sql(f"SELECT 1 FROM {silver(lake)}.metadata_log_entries").count()
    assert metadata == 1 + 3, "creation, then one metadata file a batch"


def test_backfill_lost_by_a_rollback_is_done_again(lake: Lake) -> None:
    lake.load("public.t", ID_V, [(1, "a"), (2, "b")])
    lake.run_one(lake.config({"public.t": {}}))
    (load,) = snapshot_ids(lake.spark, silver(lake))
    lake.changes("public.t", cdc(1), ID_V_W, [("U", T1, 61, 1, "A", None, None)])
    config = lake.config({"public.t": {"columns": [{"name": "w", "type": "int", "backfill": 7}]}})
    expected = [(1, "A", None), (2, "b", 7)]
    lake.run_one(config)
    assert lake.rows("t", "id, v, w") == expected
    last = snapshot_ids(lake.spark, silver(lake))[-1]
    call(lake, "rollback_to_snapshot", f"snapshot_id => {load}")
    lake.run_one(config)
    assert lake.rows("t", "id, v, w") == expected
    call(lake, "set_current_snapshot", f"snapshot_id => {last}")
    assert lake.run_one(config).batches == []
    assert lake.rows("t", "id, v, w") == expected, "the NULL is the change's own"
