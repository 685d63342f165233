"""The rows and row counts of one batch in mode ``append``: every change once, however often DMS writes it.

A batch in order costs nothing extra. Only where its clocks overlap with those of earlier files, its changes are compared with each other
and with the table's rows of these clocks.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql.functions import broadcast, expr

from dms_iceberg.bronze.position import is_named_behind_utc
from dms_iceberg.changes.identity import between_clocks, identity_sql, place_sql, repeated_clocks
from dms_iceberg.changes.shape import Shape
from dms_iceberg.failpoints import failpoint
from dms_iceberg.merge.batch_context import BatchContext
from dms_iceberg.merge.collapse import USABLE
from dms_iceberg.merge.collapse_frames import SINGLE_TASK_BYTES
from dms_iceberg.merge.merge_input import MergeInput, as_it_is
from dms_iceberg.modes.append import NEW
from dms_iceberg.silver.row_counts import BatchCounts
from dms_iceberg.sql.cdc_columns import (
    COMMITTED_AT,
    FAILED_RULE,
    FILE,
    FILE_TIME,
    FILTERED,
    IDENTITY,
    KEY_BEFORE,
    OLD_KEY,
    OP,
    POSITION,
    RANK,
    ROW,
    STREAM,
)
from dms_iceberg.sql.json_text import json_sql
from dms_iceberg.sql.quoting import quote

_KNOWN = "_cdc_known"
_PLACE = "_cdc_place"
_COUNTED = f"{OLD_KEY} = 0"
_GOOD = f"{_COUNTED} AND {USABLE} AND NOT {FILTERED}"
_FILE_COUNTS = (
    f"max({FILE_TIME}) AS file_time",
    f"count_if({_COUNTED}) AS n_rows",
    f"count_if({_COUNTED} AND NOT ({USABLE})) AS n_quarantined",
    f"count_if({_COUNTED} AND {USABLE} AND {FILTERED}) AS n_filtered",
    f"count_if({_GOOD}) AS n_good",
    f"count_if({OLD_KEY} = 1 AND {USABLE}) AS n_moved",
    f"min(CASE WHEN {USABLE} THEN {POSITION} END) AS low",
    f"max(CASE WHEN {USABLE} THEN {POSITION} END) AS high",
    f"max({FAILED_RULE}) AS failed_rule",
)
_ROW_COUNTS = (
    "count(1) AS n_once",
    f"count_if({NEW}) AS n_new",
    f"percentile_approx(unix_micros({COMMITTED_AT}), array(0.05D, 0.5D, 1.0D), 1000) AS commit_micros",
)


def changelog_batch(batch: BatchContext) -> MergeInput:
    """Return the batch's changes, materialised, and its row counts. The caller writes rows of ``latest`` with `NEW`, and unpersists it."""
    progress = batch.planned.progress
    cleaned = batch.clean()
    changes = (cleaned.coalesce(1) if batch.planned.batch.size <= SINGLE_TASK_BYTES else cleaned).persist()
    rows = None
    try:
        files = changes.groupBy(FILE).agg(*map(expr, _FILE_COUNTS)).collect()
        failpoint("after-collapse", batch.table.source)
        good = changes.where(_GOOD).selectExpr(*_row_select(batch.shape))
        if any(one.n_moved for one in files):
            good = _with_old_keys(good, changes, batch.shape)
        clocks = repeated_clocks([(one.file_time, one.low, one.high) for one in files if one.low], progress.high_water, progress.load)
        if clocks is not None:
            stored = batch.target.rows(batch.planned.branch_state.branch) if batch.planned.branch_state.head is not None else None
            columns = [*batch.shape.key, *batch.shape.values, KEY_BEFORE]
            identity = identity_sql(columns, progress.load, batch.reached_without(max(one.high for one in files if one.high)))
            good = _once(good, stored, {IDENTITY: identity, _PLACE: place_sql(batch.shape.key)}, between_clocks(clocks))
        rows = good.persist()
        counts = _row_counts(rows.agg(*map(expr, _ROW_COUNTS)).collect()[0], files)
    except BaseException:
        if rows is not None:
            rows.unpersist()
        raise
    finally:
        changes.unpersist()
    return MergeInput(rows, counts, (), clocks is not None, as_it_is)


def _row_select(shape: Shape) -> list[str]:
    """A delete keeps only its key columns: sources differ in what else they send with it."""
    values = (f"CASE WHEN {OP} <> 'D' THEN {quote(name)} END AS {quote(name)}" for name in shape.values)
    own = (POSITION, OP, COMMITTED_AT, STREAM, FILE, ROW)
    return [*map(quote, shape.key), *values, *own, f"CAST(NULL AS string) AS {KEY_BEFORE}", f"true AS {NEW}"]


def _with_old_keys(good: DataFrame, changes: DataFrame, shape: Shape) -> DataFrame:
    """Add to changes of key the key that the row had before: the other half of the change has it, cast and masked like any key."""
    text = f"{json_sql(shape.key)} AS {KEY_BEFORE}"
    old = changes.where(f"{OLD_KEY} = 1 AND {USABLE}").selectExpr(POSITION, FILE, text).dropDuplicates([POSITION, FILE])
    columns = map(quote, good.columns)
    return good.drop(KEY_BEFORE).join(broadcast(old), [POSITION, FILE], "left").select(*columns)


def _once(good: DataFrame, stored: DataFrame | None, identities: Mapping[str, str], repeated: str) -> DataFrame:
    """Keep one writing of each change in the range ``repeated``, and set `NEW` to whether the table lacks it.

    Two writings are one change if one of the ``identities`` (SQL by the name of its column) is the same, and their numbers among the
    changes of their files that have it.
    """
    single = good.where(repeated).withColumns({name: expr(sql) for name, sql in identities.items()})
    numbers = {name: f"row_number() OVER (PARTITION BY {name}, {FILE} ORDER BY {POSITION}, {ROW})" for name in identities}
    single = single.withColumns({name + RANK: expr(number) for name, number in numbers.items()})
    # In one order for all identities, so that the first of all writings of a change is never left out.
    firsts = [f"row_number() OVER (PARTITION BY {name}, {name}{RANK} ORDER BY {POSITION}, {ROW}, {FILE})" for name in identities]
    single = single.withColumn("_cdc_writing", expr(f"greatest({', '.join(firsts)})")).where("_cdc_writing = 1")
    if stored is not None:
        for name, sql in identities.items():
            known = stored.where(repeated).groupBy(expr(sql).alias(name)).count().withColumnRenamed("count", _KNOWN)
            single = single.join(known, name, "left").withColumn(NEW, expr(f"{NEW} AND {name}{RANK} > coalesce({_KNOWN}, 0)")).drop(_KNOWN)
    return good.where(f"NOT {repeated}").unionByName(single.select(*map(quote, good.columns)))


def _row_counts(rows: Any, files: Sequence[Any]) -> BatchCounts:
    return BatchCounts(
        rows_read=sum(one.n_rows for one in files),
        applied=rows.n_new,
        superseded=sum(one.n_good for one in files) - rows.n_once,
        stale=rows.n_once - rows.n_new,
        filtered=sum(one.n_filtered for one in files),
        quarantined=sum(one.n_quarantined for one in files),
        latest=rows.n_new,
        low=min((one.low for one in files if one.low), default=""),
        high=max((one.high for one in files if one.high), default=""),
        failed_rule=max((one.failed_rule for one in files if one.failed_rule), default=None),
        commit_micros=tuple(rows.commit_micros) if rows.commit_micros else None,
        named_behind_utc=any(is_named_behind_utc(one.high) for one in files if one.high),
    )
