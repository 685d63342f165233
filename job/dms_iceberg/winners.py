"""The winners and the books of one batch: in order in one pass, late ones with a second look at bronze and at the table."""

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import attrs
from pyspark.sql import DataFrame
from pyspark.sql.functions import lit

from dms_iceberg.changes import fill, late
from dms_iceberg.changes.collapse import CONTEXT, Books, books_aggregates
from dms_iceberg.changes.frames import ReadGroup, Shape, clean_groups, collapse, read_groups
from dms_iceberg.changes.inspect import inspect
from dms_iceberg.changes.kept import N_LACKING, N_MOVED, count_aggregates, kept_columns
from dms_iceberg.changes.normalise import POSITION
from dms_iceberg.changes.position import clock_of
from dms_iceberg.config.model import Mode, Table
from dms_iceberg.faults import reach
from dms_iceberg.identifiers import quote
from dms_iceberg.job import Job, Planned
from dms_iceberg.quarantine import late_files, open_rows, rejected_since, with_waiting
from dms_iceberg.staging.keys import BronzeFile, digits_of, table_prefix
from dms_iceberg.staging.listing import list_files, oldest_change
from dms_iceberg.target.merge import KeyRange
from dms_iceberg.target.table import TargetTable

Judge = Callable[[DataFrame], DataFrame]


@attrs.frozen(eq=False)
class Collapsed:
    """A batch's winners, kept in memory, and its books.

    Attributes:
        ranges: lowest and highest value of each key column among the winners.
        late: the batch holds changes older than the table's newest, so the MERGE must compare row by row.
        judge: marks, among cleaned changes of this very batch, those that only a second look rejects.
        refill: column of the winners that is true for older changes written again, None without any.
        figures: what `measure` was asked for beside the books.
        is_cut: the batch was judged, and bronze has lost change files that were merged.
    """

    winners: DataFrame
    books: Books
    ranges: tuple[KeyRange, ...]
    late: bool
    judge: Judge
    refill: str | None = None
    figures: Mapping[str, Any] = attrs.field(factory=dict)
    is_cut: bool = False


@attrs.frozen(eq=False)
class SecondLook:
    """What bronze knows of the keys of a late batch that have late changes, or changes in files out of order.

    Attributes:
        judge: puts changes of older files beside those of the batch (`late.judge_late`).
        bound: keys with a change up to this position are suspects.
        keys: the suspects.
        is_cut: bronze has lost change files that were merged.
    """

    judge: Judge
    bound: str
    keys: DataFrame
    is_cut: bool

    def of_suspects(self, rows: DataFrame) -> DataFrame:
        """Return the changes of suspects."""
        return rows.join(self.keys, self.keys.columns, "left_semi")

    def judge_suspects(self, rows: DataFrame) -> DataFrame:
        """Judge the changes of suspects, and let the others be."""
        others = rows.join(self.keys, self.keys.columns, "left_anti").withColumn(CONTEXT, lit(False))
        return self.judge(self.of_suspects(rows)).unionByName(others, allowMissingColumns=True)


def open_files(job: Job, table: Table, files: Sequence[BronzeFile]) -> list[ReadGroup]:
    """Look into ``files`` and open them, grouped by their columns."""
    groups = inspect(job.store, files, job.config.bronze, table)
    return read_groups(job.spark, job.config, job.store.root, groups, table)


