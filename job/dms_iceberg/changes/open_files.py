"""Opening files: from names to frames with the columns told apart."""

from collections.abc import Collection, Sequence

from dms_iceberg.bronze.keys import BronzeFile
from dms_iceberg.bronze.schema_groups import inspect
from dms_iceberg.changes.frames import ReadGroup, read_groups
from dms_iceberg.config.model import Table
from dms_iceberg.context import RunContext


def open_files(context: RunContext, table: Table, files: Sequence[BronzeFile], existing: Collection[str] = ()) -> list[ReadGroup]:
    """Look into ``files`` and open them, grouped by their columns; ``existing`` are the silver table's columns, as far as it is made."""
    groups = inspect(context.store, files, context.config.bronze, table)
    return read_groups(context.spark, context.config, context.store.root, groups, table, existing)
