"""The rows that a direct batch writes into its table, and those that it deletes there: what the MERGE of its mode does to them."""

from collections.abc import Sequence

import attrs
import pyarrow as pa
import pyarrow.compute as pc

from dms_iceberg.iceberg.rows.arrow_schema import ROW_ID
from dms_iceberg.iceberg.rows.lookup import FoundRows, Lookup, row_ids_of
from dms_iceberg.iceberg.rows.not_possible import NotPossibleError
from dms_iceberg.iceberg.rows.partitions import PartitionField, PartitionValue
from dms_iceberg.iceberg.rows.stored_rows import read_rows
from dms_iceberg.merge.direct.soft_delete_rows import changed_rows
from dms_iceberg.sql.cdc_columns import DELETE, ROW_POSITION

_Partitions = list[tuple[PartitionValue, ...]]


@attrs.frozen(eq=False)
class DirectRows:
    """What a direct batch does to its table.

    Attributes:
        new: the rows to write; in format 3 with their ids.
        partitions: the partition of each.
        deleted: the rows to delete.
    """

    new: pa.Table
    partitions: _Partitions
    deleted: Sequence[FoundRows]


@attrs.frozen(eq=False)
class DirectTable:
    """The table of a direct batch.

    Attributes:
        key: its key columns.
        columns: the columns of its data files.
        fields: its partition fields.
        lookup: finds its rows.
    """

    key: Sequence[str]
    columns: pa.Schema
    fields: Sequence[PartitionField]
    lookup: Lookup

    def keys(self, changes: pa.Table) -> pa.Table:
        """Return the keys of changes as `Lookup.find` takes them."""
        return pa.table({str(number): changes[name].cast(self.columns.field(name).type) for number, name in enumerate(self.key)})

    def mirrored(self, changes: pa.Table, found: Sequence[FoundRows]) -> DirectRows:
        """Return what is written in mode ``mirror``.

        Args:
            changes: the latest change of each key, with `DELETE`.
            found: the table's rows with these keys.
        """
        written = changes.filter(pc.invert(changes[DELETE]))
        return self._with_ids(DirectRows(self._typed(written), self._partitions(written), found))

    def soft_deleted(self, changes: pa.Table, found: Sequence[FoundRows], *, compare: bool) -> DirectRows:
        """Return what is written in mode ``soft_delete``.

        A change with values replaces its row; a delete marks it. A change that may be older than its row is compared with it.

        Args:
            changes: the latest state of each key (`soft_delete.state_row_select`).
            found: the table's rows with these keys.
            compare: the batch may have positions below the table's high-water position.
        """
        has_values = changes[ROW_POSITION].is_valid()
        compared = changes if compare else changes.filter(pc.invert(has_values))
        of_keys = self.keys(compared)
        meets = [one for one in (rows.with_keys(of_keys) for rows in found) if len(one.positions)]
        changed = changed_rows(read_rows(self.lookup.file_io, meets, self.columns), compared, self.key, compare=compare)
        if compare:
            numbers = pa.array(range(changes.num_rows), pa.int64())
            has_values = pc.and_(has_values, pc.invert(pc.is_in(numbers, value_set=changed.changes)))
            found = _without(meets, changed.stored.filter(changed.is_same))
        written = changes.filter(has_values)
        of_changes, of_stored = self._partitions(compared), [one.file.partition.values for one in meets for _ in range(len(one.positions))]
        is_new, is_other = changed.is_new_row.to_pylist(), pc.invert(changed.is_same)
        places = zip(changed.stored.to_pylist(), changed.changes.to_pylist(), is_new, is_other.to_pylist(), strict=True)
        moved = [of_changes[after] if new else of_stored[before] for before, after, new, other in places if other]
        rows = pa.concat_tables([self._typed(written), changed.rows.filter(is_other)])
        return self._with_ids(DirectRows(rows, [*self._partitions(written), *moved], found))

    def _typed(self, changes: pa.Table) -> pa.Table:
        return pa.Table.from_arrays([changes[field.name].cast(field.type) for field in self.columns], schema=self.columns)

    def _partitions(self, changes: pa.Table) -> _Partitions:
        if not self.fields:
            return [()] * changes.num_rows
        return list(zip(*(field.values(changes) for field in self.fields), strict=True))

    def _with_ids(self, rows: DirectRows) -> DirectRows:
        if any(not field.nullable and rows.new[field.name].null_count for field in self.columns):
            raise NotPossibleError("NULL in a required column")
        if not self.lookup.has_row_ids:
            return rows
        return attrs.evolve(rows, new=rows.new.append_column(ROW_ID, row_ids_of(rows.deleted, self.keys(rows.new))))


def has_a_key_twice(parts: Sequence[pa.Table]) -> bool:
    """Whether some rows with key columns alone have a key twice."""
    keys = pa.concat_tables(parts) if parts else pa.table({})
    return bool(keys.num_rows) and keys.group_by(keys.column_names).aggregate([]).num_rows < keys.num_rows


def _without(found: Sequence[FoundRows], numbers: pa.Int64Array) -> list[FoundRows]:
    """Leave out rows by their numbers among all; files without any other are left out, too."""
    left, start = [], 0
    for one in found:
        places = pa.array(range(start, start + len(one.positions)), pa.int64())
        left.append(one.where(pc.invert(pc.is_in(places, value_set=numbers))))
        start += len(one.positions)
    return [one for one in left if len(one.positions)]
