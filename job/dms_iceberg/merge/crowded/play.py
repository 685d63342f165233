"""Plays the changes of keys that may be crowded (`merge.crowded.crowding`), and applies the result to the rows of a batch.

Only few keys are played. Each is looked up where its earlier rows are: among the changes of the batch, in the table, or, where the table
may not show them, in all of bronze.
"""

from collections.abc import Sequence

import attrs
from pyspark.sql import DataFrame
from pyspark.sql.functions import broadcast, col, expr, lit

from dms_iceberg.changes.clean import else_problem
from dms_iceberg.changes.normalise import AMBIGUOUS
from dms_iceberg.changes.shape import Shape
from dms_iceberg.merge.batch_context import BatchContext
from dms_iceberg.merge.crowded import crowding
from dms_iceberg.merge.crowded.crowding import ARRIVES, IS_LAST_WRITING, KIND, LEAVES, N_READ, OUTCOME, PLACE, SIDE, USABLE, WRITING_GROUPS
from dms_iceberg.merge.crowded.crowding import ID as EVENT
from dms_iceberg.merge.fill_forward import REFILL
from dms_iceberg.merge.present_rows import hides_rows, present
from dms_iceberg.merge.statement import KeyRange
from dms_iceberg.merge.versions import VOID
from dms_iceberg.silver.row_counts import BatchCounts
from dms_iceberg.spark.broadcast import broadcast_if_small, materialised
from dms_iceberg.sql.cdc_columns import (
    CONTEXT,
    FILE_NAME,
    IMAGED,
    OLD_KEY,
    POSITION,
    PROBLEM,
    ROW_POSITION,
    STALE,
    STORED_POSITION,
    STORED_ROW_POSITION,
)
from dms_iceberg.sql.json_text import json_sql
from dms_iceberg.sql.quoting import quote, string_literal
from dms_iceberg.sql.value_text import value_text

_TOUCHED = "_cdc_touched"
_RUN, _UNCLEAR, _LEFT, _REST, _EFFECT = "_cdc_run", "_cdc_unclear", "_cdc_left", "_cdc_rest", "_cdc_effect"


