"""The versions and books of one batch in mode ``history``: every change is a version once.

A batch in order needs of the table only what is current of its keys. A late one, or one that may repeat changes, is put together with all
versions of its keys and with what bronze holds of them since, and the versions are made anew (`merge.versions`).
"""

from collections.abc import Mapping, Sequence

import attrs
from pyspark.sql import DataFrame
from pyspark.sql.functions import expr, lit

from dms_iceberg.bronze.position import is_load_position
from dms_iceberg.changes.frames import ReadGroup, Shape, clean_groups
from dms_iceberg.changes.identity import clock_prefix
from dms_iceberg.config.model import Table
from dms_iceberg.context import Job, Planned
from dms_iceberg.errors import SchemaChangeError
from dms_iceberg.failpoints import reach
from dms_iceberg.merge import late, suspicion, versions
from dms_iceberg.merge.ambiguous_keys import keys_of_rows, touched_by
from dms_iceberg.merge.collapse import USABLE
from dms_iceberg.merge.collapse_frames import collapse
from dms_iceberg.merge.crowded import Verdict, bronze_past, play, stored_past
from dms_iceberg.merge.late_context import older_files, second_look, waiting_rows
from dms_iceberg.merge.merge_input import Collapsed, Judge, as_it_is, measure, of_the_batch
from dms_iceberg.progress.progress import Progress
from dms_iceberg.silver.row_counts import Books
from dms_iceberg.silver.table import TargetTable
from dms_iceberg.spark.broadcast import handed_out, materialised
from dms_iceberg.sql.cdc_columns import COMMITTED_AT, CONTEXT, DELETE_POSITION, IS_CURRENT, POSITION, WAITING
from dms_iceberg.sql.quoting import quote

_FIRST_CLOCK = "_cdc_first_clock"
_CLOCK = f"date_format({COMMITTED_AT}, 'yyyyMMddHHmmssSS')"


def history_batch(job: Job, table: Table, target: TargetTable, planned: Planned, groups: Sequence[ReadGroup], shape: Shape) -> Collapsed:
    """Return the batch's versions, materialised, and its books; the caller unpersists ``winners``.

    Raises:
        SchemaChangeError: ``track_columns`` names a column that the table does not have.
    """
    tracked = _tracked(table, shape)
    load = planned.progress.load
    cleaned = clean_groups(job.spark, groups, job.config, table, shape, load).persist()
    # Which keys there are, and how far back their changes go.
    only_keys = attrs.evolve(shape, columns=tuple(column for column in shape.columns if column.is_key))
    counts = {_FIRST_CLOCK: f"min(CASE WHEN {USABLE} THEN {_CLOCK} END)", **suspicion.aggregates(load)}
    winners = collapse(cleaned, only_keys, context=False, counts=counts, size=planned.batch.size).persist()
    try:
        figures = {_FIRST_CLOCK: f"min({_FIRST_CLOCK})", **suspicion.figures()}
        first = measure(winners, only_keys, as_it_is, figures=figures)
    except BaseException:
        cleaned.unpersist()
        raise
    rows = None
    try:
        reach("after-collapse", table.source)
        found = _Events(job, table, target, planned, groups, shape, only_keys, cleaned, first).judged()
        whole = found.is_late or _goes_back(first.figures[_FIRST_CLOCK], planned.progress)
        events = found.events.withColumn(WAITING, expr(f"coalesce({WAITING}, false)" if WAITING in found.events.columns else "false"))
        events = events.where(USABLE).selectExpr(*versions.change_events(shape.key, shape.values))
        if planned.standing.head is not None:
            events = _with_stored(events, target.rows(planned.standing.branch), first, shape, found, whole=whole)
        rows = made_versions(events, shape.key, shape.values, tracked, load, whole=whole).persist()
        # What is settled may be of keys that are not in the batch.
        ranges = first.ranges if found.settled is None else ()
        books = _with_versions(found.books, rows)
        return Collapsed(rows, books, ranges, found.is_late, found.judge, is_cut=found.is_cut, settled=found.settled)
    except BaseException:
        if rows is not None:
            rows.unpersist()
        raise
    finally:
        first.winners.unpersist()
        cleaned.unpersist()


