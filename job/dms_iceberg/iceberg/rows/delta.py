"""Writes a few new rows and deletes a few others in one snapshot of a transaction, without a Spark job.

The files are what Iceberg's own Spark writer makes of the same rows: Parquet with field ids, and metrics that Iceberg computes. Where
that would write a delete file for each data file, which takes over the deletes that the file had, a delta has one for all of a partition.
Every few deltas these are folded into one, beside a delete file of its own for each data file with many deletes. So a reader never meets
more than a few, and what a fold writes does not grow with the number of small data files, of which each delta adds one.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import attrs
import pyarrow as pa

from dms_iceberg.iceberg.format_v3 import has_row_lineage
from dms_iceberg.iceberg.java_maps import to_dict
from dms_iceberg.iceberg.rows.arrow_schema import ROW_ID, arrow_schema, field_ids
from dms_iceberg.iceberg.rows.deletion_vectors import Vector
from dms_iceberg.iceberg.rows.file_writer import CODEC_KEY, CODECS, WRITES_DECIMALS, FileWriter, positions_in
from dms_iceberg.iceberg.rows.live_files import SMALL_ROWS, FileCache, LiveFile, LiveFiles, TableState, ordered
from dms_iceberg.iceberg.rows.lookup import FoundRows
from dms_iceberg.iceberg.rows.not_possible import NotPossibleError
from dms_iceberg.iceberg.rows.partitions import Partition, PartitionValue

_SIZES = ("write.target-file-size-bytes", "write.delete.target-file-size-bytes")
_LARGE = 64 << 20
"""Written files are smaller: the caller bounds rows and text of a `Delta`."""
MOST_SHARED = 8
"""So many delete files of several data files a partition has at most."""
MANY_DELETES = 1_000
"""A fold writes so many deletes of a data file into a delete file of its own: all readers of other files would read them too."""


@attrs.frozen(eq=False)
class Delta:
    """What a transaction does to a table's rows.

    Attributes:
        rows: new rows by their partition, with the columns of `columns_of`, and in format 3 as the last one `ROW_ID`, NULL for
            a row that is in place of none; without any row, no partition.
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
    version = int(jvm.org.apache.iceberg.TableUtil.formatVersion(table))
    # Deletes of format 3 have one format, and one granularity.
    formats = {properties.get(f"write.{kind}format.default", "parquet") for kind in (("", "delete.") if version == 2 else ("",))}
    checks = {
        "written in order": table.sortOrder().isSorted(),
        "format version": version not in (2, 3),
        "copy-on-write": properties.get("write.merge.mode", "copy-on-write") != "merge-on-read",
        "file format": formats != {"parquet"},
        "granularity of deletes": version == 2 and properties.get("write.delete.granularity", "file") != "file",
        "compression": properties.get(CODEC_KEY, "zstd") not in CODECS or "write.parquet.compression-level" in properties,
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
    if schema is None or (not WRITES_DECIMALS and any(pa.types.is_decimal(field.type) for field in schema)):
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
    writer = FileWriter(jvm, table)
    change = table.newRowDelta()
    after = dict(delta.files.data)
    for partition, rows in delta.rows.items():
        written = writer.data_file(rows, partition)
        change.addRows(written)
        location = str(written.location())
        after[location] = LiveFile(location, rows.num_rows, partition=partition)
        if rows.num_rows <= SMALL_ROWS:
            cache.put_keys(location, delta.ids, _keys_of(rows, delta.ids))
    touched: dict[tuple[PartitionValue, ...], list[FoundRows]] = {}
    for found in delta.deleted:
        touched.setdefault(found.file.partition.values, []).append(found)
        after[found.file.location] = attrs.evolve(found.file, deleted=ordered([found.file.deleted, found.positions]))
    shared = dict(delta.files.shared)
    deletes = _Deletes(change, writer, after)
    has_ids = has_row_lineage(jvm, table)
    if has_ids and delta.deleted:
        # Otherwise vectors of all earlier snapshots count as those of other writers.
        change.validateFromSnapshot(table.currentSnapshot().snapshotId())
        deletes.add_vectors(delta.deleted)
    elif not has_ids:
        shared |= {values: deletes.add_positions(deleted, shared.get(values, ())) for values, deleted in touched.items()}
    for name, text in properties.items():
        change.set(name, text)
    change.commit()
    # Only the commit says which ids the new rows have. Those of files of a table that was upgraded to format 3 are not looked for.
    if has_ids and not _add_row_ids(jvm, table, after):
        return
    cache.put_files(TableState.of(jvm, table), LiveFiles(after, shared))


def _keys_of(rows: pa.Table, ids: tuple[int, ...]) -> pa.Table:
    """Return the key columns of new rows as `FoundRows` has them."""
    places = field_ids(rows.schema)
    columns = {str(number): rows.column(places[id_]) for number, id_ in enumerate(ids)}
    return pa.table(columns | ({ROW_ID: rows[ROW_ID]} if ROW_ID in rows.column_names else {}))


def _add_row_ids(jvm: Any, table: Any, files: dict[str, LiveFile]) -> bool:
    """Enter the first row ids of the current snapshot's new files; return whether they are known of all files."""
    added = jvm.java.util.ArrayList(table.currentSnapshot().addedDataFiles(table.io()))
    for file in (added.get(number) for number in range(added.size())):
        location = str(file.location())
        files[location] = attrs.evolve(files[location], first_row_id=file.firstRowId())
    return all(file.first_row_id is not None for file in files.values())


class _Deletes:
    """Adds the deletes of one delta, and says which delete files each data file has then.

    Attributes:
        change: Iceberg's ``RowDelta``.
        writer: of the delta's files.
        after: the data files by location, with all deleted positions; what is written is entered here.
    """

    def __init__(self, change: Any, writer: FileWriter, after: dict[str, LiveFile]) -> None:
        self._change, self._writer, self._after = change, writer, after

    def add_vectors(self, deleted: Sequence[FoundRows]) -> None:
        """Write new deletion vectors of data files, which replace those that they had."""
        files = [self._after[one.file.location] for one in deleted]
        vectors = self._writer.deletion_vectors([Vector(one.location, one.partition, one.deleted) for one in files])
        for file, vector in zip(files, vectors, strict=True):
            self._change.addDeletes(vector)
            self._remove(file.own)
            self._after[file.location] = attrs.evolve(file, own=(vector,))

    def add_positions(self, deleted: Sequence[FoundRows], shared: tuple[Any, ...]) -> tuple[Any, ...]:
        """Add position deletes in one partition.

        Return the partition's delete files of several data files, of which ``shared`` are those before.
        """
        partition = deleted[0].file.partition
        if len(shared) >= MOST_SHARED:
            return self._fold({one.file.location for one in deleted}, partition, shared)
        if len(deleted) == 1:
            file = self._after[deleted[0].file.location]
            self._add_own(file, is_shared=file.is_shared)
            return shared
        for one in deleted:
            self._after[one.file.location] = attrs.evolve(self._after[one.file.location], is_shared=True)
        return (*shared, self._add_shared(partition, {one.file.location: one.positions for one in deleted}))

    def _fold(self, touched: Collection[str], partition: Partition, shared: tuple[Any, ...]) -> tuple[Any, ...]:
        """Write again all deletes of files that share some, and of those that are ``touched``; return the shared delete file, if any."""
        files = [one for one in self._after.values() if one.partition == partition and (one.is_shared or one.location in touched)]
        together = {one.location: one.deleted for one in files if len(one.deleted) < MANY_DELETES}
        together = together if len(together) > 1 else {}
        for file in files:
            if file.location in together:
                self._remove(file.own)
                self._after[file.location] = attrs.evolve(file, own=(), is_shared=True)
            else:
                self._add_own(file, is_shared=False)
        self._remove(shared)
        return (self._add_shared(partition, together),) if together else ()

    def _add_shared(self, partition: Partition, positions: Mapping[str, pa.Int64Array]) -> Any:
        """Write deletes of several data files, given by location, into one delete file."""
        every = pa.concat_tables(positions_in(location, positions[location]) for location in sorted(positions))
        return self._add(self._writer.position_deletes(every, partition, None))

    def _add_own(self, file: LiveFile, *, is_shared: bool) -> None:
        """Write all deletes of a file into one delete file of its own."""
        own = self._add(self._writer.position_deletes(positions_in(file.location, file.deleted), file.partition, file.location))
        self._remove(file.own)
        self._after[file.location] = attrs.evolve(file, own=(own,), is_shared=is_shared)

    def _add(self, deletes: Any) -> Any:
        self._change.addDeletes(deletes)
        return deletes

    def _remove(self, files: Sequence[Any]) -> None:
        for file in files:
            self._change.removeDeletes(file)