def collapse_batch(job: Job, table: Table, target: TargetTable, planned: Planned, groups: Sequence[ReadGroup], shape: Shape) -> Collapsed:
    """Return one winner per key, materialised together with the books; the caller unpersists ``winners``."""
    progress = planned.progress
    cleaned = clean_groups(job.spark, groups, job.config, table, shape, progress.load)
    kept = [column.name for column in kept_columns(job.config.bronze, table, shape.columns)]
    counts, size = count_aggregates(kept) if kept else None, planned.batch.size
    winners = collapse(cleaned, shape, context=False, counts=counts, size=size).persist()
    result = None
    try:
        first = measure(winners, shape, as_it_is, figures={one: f"coalesce(sum({one}), 0)" for one in (N_LACKING, N_MOVED) if kept})
        reach("after-collapse", table.source)
        is_late = late.is_late(first.books.low, progress) or bool(first.books.disordered_keys)
        lacks = bool(kept) and first.figures[N_LACKING] > 0
        waiting = waiting_rows(job, table, planned) if is_late or lacks else None
        filler = _filler(target, planned, first, shape, kept, waiting, is_late=is_late) if kept and (is_late or lacks) else None
        if is_late:
            look = second_look(job, table, planned, first.winners, shape, first.books, progress.reached, waiting, completes=bool(kept))
            result = _collapse_late(target, planned, cleaned, first, filler, look, shape)
        elif filler is not None:
            result = measure(collapse(filler(cleaned), shape, context=False).persist(), shape, filler)
        else:
            result = first
        return result
    finally:
        if result is None or result.winners is not winners:
            winners.unpersist()


def _collapse_late(
    target: TargetTable,
    planned: Planned,
    cleaned: DataFrame,
    first: Collapsed,
    filler: fill.Filler | None,
    look: SecondLook,
    shape: Shape,
) -> Collapsed:
    """Collapse the changes of suspects once more (all, with a filler), with what bronze and the table know of their keys."""
    stored = target.rows(planned.standing.branch)
    if filler is not None:
        judge = _then(look.judge, filler)
        keys = late.keys_of(first.winners, shape, first.books.winners)
        looked = fill.settle(late.collapse_late(judge(cleaned), stored, filler.collapse_shape, keys))
    else:
        judge = look.judge_suspects
        looked = late.collapse_late(look.judge(look.of_suspects(cleaned)), stored, shape, look.keys)
        looked = looked.unionByName(late.plain_winners(first.winners, look.bound), allowMissingColumns=True)
    looked = late.heed_truncates(looked, shape, planned.heeded, planned.progress.load)
    measured = measure(looked.persist(), shape, of_the_batch(judge), is_late=True)
    return attrs.evolve(measured, refill=fill.REFILL if filler is not None else None, is_cut=look.is_cut)


def _then(first: Judge, second: Judge) -> Judge:
    return lambda rows: second(first(rows))


def of_the_batch(judge: Judge) -> Judge:
    """Leave the changes of older files out of what ``judge`` returns."""
    return lambda rows: judge(rows).where(f"NOT {CONTEXT}")


def as_it_is(rows: DataFrame) -> DataFrame:
    """Judge nothing."""
    return rows


def _filler(
    target: TargetTable, planned: Planned, first: Collapsed, shape: Shape, kept: Sequence[str], waiting: DataFrame | None, *, is_late: bool
) -> fill.Filler:
    """Return what completes the changes of a batch that is late, or leaves columns out."""
    keys = first.winners.where(f"{POSITION} IS NOT NULL").select(*(quote(name) for name in shape.key))
    ranges = [text for one in first.ranges if (text := one.sql())]
    stored = fill.stored_rows(target.rows(planned.standing.branch), keys, shape, kept, ranges)
    rejected = fill.rejected_rows(waiting, keys, shape) if waiting is not None else None
    return fill.Filler(tuple(kept), shape, stored, rejected, late=is_late, moves=first.figures[N_MOVED] > 0)


def waiting_rows(job: Job, table: Table, planned: Planned) -> DataFrame | None:
    """Return the open rows of the quarantine that the batch leaves alone: their files are merged, and they are not."""
    waiting = planned.waiting if planned.is_replay else open_rows(job.spark, job.config, table, planned.progress)
    if waiting is not None and planned.standing.rebuild:
        # What the old configuration rejected may be in the table now.
        return waiting.where(rejected_since(planned.standing.rebuild))
    return waiting