@attrs.frozen(eq=False)
class Verdict:
    """The result of playing the changes of crowded keys. Frames are materialised.

    Attributes:
        key: silver key columns.
        unclear: position and file name of updates and deletes that do not identify the row they change.
        played: position and file name of all updates and deletes that were played.
        voids: halves of changes without effect on their key, because the row that they brought or changed is gone, or because another one
            left: key columns, position, file name, side.
        keys: all keys that were played. A key that is not crowded now may have been crowded by what an earlier batch knew.
        superseded: number of the batch's rows among ``voids``, without rejected ones (`after_comparison`).
    """

    key: Sequence[str]
    unclear: DataFrame
    played: DataFrame
    voids: DataFrame
    keys: DataFrame
    superseded: int

    def mark(self, rows: DataFrame) -> DataFrame:
        """Return cleaned changes with `VOID`, and unclear ones with their `PROBLEM`; one that is rejected is not without effect."""
        marked = rows.join(broadcast(self.unclear), [POSITION, FILE_NAME], "left")
        problem = else_problem([f"WHEN {_UNCLEAR} THEN {string_literal(crowding.MESSAGE)}"])
        marked = marked.withColumn(PROBLEM, expr(problem)).drop(_UNCLEAR)
        sides = marked.withColumn(SIDE, expr(f"1 - {OLD_KEY}"))
        return (
            sides.join(self.voids, [*self.key, POSITION, FILE_NAME, SIDE], "left")
            .withColumn(VOID, expr(f"coalesce({VOID}, false) AND {PROBLEM} IS NULL"))
            .drop(SIDE)
        )

    def after_comparison(self, rows: DataFrame) -> "Verdict":
        """Return the verdict once the changes are compared with older files: those that this rejects do not count as superseded.

        Costs a Spark job where changes are without effect.
        """
        if not self.superseded:
            return self
        rejected = rows.where(f"{OLD_KEY} = 0 AND NOT {CONTEXT} AND {PROBLEM} IS NOT NULL").withColumn(SIDE, lit(1))
        voids = self.voids.select(*map(quote, self.key), POSITION, FILE_NAME, SIDE)
        return attrs.evolve(self, superseded=self.superseded - rejected.join(voids, voids.columns, "left_semi").count())

    def with_effect(self, marked: DataFrame) -> DataFrame:
        """Return the changes among ``marked`` that may have an effect."""
        return marked.where(f"NOT {VOID}").drop(VOID)

    def unmarked(self, marked: DataFrame) -> DataFrame:
        """Return all changes among ``marked``."""
        return marked.drop(VOID)

    def without_effect(self, marked: DataFrame) -> DataFrame:
        """Return the changes among ``marked`` without an effect."""
        return marked.where(VOID).drop(VOID)

    def of_unclear(self, rows: DataFrame) -> DataFrame:
        """Return both halves of unclear changes among cleaned changes."""
        return rows.join(broadcast(self.unclear), [POSITION, FILE_NAME], "left_semi")

    def with_superseded(self, counts: BatchCounts) -> BatchCounts:
        """Add the changes without an effect to the row counts of those with one."""
        more = self.superseded
        return attrs.evolve(counts, rows_read=counts.rows_read + more, superseded=counts.superseded + more, void=more)

    def of_versions(self, begun: DataFrame) -> DataFrame:
        """Mark with `VOID` the versions of the table (`versions.version_events`) that changes without an effect began."""
        known = self.voids.where(f"{SIDE} = 1").select(*map(quote, self.key), POSITION, VOID).distinct()
        return begun.drop(VOID).join(known, [*self.key, POSITION], "left").withColumn(VOID, expr(f"coalesce({VOID}, false)"))

    def of_ends(self, ends: DataFrame) -> DataFrame:
        """Leave out the ends of versions (`versions.end_events`) that come from changes without an effect."""
        return ends.join(self.voids.select(*map(quote, self.key), POSITION).distinct(), [*self.key, POSITION], "left_anti")

    def cleared(self, in_quarantine: DataFrame | None) -> DataFrame | None:
        """Return the rows of the quarantine that are no longer unclear, because older changes have arrived since; None without any."""
        if in_quarantine is None:
            return None
        rows = in_quarantine.where(f"reason = {string_literal(AMBIGUOUS)}")
        clear = _named(rows).join(self.played, [POSITION, FILE_NAME], "left_semi").join(self.unclear, [POSITION, FILE_NAME], "left_anti")
        clear = materialised(clear.drop(POSITION, FILE_NAME))
        return None if clear.isEmpty() else clear

    def restored(self, looked: DataFrame, shape: Shape, cleared: DataFrame | None) -> DataFrame:
        """Mark with `REFILL` the rows that the MERGE of a late batch must write, whatever the table has.

        The row that remains at a crowded key may be older than one that the table got before the rest of the transaction came. Changes that
        were unclear, or had no effect as long as an older change was missing, may have to be written as well.

        Args:
            cleared: keys, old and new, of changes that are no longer unclear; None without any.
        """
        keys = self.keys if cleared is None else self.keys.union(cleared).distinct()
        marked = looked.join(keys.withColumn(_TOUCHED, lit(True)), shape.key, "left")
        differs = f"NOT ({STORED_POSITION} <=> {POSITION})"
        if shape.keeps_deleted:
            differs = f"({differs} OR NOT ({STORED_ROW_POSITION} <=> {ROW_POSITION})) AND {ROW_POSITION} IS NOT NULL"
        forced = f"coalesce({_TOUCHED} AND {POSITION} IS NOT NULL AND {differs}, false)"
        before = REFILL if REFILL in looked.columns else "false"
        columns = {REFILL: f"({before} OR {forced})", CONTEXT: f"({CONTEXT} AND NOT {forced})", STALE: f"({STALE} AND NOT {forced})"}
        return marked.withColumns({name: expr(sql) for name, sql in columns.items()}).drop(_TOUCHED)


