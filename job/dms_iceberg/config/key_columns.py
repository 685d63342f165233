"""Which declared column carries a part of the key."""

from dms_iceberg.config.model import Column, Table


def key_column(table: Table, name: str) -> Column | None:
    """Return the declared silver column that carries source key column ``name``, None when it is not declared.

    It is the first in ``columns`` that copies it (under any name), or that has its name and an expression.
    An undeclared key column is always in the silver table, as it is.
    """
    folded = name.casefold()
    return next((column for column in table.columns if (column.source_name or column.name).casefold() == folded), None)
