"""Finds the rows of a table's data files that have given keys, without a Spark job."""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import attrs
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dms_iceberg.iceberg.rows.arrow_schema import ROW_ID, ROW_ID_FIELD, field_ids
from dms_iceberg.iceberg.rows.file_io import FileReader
from dms_iceberg.iceberg.rows.key_runs import NO_RUNS, KeyRuns, key_runs
from dms_iceberg.iceberg.rows.live_files import NO_POSITIONS, SMALL_ROWS, FileCache, LiveFile
from dms_iceberg.iceberg.rows.not_possible import NotPossibleError

MOST_LARGE_FILES = 16
MOST_LARGE_ROWS = 8_000_000
"""Beyond these, a MERGE reads keys in parallel and sooner: the key columns of large files are read for each batch, one after the other.

Files of which `KeyRuns` are kept do not count."""
MOST_UNREAD = 256
"""So many files are opened for a lookup at most; of other small files the keys are kept."""
_READERS = 8
"""On S3 an opened file is mostly waited for."""
_BOUNDED = (pa.int32(), pa.int64(), pa.string())


@attrs.frozen(eq=False)
class FoundRows:
    """Rows of a data file: their positions in order, and their keys in the same order; in format 3 with the ids that the file has."""

    file: LiveFile
    positions: pa.Int64Array
    keys: pa.Table

    @property
    def row_ids(self) -> pa.Int64Array:
        """The rows' ids in format 3; NULL of a file without ids, as after a table was upgraded."""
        counted = pc.add(self.positions, pa.scalar(self.file.first_row_id, pa.int64()))
        return pc.coalesce(self.keys[ROW_ID].combine_chunks(), counted)

    def with_keys(self, keys: pa.Table) -> "FoundRows":
        """Return those of the rows that have one of some keys."""
        numbers = matching(self.keys, keys)
        return FoundRows(self.file, self.positions.take(numbers), self.keys.take(numbers))

    def where(self, mask: pa.BooleanArray) -> "FoundRows":
        """Return those of the rows for which ``mask`` is true."""
        return FoundRows(self.file, self.positions.filter(mask), self.keys.filter(mask))


@attrs.frozen(eq=False)
class Lookup:
    """How rows are found.

    Attributes:
        file_io: of the table.
        ids: field ids of the key columns.
        cache: what is known of files.
        has_row_ids: the table has format 3, whose rows have ids.
    """

    file_io: Any
    ids: tuple[int, ...]
    cache: FileCache
    has_row_ids: bool = False

    def find(self, files: Iterable[LiveFile], keys: pa.Table) -> list[FoundRows]:
        """Return the rows of data files that are not deleted and have one of some keys; files without any are left out.

        Args:
            files: the data files.
            keys: the keys; a column for each of ``ids``, of the table's present types, named by their numbers.

        Raises:
            NotPossibleError: a file lacks a key column, or its field ids; or too many rows would have to be read.
        """
        kept = [(file, self._kept(file, keys)) for file in files if self._may_hold(file, keys)]
        unread = [file for file, known in kept if known is None]
        large = [file.rows for file in unread if file.rows > SMALL_ROWS]
        if len(large) > MOST_LARGE_FILES or sum(large) > MOST_LARGE_ROWS:
            raise NotPossibleError("keys in many large files")
        if len(unread) > MOST_UNREAD:
            raise NotPossibleError("many files to read")
        with ThreadPoolExecutor(_READERS) as readers:
            read = readers.map(lambda file: self._read(file, keys), unread)
            found = [self._found(file, known, keys) for file, known in kept if known is not None]
            return [one for one in map(_alive, [*found, *read]) if len(one.positions)]

    def _may_hold(self, file: LiveFile, keys: pa.Table) -> bool:
        ends = ((keys.column(number), file.bounds.get(id_)) for number, id_ in enumerate(self.ids))
        return all(bounds is None or _any_within(wanted, *bounds) for wanted, bounds in ends)

    def _kept(self, file: LiveFile, keys: pa.Table) -> pa.Table | KeyRuns | None:
        """Return the keys of a file that are kept, None if there are none of the types that are looked for."""
        known = self.cache.keys(file.location, self.ids)
        if known is NO_RUNS:
            return None
        # An integer stays the same where its column is widened.
        is_usable = isinstance(known, KeyRuns) or (known is not None and known.schema.types == self._schema(keys).types)
        return known if is_usable else None

    def _found(self, file: LiveFile, known: pa.Table | KeyRuns, keys: pa.Table) -> FoundRows:
        """Return the rows of a file whose keys are known."""
        if not isinstance(known, KeyRuns):
            numbers = matching(known, keys)
            return FoundRows(file, numbers, known.take(numbers))
        schema = self._schema(keys)
        places = known.find(keys.column(0).to_pylist())
        columns = [pa.array([key for _, key in places], schema.field(0).type), *(pa.nulls(len(places), one.type) for one in [*schema][1:])]
        return FoundRows(file, pa.array([position for position, _ in places], pa.int64()), pa.Table.from_arrays(columns, schema=schema))

    def _schema(self, keys: pa.Table) -> pa.Schema:
        return keys.schema.append(pa.field(ROW_ID, pa.int64())) if self.has_row_ids else keys.schema

    def _read(self, file: LiveFile, keys: pa.Table) -> FoundRows:
        reader = FileReader(self.file_io, file.location)
        try:
            parquet = pq.ParquetFile(reader, pre_buffer=False)
            places = field_ids(parquet.schema_arrow)
            if not set(self.ids) <= places.keys():
                raise NotPossibleError("data files that lack a key column")
            columns = [*(places[one] for one in self.ids), *([places.get(ROW_ID_FIELD)] if self.has_row_ids else [])]
            schema = self._schema(keys)
            is_small = parquet.metadata.num_rows <= SMALL_ROWS
            has_runs = len(self.ids) == 1 and pa.types.is_integer(schema.field(0).type) and ROW_ID_FIELD not in places
            may_be_kept = is_small or (has_runs and self.cache.keys(file.location, self.ids) is not NO_RUNS)
            positions, found, read, start = [NO_POSITIONS], [schema.empty_table()], [schema.empty_table()], 0
            for number in range(parquet.num_row_groups):
                if is_small or _group_may_hold(parquet, number, places[self.ids[0]], keys.column(0)):
                    part = _key_columns(parquet, number, columns, schema)
                    if may_be_kept:
                        read.append(part)
                    numbers = matching(part, keys)
                    positions.append(pc.add(numbers, start))
                    found.append(part.take(numbers))
                start += parquet.metadata.row_group(number).num_rows
        finally:
            reader.close()
        every = pa.concat_tables(read)
        if is_small:
            self.cache.put_keys(file.location, self.ids, every)
        elif may_be_kept and every.num_rows == start:
            self.cache.put_keys(file.location, self.ids, key_runs(every.column(0)) or NO_RUNS)
        return FoundRows(file, pa.concat_arrays(positions), pa.concat_tables(found))


