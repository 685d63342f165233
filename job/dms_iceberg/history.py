"""The versions and books of one batch in mode ``history``: every change is a version once.

A batch in order needs of the table only what is current of its keys. A late one, or one that may repeat changes, is put together with all
versions of its keys and with what bronze holds of them since, and the versions are made anew (`changes.versions`).
"""

from collections.abc import Sequence

import attrs
from pyspark.sql import DataFrame
from pyspark.sql.functions import expr, lit

from dms_iceberg.changes import late, versions
from dms_iceberg.changes.collapse import CONTEXT, USABLE, Books
from dms_iceberg.changes.frames import ReadGroup, Shape, clean_groups, collapse
from dms_iceberg.changes.identity import clock_prefix
from dms_iceberg.changes.normalise import COMMITTED_AT, POSITION
from dms_iceberg.changes.position import is_load_position
from dms_iceberg.config.model import Table
from dms_iceberg.errors import SchemaChangeError
from dms_iceberg.faults import reach
from dms_iceberg.job import Job, Planned
from dms_iceberg.progress import Progress
from dms_iceberg.target.table import TargetTable
from dms_iceberg.winners import Collapsed, Judge, as_it_is, measure, of_the_batch, second_look, waiting_rows

_FIRST_CLOCK = "_cdc_first_clock"
_CLOCK = f"date_format({COMMITTED_AT}, 'yyyyMMddHHmmssSS')"


def history_batch(job: Job, table: Table, target: TargetTable, planned: Planned, groups: Sequence[ReadGroup], shape: Shape) -> Collapsed:
    """Return the batch's versions, materialised, and its books; the caller unpersists ``winners``.

    Raises:
        SchemaChangeError: ``track_columns`` names a column that the table does not have.
    """
    tracked = _tracked(table, shape)
    cleaned = clean_groups(job.spark, groups, job.config, table, shape, planned.progress.load).persist()
    # Which keys there are, and how far back their changes go.
    only_keys = attrs.evolve(shape, columns=tuple(column for column in shape.columns if column.is_key))
    clock = {_FIRST_CLOCK: f"min(CASE WHEN {USABLE} THEN {_CLOCK} END)"}
    winners = collapse(cleaned, only_keys, context=False, counts=clock, size=planned.batch.size).persist()
    try:
        first = measure(winners, only_keys, as_it_is, figures={_FIRST_CLOCK: f"min({_FIRST_CLOCK})"})
    except BaseException:
        cleaned.unpersist()
        raise
    rows = None
    try:
        reach("after-collapse", table.source)
        judge: Judge = as_it_is
        is_cut = False
        books = first.books
        events = cleaned.withColumn(CONTEXT, lit(False))
        bound = repeated_up_to(planned.progress)
        is_late = bool(books.low) and (books.low <= bound or bool(books.disordered_keys))
        if is_late:
            look = second_look(job, table, planned, first.winners, shape, books, bound, waiting_rows(job, table, planned))
            events, is_cut = look.judge(cleaned), look.is_cut
            judged = measure(collapse(events, only_keys, context=True).persist(), only_keys, as_it_is)
            judged.winners.unpersist()
            judge, books = of_the_batch(look.judge), judged.books
            truncated = late.truncate_events(first.winners, only_keys, planned.heeded, planned.progress.load)
            events = events.unionByName(truncated, allowMissingColumns=True) if truncated is not None else events
        whole = is_late or _goes_back(first.figures[_FIRST_CLOCK], planned.progress)
        events = events.where(USABLE).selectExpr(*versions.change_events(shape.key, shape.values))
        if planned.standing.head is not None:
            events = _with_stored(events, target.rows(planned.standing.branch), first, shape, whole=whole)
        rows = made_versions(events, shape.key, shape.values, tracked, planned.progress.load, whole=whole).persist()
        return Collapsed(rows, _with_versions(books, rows), first.ranges, is_late, judge, is_cut=is_cut)
    except BaseException:
        if rows is not None:
            rows.unpersist()
        raise
    finally:
        first.winners.unpersist()
        cleaned.unpersist()


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


def _with_stored(events: DataFrame, target: DataFrame, first: Collapsed, shape: Shape, *, whole: bool) -> DataFrame:
    stored = target if whole else target.where(versions.IS_CURRENT)
    for one in first.ranges:
        stored = stored.where(one.sql() or "true")
    keys = late.keys_of(first.winners.where(f"{POSITION} IS NOT NULL"), shape, first.books.winners)
    stored = stored.join(keys, shape.key, "left_semi")
    ended = stored.where(f"{versions.DELETE_POSITION} IS NOT NULL")
    events = events.unionByName(stored.selectExpr(*versions.version_events(shape.key, shape.values)))
    return events.unionByName(ended.selectExpr(*versions.end_events(shape.key, shape.values))) if whole else events


def _with_versions(books: Books, rows: DataFrame) -> Books:
    row = rows.selectExpr(*versions.version_books()).collect()[0]
    return attrs.evolve(books, applied=row.applied, superseded=row.superseded, stale=row.stale, winners=row.actions)