def play(batch: BatchContext, keys: DataFrame, past: "Past", in_quarantine: DataFrame | None) -> Verdict:
    """Play the changes of ``keys`` one after the other.

    Args:
        batch: the batch with the changes.
        keys: the silver keys.
        past: their rows or changes before the batch.
        in_quarantine: open rows of the quarantine that the batch leaves alone.
    """
    rows = _changes(batch, keys, with_context=False)
    rows = rows.unionByName(past.rows) if past.rows is not None else rows
    if not past.is_whole:
        # Each key may have had a row that nothing shows any more, and that may equal any image.
        rows = rows.unionByName(keys.selectExpr(*crowding.unknown_select(batch.shape.key))).withColumn(IMAGED, lit(None).cast("string"))
    key = [quote(name) for name in batch.shape.key]
    events = rows.groupBy(*key, *WRITING_GROUPS).agg(*(expr(sql).alias(name) for name, sql in crowding.writing_aggregates().items()))
    events = events.withColumn(crowding.ERA, expr(crowding.era_sql(batch.planned.progress.load, batch.planned.effective_truncates)))
    for step in crowding.identity_steps(batch.shape.key):
        events = events.withColumns({name: expr(sql) for name, sql in step.items()})
    events = materialised(events)
    crowded = _crowded_runs(events, batch.shape)
    unclear = events.join(crowded.where(_UNCLEAR).select(EVENT), EVENT, "left_semi").select(POSITION, FILE_NAME).distinct()
    played = events.where(f"{KIND} <> '{ARRIVES}'").select(POSITION, FILE_NAME).distinct()
    if in_quarantine is not None:
        # A row that could not leave a key which is not asked for now has not come to any of ``keys``.
        held = _named(in_quarantine.where(f"reason = {string_literal(AMBIGUOUS)}")).select(POSITION, FILE_NAME)
        unclear = unclear.union(held.join(played, [POSITION, FILE_NAME], "left_anti")).distinct()
    unclear = materialised(unclear.withColumn(_UNCLEAR, lit(True)))
    voids = materialised(_voids(events, crowded, unclear, batch.shape))
    counted = int(voids.selectExpr(f"coalesce(sum({N_READ}), 0)").collect()[0][0])
    voids = voids.select(*key, POSITION, FILE_NAME, SIDE).withColumn(VOID, lit(True))
    return Verdict(batch.shape.key, unclear, played, broadcast_if_small(voids, voids.count()), keys, counted)


def _named(rows: DataFrame) -> DataFrame:
    """Return rows of the quarantine with `POSITION` and `FILE_NAME`, as changes have them."""
    return rows.withColumns({POSITION: col("position"), FILE_NAME: expr("substring_index(file, '/', -1)")})


def _crowded_runs(events: DataFrame, shape: Shape) -> DataFrame:
    """Return the events of runs in which their key was crowded: the run, whether the event is unclear, and whether its row remained."""
    key = [quote(name) for name in shape.key]
    outcomes = events.where(IS_LAST_WRITING).groupBy(*key).agg(expr(crowding.outcome_aggregate()).alias(OUTCOME))
    runs = outcomes.selectExpr(*key, f"posexplode({OUTCOME}) AS ({_RUN}, {_EFFECT})")
    members = runs.selectExpr(
        *key, _RUN, f"explode({_EFFECT}.ids) AS {EVENT}", f"{_EFFECT}.unclear AS {_UNCLEAR}", f"{_EFFECT}.rest AS {_REST}"
    )
    columns = (
        f"array_contains({_UNCLEAR}, {EVENT}) AS {_UNCLEAR}",
        f"array_contains({_REST}, {EVENT}) AS {_LEFT}",
        f"size({_REST}) AS {_REST}",
    )
    return materialised(members.selectExpr(*key, _RUN, EVENT, *columns))


