"""The data files of a snapshot with the positions that are deleted in them, without a Spark job, and a cache of them.

A snapshot, and a file of a table, never change. So what is known of them is kept, for as long as the table's next snapshot is likely to
be made from it, and needs no invalidation: a snapshot that never became the table's is never asked for.
"""

import io
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from threading import Lock
from typing import Any

import attrs
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dms_iceberg.iceberg.format_v3 import has_row_lineage
from dms_iceberg.iceberg.java_maps import to_dict
from dms_iceberg.iceberg.rows.arrow_schema import DELETE_PATH, DELETE_POSITION, field_ids
from dms_iceberg.iceberg.rows.deletion_vectors import is_vector, read_vector
from dms_iceberg.iceberg.rows.file_io import FileReader
from dms_iceberg.iceberg.rows.key_runs import KeyRuns
from dms_iceberg.iceberg.rows.not_possible import NotPossibleError
from dms_iceberg.iceberg.rows.partitions import Partition, PartitionValue, partition_of

MOST_FILES = 1024
"""With more data files, a table's files cost more to look at one by one than a MERGE."""
MOST_DELETES = 1_000_000
SMALL_ROWS = 50_000
"""The keys of files of at most so many rows are kept, those of others as `KeyRuns`: most files of a table that changes are small."""
_KEPT_BYTES = 256 << 20
_KEPT_TABLES = 64
_BOUNDED = ("int", "long", "string")
NO_POSITIONS = pa.array([], pa.int64())


@attrs.frozen(eq=False)
class LiveFile:
    """A data file of a snapshot.

    Attributes:
        location: where it is.
        rows: how many it has, deleted ones included.
        deleted: positions of its deleted rows, in order.
        own: Iceberg's delete files with nothing but deletes of this file.
        is_shared: delete files of several data files have some of the deletes.
        partition: where it is.
        bounds: the lowest and the highest value that a key column may have, by field id; of a column without an entry, any.
        first_row_id: in format 3, the id of its first row, from which rows without an id of their own count; None in format 2, and before
            the first commit after a table was upgraded.
    """

    location: str
    rows: int
    deleted: pa.Int64Array = NO_POSITIONS
    own: tuple[Any, ...] = ()
    is_shared: bool = False
    partition: Partition = attrs.field(factory=Partition)
    bounds: Mapping[int, tuple[Any, Any]] = attrs.field(factory=dict)
    first_row_id: int | None = None


@attrs.frozen(eq=False)
class LiveFiles:
    """The files of a snapshot.

    Attributes:
        data: the data files by location.
        shared: Iceberg's delete files with deletes of several data files, by the partition that these are in.
    """

    data: Mapping[str, LiveFile]
    shared: Mapping[tuple[PartitionValue, ...], tuple[Any, ...]] = attrs.field(factory=dict)


@attrs.frozen
class TableState:
    """What the known files of a table depend on.

    Attributes:
        table: its UUID.
        snapshot: its current snapshot.
        schema: its current schema: a column that is widened changes the type of partition values, and makes no snapshot.
        has_row_ids: whether it has format 3: the upgrade makes no snapshot either.
    """

    table: str
    snapshot: int
    schema: int
    has_row_ids: bool

    @classmethod
    def of(cls, jvm: Any, table: Any) -> "TableState":
        """Return the state of an Iceberg table that has a snapshot."""
        snapshot, schema = int(table.currentSnapshot().snapshotId()), int(table.schema().schemaId())
        return cls(str(table.uuid()), snapshot, schema, has_row_lineage(jvm, table))


class FileCache:
    """What is known of snapshots and files, without the least recently used beyond a number of bytes. Threads share it."""

    def __init__(self, most_bytes: int = _KEPT_BYTES) -> None:
        self._lock = Lock()
        self._snapshots: OrderedDict[str, tuple[TableState, LiveFiles]] = OrderedDict()
        self._keys: OrderedDict[tuple[str, tuple[int, ...]], pa.Table | KeyRuns] = OrderedDict()
        self._bytes, self._most = 0, most_bytes

    def files(self, state: "TableState") -> LiveFiles | None:
        """Return the files of a table, None if they are not known."""
        with self._lock:
            known = self._snapshots.get(state.table)
            return known[1] if known is not None and known[0] == state else None

    def put_files(self, state: "TableState", files: LiveFiles) -> None:
        """Keep the files of a table in place of those of its earlier state."""
        with self._lock:
            self._snapshots[state.table] = state, files
            self._snapshots.move_to_end(state.table)
            while len(self._snapshots) > _KEPT_TABLES:
                self._snapshots.popitem(last=False)

    def keys(self, location: str, ids: tuple[int, ...]) -> pa.Table | KeyRuns | None:
        """Return the key columns of a file, None if they are not known; ``ids`` are their field ids."""
        with self._lock:
            found = self._keys.get((location, ids))
            if found is not None:
                self._keys.move_to_end((location, ids))
            return found

    def put_keys(self, location: str, ids: tuple[int, ...], keys: pa.Table | KeyRuns) -> None:
        """Keep the key columns of a file."""
        with self._lock:
            before = self._keys.pop((location, ids), None)
            self._bytes += _size(location, keys) - (_size(location, before) if before is not None else 0)
            self._keys[location, ids] = keys
            while self._bytes > self._most and self._keys:
                (gone, _), known = self._keys.popitem(last=False)
                self._bytes -= _size(gone, known)


