"""Writes a few new rows and deletes a few others in one snapshot of a transaction, without a Spark job.

The files are what Iceberg's own Spark writer makes of the same rows: Parquet with field ids, and metrics that Iceberg computes. Where
that would write a delete file for each data file, which takes over the deletes that the file had, a delta has one for all of a partition.
Every few deltas these are folded into one, beside a delete file of its own for each data file with many deletes. So a reader never meets
more than a few, and what a fold writes does not grow with the number of small data files, of which each delta adds one.
"""

import inspect
import io
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any

import attrs
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dms_iceberg.iceberg.arrow_schema import FIELD_ID, POSITION_DELETES, arrow_schema, field_ids
from dms_iceberg.iceberg.file_io import write_file
from dms_iceberg.iceberg.java_maps import to_dict, to_long_map
from dms_iceberg.iceberg.live_files import SMALL_ROWS, FileCache, LiveFile, LiveFiles, TableState, ordered
from dms_iceberg.iceberg.not_possible import NotPossibleError
from dms_iceberg.iceberg.partitions import Partition, PartitionValue
from dms_iceberg.iceberg.row_lookup import FoundRows

_SIZES = ("write.target-file-size-bytes", "write.delete.target-file-size-bytes")
_LARGE = 64 << 20
"""Files that are written here are smaller: whoever makes a `Delta` bounds its rows and their text."""
_CODEC = "write.parquet.compression-codec"
MOST_SHARED = 8
"""So many delete files of several data files a partition has at most."""
MANY_DELETES = 1_000
"""A fold writes so many deletes of a data file into a delete file of its own: all readers of other files would read them too."""
CODECS = {"zstd": "zstd", "snappy": "snappy", "gzip": "gzip", "uncompressed": "none"}
_WRITES_DECIMALS = "store_decimal_as_integer" in inspect.signature(pq.ParquetWriter.__init__).parameters
"""Iceberg stores decimals of up to 18 digits as integers: https://iceberg.apache.org/spec/#parquet. PyArrow can since version 20."""


@attrs.frozen(eq=False)
class Delta:
    """What a transaction does to a table's rows.

    Attributes:
        rows: new rows by their partition, with the columns of `columns_of`; without any, no partition.
        deleted: rows to delete, by data file.
        files: the files of the snapshot that the delta was computed on.
        ids: field ids of the key columns.
    """

    rows: Mapping[Partition, pa.Table]
    deleted: Sequence[FoundRows]
    files: LiveFiles
    ids: tuple[int, ...]


def refusal(jvm: Any, table: Any) -> str | None:
    """Return why a table's files cannot be written here as Iceberg's own writer would, in a few words; None if they can."""
    properties = to_dict(jvm, table.properties())
    checks = {
        "written in order": table.sortOrder().isSorted(),
        "format version": int(jvm.org.apache.iceberg.TableUtil.formatVersion(table)) != 2,
        "copy-on-write": properties.get("write.merge.mode", "copy-on-write") != "merge-on-read",
        "file format": {"parquet"} != {properties.get(f"write.{kind}format.default", "parquet") for kind in ("", "delete.")},
        "granularity of deletes": properties.get("write.delete.granularity", "file") != "file",
        "compression": properties.get(_CODEC, "zstd") not in CODECS or "write.parquet.compression-level" in properties,
        "size of files": any(int(properties.get(name, _LARGE)) < _LARGE for name in _SIZES),
        "bloom filters": any(name.startswith("write.parquet.bloom-filter") for name in properties),
        "encryption": any(name.startswith("encryption.") for name in properties),
    }
    return next((reason for reason, applies in checks.items() if applies), None)


def columns_of(jvm: Any, table: Any) -> pa.Schema:
    """Return the Arrow schema of a table's new data files.

    Raises:
        NotPossibleError: a column has a type that only Iceberg's writer writes.
    """
    schema = arrow_schema(str(jvm.org.apache.iceberg.SchemaParser.toJson(table.schema())))
    if schema is None or (not _WRITES_DECIMALS and any(pa.types.is_decimal(field.type) for field in schema)):
        raise NotPossibleError("a column's type")
    return schema


