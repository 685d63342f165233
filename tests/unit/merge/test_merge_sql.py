"""The texts of MERGE in every mode, of pruning and of CREATE TABLE."""

import pytest

from dms_iceberg.config.model import Table
from dms_iceberg.merge.statement import KeyRange, key_list_sql
from dms_iceberg.modes.history import HISTORY, history_sql
from dms_iceberg.modes.lookup import MODES, mode_of
from dms_iceberg.modes.metadata_columns import METADATA_COLUMNS, row_columns
from dms_iceberg.modes.mirror import MIRROR, merge_sql
from dms_iceberg.modes.soft_delete import soft_delete_sql
from dms_iceberg.modes.statement import MergeSource
from dms_iceberg.silver.schema.ddl import create_sql
from dms_iceberg.silver.schema.switch_mode import given_sql


def test_merge_of_an_in_order_batch_does_not_look_at_stored_positions() -> None:
    text = merge_sql("`c`.`n`.`t`", MergeSource("v", ["t.`id` BETWEEN 1 AND 2"]), ["id"], ["a b"], compare=False)
    assert text == (
        "MERGE INTO `c`.`n`.`t` t USING v s ON t.`id` = s.`id` AND t.`id` BETWEEN 1 AND 2 "
        "WHEN MATCHED AND s._cdc_delete THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET t.`id` = s.`id`, t.`a b` = s.`a b`, t._cdc_position = s._cdc_position, t._cdc_op = s._cdc_op, "
        "t._cdc_committed_at = s._cdc_committed_at "
        "WHEN NOT MATCHED AND NOT s._cdc_delete THEN INSERT (`id`, `a b`, _cdc_position, _cdc_op, _cdc_committed_at) "
        "VALUES (s.`id`, s.`a b`, s._cdc_position, s._cdc_op, s._cdc_committed_at)"
    )


def test_merge_of_a_late_batch_compares_row_by_row() -> None:
    text = merge_sql("t", MergeSource("v"), ["a", "b"], [], compare=True)
    assert "ON t.`a` = s.`a` AND t.`b` = s.`b` WHEN" in text
    assert "WHEN MATCHED AND s._cdc_delete AND s._cdc_position > t._cdc_position THEN DELETE" in text
    assert "WHEN MATCHED AND s._cdc_position > t._cdc_position THEN UPDATE" in text


@pytest.mark.parametrize(
    ("type_", "low", "high", "expected"),
    [
        ("bigint", "-5", "7", "t.`k` BETWEEN CAST(-6 AS bigint) AND CAST(8 AS bigint)"),
        ("int", "0", str(2**31 - 1), "t.`k` BETWEEN CAST(0 AS int) AND CAST(2147483647 AS int)"),
        ("int", "-1", "7", None),
        ("smallint", "-1", "7", None),
        ("smallint", "1", "32767", "t.`k` BETWEEN CAST(0 AS smallint) AND CAST(32767 AS smallint)"),
        ("bigint", str(-(2**63) + 2**31), "7", f"t.`k` BETWEEN CAST({-(2**63) + 2**31} AS bigint) AND CAST({2**60} AS bigint)"),
        ("bigint", str(-(2**63) + 2**31 - 1), "7", None),
        ("string", "O'N", "\\z", "t.`k` BETWEEN 'O\\'N' AND '\\\\z'"),
        ("date", "0001-01-01", "9999-12-31", "t.`k` BETWEEN CAST('0001-01-01' AS date) AND CAST('9999-12-31' AS date)"),
        ("decimal(5,2)", "1.00", "2.00", "t.`k` BETWEEN CAST('1.00' AS decimal(5,2)) AND CAST('2.00' AS decimal(5,2))"),
        ("double", "1.0", "2.0", None),
        ("binary", "a", "b", None),
        ("boolean", "false", "true", None),
        ("bigint", None, None, None),
    ],
)
def test_key_range(type_: str, low: str | None, high: str | None, expected: str | None) -> None:
    assert KeyRange("k", type_, low, high).sql("t.") == expected


def test_key_list() -> None:
    assert key_list_sql("t", "k", "string", ["a'b", "${x}"]) == "t.`k` IN ('a\\'b', '${x}')"
    assert key_list_sql("t", "k", "int", ["1", "2"]) == "t.`k` IN (CAST(1 AS int), CAST(2 AS int))"
    assert key_list_sql("t", "k", "float", ["1.0"]) is None
    assert key_list_sql("t", "k", "int", []) is None


