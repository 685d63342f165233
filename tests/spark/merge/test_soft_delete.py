"""Mode soft_delete: deleted rows stay, marked, with the values they had; nothing depends on how changes arrive."""

import pyarrow as pa
import pytest

from dms_iceberg.errors import ConfigError
from dms_iceberg.runs.preview import preview
from support.lake import Lake, timestamp

ID_V = [("id", pa.int64()), ("v", pa.string())]
T1, T2, T3, T4 = "20260301100100", "20260301100200", "20260301100300", "20260301100400"
SOFT = {"mode": "soft_delete"}
SHOWN = "id, v, _cdc_deleted, date_format(_cdc_deleted_at, 'HHmmss')"


def cdc(minute: int) -> str:
    return f"2026/03/01/10/20260301-10{minute:02d}30000.parquet"


def test_deleted_rows_stay_and_come_back(lake: Lake) -> None:
    config = lake.config({"public.t": SOFT})
    lake.load("public.t", ID_V, [(1, "a"), (2, "b"), (3, "c")])
    lake.run_one(config)
    lake.changes("public.t", cdc(1), ID_V, [("U", T1, 61, 1, "A"), ("D", T1, 65, 2, None), ("D", T1, 69, 3, None), ("D", T1, 73, 9, None)])
    report = lake.run_one(config)
    assert report.applied == 4
    assert lake.rows("t", SHOWN) == [(1, "A", False, None), (2, "b", True, "100100"), (3, "c", True, "100100")]
    lake.changes("public.t", cdc(2), ID_V, [("I", T2, 81, 3, "again")])
    lake.run_one(config)
    assert lake.rows("t", f"{SHOWN}, _cdc_op") == [
        (1, "A", False, None, "U"),
        (2, "b", True, "100100", "I"),
        (3, "again", False, None, "I"),
    ]


STORY = [("I", T1, 61, 1, "a"), ("U", T2, 73, 1, "b"), ("D", T3, 85, 1, None)]


DELIVERIES = {
    "in_one_batch": [[1, 2, 3]],
    "in_order": [[1], [2], [3]],
    "delete_first": [[3], [1], [2]],
    "backwards": [[3], [2], [1]],
    "last_values_late": [[1, 3], [2]],
}


@pytest.mark.long
def test_the_same_row_however_its_changes_arrive(lake: Lake) -> None:
    config = lake.config({f"public.{name}": SOFT for name in DELIVERIES})
    for name in DELIVERIES:
        lake.load(f"public.{name}", ID_V, [(7, "x")])
        lake.changes(f"public.{name}", cdc(9), ID_V, [("U", T4, 97, 7, "y")])
    lake.run(config)
    for step in range(3):
        for name, deliveries in DELIVERIES.items():
            for number in deliveries[step] if step < len(deliveries) else ():
                lake.changes(f"public.{name}", cdc(number), ID_V, [STORY[number - 1]])
        assert lake.run(config).failed == []
    for name in DELIVERIES:
        assert lake.rows(name, SHOWN) == [(1, "b", True, "100300"), (7, "y", False, None)], name


def test_row_that_leaves_the_filter_keeps_what_it_was_inside(lake: Lake) -> None:
    config = lake.config({"public.t": {**SOFT, "filter": "v <> 'hidden'"}})
    lake.load("public.t", ID_V, [(1, "a"), (2, "hidden")])
    lake.changes("public.t", cdc(1), ID_V, [("U", T1, 61, 1, "hidden"), ("U", T1, 65, 2, "hidden")])
    lake.run_one(config)
    assert lake.rows("t", SHOWN) == [(1, "a", True, "100100")]
    lake.changes("public.t", cdc(2), ID_V, [("U", T2, 73, 1, "back"), ("U", T2, 77, 2, "first")])
    lake.run_one(config)
    assert lake.rows("t", SHOWN) == [(1, "back", False, None), (2, "first", False, None)]


def test_old_key_is_marked(lake: Lake) -> None:
    config = lake.config({"public.t": SOFT})
    lake.load("public.t", ID_V, [(1, "a")])
    lake.run_one(config)
    lake.changes("public.t", cdc(1), ID_V, [("U", T1, 61, 2, "a", 1)])
    lake.run_one(config)
    assert lake.rows("t", SHOWN) == [(1, "a", True, "100100"), (2, "a", False, None)]


