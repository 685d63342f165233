"""The latest change of each key, and the row counts of the batch, in one aggregation.

Spark plans `max_by` over a struct as a sort aggregate, which is still far faster than the usual ``row_number`` window: it reduces every
partition before the shuffle. Counts are aggregates as well, not accumulators, which would count a retried task twice.
"""

from collections.abc import Sequence

from dms_iceberg.bronze.position import is_named_behind_utc_sql
from dms_iceberg.sql.cdc_columns import (
    BATCH_POSITION,
    COMMITTED_AT,
    CONTEXT,
    DELETE,
    DISORDER,
    FAILED_RULE,
    FILE_TIME,
    FILTERED,
    HIGH,
    LATEST,
    LOW,
    N_FILTERED,
    N_GOOD,
    N_QUARANTINED,
    N_ROWS,
    OLD_KEY,
    OP,
    POSITION,
    PROBLEM,
    ROW,
)
from dms_iceberg.sql.quoting import quote

USABLE = f"{PROBLEM} IS NULL"
# Two halves of a key change have one position; where both map to the same silver key, the row itself comes after the delete.
ORDER = f"CASE WHEN {USABLE} THEN struct({POSITION}, 1 - {OLD_KEY}, {ROW}) END"
# Rows that are read again from older files for comparison are not counted, nor is the delete half of a key change.
_COUNTED = f"{OLD_KEY} = 0"


def deletes_sql() -> str:
    """SQL that is true for changes after which the table does not have the key: deletes, old keys, rows outside the filter."""
    return f"{OP} = 'D' OR {FILTERED}"


def latest_aggregates(value_columns: Sequence[str], *, with_context: bool) -> list[str]:
    """Aggregates over cleaned changes grouped by key: the latest usable change as the struct `LATEST`, and counts.

    Args:
        value_columns: silver columns that are not part of the key.
        with_context: rows carry `CONTEXT`, true for those that are read again from older files.
    """
    batch = f"NOT {CONTEXT}" if with_context else "true"
    counted = f"{_COUNTED} AND {batch}"
    good = f"{counted} AND {USABLE} AND NOT {FILTERED}"
    values = ", ".join(
        [
            *(quote(name) for name in value_columns),
            *([CONTEXT] if with_context else []),
            OP,
            POSITION,
            COMMITTED_AT,
            FILE_TIME,
            f"({deletes_sql()}) AS {DELETE}",
        ]
    )
    usable = f"{batch} AND {USABLE}"
    return [
        f"max_by(struct({values}), {ORDER}) AS {LATEST}",
        f"count_if({counted}) AS {N_ROWS}",
        f"count_if({counted} AND {PROBLEM} IS NOT NULL) AS {N_QUARANTINED}",
        f"count_if({counted} AND {USABLE} AND {FILTERED}) AS {N_FILTERED}",
        f"count_if({good}) AS {N_GOOD}",
        f"min(CASE WHEN {usable} THEN {POSITION} END) AS {LOW}",
        f"max(CASE WHEN {usable} THEN {POSITION} END) AS {HIGH}",
        # The batch's own newest row that is neither filtered nor the delete half of a key change, to compare with the latest change.
        f"max(CASE WHEN {good} THEN {POSITION} END) AS {BATCH_POSITION}",
        f"max(CASE WHEN {usable} THEN {FILE_TIME} END) AS {FILE_TIME}",
        # Rows merged before a rule was declared must not stop a later batch.
        f"max(CASE WHEN {batch} THEN {FAILED_RULE} END) AS {FAILED_RULE}",
    ]


def latest_select(key_columns: Sequence[str], value_columns: Sequence[str], *, with_context: bool, known: str | None = None) -> list[str]:
    """Select list over the groups: silver columns, the ``_cdc_`` columns of the latest change, and the counts.

    Args:
        key_columns: silver key columns.
        value_columns: the other silver columns.
        with_context: see `latest_aggregates`.
        known: SQL of `CONTEXT`, where that of the latest change does not show whether there is something new to merge.
    """
    of_latest = f"{LATEST}.{CONTEXT}" if with_context else "false"
    return [
        *(quote(name) for name in key_columns),
        *(f"{LATEST}.{quote(name)} AS {quote(name)}" for name in value_columns),
        *(f"{LATEST}.{name} AS {name}" for name in (OP, POSITION, COMMITTED_AT, DELETE)),
        f"{known or of_latest} AS {CONTEXT}",
        f"coalesce({FILE_TIME} > {LATEST}.{FILE_TIME}, false) AS {DISORDER}",
        *(N_ROWS, N_QUARANTINED, N_FILTERED, N_GOOD, LOW, HIGH, BATCH_POSITION, FAILED_RULE),
    ]


def row_count_aggregates(key_columns: Sequence[str], stale: str = "false") -> list[str]:
    """Aggregates over the latest changes of all keys: row counts, the range of positions, and each key column's range as text.

    Args:
        key_columns: silver key columns.
        stale: SQL that is true for a key whose newest change in the batch is older than what the table has.
    """
    # Of each key one change counts as applied or stale, the newest of the batch. A change is superseded if it is older than that one, or
    # than a filtered row or the delete half of a key change.
    newest = f"{BATCH_POSITION} IS NOT NULL AND {BATCH_POSITION} = {HIGH}"
    merged = f"{POSITION} IS NOT NULL AND NOT {CONTEXT}"
    ranges = key_ends(key_columns, merged)
    return [
        f"coalesce(sum({N_ROWS}), 0) AS rows_read",
        f"coalesce(sum({N_QUARANTINED}), 0) AS quarantined",
        f"coalesce(sum({N_FILTERED}), 0) AS filtered",
        f"coalesce(sum({N_GOOD}), 0) AS good",
        f"count_if({newest} AND NOT ({stale})) AS applied",
        f"count_if({newest} AND ({stale})) AS stale",
        f"count_if({merged}) AS latest",
        f"coalesce(min({LOW}), '') AS low",
        f"coalesce(max({HIGH}), '') AS high",
        f"count_if({DISORDER}) AS disordered_keys",
        f"max({FAILED_RULE}) AS failed_rule",
        f"coalesce(bool_or({is_named_behind_utc_sql(HIGH)}), false) AS named_behind_utc",
        f"percentile_approx(CASE WHEN {N_GOOD} > 0 THEN unix_micros({COMMITTED_AT}) END, array(0.05D, 0.5D, 1.0D), 1000) AS commit_micros",
        *ranges,
    ]


def key_ends(key_columns: Sequence[str], condition: str = "true") -> list[str]:
    """Return aggregates for the lowest and highest value of each key column, as text, over rows for which ``condition`` is true."""
    ranges = []
    for number, name in enumerate(key_columns):
        value = f"CASE WHEN {condition} THEN {quote(name)} END"
        ranges += [f"CAST(min({value}) AS string) AS _cdc_min_{number}", f"CAST(max({value}) AS string) AS _cdc_max_{number}"]
    return ranges
