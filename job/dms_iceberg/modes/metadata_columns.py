"""The columns that a silver table of any mode has beside the source's own: names, types, comments. Pure."""

from collections.abc import Iterable, Mapping, Sequence

import attrs

from dms_iceberg.sql.cdc_columns import COMMITTED_AT, OP, POSITION
from dms_iceberg.sql.quoting import quote


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

STREAM_PLACE = Metadata("string", "place of the change in the source's own log; NULL where the files do not tell")
"""The column of modes that recognise a change which DMS writes again."""


def row_columns(columns: Sequence[str], own: Iterable[str] = ()) -> list[str]:
    """Return the quoted columns of a table, metadata columns last; ``columns`` are the silver columns, ``own`` those of its mode."""
    return [*map(quote, columns), *METADATA_COLUMNS, *own]