def test_late_values_of_a_deleted_row_count_as_applied_and_older_ones_as_stale(lake: Lake) -> None:
    config = lake.config({"public.t": SOFT})
    lake.changes("public.t", cdc(3), ID_V, [("D", T3, 85, 1, None)])
    lake.run_one(config)
    assert lake.rows("t") == []
    lake.changes("public.t", cdc(2), ID_V, [("U", T2, 73, 1, "b")])
    assert (late := lake.run_one(config)).applied == 1
    assert late.stale == 0
    lake.changes("public.t", cdc(1), ID_V, [("I", T1, 61, 1, "a")])
    assert lake.run_one(config).stale == 1
    assert lake.rows("t", SHOWN) == [(1, "b", True, "100300")]


def test_new_column_reaches_marked_and_live_rows(lake: Lake) -> None:
    config = lake.config({"public.t": SOFT})
    lake.load("public.t", ID_V, [(1, "a"), (2, "b")])
    lake.changes("public.t", cdc(1), ID_V, [("D", T1, 61, 1, None)])
    lake.run_one(config)
    lake.changes("public.t", cdc(2), [*ID_V, ("w", pa.int32())], [("U", T2, 73, 2, "b", 5)])
    lake.run_one(config)
    assert lake.rows("t", "id, v, w, _cdc_deleted") == [(1, "a", None, True), (2, "b", 5, False)]


def test_mirror_becomes_soft_delete_without_a_reload(lake: Lake) -> None:
    mirror, soft = lake.config({"public.t": {}}), lake.config({"public.t": SOFT})
    lake.load("public.t", ID_V, [(1, "a"), (2, "b")])
    lake.run_one(mirror)
    lake.changes("public.t", cdc(1), ID_V, [("D", T1, 61, 1, None)])
    (plan,) = preview(lake.spark, soft)
    assert plan.sql[-1].endswith("SET _cdc_row_position = _cdc_position, _cdc_deleted = false WHERE _cdc_deleted IS NULL")
    report = lake.run_one(soft)
    assert report.ddl == plan.sql
    assert lake.rows("t", SHOWN) == [(1, "a", True, "100100"), (2, "b", False, None)]
    name = f"{lake.namespace}.t"
    snapshot = lake.spark.sql(f"SELECT snapshot_id FROM lake.{name}.snapshots ORDER BY committed_at LIMIT 1").collect()[0][0]
    lake.spark.sql(f"CALL lake.system.rollback_to_snapshot('{name}', {snapshot})")
    lake.run_one(soft)
    assert lake.rows("t", SHOWN) == [(1, "a", True, "100100"), (2, "b", False, None)]


def test_soft_delete_does_not_become_mirror(lake: Lake) -> None:
    lake.load("public.t", ID_V, [(1, "a")])
    lake.run_one(lake.config({"public.t": SOFT}))
    lake.changes("public.t", cdc(1), ID_V, [("D", T1, 61, 1, None)])
    mirror = lake.config({"public.t": {}})
    error = lake.run_one(mirror, fails=True).error or ""
    assert "is a table of mode soft_delete, which cannot become mirror in place" in error
    assert "give the table a new target" in error
    assert preview(lake.spark, mirror)[0].error == error


def test_columns_that_updates_leave_out_are_refused(lake: Lake) -> None:
    kept = {**SOFT, "columns": [{"name": "v", "type": "string", "null_in_update": "keep"}]}
    with pytest.raises(ConfigError, match=r"columns\[0\].null_in_update: found 'keep' with mode 'soft_delete'; allowed with it: 'set'"):
        lake.config({"public.t": kept})
    with pytest.raises(ConfigError, match=r"mode: found 'soft_delete' with bronze.csv.no_supplement; allowed with that: 'mirror'"):
        lake.config({"public.t": SOFT}, bronze={"format": "csv", "csv": {"no_supplement": "?"}})


def test_time_of_a_delete_is_its_commit(lake: Lake) -> None:
    config = lake.config({"public.t": SOFT})
    lake.load("public.t", ID_V, [(1, "a")])
    lake.changes("public.t", cdc(1), ID_V, [("D", T1, 61, 1, None)])
    lake.run_one(config)
    assert lake.rows("t", "CAST(_cdc_deleted_at AS timestamp_ntz) = timestamp_ntz'" + timestamp(T1) + "'") == [(True,)]
