"""The latest change of each key of a batch (modes ``mirror`` and ``soft_delete``): in one pass if it is in order, else with older files."""

from functools import reduce

import attrs
from pyspark.sql import DataFrame
from pyspark.sql.functions import expr

from dms_iceberg.bronze.position import begin_before
from dms_iceberg.changes.partial_updates import count_aggregates, kept_columns
from dms_iceberg.failpoints import failpoint
from dms_iceberg.merge import fill_forward as fill
from dms_iceberg.merge.batch_context import BatchContext, Transform
from dms_iceberg.merge.collapse_frames import collapse
from dms_iceberg.merge.crowded import crowding, suspicion
from dms_iceberg.merge.crowded.ambiguous_keys import keys_of_rows, touched_by
from dms_iceberg.merge.crowded.play import Verdict, bronze_past, play, stored_past
from dms_iceberg.merge.direct.delta import DIRECT, is_brief, measured_path, merge_path, planned_path, rows_figures, rows_in_files
from dms_iceberg.merge.duplicate_keys import duplicate_counts, duplicate_figures
from dms_iceberg.merge.late import changes as late
from dms_iceberg.merge.late.older_files import OlderFiles, SecondLook, older_files, rows_in_quarantine, second_look
from dms_iceberg.merge.late.truncates import apply_truncates
from dms_iceberg.merge.merge_input import MergeInput, as_it_is, measure, of_the_batch
from dms_iceberg.merge.present_rows import present
from dms_iceberg.modes.lookup import table_mode
from dms_iceberg.spark.broadcast import broadcast_if_small, materialised
from dms_iceberg.spark.kept_plans import as_planned_now
from dms_iceberg.sql.cdc_columns import N_LACKING, N_MOVED, OP, POSITION, STALE
from dms_iceberg.sql.quoting import quote, string_literal


def collapse_batch(batch: BatchContext) -> MergeInput:
    """Return the latest change of each key, and the row counts; the caller unpersists ``latest``."""
    progress = batch.planned.progress
    cleaned = batch.clean()
    kept = tuple(column.name for column in kept_columns(batch.context.config.bronze, batch.table, batch.shape.columns))
    # A load moves and deletes no row.
    watched = not batch.planned.batch.is_load
    counts = count_aggregates(kept) if kept else {}
    if watched:
        counts |= suspicion.aggregates(progress.load) | duplicate_counts(progress.load)
    path = planned_path(batch)
    latest = collapse(cleaned, batch.shape, with_context=False, counts=counts, size=batch.planned.batch.size)
    if path != DIRECT:
        latest.persist()
    result = None
    try:
        figures = {one: f"coalesce(sum({one}), 0)" for one in (N_LACKING, N_MOVED) if kept}
        change = batch.context.config.bronze.change
        figures |= (suspicion.figures(by_file=change.orders_by_file) if watched else {}) | duplicate_figures(
            batch.planned, batch.shape, change
        )
        figures |= rows_figures(batch) if path == DIRECT else {}
        brief = path == DIRECT and is_brief(batch)
        first = measure(latest, batch.shape, as_it_is, figures=figures, is_brief=brief)
        if brief and rows_in_files(batch) not in (0, first.row_counts.rows_read):
            # Files that were replaced meanwhile, or a kept plan that does not read them: what is planned now does.
            first = measure(as_planned_now(latest), batch.shape, as_it_is, figures=figures, is_brief=True)
        failpoint("after-collapse", batch.table.source)
        is_late = late.is_late(first.row_counts.low, progress) or bool(first.row_counts.disordered_keys)
        lacks = bool(kept) and first.figures[N_LACKING] > 0
        spans = suspicion.spans(first.figures, progress.arrivals)
        leaves = suspicion.leaves(first.figures, progress.arrivals)
        is_single = not (is_late or lacks or first.suspects or spans or leaves)
        written = measured_path(path, first.figures, first.rows)
        if path == DIRECT and not (is_single and written == DIRECT):
            # The rows of a direct batch come with its counts. To keep them for Spark as well costs a seventh of the batch.
            latest.persist()
        if not is_single:
            in_quarantine = rows_in_quarantine(batch)
            second = _SecondPass(batch, cleaned, first, kept, in_quarantine, is_late, lacks, spans, leaves, path)
            result = attrs.evolve(second.collapsed(), arrivals=first.arrivals)
        else:
            result = attrs.evolve(first, path=written)
        return result
    finally:
        if result is None or result.latest is not latest:
            latest.unpersist()


