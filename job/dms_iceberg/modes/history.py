"""Mode ``history``: a row is a version, which key and position identify. Pure."""

from collections.abc import Sequence

from dms_iceberg.modes.metadata_columns import STREAM_PLACE, Metadata, row_columns
from dms_iceberg.modes.statement import MergeSource
from dms_iceberg.modes.table_mode import TableMode, Truncate
from dms_iceberg.sql.cdc_columns import COMMITTED_AT, DELETE_POSITION, IS_CURRENT, POSITION, STREAM, VALID_FROM, VALID_TO
from dms_iceberg.sql.quoting import quote

ACTION = "_cdc_action"
SPAN_COLUMNS = (VALID_FROM, VALID_TO, IS_CURRENT, DELETE_POSITION)
_OWN_COLUMNS = {
    STREAM: STREAM_PLACE,
    VALID_FROM: Metadata("timestamp", "commit time of the change that made this version; never before the end of the one before"),
    VALID_TO: Metadata("timestamp", "when this version ended, exclusive; NULL while it is the current one"),
    IS_CURRENT: Metadata("boolean", "whether this version is the row at the source now"),
    DELETE_POSITION: Metadata("string", "place of the change that deleted the row at the end of this version; NULL otherwise"),
}


def history_sql(target: str, source: MergeSource, key: Sequence[str], values: Sequence[str], *, compare: bool = False) -> str:
    """Return the MERGE of versions that differ from the table's; key and position identify a version.

    Args:
        target: quoted name of the table.
        source: the rows of `version_select`, only those with an `ACTION`.
        key: silver key columns.
        values: the other silver columns.
        compare: of no effect, as the versions were compared with those of the table when they were computed.
    """
    columns = row_columns([*key, *values], _OWN_COLUMNS)
    return (
        f"MERGE INTO {target} t USING {source.view} s ON {source.on([*(quote(name) for name in key), POSITION])} "
        f"WHEN MATCHED AND s.{ACTION} = 'remove' THEN DELETE "
        f"WHEN MATCHED THEN UPDATE SET {', '.join(f't.{c} = s.{c}' for c in columns)} "
        f"WHEN NOT MATCHED THEN INSERT ({', '.join(columns)}) VALUES ({', '.join(f's.{c}' for c in columns)})"
    )


def _truncated(position: str, time: str) -> str:
    # A next version or a delete after the truncate applied to a table that no longer had the row.
    return f"{POSITION} < {position} AND coalesce({DELETE_POSITION} > {position}, {IS_CURRENT} OR {VALID_TO} >= {time})"


def _truncate_sql(name: str, ends: str, position: str, time: str) -> str:
    ended = f"{VALID_TO} = greatest({VALID_FROM}, {time}), {IS_CURRENT} = false, {DELETE_POSITION} = {position}"
    return f"UPDATE {name} SET {ended} WHERE {ends}"


HISTORY = TableMode(
    name="history",
    own_columns=_OWN_COLUMNS,
    mark=IS_CURRENT,
    present=IS_CURRENT,
    live=f"CAST({IS_CURRENT} AS int)",
    single=f"CAST({IS_CURRENT} AS int)",
    written=f"{ACTION} IS NOT NULL",
    merge_sql=history_sql,
    switch={VALID_FROM: COMMITTED_AT, IS_CURRENT: "true"},
    truncate=Truncate(_truncated, _truncate_sql),
    has_versions=True,
    keeps_every_change=True,
)
