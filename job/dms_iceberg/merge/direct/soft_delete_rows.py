"""What becomes of rows of a ``soft_delete`` table by changes of their keys, in Arrow: `soft_delete.soft_delete_sql` for a direct batch."""

from collections.abc import Sequence

import attrs
import pyarrow as pa
import pyarrow.compute as pc

from dms_iceberg.sql.cdc_columns import DELETED, DELETED_AT, POSITION, ROW_POSITION

_EVENT = (POSITION, DELETED, DELETED_AT)
"""What a delete changes of a row that stays in the table; the other columns are those of the row's values."""


@attrs.frozen(eq=False)
class ChangedRows:
    """Rows of a table after changes of their keys.

    Attributes:
        rows: all of the table's rows that the changes meet, as they are then.
        stored: for each, its number among the table's rows.
        changes: for each, the number of its change.
        is_new_row: for each, whether its values are those of the change.
        is_same: for each, whether nothing of it has changed.
    """

    rows: pa.Table
    stored: pa.Int64Array
    changes: pa.Int64Array
    is_new_row: pa.BooleanArray
    is_same: pa.BooleanArray


def changed_rows(stored: pa.Table, changes: pa.Table, key: Sequence[str], *, compare: bool) -> ChangedRows:
    """Return rows of a table as they are after changes; a row without a change is left out.

    Args:
        stored: rows of the table.
        changes: one of each key at most, with the table's columns. `ROW_POSITION` is NULL where a change has no values.
        key: the key columns.
        compare: a change may be older than a row: each half of it wins only with a higher position than the row's.
    """
    first, second = "_row", "_change"
    names = [str(number) for number in range(len(key))]
    left = pa.table([*(stored[name] for name in key), pa.array(range(stored.num_rows), pa.int64())], [*names, first])
    of_changes = [changes[name].cast(stored[name].type) for name in key]
    right = pa.table([*of_changes, pa.array(range(changes.num_rows), pa.int64())], [*names, second])
    pairs = left.join(right, names, join_type="inner", use_threads=False)
    before, after = stored.take(pairs[first]), changes.take(pairs[second])
    if compare:
        new_row = pc.fill_null(pc.greater(after[ROW_POSITION], before[ROW_POSITION]), fill_value=False)
        new_event = pc.fill_null(pc.greater(after[POSITION], before[POSITION]), fill_value=False)
    else:
        new_row, new_event = pc.is_valid(after[ROW_POSITION]), pa.chunked_array([pa.array([True] * len(after), pa.bool_())])
    columns = [
        pc.if_else(new_event if field.name in _EVENT else new_row, after[field.name].cast(field.type), before[field.name])
        for field in stored.schema
    ]
    rows = pa.Table.from_arrays(columns, schema=stored.schema)
    numbers = (pairs[name].combine_chunks() for name in (first, second))
    is_same = pc.invert(pc.or_(new_row, new_event))
    return ChangedRows(rows, *numbers, *(one.combine_chunks() for one in (new_row, is_same)))
