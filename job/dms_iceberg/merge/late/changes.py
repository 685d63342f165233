"""Late changes: those that are older than changes which are already applied.

A deleted key leaves nothing in the table, so a late change cannot be compared with it there. Bronze is the log. The merged files that can
hold something newer than the oldest late change are read again for the late keys, and their changes are compared without being counted. A
file is closed after the commits it holds, so only files with names not before that commit (minus slack for two clocks) are needed. Batches
in order need none of this.

Unless updates leave columns out, keys of a late batch whose changes are all newer than the table keep their latest change (modes mirror and
soft_delete). In mode mirror only changes committed since the late one are read, where files have a sequence: older ones cannot replace it,
and a repetition has the clock of its original.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

import attrs
from pyspark.sql import DataFrame
from pyspark.sql.functions import expr, lit

from dms_iceberg.bronze.keys import REPAIR_FOLDER, ZONE_HOURS, BronzeFile, earlier
from dms_iceberg.bronze.position import CLOCK_DIGITS, clock_of, is_load_position, load_prefix
from dms_iceberg.changes.clean import else_problem
from dms_iceberg.changes.shape import Shape
from dms_iceberg.merge.batch_context import BatchContext
from dms_iceberg.merge.collapse_frames import collapse
from dms_iceberg.merge.crowded.suspicion import MOVED_AT
from dms_iceberg.merge.soft_delete_state import loses_sql
from dms_iceberg.progress.progress import Progress
from dms_iceberg.quarantine.details import AFTER_REPAIR, OLD_KEY_REPAIRED
from dms_iceberg.spark.broadcast import broadcast_if_small
from dms_iceberg.sql.cdc_columns import (
    BATCH_POSITION,
    COMMITTED_AT,
    CONTEXT,
    DISORDER,
    FILE,
    FILE_NAME,
    FILE_TIME,
    FILTERED,
    HIGH,
    IN_QUARANTINE,
    LOW,
    MOVED,
    OLD_KEY,
    OP,
    POSITION,
    PROBLEM,
    ROW,
    ROW_POSITION,
    STALE,
    STORED_POSITION,
    STORED_ROW_POSITION,
)
from dms_iceberg.sql.quoting import quote, string_literal
from dms_iceberg.sql.value_text import comparable

SLACK_HOURS = 1.0
_FAR_FUTURE = "99991231235959999"
OLDER_CLOCK = "older_clock"
_OLDER = "not in any earlier file, yet older than a change of its key that is; the source clock went back"
OLDER_THAN_ITS_OLD_KEY = "not in any earlier file, yet older than a change of the key that its row left; the source clock went back"
NO_END_OF_OLD_KEY = (OLDER_THAN_ITS_OLD_KEY, OLD_KEY_REPAIRED)
"""Details of `OLDER_CLOCK` where a change does not end its old key either."""


def is_late(low: str, progress: Progress) -> bool:
    """Whether a batch whose lowest position is ``low`` may hold changes older than applied ones."""
    return bool(low) and low <= progress.reached


def needs_bronze(progress: Progress) -> bool:
    """Whether deletes may have been applied, so that late changes must be looked up in bronze.

    As long as only LOAD files are merged, nothing was deleted: their rows are compared with the table's own.
    """
    return not is_load_position(progress.high_water, progress.load)


def context_since(low: str, progress: Progress) -> str:
    """Return the earliest close time (17 digits) of a file that can hold a change newer than position ``low``."""
    clock = clock_of(low)
    # A file cannot be closed before a commit that it holds, unless its name is not in UTC. The zone may have been changed since.
    hours = SLACK_HOURS + (ZONE_HOURS if progress.named_behind_utc or progress.frontier < progress.committed else 0.0)
    return earlier(clock, hours=hours) if clock.strip("0") else "0" * len(clock)


def context_files(listing: Iterable[BronzeFile], since: str, progress: Progress, batch: Sequence[BronzeFile]) -> list[BronzeFile]:
    """Return the merged CDC files closed at or after ``since`` that are not part of the batch itself."""
    own = {file.key for file in batch}
    # A reload in the same folder contains the changes from before it.
    since = max(since, progress.reloaded_at)
    # Of a file that was uploaded again, bronze has only the last version, which stands for the merged one.
    merged = (file for file in listing if file.is_cdc and progress.has_merged_version(file))
    return sorted(file for file in merged if file.order >= since and file.key not in own)


def suspect_sql(bound: str, columns: Collection[str]) -> str:
    """SQL over collapsed keys that is true for those with a change up to ``bound``, with files out of order, or of a row from another key.

    Whether such a row has come depends on the key that it left.

    Args:
        bound: the high-water position, or text above it.
        columns: those of the collapsed keys. A load has no row from another key, and no column that shows one.
    """
    moved = f"{MOVED_AT} IS NOT NULL OR " if MOVED_AT in columns else ""
    return f"({moved}{DISORDER} OR coalesce({LOW} <= {string_literal(bound)}, false))"


def suspects(latest: DataFrame, shape: Shape, bound: str, count: int) -> DataFrame:
    """Return the keys, among ``latest``, that must be looked up in bronze (`suspect_sql`).

    Args:
        latest: the batch's collapsed keys.
        bound: the high-water position, or text above it.
        count: the number of rows in ``latest``, at most.
    """
    return keys_of(latest.where(suspect_sql(bound, latest.columns)), shape, count)


def latest_in_order(latest: DataFrame, bound: str) -> DataFrame:
    """Return the collapsed keys that need no look-up, as rows of `collapse_late`: all their changes are newer than what is merged."""
    return latest.where(f"NOT {suspect_sql(bound, latest.columns)}").withColumn(STALE, lit(False))


def keys_of(latest: DataFrame, shape: Shape, count: int) -> DataFrame:
    """Return the keys of at most ``count`` collapsed keys for a join."""
    return broadcast_if_small(latest.select(*(quote(name) for name in shape.key)), count)


@attrs.frozen(eq=False)
class OlderChanges:
    """What late changes are compared with.

    Attributes:
        changes: cleaned changes of older files, with `IN_QUARANTINE` where some may be in quarantine; None when there are none.
        keys: the keys to look up in them (`suspects`).
        frontier: 17 digits; files closed later are new.
        oldest: close time of the oldest merged file that bronze still has.
        is_cut: bronze has lost change files that were merged.
        unshared: columns that some of all these files, and of the batch's, lack.
    """

    changes: DataFrame | None
    keys: DataFrame
    frontier: str
    oldest: str
    is_cut: bool
    unshared: Collection[str] = ()


def compare_with_older(
    batch: BatchContext, rows: DataFrame, older: OlderChanges, *, with_quarantined: bool = False, moves: bool = True
) -> DataFrame:
    """Return the batch's rows and, with `CONTEXT`, those of older files that share a late key; `PROBLEM` has two more reasons.

    * ``older_than_bronze``: the change is late, and files that might hold a newer delete of its key are no longer in bronze.
    * ``older_clock``: a row of a *new* file is older than a change of its key in an earlier file, and no earlier file has the same change
      (key, operation, commit time, values of the columns that all files have). A change that DMS writes again is in an earlier file;
      otherwise the source's clock must have gone back. A row from another key is compared at both: it comes to none while it cannot leave
      the other.

    Open rows of the quarantine are known, but not merged, so they make no other change late. The rows of a replay are in older files
    themselves, and each of them counts as new.

    Args:
        batch: the batch.
        rows: its cleaned changes.
        older: what they are compared with.
        with_quarantined: the result has the rows with `IN_QUARANTINE` as well: another writing of such a change may be merged.
        moves: the batch may have rows from other keys.
    """
    shape, planned = batch.shape, batch.planned
    rows = rows.withColumn(CONTEXT, lit(False))
    if older.changes is not None:
        changes = older.changes.where(f"{PROBLEM} IS NULL").join(older.keys, on=shape.key, how="left_semi")
        rows = rows.unionByName(changes.withColumn(CONTEXT, lit(True)), allowMissingColumns=True)
        rows = _without_copies(rows, shape, older.unshared) if planned.is_replay else rows
    if older.is_cut:
        high, oldest = planned.progress.high_water, older.oldest
        limit = f"{load_prefix(planned.progress.load)}{oldest[:CLOCK_DIGITS] or _FAR_FUTURE}"
        expired = f"NOT {CONTEXT} AND {POSITION} <= {string_literal(high)} AND {POSITION} < {string_literal(limit)}"
        begins = (
            f"of the merged change files those from before {oldest} are not in bronze any more (deleted, or moved)"
            if oldest
            else "none of the merged change files is in bronze any more (deleted, or moved)"
        )
        text = string_literal(f"older_than_bronze: {begins}, so a later delete of this key cannot be ruled out")
        rows = rows.withColumn(PROBLEM, expr(else_problem([f"WHEN {expired} THEN {text}"])))
    frontier = "" if planned.is_replay else older.frontier
    if IN_QUARANTINE not in rows.columns:
        return _mark_older_clock(rows, shape, frontier, older.unshared, moves=moves)
    rows = rows.withColumn(IN_QUARANTINE, expr(f"coalesce({IN_QUARANTINE}, false)"))
    merged = f"NOT {IN_QUARANTINE}"
    marked = _mark_older_clock(rows, shape, frontier, older.unshared, merged, moves=moves)
    return marked if with_quarantined else marked.where(merged).drop(IN_QUARANTINE)


def _identity_sql(shape: Shape, unshared: Collection[str]) -> str:
    values = (comparable(name, shape.types[name]) for name in shape.values if name not in unshared)
    return f"xxhash64({', '.join([*values, OP, COMMITTED_AT, FILTERED, OLD_KEY])})"


def _without_copies(rows: DataFrame, shape: Shape, unshared: Collection[str]) -> DataFrame:
    """Leave out, among rows of older files, those that the batch has: a row must not be compared with itself.

    A copy has the same position. Where the position contains a text file's row number, which may differ from reading to reading, a copy has
    the same values.
    """
    same = f"PARTITION BY {', '.join(quote(name) for name in shape.key)}, {FILE_NAME}, {OLD_KEY}"
    copies = [f"max(NOT {CONTEXT}) OVER ({same}, {what})" for what in (POSITION, "_cdc_identity")]
    marked = rows.selectExpr("*", f"{_identity_sql(shape, unshared)} AS _cdc_identity").selectExpr(
        "*", f"{' OR '.join(copies)} AS _cdc_copy"
    )
    return marked.where(f"NOT ({CONTEXT} AND _cdc_copy)").drop("_cdc_identity", "_cdc_copy")


def _mark_older_clock(
    rows: DataFrame, shape: Shape, frontier: str, unshared: Collection[str], merged: str = "true", *, moves: bool
) -> DataFrame:
    keys = ", ".join(quote(name) for name in shape.key)
    earlier = f"PARTITION BY {keys} ORDER BY _cdc_closed RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING"
    # A repair has the source's state at one moment: newer changes may be merged already. What it wins over shows nothing of the clock.
    repairs = f"instr({FILE}, {string_literal('/' + REPAIR_FOLDER)}) > 0"
    usable = f"CASE WHEN {PROBLEM} IS NULL AND {merged} THEN {POSITION} END"
    marked = rows.selectExpr(
        "*", f"CAST({FILE_TIME} AS bigint) AS _cdc_closed", f"{_identity_sql(shape, unshared)} AS _cdc_identity"
    ).selectExpr(
        "*",
        f"max({usable}) OVER ({earlier}) AS _cdc_earlier",
        f"max(CASE WHEN {repairs} THEN {usable} END) OVER ({earlier}) AS _cdc_repaired",
        f"min(_cdc_closed) OVER (PARTITION BY {keys}, _cdc_identity) AS _cdc_first_seen",
    )
    in_new_file = f"NOT {CONTEXT} AND {FILE_TIME} > {string_literal(frontier)}"
    unseen = f"{in_new_file} AND NOT {repairs} AND _cdc_earlier > {POSITION} AND _cdc_first_seen = _cdc_closed"
    by_repair = "_cdc_repaired <=> _cdc_earlier"
    found = {AFTER_REPAIR: f"{unseen} AND {by_repair}", _OLDER: unseen}
    if moves:
        # Loaded rows share a position.
        halves = f"PARTITION BY {POSITION}, {FILE}, {ROW}"
        left = f"{OLD_KEY} = 1 AND {unseen}"
        marked = marked.selectExpr(
            "*",
            f"max({left}) OVER ({halves}) AS _cdc_stays",
            f"max({left} AND {by_repair}) OVER ({halves}) AS _cdc_stays_repaired",
        )
        stays = f"{MOVED} AND _cdc_stays"
        found = {OLD_KEY_REPAIRED: f"{stays} AND _cdc_stays_repaired", OLDER_THAN_ITS_OLD_KEY: stays, **found}
    cases = [f"WHEN {sql} THEN {string_literal(f'{OLDER_CLOCK}: {text}')}" for text, sql in found.items()]
    marked = marked.withColumn(PROBLEM, expr(else_problem(cases)))
    return marked.drop(
        *("_cdc_closed", "_cdc_identity", "_cdc_earlier", "_cdc_repaired", "_cdc_first_seen", "_cdc_stays", "_cdc_stays_repaired")
    )


def collapse_late(
    compared: DataFrame, target: DataFrame, shape: Shape, keys: DataFrame, counts: Mapping[str, str] | None = None
) -> DataFrame:
    """Return the latest change of each key of a late batch, with `STALE`: whether the table, or an older file, has something newer.

    Args:
        compared: what `compare_with_older` returned.
        target: the table; key and position columns are read.
        shape: the silver columns.
        keys: all keys of ``compared``, or more. They are an argument because to compute them here would take a second collapse.
        counts: further aggregates by name.
    """
    latest = collapse(compared, shape, with_context=True, counts=counts)
    more = [f"{ROW_POSITION} AS {STORED_ROW_POSITION}"] if shape.keeps_deleted else []
    stored = target.selectExpr(*(quote(name) for name in shape.key), f"{POSITION} AS {STORED_POSITION}", *more)
    looked_up = stored.join(keys, on=shape.key, how="left_semi")
    joined = latest.join(looked_up, on=shape.key, how="left")
    if shape.keeps_deleted:
        return joined.withColumn(STALE, expr(f"coalesce({loses_sql(STORED_POSITION, STORED_ROW_POSITION)}, false)"))
    loses = f"{POSITION} IS NOT NULL AND ({CONTEXT} OR coalesce({STORED_POSITION} >= {POSITION}, false))"
    return joined.withColumn(STALE, expr(f"({loses}) AND {BATCH_POSITION} = {HIGH}"))
