"""A table that someone has made again by hand, or written to before the first batch: rows, and nothing that tells which files they hold."""

from collections.abc import Callable

import pyarrow as pa
import pytest

from dms_iceberg.config.model import Config
from dms_iceberg.context import RunRequest
from dms_iceberg.maintenance.run import maintain
from dms_iceberg.runs.preview import preview
from dms_iceberg.runs.replay import replay
from dms_iceberg.runs.run import run
from dms_iceberg.runs.status import table_statuses
from support.lake import Lake

ID_V = [("id", pa.int64()), ("v", pa.string())]
T1, T2 = "20260301100100", "20260301100200"
MODES = ("mirror", "soft_delete", "history", "append")
REPLACE = "CREATE OR REPLACE TABLE {0} USING iceberg AS SELECT * FROM {0}"


def cdc(minute: int) -> str:
    return f"2026/03/01/10/20260301-10{minute:02d}30000.parquet"


def make_again(lake: Lake, table: str) -> None:
    name = f"lake.{lake.namespace}.{table}"
    lake.spark.sql(REPLACE.format(name))
    # The session, as any that has looked at the table, keeps what it knew of it.
    lake.spark.sql(f"REFRESH TABLE {name}")


def test_table_that_was_replaced_is_refused_in_every_mode_until_it_is_put_back(lake: Lake) -> None:
    config = lake.config({f"public.{mode}": {"mode": mode} for mode in MODES})
    for mode in MODES:
        lake.load(f"public.{mode}", ID_V, [(1, "a"), (2, "b")])
    assert not lake.run(config).errors
    before = {mode: lake.target(mode).head() for mode in MODES}
    for mode in MODES:
        make_again(lake, mode)
        lake.changes(f"public.{mode}", cdc(1), ID_V, [("U", T1, 61, 1, "A"), ("D", T1, 65, 2, None)])
    rows = {mode: lake.rows(mode) for mode in MODES}
    for said in everywhere(lake, config):
        for mode in MODES:
            error, head = said[f"public.{mode}"] or "", before[mode]
            assert head is not None
            assert "nothing tells which files" in error, error
            assert f"set_current_snapshot('{lake.namespace}.{mode}', {head.id})" in error
            assert "drop the table" in error
    assert {mode: lake.rows(mode) for mode in MODES} == rows
    for mode, head in before.items():
        lake.spark.sql(f"CALL lake.system.set_current_snapshot('{lake.namespace}.{mode}', {head.id if head else 0})")
    assert not lake.run(config).errors
    assert lake.rows("mirror", "id, v") == [(1, "A")]
    assert lake.rows("append", "_cdc_op, id, v", "_cdc_position, id") == [("I", 1, "a"), ("I", 2, "b"), ("U", 1, "A"), ("D", 2, None)]
    assert lake.rows("soft_delete", "id, v, _cdc_deleted") == [(1, "A", False), (2, "b", True)]
    assert lake.rows("history", "id, v, _is_current", "_cdc_position, id") == [(1, "a", False), (2, "b", False), (1, "A", True)]


def everywhere(lake: Lake, config: Config) -> list[dict[str, str | None]]:
    """What every command says that looks at the progress."""
    rebuilding = RunRequest(rebuild=frozenset(config.tables))
    return [
        run(lake.spark, config).errors,
        run(lake.spark, config, request=rebuilding).errors,
        replay(lake.spark, config).errors,
        {one.table: one.error for one in preview(lake.spark, config)},
        {one.table: one.last_error for one in table_statuses(lake.spark, config)},
    ]


def empty_of_rows(lake: Lake) -> None:
    name = f"lake.{lake.namespace}.t"
    lake.spark.sql(f"CREATE OR REPLACE TABLE {name} USING iceberg AS SELECT * FROM {name} WHERE false")
    lake.spark.sql(f"REFRESH TABLE {name}")


def dropped(lake: Lake) -> None:
    lake.spark.sql(f"DROP TABLE lake.{lake.namespace}.t")


@pytest.mark.parametrize("emptied", [empty_of_rows, dropped])
def test_table_without_a_row_is_filled_again(lake: Lake, emptied: Callable[[Lake], None]) -> None:
    config = lake.config({"public.t": {"mode": "append"}})
    lake.load("public.t", ID_V, [(1, "a")])
    lake.changes("public.t", cdc(1), ID_V, [("U", T1, 61, 1, "A")])
    lake.run_one(config)
    emptied(lake)
    lake.run_one(config)
    assert lake.rows("t", "_cdc_op, id, v", "_cdc_position") == [("I", 1, "a"), ("U", 1, "A")]


def test_rows_that_were_there_before_the_first_batch_are_refused(lake: Lake) -> None:
    columns = [{"name": "id", "type": "bigint"}, {"name": "v", "type": "string"}]
    config = lake.config({"public.t": {"columns": columns}})
    lake.load("public.t", ID_V, [(1, "a")])
    lake.run_one(config)
    # As it was before its first batch, and then written to.
    name = f"lake.{lake.namespace}.t"
    lake.spark.sql(
        f"CREATE OR REPLACE TABLE {name} (id bigint, v string, _cdc_position string, _cdc_op string, _cdc_committed_at timestamp)"
    )
    lake.spark.sql(f"REFRESH TABLE {name}")
    lake.spark.sql(f"INSERT INTO {name} VALUES (1, 'by hand', 'a0', 'I', NULL)")
    error = lake.run_one(config, fails=True).error or ""
    assert "nothing tells which files" in error
    assert lake.rows("t", "id, v") == [(1, "by hand")]


def test_maintenance_does_not_take_away_the_way_back(lake: Lake, hours_later: None) -> None:
    config = lake.config({"public.t": {}}, maintenance={"snapshots_kept": 1, "snapshots_max_age_hours": 1})
    lake.load("public.t", ID_V, [(1, "a")])
    lake.run_one(config)
    head = lake.target("t").head()
    make_again(lake, "t")
    (report,) = maintain(lake.spark, config, config.tables.values()).tables.values()
    assert "nothing tells which files" in (report.error or "")
    assert head is not None and lake.target("t").has_snapshot(head.id)
