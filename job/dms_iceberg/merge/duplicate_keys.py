"""Rows that share a silver key although they are different rows at the source: the table has only the newest of them.

Keys become equal where DMS writes different values as one (a bare ``numeric`` rounded to six decimals, times beyond the calendar), or where
``key`` names too few columns. Only this distinguishes it from an update: a full load has each row once, and an insert finds its key free.
"""

from dms_iceberg.bronze.keys import REPAIR_FOLDER
from dms_iceberg.changes.shape import Shape
from dms_iceberg.config.model import Change
from dms_iceberg.context import BatchPlan
from dms_iceberg.merge.absent_keys import BEGINS, asked_figures, loaded_until_sql, replaced_rows
from dms_iceberg.merge.batch_context import BatchContext
from dms_iceberg.merge.collapse import key_ends
from dms_iceberg.merge.crowded.suspicion import ARRIVES, LEFT_AT, commit_sql
from dms_iceberg.merge.merge_input import MergeInput, key_ranges
from dms_iceberg.merge.present_rows import hides_rows
from dms_iceberg.modes.lookup import table_mode
from dms_iceberg.sql.cdc_columns import FILE, N_FILTERED, N_GOOD, POSITION
from dms_iceberg.sql.json_text import json_sql
from dms_iceberg.sql.quoting import quote, string_literal

_SURPLUS, _EXAMPLE = "_cdc_surplus", "_cdc_example"
_FRESH, _CAME_AND_WENT = "_cdc_fresh", "_cdc_came_and_went"
"""How many keys got a row that stayed, and how many one that left within the batch again and was the first there: the table had none."""
_FIRST_ARRIVED_AT, _LAST_ARRIVED_AT = "_cdc_first_arrived_at", "_cdc_last_arrived_at"
# A repair (`verify --repair`) writes the row that the source has for a key, whether silver has one or not.
_COMES = f"({ARRIVES} AND instr({FILE}, {string_literal('/' + REPAIR_FOLDER)}) = 0)"
# Filtered rows count: of a row in silver and one outside the filter with the same key, the newer one decides whether silver has a row.
_TWICE = f"{N_GOOD} > 0 AND {N_GOOD} + {N_FILTERED} > 1"
# Two arrivals at different commit times are two rows: a change that DMS writes again has the same commit time. Rows of which none is usable
# are in quarantine; those whose key is not usable share the key NULL.
_AGAIN = f"{POSITION} IS NOT NULL AND {LEFT_AT} IS NULL AND coalesce({_FIRST_ARRIVED_AT} < {_LAST_ARRIVED_AT}, false)"


def duplicate_counts(load: int) -> dict[str, str]:
    """Aggregates over the changes of a key, for `duplicate_figures`: when rows arrived, and whether the first change brings one.

    Args:
        load: number of the load.
    """
    at = f"CASE WHEN {_COMES} THEN {commit_sql(load)} END"
    return {
        _FIRST_ARRIVED_AT: f"min({at})",
        _LAST_ARRIVED_AT: f"max({at})",
        BEGINS: f"coalesce(min_by({ARRIVES}, {POSITION}), false)",
    }


def duplicate_figures(planned: BatchPlan, shape: Shape, change: Change) -> dict[str, str]:
    """Aggregates over collapsed keys, as input of `duplicate_keys`."""
    if planned.batch.is_load:
        return {
            _SURPLUS: f"coalesce(sum(CASE WHEN {_TWICE} THEN {N_GOOD} + {N_FILTERED} - 1 END), 0)",
            _EXAMPLE: f"max(CASE WHEN {_TWICE} THEN {json_sql(shape.key)} END)",
        }
    return {
        _FRESH: f"count_if({_arrives(planned, change)})",
        _CAME_AND_WENT: f"count_if({BEGINS} AND {LEFT_AT} IS NOT NULL)",
        **asked_figures(planned, change),
        _SURPLUS: f"count_if({_AGAIN})",
        _EXAMPLE: f"max(CASE WHEN {_AGAIN} THEN {json_sql(shape.key)} END)",
    }


