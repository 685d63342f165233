"""The MERGE of ``history``: key and position identify a version. Pure."""

from collections.abc import Sequence

from dms_iceberg.modes.statement import MergeSource
from dms_iceberg.sql.cdc_columns import COMMITTED_AT, DELETE_POSITION, IS_CURRENT, OP, POSITION, STREAM, VALID_FROM, VALID_TO
from dms_iceberg.sql.quoting import quote

ACTION = "_cdc_action"
SPAN_COLUMNS = (VALID_FROM, VALID_TO, IS_CURRENT, DELETE_POSITION)


def version_columns(key: Sequence[str], values: Sequence[str]) -> list[str]:
    """Return the quoted columns of a table of mode ``history``."""
    return [*map(quote, (*key, *values)), POSITION, OP, COMMITTED_AT, STREAM, *SPAN_COLUMNS]


def history_sql(target: str, source: MergeSource, key: Sequence[str], values: Sequence[str]) -> str:
    """Return the MERGE of versions that differ from the table's; key and position identify a version.

    Args:
        target: quoted name of the table.
        source: the rows of `version_select`, only those with an `ACTION`.
        key: silver key columns.
        values: the other silver columns.
    """
    columns = version_columns(key, values)
    return (
        f"MERGE INTO {target} t USING {source.view} s ON {source.on([*(quote(name) for name in key), POSITION])} "
        f"WHEN MATCHED AND s.{ACTION} = 'remove' THEN DELETE "
        f"WHEN MATCHED THEN UPDATE SET {', '.join(f't.{c} = s.{c}' for c in columns)} "
        f"WHEN NOT MATCHED THEN INSERT ({', '.join(columns)}) VALUES ({', '.join(f's.{c}' for c in columns)})"
    )
