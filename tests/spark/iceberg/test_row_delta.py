"""Files that are written without Spark: what Iceberg's own writer makes of the same rows, and what readers find."""

import random
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col

from dms_iceberg.iceberg.format_v3 import has_row_lineage
from dms_iceberg.iceberg.rows import delta as row_delta
from dms_iceberg.iceberg.rows import lookup as row_lookup
from dms_iceberg.iceberg.rows.arrow_schema import ROW_ID
from dms_iceberg.iceberg.rows.delta import MOST_SHARED, Delta, add_delta, columns_of, refusal
from dms_iceberg.iceberg.rows.key_runs import KeyRuns
from dms_iceberg.iceberg.rows.live_files import SMALL_ROWS, FileCache, live_files
from dms_iceberg.iceberg.rows.lookup import Lookup, row_ids_of
from dms_iceberg.iceberg.rows.not_possible import NotPossibleError
from dms_iceberg.iceberg.rows.partitions import new_partition, partition_fields, split
from dms_iceberg.iceberg.table import IcebergTable
from dms_iceberg.silver.schema.ddl import MERGE_DISTRIBUTION, METADATA_SETTINGS
from dms_iceberg.spark.arrow import to_arrow

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

    def __init__(
        self, spark: SparkSession, name: str, types: dict[str, str], key: tuple[str, ...], partitions: str = "", version: int = 2
    ) -> None:
        self.spark, self.name, self.key = spark, f"lake.{name}", key
        columns = ", ".join(f"`{column.replace('`', '``')}` {type_}" for column, type_ in types.items())
        settings = {"format-version": str(version), "write.merge.mode": "merge-on-read", "write.delete.mode": "merge-on-read"}
        settings |= {"write.parquet.compression-codec": "zstd", **METADATA_SETTINGS, **MERGE_DISTRIBUTION}
        listed = ", ".join(f"'{one}' = '{text}'" for one, text in settings.items())
        spark.sql(f"CREATE TABLE {self.name} ({columns}) USING iceberg {partitions} TBLPROPERTIES ({listed})")
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
        files = live_files(self.jvm, java, self.key, self.cache)
        has_ids = has_row_lineage(self.jvm, java)
        deleted = Lookup(java.io(), ids, self.cache, has_ids).find(files.data.values(), wanted)
        new = pa.Table.from_arrays([rows[name].cast(schema.field(name).type) for name in schema.names], schema=schema)
        if has_ids:
            keys = pa.table({str(number): new[name] for number, name in enumerate(self.key)})
            new = new.append_column(ROW_ID, row_ids_of(deleted, keys))
        fields = partition_fields(self.jvm, java)
        values = list(zip(*(field.values(rows) for field in fields), strict=True)) if fields and len(rows) else [()] * len(rows)
        parts = {new_partition(self.jvm, java, fields, one): part for one, part in split(new, values).items()}
        add_delta(self.jvm, java, Delta(parts, deleted, files, ids), self.cache, {"by": "hand"})
        transaction.commit()
        self.spark.sql(f"REFRESH TABLE {self.name}")

    def arrow(self, frame: DataFrame) -> pa.Table:
        """The rows of a frame with their partition values."""
        fields = partition_fields(self.jvm, self.table.iceberg)
        extra = [f"{field.sql('lake')} AS `{field.name.replace('`', '``')}`" for field in fields]
        return to_arrow(frame.selectExpr("*", *extra))

    def metadata(self, columns: str) -> list[Any]:
        return self.spark.sql(f"SELECT {columns} FROM {self.name}.files").collect()


@pytest.fixture
def namespace(spark: SparkSession, request: pytest.FixtureRequest) -> Iterator[str]:
    name = f"delta_{abs(hash(request.node.name))}"
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS lake.{name}")
    yield name


_BY_PAIR = "PARTITIONED BY (truncate(3, a), bucket(2, v))"
PARTITIONS = [
    "",
    "PARTITIONED BY (small, flag, bucket(7, id))",
    "PARTITIONED BY (name, born, bucket(7, name))",
    "PARTITIONED BY (days(seen), hours(wall), bucket(3, seen))",
    "PARTITIONED BY (years(born), months(seen), bucket(3, wall), bucket(3, born))",
    "PARTITIONED BY (truncate(10, id), truncate(3, name), bucket(5, price), bucket(5, raw))",
    "PARTITIONED BY (`odd.name ``x```, truncate(7, small), days(born), bucket(5, huge))",
]


