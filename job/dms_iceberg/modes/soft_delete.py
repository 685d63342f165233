"""Mode ``soft_delete``: deleted rows stay, marked. A key's newest row and its newest change are each replaced only by a newer one. Pure."""

from collections.abc import Sequence

from dms_iceberg.modes.metadata_columns import Metadata
from dms_iceberg.modes.statement import MergeSource
from dms_iceberg.modes.table_mode import TableMode, Truncate
from dms_iceberg.sql.cdc_columns import COMMITTED_AT, DELETE, DELETED, DELETED_AT, OP, POSITION, ROW_COMMITTED_AT, ROW_OP, ROW_POSITION
from dms_iceberg.sql.quoting import quote

IN_TABLE = f"{ROW_POSITION} IS NOT NULL"
"""SQL that is true for keys with a known row, deleted or not."""


def soft_delete_sql(target: str, source: MergeSource, key: Sequence[str], values: Sequence[str], *, compare: bool) -> str:
    """Return the MERGE of the states of a batch's keys (`state_row_select`).

    Args:
        target: quoted name of the table.
        source: the states.
        key: silver key columns.
        values: the other silver columns.
        compare: the batch may have positions below the table's high-water position, so rows must be compared one by one.

    A delete of a key without any known row inserts nothing.
    """
    on, rewrite = source.on([quote(name) for name in key]), source.rewrite
    row = [*(quote(c) for c in (*key, *values)), ROW_POSITION, OP, COMMITTED_AT]
    event = [POSITION, DELETED, DELETED_AT]
    newer_row = f"s.{ROW_POSITION} > t.{ROW_POSITION}" if compare else f"s.{ROW_POSITION} IS NOT NULL"
    newer_event = f" AND s.{POSITION} > t.{POSITION}" if compare else ""
    only_row = f"WHEN MATCHED AND {newer_row} THEN UPDATE SET {_assigned(row)} " if compare else ""
    again = f"WHEN MATCHED AND s.{rewrite} THEN UPDATE SET {_assigned([*row, *event])} " if rewrite is not None else ""
    return (
        f"MERGE INTO {target} t USING {source.view} s ON {on} {again}"
        f"WHEN MATCHED AND {newer_row}{newer_event} THEN UPDATE SET {_assigned([*row, *event])} "
        f"{only_row}"
        f"WHEN MATCHED{newer_event} THEN UPDATE SET {_assigned(event)} "
        f"WHEN NOT MATCHED AND s.{ROW_POSITION} IS NOT NULL THEN INSERT ({', '.join([*row, *event])}) "
        f"VALUES ({', '.join(f's.{c}' for c in (*row, *event))})"
    )


def state_row_select(columns: Sequence[str]) -> list[str]:
    """Select list over collapsed keys: the columns of the table's rows; ``columns`` are the silver columns."""
    return [
        *(quote(name) for name in columns),
        ROW_POSITION,
        f"{ROW_OP} AS {OP}",
        f"{ROW_COMMITTED_AT} AS {COMMITTED_AT}",
        POSITION,
        f"{DELETE} AS {DELETED}",
        f"CASE WHEN {DELETE} THEN {COMMITTED_AT} END AS {DELETED_AT}",
    ]


def _assigned(columns: Sequence[str]) -> str:
    return ", ".join(f"t.{column} = s.{column}" for column in columns)


def _truncate_sql(name: str, ends: str, position: str, time: str) -> str:
    return f"UPDATE {name} SET {POSITION} = {position}, {DELETED} = true, {DELETED_AT} = {time} WHERE {ends}"


SOFT_DELETE = TableMode(
    name="soft_delete",
    own_columns={
        ROW_POSITION: Metadata("string", "place of the change that the row's values are from; before _cdc_position once it is deleted"),
        DELETED: Metadata("boolean", "whether the row is deleted at the source, or has left the filter"),
        DELETED_AT: Metadata("timestamp", "commit time of the change that deleted the row; NULL while it is there"),
    },
    mark=DELETED,
    present=f"NOT {DELETED}",
    live=f"CAST(NOT coalesce({DELETED}, false) AS int)",
    states_select=state_row_select,
    inserted=IN_TABLE,
    merge_sql=soft_delete_sql,
    direct_select=state_row_select,
    switch={ROW_POSITION: POSITION, DELETED: "false"},
    truncate=Truncate(lambda position, _: f"{POSITION} < {position} AND NOT {DELETED}", _truncate_sql),
    keeps_deleted=True,
)