def _voids(events: DataFrame, crowded: DataFrame, unclear: DataFrame, shape: Shape) -> DataFrame:
    """Return the events of crowded runs without effect.

    One event of a run has an effect on its key: the one that wrote the row that remained; if no row remained, the last one that took a row
    away. If a row from before the run remained, no event has. Quarantined events do not count.
    """
    key = [quote(name) for name in shape.key]
    known = events.join(crowded, [*shape.key, EVENT]).join(
        broadcast(unclear.withColumnRenamed(_UNCLEAR, _EFFECT)), [POSITION, FILE_NAME], "left"
    )
    good = f"{USABLE} AND {_EFFECT} IS NULL AND {IS_LAST_WRITING}"
    place = f"struct({PLACE}, {SIDE})"

    def last(condition: str) -> str:
        return f"max_by(CASE WHEN {condition} THEN {EVENT} END, CASE WHEN {condition} THEN {place} END)"

    row, leave = last(f"{good} AND {_LEFT} AND {KIND} <> '{LEAVES}'"), last(f"{good} AND {KIND} = '{LEAVES}'")
    stays = f"max({_REST}) > count_if({_LEFT} AND {IS_LAST_WRITING})"
    effect = expr(f"coalesce({row}, CASE WHEN NOT ({stays}) THEN {leave} END)").alias(_REST)
    effects = known.groupBy(*key, _RUN).agg(effect)
    known = known.drop(_REST).join(effects, [*shape.key, _RUN])
    # Unusable ones go to quarantine.
    return known.where(f"{USABLE} AND {_EFFECT} IS NULL AND NOT ({EVENT} <=> {_REST} AND {IS_LAST_WRITING})")


def texts(shape: Shape) -> list[str]:
    """SQL of the texts of silver columns (`value_text`), without those of the key."""
    return [value_text(name, shape.types[name]) for name in shape.values]


def _changes(batch: BatchContext, keys: DataFrame, *, with_context: bool) -> DataFrame:
    load = batch.planned.progress.load
    cleaned = attrs.evolve(batch, shape=attrs.evolve(batch.shape, refused={})).clean(with_images=True)
    rows = cleaned.where(f"{POSITION} IS NOT NULL").withColumn(CONTEXT, lit(with_context))
    # In a copy of a bucket, files are younger than their content: then every change may be from before the load.
    loaded_until = max((file.modified for file in batch.planned.loads), default="")
    selected = rows.selectExpr(*crowding.change_select(batch.shape.key, texts(batch.shape), load, loaded_until))
    return selected.join(keys, keys.columns, "left_semi")


@attrs.frozen(eq=False)
class Past:
    """The past of keys before a batch: rows of the table, or changes in older files.

    Attributes:
        rows: what is known, None for nothing.
        is_whole: the keys had no other rows.
    """

    rows: DataFrame | None
    is_whole: bool = True


def bronze_past(batch: BatchContext, keys: DataFrame, *, is_whole: bool) -> Past:
    """Return the changes of ``keys`` in the groups of ``batch``, which are merged files here; see `Past` for ``is_whole``."""
    rows = _changes(batch, keys, with_context=True) if batch.groups else None
    return Past(rows, is_whole)


def stored_past(
    batch: BatchContext,
    keys: DataFrame,
    ranges: Sequence[KeyRange],
    in_quarantine: DataFrame | None,
) -> Past | None:
    """Return the table's rows of ``keys``; None where the source may have had rows that the table does not show.

    For a batch in order the table has the earlier rows of its keys, unless one is hidden: by the filter or a rule, or in quarantine. With
    ``track_columns`` a version has the other columns as they were when it began, which need not be those of an image.

    Args:
        ranges: ranges of the key columns, to prune the table's files.
        in_quarantine: open rows of the quarantine.
    """
    if batch.planned.branch_state.head is None:
        return Past(None)
    if batch.table.track_columns:
        return None
    if in_quarantine is not None:
        listed = keys.selectExpr(f"{json_sql(batch.shape.key)} AS _cdc_text").join(
            in_quarantine.selectExpr("key AS _cdc_text"), "_cdc_text", "left_semi"
        )
        if not listed.isEmpty():
            return None
    stored = present(batch, ranges).join(keys, keys.columns, "left_semi")
    found = materialised(stored.selectExpr(*crowding.stored_select(batch.shape.key, texts(batch.shape), batch.planned.progress.load)))
    return None if hides_rows(batch.table) and found.count() < keys.count() else Past(found)
