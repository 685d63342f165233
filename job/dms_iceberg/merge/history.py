"""The versions and row counts of one batch in mode ``history``: every change is a version once.

A batch in order needs only the current versions of its keys from the table. A late one, or one that may repeat changes, is combined with
all versions of its keys and with their later changes in bronze, and the versions are computed again (`merge.versions`).
"""

from collections.abc import Iterable, Mapping, Sequence

import attrs
from pyspark.sql import DataFrame
from pyspark.sql.functions import expr, lit

from dms_iceberg.bronze.position import is_load_position
from dms_iceberg.changes.frames import ReadGroup
from dms_iceberg.changes.identity import clock_prefix
from dms_iceberg.changes.shape import Shape
from dms_iceberg.config.model import Change, Table
from dms_iceberg.errors import SchemaChangeError
from dms_iceberg.failpoints import failpoint
from dms_iceberg.merge import versions
from dms_iceberg.merge.batch_context import BatchContext, Transform
from dms_iceberg.merge.collapse import USABLE
from dms_iceberg.merge.collapse_frames import collapse
from dms_iceberg.merge.crowded import suspicion
from dms_iceberg.merge.crowded.ambiguous_keys import keys_of_rows, touched_by
from dms_iceberg.merge.crowded.play import Verdict, bronze_past, play, stored_past
from dms_iceberg.merge.late import changes as late
from dms_iceberg.merge.late.older_files import older_files, rows_in_quarantine, second_look
from dms_iceberg.merge.late.truncates import truncate_events, truncates_within
from dms_iceberg.merge.merge_input import MergeInput, as_it_is, measure, of_the_batch
from dms_iceberg.merge.statement import KeyRange
from dms_iceberg.modes.lookup import table_mode
from dms_iceberg.progress.progress import Progress
from dms_iceberg.silver.row_counts import BatchCounts
from dms_iceberg.spark.broadcast import broadcast_if_small, materialised
from dms_iceberg.sql.cdc_columns import COMMITTED_AT, CONTEXT, DELETE_POSITION, IN_QUARANTINE, IS_CURRENT, POSITION, VALID_TO
from dms_iceberg.sql.quoting import quote, timestamp_literal

_FIRST_AT = "_cdc_first_at"
_REJECTED_MOVES = "_cdc_rejected_moves"
# Also a row that came from another key and is rejected makes its key one that a late batch looks up in older files (`late.suspect_sql`).
_CONCERNED = f"({POSITION} IS NOT NULL OR {suspicion.MOVED_AT} IS NOT NULL)"


def untimed(table: Table, groups: Sequence[ReadGroup], change: Change) -> list[str]:
    """Return the warning about files without commit times, where each version needs one: their rows are quarantined."""
    without = [group.group.files for group in groups if group.columns.timestamp is None]
    if not table_mode(table.mode).has_versions or not without:
        return []
    count = sum(map(len, without))
    return [
        f"{table.source}: {without[0][0].key}{f' and {count - 1} more' if count > 1 else ''}: the commit time {change.timestamp_column!r} "
        "is not in the file, so nothing tells from when the versions of its rows are valid. All of them go to quarantine (no_time). Let "
        "the endpoint write it (TimestampColumnName) and load the table again, or choose another mode."
    ]


def history_batch(batch: BatchContext) -> MergeInput:
    """Return the batch's versions, materialised, and its row counts; the caller unpersists ``latest``.

    Raises:
        SchemaChangeError: ``track_columns`` names a column that the table does not have.
    """
    tracked = _tracked(batch.table, batch.shape)
    load = batch.planned.progress.load
    cleaned = batch.clean().persist()
    # The keys, and when the first of their changes was committed.
    only_keys = attrs.evolve(batch.shape, columns=tuple(column for column in batch.shape.columns if column.is_key))
    counts = {_FIRST_AT: f"min(CASE WHEN {USABLE} THEN unix_micros({COMMITTED_AT}) END)", **suspicion.aggregates(load)}
    latest = collapse(cleaned, only_keys, with_context=False, counts=counts, size=batch.planned.batch.size).persist()
    try:
        figures = {
            _FIRST_AT: f"min({_FIRST_AT})",
            _REJECTED_MOVES: f"count_if({_CONCERNED} AND {POSITION} IS NULL)",
            **suspicion.figures(),
        }
        first = measure(latest, only_keys, as_it_is, figures=figures)
    except BaseException:
        cleaned.unpersist()
        raise
    rows = None
    try:
        failpoint("after-collapse", batch.table.source)
        found = _Events(batch, only_keys, cleaned, first).compared()
        within = truncates_within(batch.planned.following, load, first.row_counts.high)
        events = _with_truncates(found.events, only_keys, first, within, load)
        events = events.withColumn(IN_QUARANTINE, expr(f"coalesce({IN_QUARANTINE}, false)" if IN_QUARANTINE in events.columns else "false"))
        events = events.where(USABLE).selectExpr(*versions.change_events(batch.shape.key, batch.shape.values))
        # The ranges are those of keys with changes of the batch that are merged.
        is_beyond = found.resolved is not None or (found.is_late and first.figures[_REJECTED_MOVES] > 0)
        ranges = () if is_beyond else first.ranges
        if batch.planned.branch_state.head is not None:
            stored = batch.target.rows(batch.planned.branch_state.branch)
            stored = stored if found.is_late else stored.where(_needed_sql(first.figures[_FIRST_AT], within))
            events = _with_stored(events, stored, first, batch.shape, found, ranges)
        key, values = batch.shape.key, batch.shape.values
        steps = versions.steps(key, values, tracked, load, batch.reached_without(first.row_counts.high), whole=found.is_late)
        rows = build_versions(events, steps, key, values).persist()
        row_counts = _with_versions(found.row_counts, rows)
        return MergeInput(rows, row_counts, ranges, found.is_late, found.mark_rejected, is_cut=found.is_cut, resolved=found.resolved)
    except BaseException:
        if rows is not None:
            rows.unpersist()
        raise
    finally:
        first.latest.unpersist()
        cleaned.unpersist()


