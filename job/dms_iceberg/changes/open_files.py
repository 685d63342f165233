"""Opens change files: from keys to DataFrames with classified columns."""

from collections.abc import Collection, Sequence

from dms_iceberg.bronze.keys import BronzeFile
from dms_iceberg.bronze.schema_groups import inspect
from dms_iceberg.changes.frames import ReadGroup, read_groups
from dms_iceberg.config.model import Table
from dms_iceberg.context import RunContext


def open_files(context: RunContext, table: Table, files: Sequence[BronzeFile], existing: Collection[str] = ()) -> list[ReadGroup]:
    """Inspect ``files`` and open them, grouped by their columns.

    Args:
        existing: the silver table's columns; empty before it is created.

    Raises:
        BronzeError: see `inspect` and `read_groups`.
    """
    groups = inspect(context.store, files, context.config.bronze, table)
    return read_groups(context.spark, context.config, context.store.root, groups, table, existing)
