"""A batch's changes as a transaction of its table, mode by mode."""

import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dms_iceberg.changes.frames import Shape
from dms_iceberg.config.model import Mode, Table
from dms_iceberg.context import BatchPlan, RunContext
from dms_iceberg.iceberg.transaction import Transaction
from dms_iceberg.merge.append import NEW, changelog_columns
from dms_iceberg.merge.merge_input import MergeInput
from dms_iceberg.merge.soft_delete import IN_TABLE, register_row_select, soft_delete_sql
from dms_iceberg.merge.statement import IN_LIST_KEYS, insert_columns, key_list_sql, merge_sql, mergeable
from dms_iceberg.merge.versions import ACTION, history_sql, version_columns
from dms_iceberg.silver.table import TargetTable
from dms_iceberg.sql.cdc_columns import DELETE
from dms_iceberg.sql.quoting import quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def batch_transaction(
    context: RunContext,
    table: Table,
    target: TargetTable,
    shape: Shape,
    collapsed: MergeInput,
    properties: dict[str, str],
    planned: BatchPlan,
) -> Transaction:
    """Return the table with the batch merged, unpublished; its snapshot carries ``properties``."""
    transaction = target.transaction(planned.branch_state.head, planned.branch_state.branch)
    if collapsed.books.latest == 0:
        transaction.touch(properties)
    else:
        _WRITERS[table.mode](context, transaction, shape, collapsed, properties, planned)
    return transaction


def _mirror(
    context: RunContext, transaction: Transaction, shape: Shape, collapsed: MergeInput, properties: dict[str, str], planned: BatchPlan
) -> None:
    source = collapsed.latest.where(mergeable())
    if planned.branch_state.head is None:
        columns = insert_columns([*shape.key, *shape.values])
        transaction.append(source.where(f"NOT {DELETE}").selectExpr(*columns), properties)
        return
    with named_view(context, source) as view:
        pruning, late, rewrite = _pruning(source, collapsed, shape), collapsed.late, collapsed.rewrite
        transaction.execute(lambda name: merge_sql(name, view, shape.key, shape.values, pruning, compare=late, rewrite=rewrite), properties)


def _soft_delete(
    context: RunContext, transaction: Transaction, shape: Shape, collapsed: MergeInput, properties: dict[str, str], planned: BatchPlan
) -> None:
    source = collapsed.latest.where(mergeable())
    rewrite = collapsed.rewrite
    columns = [*register_row_select([*shape.key, *shape.values]), *([rewrite] if rewrite else [])]
    if planned.branch_state.head is None:
        transaction.append(source.where(IN_TABLE).selectExpr(*register_row_select([*shape.key, *shape.values])), properties)
        return
    with named_view(context, source.selectExpr(*columns)) as view:
        pruning, late = _pruning(source, collapsed, shape), collapsed.late
        transaction.execute(
            lambda name: soft_delete_sql(name, view, shape.key, shape.values, pruning, compare=late, rewrite=rewrite), properties
        )


def _history(
    context: RunContext, transaction: Transaction, shape: Shape, collapsed: MergeInput, properties: dict[str, str], planned: BatchPlan
) -> None:
    source = collapsed.latest.where(f"{ACTION} IS NOT NULL")
    if planned.branch_state.head is None:
        transaction.append(source.selectExpr(*version_columns(shape.key, shape.values)), properties)
        return
    with named_view(context, source) as view:
        pruning = _pruning(source, collapsed, shape)
        transaction.execute(lambda name: history_sql(name, view, shape.key, shape.values, pruning), properties)


def _append(
    context: RunContext, transaction: Transaction, shape: Shape, collapsed: MergeInput, properties: dict[str, str], planned: BatchPlan
) -> None:
    transaction.append(collapsed.latest.where(NEW).selectExpr(*changelog_columns(shape)), properties)


@contextmanager
def named_view(context: RunContext, rows: "DataFrame") -> Iterator[str]:
    """Give rows a name in SQL while it is needed."""
    name = f"_cdc_rows_{uuid.uuid4().hex}"
    rows.createOrReplaceTempView(name)
    try:
        yield name
    finally:
        context.spark.catalog.dropTempView(name)


def _pruning(source: "DataFrame", collapsed: MergeInput, shape: Shape) -> list[str]:
    """Return conditions on the target for the keys of ``source``, the rows to be merged."""
    conditions = [text for one in collapsed.ranges if (text := one.sql("t."))]
    if collapsed.books.latest <= IN_LIST_KEYS and len(shape.key) == 1:
        name = shape.key[0]
        rows = source.selectExpr(f"CAST({quote(name)} AS string)").collect()
        listed = key_list_sql("t", name, shape.types[name], list(dict.fromkeys(row[0] for row in rows)))
        return [listed] if listed else conditions
    return conditions


_Writer = Callable[[RunContext, Transaction, Shape, MergeInput, dict[str, str], BatchPlan], None]
_WRITERS: Mapping[Mode, _Writer] = {Mode.MIRROR: _mirror, Mode.SOFT_DELETE: _soft_delete, Mode.HISTORY: _history, Mode.APPEND: _append}