@pytest.mark.parametrize(
    ("version", "partitions"),
    [
        *((2, one) for one in PARTITIONS[:2]),
        *((3, one) for one in PARTITIONS[:2]),
        *(pytest.param(version, one, marks=pytest.mark.long) for one in PARTITIONS[2:] for version in (2, 3)),
    ],
)
def test_files_are_those_of_icebergs_own_writer(spark: SparkSession, namespace: str, version: int, partitions: str) -> None:
    ours, theirs = (World(spark, f"{namespace}.{name}", TYPES, ("id",), partitions, version) for name in ("ours", "theirs"))
    frame = spark.createDataFrame(ROWS, spark.table(ours.name).schema).coalesce(1)
    for world in (ours, theirs):
        frame.limit(0).writeTo(world.name).append()
        spark.sql(f"INSERT INTO {world.name} SELECT 99, {', '.join(['NULL'] * 13)}")
    ours.change(ours.arrow(frame), pa.table({"id": pa.array([99], pa.int64())}))
    frame.createOrReplaceTempView("delta_rows")
    spark.sql(f"MERGE INTO {theirs.name} t USING (SELECT * FROM delta_rows UNION ALL SELECT 99, {', '.join(['NULL'] * 13)}) s "
              "ON t.id = s.id WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *")  # fmt: skip
    more = ("_last_updated_sequence_number",) if version == 3 else ()
    found, expected = (sorted(map(repr, spark.table(world.name).select("*", *more).collect())) for world in (ours, theirs))
    assert found == expected
    if version == 3:
        assert {row[0] for row in spark.table(ours.name).select("_row_id").collect()} == {1, 2, 3}
    columns = "content, file_format, spec_id, record_count, null_value_counts, value_counts, nan_value_counts, lower_bounds, upper_bounds, "
    columns += "sort_order_id, split_offsets, equality_ids" + (", partition" if partitions else "")
    of_ours, of_theirs = (sorted(repr(row) for row in world.metadata(columns) if row.content == 0) for world in (ours, theirs))
    assert of_ours == of_theirs
    deletes = "content, file_format, spec_id, record_count, value_counts, size(lower_bounds), sort_order_id, split_offsets"
    deletes += ", referenced_data_file IS NULL, content_offset, content_size_in_bytes" if version == 3 else ""
    deletes += ", partition" if partitions else ""
    assert [tuple(row) for row in ours.metadata(deletes) if row.content] == [tuple(row) for row in theirs.metadata(deletes) if row.content]
    # What was kept of the new files is what another process reads from the metadata.
    ours.table.refresh()
    kept, read = (live_files(ours.jvm, ours.table.iceberg, ours.key, cache) for cache in (ours.cache, FileCache()))
    told = [{name: (one.partition, one.first_row_id) for name, one in of.data.items()} for of in (kept, read)]
    assert told[0] == told[1]


