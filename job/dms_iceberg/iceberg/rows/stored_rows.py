"""Reads a few rows of data files by their positions, with the columns that the table has now. No Spark job."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from typing import Any

import attrs
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dms_iceberg.iceberg.rows.arrow_schema import field_ids
from dms_iceberg.iceberg.rows.file_io import FileReader
from dms_iceberg.iceberg.rows.lookup import FoundRows
from dms_iceberg.iceberg.rows.not_possible import NotPossibleError

MOST_VALUES, MOST_COMPRESSED_BYTES = 20_000_000, 64 << 20
"""The most that is read of all files: values (rows of whole row groups, times columns), and bytes of their column chunks. Beyond these, a
MERGE reads them in parallel."""
MOST_BYTES = 16 << 20
"""The most bytes that the rows may have. A Parquet file does not tell: text that repeats is stored once."""
_ROWS_AT_ONCE = 256


@attrs.frozen(eq=False)
class _Group:
    """A row group with wanted rows: their numbers in it, and the file's names of the table's columns by number."""

    file: pq.ParquetFile
    number: int
    rows: pa.Int64Array
    names: dict[int, str]


def read_rows(file_io: Any, found: Sequence[FoundRows], schema: pa.Schema) -> pa.Table:
    """Return rows of data files, in the order of ``found``.

    Args:
        file_io: of the table.
        found: the rows to read.
        schema: the table's columns with their field ids (`arrow_schema`). A column that a file lacks is NULL in its rows.

    Raises:
        NotPossibleError: a file lacks a required column or its field ids, or too much would have to be read.
    """
    with ExitStack() as stack:
        groups = [
            group for one in found for group in _groups(stack.enter_context(FileReader(file_io, one.file.location)), one.positions, schema)
        ]
        _refuse_much(groups)
        parts, size = [schema.empty_table()], 0
        for group in groups:
            for part in _read(group, schema):
                size += part.nbytes
                if size > MOST_BYTES:
                    raise NotPossibleError("long values")
                parts.append(part)
        return pa.concat_tables(parts)


def _groups(reader: FileReader, positions: pa.Int64Array, schema: pa.Schema) -> list[_Group]:
    file = pq.ParquetFile(reader, pre_buffer=False)
    places = field_ids(file.schema_arrow)
    if not places:
        raise NotPossibleError("data files without field ids")
    names = {number: file.schema_arrow.field(places[id_]).name for id_, number in field_ids(schema).items() if id_ in places}
    if any(not field.nullable and number not in names for number, field in enumerate(schema)):
        raise NotPossibleError("data files that lack a required column")
    groups, start = [], 0
    for number in range(file.num_row_groups):
        rows = file.metadata.row_group(number).num_rows
        inside = _within(positions, start, rows)
        if len(inside):
            groups.append(_Group(file, number, inside, names))
        start += rows
    return groups


def _refuse_much(groups: Sequence[_Group]) -> None:
    read = [(group.file.metadata.row_group(group.number), len(group.names)) for group in groups]
    values = sum(one.num_rows * columns for one, columns in read)
    size = sum(one.column(number).total_compressed_size for one, _ in read for number in range(one.num_columns))
    if values > MOST_VALUES or size > MOST_COMPRESSED_BYTES:
        raise NotPossibleError("deleted rows in large files")


def _read(group: _Group, schema: pa.Schema) -> Iterator[pa.Table]:
    """Decode a few rows at a time, and yield the wanted ones: a row group may be much larger than its file."""
    batches = group.file.iter_batches(_ROWS_AT_ONCE, row_groups=[group.number], columns=list(group.names.values()), use_threads=False)
    start = 0
    for batch in batches:
        inside = _within(group.rows, start, batch.num_rows)
        if len(inside):
            yield _converted(pa.Table.from_batches([batch.take(inside)]), group.names, schema)
        start += batch.num_rows


def _within(positions: pa.Int64Array, start: int, count: int) -> pa.Int64Array:
    """Return those of some positions that are among ``count`` rows from ``start`` on, counted from there."""
    inside = positions.filter(pc.and_(pc.greater_equal(positions, start), pc.less(positions, start + count)))
    return pc.subtract(inside, start)


def _converted(rows: pa.Table, names: dict[int, str], schema: pa.Schema) -> pa.Table:
    columns = [
        rows[names[number]].cast(field.type) if number in names else pa.nulls(rows.num_rows, field.type)
        for number, field in enumerate(schema)
    ]
    return pa.Table.from_arrays(columns, schema=schema)
