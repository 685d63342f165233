"""Files that are written without Spark: what Iceberg's own writer makes of the same rows, and what readers find."""

import random
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from dms_iceberg.iceberg.live_files import FileCache, NotPossibleError, find_rows, live_files
from dms_iceberg.iceberg.row_delta import MOST_SHARED, Delta, add_delta, columns_of, refusal
from dms_iceberg.iceberg.table import IcebergTable
from dms_iceberg.silver.ddl import MERGE_DISTRIBUTION, METADATA_SETTINGS

TYPES = {
    "id": "bigint",
    "flag": "boolean",
    "small": "int",
    "ratio": "float",
    "weight": "double",
    "name": "string",
    "raw": "binary",
    "born": "date",
    "seen": "timestamp",
    "wall": "timestamp_ntz",
    "price": "decimal(9,2)",
    "amount": "decimal(18,4)",
    "huge": "decimal(38,10)",
    "odd.name `x`": "string",
}
_NOW = datetime(2026, 3, 1, 10, 0, 0, 123_456)
ROWS: list[tuple[Any, ...]] = [
    (1, True, -5, 1.5, 2.5, "Zoë", b"\x00\xff", date(2024, 2, 29), _NOW, _NOW, Decimal("1.10"), Decimal("12345678901234.5678"),
     Decimal("1234567890123456789012345678.0123456789"), "x"),
    (2, False, 2**31 - 1, float("nan"), float("-inf"), "a" * 40, b"", date(1, 1, 1), datetime(1, 1, 2), datetime(9999, 12, 31, 23, 59),
     Decimal("-9999999.99"), Decimal("-1.0000"), Decimal("-1.0000000000"), "\x00"),
    (3, *(None for _ in range(13))),
]  # fmt: skip


class World:
    """A table, written without Spark."""

    def __init__(self, spark: SparkSession, name: str, types: dict[str, str], key: tuple[str, ...]) -> None:
        self.spark, self.name, self.key = spark, f"lake.{name}", key
        columns = ", ".join(f"`{column.replace('`', '``')}` {type_}" for column, type_ in types.items())
        settings = {"format-version": "2", "write.merge.mode": "merge-on-read", "write.delete.mode": "merge-on-read"}
        settings |= {"write.parquet.compression-codec": "zstd", **METADATA_SETTINGS, **MERGE_DISTRIBUTION}
        listed = ", ".join(f"'{one}' = '{text}'" for one, text in settings.items())
        spark.sql(f"CREATE TABLE {self.name} ({columns}) USING iceberg TBLPROPERTIES ({listed})")
        self.table = IcebergTable(spark, "lake", name)
        self.cache = FileCache()

    @property
    def jvm(self) -> Any:
        return self.spark._jvm

    def change(self, rows: pa.Table, keys: pa.Table) -> None:
        """Delete the rows with some keys, and write others, in one commit."""
        self.table.refresh()
        head = self.table.head()
        transaction = self.table.transaction(head.id if head is not None else None)
        java = transaction.table
        schema = columns_of(self.jvm, java)
        ids = tuple(int(schema.field(name).metadata[b"PARQUET:field_id"]) for name in self.key)
        wanted = pa.table({str(number): keys[name] for number, name in enumerate(self.key)})
        files = live_files(self.jvm, java, self.cache)
        found = [(file, find_rows(java.io(), file, wanted, ids, self.cache)) for file in files.data.values()]
        deleted = [(file, positions) for file, positions in found if len(positions)]
        new = pa.Table.from_arrays([rows[name].cast(schema.field(name).type) for name in schema.names], schema=schema)
        add_delta(self.jvm, java, Delta(new, deleted, files, ids), self.cache, {"by": "hand"})
        transaction.commit()
        self.spark.sql(f"REFRESH TABLE {self.name}")

    def metadata(self, columns: str) -> list[Any]:
        return self.spark.sql(f"SELECT {columns} FROM {self.name}.files").collect()


