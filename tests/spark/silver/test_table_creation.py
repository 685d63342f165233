"""Tables made from the configuration, and every declared table option, over two runs of several tables."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from dms_iceberg.context import RunRequest
from dms_iceberg.runs.report import RunReport
from dms_iceberg.runs.run import run
from support.lake import Lake
from support.text_files import cdc_name

T1, T2 = "20260301100100", "20260301100200"
COLUMNS = [("id", pa.int64()), ("region", pa.string()), ("order", pa.int32()), ("at", pa.timestamp("us", tz="UTC"))]
TYPED = [
    {"name": "id", "type": "bigint"},
    {"name": "full name", "from": "full_name", "type": "string"},
    {"name": "amount", "type": "decimal(12,2)"},
    {"name": "small", "type": "smallint"},
    {"name": "email", "mask": "redact"},
]
PARTITIONS: dict[str, list[str]] = {
    "bucketed": ["bucket(4, id)"],
    "truncated": ["truncate(3, region)"],
    "daily": ["days(at)"],
    "several": ["region", "`order`", "months(at)"],
    "by_region": ["region"],
}
OPTIONS: dict[str, dict[str, Any]] = {
    "third": {"format_version": 3},
    "copied": {"write_mode": "copy-on-write"},
    "tuned": {"target_file_size_mb": 7, "table_properties": {"write.parquet.compression-codec": "gzip", "team": "it's us"}},
}
EMPTY: dict[str, dict[str, Any]] = {
    "empty": {"columns": TYPED, "partition_by": ["bucket(2, `full name`)"]},
    "undeclared": {},
    "half_declared": {"columns": [*TYPED, {"name": "more"}]},
}


@attrs.frozen
class Made:
    lake: Lake
    first: RunReport
    second: RunReport

    def sql(self, text: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in self.lake.spark.sql(text.replace("@", f"lake.{self.lake.namespace}.")).collect()]

    def metadata(self, table: str) -> Path:
        """The newest metadata file of a table."""
        folder = self.lake.warehouse / self.lake.namespace / table / "metadata"
        return max(folder.glob("v*.metadata.json"), key=lambda path: int(path.name[1:].split(".")[0]))

    def properties(self, table: str) -> dict[str, str]:
        return dict(self.sql(f"SHOW TBLPROPERTIES @{table}"))


@pytest.fixture(scope="module")
def made(spark: SparkSession, warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Made]:
    lake = Lake(spark, warehouse, tmp_path_factory.mktemp("creation"))
    tables = {name: {"partition_by": fields} for name, fields in PARTITIONS.items()} | OPTIONS | EMPTY
    config = lake.config({f"public.{name}": table for name, table in tables.items()})
    days = [pa.scalar(day * 86_400_000_000, pa.timestamp("us", tz="UTC")).as_py() for day in (20_000, 20_001, 20_040)]
    for name in (*PARTITIONS, *OPTIONS):
        rows = [(n, ("north", "south", "west")[n % 3], n % 2, days[n % 3]) for n in range(1, 13)]
        lake.load(f"public.{name}", COLUMNS, rows)
    word = RunRequest(load_complete=frozenset(f"public.{name}" for name in EMPTY))
    first = run(spark, config, request=word)
    for name in (*PARTITIONS, *OPTIONS):
        changes = [
            # A PostgreSQL delete says nothing about the row's partition; an update may move it to another.
            ("D", T1, 61, 1, None, None, None),
            ("D", T1, 65, 2, None, None, None),
            ("U", T1, 69, 3, "east", 7, days[2]),
            ("U", T1, 73, 4, None, None, None),
            ("I", T1, 77, 13, "east", 1, days[0]),
        ]
        lake.changes(f"public.{name}", cdc_name(1), COLUMNS, changes)
    yield Made(lake, first, lake.run(config))


@pytest.mark.parametrize("table", [*PARTITIONS, *OPTIONS])
def test_changes_reach_every_partition(made: Made, table: str) -> None:
    for report in (made.first, made.second):
        assert report.tables[f"public.{table}"].error is None, report.tables[f"public.{table}"].error
    rows = made.lake.rows(table, "id, region, `order`, unix_date(CAST(at AS date))")
    kept = [(n, ("north", "south", "west")[n % 3], n % 2, (20_000, 20_001, 20_040)[n % 3]) for n in range(5, 13)]
    assert rows == [(3, "east", 7, 20_040), (4, None, None, None), *kept, (13, "east", 1, 20_000)]


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ("bucketed", [("id", "bucket[4]")]),
        ("truncated", [("region", "truncate[3]")]),
        ("daily", [("at", "day")]),
        ("several", [("region", "identity"), ("order", "identity"), ("at", "month")]),
        ("by_region", [("region", "identity")]),
    ],
)
def test_partition_transforms(made: Made, table: str, expected: list[tuple[str, str]]) -> None:
    metadata = json.loads(made.metadata(table).read_text())
    names = {field["id"]: field["name"] for field in metadata["schemas"][-1]["fields"]}
    (spec,) = metadata["partition-specs"]
    assert [(names[field["source-id"]], field["transform"]) for field in spec["fields"]] == expected


def test_deletes_are_written_as_declared(made: Made) -> None:
    def delete_files(table: str) -> set[str]:
        return {row[0] for row in made.sql(f"SELECT file_format FROM @{table}.delete_files")}

    assert delete_files("by_region") == {"PARQUET"}
    assert delete_files("third") == {"PUFFIN"}
    assert delete_files("copied") == set()


def test_only_one_task_writes_the_deletion_vector_of_a_file(made: Made) -> None:
    """Two vectors for one data file make a table of format v3 unreadable."""
    assert made.properties("third")["write.merge.distribution-mode"] == "hash"


def test_table_properties(made: Made) -> None:
    tuned = made.properties("tuned")
    assert tuned["write.target-file-size-bytes"] == str(7 << 20)
    assert (tuned["write.parquet.compression-codec"], tuned["team"]) == ("gzip", "it's us")
    assert made.properties("third")["format-version"] == "3"
    by_default = made.properties("by_region")
    assert by_default["format-version"] == "2"
    assert by_default["write.merge.mode"] == "merge-on-read"
    assert by_default["write.merge.isolation-level"] == "serializable"
    assert by_default["write.metadata.delete-after-commit.enabled"] == "true"


def test_table_without_a_row_is_made_from_its_configuration(made: Made) -> None:
    assert made.first.tables["public.empty"].error is None
    fields = made.lake.spark.table(f"lake.{made.lake.namespace}.empty").dtypes
    assert fields[:5] == [("id", "bigint"), ("full name", "string"), ("amount", "decimal(12,2)"), ("small", "int"), ("email", "string")]
    assert [name for name, _ in fields[5:]] == ["_cdc_position", "_cdc_op", "_cdc_committed_at"]


@pytest.mark.parametrize("table", ["undeclared", "half_declared"])
def test_table_that_is_not_typed_waits_for_its_first_file_and_says_so(made: Made, table: str) -> None:
    report = made.first.tables[f"public.{table}"]
    assert report.error is None
    (warning,) = report.warnings
    assert "no file yet" in warning and "declare a type for every key column" in warning
    assert not made.lake.spark.catalog.tableExists(f"lake.{made.lake.namespace}.{table}")


def test_metadata_columns_are_described(made: Made) -> None:
    comments = {row[0]: row[2] for row in made.sql("DESCRIBE TABLE @empty")}
    assert "order of changes" in comments["_cdc_position"]
    assert "I or U" in comments["_cdc_op"]
    assert "commit time" in comments["_cdc_committed_at"]
