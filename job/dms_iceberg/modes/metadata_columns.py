"""The columns that a silver table has beside the source's own, by mode: names, types, comments. Pure."""

from collections.abc import Collection, Mapping

import attrs

from dms_iceberg.config.model import Mode
from dms_iceberg.sql.cdc_columns import (
    COMMITTED_AT,
    DELETE_POSITION,
    DELETED,
    DELETED_AT,
    IS_CURRENT,
    KEY_BEFORE,
    OP,
    POSITION,
    ROW_POSITION,
    STREAM,
    VALID_FROM,
    VALID_TO,
)


@attrs.frozen
class Metadata:
    """A metadata column's Spark type and its comment in the catalog."""

    type: str
    comment: str


METADATA_COLUMNS: Mapping[str, Metadata] = {
    POSITION: Metadata("string", "place of the row's last change in the order of changes; holds the bronze file's time or number"),
    OP: Metadata("string", "operation of the row's last change: I or U"),
    COMMITTED_AT: Metadata(
        "timestamp",
        "commit time of the row's last change at the source (full-load rows: time of the load); close time of the change's file where "
        "files have neither commit time nor sequence",
    ),
}
"""Metadata columns that every table has: position, last operation (I or U), and the source's commit time."""

_STREAM = Metadata("string", "place of the change in the source's own log; NULL where the files do not tell")

_OWN: Mapping[Mode, Mapping[str, Metadata]] = {
    Mode.MIRROR: {},
    Mode.SOFT_DELETE: {
        ROW_POSITION: Metadata("string", "place of the change that the row's values are from; before _cdc_position once it is deleted"),
        DELETED: Metadata("boolean", "whether the row is deleted at the source, or has left the filter"),
        DELETED_AT: Metadata("timestamp", "commit time of the change that deleted the row; NULL while it is there"),
    },
    Mode.HISTORY: {
        STREAM: _STREAM,
        VALID_FROM: Metadata("timestamp", "commit time of the change that made this version; never before the end of the one before"),
        VALID_TO: Metadata("timestamp", "when this version ended, exclusive; NULL while it is the current one"),
        IS_CURRENT: Metadata("boolean", "whether this version is the row at the source now"),
        DELETE_POSITION: Metadata("string", "place of the change that deleted the row at the end of this version; NULL otherwise"),
    },
    Mode.APPEND: {
        STREAM: _STREAM,
        KEY_BEFORE: Metadata("string", "the key that the row had before this change of it, as JSON; NULL where it stayed"),
    },
}


def own_columns(mode: Mode) -> Mapping[str, Metadata]:
    """Return the metadata columns that only tables of this mode have."""
    return _OWN[mode]


def metadata_columns(mode: Mode) -> Mapping[str, Metadata]:
    """Return all metadata columns of a table of this mode, in their order."""
    return {**METADATA_COLUMNS, **_OWN[mode]}


def mode_of(columns: Collection[str]) -> Mode:
    """Return the mode of a table that has ``columns``; a table without any mode's own columns is a mirror."""
    return next((mode for mode, own in _OWN.items() if own and all(name in columns for name in own)), Mode.MIRROR)
