"""A batch's changes as a draft of its table, mode by mode."""

import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from dms_iceberg.changes.frames import Shape
from dms_iceberg.config.model import Mode, Table
from dms_iceberg.context import Job, Planned
from dms_iceberg.iceberg.transaction import Draft
from dms_iceberg.merge.append import NEW, changelog_columns
from dms_iceberg.merge.merge_input import Collapsed
from dms_iceberg.merge.soft_delete import IN_TABLE, register_row_select, soft_delete_sql
from dms_iceberg.merge.statement import IN_LIST_KEYS, insert_columns, key_list_sql, merge_sql, mergeable
from dms_iceberg.merge.versions import ACTION, history_sql, version_columns
from dms_iceberg.silver.table import TargetTable
from dms_iceberg.sql.cdc_columns import DELETE
from dms_iceberg.sql.quoting import quote

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def draft_batch(
    job: Job, table: Table, target: TargetTable, shape: Shape, collapsed: Collapsed, properties: dict[str, str], planned: Planned
) -> Draft:
    """Return the table with the batch merged, unpublished; its snapshot carries ``properties``."""
    draft = target.draft(planned.standing.head, planned.standing.branch)
    if collapsed.books.winners == 0:
        draft.touch(properties)
    else:
        _WRITERS[table.mode](job, draft, shape, collapsed, properties, planned)
    return draft


def _mirror(job: Job, draft: Draft, shape: Shape, collapsed: Collapsed, properties: dict[str, str], planned: Planned) -> None:
    source = collapsed.winners.where(mergeable())
    if planned.standing.head is None:
        columns = insert_columns([*shape.key, *shape.values])
        draft.append(source.where(f"NOT {DELETE}").selectExpr(*columns), properties)
        return
    with named_view(job, source) as view:
        pruning, late, rewrite = _pruning(source, collapsed, shape), collapsed.late, collapsed.rewrite
        draft.execute(lambda name: merge_sql(name, view, shape.key, shape.values, pruning, compare=late, rewrite=rewrite), properties)


def _soft_delete(job: Job, draft: Draft, shape: Shape, collapsed: Collapsed, properties: dict[str, str], planned: Planned) -> None:
    source = collapsed.winners.where(mergeable())
    rewrite = collapsed.rewrite
    columns = [*register_row_select([*shape.key, *shape.values]), *([rewrite] if rewrite else [])]
    if planned.standing.head is None:
        draft.append(source.where(IN_TABLE).selectExpr(*register_row_select([*shape.key, *shape.values])), properties)
        return
    with named_view(job, source.selectExpr(*columns)) as view:
        pruning, late = _pruning(source, collapsed, shape), collapsed.late
        draft.execute(lambda name: soft_delete_sql(name, view, shape.key, shape.values, pruning, compare=late, rewrite=rewrite), properties)


def _history(job: Job, draft: Draft, shape: Shape, collapsed: Collapsed, properties: dict[str, str], planned: Planned) -> None:
    source = collapsed.winners.where(f"{ACTION} IS NOT NULL")
    if planned.standing.head is None:
        draft.append(source.selectExpr(*version_columns(shape.key, shape.values)), properties)
        return
    with named_view(job, source) as view:
        pruning = _pruning(source, collapsed, shape)
        draft.execute(lambda name: history_sql(name, view, shape.key, shape.values, pruning), properties)


def _append(job: Job, draft: Draft, shape: Shape, collapsed: Collapsed, properties: dict[str, str], planned: Planned) -> None:
    draft.append(collapsed.winners.where(NEW).selectExpr(*changelog_columns(shape)), properties)


@contextmanager
def named_view(job: Job, rows: "DataFrame") -> Iterator[str]:
    """Give rows a name in SQL while it is needed."""
    name = f"_cdc_rows_{uuid.uuid4().hex}"
    rows.createOrReplaceTempView(name)
    try:
        yield name
    finally:
        job.spark.catalog.dropTempView(name)


def _pruning(source: "DataFrame", collapsed: Collapsed, shape: Shape) -> list[str]:
    """Return conditions on the target for the keys of ``source``, the rows to be merged."""
    conditions = [text for one in collapsed.ranges if (text := one.sql("t."))]
    if collapsed.books.winners <= IN_LIST_KEYS and len(shape.key) == 1:
        name = shape.key[0]
        rows = source.selectExpr(f"CAST({quote(name)} AS string)").collect()
        listed = key_list_sql("t", name, shape.types[name], list(dict.fromkeys(row[0] for row in rows)))
        return [listed] if listed else conditions
    return conditions


_Writer = Callable[[Job, Draft, Shape, Collapsed, dict[str, str], Planned], None]
_WRITERS: Mapping[Mode, _Writer] = {Mode.MIRROR: _mirror, Mode.SOFT_DELETE: _soft_delete, Mode.HISTORY: _history, Mode.APPEND: _append}