@attrs.frozen(eq=False)
class _Compared:
    """The changes of a batch that count, with those of older files that they were compared with.

    Attributes:
        events: cleaned changes with `CONTEXT`, and with `IN_QUARANTINE` where some may be in quarantine.
        row_counts: of the batch.
        mark_rejected: see `MergeInput`.
        verdict: the verdict on keys that may be crowded, if any.
        resolved: see `MergeInput`.
        resolved_keys: the keys of ``resolved``, old and new.
    """

    events: DataFrame
    row_counts: BatchCounts
    mark_rejected: Transform
    is_late: bool = False
    is_cut: bool = False
    verdict: Verdict | None = None
    resolved: DataFrame | None = None
    resolved_keys: DataFrame | None = None


@attrs.frozen(eq=False)
class _Events:
    """The changes of a batch; ``first`` is the result of collapsing them to ``only_keys``."""

    batch: BatchContext
    only_keys: Shape
    cleaned: DataFrame
    first: MergeInput

    def compared(self) -> _Compared:
        row_counts, planned = self.first.row_counts, self.batch.planned
        bound = repeated_up_to(planned.progress)
        if row_counts.low and (row_counts.low <= bound or row_counts.disordered_keys):
            return self._compared_late(bound, rows_in_quarantine(self.batch))
        if not self.first.suspects:
            return _Compared(self.cleaned.withColumn(CONTEXT, lit(False)), row_counts, as_it_is)
        in_quarantine = rows_in_quarantine(self.batch)
        keys = self._suspects(self.first)
        past = stored_past(self.batch, keys, self.first.ranges, in_quarantine)
        if past is None:
            older = older_files(self.batch, row_counts.low, in_quarantine, whole=True)
            past = bronze_past(attrs.evolve(self.batch, groups=older.groups), keys, is_whole=older.is_whole)
        verdict = play(self.batch, keys, past, in_quarantine)
        return self._with_verdict(_Compared(self.cleaned.withColumn(CONTEXT, lit(False)), row_counts, as_it_is), verdict)

    def _compared_late(self, bound: str, in_quarantine: DataFrame | None) -> _Compared:
        planned, shape, first = self.batch.planned, self.batch.shape, self.first
        older = older_files(self.batch, first.row_counts.low, in_quarantine)
        suspects = late.suspects(first.latest, shape, bound, first.row_counts.latest)
        moves = first.figures[suspicion.MOVED_AT] is not None
        look = second_look(self.batch, older, suspects, in_quarantine, with_quarantined=True, moves=moves)
        events = look.compare(self.cleaned)
        counts = suspicion.aggregates(planned.progress.load)
        found = self._measured(events, counts)
        try:
            truncated = truncate_events(first.latest, self.only_keys, planned.effective_truncates, planned.progress.load)
            every = events.unionByName(truncated, allowMissingColumns=True) if truncated is not None else events
            compared = _Compared(every, found.row_counts, of_the_batch(look.compare), is_late=True, is_cut=look.is_cut)
            touched = None if in_quarantine is None else touched_by(self.batch, first.latest)
            if not found.suspects and touched is None:
                return compared
            keys = self._suspects(found)
            keys = keys if touched is None else materialised(keys.union(touched).distinct())
        finally:
            found.latest.unpersist()
        older = older_files(self.batch, first.row_counts.low, in_quarantine, whole=True)
        past = bronze_past(attrs.evolve(self.batch, groups=older.groups), keys, is_whole=older.is_whole)
        verdict = play(self.batch, keys, past, in_quarantine)
        cleared = verdict.cleared(in_quarantine)
        if cleared is not None and in_quarantine is not None:
            # With the whole past of their keys, because these rows come into the table only now.
            of_cleared = keys_of_rows(self.batch.context, self.batch.table, planned.progress, shape, cleared)
            suspects = materialised(suspects.union(of_cleared).distinct())
            left = in_quarantine.join(cleared.select("id"), "id", "left_anti")
            look = second_look(self.batch, older, suspects, left, with_quarantined=True, moves=moves)
            events = look.compare(self.cleaned)
            every = events.unionByName(truncated, allowMissingColumns=True) if truncated is not None else events
            compared = attrs.evolve(
                compared, events=every, mark_rejected=of_the_batch(look.compare), resolved=cleared, resolved_keys=of_cleared
            )
        return self._with_verdict(compared, verdict)

    def _suspects(self, found: MergeInput) -> DataFrame:
        keys = found.latest.where(suspicion.suspect_sql()).select(*map(quote, self.batch.shape.key))
        return broadcast_if_small(materialised(keys), found.suspects)

    def _measured(self, events: DataFrame, counts: Mapping[str, str] | None = None) -> MergeInput:
        events = events.where(f"NOT coalesce({IN_QUARANTINE}, false)") if IN_QUARANTINE in events.columns else events
        latest = collapse(events, self.only_keys, with_context=True, counts=counts).persist()
        return measure(latest, self.only_keys, as_it_is, figures=suspicion.figures() if counts else None)

    def _with_verdict(self, compared: _Compared, verdict: Verdict) -> _Compared:
        verdict = verdict.after_comparison(compared.events) if compared.is_late else verdict
        events = verdict.with_effect(verdict.mark(compared.events))
        found = self._measured(events)
        found.latest.unpersist()
        return attrs.evolve(
            compared,
            events=events,
            row_counts=verdict.with_superseded(found.row_counts),
            mark_rejected=lambda rows: verdict.mark(compared.mark_rejected(rows)).drop(versions.VOID),
            verdict=verdict,
        )


