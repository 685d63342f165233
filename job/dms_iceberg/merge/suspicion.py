"""Finds the keys of a batch that may be crowded (`crowding`), by aggregates of the pass that collapses them anyway. SQL text."""

from dms_iceberg.bronze.position import clock_number_sql
from dms_iceberg.progress.arrivals import NO_ARRIVALS, Arrivals
from dms_iceberg.sql.cdc_columns import COMMITTED_AT, MOVED, OLD_KEY, OP, POSITION

ARRIVED_AT, LEFT_AT, MOVED_AT = "_cdc_arrived_at", "_cdc_left_at", "_cdc_moved_at"
N_ARRIVED, N_EVENTS, SPANS = "_cdc_n_arrived", "_cdc_n_events", "_cdc_spans"
SUSPECTS, INSERTED_AT, LEAVES = "_cdc_suspects", "_cdc_inserted_at", "_cdc_leaves"

ARRIVES = f"{OLD_KEY} = 0 AND ({OP} = 'I' OR {MOVED})"
"""SQL over changes that is true where one brings a row to its key."""


def commit_sql(load: int) -> str:
    """SQL of the commit time that the changes of a transaction share, as a number; ``load`` is the number of the load."""
    return f"coalesce(unix_micros({COMMITTED_AT}), {clock_number_sql(POSITION, load)})"


def aggregates(load: int, before: Arrivals = NO_ARRIVALS) -> dict[str, str]:
    """Aggregates over the changes of a key, as input of `suspect_sql` and `figures`.

    Args:
        load: number of the load.
        before: when rows last arrived by changes that are merged.
    """
    at = commit_sql(load)
    return {
        ARRIVED_AT: f"max(CASE WHEN {ARRIVES} THEN {at} END)",
        LEFT_AT: f"min(CASE WHEN {OP} = 'D' THEN {at} END)",
        MOVED_AT: f"max(CASE WHEN {OLD_KEY} = 0 AND {MOVED} THEN {at} END)",
        N_ARRIVED: f"count_if({ARRIVES})",
        N_EVENTS: "count(1)",
        SPANS: f"max({_until(before.moved, at)})",
        LEAVES: f"max({OP} = 'D' AND {_until(before.inserted, at)})",
    }


def _until(time: int | None, at: str) -> str:
    return f"{at} <= {time}L" if time is not None else "false"


def figures() -> dict[str, str]:
    """Aggregates over collapsed keys.

    `SUSPECTS` is the number of keys that may be crowded. `SPANS` is whether a change is not later than the last move of an earlier batch,
    `LEAVES` whether a row leaves not later than the last arrival of an earlier batch: the commit may span both batches. `INSERTED_AT` and
    `MOVED_AT` are when rows last arrived.
    """
    return {
        SUSPECTS: f"count_if({suspect_sql()})",
        SPANS: f"coalesce(max({SPANS}), false)",
        LEAVES: f"coalesce(max({LEAVES}), false)",
        INSERTED_AT: f"max({ARRIVED_AT})",
        MOVED_AT: f"max({MOVED_AT})",
    }


def suspect_sql() -> str:
    """SQL over collapsed keys that is true where a key may be crowded: false for nearly all keys, and never for one that is.

    It is true if a row has left the key no later than the commit in which one arrived, or if a row came from another key and is not the
    only change. A single arrival that is the newest change is not enough: nothing left after it.
    """
    newest_arrives = f"{N_ARRIVED} = 1 AND coalesce({OP} <> 'D', false)"
    left = f"coalesce({ARRIVED_AT} >= {LEFT_AT}, false) AND NOT ({newest_arrives})"
    return f"({left} OR {MOVED_AT} IS NOT NULL AND {N_EVENTS} > 1 OR coalesce({SPANS}, false))"
