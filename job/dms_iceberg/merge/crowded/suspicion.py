"""Finds the keys of a batch that may be crowded (`crowding`), by aggregates of the pass that collapses them anyway. SQL text."""

from collections.abc import Mapping
from typing import Any

from dms_iceberg.bronze.position import clock_number_sql, is_load_sql
from dms_iceberg.progress.arrivals import Arrivals
from dms_iceberg.sql.cdc_columns import COMMITTED_AT, MOVED, OLD_KEY, OP, POSITION

ARRIVED_AT, LEFT_AT, MOVED_AT = "_cdc_arrived_at", "_cdc_left_at", "_cdc_moved_at"
N_ARRIVED, N_EVENTS, BEGUN_AT = "_cdc_n_arrived", "_cdc_n_events", "_cdc_begun_at"
SUSPECTS, INSERTED_AT = "_cdc_suspects", "_cdc_inserted_at"

ARRIVES = f"{OLD_KEY} = 0 AND ({OP} = 'I' OR {MOVED})"
"""SQL over changes that is true where one brings a row to its key."""


def commit_sql(load: int) -> str:
    """SQL of the commit time that the changes of a transaction share, as a number; ``load`` is the number of the load.

    A loaded row belongs to no transaction: the time that it may tell is that of its transfer, which may be equal to a commit time. It has
    its position's clock, zero.
    """
    of_change = f"CASE WHEN NOT {is_load_sql(POSITION, load)} THEN unix_micros({COMMITTED_AT}) END"
    return f"coalesce({of_change}, {clock_number_sql(POSITION, load)})"


def aggregates(load: int) -> dict[str, str]:
    """Aggregates over the changes of a key, as input of `suspect_sql` and `figures`.

    They have no literal that differs from batch to batch: the code that Spark generates would be compiled again, and run cold.

    Args:
        load: number of the load.
    """
    at = commit_sql(load)
    return {
        ARRIVED_AT: f"max(CASE WHEN {ARRIVES} THEN {at} END)",
        LEFT_AT: f"min(CASE WHEN {OP} = 'D' THEN {at} END)",
        MOVED_AT: f"max(CASE WHEN {OLD_KEY} = 0 AND {MOVED} THEN {at} END)",
        BEGUN_AT: f"min({at})",
        N_ARRIVED: f"count_if({ARRIVES})",
        N_EVENTS: "count(1)",
    }


def figures(*, by_file: bool = False) -> dict[str, str]:
    """Aggregates over collapsed keys.

    Args:
        by_file: changes have no commit time. A change that is written again then looks like another row that comes to the key, so no key is
            a suspect: each is taken to have one row at a time.

    `SUSPECTS` is the number of keys that may be crowded by changes of the batch alone. `BEGUN_AT` is when its first change was committed,
    `LEFT_AT` when a row first left its key, `INSERTED_AT` and `MOVED_AT` when rows last arrived.
    """
    return {
        SUSPECTS: f"count_if({'false' if by_file else suspect_sql()})",
        BEGUN_AT: f"min({BEGUN_AT})",
        LEFT_AT: f"min({LEFT_AT})",
        INSERTED_AT: f"max({ARRIVED_AT})",
        MOVED_AT: f"max({MOVED_AT})",
    }


def spans(figures: Mapping[str, Any], before: Arrivals) -> bool:
    """Whether a change is not later than the last move of an earlier batch: the commit of the move may span both batches."""
    return _until(figures.get(BEGUN_AT), before.moved)


def leaves(figures: Mapping[str, Any], before: Arrivals) -> bool:
    """Whether a row leaves not later than the last arrival of an earlier batch: the commit of the arrival may span both batches."""
    return _until(figures.get(LEFT_AT), before.inserted)


def _until(first: int | None, time: int | None) -> bool:
    return first is not None and time is not None and first <= time


def spanning_sql(before: Arrivals) -> str:
    """SQL over collapsed keys that is true where `spans` is."""
    return f"coalesce({BEGUN_AT} <= {before.moved}L, false)" if before.moved is not None else "false"


def suspect_sql() -> str:
    """SQL over collapsed keys that is true where a key may be crowded: false for nearly all keys, and never for one that is.

    It is true if a row has left the key no later than the commit in which one arrived, or if a row came from another key and is not the
    only change. A single arrival that is the newest change is not enough: nothing left after it.
    """
    newest_arrives = f"{N_ARRIVED} = 1 AND coalesce({OP} <> 'D', false)"
    left = f"coalesce({ARRIVED_AT} >= {LEFT_AT}, false) AND NOT ({newest_arrives})"
    return f"({left} OR {MOVED_AT} IS NOT NULL AND {N_EVENTS} > 1)"
