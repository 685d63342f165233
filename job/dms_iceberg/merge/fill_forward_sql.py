"""SQL text that fills columns which updates leave out with the last supplied value of their row. Pure; `fill_forward` runs it.

A row's *segment* is the run of changes of one key from its beginning (an insert, a row that moved to this key, or the table's row) to its
end (a delete, or a move to another key). Segments joined by changes of key are a *life*: a value may come from anywhere earlier in the
life, and never from outside of it. Table rows and rows in quarantine are events of a life as well.
"""

from collections.abc import Mapping, Sequence
from itertools import starmap

from dms_iceberg.changes.clean import else_problem
from dms_iceberg.sql.cdc_columns import COMMITTED_AT, CONTEXT, FILTERED, KEPT_POSITIONS, LACKS, MOVED, OLD_KEY, OP, POSITION, PROBLEM, ROW
from dms_iceberg.sql.quoting import quote, string_literal
from dms_iceberg.sql.value_text import comparable

FRESH = "_cdc_fresh"
KIND = "_cdc_kind"
CHANGE, STORED, REJECTED = "change", "stored", "rejected"
STORED_ROW = "_cdc_stored_row"
SEGMENT, LIFE, PARENT, CHILD = "_cdc_segment", "_cdc_life", "_cdc_parent", "_cdc_child"
Q_OP, Q_POSITION, Q_KEY, Q_REASON = "_cdc_q_op", "_cdc_q_position", "_cdc_q_key", "_cdc_q_reason"
REASON, COMPLETED = "_cdc_reason", "_cdc_completed"
_START, _GONE, _TWIN, _LOST, _BEST = "_cdc_start", "_cdc_gone", "_cdc_twin", "_cdc_lost", "_cdc_best"

# The table's row comes directly after the change that wrote it.
_ORDER = f"{POSITION}, CASE WHEN {KIND} = '{STORED}' THEN 2 ELSE 1 - {OLD_KEY} END, {ROW}"
_SO_FAR = "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
_OWN = f"struct({POSITION}, 1 - {OLD_KEY} AS half, {ROW})"


def stored_select(key: Sequence[str], kept: Sequence[str]) -> list[str]:
    """Select list over the table: its rows as events that supply columns at the positions that the table has for them."""
    values = ", ".join(f"{quote(name)} AS v{number}" for number, name in enumerate(kept))
    return [
        *(quote(name) for name in key),
        f"struct({values}, from_json({KEPT_POSITIONS}, 'map<string,string>') AS positions, {POSITION} AS position) AS {STORED_ROW}",
        f"'U' AS {OP}",
        POSITION,
        f"0 AS {OLD_KEY}",
        f"0L AS {ROW}",
        f"true AS {CONTEXT}",
        f"'{STORED}' AS {KIND}",
    ]


def rejected_select(key: Sequence[str]) -> list[str]:
    """Select list over quarantine rows joined with their keys: events with unknown values."""
    return [
        *(quote(name) for name in key),
        f"coalesce({Q_OP}, 'U') AS {OP}",
        f"{Q_POSITION} AS {POSITION}",
        f"0 AS {OLD_KEY}",
        f"0L AS {ROW}",
        f"true AS {CONTEXT}",
        f"'in quarantine' AS {PROBLEM}",
        f"{Q_REASON} AS {REASON}",
        f"'{REJECTED}' AS {KIND}",
    ]


def completed_select(key: Sequence[str]) -> list[str]:
    """Step before the others, where there are rows in quarantine: `COMPLETED` marks those that no longer hide a value.

    Either the row is read again as a change, which can be completed now. Or it was in quarantine because it could not be completed, and the
    table's row is as new: a late change has completed it since.
    """
    keys = _quoted(key)
    again = f"max({KIND} = '{CHANGE}' AND {OLD_KEY} = 0) OVER (PARTITION BY {keys}, {POSITION})"
    stored = f"max(CASE WHEN {KIND} = '{STORED}' THEN {POSITION} END) OVER (PARTITION BY {keys})"
    completed = f"{REASON} = 'not_supplied' AND {stored} >= {POSITION}"
    return ["*", f"{KIND} = '{REJECTED}' AND ({again} OR coalesce({completed}, false)) AS {COMPLETED}"]