def _arrives(planned: BatchPlan, change: Change) -> str:
    """SQL over collapsed keys that is true where a row arrived that the load cannot contain, and none left."""
    if change.orders_by_file and planned.loads:
        # The close time of a file does not tell whether its changes are from before the load.
        return "false"
    return f"{_LAST_ARRIVED_AT} IS NOT NULL AND {LEFT_AT} IS NULL AND {POSITION} IS NOT NULL AND {loaded_until_sql(planned)}"


def duplicate_keys(batch: BatchContext, merge_input: MergeInput) -> tuple[str, ...]:
    """Return a warning if a published batch in order replaced rows by other rows with the same key; empty without one.

    Costs nothing unless the merge has replaced more rows than updates and deletes can: then the keys are looked up in the earlier snapshot.
    Where the table leaves rows out, an update or delete may have replaced none, so the keys are looked up if any row was replaced.
    """
    if batch.planned.is_replay or not {_SURPLUS, _FRESH} & merge_input.figures.keys():
        return ()
    is_plain = table_mode(batch.table.mode).is_replaced_by_load or batch.planned.branch_state.branch is None
    count, example = int(merge_input.figures[_SURPLUS]), merge_input.figures[_EXAMPLE]
    head, before = batch.target.head(batch.planned.branch_state.branch), batch.planned.branch_state.head
    replaced = replaced_rows(head.summary, merge_input.row_counts.latest) if head is not None and before is not None else 0
    if _FRESH in merge_input.figures:
        fresh = int(merge_input.figures[_FRESH])
        # Every other key may have had a row, except those whose row came and went with the batch.
        others = 0 if hides_rows(batch.table) else merge_input.row_counts.latest - fresh - int(merge_input.figures[_CAME_AND_WENT])
        if is_plain and fresh > 0 and replaced > others:
            arrives = f"{_arrives(batch.planned, batch.context.config.bronze.change)} AND NOT ({_AGAIN})"
            more, other = _in_table(batch, merge_input, arrives)
            count, example = count + more, example or other
        what = "an insert (or a change of key) came to a key that another row has"
        causes = "Either the file with a delete is late, or the table was truncated (report it by run --truncate), or"
    else:
        if replaced and not batch.planned.progress.frontier:
            more, other = _in_table(batch, merge_input, f"{POSITION} IS NOT NULL")
            count, example = count + more, example or other
        what, causes = "the full load has a key more than once", "Either"
    if not count:
        return ()
    return (
        f"{batch.table.source}: {what}, {count} times; the newest row is in {batch.table.target}. Example of the key as it is there: "
        f"{example}. {causes} key names too few columns, or values that differ at the source are equal in the files (a numeric without "
        "precision has six decimals; let a DMS mapping rule make it text), or files were uploaded again. verify tells which rows "
        "are missing.",
    )


def _in_table(batch: BatchContext, merge_input: MergeInput, condition: str) -> tuple[int, str | None]:
    """Return how many latest changes that meet ``condition`` had their key in the table before the batch, and the key of one."""
    before = batch.planned.branch_state.head
    if before is None:
        return 0, None
    keys = [quote(name) for name in batch.shape.key]
    asked = merge_input.latest.where(condition)
    # New keys are often higher than all others: then no file of the table is read.
    ends = asked.selectExpr(*key_ends(batch.shape.key)).collect()[0]
    rows = batch.target.rows_at(before).where(table_mode(batch.table.mode).present)
    for text in filter(None, (one.sql() for one in key_ranges(batch.shape, ends.asDict()))):
        rows = rows.where(text)
    found = asked.join(rows.select(*keys), batch.shape.key, "left_semi")
    row = found.selectExpr("count(1) AS found", f"max({json_sql(batch.shape.key)}) AS example").collect()[0]
    return row.found, row.example
