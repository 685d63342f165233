"""The texts of MERGE, pruning and CREATE TABLE."""

import pytest

from dms_iceberg.config.model import Table
from dms_iceberg.merge.statement import KeyRange, insert_columns, key_list_sql, merge_sql
from dms_iceberg.silver.ddl import create_sql


def test_merge_of_an_in_order_batch_does_not_look_at_stored_positions() -> None:
    text = merge_sql("`c`.`n`.`t`", "v", ["id"], ["a b"], ["t.`id` BETWEEN 1 AND 2"], compare=False)
    assert text == (
        "MERGE INTO `c`.`n`.`t` t USING v s ON t.`id` = s.`id` AND t.`id` BETWEEN 1 AND 2 "
        "WHEN MATCHED AND s._cdc_delete THEN DELETE "
        "WHEN MATCHED THEN UPDATE SET t.`id` = s.`id`, t.`a b` = s.`a b`, t._cdc_position = s._cdc_position, t._cdc_op = s._cdc_op, "
        "t._cdc_committed_at = s._cdc_committed_at "
        "WHEN NOT MATCHED AND NOT s._cdc_delete THEN INSERT (`id`, `a b`, _cdc_position, _cdc_op, _cdc_committed_at) "
        "VALUES (s.`id`, s.`a b`, s._cdc_position, s._cdc_op, s._cdc_committed_at)"
    )


def test_merge_of_a_late_batch_compares_row_by_row() -> None:
    text = merge_sql("t", "v", ["a", "b"], [], [], compare=True)
    assert "ON t.`a` = s.`a` AND t.`b` = s.`b` WHEN" in text
    assert "WHEN MATCHED AND s._cdc_delete AND s._cdc_position > t._cdc_position THEN DELETE" in text
    assert "WHEN MATCHED AND s._cdc_position > t._cdc_position THEN UPDATE" in text


@pytest.mark.parametrize(
    ("type_", "low", "high", "expected"),
    [
        ("bigint", "-5", "7", "t.`k` BETWEEN CAST(-6 AS bigint) AND CAST(8 AS bigint)"),
        ("int", str(-(2**31)), str(2**31 - 1), "t.`k` BETWEEN CAST(-2147483648 AS int) AND CAST(2147483647 AS int)"),
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
    assert insert_columns(["id", "a`b"]) == ["`id`", "`a``b`", "_cdc_position", "_cdc_op", "_cdc_committed_at"]


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