@pytest.mark.parametrize(
    ("version", "partitions"),
    [(2, ""), (3, ""), *(pytest.param(version, _BY_PAIR, marks=pytest.mark.long) for version in (2, 3))],
)
def test_random_deltas_are_a_dictionary(spark: SparkSession, namespace: str, version: int, partitions: str) -> None:
    rng = random.Random(7)
    world = World(spark, f"{namespace}.pairs", {"a": "int", "b": "string", "v": "bigint"}, ("a", "b"), partitions, version)
    ids = dict[tuple[int, str], int]()
    spark.sql(f"INSERT INTO {world.name} SELECT CAST(id % 7 AS int), CAST(id AS string), id FROM range(300)")
    expected = {(number % 7, str(number)): number for number in range(300)}
    for step in range(22):
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
        table = world.arrow(spark.createDataFrame(rows, "a int, b string, v bigint")) if partitions and rows else table
        world.change(table, pa.table({"a": pa.array([k[0] for k in keys], pa.int32()), "b": pa.array([k[1] for k in keys])}))
        for key in keys:
            expected.pop(key, None)
        # A key that comes again after its row was deleted is another row.
        ids = {key: id_ for key, id_ in ids.items() if key in expected or key in {row[:2] for row in rows}}
        expected |= {(a, b): v for a, b, v in rows}
        world.table.refresh()
        shared = live_files(world.jvm, world.table.iceberg, world.key, world.cache).shared
        assert all(len(of_partition) <= MOST_SHARED for of_partition in shared.values())
        if step % 5 == 4 or step in (10, 20):
            found = spark.table(world.name).select("*", *(["_row_id"] if version == 3 else [])).collect()
            assert {(row.a, row.b): row.v for row in found} == expected
            if version == 3:
                with_ids = {(row.a, row.b): row._row_id for row in found}
                assert len({*with_ids.values()} - {None}) == len(with_ids)
                assert {key: with_ids.get(key) for key in ids} == ids
                ids = with_ids
            # What is kept of the files is what the metadata says.
            kept, read = (live_files(world.jvm, world.table.iceberg, world.key, cache) for cache in (world.cache, FileCache()))
            assert {name: (one.deleted.to_pylist(), one.first_row_id) for name, one in kept.data.items()} == {
                name: (one.deleted.to_pylist(), one.first_row_id) for name, one in read.data.items()
            }


@pytest.mark.parametrize("version", [2, 3])
def test_rows_of_a_large_file_are_found_by_kept_runs_as_in_the_file(spark: SparkSession, namespace: str, version: int) -> None:
    rng = random.Random(version)
    world = World(spark, f"{namespace}.runs", {"id": "int", "v": "bigint"}, ("id",), version=version)
    spark.sql(f"INSERT INTO {world.name} SELECT /*+ COALESCE(1) */ CAST(id + if(id > 900, 50, 0) AS int), 0 FROM range({SMALL_ROWS + 1})")
    values, type_ = dict.fromkeys((one + 50 * (one > 900) for one in range(SMALL_ROWS + 1)), 0), pa.int32()

    def found(cache: FileCache, wanted: pa.Table) -> tuple[set[str], set[type], list[tuple[Any, ...]]]:
        java = world.table.iceberg
        files = live_files(world.jvm, java, world.key, cache)
        rows = Lookup(java.io(), (1,), cache, has_row_lineage(world.jvm, java)).find(files.data.values(), wanted)
        listed = [(one.file.location, one.positions.to_pylist(), one.keys.to_pylist(), version == 3 and one.row_ids) for one in rows]
        kinds = {type(cache.keys(one, (1,))) for one in files.data}
        return {*files.data}, kinds, sorted(listed, key=lambda one: str(one[0]))

    for step in range(1, 9):
        if step == 4:
            spark.sql(f"ALTER TABLE {world.name} ALTER COLUMN id TYPE bigint")
            type_ = pa.int64()
        if step == 7:
            # Of format 3, the new file has the ids of its rows.
            spark.sql(f"CALL lake.system.rewrite_data_files(table => '{world.name}', options => map('rewrite-all', 'true'))")
        ids = pa.array([*{rng.choice((rng.randrange(890, 960), rng.randrange(SMALL_ROWS + 100))) for _ in range(30)}], type_)
        world.change(pa.table({"id": ids, "v": pa.array([step] * len(ids), pa.int64())}), pa.table({"id": ids}))
        values |= dict.fromkeys(ids.to_pylist(), step)
        world.table.refresh()
        wanted = pa.table({"0": pa.array([*range(895, 960), *range(0, SMALL_ROWS + 100, 999)], type_)})
        (files, kinds, kept), (_, _, read) = found(world.cache, wanted), found(FileCache(), wanted)
        assert kept == read
        assert (KeyRuns in kinds) == (step < 7 or version == 2)
        assert step != 7 or len(files) == 2
    assert {row.id: row.v for row in spark.table(world.name).collect()} == values


