"""Computes the versions of mode ``history`` from a key's events. SQL text; `history` runs it, one step after the other.

An event is a change from the view of one silver key: from then on it has a row, or none. Events come from the batch, from older files if
the batch is late, and from the table: each version is the event that began it, and its end is an event if a delete ended it. So nothing
depends on the order of arrival: all known events of a key are put in order, and the resulting versions are compared with the table's.

Times never go back: a version begins no earlier than the one before it ended, whatever the source's clock did.
"""

from collections.abc import Mapping, Sequence

import attrs

from dms_iceberg.changes.identity import file_sql, identity_sql
from dms_iceberg.merge.collapse import deletes_sql
from dms_iceberg.modes.history import ACTION, SPAN_COLUMNS
from dms_iceberg.sql.cdc_columns import (
    COMMITTED_AT,
    CONTEXT,
    DELETE_POSITION,
    FILTERED,
    IDENTITY,
    IN_QUARANTINE,
    IS_CURRENT,
    OLD_KEY,
    OP,
    POSITION,
    RANK,
    ROW,
    STREAM,
    VALID_FROM,
    VALID_TO,
)
from dms_iceberg.sql.json_text import TIMES, options_sql
from dms_iceberg.sql.quoting import quote

VOID = "_cdc_void"
"""True for a change without an effect on its key (`crowding`), and for the version that it began."""
_GONE, _STORED, _SPAN, _COUNT, _KNOWN, _FILE = "_cdc_gone", "_cdc_stored", "_cdc_span", "_cdc_count", "_cdc_known", "_cdc_of_file"
_CHOICE, _KEPT, _EFFECTIVE, _PREVIOUS, _NEXT = "_cdc_choice", "_cdc_kept", "_cdc_effective", "_cdc_previous", "_cdc_next"
_SPAN_TYPE = f"struct<{VALID_FROM}: timestamp, {VALID_TO}: timestamp, {IS_CURRENT}: boolean, {DELETE_POSITION}: string, {STREAM}: string>"


def change_events(key: Sequence[str], values: Sequence[str]) -> list[str]:
    """Select list over cleaned, usable changes with `CONTEXT` and `IN_QUARANTINE`: their events."""
    gone = deletes_sql()
    return [
        *map(quote, key),
        *(f"CASE WHEN NOT ({gone}) THEN {quote(name)} END AS {quote(name)}" for name in values),
        f"CASE WHEN {gone} THEN 'D' ELSE {OP} END AS {OP}",
        POSITION,
        COMMITTED_AT,
        STREAM,
        f"({gone}) AS {_GONE}",
        OLD_KEY,
        ROW,
        f"CASE WHEN NOT {CONTEXT} AND {OLD_KEY} = 0 AND NOT {FILTERED} THEN 1 ELSE 0 END AS {_COUNT}",
        f"{CONTEXT} AND NOT {IN_QUARANTINE} AS {_KNOWN}",
        IN_QUARANTINE,
        f"false AS {_STORED}",
        f"CAST(NULL AS {_SPAN_TYPE}) AS {_SPAN}",
        f"false AS {VOID}",
    ]


def version_events(key: Sequence[str], values: Sequence[str]) -> list[str]:
    """Select list over the table's rows: the event that began each version."""
    return [
        *map(quote, (*key, *values)),
        OP,
        POSITION,
        COMMITTED_AT,
        STREAM,
        f"false AS {_GONE}",
        *_stored(),
        f"struct({', '.join((*SPAN_COLUMNS, STREAM))}) AS {_SPAN}",
        f"false AS {VOID}",
    ]


def end_events(key: Sequence[str], values: Sequence[str]) -> list[str]:
    """Select list over rows of the table that have a `DELETE_POSITION`: the event that ended each version."""
    return [
        *map(quote, key),
        *(f"CASE WHEN false THEN {quote(name)} END AS {quote(name)}" for name in values),
        f"'D' AS {OP}",
        f"{DELETE_POSITION} AS {POSITION}",
        f"{VALID_TO} AS {COMMITTED_AT}",
        f"CAST(NULL AS string) AS {STREAM}",
        f"true AS {_GONE}",
        *_stored(),
        f"CAST(NULL AS {_SPAN_TYPE}) AS {_SPAN}",
        f"false AS {VOID}",
    ]


def _stored() -> list[str]:
    return [f"0 AS {OLD_KEY}", f"0L AS {ROW}", f"0 AS {_COUNT}", f"true AS {_KNOWN}", f"false AS {IN_QUARANTINE}", f"true AS {_STORED}"]


@attrs.frozen
class Step:
    """Columns to add or replace, all at once, and then a condition on the rows to keep (None for all)."""

    columns: Mapping[str, str]
    where: str | None = None


def steps(
    key: Sequence[str], values: Sequence[str], tracked: Sequence[str], load: int, added: Mapping[str, str], *, whole: bool
) -> list[Step]:
    """Return the steps that compute versions from events.

    Args:
        key: silver key columns.
        values: the other silver columns.
        tracked: columns whose new value begins a new version; if empty, every change begins one.
        load: number of the load.
        added: see `identity_sql`.
        whole: the events have all versions of their keys, not only those that a batch in order needs.
    """
    keys = ", ".join(map(quote, key))
    return [
        _one_for_each_position(keys),
        Step({IDENTITY: identity_sql([*key, *values], load, added), _FILE: file_sql(load)}),
        # Counted from the end: DMS may repeat only the later part of a file's changes.
        Step({RANK: f"row_number() OVER (PARTITION BY {keys}, {IDENTITY}, {_FILE} ORDER BY {POSITION} DESC)"}),
        _last_writing(keys),
        *_effective(keys, tracked),
        *_spans(keys, whole=whole),
        _actions(),
    ]


