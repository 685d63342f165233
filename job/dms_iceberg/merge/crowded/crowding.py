"""Keys that two rows have at once within one commit, and which of the two a change takes away. SQL text; `crowded` runs it.

A source may let two rows share a key within a transaction: uniqueness that is deferred (PostgreSQL) or checked when a statement ends
(Oracle). ``UPDATE t SET id = id + 1`` is written row by row, so row 1 arrives at key 2 before row 2 has left it. By their positions alone,
the leaving of row 2 would remove row 1. A key is *crowded* when a row arrives at it while another is there, in a run of changes with one
commit time. Its changes are played one after the other, and the full before-image identifies the row that leaves (mapping rule
``add-before-image-columns`` with column-filter ``all``; PostgreSQL fills it for tables with REPLICA IDENTITY FULL, and refuses updates of
tables with deferrable keys without that). Where the image does not match exactly one row, the update is quarantined as a whole.

An image is either full (NULL is a value), or has only the columns that changed (Oracle: NULL means unchanged). A row may be the one that
leaves if it equals the image in one of the two readings. An image of key columns alone matches every row.

Whether a key is crowded depends on the source: quarantined and filtered rows count as well. DMS writes changes again that the full load has
already seen. A loaded row does not count if the changes of the run, or of later ones, bring one row more than they take away: a key has one
row at the end of a commit, so the load must be from after it.

No change tells of a truncate, so rows from before one (`era_sql`) do not count for changes from after it.
"""

from collections.abc import Mapping, Sequence

from dms_iceberg.bronze.position import is_load_sql, truncate_position
from dms_iceberg.changes.normalise import ALTERNATIVES, AMBIGUOUS, LEAVING_HALVES
from dms_iceberg.merge.crowded.suspicion import commit_sql
from dms_iceberg.sql.cdc_columns import COMMITTED_AT, CONTEXT, FILE_NAME, IMAGED, MOVED, OLD_KEY, OP, POSITION, PROBLEM, STREAM
from dms_iceberg.sql.quoting import quote, string_literal, timestamp_literal

MESSAGE = (
    f"{AMBIGUOUS}: within its commit two rows had the key that this change takes a row from, and it does not tell which of them it means. "
    "Full before-images do: REPLICA IDENTITY FULL, and column-filter all in the mapping rule add-before-image-columns"
)

SIDE, KIND, AT, ID, PLACE = "_cdc_side", "_cdc_kind", "_cdc_at", "_cdc_event", "_cdc_place"
USABLE, VALUES, IMAGE, OTHER_IMAGE = "_cdc_usable", "_cdc_values", "_cdc_image", "_cdc_other_image"
LOADED, CONTAINED, NET, OUTCOME = "_cdc_loaded", "_cdc_contained", "_cdc_net", "_cdc_outcome"
ERA = "_cdc_era"
N_READ = "_cdc_n_read"
# A row arrives (an insert, a row from another key), is updated at its key, or leaves (a delete, a row that goes to another key).
ARRIVES, _STAYS, LEAVES = "A", "U", "L"
_IDENTITY, _WRITING, _COME, _UNTIL = "_cdc_identity", "_cdc_writing", "_cdc_come", "_cdc_until"


def change_select(key: Sequence[str], texts: Sequence[str], load: int, loaded_until: str) -> list[str]:
    """Select list over cleaned changes with images (`normalise_sql`) and `CONTEXT`: the columns that the other steps need.

    Args:
        key: silver key columns.
        texts: SQL of the texts of the other silver columns.
        load: number of the load.
        loaded_until: 17 digits, when the last file of the load was written; "" if it is unknown.
    """
    contained = f"coalesce({COMMITTED_AT} <= {timestamp_literal(loaded_until)}, true)" if loaded_until else "true"
    # A row that the load has twice is one row, so it counts as updated, not as arrived.
    kind = (
        f"CASE WHEN {OP} = 'D' THEN '{LEAVES}' WHEN NOT {is_load_sql(POSITION, load)} AND ({OP} = 'I' OR {MOVED}) THEN '{ARRIVES}' "
        f"ELSE '{_STAYS}' END"
    )
    return [
        *map(quote, key),
        *(POSITION, FILE_NAME, STREAM, OLD_KEY, MOVED, CONTEXT, IMAGED),
        f"CASE WHEN {_in(OLD_KEY, LEAVING_HALVES)} THEN 0 ELSE 1 END AS {SIDE}",
        f"{kind} AS {KIND}",
        f"{commit_sql(load)} AS {AT}",
        f"{PROBLEM} IS NULL AS {USABLE}",
        f"{_array(texts)} AS {VALUES}",
        f"{is_load_sql(POSITION, load)} AS {LOADED}",
        f"{contained} AS {CONTAINED}",
    ]