def add_delta(jvm: Any, table: Any, delta: Delta, cache: FileCache, properties: Mapping[str, str]) -> None:
    """Commit a delta to a table of a transaction; the snapshot carries ``properties`` in its summary.

    Args:
        jvm: of the session.
        table: the transaction's table.
        delta: the rows to write and to delete.
        cache: gets the new snapshot's files and the new rows' keys.
        properties: of the snapshot.
    """
    writer = _Writer(jvm, table)
    change = table.newRowDelta()
    after = dict(delta.files.data)
    for partition, rows in delta.rows.items():
        written = writer.add_rows(change, rows, partition)
        after[written.location] = written
        if rows.num_rows <= SMALL_ROWS:
            places = field_ids(rows.schema)
            columns = {str(number): rows.column(places[id_]) for number, id_ in enumerate(delta.ids)}
            cache.put_keys(written.location, delta.ids, pa.table(columns))
    touched: dict[tuple[PartitionValue, ...], list[FoundRows]] = {}
    for found in delta.deleted:
        touched.setdefault(found.file.partition.values, []).append(found)
        after[found.file.location] = attrs.evolve(found.file, deleted=ordered([found.file.deleted, found.positions]))
    shared = dict(delta.files.shared)
    for values, deleted in touched.items():
        shared[values] = writer.add_deletes(change, deleted, after, shared.get(values, ()))
    for name, text in properties.items():
        change.set(name, text)
    change.commit()
    cache.put_files(TableState.of(table), LiveFiles(after, shared))


@attrs.frozen(eq=False)
class _Classes:
    """Iceberg's classes. Py4J looks up a class part by part of its name, with a call for each: once is enough."""

    data_files: Any
    file_metadata: Any
    metrics_config: Any
    parquet_util: Any
    bytes: Any
    nothing: Any
    metrics: Any
    longs: Any


@lru_cache(maxsize=1)
def _classes(jvm: Any) -> _Classes:
    iceberg = jvm.org.apache.iceberg
    return _Classes(
        iceberg.DataFiles,
        iceberg.FileMetadata,
        iceberg.MetricsConfig,
        iceberg.parquet.ParquetUtil,
        jvm.java.io.ByteArrayInputStream,
        jvm.java.util.stream.Stream,
        iceberg.Metrics,
        jvm.java.util.stream.LongStream,
    )


@lru_cache(maxsize=1)
def _footer_reader(jvm: Any) -> tuple[Any, Any]:
    parquet = jvm.org.apache.iceberg.shaded.org.apache.parquet
    options = parquet.ParquetReadOptions.builder(parquet.conf.PlainParquetConfiguration()).build()
    converter = parquet.format.converter.ParquetMetadataConverter
    return converter(options), converter.NO_FILTER


