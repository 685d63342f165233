"""The data files of a snapshot with the positions that are deleted in them, and where the rows with given keys are. No Spark job.

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

from dms_iceberg.iceberg.arrow_schema import DELETE_PATH, DELETE_POSITION, field_ids
from dms_iceberg.iceberg.file_io import FileReader
from dms_iceberg.iceberg.java_maps import to_dict

MOST_FILES = 256
"""With more data files, a table's files cost more to look at one by one than a MERGE."""
MOST_DELETES = 1_000_000
MOST_LARGE_FILES = 16
MOST_LARGE_ROWS = 8_000_000
"""Beyond these, a MERGE reads keys in parallel and sooner: the key columns of large files are read for each batch, one after the other."""
SMALL_ROWS = 50_000
"""The keys of files of at most so many rows are kept: most files of a table that changes all the time are small."""
_KEPT_BYTES = 256 << 20
_KEPT_TABLES = 64
_PRUNED = (pa.int32(), pa.int64(), pa.string())
NO_POSITIONS = pa.array([], pa.int64())


class NotPossibleError(Exception):
    """The rows cannot be looked up; the message says why, in a few words."""


@attrs.frozen(eq=False)
class LiveFile:
    """A data file of a snapshot.

    Attributes:
        location: where it is.
        rows: how many it has, deleted ones included.
        deleted: positions of its deleted rows, in order.
        own: Iceberg's delete files with nothing but deletes of this file.
        is_shared: delete files of several data files have some of the deletes.
    """

    location: str
    rows: int
    deleted: pa.Int64Array = NO_POSITIONS
    own: tuple[Any, ...] = ()
    is_shared: bool = False


@attrs.frozen(eq=False)
class LiveFiles:
    """The files of a snapshot.

    Attributes:
        data: the data files by location.
        shared: Iceberg's delete files with deletes of several data files.
    """

    data: Mapping[str, LiveFile]
    shared: tuple[Any, ...] = ()


class FileCache:
    """What is known of snapshots and files, without the least recently used beyond a number of bytes. Threads share it."""

    def __init__(self, most_bytes: int = _KEPT_BYTES) -> None:
        self._lock = Lock()
        self._snapshots: OrderedDict[str, tuple[int, LiveFiles]] = OrderedDict()
        self._keys: OrderedDict[tuple[str, tuple[int, ...]], pa.Table] = OrderedDict()
        self._bytes, self._most = 0, most_bytes

    def files(self, table: str, snapshot: int) -> LiveFiles | None:
        """Return the files of a table's snapshot, None if they are not known; ``table`` is its UUID."""
        with self._lock:
            known = self._snapshots.get(table)
            return known[1] if known is not None and known[0] == snapshot else None

    def put_files(self, table: str, snapshot: int, files: LiveFiles) -> None:
        """Keep the files of a snapshot in place of those of the table's earlier one."""
        with self._lock:
            self._snapshots[table] = snapshot, files
            self._snapshots.move_to_end(table)
            while len(self._snapshots) > _KEPT_TABLES:
                self._snapshots.popitem(last=False)

    def keys(self, location: str, ids: tuple[int, ...]) -> pa.Table | None:
        """Return the key columns of a file, None if they are not known; ``ids`` are their field ids."""
        with self._lock:
            found = self._keys.get((location, ids))
            if found is not None:
                self._keys.move_to_end((location, ids))
            return found

    def put_keys(self, location: str, ids: tuple[int, ...], keys: pa.Table) -> None:
        """Keep the key columns of a file."""
        with self._lock:
            before = self._keys.pop((location, ids), None)
            self._bytes += keys.nbytes - (before.nbytes if before is not None else 0)
            self._keys[location, ids] = keys
            while self._bytes > self._most and self._keys:
                self._bytes -= self._keys.popitem(last=False)[1].nbytes


def live_files(jvm: Any, table: Any, cache: FileCache) -> LiveFiles:
    """Return the files of an Iceberg table's current snapshot.

    Raises:
        NotPossibleError: there are too many, or they have equality deletes, deletion vectors or another format than Parquet.
    """
    uuid, snapshot = str(table.uuid()), table.currentSnapshot()
    known = cache.files(uuid, snapshot.snapshotId())
    if known is not None:
        if len(known.data) > MOST_FILES:
            raise NotPossibleError("many files")
        return known
    summary = to_dict(jvm, snapshot.summary())
    if any(int(summary.get(f"total-{kind}-files", MOST_FILES + 1)) > MOST_FILES for kind in ("data", "delete")):
        raise NotPossibleError("many files")
    if int(summary.get("total-position-deletes", MOST_DELETES + 1)) > MOST_DELETES:
        raise NotPossibleError("many deletes")
    tasks = table.newScan().planFiles()
    try:
        planned = list(_planned(tasks.iterator()))
    finally:
        tasks.close()
    read: dict[str, pa.Table] = {}
    shared: dict[str, Any] = {}
    is_own = jvm.org.apache.iceberg.util.ContentFileUtil.isFileScoped
    files = [_live_file(is_own, table.io(), file, deletes, read, shared) for file, deletes in planned]
    large = [file for file in files if file.rows > SMALL_ROWS]
    if len(large) > MOST_LARGE_FILES or sum(file.rows for file in large) > MOST_LARGE_ROWS:
        raise NotPossibleError("large table")
    found = LiveFiles({file.location: file for file in files}, tuple(shared.values()))
    cache.put_files(uuid, snapshot.snapshotId(), found)
    return found


def _planned(tasks: Any) -> Iterator[tuple[Any, list[Any]]]:
    # Py4J ends an iteration over a Java collection by an exception, which takes PySpark ten milliseconds to examine.
    while tasks.hasNext():
        task = tasks.next()
        deletes = task.deletes()
        yield task.file(), [deletes.get(number) for number in range(deletes.size())]