_THERE: Mapping[str, str] = {
    STREAM: "CAST(NULL AS string)",
    FILE_NAME: "''",
    OLD_KEY: "0",
    MOVED: "false",
    CONTEXT: "true",
    IMAGED: "CAST(NULL AS string)",
    SIDE: "1",
    KIND: f"'{_STAYS}'",
    USABLE: "true",
    CONTAINED: "true",
}


def stored_select(key: Sequence[str], texts: Sequence[str], load: int) -> list[str]:
    """Select list over rows of the table, with the columns of `change_select`."""
    own = {POSITION: POSITION, AT: commit_sql(load), VALUES: _array(texts), LOADED: is_load_sql(POSITION, load)}
    return _there(key, {**_THERE, **own})


def time_select(key: Sequence[str], load: int) -> list[str]:
    """Select list over cleaned changes, or rows of the table: the key and the commit time."""
    return [*map(quote, key), f"{commit_sql(load)} AS {AT}"]


def unknown_select(key: Sequence[str]) -> list[str]:
    """Select list over keys, with the columns of `change_select`: an unknown row, older than everything else."""
    own = {POSITION: "''", AT: "CAST(NULL AS bigint)", VALUES: "CAST(NULL AS array<string>)", LOADED: "false"}
    return _there(key, {**_THERE, **own})


def _there(key: Sequence[str], columns: Mapping[str, str]) -> list[str]:
    return [*map(quote, key), *(f"{sql} AS {name}" for name, sql in columns.items())]


def _array(texts: Sequence[str]) -> str:
    return f"CAST(array({', '.join(texts)}) AS array<string>)"


def _in(column: str, numbers: Sequence[int]) -> str:
    return f"{column} IN ({', '.join(map(str, numbers))})"


def era_sql(load: int, truncates: Sequence[str]) -> str:
    """SQL of the number of truncates before an event, which is the same for all changes of a commit.

    A row that nothing shows (`unknown_select`) may have come after any truncate.

    Args:
        load: number of the load.
        truncates: 17 digits each: those applied.
    """
    before = [f"CAST({POSITION} >= {string_literal(truncate_position(load, at))} AS int)" for at in truncates]
    return f"CASE WHEN {POSITION} = '' THEN {len(truncates)} ELSE {' + '.join(['0', *before])} END"


WRITING_GROUPS = (POSITION, FILE_NAME, SIDE)
"""The columns that, with the key, identify one half of a change."""


def writing_aggregates() -> dict[str, str]:
    """Aggregates over `WRITING_GROUPS` that combine a half of a change and its images in one row."""
    other = _in(OLD_KEY, ALTERNATIVES)
    own_image = f"{KIND} = '{LEAVES}' AND {OLD_KEY} = 0"
    return {
        # The images of an update that stays at its key have the operation of a delete.
        KIND: f"max(CASE WHEN {OLD_KEY} <= 1 THEN {KIND} END)",
        AT: f"max({AT})",
        STREAM: f"max({STREAM})",
        MOVED: f"max({MOVED})",
        CONTEXT: f"min({CONTEXT})",
        # Copies of a file in several folders are one writing, but each of their rows counts as read.
        N_READ: f"count_if({OLD_KEY} = 0 AND NOT {CONTEXT})",
        LOADED: f"max({LOADED})",
        CONTAINED: f"min({CONTAINED})",
        USABLE: f"max(CASE WHEN {OLD_KEY} <= 1 THEN {USABLE} END)",
        IMAGED: f"max({IMAGED})",
        VALUES: f"max(CASE WHEN {OLD_KEY} = 0 THEN {VALUES} END)",
        IMAGE: f"max(CASE WHEN {OLD_KEY} > 0 AND NOT {other} OR {own_image} THEN {VALUES} END)",
        OTHER_IMAGE: f"max(CASE WHEN {other} OR {own_image} THEN {VALUES} END)",
    }