def start_select(key: Sequence[str], values: Mapping[str, str], *, late: bool) -> list[str]:
    """First step: which events begin a segment; in a late batch also whether an older file has the same change.

    Args:
        key: silver key columns.
        values: types of the other columns by name.
        late: the batch is late.
    """
    keys = _quoted(key)
    born = f"coalesce({OP} = 'I', false) OR coalesce({MOVED}, false) AND {OLD_KEY} = 0"
    identity = f"xxhash64({', '.join([*starmap(comparable, values.items()), OP, COMMITTED_AT])})"
    twin = f"max({CONTEXT} AND {KIND} = '{CHANGE}') OVER (PARTITION BY {keys}, {identity})" if late else "false"
    return [
        "*",
        f"CASE WHEN {born} OR coalesce(lag({OP}) OVER (PARTITION BY {keys} ORDER BY {_ORDER}), 'D') = 'D' THEN 1 ELSE 0 END AS {_START}",
        f"{twin} AS {_TWIN}",
    ]


def segment_select(key: Sequence[str]) -> list[str]:
    """Second step: the segment of each event."""
    keys = _quoted(key)
    return ["*", f"struct({keys}, sum({_START}) OVER (PARTITION BY {keys} ORDER BY {_ORDER} {_SO_FAR}) AS number) AS {SEGMENT}"]


def supply_select(kept: Sequence[str]) -> list[str]:
    """Third step, per life: the last supplied value of each column so far, the table's row, and the last merged change of key."""
    supplies = []
    for number, name in enumerate(kept):
        gives = f"{KIND} <> '{STORED}' AND coalesce({OP} <> 'D', true) AND NOT coalesce({LACKS}.{quote(name)}, false)"
        value = f"struct({POSITION} AS position, {quote(name)} AS value, {PROBLEM} IS NOT NULL AS broken, {CONTEXT} AS context)"
        supplies.append(
            f"max_by(CASE WHEN {gives} THEN {value} END, CASE WHEN {gives} THEN {POSITION} END) "
            f"OVER (PARTITION BY {LIFE} ORDER BY {_ORDER} {_SO_FAR}) AS {_supply(number)}"
        )
    return [
        "*",
        *supplies,
        f"max_by({STORED_ROW}, CASE WHEN {KIND} = '{STORED}' THEN {POSITION} END) OVER (PARTITION BY {LIFE}) AS {_stored()}",
        f"max(CASE WHEN {CONTEXT} AND {OLD_KEY} = 1 THEN {POSITION} END) OVER (PARTITION BY {LIFE}) AS {_GONE}",
    ]


def lost_select(kept: Sequence[str]) -> list[str]:
    """Fourth step: why a row cannot be completed, NULL where it can."""
    lost = ", ".join(_lost_sql(number, name) for number, name in enumerate(kept))
    return ["*", f"coalesce({lost}, CAST(NULL AS string)) AS {_LOST}"]


def best_select(key: Sequence[str]) -> list[str]:
    """Fifth step: the newest change of each key that is usable and complete; older changes need not be completed."""
    usable = f"{KIND} = '{CHANGE}' AND {PROBLEM} IS NULL AND NOT ({_needs()})"
    return ["*", f"max(CASE WHEN {usable} THEN {_OWN} END) OVER (PARTITION BY {_quoted(key)}) AS {_BEST}"]


