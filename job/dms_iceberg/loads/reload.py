"""How a complete load is merged into a table whose mode keeps rows that the load does not have.

The load is built on a branch, like that of a mirror (`epochs`). Its rows are then compared with the table's present ones, key by key. The
differences are merged into the table as ordinary changes, in one commit with the load's progress: equal rows stay unchanged, and vanished
rows are deleted at the time of the load. A log (``append``) gets all rows of the load.
"""

import json
from collections import Counter
from collections.abc import Sequence

import attrs
from pyspark.sql import DataFrame
from pyspark.sql.functions import expr

from dms_iceberg.bronze.position import FILE_DIGITS, load_position
from dms_iceberg.context import BranchState, RunContext
from dms_iceberg.errors import TargetError
from dms_iceberg.iceberg.transaction import Transaction
from dms_iceberg.loads.kept_rows import Kept
from dms_iceberg.merge import versions
from dms_iceberg.merge.history import build_versions
from dms_iceberg.merge.write import named_view
from dms_iceberg.modes.history import ACTION
from dms_iceberg.modes.lookup import table_mode
from dms_iceberg.modes.statement import MergeSource
from dms_iceberg.progress.progress import ACCOUNTING_KEY, PROGRESS_KEY, Progress
from dms_iceberg.silver.memory.key import silver_key_of
from dms_iceberg.silver.table import TargetTable
from dms_iceberg.silver.table_context import TableContext
from dms_iceberg.sql.cdc_columns import (
    COMMITTED_AT,
    CONTEXT,
    DELETE_POSITION,
    DELETED,
    DELETED_AT,
    FILTERED,
    IN_QUARANTINE,
    OLD_KEY,
    OP,
    POSITION,
    ROW,
    ROW_POSITION,
    STREAM,
)
from dms_iceberg.sql.quoting import quote, string_literal
from dms_iceberg.sql.value_text import comparable

_PRESENT = "_cdc_present"
_NOT_COUNTED = ("run_id",)


@attrs.frozen(eq=False)
class Difference:
    """What a load changes. Frames are lazy.

    Attributes:
        key: silver key columns.
        values: the other silver columns.
        written: rows of the load that the table lacks or has with other values; `OP` is I, or U if the table has a row of the key.
        vanished: keys that the table has and the load does not have.
        load: number of the load.
        loaded_at: SQL of the time of the load.
    """

    key: Sequence[str]
    values: Sequence[str]
    written: DataFrame
    vanished: DataFrame
    load: int
    loaded_at: str

    @property
    def position(self) -> str:
        """SQL of the position of the deletes: below every row of the load."""
        return string_literal(load_position(self.load, "0" * FILE_DIGITS))


def load_transaction(here: TableContext, found: BranchState, branch: str, planned_on: int | None, kept: Kept) -> Transaction:
    """Return a transaction, not yet committed, that merges a complete load into the table.

    Args:
        here: the table.
        found: the state of the load's branch.
        branch: the branch on which it is built.
        planned_on: main's head.
        kept: rows of the table whose keys the load has rejected (`kept_rows`): they stay.

    Raises:
        PlanIsStaleError: another writer committed since ``planned_on``.
        TargetError: rows of the load do not tell whether they are present.
    """
    context, target, mode = here.context, here.target, table_mode(here.table.mode)
    properties = {PROGRESS_KEY: found.progress.to_json(), ACCOUNTING_KEY: _accounting(context, target, found.progress, branch)}
    transaction = target.transaction(planned_on)
    loaded = target.rows(branch)
    merge_sql = mode.merge_sql
    if merge_sql is None:
        transaction.append(loaded, properties)
        return transaction
    _refuse_unmarked(here, loaded, mode.mark, branch)
    made = _difference(here, loaded.where(mode.present), target.rows().where(mode.present), found.progress.load, kept)
    rows = _versions(made, target.rows()) if mode.has_versions else _states(made)
    with named_view(context, rows) as view:
        source = MergeSource(view)
        transaction.execute(lambda name: merge_sql(name, source, made.key, made.values, compare=False), properties)
    return transaction


def _refuse_unmarked(here: TableContext, loaded: DataFrame, mark: str, branch: str) -> None:
    """Refuse a load with rows that do not tell whether they are present: no condition holds for NULL, so their keys would vanish."""
    table, unmarked = here.table, loaded.where(f"{mark} IS NULL").select(POSITION).head()
    if unmarked is not None:
        raise TargetError(
            f"{table.source}: branch {branch} of {table.target}, on which the load is built, has rows with NULL in {mark} (one at position "
            f"{unmarked[0]}). Mode {table.mode.value} writes true or false to every row, so something else has written to the branch. "
            f"Nothing was published. Remove the branch, and the next run builds the load again from bronze: "
            f"{here.target.drop_branch_sql(branch)}."
        )