def _size(location: str, keys: pa.Table | KeyRuns) -> int:
    """Return about the bytes that kept keys take, with the objects around them."""
    return int(keys.nbytes) + len(location) + 2048


def live_files(jvm: Any, table: Any, key: Sequence[str], cache: FileCache) -> LiveFiles:
    """Return the files of an Iceberg table's current snapshot, large ones with the bounds of the ``key`` columns.

    Raises:
        NotPossibleError: there are too many, or they have equality deletes, deletes of another format version than the table's, or another
            format than Parquet.
    """
    state, snapshot = TableState.of(jvm, table), table.currentSnapshot()
    known = cache.files(state)
    if known is not None:
        if len(known.data) > MOST_FILES:
            raise NotPossibleError("many files")
        return known
    summary = to_dict(jvm, snapshot.summary())
    if any(int(summary.get(f"total-{kind}-files", MOST_FILES + 1)) > MOST_FILES for kind in ("data", "delete")):
        raise NotPossibleError("many files")
    if int(summary.get("total-position-deletes", MOST_DELETES + 1)) > MOST_DELETES:
        raise NotPossibleError("many deletes")
    tasks = table.newScan().includeColumnStats(list(key)).planFiles()
    try:
        planned = list(_planned(tasks.iterator()))
    finally:
        tasks.close()
    reader = _Reader(jvm, table, key)
    data = {file.location: file for file in (reader.live_file(*one) for one in planned)}
    found = LiveFiles(data, {partition: tuple(files.values()) for partition, files in reader.shared.items()})
    cache.put_files(state, found)
    return found


def _planned(tasks: Any) -> Iterator[tuple[Any, list[Any]]]:
    # Py4J ends an iteration over a Java collection by an exception, which takes PySpark ten milliseconds to examine.
    while tasks.hasNext():
        task = tasks.next()
        deletes = task.deletes()
        yield task.file(), [deletes.get(number) for number in range(deletes.size())]


class _Reader:
    """Reads what a snapshot's metadata and delete files say of its data files.

    Attributes:
        shared: delete files of several data files by location, by partition.
    """

    def __init__(self, jvm: Any, table: Any, key: Sequence[str]) -> None:
        self._jvm, self._io, self._fields = jvm, table.io(), int(table.spec().fields().size())
        self._is_own = jvm.org.apache.iceberg.util.ContentFileUtil.isFileScoped
        self._has_ids = has_row_lineage(jvm, table)
        self._read: dict[str, pa.Table] = {}
        fields = [field for name in key if (field := table.schema().findField(name)) is not None]
        self._bounded = [(int(field.fieldId()), field.type()) for field in fields if str(field.type()) in _BOUNDED]
        self.shared: dict[tuple[PartitionValue, ...], dict[str, Any]] = {}

    def live_file(self, file: Any, deletes: Sequence[Any]) -> LiveFile:
        location, rows = str(file.location()), int(file.recordCount())
        if str(file.format()) != "PARQUET":
            raise NotPossibleError("data files of another format than Parquet")
        partition = partition_of(self._jvm, file, self._fields)
        own, positions, is_shared = [], list[pa.Array](), False
        for delete in deletes:
            if self._has_ids and is_vector(delete):
                positions.append(read_vector(self._jvm, self._io, delete))
                own.append(delete)
                continue
            if self._has_ids or str(delete.content()) != "POSITION_DELETES" or str(delete.format()) != "PARQUET":
                raise NotPossibleError("equality deletes, or deletes of another format version")
            path = str(delete.location())
            positions.append(self._positions(path).filter(pc.field("path") == location)["pos"].combine_chunks())
            if self._is_own(delete):
                own.append(delete)
            else:
                self.shared.setdefault(partition.values, {})[path] = delete
                is_shared = is_shared or len(positions[-1]) > 0
        bounds = dict(self._bounds(file)) if rows > SMALL_ROWS else {}
        first = file.firstRowId() if self._has_ids else None
        return LiveFile(location, rows, ordered(positions), tuple(own), is_shared, partition, bounds, first)

    def _positions(self, location: str) -> pa.Table:
        if location not in self._read:
            reader = FileReader(self._io, location)
            try:
                table = pq.read_table(io.BytesIO(reader.read()), use_threads=False)
            finally:
                reader.close()
            ids = field_ids(table.schema)
            if not {DELETE_PATH, DELETE_POSITION} <= ids.keys():
                raise NotPossibleError("delete files without field ids")
            self._read[location] = pa.table({"path": table.column(ids[DELETE_PATH]), "pos": table.column(ids[DELETE_POSITION])})
        return self._read[location]

    def _bounds(self, file: Any) -> Iterator[tuple[int, tuple[Any, Any]]]:
        """Read bounds from the metadata. Those of a text may be cut, but only so that no value is outside."""
        lowest, highest = file.lowerBounds(), file.upperBounds()
        if lowest is None or highest is None:
            return
        for id_, type_ in self._bounded:
            low, high = (self._decoded(type_, bounds.get(id_)) for bounds in (lowest, highest))
            if low is not None and high is not None:
                yield id_, (low, high)

    def _decoded(self, type_: Any, bound: Any) -> Any:
        if bound is None:
            return None
        value = self._jvm.org.apache.iceberg.types.Conversions.fromByteBuffer(type_, bound)
        return value if isinstance(value, int) else str(value)


def ordered(parts: Sequence[pa.Array]) -> pa.Int64Array:
    """Return all positions once, in order."""
    return pc.unique(pa.concat_arrays([pa.array([], pa.int64()), *parts])).sort()