@attrs.frozen(eq=False)
class _Judged:
    """What counts of a batch, and of older files beside it.

    Attributes:
        events: cleaned changes with `CONTEXT`, and with `WAITING` where some may be in quarantine.
        judge: see `Collapsed`.
        verdict: of keys that may be crowded, if any.
        settled: see `Collapsed`.
        settled_keys: the keys that they are about, old and new.
    """

    events: DataFrame
    books: Books
    judge: Judge
    is_late: bool = False
    is_cut: bool = False
    verdict: Verdict | None = None
    settled: DataFrame | None = None
    settled_keys: DataFrame | None = None


@attrs.frozen(eq=False)
class _Events:
    """The changes of a batch; ``first`` is what collapsing them to ``only_keys`` has shown."""

    job: Job
    table: Table
    target: TargetTable
    planned: Planned
    groups: Sequence[ReadGroup]
    shape: Shape
    only_keys: Shape
    cleaned: DataFrame
    first: Collapsed

    def judged(self) -> _Judged:
        books, planned = self.first.books, self.planned
        bound = repeated_up_to(planned.progress)
        if books.low and (books.low <= bound or books.disordered_keys):
            return self._judged_late(bound, waiting_rows(self.job, self.table, planned))
        if not self.first.suspects:
            return _Judged(self.cleaned.withColumn(CONTEXT, lit(False)), books, as_it_is)
        waiting = waiting_rows(self.job, self.table, planned)
        keys = self._suspects(self.first)
        past = stored_past(self.job, self.table, self.target, planned, self.shape, keys, self.first.ranges, waiting)
        if past is None:
            older = older_files(self.job, self.table, planned, self.shape, books.low, waiting, whole=True)
            past = bronze_past(self.job, self.table, planned, older.groups, self.shape, keys, is_whole=older.is_whole)
        verdict = play(self.job, self.table, planned, self.groups, self.shape, keys, past)
        return self._with_verdict(_Judged(self.cleaned.withColumn(CONTEXT, lit(False)), books, as_it_is), verdict)

    def _judged_late(self, bound: str, waiting: DataFrame | None) -> _Judged:
        job, table, planned, shape, first = self.job, self.table, self.planned, self.shape, self.first
        older = older_files(job, table, planned, shape, first.books.low, waiting)
        suspects = late.suspects(first.winners, shape, bound, first.books.winners)
        look = second_look(job, table, planned, older, suspects, shape, waiting, with_waiting=True)
        events = look.judge(self.cleaned)
        counts = suspicion.aggregates(planned.progress.load)
        found = self._measured(events, counts)
        try:
            truncated = late.truncate_events(first.winners, self.only_keys, planned.heeded, planned.progress.load)
            every = events.unionByName(truncated, allowMissingColumns=True) if truncated is not None else events
            judged = _Judged(every, found.books, of_the_batch(look.judge), is_late=True, is_cut=look.is_cut)
            touched = None if waiting is None else touched_by(job, table, planned, shape, first.winners)
            if not found.suspects and touched is None:
                return judged
            keys = self._suspects(found)
            keys = keys if touched is None else materialised(keys.union(touched).distinct())
        finally:
            found.winners.unpersist()
        older = older_files(job, table, planned, shape, first.books.low, waiting, whole=True)
        past = bronze_past(job, table, planned, older.groups, shape, keys, is_whole=older.is_whole)
        verdict = play(job, table, planned, self.groups, shape, keys, past)
        cleared = verdict.cleared(waiting)
        if cleared is not None and waiting is not None:
            # With all that their keys have been, as they come into the table only now.
            of_cleared = keys_of_rows(job, table, planned.progress, shape, cleared)
            suspects = materialised(suspects.union(of_cleared).distinct())
            left = waiting.join(cleared.select("id"), "id", "left_anti")
            look = second_look(job, table, planned, older, suspects, shape, left, with_waiting=True)
            events = look.judge(self.cleaned)
            every = events.unionByName(truncated, allowMissingColumns=True) if truncated is not None else events
            judged = attrs.evolve(judged, events=every, judge=of_the_batch(look.judge), settled=cleared, settled_keys=of_cleared)
        return self._with_verdict(judged, verdict)

    def _suspects(self, found: Collapsed) -> DataFrame:
        keys = found.winners.where(suspicion.suspect_sql()).select(*map(quote, self.shape.key))
        return handed_out(materialised(keys), found.suspects)

    def _measured(self, events: DataFrame, counts: Mapping[str, str] | None = None) -> Collapsed:
        events = events.where(f"NOT coalesce({WAITING}, false)") if WAITING in events.columns else events
        winners = collapse(events, self.only_keys, context=True, counts=counts).persist()
        return measure(winners, self.only_keys, as_it_is, figures=suspicion.figures() if counts else None)

    def _with_verdict(self, judged: _Judged, verdict: Verdict) -> _Judged:
        events = verdict.with_effect(verdict.mark(judged.events))
        found = self._measured(events)
        found.winners.unpersist()
        return attrs.evolve(
            judged,
            events=events,
            books=verdict.with_superseded(found.books),
            judge=lambda rows: verdict.mark(judged.judge(rows)).drop(versions.VOID),
            verdict=verdict,
        )