def _one_for_each_position(keys: str) -> Step:
    """Keep one event per position: a version of the table before the change in a file, but for a delete the file, which has more."""
    same = f"PARTITION BY {keys}, {POSITION}"
    preference = f"CASE WHEN {IN_QUARANTINE} THEN 1 WHEN NOT {_STORED} THEN 2 WHEN {_GONE} THEN 0 ELSE 3 END"
    preferred = f"{preference} DESC, {OLD_KEY}, {ROW} DESC"
    columns = {
        _CHOICE: f"row_number() OVER ({same} ORDER BY {preferred})",
        STREAM: f"coalesce({STREAM}, max({STREAM}) OVER ({same}))",
        _COUNT: f"sum({_COUNT}) OVER ({same})",
        _KNOWN: f"max({_KNOWN}) OVER ({same})",
        IN_QUARANTINE: f"min({IN_QUARANTINE}) OVER ({same})",
    }
    return Step(columns, f"{_CHOICE} = 1")


def _last_writing(keys: str) -> Step:
    """Of several writings of a change the last one counts, as in a mirror: in the source's order it is after all changes before it.

    A last writing that is in quarantine determines the place as well, if the change itself is merged by another writing. Other changes of
    that file may count by their last writings; without it, the change would be placed before them.
    """
    same = f"PARTITION BY {keys}, {IDENTITY}, {RANK}"
    no_effect = f"min({IN_QUARANTINE} OR {VOID}) OVER ({same})"
    columns = {
        _KEPT: f"NOT {VOID} AND NOT {no_effect} AND {POSITION} = max(CASE WHEN NOT {VOID} THEN {POSITION} END) OVER ({same})",
        _COUNT: f"sum({_COUNT}) OVER ({same})",
        _KNOWN: f"max({_KNOWN}) OVER ({same})",
    }
    return Step(columns, f"{_KEPT} OR {_SPAN} IS NOT NULL")


def _effective(keys: str, tracked: Sequence[str]) -> list[Step]:
    """An event has an effect if it begins a row, changes tracked columns of a row, or ends a row."""
    content = f"to_json(struct({', '.join(map(quote, tracked))}), {options_sql(TIMES)})" if tracked else "''"
    before = f"lag(struct({_GONE} AS gone, {content} AS content)) OVER (PARTITION BY {keys}, {_KEPT} ORDER BY {POSITION})"
    there = f"coalesce(NOT {_PREVIOUS}.gone, false)"
    again = f"{there} AND {_PREVIOUS}.content = {content}" if tracked else "false"
    return [Step({_PREVIOUS: before}), Step({_EFFECTIVE: f"{_KEPT} AND CASE WHEN {_GONE} THEN {there} ELSE NOT ({again}) END"})]


def _spans(keys: str, *, whole: bool) -> list[Step]:
    in_order = f"PARTITION BY {keys}, {_EFFECTIVE} ORDER BY {POSITION}"
    # A version of the table already begins after all versions before it.
    begins = COMMITTED_AT if whole else f"greatest({COMMITTED_AT}, {_SPAN}.{VALID_FROM})"
    until_now = "ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW"
    following = f"lead(struct({VALID_FROM} AS at, {POSITION} AS position, {_GONE} AS gone)) OVER ({in_order})"
    ends = {
        VALID_TO: f"{_NEXT}.at",
        IS_CURRENT: f"{_NEXT} IS NULL",
        DELETE_POSITION: f"CASE WHEN {_NEXT}.gone THEN {_NEXT}.position END",
    }
    return [Step({VALID_FROM: f"max({begins}) OVER ({in_order} {until_now})"}), Step({_NEXT: following}), Step(ends)]


def _actions() -> Step:
    version = f"{_EFFECTIVE} AND NOT {_GONE}"
    same = f"struct({', '.join((*SPAN_COLUMNS, STREAM))}) <=> {_SPAN}"
    action = f"CASE WHEN {_SPAN} IS NOT NULL AND NOT ({version}) THEN 'remove' WHEN {version} AND NOT ({same}) THEN 'write' END"
    return Step({ACTION: action})


def version_select(key: Sequence[str], values: Sequence[str]) -> list[str]:
    """Select list over the result of `steps`: the table's columns, `ACTION`, and what `version_counts` counts."""
    return [
        *map(quote, (*key, *values)),
        *(POSITION, OP, COMMITTED_AT),
        STREAM,
        *(*SPAN_COLUMNS, ACTION),
        f"CASE WHEN {_KEPT} THEN {_COUNT} ELSE 0 END AS {_COUNT}",
        _KNOWN,
    ]


def version_counts() -> list[str]:
    """Aggregates over `version_select`: rows of the batch that are new, repeated in the batch, or known already, and versions to write."""
    return [
        f"count_if({_COUNT} > 0 AND NOT {_KNOWN}) AS applied",
        f"coalesce(sum(CASE WHEN NOT {_KNOWN} AND {_COUNT} > 0 THEN {_COUNT} - 1 END), 0) AS superseded",
        f"coalesce(sum(CASE WHEN {_KNOWN} THEN {_COUNT} END), 0) AS stale",
        f"count({ACTION}) AS actions",
    ]