def _accounting(context: RunContext, target: TargetTable, progress: Progress, branch: str) -> str:
    """Sum up the row counts of the load's batches, because their snapshots are not on the table's own line."""
    counts = Counter[str]()
    for snapshot in target.lineage(branch):
        if PROGRESS_KEY not in snapshot.summary:
            continue
        if Progress.from_json(snapshot.summary[PROGRESS_KEY]).load != progress.load:
            break
        batch = json.loads(snapshot.summary.get(ACCOUNTING_KEY, "{}"))
        counts.update({name: count for name, count in batch.items() if name not in _NOT_COUNTED})
    return json.dumps({**counts, "load": progress.load, "run_id": context.run_id}, separators=(",", ":"))


def _difference(here: TableContext, loaded: DataFrame, present: DataFrame, load: int, kept: Kept) -> Difference:
    table, own = here.table, table_mode(here.table.mode).metadata_columns
    types = here.target.all_columns()
    silver = [name for name in types if name not in own]
    key = silver_key_of(table, silver)
    values = [name for name in silver if name not in key]
    tracked = {name.lower() for name in table.track_columns}
    compared = [comparable(name, types[name]) for name in values if not tracked or name.lower() in tracked]
    content = f"struct({', '.join(compared) or 'true'})"
    keys = [quote(name) for name in key]
    there = present.selectExpr(*keys, f"{content} AS {_PRESENT}")
    joined = loaded.join(there, key, "left").where(f"{_PRESENT} IS NULL OR NOT ({_PRESENT} <=> {content})")
    written = joined.withColumn(OP, expr(f"CASE WHEN {_PRESENT} IS NULL THEN 'I' ELSE 'U' END")).drop(_PRESENT)
    vanished = present.select(*keys, COMMITTED_AT).join(loaded.select(*keys), key, "left_anti")
    if kept.rows is not None:
        # The source has such a row: what the table has of it stays, as with any quarantined change.
        vanished = vanished.join(kept.rows.select(*keys), key, "left_anti")
    return Difference(key, values, written, vanished, load, _time_sql(loaded))


def _time_sql(loaded: DataFrame) -> str:
    """SQL of the time of the load, as its rows have it; now, if they have none."""
    micros = loaded.selectExpr(f"unix_micros(max({COMMITTED_AT})) AS at").collect()[0].at
    return f"timestamp_micros({micros})" if micros is not None else "current_timestamp()"


def _states(difference: Difference) -> DataFrame:
    """Return the input of `soft_delete_sql`: rows of the load, and deletes of keys that have no row in it."""
    columns = [quote(name) for name in (*difference.key, *difference.values)]
    written = difference.written.selectExpr(
        *columns, ROW_POSITION, OP, COMMITTED_AT, POSITION, f"false AS {DELETED}", f"CAST(NULL AS timestamp) AS {DELETED_AT}"
    )
    ended = difference.vanished.selectExpr(
        *map(quote, difference.key),
        f"{difference.position} AS {POSITION}",
        f"true AS {DELETED}",
        f"greatest({difference.loaded_at}, {COMMITTED_AT}) AS {DELETED_AT}",
    )
    return written.unionByName(ended, allowMissingColumns=True)


def _versions(difference: Difference, stored: DataFrame) -> DataFrame:
    """Return the input of `history_sql`: the versions of the keys that differ, computed again from all that is known of them."""
    key, values = difference.key, difference.values
    constants = {OLD_KEY: "0", ROW: "0L", FILTERED: "false", CONTEXT: "false", IN_QUARANTINE: "false"}
    same = [f"{text} AS {name}" for name, text in constants.items()]
    changes = difference.written.selectExpr(*map(quote, (*key, *values)), OP, POSITION, COMMITTED_AT, STREAM, *same)
    ended = difference.vanished.selectExpr(
        *map(quote, key), f"'D' AS {OP}", f"{difference.position} AS {POSITION}", f"{difference.loaded_at} AS {COMMITTED_AT}", *same
    )
    changes = changes.unionByName(ended, allowMissingColumns=True)
    events = changes.selectExpr(*versions.change_events(key, values))
    stored = stored.join(changes.select(*map(quote, key)), list(key), "left_semi")
    events = events.unionByName(stored.selectExpr(*versions.version_events(key, values)))
    ends = stored.where(f"{DELETE_POSITION} IS NOT NULL").selectExpr(*versions.end_events(key, values))
    made = build_versions(events.unionByName(ends), versions.steps(key, values, (), difference.load, {}, whole=True), key, values)
    return made.where(f"{ACTION} IS NOT NULL")
