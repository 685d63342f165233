"""The latest changes and the row counts of one batch. One pass computes them; late changes and crowded keys need a second one."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import attrs
import pyarrow as pa
from pyspark.sql import DataFrame

from dms_iceberg.changes.shape import Shape
from dms_iceberg.merge.batch_context import Transform
from dms_iceberg.merge.collapse import row_count_aggregates
from dms_iceberg.merge.crowded import suspicion
from dms_iceberg.merge.direct.delta import MERGE, ROWS
from dms_iceberg.merge.statement import KeyRange
from dms_iceberg.progress.arrivals import NO_ARRIVALS, Arrivals
from dms_iceberg.silver.row_counts import BatchCounts
from dms_iceberg.spark.arrow import to_arrow
from dms_iceberg.spark.brief import briefly_planned
from dms_iceberg.spark.kept_plans import brief_rows
from dms_iceberg.sql.cdc_columns import CONTEXT, STALE

_AS_THEY_ARE = (
    *("rows_read", "applied", "stale", "filtered", "quarantined"),
    *("latest", "low", "high", "disordered_keys", "failed_rule", "named_behind_utc"),
)


@attrs.frozen(eq=False)
class MergeInput:
    """What a batch writes into its table, and its row counts.

    Attributes:
        latest: the rows for the MERGE or append, cached but on the direct path: the latest change of each key; in mode ``history``
            versions, in ``append`` changes.
        row_counts: what became of the batch's rows.
        ranges: lowest and highest value of each key column among ``latest``.
        late: the batch has changes older than the table's newest, so the MERGE must compare row by row.
        mark_rejected: marks, among cleaned changes of this batch, those that are only rejected in comparison with others: with those of
            older files, or of a crowded key.
        rewrite: column of ``latest`` that is true for rows to be written whatever position the table's row has, None without any.
        figures: results of the aggregates that `measure` was given.
        is_cut: the batch was compared with older files, and bronze has lost change files that were merged.
        arrivals: when rows last arrived at keys, by changes of the batch.
        resolved: rows of the quarantine that ``latest`` resolves, None without any.
        rows: those of ``latest`` for `direct.add_directly`, None if they were not asked for, or Arrow cannot read them.
        path: how ``latest`` is to be written: `direct.DIRECT`, or `direct.MERGE` and the reason.
    """

    latest: DataFrame
    row_counts: BatchCounts
    ranges: tuple[KeyRange, ...]
    late: bool
    mark_rejected: Transform
    rewrite: str | None = None
    figures: Mapping[str, Any] = attrs.field(factory=dict)
    is_cut: bool = False
    arrivals: Arrivals = NO_ARRIVALS
    resolved: DataFrame | None = None
    rows: pa.Table | None = None
    path: str = MERGE

    @property
    def suspects(self) -> int:
        """How many keys may be crowded; 0 unless ``figures`` has those of `suspicion.figures`."""
        return int(self.figures.get(suspicion.SUSPECTS, 0))


def of_the_batch(compare: Transform) -> Transform:
    """Leave the changes of older files out of what ``compare`` returns."""
    return lambda rows: compare(rows).where(f"NOT {CONTEXT}")


def as_it_is(rows: DataFrame) -> DataFrame:
    """Return the rows unchanged, as a `Transform` that rejects nothing."""
    return rows


def measure(
    latest: DataFrame,
    shape: Shape,
    mark_rejected: Transform,
    *,
    is_late: bool = False,
    figures: Mapping[str, str] | None = None,
    is_brief: bool = False,
) -> MergeInput:
    """Materialise the latest changes, and compute row counts and ``figures`` (SQL aggregates by name) in the same Spark job.

    Unpersists ``latest`` if the job fails. With ``is_brief`` its plan is one of `briefly_planned`.
    """
    figures = figures or {}
    aggregates = row_count_aggregates(shape.key, STALE if is_late else "false")
    try:
        row, rows = _collected(latest, aggregates, figures, is_brief=is_brief)
    except BaseException:
        latest.unpersist()
        raise
    counts = BatchCounts(
        superseded=row["good"] - row["applied"] - row["stale"],
        commit_micros=tuple(row["commit_micros"]) if row["commit_micros"] else None,
        **{name: row[name] for name in _AS_THEY_ARE},
    )
    values = {name: row[name] for name in figures if name != ROWS}
    return MergeInput(
        latest,
        counts,
        key_ranges(shape, row),
        is_late,
        mark_rejected,
        figures=values,
        arrivals=Arrivals(values.get(suspicion.INSERTED_AT), values.get(suspicion.MOVED_AT)),
        rows=rows,
    )


def _collected(
    latest: DataFrame, counts: Sequence[str], figures: Mapping[str, str], *, is_brief: bool
) -> tuple[dict[str, Any], pa.Table | None]:
    """Return the results of the aggregates by name, and the rows of `ROWS` if ``figures`` has it and Arrow can read them."""
    wanted = [*counts, *(f"{sql} AS {name}" for name, sql in figures.items() if name != ROWS)]
    if ROWS in figures:
        # Where Arrow cannot read a value, the counts come without the rows.
        with suppress(pa.ArrowException, UnicodeDecodeError):
            result = latest.selectExpr(*wanted, f"{figures[ROWS]} AS {ROWS}")
            found = brief_rows(result) if is_brief else to_arrow(result)
            rows = pa.Table.from_struct_array(found[ROWS].combine_chunks().flatten())
            (row,) = found.drop_columns([ROWS]).to_pylist()
            return row, rows
    result = latest.selectExpr(*wanted)
    return (briefly_planned(result) if is_brief else result).collect()[0].asDict(), None


def key_ranges(shape: Shape, row: Mapping[str, Any]) -> tuple[KeyRange, ...]:
    """Return the ranges of the key columns from a row with the aggregates of `collapse.key_ends`."""
    return tuple(KeyRange(name, shape.types[name], row[f"_cdc_min_{i}"], row[f"_cdc_max_{i}"]) for i, name in enumerate(shape.key))
