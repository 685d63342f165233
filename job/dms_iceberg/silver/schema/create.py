"""Creates a table from the configuration alone: DMS writes nothing for an empty source table, yet readers expect its target."""

from collections.abc import Mapping

from dms_iceberg.changes.mapping import silver_columns
from dms_iceberg.config.model import Table
from dms_iceberg.sql.types import canonical, stored


def declared_types(table: Table) -> Mapping[str, str] | None:
    """Return the silver columns with their declared types, None when a key column or a declared column has no type."""
    columns = silver_columns(table, ())
    types = {column.name: stored(canonical(column.type)) for column in columns if column.type is not None}
    keys = [column for column in columns if column.is_key]
    if len(keys) < len(table.key) or len(types) < len(columns):
        return None
    return types


def untyped(table: Table) -> str:
    """Return why a table cannot be created from the configuration alone (`declared_types`)."""
    return (
        f"{table.source}: no file yet, and {table.target} cannot be created from the configuration alone: declare a type for every "
        "key column (and every column in columns) to have the table before its first row."
    )
