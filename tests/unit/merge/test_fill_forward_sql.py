"""Columns that updates leave out: what may be declared, what is marked in a file's rows, and the MERGE of tables without any."""

from typing import Any

import pytest

from dms_iceberg.bronze.columns import split_columns
from dms_iceberg.bronze.schema_groups import SchemaGroup
from dms_iceberg.changes.mapping import silver_columns
from dms_iceberg.changes.partial_updates import mark_select, with_kept_positions
from dms_iceberg.config.model import Config
from dms_iceberg.config.parse import parse_config
from dms_iceberg.errors import ConfigError
from dms_iceberg.merge.fill_forward_sql import completed_select, filled_select, lost_select, supply_select
from dms_iceberg.modes.mirror import merge_sql
from dms_iceberg.modes.statement import MergeSource
from dms_iceberg.sql.cdc_columns import KEPT_POSITIONS

KEEP = {"name": "c", "from": "s", "null_in_update": "keep"}
FILE = [("Op", "string"), ("dms_commit_ts", "string"), ("id", "string"), ("s", "string"), ("dms_change_seq", "string"), ("BI_id", "string")]


def config(marker: str | None = None, **table: Any) -> Config:
    csv = {"format": "csv", "csv": {"no_supplement": marker}} if marker else {}
    document = {
        "version": 1,
        "pipeline": "p",
        "bronze": {"uri": "bronze", **csv},
        "catalog": {"name": "lake", "type": "hadoop", "warehouse": "w"},
        "tables": {"public.t": {"target": "silver.t", "key": ["id"], **table}},
    }
    return parse_config(document)


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ({"columns": [KEEP], "filter": "c <> 'x'"}, "filter reads 'c', which is NULL in an update"),
        ({"columns": [KEEP], "rules": [{"name": "r", "expr": "length(S) > 1"}]}, "rules[0] reads 'S'"),
        ({"columns": [KEEP, {"name": "l", "expr": "length(s)"}]}, "columns[1] reads 's'"),
        ({"columns": [KEEP, {"name": "copy", "from": "s"}]}, "columns[1] copies the same source column without 'keep'"),
        ({"columns": [{"name": "c", "expr": "upper(s)", "null_in_update": "keep"}]}, "'c' has an expr"),
    ],
)
def test_what_cannot_be_right_is_refused(table: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        config(**table)
    assert any("columns[0].null_in_update: " in problem and says in problem for problem in caught.value.problems)


def test_only_tables_with_such_columns_are_changed() -> None:
    plain = config(columns=[{"name": "c", "from": "s"}])
    assert with_kept_positions(plain, plain.tables["public.t"]) is plain.tables["public.t"]
    for one in (config(columns=[KEEP]), config(marker="~")):
        table = with_kept_positions(one, one.tables["public.t"])
        assert [column.name for column in table.columns][-1] == KEPT_POSITIONS


def marks(one: Config) -> list[str]:
    table = with_kept_positions(one, one.tables["public.t"])
    columns = split_columns(SchemaGroup(True, "", tuple(FILE), (), None), FILE, one.bronze, table)
    silver = silver_columns(table, columns.names)
    return mark_select([name for name, _ in FILE], columns, one.bronze, table, silver)


def test_null_in_an_update_of_a_declared_column() -> None:
    moved = "(`Op` = 'U') AND ((`BI_id` IS NOT NULL AND NOT (`BI_id` <=> `id`)))"
    assert marks(config(columns=[KEEP])) == [
        *(f"`{name}`" for name, _ in FILE),
        "named_struct('c', coalesce((`Op` = 'U') AND (`s` IS NULL), false)) AS _cdc_lacks",
        "CAST(NULL AS string) AS _cdc_misplaced",
        f"coalesce({moved}, false) AS _cdc_moved",
    ]


def test_marker_becomes_null_in_source_and_before_image_columns() -> None:
    found = marks(config(marker="~"))
    assert found[:6] == [
        "`Op`",
        "`dms_commit_ts`",
        "nullif(`id`, '~') AS `id`",
        "nullif(`s`, '~') AS `s`",
        "`dms_change_seq`",
        "nullif(`BI_id`, '~') AS `BI_id`",
    ]
    assert found[6] == "named_struct('s', coalesce((`Op` = 'U') AND (`s` = '~'), false)) AS _cdc_lacks"
    assert "WHEN (`Op` = 'I') AND `s` = '~' THEN 'malformed: " in found[7]
    assert "not_supplied" not in found[7]
    assert "nullif(`BI_id`, '~') IS NOT NULL" in found[8]


def test_marker_where_the_filter_reads() -> None:
    found = marks(config(marker="~", columns=[{"name": "c", "from": "s"}], filter="c <> 'x' AND id > 1"))
    assert "WHEN (`Op` = 'U') AND `s` = '~' THEN 'not_supplied: the update has no value for s, which an expression" in found[7]
    assert "no value for id" not in found[7]


def test_steps_of_the_fill_name_each_column_once() -> None:
    assert len(supply_select(["a", "b"])) == 5
    assert len(lost_select(["a", "b"])) == 2
    names = ["id", "a", "b", KEPT_POSITIONS, "_cdc_problem"]
    filled = filled_select(names, ["a", "b"], late=False)
    assert filled[0] == "`id`" and len(filled) == len(names) + 1
    assert "late_key_change" not in filled[4] and "late_key_change" in filled_select(names, ["a"], late=True)[4]


def test_merge_is_the_same_as_ever_without_kept_columns() -> None:
    golden = (
        "MERGE INTO t0 t USING v s ON t.`id` = s.`id` AND p WHEN MATCHED AND s._cdc_delete{0} THEN DELETE WHEN MATCHED{0} THEN UPDATE SET "
        "t.`id` = s.`id`, t.`c` = s.`c`, t._cdc_position = s._cdc_position, t._cdc_op = s._cdc_op, "
        "t._cdc_committed_at = s._cdc_committed_at WHEN NOT MATCHED AND NOT s._cdc_delete THEN INSERT "
        "(`id`, `c`, _cdc_position, _cdc_op, _cdc_committed_at) VALUES (s.`id`, s.`c`, s._cdc_position, s._cdc_op, s._cdc_committed_at)"
    )
    late = " AND s._cdc_position > t._cdc_position"
    again = " AND (s._cdc_position > t._cdc_position OR s.again)"
    assert merge_sql("t0", MergeSource("v", ["p"]), ["id"], ["c"], compare=False) == golden.format("")
    assert merge_sql("t0", MergeSource("v", ["p"]), ["id"], ["c"], compare=True) == golden.format(late)
    assert merge_sql("t0", MergeSource("v", ["p"], "again"), ["id"], ["c"], compare=True) == golden.format(again)


def test_a_row_in_quarantine_that_was_completed_since_is_no_obstacle() -> None:
    text = completed_select(["id"])[1]
    assert text.startswith(
        "_cdc_kind = 'rejected' AND (max(_cdc_kind = 'change' AND _cdc_old_key = 0) OVER (PARTITION BY `id`, _cdc_position)"
    )
    assert "_cdc_reason = 'not_supplied' AND max(CASE WHEN _cdc_kind = 'stored' THEN _cdc_position END) OVER (PARTITION BY `id`)" in text
