"""Calls of Iceberg's procedures, and which of the files that it takes for orphans may be deleted."""

import json

import pytest

from dms_iceberg.config.model import Maintenance
from dms_iceberg.errors import TargetError
from dms_iceberg.maintenance.expiry import SnapshotFact
from dms_iceberg.maintenance.procedures import compact_sql, expire_sql, orphans_sql, removable
from dms_iceberg.maintenance.table_stats import stats_of_metadata

PARTS = ("lake", "silver", "it's `odd`")


def test_names_are_quoted_twice_and_thresholds_are_options() -> None:
    assert compact_sql(PARTS, Maintenance(delete_files_per_data_file=4, deleted_rows_percent=25)) == (
        "CALL `lake`.system.rewrite_data_files(table => '`silver`.`it\\'s ``odd```', options => map('min-input-files', '5', "
        "'delete-file-threshold', '4', 'delete-ratio-threshold', '0.25', 'max-files-to-rewrite', '500'))"
    )


def test_expiry_names_every_snapshot() -> None:
    assert expire_sql(("lake", "silver", "t"), [3, 5]) == (
        "CALL `lake`.system.expire_snapshots(table => '`silver`.`t`', older_than => TIMESTAMP '1970-01-02 00:00:00', "
        "snapshot_ids => array(3L, 5L))"
    )


def test_orphans_are_only_listed_and_other_schemes_are_an_error() -> None:
    assert orphans_sql(("lake", "silver", "t"), "2026-01-01 00:00:00") == (
        "CALL `lake`.system.remove_orphan_files(table => '`silver`.`t`', older_than => TIMESTAMP '2026-01-01 00:00:00', dry_run => true, "
        "equal_schemes => map('s3a,s3n', 's3'), prefix_mismatch_mode => 'ERROR')"
    )


@pytest.mark.parametrize(
    ("location", "found"),
    [
        ("/w/silver/t", "file:/w/silver/t/data/a.parquet"),
        ("file:///w/silver/t/", "/w/silver/t/metadata/v1.metadata.json"),
        ("s3://bucket/silver/t", "s3a://bucket/silver/t/data/city=a%2Fb/a.parquet"),
        ("s3://bucket/silver/t", "s3://bucket/silver/t/metadata/snap-1.avro"),
    ],
)
def test_files_in_the_tables_own_folders_may_go(location: str, found: str) -> None:
    assert removable(location, [found]) == [found]


@pytest.mark.parametrize(
    "other",
    [
        "s3://bucket/silver/t_2/data/a.parquet",
        "s3://bucket/silver/t",
        "s3://bucket/silver/t/data/",
        "s3://bucket/silver/t/notes.txt",
        "s3://bucket/silver/t/u/data/a.parquet",
        "s3://other/silver/t/data/a.parquet",
        "s3://bucket/silver/",
    ],
)
def test_files_elsewhere_stay(other: str) -> None:
    assert removable("s3://bucket/silver/t", [other]) == []


@pytest.mark.parametrize(
    "inner", ["data/u/data/a.parquet", "data/u/metadata/v1.metadata.json", "metadata/u/a.avro", "data/v1.metadata.json"]
)
def test_a_table_in_a_tables_folder_stops_it(inner: str) -> None:
    files = ["s3://bucket/silver/t/data/a.parquet", f"s3://bucket/silver/t/{inner}"]
    with pytest.raises(TargetError, match="looks like a file of another table") as caught:
        removable("s3://bucket/silver/t", files)
    assert "Nothing was deleted" in str(caught.value)


def test_facts_of_a_metadata_document() -> None:
    document = {
        "format-version": 2,
        "properties": {
            "dms-iceberg.progress-copy": json.dumps({"snapshot": "12", "progress": "{}"}),
            "dms-iceberg.backfill.c": json.dumps({"value": 1, "snapshot": 11}),
            "dms-iceberg.before.13": json.dumps({"dms-iceberg.key": "[]"}),
            "dms-iceberg.key": json.dumps(["id"]),
            "dms-iceberg.other": "no JSON",
            "write.target-file-size-bytes": "1048576",
            "owner": json.dumps({"snapshot": 99}),
        },
        "snapshots": [
            {"snapshot-id": 11, "timestamp-ms": 1, "summary": {"operation": "append", "dms-iceberg.progress": "{}"}},
            {
                "snapshot-id": 12,
                "parent-snapshot-id": 11,
                "timestamp-ms": 2,
                "summary": {"total-data-files": "7", "total-delete-files": "3"},
            },
        ],
        "refs": {"main": {"snapshot-id": 12, "type": "branch"}, "t": {"snapshot-id": 11, "type": "tag"}},
    }
    found = stats_of_metadata(document)
    assert found.snapshots == (SnapshotFact(11, None, 1, True), SnapshotFact(12, 11, 2, False))
    assert (found.refs, found.named) == ({"main": 12, "t": 11}, {11, 12, 13})
    assert (found.data_files, found.delete_files, found.target_bytes) == (7, 3, 1 << 20)
    assert stats_of_metadata({"format-version": 2, "properties": {}}).head is None
