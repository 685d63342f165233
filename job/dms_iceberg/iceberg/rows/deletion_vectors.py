"""Deletion vectors: the positions that are deleted in one data file each, in Puffin files. Tables of format 3 have no other deletes.

https://iceberg.apache.org/spec/#deletion-vectors. Iceberg's own classes encode and decode them.
"""

from collections.abc import Sequence
from typing import Any

import attrs
import pyarrow as pa

from dms_iceberg.iceberg.rows.arrow_schema import DELETE_POSITION
from dms_iceberg.iceberg.rows.file_io import FileReader
from dms_iceberg.iceberg.rows.partitions import Partition

_TYPE = "deletion-vector-v1"
_NO_SNAPSHOT = -1
"""A vector takes snapshot and sequence number from the commit."""
_LONG_BYTES = 8


@attrs.frozen(eq=False)
class Vector:
    """The deleted positions of a data file: where it is, in which partition, and all positions, in order."""

    location: str
    partition: Partition
    positions: pa.Int64Array


def is_vector(delete: Any) -> bool:
    """Whether an Iceberg ``DeleteFile`` is a deletion vector."""
    return str(delete.content()) == "POSITION_DELETES" and str(delete.format()) == "PUFFIN"


def read_vector(jvm: Any, file_io: Any, delete: Any) -> pa.Int64Array:
    """Return the positions of a deletion vector, in order."""
    reader = FileReader(file_io, str(delete.location()))
    try:
        reader.seek(int(delete.contentOffset()))
        data = reader.read(int(delete.contentSizeInBytes()))
    finally:
        reader.close()
    index = jvm.org.apache.iceberg.deletes.PositionDeleteIndex.deserialize(data, delete)
    positions = jvm.java.util.stream.LongStream.builder()
    index.forEach(positions)
    numbers = positions.build().toArray()
    buffer = jvm.java.nio.ByteBuffer.allocate(_LONG_BYTES * len(numbers)).order(jvm.java.nio.ByteOrder.LITTLE_ENDIAN)
    buffer.asLongBuffer().put(numbers)
    return pa.Array.from_buffers(pa.int64(), len(numbers), [None, pa.py_buffer(bytes(buffer.array()))])


def write_vectors(jvm: Any, table: Any, location: str, vectors: Sequence[Vector]) -> list[Any]:
    """Write vectors into one file at ``location``, and return their Iceberg ``DeleteFile``s in the same order."""
    iceberg = jvm.org.apache.iceberg
    writer = iceberg.puffin.Puffin.write(table.io().newOutputFile(location)).createdBy(iceberg.IcebergBuild.fullVersion()).build()
    try:
        blobs = [writer.write(_blob(jvm, vector)) for vector in vectors]
    finally:
        writer.close()
    size = int(writer.fileSize())
    return [_delete_file(jvm, table, location, size, vector, blob) for vector, blob in zip(vectors, blobs, strict=True)]


def _blob(jvm: Any, vector: Vector) -> Any:
    positions = vector.positions.to_numpy(zero_copy_only=False).astype("<i8").tobytes()
    buffer = jvm.java.nio.ByteBuffer.wrap(positions).order(jvm.java.nio.ByteOrder.LITTLE_ENDIAN).asLongBuffer()
    numbers = jvm.java.nio.LongBuffer.allocate(len(vector.positions)).put(buffer).array()
    # Of two methods named withNoopClose, Py4J takes the one for a single element.
    nothing = jvm.java.io.ByteArrayInputStream(b"")
    longs = jvm.org.apache.iceberg.io.CloseableIterable.combine(jvm.java.util.Arrays.stream(numbers).boxed().toList(), nothing)
    data = jvm.org.apache.iceberg.deletes.Deletes.toPositionIndex(longs).serialize()
    fields = jvm.java.util.List.of(DELETE_POSITION)
    about = jvm.java.util.Map.of("referenced-data-file", vector.location, "cardinality", str(len(vector.positions)))
    return jvm.org.apache.iceberg.puffin.Blob(_TYPE, fields, _NO_SNAPSHOT, _NO_SNAPSHOT, data, None, about)


def _delete_file(jvm: Any, table: Any, location: str, size: int, vector: Vector, blob: Any) -> Any:
    builder = jvm.org.apache.iceberg.FileMetadata.deleteFileBuilder(table.spec()).ofPositionDeletes().withFormat("puffin")
    builder = builder.withPath(location).withFileSizeInBytes(size).withRecordCount(len(vector.positions))
    builder = builder.withReferencedDataFile(vector.location)
    builder = builder.withContentOffset(blob.offset()).withContentSizeInBytes(blob.length())
    return (builder.withPartition(vector.partition.java) if vector.partition.values else builder).build()