@pytest.fixture
def namespace(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[str]:
    name = f"delta_{abs(hash(request.node.name))}"
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS lake.{name}")
    yield name


def test_files_are_those_of_icebergs_own_writer(spark: SparkSession, namespace: str) -> None:
    ours, theirs = (World(spark, f"{namespace}.{name}", TYPES, ("id",)) for name in ("ours", "theirs"))
    frame = spark.createDataFrame(ROWS, spark.table(ours.name).schema).coalesce(1)
    for world in (ours, theirs):
        frame.limit(0).writeTo(world.name).append()
        spark.sql(f"INSERT INTO {world.name} SELECT 99, {', '.join(['NULL'] * 13)}")
    rows = pa.Table.from_batches(frame._collect_as_arrow())
    ours.change(rows, pa.table({"id": pa.array([99], pa.int64())}))
    frame.createOrReplaceTempView("delta_rows")
    spark.sql(f"MERGE INTO {theirs.name} t USING (SELECT * FROM delta_rows UNION ALL SELECT 99, {', '.join(['NULL'] * 13)}) s "
              "ON t.id = s.id WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *")  # fmt: skip
    found, expected = (sorted(map(repr, spark.table(world.name).collect())) for world in (ours, theirs))
    assert found == expected
    told = "content, file_format, spec_id, record_count, null_value_counts, value_counts, nan_value_counts, lower_bounds, upper_bounds, "
    told += "sort_order_id, split_offsets, equality_ids"
    of_ours, of_theirs = (
        {(row.content, row.record_count): row for row in world.metadata(told) if row.content == 0} for world in (ours, theirs)
    )
    assert of_ours == of_theirs
    deletes = "content, file_format, spec_id, record_count, value_counts, size(lower_bounds), sort_order_id, split_offsets"
    assert [tuple(row) for row in ours.metadata(deletes) if row.content] == [tuple(row) for row in theirs.metadata(deletes) if row.content]


def test_random_deltas_are_a_dictionary(spark: SparkSession, namespace: str) -> None:
    rng = random.Random(7)
    world = World(spark, f"{namespace}.pairs", {"a": "int", "b": "string", "v": "bigint"}, ("a", "b"))
    spark.sql(f"INSERT INTO {world.name} SELECT CAST(id % 7 AS int), CAST(id AS string), id FROM range(300)")
    expected = {(number % 7, str(number)): number for number in range(300)}
    for step in range(30):
        keys = list({(rng.randrange(7), str(rng.randrange(330))) for _ in range(rng.choice((1, 5, 40)))})
        rows = [(*key, rng.randrange(10**12)) for key in keys if rng.random() < 0.8]
        if step in (10, 20):
            # Another writer in between, with deletes of single files.
            spark.sql(f"DELETE FROM {world.name} WHERE a = 3 AND v % 2 = 0")
            expected = {key: value for key, value in expected.items() if not (key[0] == 3 and value % 2 == 0)}
        table = pa.table(
            {"a": pa.array([r[0] for r in rows], pa.int32()), "b": pa.array([r[1] for r in rows]), "v": pa.array([r[2] for r in rows])},
            schema=pa.schema([("a", pa.int32()), ("b", pa.string()), ("v", pa.int64())]),
        )
        world.change(table, pa.table({"a": pa.array([k[0] for k in keys], pa.int32()), "b": pa.array([k[1] for k in keys])}))
        for key in keys:
            expected.pop(key, None)
        expected |= {(a, b): v for a, b, v in rows}
        world.table.refresh()
        shared = live_files(world.jvm, world.table.iceberg, world.cache).shared
        assert len(shared) <= MOST_SHARED
        if step % 5 == 4 or step in (10, 20):
            assert {(row.a, row.b): row.v for row in spark.table(world.name).collect()} == expected
            # What is kept of the files is what the metadata says.
            kept, read = (live_files(world.jvm, world.table.iceberg, cache) for cache in (world.cache, FileCache()))
            assert {name: one.deleted.to_pylist() for name, one in kept.data.items()} == {
                name: one.deleted.to_pylist() for name, one in read.data.items()
            }


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("SET TBLPROPERTIES ('format-version' = '3')", "format version"),
        ("SET TBLPROPERTIES ('write.merge.mode' = 'copy-on-write')", "copy-on-write"),
        ("SET TBLPROPERTIES ('write.format.default' = 'orc')", "file format"),
        ("SET TBLPROPERTIES ('write.delete.granularity' = 'partition')", "granularity of deletes"),
        ("SET TBLPROPERTIES ('write.parquet.compression-codec' = 'brotli')", "compression"),
        ("SET TBLPROPERTIES ('write.parquet.bloom-filter-enabled.column.id' = 'true')", "bloom filters"),
        ("ADD PARTITION FIELD bucket(4, id)", "partitions"),
        ("WRITE ORDERED BY v", "written in order"),
        ("SET TBLPROPERTIES ('write.target-file-size-bytes' = '100000')", "size of files"),
        ("SET TBLPROPERTIES ('comment' = 'nothing')", None),
    ],
)
def test_tables_that_are_written_otherwise_are_refused(spark: SparkSession, namespace: str, statement: str, reason: str | None) -> None:
    world = World(spark, f"{namespace}.refused", {"id": "bigint", "v": "string"}, ("id",))
    spark.sql(f"ALTER TABLE {world.name} {statement}")
    world.table.refresh()
    assert refusal(world.jvm, world.table.iceberg) == reason


def test_nested_columns_are_refused(spark: SparkSession, namespace: str) -> None:
    world = World(spark, f"{namespace}.nested", {"id": "bigint", "v": "array<string>"}, ("id",))
    with pytest.raises(NotPossibleError, match="a column's type"):
        columns_of(world.jvm, world.table.iceberg)