def filled_select(columns: Sequence[str], kept: Sequence[str], *, late: bool) -> list[str]:
    """Last step: the completed columns of the changes, and `FRESH`: whether a value comes from a change of this batch."""
    numbers = {name: number for number, name in enumerate(kept)}
    lacking = " OR ".join(_lacks(name) for name in kept)
    entries = ", ".join(
        f"CASE WHEN {_lacks(name)} THEN struct({string_literal(name)} AS k, {_position_sql(number, name)} AS v) END"
        for name, number in numbers.items()
    )
    positions = f"to_json(map_from_entries(filter(array({entries}), entry -> entry IS NOT NULL)))"
    replaced = {
        **{name: _value_sql(number, name) for name, number in numbers.items()},
        KEPT_POSITIONS: f"CASE WHEN {lacking} THEN {positions} END",
        PROBLEM: _problem_sql(kept, late=late),
    }
    fresh = " OR ".join(f"{_lacks(name)} AND NOT ({_is_stored(number, name)}) AND {_is_new(number)}" for name, number in numbers.items())
    return [
        *(f"{replaced[name]} AS {quote(name)}" if name in replaced else quote(name) for name in columns),
        f"({fresh}) AS {FRESH}",
    ]


def _quoted(names: Sequence[str]) -> str:
    return ", ".join(map(quote, names))


def _supply(number: int) -> str:
    return f"_cdc_supply_{number}"


def _stored() -> str:
    return "_cdc_stored"


def _lacks(name: str) -> str:
    return f"coalesce({LACKS}.{quote(name)}, false)"


def _stored_position(name: str) -> str:
    return f"coalesce({_stored()}.positions[{string_literal(name)}], {_stored()}.position)"


def _is_stored(number: int, name: str) -> str:
    """SQL of whether the table's value is the last supplied one: not newer than the row, and newer than what the batch has."""
    position = _stored_position(name)
    return f"coalesce({position} <= {POSITION} AND ({_supply(number)} IS NULL OR {position} > {_supply(number)}.position), false)"


def _is_new(number: int) -> str:
    return f"coalesce(NOT ({_supply(number)}.context OR {_supply(number)}.broken), false)"


def _value_sql(number: int, name: str) -> str:
    taken = f"CASE WHEN {_is_stored(number, name)} THEN {_stored()}.v{number} ELSE {_supply(number)}.value END"
    return f"CASE WHEN {_lacks(name)} THEN {taken} ELSE {quote(name)} END"


def _position_sql(number: int, name: str) -> str:
    return f"CASE WHEN {_is_stored(number, name)} THEN {_stored_position(name)} ELSE {_supply(number)}.position END"


def _lost_sql(number: int, name: str) -> str:
    none = string_literal(
        f"not_supplied: the update has no value for {name}, and neither the batch nor the table has the row's last one "
        "(it was outside the filter, deleted, or never seen)"
    )
    broken = string_literal(f"not_supplied: the update has no value for {name}, and the change that may have it is in quarantine")
    found = f"CASE WHEN {_supply(number)} IS NULL THEN {none} WHEN {_supply(number)}.broken THEN {broken} END"
    return f"CASE WHEN {_lacks(name)} AND NOT ({_is_stored(number, name)}) THEN {found} END"


def _needs() -> str:
    return f"{_LOST} IS NOT NULL AND {OP} = 'U' AND NOT coalesce({FILTERED}, false)"


def _problem_sql(kept: Sequence[str], *, late: bool) -> str:
    cases = [
        f"WHEN {_needs()} AND ({_BEST} IS NULL OR {_BEST} < {_OWN}) THEN {_LOST}",
    ]
    if late:
        supplies = " OR ".join(f"NOT {_lacks(name)}" for name in kept)
        text = "late_key_change: the row moved to another key in a change that is merged already, and took older values with it"
        cases.append(
            f"WHEN NOT {CONTEXT} AND {OP} <> 'D' AND ({supplies}) AND NOT {_TWIN} AND {_GONE} > {POSITION} THEN {string_literal(text)}"
        )
    return else_problem(cases)
