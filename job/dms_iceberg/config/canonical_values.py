"""Give values that can be spelled in several ways one spelling, so that the rest of the job sees only that one."""

import attrs

from dms_iceberg.config.column_checks import DEFAULT_MASK_SALT
from dms_iceberg.config.model import Column, Config, Mask, Table
from dms_iceberg.config.types import canonical_type


def normalised(config: Config) -> Config:
    """Return a checked configuration with canonical types, and with the location of the salt in every ``sha256`` column."""
    return attrs.evolve(config, tables={name: _table(table) for name, table in config.tables.items()})


def _table(table: Table) -> Table:
    return attrs.evolve(table, columns=tuple(_column(column) for column in table.columns))


def _column(column: Column) -> Column:
    salt = column.mask_salt or (DEFAULT_MASK_SALT if column.mask is Mask.SHA256 else None)
    return attrs.evolve(column, type=column.type and canonical_type(column.type), mask_salt=salt)
