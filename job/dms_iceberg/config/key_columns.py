"""Which declared columns have the values of the key."""

from dms_iceberg.config.model import Column, Table


def key_column(table: Table, name: str) -> Column | None:
    """Return the declared silver column that has the value of source key column ``name``, None if it is not declared.

    It is the first in ``columns`` that copies it (under any name), or that has its name and an expression.
    A key column that is not declared is always in the silver table, unchanged.
    """
    folded = name.casefold()
    return next((column for column in table.columns if (column.source_name or column.name).casefold() == folded), None)


def silver_key(table: Table) -> list[str]:
    """Return the configured key with the names of its silver columns."""
    carriers = ((name, key_column(table, name)) for name in table.key)
    return [name if carrier is None else carrier.name for name, carrier in carriers]
