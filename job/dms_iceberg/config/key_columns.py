"""Which declared column carries a part of the key."""

from dms_iceberg.config.model import Column, Table


def key_column(table: Table, name: str) -> Column | None:
    """Return the declared silver column that carries source key column ``name``, None when it is not declared.

    It is the first in ``columns`` that copies it (under any name), or that has its name and an expression.
    An undeclared key column is always in the silver table, as it is.
    """
    folded = name.casefold()
    return next((column for column in table.columns if (column.source_name or column.name).casefold() == folded), None)


def silver_key(table: Table) -> list[str]:
    """Return the configured key as silver names it."""
    carriers = ((name, key_column(table, name)) for name in table.key)
    return [name if carrier is None else carrier.name for name, carrier in carriers]