@pytest.mark.parametrize("has_deletes", [False, True])
def test_a_table_that_was_upgraded_gets_ids_or_is_refused(spark: SparkSession, namespace: str, *, has_deletes: bool) -> None:
    world = World(spark, f"{namespace}.upgraded", {"id": "bigint", "v": "bigint"}, ("id",))
    spark.sql(f"INSERT INTO {world.name} SELECT /*+ COALESCE(1) */ id, 0 FROM range(9)")
    world.change(pa.table({"id": pa.array([9], pa.int64()), "v": pa.array([0], pa.int64())}), pa.table({"id": pa.array([9], pa.int64())}))
    if has_deletes:
        spark.sql(f"DELETE FROM {world.name} WHERE id = 5")
    spark.sql(f"ALTER TABLE {world.name} SET TBLPROPERTIES ('format-version' = '3')")
    one = pa.array([1], pa.int64())
    if has_deletes:
        with pytest.raises(NotPossibleError, match="another format version"):
            world.change(pa.table({"id": one, "v": one}), pa.table({"id": one}))
        return
    for step in range(1, 4):
        ids = pa.array([1, 9, 10 + step], pa.int64())
        world.change(pa.table({"id": ids, "v": pa.array([step] * 3, pa.int64())}), pa.table({"id": ids}))
        rows = spark.table(world.name).select("*", "_row_id", "_last_updated_sequence_number").collect()
        assert {row.id: row.v for row in rows} == dict.fromkeys(range(10), 0) | {1: step, 9: step} | {10 + s: s for s in range(1, step + 1)}
        assert len({row._row_id for row in rows} - {None}) == len(rows)
        assert {row._last_updated_sequence_number for row in rows if row.v == step} == {2 + step}


@pytest.mark.long
def test_a_fold_writes_few_files_however_many_data_files_there_are(
    spark: SparkSession, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_delta, "MANY_DELETES", 20)
    world = World(spark, f"{namespace}.many", {"id": "bigint", "v": "bigint"}, ("id",))
    spark.sql(f"INSERT INTO {world.name} SELECT /*+ COALESCE(1) */ id, 0 FROM range(400)")
    values, most = dict.fromkeys(range(400), 0), 0
    for step in range(1, 31):
        # Each changes rows of the first file and of those before it.
        ids = pa.array([number * 31 % 400 for number in range(step, step + 12)], pa.int64())
        written = {one.file_path for one in world.metadata("file_path")}
        world.change(pa.table({"id": ids, "v": pa.array([step] * 12, pa.int64())}), pa.table({"id": ids}))
        values |= dict.fromkeys(ids.to_pylist(), step)
        most = max(most, len({one.file_path for one in world.metadata("file_path")} - written))
    files = world.metadata("content, file_path, record_count")
    assert most == 3, "a data file, the deletes of the first file, and those of all others"
    assert sum(one.content for one in files) <= MOST_SHARED + 1
    assert len(files) > 20
    assert {row.id: row.v for row in spark.table(world.name).collect()} == values
    kept, read = (live_files(world.jvm, world.table.iceberg, world.key, cache) for cache in (world.cache, FileCache()))
    told = [{name: (one.deleted.to_pylist(), len(one.own), one.is_shared) for name, one in of.data.items()} for of in (kept, read)]
    assert told[0] == told[1]


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        ("SET TBLPROPERTIES ('format-version' = '3')", None),
        ("SET TBLPROPERTIES ('write.merge.mode' = 'copy-on-write')", "copy-on-write"),
        ("SET TBLPROPERTIES ('write.format.default' = 'orc')", "file format"),
        ("SET TBLPROPERTIES ('write.delete.granularity' = 'partition')", "granularity of deletes"),
        ("SET TBLPROPERTIES ('write.parquet.compression-codec' = 'brotli')", "compression"),
        ("SET TBLPROPERTIES ('write.parquet.bloom-filter-enabled.column.id' = 'true')", "bloom filters"),
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


