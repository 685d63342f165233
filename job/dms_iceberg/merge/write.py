"""Writes a batch into a transaction of its table, by mode."""

import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dms_iceberg.changes.shape import Shape
from dms_iceberg.config.model import Mode
from dms_iceberg.context import RunContext
from dms_iceberg.iceberg.transaction import Transaction
from dms_iceberg.merge.append import NEW, changelog_columns
from dms_iceberg.merge.batch_context import BatchContext
from dms_iceberg.merge.merge_input import MergeInput
from dms_iceberg.merge.soft_delete import IN_TABLE, register_row_select, soft_delete_sql
from dms_iceberg.merge.statement import IN_LIST_KEYS, insert_columns, key_list_sql, merge_sql, mergeable
from dms_iceberg.merge.versions import ACTION, history_sql, version_columns
from dms_iceberg.sql.cdc_columns import DELETE
from dms_iceberg.sql.quoting import quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def batch_transaction(batch: BatchContext, merge_input: MergeInput, properties: dict[str, str]) -> Transaction:
    """Return a transaction with the merged batch, not committed yet; its snapshot carries ``properties``.

    Raises:
        PlanIsStaleError: another writer committed since the batch was planned.
    """
    transaction = batch.target.transaction(batch.planned.branch_state.head, batch.planned.branch_state.branch)
    if merge_input.row_counts.latest == 0:
        transaction.touch(properties)
    else:
        _WRITERS[batch.table.mode](batch, transaction, merge_input, properties)
    return transaction


def _mirror(batch: BatchContext, transaction: Transaction, merge_input: MergeInput, properties: dict[str, str]) -> None:
    source = merge_input.latest.where(mergeable())
    if batch.planned.branch_state.head is None:
        columns = insert_columns([*batch.shape.key, *batch.shape.values])
        transaction.append(source.where(f"NOT {DELETE}").selectExpr(*columns), properties)
        return
    with named_view(batch.context, source) as view:
        pruning, late, rewrite = _pruning(source, merge_input, batch.shape), merge_input.late, merge_input.rewrite
        transaction.execute(
            lambda name: merge_sql(name, view, batch.shape.key, batch.shape.values, pruning, compare=late, rewrite=rewrite), properties
        )


def _soft_delete(batch: BatchContext, transaction: Transaction, merge_input: MergeInput, properties: dict[str, str]) -> None:
    source = merge_input.latest.where(mergeable())
    rewrite = merge_input.rewrite
    columns = [*register_row_select([*batch.shape.key, *batch.shape.values]), *([rewrite] if rewrite else [])]
    if batch.planned.branch_state.head is None:
        transaction.append(source.where(IN_TABLE).selectExpr(*register_row_select([*batch.shape.key, *batch.shape.values])), properties)
        return
    with named_view(batch.context, source.selectExpr(*columns)) as view:
        pruning, late = _pruning(source, merge_input, batch.shape), merge_input.late
        transaction.execute(
            lambda name: soft_delete_sql(name, view, batch.shape.key, batch.shape.values, pruning, compare=late, rewrite=rewrite),
            properties,
        )


def _history(batch: BatchContext, transaction: Transaction, merge_input: MergeInput, properties: dict[str, str]) -> None:
    source = merge_input.latest.where(f"{ACTION} IS NOT NULL")
    if batch.planned.branch_state.head is None:
        transaction.append(source.selectExpr(*version_columns(batch.shape.key, batch.shape.values)), properties)
        return
    with named_view(batch.context, source) as view:
        pruning = _pruning(source, merge_input, batch.shape)
        transaction.execute(lambda name: history_sql(name, view, batch.shape.key, batch.shape.values, pruning), properties)


def _append(batch: BatchContext, transaction: Transaction, merge_input: MergeInput, properties: dict[str, str]) -> None:
    transaction.append(merge_input.latest.where(NEW).selectExpr(*changelog_columns(batch.shape)), properties)


@contextmanager
def named_view(context: RunContext, rows: "DataFrame") -> Iterator[str]:
    """Register rows as a temporary view, and drop it afterwards; returns the name of the view."""
    name = f"_cdc_rows_{uuid.uuid4().hex}"
    rows.createOrReplaceTempView(name)
    try:
        yield name
    finally:
        context.spark.catalog.dropTempView(name)


def _pruning(source: "DataFrame", merge_input: MergeInput, shape: Shape) -> list[str]:
    """Return conditions on the target (alias ``t``) that hold for all keys of ``source``, the rows to be merged."""
    conditions = [text for one in merge_input.ranges if (text := one.sql("t."))]
    if merge_input.row_counts.latest <= IN_LIST_KEYS and len(shape.key) == 1:
        name = shape.key[0]
        rows = source.selectExpr(f"CAST({quote(name)} AS string)").collect()
        listed = key_list_sql("t", name, shape.types[name], list(dict.fromkeys(row[0] for row in rows)))
        return [listed] if listed else conditions
    return conditions


_Writer = Callable[[BatchContext, Transaction, MergeInput, dict[str, str]], None]
_WRITERS: Mapping[Mode, _Writer] = {Mode.MIRROR: _mirror, Mode.SOFT_DELETE: _soft_delete, Mode.HISTORY: _history, Mode.APPEND: _append}