@attrs.frozen(eq=False)
class _SecondPass:
    """A batch whose own changes are not enough to find the latest of each key.

    Attributes:
        first: the latest changes by its own changes alone.
        kept: silver columns that updates may leave out.
        in_quarantine: see `rows_in_quarantine`.
        is_late: it has changes older than the table's newest, or files out of order.
        lacks: updates leave columns out.
        spans: see `suspicion.spans`.
        leaves: see `suspicion.leaves`.
        path: see `planned_path`.
    """

    batch: BatchContext
    cleaned: DataFrame
    first: MergeInput
    kept: tuple[str, ...]
    in_quarantine: DataFrame | None
    is_late: bool
    lacks: bool
    spans: bool
    leaves: bool
    path: str

    def collapsed(self) -> MergeInput:
        found = self._collapsed_late() if self.is_late else self.first
        others = self._others()
        if found.suspects or others is not None:
            try:
                return self._collapsed_crowded(found, others)
            finally:
                if found is not self.first:
                    found.latest.unpersist()
        return found if self.is_late or not self.lacks else self._collapsed_in_order(None)

    def _others(self) -> DataFrame | None:
        """Return keys that must be played although the batch's changes do not make them suspects; None without any."""
        found = [self._spanning() if self.spans else None, self._left_by_others() if self.leaves else None]
        if self.is_late and self.in_quarantine is not None:
            found.append(touched_by(self.batch, self.first.latest))
        there = [one for one in found if one is not None]
        return reduce(DataFrame.union, there) if there else None

    def _spanning(self) -> DataFrame | None:
        """Return keys with a change that is not later than the last move of an earlier batch; None without any.

        Of a late batch, only keys without a late change: the others are compared with their older changes, which show whether they are
        crowded.
        """
        progress, latest = self.batch.planned.progress, self.first.latest
        latest = latest.where(f"NOT {late.suspect_sql(progress.reached, latest.columns)}") if self.is_late else latest
        keys = materialised(latest.where(suspicion.spanning_sql(progress.arrivals)).select(*map(quote, self.batch.shape.key)))
        return None if keys.isEmpty() else keys

    def _left_by_others(self) -> DataFrame | None:
        """Return keys that a row leaves in the same commit in which an earlier batch brought the table's row there; None without any.

        Another row may have been there before, and either of the two may be the one that leaves.
        """
        progress, shape = self.batch.planned.progress, self.batch.shape
        if self.batch.planned.branch_state.head is None or progress.arrivals.inserted is None:
            return None
        times = crowding.time_select(shape.key, progress.load)
        # The join reads it twice, and a number that differs from batch to batch is compiled into the code.
        deleted = materialised(self.cleaned.where(f"{OP} = 'D'").selectExpr(*times))
        leaving = deleted.where(f"{crowding.AT} <= {progress.arrivals.inserted}L")
        # Rows of one commit have the same clock, so Iceberg need not read files that were not written lately.
        since = begin_before(self.first.row_counts.low, hours=late.SLACK_HOURS)
        stored = present(self.batch, self.first.ranges).where(f"{POSITION} >= {string_literal(since)}").selectExpr(*times)
        found = stored.join(broadcast_if_small(leaving, self.first.row_counts.rows_read), [*shape.key, crowding.AT], "left_semi")
        keys = materialised(found.select(*map(quote, shape.key)).distinct())
        return None if keys.isEmpty() else keys

    def _collapsed_crowded(self, found: MergeInput, others: DataFrame | None) -> MergeInput:
        batch, planned, shape = self.batch, self.batch.planned, self.batch.shape
        keys = [quote(name) for name in shape.key]
        suspects = found.latest.where(suspicion.suspect_sql()).select(*keys)
        suspects = materialised(suspects if others is None else suspects.union(others).distinct())
        suspects = broadcast_if_small(suspects, suspects.count())
        past = None
        if not self.is_late and others is None:
            past = stored_past(batch, suspects, found.ranges, self.in_quarantine)
        if past is not None:
            return self._collapsed_in_order(play(batch, suspects, past, self.in_quarantine))
        low = self.first.row_counts.low
        older = older_files(batch, low, self.in_quarantine, completes=bool(self.kept), whole=True)
        past = bronze_past(attrs.evolve(batch, groups=older.groups), suspects, is_whole=older.is_whole)
        verdict = play(batch, suspects, past, self.in_quarantine)
        # An update that is quarantined as a whole does not bring its row to the new key either.
        cleared = verdict.cleared(self.in_quarantine)
        unclear = verdict.of_unclear(self.cleaned).select(*keys)
        doubtful = late.suspect_sql(planned.progress.reached, self.first.latest.columns)
        every = suspects.union(unclear).union(self.first.latest.where(doubtful).select(*keys))
        of_cleared = None if cleared is None else keys_of_rows(batch.context, batch.table, planned.progress, shape, cleared)
        every = every if of_cleared is None else every.union(of_cleared)
        second = self if cleared is None else attrs.evolve(self, in_quarantine=_without(self.in_quarantine, cleared))
        return attrs.evolve(second._collapsed_late(verdict, older, materialised(every.distinct()), of_cleared), resolved=cleared)

    def _collapsed_in_order(self, verdict: Verdict | None) -> MergeInput:
        mark_rejected, effective = self._transforms(as_it_is, verdict, self._filler(is_late=False) if self.lacks else None)
        result = measure(collapse(effective(self.cleaned), self.batch.shape, with_context=False).persist(), self.batch.shape, mark_rejected)
        return _with_superseded(attrs.evolve(result, path=merge_path("late or crowded")), verdict)

    def _collapsed_late(
        self,
        verdict: Verdict | None = None,
        older: OlderFiles | None = None,
        keys: DataFrame | None = None,
        cleared: DataFrame | None = None,
    ) -> MergeInput:
        """Collapse the changes of suspects again (all changes, with a filler), with what bronze and the table have of their keys."""
        batch, planned, shape, first = self.batch, self.batch.planned, self.batch.shape, self.first
        reached, completes = planned.progress.reached, bool(self.kept)
        older = older or older_files(batch, first.row_counts.low, self.in_quarantine, completes=completes)
        suspects = keys if keys is not None else late.suspects(first.latest, shape, reached, first.row_counts.latest)
        moves = first.figures.get(suspicion.MOVED_AT) is not None
        # A late change may complete one in quarantine, which is then merged after all (`fill_forward.resolve`).
        in_quarantine = self.in_quarantine if planned.is_replay or not completes else None
        look = second_look(batch, older, suspects, in_quarantine, moves=moves)
        verdict = verdict and verdict.after_comparison(look.compare(look.of_suspects(self.cleaned)))
        stored = batch.stored()
        # Keys that were played are not checked for crowding again.
        counts = None if verdict else suspicion.aggregates(planned.progress.load)
        filler = self._filler(is_late=True) if self.kept else None
        if filler is not None:
            mark_rejected, effective = self._transforms(look.compare, verdict, filler)
            every = late.keys_of(first.latest, shape, first.row_counts.latest)
            looked = fill.resolve(late.collapse_late(effective(self.cleaned), stored, filler.collapse_shape, every, counts))
        else:
            mark_rejected, _ = self._transforms(look.compare_suspects, verdict, None)
            _, effective = self._transforms(look.compare, verdict, None)
            # Keys that were played may be those of others.
            stored = reduce(DataFrame.where, [*self._ranges(), *self._newer()] if keys is None else [], stored)
            looked = late.collapse_late(effective(look.of_suspects(self.cleaned)), stored, shape, look.keys, counts)
        looked = looked if verdict is None or not older.is_whole else verdict.restored(looked, shape, cleared)
        if filler is None:
            looked = looked.unionByName(self._plain(look, keys), allowMissingColumns=True)
        looked = apply_truncates(looked, shape, planned.effective_truncates, planned.progress.load)
        rewrite = fill.REFILL if fill.REFILL in looked.columns else None
        by_file = batch.context.config.bronze.change.orders_by_file
        figures = suspicion.figures(by_file=by_file) if verdict is None else {}
        # A MERGE compares the positions of rows that were played with those of the table.
        path = merge_path("late or crowded") if verdict is not None else self.path
        figures |= rows_figures(batch, late_keys=first.row_counts.latest) if path == DIRECT else {}
        measured = measure(looked.persist(), shape, of_the_batch(mark_rejected), is_late=True, figures=figures)
        path = measured_path(path, measured.figures, measured.rows)
        return _with_superseded(attrs.evolve(measured, rewrite=rewrite, is_cut=look.is_cut, path=path), verdict)

    def _plain(self, look: SecondLook, keys: DataFrame | None) -> DataFrame:
        if keys is None:
            return late.latest_in_order(self.first.latest, self.batch.planned.progress.reached)
        return look.of_others(self.first.latest).withColumn(STALE, expr("false"))

    def _transforms(self, base: Transform, verdict: Verdict | None, filler: Transform | None) -> tuple[Transform, Transform]:
        """Return `MergeInput.mark_rejected`, which keeps all changes, and what a collapse takes: only changes with an effect."""

        def every(rows: DataFrame) -> DataFrame:
            if verdict is None:
                return (filler or as_it_is)(base(rows))
            marked = verdict.mark(base(rows))
            if filler is None:
                return verdict.unmarked(marked)
            return filler(verdict.with_effect(marked)).unionByName(verdict.without_effect(marked), allowMissingColumns=True)

        def effective(rows: DataFrame) -> DataFrame:
            marked = base(rows) if verdict is None else verdict.with_effect(verdict.mark(base(rows)))
            return (filler or as_it_is)(marked)

        return every, effective

    def _filler(self, *, is_late: bool) -> fill.Filler:
        """Return the filler for the changes of a batch that is late, or leaves columns out."""
        first, shape = self.first, self.batch.shape
        keys = first.latest.where(f"{POSITION} IS NOT NULL").select(*(quote(name) for name in shape.key))
        stored = fill.stored_rows(self.batch.stored(), keys, shape, self.kept, self._ranges())
        rejected = fill.rejected_rows(self.in_quarantine, keys, shape) if self.in_quarantine is not None else None
        return fill.Filler(self.kept, shape, stored, rejected, late=is_late, moves=first.figures[N_MOVED] > 0)

    def _newer(self) -> list[str]:
        """Return conditions that leave out only rows of the table which are older than all changes of the batch.

        To a mirror such a row is as good as none, and Iceberg does not read files that have no other. In `soft_delete` changes of older
        files are compared with the table, too.
        """
        return [f"{POSITION} >= {string_literal(self.first.row_counts.low)}"] if table_mode(self.batch.table.mode).forgets_older else []

    def _ranges(self) -> list[str]:
        """Return conditions on the table's rows that hold for all keys of usable changes of the batch."""
        return [text for one in self.first.ranges if (text := one.sql())]


def _with_superseded(result: MergeInput, verdict: Verdict | None) -> MergeInput:
    return result if verdict is None else attrs.evolve(result, row_counts=verdict.with_superseded(result.row_counts))


def _without(in_quarantine: DataFrame | None, cleared: DataFrame) -> DataFrame | None:
    return in_quarantine.join(cleared.select("id"), "id", "left_anti") if in_quarantine is not None else None
