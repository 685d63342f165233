"""Large full-load files in which every key comes once: rows are written as they are read, without a shuffle by key.

Only the keys are shuffled, to check that each comes once and that the table has none of them. Where they rise, their files show the first
(`rising_keys`); where the table has no row in their range, there is nothing to compare. If a key comes twice, nothing is written and the
batch is merged the usual way. The written data files give the number of rows; only if that is less than the rows read, another pass counts
what became of them.
"""

from collections.abc import Mapping, Sequence

import attrs
from pyspark.sql import DataFrame
from pyspark.sql.functions import expr

from dms_iceberg.bronze.position import load_position
from dms_iceberg.changes.partial_updates import kept_columns
from dms_iceberg.iceberg.format_v3 import has_row_lineage
from dms_iceberg.iceberg.staged_files import Staged
from dms_iceberg.iceberg.transaction import Transaction
from dms_iceberg.merge.batch_context import BatchContext
from dms_iceberg.merge.merge_input import MergeInput, as_it_is
from dms_iceberg.merge.rising_keys import rising_keys
from dms_iceberg.merge.statement import KeyRange
from dms_iceberg.modes.lookup import table_mode
from dms_iceberg.modes.metadata_columns import row_columns
from dms_iceberg.silver.row_counts import BatchCounts
from dms_iceberg.sql.cdc_columns import FAILED_RULE, FILTERED, OP, PROBLEM
from dms_iceberg.sql.quoting import quote

BULK_BYTES = 32 << 20
"""Smaller loads are merged the usual way: it sorts their rows by key, and takes no longer."""
_ROWS, _NUMBER = "_cdc_rows", "_cdc_number"
_GOOD = f"{PROBLEM} IS NULL AND NOT {FILTERED}"


@attrs.frozen(eq=False)
class BulkLoad:
    """A load whose data files are written and belong to no snapshot yet.

    Attributes:
        transaction: a transaction on the state of the table that the batch was planned on.
        merge_input: the row counts; its ``latest`` are the rows that were written.
        staged: the data files.
    """

    transaction: Transaction
    merge_input: MergeInput
    staged: Staged

    def with_properties(self, properties: Mapping[str, str]) -> Transaction:
        """Append the files to the transaction, in a snapshot that carries ``properties``, and return it."""
        self.transaction.append_staged(self.staged, properties)
        return self.transaction

    def discard(self) -> None:
        """Delete the data files, unless they belong to the transaction."""
        self.staged.discard()


def bulk_load(batch: BatchContext) -> BulkLoad | None:
    """Write the rows of a large full load in which every key comes once; return None for any other batch."""
    if not _may_be_bulk(batch) or has_row_lineage(batch.context.spark._jvm, batch.target.iceberg):
        return None
    cleaned = batch.clean()
    keys = [quote(name) for name in batch.shape.key]
    once = _keys_once(batch, cleaned)
    if once is None or _are_some_in(batch, cleaned.select(*keys), once.ends):
        return None
    # Spark moves a condition below the columns that it reads, and computes commit times twice; but not below one that is not deterministic.
    numbered = cleaned.selectExpr("*", f"monotonically_increasing_id() AS {_NUMBER}")
    rows = numbered.where(f"{_GOOD} AND {OP} <> 'D' AND {FAILED_RULE} IS NULL AND {_NUMBER} >= 0").selectExpr(
        *row_columns([*batch.shape.key, *batch.shape.values])
    )
    transaction = batch.target.transaction_on(batch.planned.branch_state)
    staged = transaction.stage(rows)
    try:
        written = staged.rows
        counts = BatchCounts(rows_read=written, applied=written, latest=written) if written == once.rows else _row_counts(cleaned, written)
    except BaseException:
        staged.discard()
        raise
    high = max(load_position(batch.planned.progress.load, file.order) for file in batch.planned.batch.files) if written else ""
    return BulkLoad(transaction, MergeInput(rows, attrs.evolve(counts, high=high), (), False, as_it_is), staged)


@attrs.frozen
class _Once:
    """Keys of which each comes once: how many, and the lowest and highest value of each column as text."""

    rows: int
    ends: Sequence[str | None]


def _keys_once(batch: BatchContext, cleaned: DataFrame) -> _Once | None:
    """Return the keys of a batch; None if one comes twice."""
    rising = rising_keys(batch)
    if rising is not None:
        return _Once(rising.rows, [None if one is None else str(one) for one in (rising.low, rising.high)])
    keys = [quote(name) for name in batch.shape.key]
    ranges = [f"CAST({of}({key}) AS string)" for key in keys for of in ("min", "max")]
    grouped = cleaned.groupBy(*keys).agg(expr("count(1)").alias(_ROWS))
    rows, most, *ends = grouped.selectExpr(f"coalesce(sum({_ROWS}), 0)", f"coalesce(max({_ROWS}), 0)", *ranges).collect()[0]
    return _Once(rows, ends) if most <= 1 else None


def _may_be_bulk(batch: BatchContext) -> bool:
    """Whether a batch is a large part of the first load of a mirror, before any change, and its rows depend on no others."""
    plain = table_mode(batch.table.mode).is_bulk_loaded and not kept_columns(batch.context.config.bronze, batch.table, batch.shape.columns)
    begins = not batch.planned.progress.frontier and not batch.planned.effective_truncates and not batch.planned.is_replay
    return plain and begins and batch.planned.batch.is_load and batch.planned.batch.size >= BULK_BYTES


def _are_some_in(batch: BatchContext, keys: DataFrame, ends: Sequence[str | None]) -> bool:
    """Whether the table has a key of the batch."""
    if batch.planned.branch_state.head is None:
        return False
    texts = [KeyRange(name, batch.shape.types[name], ends[2 * n], ends[2 * n + 1]).sql() for n, name in enumerate(batch.shape.key)]
    there = batch.target.rows(batch.planned.branch_state.branch)
    for text in filter(None, texts):
        there = there.where(text)
    if not there.limit(1).collect():
        return False
    return bool(there.select(*(quote(name) for name in batch.shape.key)).join(keys, batch.shape.key, "left_semi").limit(1).collect())


def _row_counts(cleaned: DataFrame, written: int) -> BatchCounts:
    """Count the rows of a batch of which some are not written."""
    row = cleaned.selectExpr(
        "count(1) AS rows_read",
        f"count_if({PROBLEM} IS NOT NULL) AS quarantined",
        f"count_if({PROBLEM} IS NULL AND {FILTERED}) AS filtered",
        f"count_if({_GOOD}) AS applied",
        f"max({FAILED_RULE}) AS failed_rule",
    ).collect()[0]
    return BatchCounts(
        rows_read=row.rows_read,
        applied=row.applied,
        filtered=row.filtered,
        quarantined=row.quarantined,
        latest=written,
        failed_rule=row.failed_rule,
    )