def identity_steps(key: Sequence[str]) -> list[dict[str, str]]:
    """Steps that add columns for repeated writings of a change (`identity`): `ID`, the same for all of them, and `PLACE`, for the order.

    The events have `ERA`.

    They also add `NET`: by how many rows at most the key has more than before the commit, at the end of that commit or of a later one that
    the load may have seen. If it is positive, a loaded row is from after the commit, and did not exist when that began.

    With a place in the source's log a repetition is certain, and the change counts at its first writing: DMS may be half way through
    writing a transaction again. Without one it counts at its last writing.
    """
    keys = ", ".join(map(quote, key))
    same = f"PARTITION BY {keys}, {_IDENTITY}, {_WRITING}"
    own = f"concat({POSITION}, '/', {FILE_NAME}, '/', {SIDE})"
    # An insert and a row from another key both arrive.
    content = ", ".join((SIDE, KIND, AT, STREAM, MOVED, VALUES, IMAGE, OTHER_IMAGE))
    rows = f"WHEN {KIND} = '{ARRIVES}' THEN 1 WHEN {KIND} = '{LEAVES}' THEN -1"
    return [
        {_IDENTITY: f"md5(to_json(struct({content})))"},
        {_WRITING: f"row_number() OVER (PARTITION BY {keys}, {_IDENTITY}, {FILE_NAME} ORDER BY {POSITION} DESC)"},
        {
            ID: f"max({own}) OVER ({same})",
            PLACE: f"CASE WHEN {STREAM} IS NULL THEN max({POSITION}) OVER ({same}) ELSE min({POSITION}) OVER ({same}) END",
        },
        {_COME: f"CASE WHEN NOT ({IS_LAST_WRITING}) THEN 0 {rows} ELSE 0 END"},
        {
            _UNTIL: f"sum({_COME}) OVER (PARTITION BY {keys}, {ERA} ORDER BY {AT})",
            NET: f"sum({_COME}) OVER (PARTITION BY {keys}, {AT})",
        },
        {
            NET: f"max(CASE WHEN {CONTAINED} THEN {_UNTIL} END) OVER (PARTITION BY {keys}, {ERA} ORDER BY {AT} "
            f"RANGE BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) - {_UNTIL} + {NET}"
        },
    ]


IS_LAST_WRITING = f"{ID} = concat({POSITION}, '/', {FILE_NAME}, '/', {SIDE})"

_ROWS = "array<struct<id: string, shown: string, vals: array<string>, loaded: boolean, era: int>>"
_RUNS = "array<struct<ids: array<string>, unclear: array<string>, rest: array<string>>>"


def outcome_aggregate() -> str:
    """Aggregate over the events of a key: the result of each run of changes in which it was crowded.

    An array of structs: ``ids`` of the events of the run; ``unclear``, the events among them that do not identify their row; ``rest``, the
    events that wrote the rows that remained in the end, including one of an earlier run if its row remained.
    """
    fields = {"place": PLACE, "side": SIDE, "id": ID, "at": AT, "kind": KIND, "usable": USABLE, "imaged": IMAGED}
    fields |= {"vals": VALUES, "image": IMAGE, "other": OTHER_IMAGE, "loaded": LOADED, "contained": CONTAINED, "net": NET, "era": ERA}
    listed = f"array_sort(collect_list(struct({', '.join(f'{name} AS {field}' for field, name in fields.items())})))"
    nothing = "CAST(array() AS array<string>)"
    start = (
        f"named_struct('at', CAST(NULL AS bigint), 'n', 0, 'rows', CAST(array() AS {_ROWS}), 'crowded', false, "
        f"'ids', {nothing}, 'unclear', {nothing}, 'runs', CAST(array() AS {_RUNS}))"
    )
    return f"aggregate({listed}, {start}, (s, e) -> {_let('b', _begun(), _let('m', _matches(), _played()))}, s -> {_closed_runs()})"


