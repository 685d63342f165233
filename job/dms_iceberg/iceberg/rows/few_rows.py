"""Reads all rows of a small table without a Spark job, which would take longer than the rows are worth."""

from collections.abc import Collection
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from dms_iceberg.iceberg.rows.arrow_schema import arrow_schema
from dms_iceberg.iceberg.rows.live_files import FileCache, LiveFile, live_files
from dms_iceberg.iceberg.rows.lookup import FoundRows
from dms_iceberg.iceberg.rows.not_possible import NotPossibleError, reading_files
from dms_iceberg.iceberg.rows.stored_rows import read_rows
from dms_iceberg.iceberg.table import IcebergTable

MOST_ROWS, MOST_FILES = 20_000, 32
"""Beyond these, reading takes a second or more: on S3 each file is a few requests."""
_SIZES = {"total-records": MOST_ROWS, "total-data-files": MOST_FILES, "total-delete-files": MOST_FILES}


def few_rows(table: IcebergTable, columns: Collection[str]) -> pa.Table:
    """Return columns of all rows of a table's newest snapshot, as of its last `refresh`; of a table without one no row.

    Args:
        table: the table.
        columns: names of the columns; those that the table lacks are left out.

    Raises:
        NotPossibleError: the table is not small, or has something that only Spark reads.
    """
    jvm: Any = table.spark._jvm
    with reading_files():
        schema = arrow_schema(str(jvm.org.apache.iceberg.SchemaParser.toJson(table.iceberg.schema())))
        if schema is None:
            raise NotPossibleError("columns of other types")
        wanted = pa.schema([field for field in schema if field.name in columns])
        head = table.head()
        if head is None:
            return wanted.empty_table()
        if any(int(head.summary.get(name, most + 1)) > most for name, most in _SIZES.items()):
            raise NotPossibleError("many rows or files")
        files = live_files(jvm, table.iceberg, (), FileCache()).data.values()
        return read_rows(table.iceberg.io(), [FoundRows(file, _live(file), pa.table({})) for file in files], wanted)


def _live(file: LiveFile) -> pa.Int64Array:
    positions = pa.array(range(file.rows), pa.int64())
    return positions.filter(pc.invert(pc.is_in(positions, value_set=file.deleted)))
