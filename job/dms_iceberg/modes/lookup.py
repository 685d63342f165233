"""Finds the description of a mode. Pure."""

from collections.abc import Collection, Mapping

from dms_iceberg.modes.append import APPEND
from dms_iceberg.modes.history import HISTORY
from dms_iceberg.modes.mirror import MIRROR
from dms_iceberg.modes.soft_delete import SOFT_DELETE
from dms_iceberg.modes.table_mode import TableMode

MODES: Mapping[str, TableMode] = {one.name: one for one in (MIRROR, SOFT_DELETE, HISTORY, APPEND)}
"""All modes by their names."""


def table_mode(name: str) -> TableMode:
    """Return the mode of a name, such as `Table.mode`."""
    return MODES[name]


def mode_of(columns: Collection[str]) -> TableMode:
    """Return the mode of a table that has ``columns``; a table without any mode's own columns is a mirror."""
    found = (one for one in MODES.values() if one.own_columns and all(name in columns for name in one.own_columns))
    return next(found, MIRROR)