def _let(name: str, value: str, body: str) -> str:
    return f"transform(array({value}), {name} -> {body})[0]"


def _begun() -> str:
    """The state ``s`` in the run of the event ``e``: at most one row has a key then, the last that came, and none after a truncate."""
    truncated = "element_at(s.rows, -1).era < e.era"
    later = "e.contained AND e.net > 0 AND element_at(s.rows, -1).loaded"
    gone, nothing = f"(s.n = 0 OR coalesce({truncated}, false) OR coalesce({later}, false))", "slice(s.ids, 1, 0)"
    rest = f"IF({gone}, slice(s.rows, 1, 0), slice(s.rows, -1, 1))"
    begun = {
        "at": "e.at",
        "n": f"IF({gone}, 0, 1)",
        "rows": rest,
        "crowded": "false",
        "ids": nothing,
        "unclear": nothing,
        "runs": _closed_runs(),
    }
    return f"IF(s.at <=> e.at, s, {_struct(begun)})"


def _closed_runs() -> str:
    run = "struct(s.ids AS ids, s.unclear AS unclear, transform(s.rows, r -> r.shown) AS rest)"
    return f"IF(s.crowded, concat(s.runs, array({run})), s.runs)"


def _matches() -> str:
    """The rows of the state ``b`` that the event ``e`` may change or take away, where there are several."""

    def equals(image: str) -> str:
        return f"forall(sequence(1, size(r.vals)), i -> substr(e.imaged, i, 1) = '0' OR r.vals[i - 1] <=> {image}[i - 1])"

    found = f"filter(b.rows, r -> {equals('e.image')} OR {equals('e.other')})"
    return f"IF(e.kind = '{ARRIVES}' OR b.n < 2 OR e.imaged IS NULL, slice(b.rows, 1, 0), {found})"


def _played() -> str:
    """The state after the event ``e``, from the state ``b`` before it and the rows ``m`` that it may mean."""
    arrives, stays, several = f"e.kind = '{ARRIVES}'", f"e.kind = '{_STAYS}'", "b.n > 1"
    # A row keeps its last usable values if an update of it is not usable.
    before = f"IF({several}, m[0].shown, element_at(b.rows, -1).shown)"
    shown = f"IF({stays} AND NOT e.usable, coalesce({before}, e.id), e.id)"
    row = f"array(struct(e.id AS id, {shown} AS shown, e.vals AS vals, e.loaded AS loaded, e.era AS era))"
    updated, none = f"IF({stays}, {row}, slice(b.rows, 1, 0))", "slice(b.rows, 1, 0)"
    rows = (
        f"CASE WHEN {arrives} THEN concat(b.rows, {row}) WHEN NOT {several} THEN IF({stays}, {row}, {none}) "
        f"WHEN size(m) = 1 THEN concat(filter(b.rows, r -> r.id <> m[0].id), {updated}) ELSE b.rows END"
    )
    unclear = f"IF(NOT {arrives} AND {several} AND size(m) <> 1, concat(b.unclear, array(e.id)), b.unclear)"
    return _struct(
        {
            "at": "b.at",
            "n": f"CASE WHEN {arrives} THEN b.n + 1 WHEN {stays} THEN greatest(b.n, 1) ELSE greatest(b.n - 1, 0) END",
            "rows": rows,
            "crowded": f"b.crowded OR {arrives} AND b.n > 0",
            "ids": "concat(b.ids, array(e.id))",
            "unclear": unclear,
            "runs": "b.runs",
        }
    )


def _struct(fields: Mapping[str, str]) -> str:
    listed = ", ".join(f"{string_literal(name)}, {sql}" for name, sql in fields.items())
    return f"named_struct({listed})"
