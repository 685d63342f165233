"""Reads a few rows of a data file by their positions, with the columns that the table has now. No Spark job."""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dms_iceberg.iceberg.arrow_schema import field_ids
from dms_iceberg.iceberg.file_io import FileReader
from dms_iceberg.iceberg.live_files import NotPossibleError

MOST_VALUES = 20_000_000
"""The most values that are read of one file: rows of whole row groups, times columns. Beyond it, a MERGE reads them in parallel."""


def read_rows(file_io: Any, location: str, positions: pa.Int64Array, schema: pa.Schema) -> pa.Table:
    """Return the rows at some positions of a data file.

    Args:
        file_io: of the table.
        location: of the file.
        positions: of the rows, in order.
        schema: the table's columns with their field ids. A column that the file lacks is NULL in its rows, as in every file of format 2.

    Raises:
        NotPossibleError: the file lacks a required column or its field ids, or too much would have to be read.
    """
    reader = FileReader(file_io, location)
    try:
        parquet = pq.ParquetFile(reader, pre_buffer=False)
        places = field_ids(parquet.schema_arrow)
        if not places:
            raise NotPossibleError("data files without field ids")
        names = {number: parquet.schema_arrow.field(places[id_]).name for id_, number in field_ids(schema).items() if id_ in places}
        parts, start, values = [], 0, 0
        for group in range(parquet.num_row_groups):
            rows = parquet.metadata.row_group(group).num_rows
            inside = positions.filter(pc.and_(pc.greater_equal(positions, start), pc.less(positions, start + rows)))
            if len(inside):
                values += rows * len(names)
                if values > MOST_VALUES:
                    raise NotPossibleError("deleted rows in large files")
                part = parquet.read_row_group(group, columns=list(names.values()), use_threads=False)
                parts.append(_converted(part.take(pc.subtract(inside, start)), names, schema))
            start += rows
    finally:
        reader.close()
    return pa.concat_tables([schema.empty_table(), *parts])


def _converted(rows: pa.Table, names: dict[int, str], schema: pa.Schema) -> pa.Table:
    columns = []
    for number, field in enumerate(schema):
        if number in names:
            columns.append(rows[names[number]].cast(field.type))
        elif field.nullable:
            columns.append(pa.nulls(rows.num_rows, field.type))
        else:
            raise NotPossibleError("data files that lack a required column")
    return pa.Table.from_arrays(columns, schema=schema)