def second_look(
    job: Job,
    table: Table,
    planned: Planned,
    winners: DataFrame,
    shape: Shape,
    books: Books,
    bound: str,
    waiting: DataFrame | None,
    *,
    completes: bool = False,
) -> SecondLook:
    """Return the second look at a late batch, for keys with changes up to ``bound``.

    Args:
        waiting: see `waiting_rows`.
        completes: a late change may complete one in quarantine, which is then merged after all (`fill.settle`).
    """
    progress = planned.progress
    prefix = table_prefix(table.schema_name, table.table_name)
    keys = late.suspects(winners, shape, bound, books.winners)
    context, oldest, is_cut = None, "", False
    if late.needs_bronze(progress):
        since = late.context_since(books.low, progress)
        listing = list_files(job.store, prefix, since, job.config.bronze.format)
        groups = open_files(job, table, late.context_files(listing, since, progress, planned.batch.files))
        # Files that were let in once are not refused now, whatever the schema policy says of the batch's own.
        plain = attrs.evolve(shape, refused={})
        # In a mirror what is older than the oldest late change loses. Elsewhere it counts: as a version, as the values of a deleted row
        # (which a table that was a mirror lacks), or to complete a change.
        committed = clock_of(books.low) if table.mode is Mode.MIRROR and not completes else ""
        context = clean_groups(job.spark, groups, job.config, table, plain, progress.load, since=committed) if groups else None
        if context is not None and waiting is not None and (planned.is_replay or not completes):
            context = with_waiting(context, waiting)
        own = {file.key for file in planned.batch.files}
        own |= late_files(open_rows(job.spark, job.config, table, progress) if planned.is_replay else waiting)

        def is_told(file: BronzeFile) -> bool:
            # One from before the first came when bronze did not reach back so far.
            return file.order >= progress.first and file.key not in own and progress.has_merged(file)

        oldest = oldest_change(job.store, prefix, job.config.bronze.format, progress.first, is_told)
        is_gone = not oldest and (planned.is_replay or progress.first not in {file.order for file in planned.batch.files})
        is_cut = bool(progress.first) and (oldest > progress.first or is_gone)

    # Beside a file named ahead of now others only look late: a clock that went back must still be noticed.
    seen = attrs.evolve(progress, frontier=progress.frontier_until(digits_of(datetime.now(UTC))))

    def look(batch: DataFrame) -> DataFrame:
        return late.judge_late(batch, context, keys, shape, seen, oldest, replay=planned.is_replay, is_cut=is_cut)

    return SecondLook(look, bound, keys, is_cut)


def measure(
    winners: DataFrame,
    shape: Shape,
    judge: Judge,
    *,
    is_late: bool = False,
    figures: Mapping[str, str] | None = None,
) -> Collapsed:
    """Materialise the winners and take the books in the same job, and ``figures`` with them: SQL aggregates by name."""
    figures = figures or {}
    wanted = (f"{sql} AS {name}" for name, sql in figures.items())
    try:
        row = winners.selectExpr(*books_aggregates(shape.key, late.STALE if is_late else "false"), *wanted).collect()[0]
    except BaseException:
        winners.unpersist()
        raise
    books = Books(
        rows_read=row.rows_read,
        applied=row.applied,
        superseded=row.good - row.applied - row.stale,
        stale=row.stale,
        filtered=row.filtered,
        quarantined=row.quarantined,
        winners=row.winners,
        low=row.low,
        high=row.high,
        disordered_keys=row.disordered_keys,
        failed_rule=row.failed_rule,
        behind=row.behind,
        commit_micros=tuple(row.commit_micros) if row.commit_micros else None,
    )
    ranges = tuple(KeyRange(name, shape.types[name], row[f"_cdc_min_{i}"], row[f"_cdc_max_{i}"]) for i, name in enumerate(shape.key))
    return Collapsed(winners, books, ranges, is_late, judge, figures={name: row[name] for name in figures})
