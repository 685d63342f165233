"""Mode ``append``: every change is a row, once. Pure."""

from dms_iceberg.modes.metadata_columns import STREAM_PLACE, Metadata
from dms_iceberg.modes.table_mode import TableMode
from dms_iceberg.sql.cdc_columns import KEY_BEFORE, OP, OP_TRUNCATE, STREAM
from dms_iceberg.sql.quoting import string_literal

NEW = "_cdc_new"
"""Whether the table lacks a change of a batch."""


APPEND = TableMode(
    name="append",
    own_columns={
        STREAM: STREAM_PLACE,
        KEY_BEFORE: Metadata("string", "the key that the row had before this change of it, as JSON; NULL where it stayed"),
    },
    live="0",
    single="0",
    # A delete has only its key, and a truncate nothing, whenever they are merged.
    has_values=f"{OP} NOT IN ('D', {string_literal(OP_TRUNCATE)})",
    written=NEW,
    merge_sql=None,
    truncate=None,
    is_log=True,
    keeps_every_change=True,
)