def made_versions(
    events: DataFrame, key: Sequence[str], values: Sequence[str], tracked: Sequence[str], load: int, *, whole: bool
) -> DataFrame:
    """Return the versions that events make (`versions.version_select`); see `versions.steps` for the arguments."""
    for step in versions.steps(key, values, tracked, load, whole=whole):
        events = events.withColumns({name: expr(sql) for name, sql in step.columns.items()})
        events = events.where(step.where) if step.where is not None else events
    return events.selectExpr(*versions.version_select(key, values))


def repeated_up_to(progress: Progress) -> str:
    """Return text above the positions at which a change may be a repetition, or late: those up to the clock of the newest change.

    Loaded rows all have one clock, and files of a load follow each other: among them only a lower position is late.
    """
    if is_load_position(progress.high_water, progress.load):
        return progress.reached
    # A colon sorts behind every digit.
    return max(f"{clock_prefix(progress.high_water, progress.load)}:", progress.reached)


def _tracked(table: Table, shape: Shape) -> list[str]:
    known = {name.lower(): name for name in shape.values}
    unknown = [name for name in table.track_columns if name.lower() not in known]
    if unknown:
        raise SchemaChangeError(
            f'tables."{table.source}".track_columns: {table.target} has no column {unknown[0]!r} beside its key; it has '
            f"{', '.join(shape.values)}. Correct the name."
        )
    return [known[name.lower()] for name in table.track_columns]


def _goes_back(first_clock: str | None, progress: Progress) -> bool:
    """Whether a change was committed before the newest one that is applied, by a clock that went back while the task held its own."""
    return first_clock is not None and first_clock <= progress.committed


def _with_stored(events: DataFrame, target: DataFrame, first: Collapsed, shape: Shape, found: _Judged, *, whole: bool) -> DataFrame:
    stored = target if whole else target.where(IS_CURRENT)
    for one in first.ranges if found.settled_keys is None else ():
        stored = stored.where(one.sql() or "true")
    keys = late.keys_of(first.winners.where(f"{POSITION} IS NOT NULL"), shape, first.books.winners)
    if found.settled_keys is not None:
        keys = keys.union(found.settled_keys).distinct()
    stored = stored.join(keys, shape.key, "left_semi")
    ended = stored.where(f"{DELETE_POSITION} IS NOT NULL")
    begun = stored.selectExpr(*versions.version_events(shape.key, shape.values))
    ends = ended.selectExpr(*versions.end_events(shape.key, shape.values))
    if found.verdict is not None:
        begun, ends = found.verdict.of_versions(begun), found.verdict.of_ends(ends)
    return events.unionByName(begun).unionByName(ends) if whole else events.unionByName(begun)


def _with_versions(books: Books, rows: DataFrame) -> Books:
    row = rows.selectExpr(*versions.version_books()).collect()[0]
    return attrs.evolve(books, applied=row.applied, superseded=row.superseded + books.void, stale=row.stale, winners=row.actions)
