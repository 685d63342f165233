"""The source table that a silver table was made from: merged with the changes of another one, each would overwrite the other's rows."""

from collections.abc import Mapping

from dms_iceberg.config.model import Table
from dms_iceberg.errors import SchemaChangeError

SOURCE_PROPERTY = "dms-iceberg.source"
"""Table property with the name of the source table, ``schema.table``."""


def source_property(table: Table) -> dict[str, str]:
    """Return the table property."""
    return {SOURCE_PROPERTY: table.source}


def refuse_other_source(table: Table, properties: Mapping[str, str]) -> None:
    """Refuse to merge into a table that was made from another source table; tables of earlier versions do not record theirs.

    Raises:
        SchemaChangeError: the source tables differ.
    """
    recorded = properties.get(SOURCE_PROPERTY, table.source)
    if recorded != table.source:
        raise SchemaChangeError(
            f'tables."{table.source}".target: {table.target} was made from the source table {recorded} (table property {SOURCE_PROPERTY}), '
            f"and the changes of {table.source} would overwrite rows of it. Allowed is one source table for each target: choose another "
            "target, or another warehouse. If the source table was only renamed: merge its files under the former name, let a load under "
            f"the new one be in a new load epoch, and then ALTER TABLE {table.target} UNSET TBLPROPERTIES ('{SOURCE_PROPERTY}'). "
            "Nothing was written."
        )