class _Writer:
    def __init__(self, jvm: Any, table: Any) -> None:
        self._classes = _classes(jvm)
        self._jvm, self._table, self._io, self._spec = jvm, table, table.io(), table.spec()
        self._locations = table.locationProvider()
        self._name = uuid.uuid4().hex
        self._codec = CODECS[str(table.properties().getOrDefault(_CODEC, "zstd"))]
        self._count = 0

    def add_rows(self, change: Any, rows: pa.Table, partition: Partition) -> LiveFile:
        config = self._classes.metrics_config.forTable(self._table)
        builder, location = self._place(self._classes.data_files.builder(self._spec), partition, ".parquet")
        change.addRows(self._write(builder, location, rows, config, lambda footer: self._row_metrics(footer, rows)))
        return LiveFile(location, rows.num_rows, partition=partition)

    def add_deletes(
        self, change: Any, deleted: Sequence[FoundRows], after: dict[str, LiveFile], shared: tuple[Any, ...]
    ) -> tuple[Any, ...]:
        """Add deletes in one partition, and say in ``after`` where those of each file are.

        Return the partition's delete files of several data files, of which ``shared`` are those before.
        """
        partition = deleted[0].file.partition
        if len(shared) >= MOST_SHARED:
            return self._fold(change, {one.file.location for one in deleted}, partition, after, shared)
        if len(deleted) == 1:
            file = after[deleted[0].file.location]
            self._add_own_deletes(change, after, file, is_shared=file.is_shared)
            return shared
        after |= {one.file.location: attrs.evolve(after[one.file.location], is_shared=True) for one in deleted}
        return (*shared, self._add_shared_deletes(change, partition, {one.file.location: one.positions for one in deleted}))

    def _fold(
        self, change: Any, touched: Collection[str], partition: Partition, after: dict[str, LiveFile], shared: tuple[Any, ...]
    ) -> tuple[Any, ...]:
        """Write all deletes of files that share some, and of those that are ``touched``, anew; return the shared delete file, if any."""
        files = [one for one in after.values() if one.partition == partition and (one.is_shared or one.location in touched)]
        together = {one.location: one.deleted for one in files if len(one.deleted) < MANY_DELETES}
        together = together if len(together) > 1 else {}
        for file in files:
            if file.location in together:
                _remove_deletes(change, file.own)
                after[file.location] = attrs.evolve(file, own=(), is_shared=True)
            else:
                self._add_own_deletes(change, after, file, is_shared=False)
        _remove_deletes(change, shared)
        return (self._add_shared_deletes(change, partition, together),) if together else ()

    def _add_shared_deletes(self, change: Any, partition: Partition, positions: Mapping[str, pa.Int64Array]) -> Any:
        """Write deletes of several data files, given by location, into one delete file."""
        every = pa.concat_tables(_positions(location, positions[location]) for location in sorted(positions))
        return self._add_deletes(change, partition, every, None)

    def _add_own_deletes(self, change: Any, after: dict[str, LiveFile], file: LiveFile, *, is_shared: bool) -> None:
        """Write all deletes of a file into one delete file of its own."""
        own = self._add_deletes(change, file.partition, _positions(file.location, file.deleted), file.location)
        _remove_deletes(change, file.own)
        after[file.location] = attrs.evolve(file, own=(own,), is_shared=is_shared)

    def _add_deletes(self, change: Any, partition: Partition, positions: pa.Table, location: str | None) -> Any:
        config = self._classes.metrics_config.forPositionDelete(self._table)
        builder = self._classes.file_metadata.deleteFileBuilder(self._spec).ofPositionDeletes()
        builder = builder if location is None else builder.withReferencedDataFile(location)
        builder, path = self._place(builder, partition, "-deletes.parquet")
        is_own = location is not None
        deletes = self._write(builder, path, positions, config, lambda footer: self._delete_metrics(footer, of_one_file=is_own))
        change.addDeletes(deletes)
        return deletes

    def _place(self, builder: Any, partition: Partition, ending: str) -> tuple[Any, str]:
        """Return the builder of a file in a partition, and where the file is to be."""
        self._count += 1
        name = f"{self._name}-{self._count:05d}{ending}"
        if not partition.values:
            location = str(self._locations.newDataLocation(name))
        else:
            location = str(self._locations.newDataLocation(self._spec, partition.java, name))
            builder = builder.withPartition(partition.java)
        return builder.withPath(location).withFormat("parquet"), location

    def _write(self, builder: Any, location: str, rows: pa.Table, config: Any, made: Callable[[Any], Any]) -> Any:
        sink = io.BytesIO()
        options = {"store_decimal_as_integer": True} if _WRITES_DECIMALS else {}
        with pq.ParquetWriter(sink, rows.schema, compression=self._codec, store_schema=False, **options) as writer:
            writer.write_table(rows, row_group_size=rows.num_rows)
        data = sink.getvalue()
        write_file(self._io, location, data)
        footer = self._footer_metrics(data, config)
        start = _start(pq.read_metadata(io.BytesIO(data)).row_group(0))
        # From a stream, as Py4J makes Integers of the numbers of a list, and Iceberg takes them for Longs.
        offsets = self._classes.longs.rangeClosed(start, start).boxed().toList()
        return builder.withFileSizeInBytes(len(data)).withMetrics(made(footer)).withSplitOffsets(offsets).build()

    def _footer_metrics(self, data: bytes, config: Any) -> Any:
        """Return the metrics of a Parquet file as ``ParquetUtil.fileMetrics`` does, which parses Hadoop's configuration for each file."""
        footer = self._classes.bytes(data[-8 - int.from_bytes(data[-8:-4], "little") : -8])
        converter, every_row_group = _footer_reader(self._jvm)
        metadata = converter.readParquetMetadata(footer, every_row_group)
        return self._classes.parquet_util.footerMetrics(metadata, self._classes.nothing.empty(), config)

    def _row_metrics(self, footer: Any, rows: pa.Table) -> Any:
        """Add the numbers of NaN, which a Parquet footer does not have."""
        floats = [field for field in rows.schema if pa.types.is_floating(field.type)]
        if not floats:
            return footer
        nans = {int(field.metadata[FIELD_ID]): pc.sum(pc.is_nan(rows[field.name])).as_py() or 0 for field in floats}
        counts = (footer.valueCounts(), footer.nullValueCounts(), to_long_map(self._jvm, nans))
        return self._classes.metrics(footer.recordCount(), footer.columnSizes(), *counts, footer.lowerBounds(), footer.upperBounds())

    def _delete_metrics(self, footer: Any, *, of_one_file: bool) -> Any:
        """Leave out counts; and bounds, unless they say which data file the deletes are of, as Iceberg's own ``PositionDeleteWriter``."""
        bounds = (footer.lowerBounds(), footer.upperBounds()) if of_one_file else (None, None)
        return self._classes.metrics(footer.recordCount(), footer.columnSizes(), None, None, None, *bounds)


def _remove_deletes(change: Any, files: Sequence[Any]) -> None:
    for file in files:
        change.removeDeletes(file)


def _positions(location: str, positions: pa.Int64Array) -> pa.Table:
    return pa.Table.from_arrays([pa.array([location] * len(positions), pa.string()), positions], schema=POSITION_DELETES)


def _start(group: Any) -> int:
    first = group.column(0)
    return int(first.dictionary_page_offset if first.has_dictionary_page else first.data_page_offset)