def build_versions(events: DataFrame, steps: Iterable[versions.Step], key: Sequence[str], values: Sequence[str]) -> DataFrame:
    """Compute versions from events (`versions.version_select`) by ``steps`` (`versions.steps`)."""
    for step in steps:
        events = events.withColumns({name: expr(sql) for name, sql in step.columns.items()})
        events = events.where(step.where) if step.where is not None else events
    return events.selectExpr(*versions.version_select(key, values))


def repeated_up_to(progress: Progress) -> str:
    """Return a bound for positions at which a change may be a repetition, or late: those up to the clock of the newest change.

    All loaded rows have one clock, and the files of a load are in order: among them only a lower position is late.
    """
    if is_load_position(progress.high_water, progress.load):
        return progress.reached
    # A colon sorts after every digit.
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


def _with_truncates(events: DataFrame, only_keys: Shape, first: MergeInput, within: Sequence[str], load: int) -> DataFrame:
    """Add the truncates that are applied after the batch, but lie between its changes.

    Without them, a row that came back with the values that it had before would be no new version (``track_columns``), and the truncate
    would end the only one.
    """
    ended = truncate_events(first.latest, only_keys, within, load, every_key=True)
    return events if ended is None else events.unionByName(ended, allowMissingColumns=True)


def _needed_sql(first_at: int | None, within: Sequence[str]) -> str:
    """SQL over the table's versions that is true for those which a batch in order needs.

    These are the current one of each key, and versions whose delete ended them later than the batch begins: what comes to such a key begins
    no earlier. A version may end so late because the source's clock went back, or because its row was loaded: a loaded row has the time
    of its transfer, which may be later than the commits of changes that were captured meanwhile.

    Args:
        first_at: when the first change of the batch was committed, in microseconds since 1970; None without any.
        within: the truncates between its changes, 17 digits each.
    """
    times = [*([] if first_at is None else [f"timestamp_micros({first_at}L)"]), *map(timestamp_literal, within)]
    later = " OR ".join(f"{VALID_TO} > {time}" for time in times)
    return f"{IS_CURRENT} OR ({DELETE_POSITION} IS NOT NULL AND ({later}))" if later else IS_CURRENT


def _with_stored(
    events: DataFrame, stored: DataFrame, first: MergeInput, shape: Shape, found: _Compared, ranges: Sequence[KeyRange]
) -> DataFrame:
    for one in ranges:
        stored = stored.where(one.sql() or "true")
    # Of a key whose older changes are among the events, its versions must be as well: otherwise it would get them twice.
    is_there = _CONCERNED if found.is_late else f"{POSITION} IS NOT NULL"
    keys = late.keys_of(first.latest.where(is_there), shape, first.row_counts.latest + first.figures[_REJECTED_MOVES])
    if found.resolved_keys is not None:
        keys = keys.union(found.resolved_keys).distinct()
    stored = stored.join(keys, shape.key, "left_semi")
    ended = stored.where(f"{DELETE_POSITION} IS NOT NULL")
    begun = stored.selectExpr(*versions.version_events(shape.key, shape.values))
    ends = ended.selectExpr(*versions.end_events(shape.key, shape.values))
    if found.verdict is not None:
        begun, ends = found.verdict.of_versions(begun), found.verdict.of_ends(ends)
    return events.unionByName(begun).unionByName(ends)


def _with_versions(row_counts: BatchCounts, rows: DataFrame) -> BatchCounts:
    row = rows.selectExpr(*versions.version_counts()).collect()[0]
    return attrs.evolve(row_counts, applied=row.applied, superseded=row.superseded + row_counts.void, stale=row.stale, latest=row.actions)
