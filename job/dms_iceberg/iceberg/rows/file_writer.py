"""Writes the data and delete files of a few rows, as Iceberg's own Spark writer makes them of the same rows.

Parquet with field ids, metrics that Iceberg computes, and in format 3 the ids of rows and deletion vectors.
"""

import inspect
import io
import uuid
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import attrs
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dms_iceberg.iceberg.java_maps import to_long_map
from dms_iceberg.iceberg.rows.arrow_schema import FIELD_ID, POSITION_DELETES, ROW_ID, with_lineage
from dms_iceberg.iceberg.rows.deletion_vectors import Vector, write_vectors
from dms_iceberg.iceberg.rows.file_io import write_file
from dms_iceberg.iceberg.rows.partitions import Partition

CODEC_KEY = "write.parquet.compression-codec"
CODECS = {"zstd": "zstd", "snappy": "snappy", "gzip": "gzip", "uncompressed": "none"}
WRITES_DECIMALS = "store_decimal_as_integer" in inspect.signature(pq.ParquetWriter.__init__).parameters
"""Iceberg stores decimals of up to 18 digits as integers: https://iceberg.apache.org/spec/#parquet. PyArrow can since version 20."""


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


class FileWriter:
    """Writes files of one commit to an Iceberg table."""

    def __init__(self, jvm: Any, table: Any) -> None:
        self._classes = _classes(jvm)
        self._jvm, self._table, self._io, self._spec = jvm, table, table.io(), table.spec()
        self._locations = table.locationProvider()
        self._name = uuid.uuid4().hex
        self._codec = CODECS[str(table.properties().getOrDefault(CODEC_KEY, "zstd"))]
        self._count = 0

    def data_file(self, rows: pa.Table, partition: Partition) -> Any:
        """Write rows with the columns of `row_delta.columns_of`, and in format 3 their ids; return Iceberg's ``DataFile``."""
        if ROW_ID in rows.column_names:
            # What a row was changed by last is NULL, as the commit's sequence number is not known yet.
            schema = with_lineage(rows.select(rows.column_names[:-1]).schema)
            rows = pa.Table.from_arrays([*rows.columns, pa.nulls(rows.num_rows, pa.int64())], schema=schema)
        config = self._classes.metrics_config.forTable(self._table)
        builder, location = self._place(self._classes.data_files.builder(self._spec), partition, ".parquet")
        return self._write(builder, location, rows, config, lambda footer: self._row_metrics(footer, rows))

    def position_deletes(self, positions: pa.Table, partition: Partition, location: str | None) -> Any:
        """Write deletes (`positions_in`) in one partition, all of the data file at ``location`` if given; return the ``DeleteFile``."""
        config = self._classes.metrics_config.forPositionDelete(self._table)
        builder = self._classes.file_metadata.deleteFileBuilder(self._spec).ofPositionDeletes()
        builder = builder if location is None else builder.withReferencedDataFile(location)
        builder, path = self._place(builder, partition, "-deletes.parquet")
        is_own = location is not None
        return self._write(builder, path, positions, config, lambda footer: self._delete_metrics(footer, of_one_file=is_own))

    def deletion_vectors(self, vectors: Sequence[Vector]) -> list[Any]:
        """Write deletion vectors of any partitions into one file; return a ``DeleteFile`` for each."""
        return write_vectors(self._jvm, self._table, str(self._locations.newDataLocation(self._next_name("-deletes.puffin"))), vectors)

    def _next_name(self, ending: str) -> str:
        self._count += 1
        return f"{self._name}-{self._count:05d}{ending}"

    def _place(self, builder: Any, partition: Partition, ending: str) -> tuple[Any, str]:
        """Return the builder of a file in a partition, and where the file is to be."""
        name = self._next_name(ending)
        if not partition.values:
            location = str(self._locations.newDataLocation(name))
        else:
            location = str(self._locations.newDataLocation(self._spec, partition.java, name))
            builder = builder.withPartition(partition.java)
        return builder.withPath(location).withFormat("parquet"), location

    def _write(self, builder: Any, location: str, rows: pa.Table, config: Any, made: Callable[[Any], Any]) -> Any:
        sink = io.BytesIO()
        options = {"store_decimal_as_integer": True} if WRITES_DECIMALS else {}
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


def positions_in(location: str, positions: pa.Int64Array) -> pa.Table:
    """Return positions in the data file at ``location`` as rows of a position delete file."""
    return pa.Table.from_arrays([pa.array([location] * len(positions), pa.string()), positions], schema=POSITION_DELETES)


def _start(group: Any) -> int:
    first = group.column(0)
    return int(first.dictionary_page_offset if first.has_dictionary_page else first.data_page_offset)