@pytest.mark.parametrize(
    ("partitions", "change", "reason"),
    [
        ("", "ADD PARTITION FIELD bucket(4, id)", "several partition specs"),
        ("PARTITIONED BY (seen)", None, "a partition transform"),
        ("PARTITIONED BY (truncate(3, price))", None, "a partition transform"),
    ],
)
def test_partitions_whose_values_are_not_exact_are_refused(
    spark: SparkSession, namespace: str, partitions: str, change: str | None, reason: str
) -> None:
    world = World(spark, f"{namespace}.refused", TYPES, ("id",), partitions)
    if change is not None:
        spark.sql(f"ALTER TABLE {world.name} {change}")
        world.table.refresh()
    with pytest.raises(NotPossibleError, match=reason):
        partition_fields(world.jvm, world.table.iceberg)


@pytest.mark.parametrize("value", ["__HIVE_DEFAULT_PARTITION__", None, "", "a/b=c", "ü%41"])
def test_a_text_that_is_a_partition_is_that_text_or_refused(spark: SparkSession, namespace: str, value: str | None) -> None:
    world = World(spark, f"{namespace}.texts", {"id": "bigint", "v": "string"}, ("id",), "PARTITIONED BY (v)")
    fields = partition_fields(world.jvm, world.table.iceberg)
    if value == "__HIVE_DEFAULT_PARTITION__":
        with pytest.raises(NotPossibleError, match="stands for NULL"):
            new_partition(world.jvm, world.table.iceberg, fields, (value,))
        return
    spark.sql(f"INSERT INTO {world.name} VALUES (0, 'a')")
    frame = spark.createDataFrame([(1, value)], "id bigint, v string")
    world.change(world.arrow(frame), pa.table({"id": pa.array([0], pa.int64())}))
    assert spark.table(world.name).where(col("v").eqNullSafe(value)).collect() == [(1, value)]


def test_only_files_that_may_hold_a_key_are_read(spark: SparkSession, namespace: str, monkeypatch: pytest.MonkeyPatch) -> None:
    world = World(spark, f"{namespace}.bounds", {"id": "bigint", "v": "string"}, ("v", "id"))
    count = SMALL_ROWS + 1
    for start in (0, 1_000_000):
        rows = spark.range(start, start + count, 1, 1).selectExpr("id", "concat('a text that is longer than a bound ', id) AS v")
        rows.writeTo(world.name).append()
    world.table.refresh()
    files = live_files(world.jvm, world.table.iceberg, world.key, FileCache())
    assert {len(file.bounds) for file in files.data.values()} == {2}
    ids = (2, 1)

    class Opened(FileCache):
        def __init__(self) -> None:
            super().__init__()
            self.asked = list[str]()

        def keys(self, location: str, ids: tuple[int, ...]) -> pa.Table | KeyRuns | None:
            self.asked.append(location)
            return super().keys(location, ids)

    for wanted, opened in ((1_000_000 + count - 1, 1), (0, 1), (count, 0), (1_000_000 + count, 0)):
        cache = Opened()
        keys = pa.table({"0": [f"a text that is longer than a bound {wanted}"], "1": pa.array([wanted], pa.int64())})
        found = Lookup(world.table.iceberg.io(), ids, cache).find(files.data.values(), keys)
        assert len({*cache.asked}) == opened
        assert sum(len(one.positions) for one in found) == opened

    both = pa.table(
        {"0": [f"a text that is longer than a bound {one}" for one in (1, 1_000_001)], "1": pa.array([1, 1_000_001], pa.int64())}
    )
    lookup = Lookup(world.table.iceberg.io(), ids, FileCache())
    assert [one.positions.to_pylist() for one in lookup.find(files.data.values(), both)] == [[1], [1]]
    for bound, reason in (("MOST_UNREAD", "many files to read"), ("MOST_LARGE_FILES", "keys in many large files")):
        with monkeypatch.context() as patch:
            patch.setattr(row_lookup, bound, 1)
            lookup.find(files.data.values(), both.slice(0, 1))
            with pytest.raises(NotPossibleError, match=reason):
                lookup.find(files.data.values(), both)


def test_nested_columns_are_refused(spark: SparkSession, namespace: str) -> None:
    world = World(spark, f"{namespace}.nested", {"id": "bigint", "v": "array<string>"}, ("id",))
    with pytest.raises(NotPossibleError, match="a column's type"):
        columns_of(world.jvm, world.table.iceberg)
