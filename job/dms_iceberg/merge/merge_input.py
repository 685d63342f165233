"""The winners and the books of one batch: in order in one pass; late ones, and those of crowded keys, with a second one."""

from collections.abc import Callable, Mapping
from typing import Any

import attrs
from pyspark.sql import DataFrame, Row

from dms_iceberg.changes.frames import Shape
from dms_iceberg.merge import suspicion
from dms_iceberg.merge.collapse import books_aggregates
from dms_iceberg.merge.statement import KeyRange
from dms_iceberg.progress.arrivals import NO_ARRIVALS, Arrivals
from dms_iceberg.silver.row_counts import RowCounts
from dms_iceberg.sql.cdc_columns import CONTEXT, STALE

Judge = Callable[[DataFrame], DataFrame]


@attrs.frozen(eq=False)
class MergeInput:
    """A batch's winners, kept in memory, and its books.

    Attributes:
        ranges: lowest and highest value of each key column among the winners.
        late: the batch holds changes older than the table's newest, so the MERGE must compare row by row.
        judge: marks, among cleaned changes of this very batch, those that only a second look rejects.
        rewrite: column of the winners that is true for rows that are written whatever position the table's row has, None without any.
        figures: what `measure` was asked for beside the books.
        is_cut: the batch was judged, and bronze has lost change files that were merged.
        arrivals: when rows last arrived at keys, by changes of the batch.
        resolved: rows of the quarantine that the winners make good, None without any.
    """

    latest: DataFrame
    row_counts: RowCounts
    ranges: tuple[KeyRange, ...]
    late: bool
    judge: Judge
    rewrite: str | None = None
    figures: Mapping[str, Any] = attrs.field(factory=dict)
    is_cut: bool = False
    arrivals: Arrivals = NO_ARRIVALS
    resolved: DataFrame | None = None

    @property
    def suspects(self) -> int:
        """How many keys may be crowded, where `suspicion.figures` were asked for."""
        return int(self.figures.get(suspicion.SUSPECTS, 0))


def of_the_batch(judge: Judge) -> Judge:
    """Leave the changes of older files out of what ``judge`` returns."""
    return lambda rows: judge(rows).where(f"NOT {CONTEXT}")


def as_it_is(rows: DataFrame) -> DataFrame:
    """Judge nothing."""
    return rows


def measure(
    latest: DataFrame,
    shape: Shape,
    judge: Judge,
    *,
    is_late: bool = False,
    figures: Mapping[str, str] | None = None,
) -> MergeInput:
    """Materialise the winners and take the books in the same job, and ``figures`` with them: SQL aggregates by name."""
    figures = figures or {}
    wanted = (f"{sql} AS {name}" for name, sql in figures.items())
    try:
        row = latest.selectExpr(*books_aggregates(shape.key, STALE if is_late else "false"), *wanted).collect()[0]
    except BaseException:
        latest.unpersist()
        raise
    counts = RowCounts(
        rows_read=row.rows_read,
        applied=row.applied,
        superseded=row.good - row.applied - row.stale,
        stale=row.stale,
        filtered=row.filtered,
        quarantined=row.quarantined,
        latest=row.latest,
        low=row.low,
        high=row.high,
        disordered_keys=row.disordered_keys,
        failed_rule=row.failed_rule,
        behind=row.behind,
        commit_micros=tuple(row.commit_micros) if row.commit_micros else None,
    )
    ranges = key_ranges(shape, row)
    values = {name: row[name] for name in figures}
    return MergeInput(
        latest,
        counts,
        ranges,
        is_late,
        judge,
        figures=values,
        arrivals=Arrivals(values.get(suspicion.INSERTED_AT), values.get(suspicion.MOVED_AT)),
    )


def key_ranges(shape: Shape, row: Row) -> tuple[KeyRange, ...]:
    """Return the ranges of the key columns from what `collapse.key_ends` gave."""
    return tuple(KeyRange(name, shape.types[name], row[f"_cdc_min_{i}"], row[f"_cdc_max_{i}"]) for i, name in enumerate(shape.key))