def test_append_columns_end_with_the_metadata() -> None:
    assert row_columns(["id", "a`b"]) == ["`id`", "`a``b`", "_cdc_position", "_cdc_op", "_cdc_committed_at"]


def test_create_table() -> None:
    table = Table(
        source="public.t",
        target="n.t",
        key=("id",),
        partition_by=("bucket(4, id)", "two words", "days(`order`)"),
        table_properties={"owner": "it's us"},
        format_version=3,
        write_mode="copy-on-write",
        target_file_size_mb=64,
    )
    text = create_sql("`c`.`n`.`t`", {"id": "bigint", "order": "timestamp"}, table)
    assert text.startswith("CREATE TABLE IF NOT EXISTS `c`.`n`.`t` (`id` bigint, `order` timestamp, `_cdc_position` string COMMENT '")
    assert " USING iceberg PARTITIONED BY (bucket(4, `id`), `two words`, days(`order`)) TBLPROPERTIES (" in text
    for part in ("'format-version' = '3'", "'owner' = 'it\\'s us'", "'write.merge.mode' = 'copy-on-write'", "bytes' = '67108864'"):
        assert part in text
    assert "'write.merge.isolation-level' = 'serializable'" in text
    assert "'write.merge.distribution-mode' = 'hash'" in text


ROW = "t.`id` = s.`id`, t.`v` = s.`v`, t._cdc_row_position = s._cdc_row_position, t._cdc_op = s._cdc_op"


ROW += ", t._cdc_committed_at = s._cdc_committed_at"


EVENT = "t._cdc_position = s._cdc_position, t._cdc_deleted = s._cdc_deleted, t._cdc_deleted_at = s._cdc_deleted_at"


def test_soft_delete_in_order_does_not_compare() -> None:
    sql = soft_delete_sql("lake.t", MergeSource("w", ["t.`id` IN (1L)"]), ["id"], ["v"], compare=False)
    assert sql.startswith(
        "MERGE INTO lake.t t USING w s ON t.`id` = s.`id` AND t.`id` IN (1L) "
        f"WHEN MATCHED AND s._cdc_row_position IS NOT NULL THEN UPDATE SET {ROW}, {EVENT} "
        f"WHEN MATCHED THEN UPDATE SET {EVENT} "
        "WHEN NOT MATCHED AND s._cdc_row_position IS NOT NULL THEN INSERT (`id`, `v`, "
    )


def test_soft_delete_of_a_late_batch_compares_row_and_change() -> None:
    sql = soft_delete_sql("lake.t", MergeSource("w"), ["id"], ["v"], compare=True)
    newer_row, newer_event = "s._cdc_row_position > t._cdc_row_position", "s._cdc_position > t._cdc_position"
    assert f"WHEN MATCHED AND {newer_row} AND {newer_event} THEN UPDATE SET {ROW}, {EVENT} " in sql
    assert f"WHEN MATCHED AND {newer_row} THEN UPDATE SET {ROW} WHEN" in sql
    assert f"WHEN MATCHED AND {newer_event} THEN UPDATE SET {EVENT} WHEN" in sql


def test_a_version_is_known_by_its_key_and_position() -> None:
    sql = history_sql("lake.t", MergeSource("w", ["t.`a` BETWEEN 1L AND 2L"]), ["a", "b"], ["v"])
    assert sql.startswith(
        "MERGE INTO lake.t t USING w s ON t.`a` = s.`a` AND t.`b` = s.`b` AND t._cdc_position = s._cdc_position "
        "AND t.`a` BETWEEN 1L AND 2L WHEN MATCHED AND s._cdc_action = 'remove' THEN DELETE WHEN MATCHED THEN UPDATE SET t.`a` = s.`a`, "
    )


def test_the_columns_of_a_table_tell_its_mode() -> None:
    for mode in MODES.values():
        assert mode_of(mode.metadata_columns) is mode
    # A source may call its columns as it likes.
    assert mode_of({**METADATA_COLUMNS, "_valid_from": None, "_valid_to": None, "_is_current": None}) is MIRROR


def test_rows_of_a_mirror_become_versions_once() -> None:
    wanted = "UPDATE t SET _valid_from = _cdc_committed_at, _is_current = true WHERE _is_current IS NULL"
    assert given_sql("t", HISTORY) == wanted
