"""Writes a batch into a transaction of its table, by mode."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dms_iceberg.changes.shape import Shape
from dms_iceberg.context import RunContext
from dms_iceberg.iceberg.transaction import Transaction
from dms_iceberg.merge.batch_context import BatchContext
from dms_iceberg.merge.direct.delta import DIRECT, PATH_KEY, add_directly
from dms_iceberg.merge.merge_input import MergeInput
from dms_iceberg.merge.statement import IN_LIST_KEYS, key_list_sql
from dms_iceberg.modes.lookup import table_mode
from dms_iceberg.modes.statement import MergeSource
from dms_iceberg.sql.quoting import quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def batch_transaction(batch: BatchContext, merge_input: MergeInput, properties: dict[str, str]) -> Transaction:
    """Return a transaction with the merged batch, not committed yet; its snapshot carries ``properties``.

    Raises:
        NotPossibleError: the batch was to be written directly, and cannot be; nothing was written.
        PlanIsStaleError: another writer committed since the batch was planned.
    """
    transaction = batch.target.transaction_on(batch.planned.branch_state)
    if merge_input.row_counts.latest == 0:
        transaction.touch(properties)
        return transaction
    properties |= {PATH_KEY: merge_input.path}
    if merge_input.path == DIRECT and merge_input.rows is not None:
        add_directly(batch, transaction, merge_input.rows, properties, is_late=merge_input.late)
    else:
        _write(batch, transaction, merge_input, properties)
    return transaction


def _write(batch: BatchContext, transaction: Transaction, merge_input: MergeInput, properties: dict[str, str]) -> None:
    mode, key, values = table_mode(batch.table.mode), batch.shape.key, batch.shape.values
    rows, columns, merge_sql = merge_input.latest.where(mode.written), mode.row_select([*key, *values]), mode.merge_sql
    if merge_sql is None or batch.planned.branch_state.head is None:
        transaction.append(rows.where(mode.inserted).selectExpr(*columns), properties)
        return
    rewrite = merge_input.rewrite
    selected = rows.selectExpr(*columns, *([rewrite] if rewrite else [])) if mode.states_select is not None else rows
    with named_view(batch.context, selected) as view:
        source = MergeSource(view, _pruning(rows, merge_input, batch.shape), rewrite)
        transaction.execute(lambda name: merge_sql(name, source, key, values, compare=merge_input.late), properties)


@contextmanager
def named_view(context: RunContext, rows: "DataFrame") -> Iterator[str]:
    """Register rows as a temporary view, and drop it afterwards; returns the name of the view."""
    name = f"_cdc_rows_{uuid.uuid4().hex}"
    rows.createOrReplaceTempView(name)
    try:
        yield name
    finally:
        context.spark.catalog.dropTempView(name)


def _pruning(rows: "DataFrame", merge_input: MergeInput, shape: Shape) -> list[str]:
    """Return conditions on the target (alias ``t``) that hold for all keys of ``rows``, the rows to be merged."""
    conditions = [text for one in merge_input.ranges if (text := one.sql("t."))]
    if merge_input.row_counts.latest <= IN_LIST_KEYS and len(shape.key) == 1:
        name = shape.key[0]
        found = rows.selectExpr(f"CAST({quote(name)} AS string)").collect()
        listed = key_list_sql("t", name, shape.types[name], list(dict.fromkeys(row[0] for row in found)))
        return [listed] if listed else conditions
    return conditions