def _key_columns(parquet: pq.ParquetFile, group: int, columns: Sequence[int | None], schema: pa.Schema) -> pa.Table:
    """Read a row group's columns by their numbers, and name them as in ``schema``; NULL for a column that the file lacks."""
    names = [parquet.schema_arrow.field(one).name if one is not None else None for one in columns]
    part = parquet.read_row_group(group, columns=[name for name in names if name is not None], use_threads=False)
    values = [
        part[name].cast(field.type) if name is not None else pa.nulls(part.num_rows, field.type)
        for name, field in zip(names, schema, strict=True)
    ]
    return pa.Table.from_arrays(values, schema=schema)


def _group_may_hold(parquet: pq.ParquetFile, group: int, column: int, wanted: pa.ChunkedArray) -> bool:
    # Top-level columns of primitive types only: their number is that of their column chunk, unless an earlier one is nested.
    if any(pa.types.is_nested(field.type) for field in parquet.schema_arrow) or wanted.type not in _BOUNDED:
        return True
    statistics = parquet.metadata.row_group(group).column(column).statistics
    return statistics is None or not statistics.has_min_max or _any_within(wanted, statistics.min, statistics.max)


def _any_within(wanted: pa.ChunkedArray, low: Any, high: Any) -> bool:
    """Whether any of some values is from ``low`` to ``high``, two values of their type."""
    low, high = (pa.scalar(end).cast(wanted.type) for end in (low, high))
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


def _alive(found: FoundRows) -> FoundRows:
    if not len(found.file.deleted) or not len(found.positions):
        return found
    return found.where(pc.invert(pc.is_in(found.positions, value_set=found.file.deleted)))


def row_ids_of(found: Sequence[FoundRows], keys: pa.Table) -> pa.Int64Array:
    """Return the ids of the rows with some keys, in the order of these; NULL for a key without a row. No two rows have one key."""
    number = "_number"
    known = [one.keys.select(keys.column_names).append_column(ROW_ID, one.row_ids) for one in found]
    wanted = keys.append_column(number, pa.array(range(keys.num_rows), pa.int64()))
    stored = pa.concat_tables([keys.slice(0, 0).append_column(ROW_ID, pa.array([], pa.int64())), *known])
    joined = wanted.join(stored, keys.column_names, join_type="left outer", use_threads=False)
    return joined.sort_by(number)[ROW_ID].combine_chunks()
