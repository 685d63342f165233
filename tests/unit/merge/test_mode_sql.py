"""The MERGE texts of the modes beside mirror."""

from dms_iceberg.config.model import Mode
from dms_iceberg.merge.soft_delete import soft_delete_sql
from dms_iceberg.merge.versions import history_sql
from dms_iceberg.silver.metadata_columns import METADATA_COLUMNS, metadata_columns, mode_of
from dms_iceberg.silver.switch_mode import given_sql

ROW = "t.`id` = s.`id`, t.`v` = s.`v`, t._cdc_row_position = s._cdc_row_position, t._cdc_op = s._cdc_op"
ROW += ", t._cdc_committed_at = s._cdc_committed_at"
EVENT = "t._cdc_position = s._cdc_position, t._cdc_deleted = s._cdc_deleted, t._cdc_deleted_at = s._cdc_deleted_at"


def test_soft_delete_in_order_does_not_compare() -> None:
    sql = soft_delete_sql("lake.t", "w", ["id"], ["v"], ["t.`id` IN (1L)"], compare=False)
    assert sql.startswith(
        "MERGE INTO lake.t t USING w s ON t.`id` = s.`id` AND t.`id` IN (1L) "
        f"WHEN MATCHED AND s._cdc_row_position IS NOT NULL THEN UPDATE SET {ROW}, {EVENT} "
        f"WHEN MATCHED THEN UPDATE SET {EVENT} "
        "WHEN NOT MATCHED AND s._cdc_row_position IS NOT NULL THEN INSERT (`id`, `v`, "
    )


def test_soft_delete_of_a_late_batch_compares_each_register() -> None:
    sql = soft_delete_sql("lake.t", "w", ["id"], ["v"], [], compare=True)
    newer_row, newer_event = "s._cdc_row_position > t._cdc_row_position", "s._cdc_position > t._cdc_position"
    assert f"WHEN MATCHED AND {newer_row} AND {newer_event} THEN UPDATE SET {ROW}, {EVENT} " in sql
    assert f"WHEN MATCHED AND {newer_row} THEN UPDATE SET {ROW} WHEN" in sql
    assert f"WHEN MATCHED AND {newer_event} THEN UPDATE SET {EVENT} WHEN" in sql


def test_a_version_is_known_by_its_key_and_position() -> None:
    sql = history_sql("lake.t", "w", ["a", "b"], ["v"], ["t.`a` BETWEEN 1L AND 2L"])
    assert sql.startswith(
        "MERGE INTO lake.t t USING w s ON t.`a` = s.`a` AND t.`b` = s.`b` AND t._cdc_position = s._cdc_position "
        "AND t.`a` BETWEEN 1L AND 2L WHEN MATCHED AND s._cdc_action = 'remove' THEN DELETE WHEN MATCHED THEN UPDATE SET t.`a` = s.`a`, "
    )


def test_the_columns_of_a_table_tell_its_mode() -> None:
    for mode in Mode:
        assert mode_of(metadata_columns(mode)) is mode
    # A source may call its columns as it likes.
    assert mode_of({**METADATA_COLUMNS, "_valid_from": None, "_valid_to": None, "_is_current": None}) is Mode.MIRROR


def test_rows_of_a_mirror_become_versions_once() -> None:
    wanted = "UPDATE t SET _valid_from = _cdc_committed_at, _is_current = true WHERE _is_current IS NULL"
    assert given_sql("t", Mode.HISTORY) == wanted
