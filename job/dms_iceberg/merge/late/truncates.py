"""Applies truncates to batches with changes from before them: their rows are deleted, though no file has that delete."""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql.functions import expr

from dms_iceberg.bronze.position import truncate_position
from dms_iceberg.changes.shape import Shape
from dms_iceberg.merge.fill_forward import REFILL
from dms_iceberg.sql.cdc_columns import (
    BATCH_POSITION,
    COMMITTED_AT,
    CONTEXT,
    DELETE,
    FILTERED,
    HIGH,
    LOW,
    OLD_KEY,
    OP,
    POSITION,
    ROW,
    STALE,
    STORED_POSITION,
)
from dms_iceberg.sql.quoting import quote, string_literal, timestamp_literal


def apply_truncates(looked: DataFrame, shape: Shape, truncates: Sequence[str], load: int) -> DataFrame:
    """Apply truncates to the latest changes of a late batch: rows from before a truncate are deleted, though no file has that delete.

    Args:
        looked: what `collapse_late` returned.
        shape: the silver columns.
        truncates: 17 digits each, in order: those applied.
        load: number of the load.
    """
    if not truncates:
        return looked
    before = f"coalesce({POSITION} < {string_literal(truncate_position(load, truncates[-1]))}, false)"
    if not shape.keeps_deleted:
        return looked.withColumns(
            {STALE: expr(f"{STALE} OR coalesce({before} AND {BATCH_POSITION} = {HIGH}, false)"), CONTEXT: expr(f"{CONTEXT} OR {before}")}
        )
    # The values are new, and the key may be; but the truncate deleted the row, unless its newest change is a delete anyway. Where the row
    # is written whatever the table has, the table's own end of it would be lost.
    written = f"{REFILL} OR " if REFILL in looked.columns else ""
    ended = f"{before} AND NOT {DELETE} AND ({written}coalesce({STORED_POSITION} < {POSITION}, true))"
    changed = {
        DELETE: f"{DELETE} OR {ended}",
        POSITION: f"CASE WHEN {ended} THEN {_first_after(truncates, load, position=True)} ELSE {POSITION} END",
        COMMITTED_AT: f"CASE WHEN {ended} THEN {_first_after(truncates, load, position=False)} ELSE {COMMITTED_AT} END",
    }
    return looked.withColumns({name: expr(text) for name, text in changed.items()})


def _first_after(truncates: Sequence[str], load: int, *, position: bool) -> str:
    """SQL of the position of the first truncate after `POSITION`, or of its time."""
    cases = []
    for at in truncates:
        found = string_literal(truncate_position(load, at))
        cases.append(f"WHEN {POSITION} < {found} THEN {found if position else timestamp_literal(at)}")
    return f"CASE {' '.join(cases)} END"


def truncates_within(truncates: Sequence[str], load: int, high: str) -> list[str]:
    """Return those truncates which changes up to the position ``high`` come after."""
    return [at for at in truncates if truncate_position(load, at) <= high]


def truncate_events(latest: DataFrame, shape: Shape, truncates: Sequence[str], load: int, *, every_key: bool = False) -> DataFrame | None:
    """Return a delete for each truncate and key, with `CONTEXT`; None without truncates.

    Args:
        latest: the keys of a batch, with `LOW`.
        shape: the silver columns.
        truncates: 17 digits each, in order.
        load: number of the load.
        every_key: also for keys without a change from before the last truncate: the table still has their rows from before it.
    """
    if not truncates:
        return None
    deletes = [f"struct({string_literal(truncate_position(load, at))} AS position, {timestamp_literal(at)} AS at)" for at in truncates]
    keys = [quote(name) for name in shape.key]
    ended = latest if every_key else latest.where(f"{LOW} < {string_literal(truncate_position(load, truncates[-1]))}")
    exploded = ended.selectExpr(*keys, f"explode(array({', '.join(deletes)})) AS _cdc_truncate")
    own = (
        f"'D' AS {OP}",
        f"_cdc_truncate.position AS {POSITION}",
        f"_cdc_truncate.at AS {COMMITTED_AT}",
        f"0 AS {OLD_KEY}",
        f"0L AS {ROW}",
    )
    return exploded.selectExpr(*keys, *own, f"false AS {FILTERED}", f"true AS {CONTEXT}")