def _live_file(is_own: Any, file_io: Any, file: Any, deletes: Sequence[Any], read: dict[str, pa.Table], shared: dict[str, Any]) -> LiveFile:
    location = str(file.location())
    if str(file.format()) != "PARQUET":
        raise NotPossibleError("data files of another format than Parquet")
    own, positions, is_shared = [], list[pa.Array](), False
    for delete in deletes:
        if str(delete.content()) != "POSITION_DELETES" or str(delete.format()) != "PARQUET":
            raise NotPossibleError("equality deletes or deletion vectors")
        path = str(delete.location())
        positions.append(_positions(file_io, path, read).filter(pc.field("path") == location)["pos"].combine_chunks())
        if is_own(delete):
            own.append(delete)
        else:
            shared[path] = delete
            is_shared = is_shared or len(positions[-1]) > 0
    return LiveFile(location, int(file.recordCount()), ordered(positions), tuple(own), is_shared)


def _positions(file_io: Any, location: str, read: dict[str, pa.Table]) -> pa.Table:
    if location not in read:
        reader = FileReader(file_io, location)
        try:
            table = pq.read_table(io.BytesIO(reader.read()), use_threads=False)
        finally:
            reader.close()
        ids = field_ids(table.schema)
        if not {DELETE_PATH, DELETE_POSITION} <= ids.keys():
            raise NotPossibleError("delete files without field ids")
        read[location] = pa.table({"path": table.column(ids[DELETE_PATH]), "pos": table.column(ids[DELETE_POSITION])})
    return read[location]


def ordered(parts: Sequence[pa.Array]) -> pa.Int64Array:
    """Return all positions once, in order."""
    return pc.unique(pa.concat_arrays([pa.array([], pa.int64()), *parts])).sort()


def find_rows(file_io: Any, file: LiveFile, keys: pa.Table, ids: tuple[int, ...], cache: FileCache) -> pa.Int64Array:
    """Return the positions of a file's rows that are not deleted and have one of some keys, in order.

    Args:
        file_io: of the table.
        file: the data file.
        keys: the keys; a column for each of ``ids``, of the table's present types, named by their numbers.
        ids: field ids of the key columns.
        cache: what is known of files.

    Raises:
        NotPossibleError: the file lacks a key column, or its field ids.
    """
    known = cache.keys(file.location, ids)
    if known is not None and known.schema.types == keys.schema.types:
        return _alive(file, matching(known, keys))
    reader = FileReader(file_io, file.location)
    try:
        parquet = pq.ParquetFile(reader, pre_buffer=False)
        places = field_ids(parquet.schema_arrow)
        if not set(ids) <= places.keys():
            raise NotPossibleError("data files that lack a key column")
        columns = [places[one] for one in ids]
        is_small = parquet.metadata.num_rows <= SMALL_ROWS
        found, read, start = [], [], 0
        for number in range(parquet.num_row_groups):
            rows = parquet.metadata.row_group(number).num_rows
            if is_small or _may_hold(parquet, number, columns[0], keys.column(0)):
                part = _key_columns(parquet, number, columns, keys.schema)
                if is_small:
                    read.append(part)
                found.append(pc.add(matching(part, keys), start))
            start += rows
    finally:
        reader.close()
    if is_small:
        cache.put_keys(file.location, ids, pa.concat_tables(read) if read else keys.slice(0, 0))
    return _alive(file, pa.concat_arrays([NO_POSITIONS, *found]))


def _key_columns(parquet: pq.ParquetFile, group: int, columns: Sequence[int], schema: pa.Schema) -> pa.Table:
    names = [parquet.schema_arrow.field(one).name for one in columns]
    part = parquet.read_row_group(group, columns=names, use_threads=False)
    return pa.Table.from_arrays([part[name].cast(field.type) for name, field in zip(names, schema, strict=True)], schema=schema)


def _may_hold(parquet: pq.ParquetFile, group: int, column: int, wanted: pa.ChunkedArray) -> bool:
    # Top-level columns of primitive types only: their number is that of their column chunk, unless an earlier one is nested.
    if any(pa.types.is_nested(field.type) for field in parquet.schema_arrow) or wanted.type not in _PRUNED:
        return True
    statistics = parquet.metadata.row_group(group).column(column).statistics
    if statistics is None or not statistics.has_min_max:
        return True
    low, high = (pa.scalar(end).cast(wanted.type) for end in (statistics.min, statistics.max))
    return bool(pc.any(pc.and_(pc.greater_equal(wanted, low), pc.less_equal(wanted, high))).as_py())


def matching(rows: pa.Table, keys: pa.Table) -> pa.Int64Array:
    """Return the numbers of the rows that have one of the keys, in order; the columns are the same, and neither has NULL or floats."""
    hits = None
    for name in keys.column_names:
        one = pc.is_in(rows[name], value_set=keys[name].combine_chunks())
        hits = one if hits is None else pc.and_(hits, one)
    numbers = pc.indices_nonzero(hits).cast(pa.int64())
    if len(keys.column_names) > 1 and len(numbers):
        candidates = rows.take(numbers).append_column("_number", numbers)
        numbers = candidates.join(keys, keys.column_names, join_type="left semi", use_threads=False)["_number"].combine_chunks().sort()
    return numbers


def _alive(file: LiveFile, positions: pa.Int64Array) -> pa.Int64Array:
    if not len(file.deleted) or not len(positions):
        return positions
    return positions.filter(pc.invert(pc.is_in(positions, value_set=file.deleted)))
