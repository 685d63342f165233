"""Fills columns that updates leave out with the last supplied value of their row: from the batch, else from the table.

A value is taken along changes of key, never across a delete, and never past a change in quarantine that may hold the value: a change that
cannot be completed is quarantined, not guessed. See `fill_forward_sql` for the terms.
"""

from collections.abc import Sequence

import attrs
from pyspark.sql import DataFrame
from pyspark.sql.functions import expr, lit

from dms_iceberg.changes.mapping import SilverColumn
from dms_iceberg.changes.shape import Shape
from dms_iceberg.config.model import Column
from dms_iceberg.merge import fill_forward_sql as fill_sql
from dms_iceberg.merge.fill_forward_sql import CHANGE, CHILD, FRESH, KIND, LIFE, PARENT, SEGMENT
from dms_iceberg.spark.broadcast import materialised
from dms_iceberg.sql.cdc_columns import (
    BATCH_POSITION,
    CONTEXT,
    DELETE,
    FILE,
    HIGH,
    KEPT_POSITIONS,
    MOVED,
    OLD_KEY,
    POSITION,
    PROBLEM,
    STALE,
    STORED_POSITION,
)
from dms_iceberg.sql.json_text import json_sql

REFILL = "_cdc_refill"


@attrs.frozen(eq=False)
class Filler:
    """Completes the changes of one batch.

    Attributes:
        kept: silver columns that updates may leave out.
        shape: the silver columns.
        stored: the table's rows of the batch's keys (`stored_rows`).
        rejected: quarantine rows of those keys (`rejected_rows`), None without any.
        late: rows carry `CONTEXT`, and the batch was compared with older files.
        moves: whether rows of the batch move to other keys.
    """

    kept: tuple[str, ...]
    shape: Shape
    stored: DataFrame
    rejected: DataFrame | None
    late: bool
    moves: bool

    @property
    def collapse_shape(self) -> Shape:
        """The shape of completed rows: the collapse of a late batch must keep `FRESH`."""
        fresh = SilverColumn(FRESH, None, False, Column(name=FRESH))
        return attrs.evolve(self.shape, columns=(*self.shape.columns, fresh)) if self.late else self.shape

    def __call__(self, rows: DataFrame) -> DataFrame:
        """Return cleaned changes completed, with `FRESH`; the `PROBLEM` of some says why they cannot be completed."""
        events = rows.withColumn(KIND, lit(CHANGE))
        if not self.late:
            events = events.withColumn(CONTEXT, lit(False))
        for more in (self.stored, self.rejected):
            events = events.unionByName(more, allowMissingColumns=True) if more is not None else events
        key = self.shape.key
        types = {name: self.shape.types[name] for name in self.shape.values if name != KEPT_POSITIONS}
        if self.rejected is not None:
            events = events.selectExpr(*fill_sql.completed_select(key)).where(f"NOT {fill_sql.COMPLETED}")
        events = events.selectExpr(*fill_sql.start_select(key, types, late=self.late)).selectExpr(*fill_sql.segment_select(key))
        events = _with_lives(events) if self.moves or self.late else events.withColumn(LIFE, expr(SEGMENT))
        events = events.selectExpr(*fill_sql.supply_select(self.kept)).selectExpr(*fill_sql.lost_select(self.kept))
        events = events.selectExpr(*fill_sql.best_select(key)).where(f"{KIND} = '{CHANGE}'")
        return events.selectExpr(*fill_sql.filled_select(rows.columns, self.kept, late=self.late))


def _with_lives(events: DataFrame) -> DataFrame:
    """Join segments along changes of key: both halves of one have the same position in the same file."""
    old = events.where(f"{OLD_KEY} = 1 AND {PROBLEM} IS NULL").selectExpr(POSITION, FILE, f"{SEGMENT} AS {PARENT}")
    new = events.where(f"{MOVED} AND {OLD_KEY} = 0").selectExpr(POSITION, FILE, f"{SEGMENT} AS {CHILD}")
    links = materialised(new.join(old, [POSITION, FILE]).select(CHILD, PARENT).dropDuplicates([CHILD]))
    if links.isEmpty():
        return events.withColumn(LIFE, expr(SEGMENT))
    roots = _roots(links).withColumnRenamed(CHILD, SEGMENT)
    return events.join(roots, SEGMENT, "left").withColumn(LIFE, expr(f"coalesce({PARENT}, {SEGMENT})"))


def _roots(links: DataFrame) -> DataFrame:
    """Follow each segment to the first of its life. Each turn doubles the distance, so a chain of a thousand segments takes ten turns.

    Each turn is a checkpoint, because a plan that contains the one before twice would double in size with every turn.
    """
    while True:
        upper = links.selectExpr(f"{CHILD} AS {PARENT}", f"{PARENT} AS upper")
        turn = links.join(upper, PARENT, "left").selectExpr(CHILD, f"coalesce(upper, {PARENT}) AS {PARENT}", "upper IS NOT NULL AS went")
        turn = materialised(turn)
        links = turn.select(CHILD, PARENT)
        if turn.where("went").isEmpty():
            return links


def stored_rows(target: DataFrame, keys: DataFrame, shape: Shape, kept: Sequence[str], ranges: Sequence[str]) -> DataFrame:
    """Return the table's rows of ``keys`` as events. ``ranges`` are conditions that hold for all keys and prune the table's files."""
    found = target
    for condition in ranges:
        found = found.where(condition)
    return found.join(keys, on=shape.key, how="left_semi").selectExpr(*fill_sql.stored_select(shape.key, kept))


def rejected_rows(in_quarantine: DataFrame, keys: DataFrame, shape: Shape) -> DataFrame:
    """Return the rows of ``keys`` among ``in_quarantine``, rows of merged files, as events."""
    listed = keys.selectExpr("*", f"{json_sql(shape.key)} AS {fill_sql.Q_KEY}").distinct()
    others = in_quarantine.where("position IS NOT NULL")
    # Only the columns used: silver keys may have the names of quarantine columns.
    others = others.selectExpr(
        f"op AS {fill_sql.Q_OP}", f"position AS {fill_sql.Q_POSITION}", f"key AS {fill_sql.Q_KEY}", f"reason AS {fill_sql.Q_REASON}"
    )
    return listed.join(others, fill_sql.Q_KEY).selectExpr(*fill_sql.rejected_select(shape.key))


def resolve(looked: DataFrame) -> DataFrame:
    """Mark with `REFILL` completed older changes that the MERGE of a late batch must write.

    The latest change of such a key was read before the batch. It is written again when it takes a value from the batch, or when the
    table does not have it: then it could not be completed at its time, and can be now.
    """
    stored = f"coalesce({STORED_POSITION} < {POSITION}, true) OR {FRESH} AND {STORED_POSITION} = {POSITION}"
    refill = f"{CONTEXT} AND NOT {DELETE} AND {KEPT_POSITIONS} IS NOT NULL AND ({stored})"
    resolved = looked.withColumn(REFILL, expr(f"coalesce({refill}, false)"))
    return resolved.withColumn(STALE, expr(f"{STALE} AND NOT ({REFILL} AND {BATCH_POSITION} = {HIGH})")).withColumn(
        CONTEXT, expr(f"{CONTEXT} AND NOT {REFILL}")
    )
