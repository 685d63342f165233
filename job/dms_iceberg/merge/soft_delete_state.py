"""The state of a key in mode ``soft_delete``: its newest row and its newest change. SQL text; `collapse_frames.collapse` runs it.

The newest row has the values of the newest change that wrote the row. The newest change is of any kind, and says whether the row exists.
Both are a maximum over positions, so neither depends on the order in which changes arrive: an insert and its delete leave the same marked
row in one batch, in two, and in reverse order.
"""

from collections.abc import Sequence

from dms_iceberg.merge.collapse import ORDER, USABLE, deletes_sql, latest_aggregates, latest_select
from dms_iceberg.sql.cdc_columns import (
    BATCH_POSITION,
    COMMITTED_AT,
    CONTEXT,
    HIGH,
    LATEST,
    OP,
    POSITION,
    ROW_COMMITTED_AT,
    ROW_LATEST,
    ROW_OP,
    ROW_POSITION,
)
from dms_iceberg.sql.quoting import quote

_ROW_CONTEXT, _EVENT_CONTEXT = "_cdc_row_context", "_cdc_event_context"


def state_aggregates(value_columns: Sequence[str], *, with_context: bool) -> list[str]:
    """Aggregates over cleaned changes grouped by key: those of `latest_aggregates`, without values, and `ROW_LATEST`.

    `ROW_LATEST` is the newest change that is no delete, with its values.
    """
    metadata = [POSITION, OP, COMMITTED_AT, *([CONTEXT] if with_context else [])]
    values = ", ".join([*(quote(name) for name in value_columns), *metadata])
    return [
        *latest_aggregates([], with_context=with_context),
        f"max_by(struct({values}), CASE WHEN {USABLE} AND NOT ({deletes_sql()}) THEN {ORDER} END) AS {ROW_LATEST}",
    ]


def state_select(key_columns: Sequence[str], value_columns: Sequence[str], *, with_context: bool) -> list[str]:
    """Select list of `latest_select`, with the values of `ROW_LATEST`, and its position, operation and commit time.

    `CONTEXT` is true for keys for which neither the row nor the change comes from this batch.
    """
    event = f"{LATEST}.{CONTEXT}" if with_context else "false"
    row = f"coalesce({ROW_LATEST}.{CONTEXT}, true)" if with_context else f"{ROW_LATEST} IS NULL"
    return [
        *latest_select(key_columns, [], with_context=with_context, known=f"({event} AND {row})"),
        *(f"{ROW_LATEST}.{quote(name)} AS {quote(name)}" for name in value_columns),
        f"{ROW_LATEST}.{POSITION} AS {ROW_POSITION}",
        f"{ROW_LATEST}.{OP} AS {ROW_OP}",
        f"{ROW_LATEST}.{COMMITTED_AT} AS {ROW_COMMITTED_AT}",
        f"{row} AS {_ROW_CONTEXT}",
        f"{event} AS {_EVENT_CONTEXT}",
    ]


def loses_sql(stored_position: str, stored_row_position: str) -> str:
    """SQL that is true for a key whose newest change in the batch changes neither part of its state.

    Args:
        stored_position: the table's position of the key's newest change, NULL without a row.
        stored_row_position: the table's position of the row's values.
    """
    event = f"{POSITION} = {BATCH_POSITION} AND NOT {_EVENT_CONTEXT} AND coalesce({stored_position} < {POSITION}, true)"
    row = f"{ROW_POSITION} = {BATCH_POSITION} AND NOT {_ROW_CONTEXT} AND coalesce({stored_row_position} < {ROW_POSITION}, true)"
    return f"{BATCH_POSITION} = {HIGH} AND NOT ({event}) AND NOT coalesce({row}, false)"
