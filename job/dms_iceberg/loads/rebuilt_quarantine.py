"""Which rejected rows a rebuild resolves: those that it has read again, and not rejected.

A rebuild reads the files that the table has merged, as they are now. It says nothing of a row whose file is not among them: the batch that
rejected it was killed or rolled back, and rejects it again under the same id. Nor of a row that is only in an earlier version of a file.
"""

import uuid

import attrs
from pyspark.sql import DataFrame
from pyspark.sql.functions import broadcast

from dms_iceberg.bronze.keys import table_prefix
from dms_iceberg.bronze.listing import list_files
from dms_iceberg.context import BranchState
from dms_iceberg.quarantine.rejected_rows import all_rows, rejected_since, resolve, resolved_ids
from dms_iceberg.silver.row_counts import RowCounts, summary_properties
from dms_iceberg.silver.table_context import TableContext
from dms_iceberg.sql.quoting import string_literal


def has_unresolved(here: TableContext, found: BranchState) -> bool:
    """Whether rows were rejected before the rebuild and not again by it, and the branch does not record it yet of each of them.

    That the branch has a replay does not tell: a repair among its files resolves some rows as well (`merge.crowded.ambiguous_keys`).
    """
    if here.target.progress().earlier_versions(found.progress):
        return True
    rows = _rejected_before(here, found)
    return rows is not None and not rows.isEmpty()


def resolve_rejected(here: TableContext, found: BranchState) -> None:
    """Resolve rows that were rejected before the rebuild and not again by it: they are in the new content, or superseded.

    As with a replay (decision 10), they count as resolved for content that descends from the branch, and are open again after a rollback.

    Rows that only an earlier version of a file has stay open, so the branch gets main's record of these versions.
    """
    context, table, target = here.context, here.table, here.target
    replay = uuid.uuid4().hex[:16]
    recent = tuple(sorted({*found.progress.recent, *target.progress().earlier_versions(found.progress)}))
    rows = _rejected_before(here, found)
    if rows is not None:
        resolve(context, table, rows, replay, found.progress.replay)
    transaction = target.transaction(found.head, found.branch)
    transaction.touch(summary_properties(attrs.evolve(found.progress, replay=replay, recent=recent), RowCounts(), 0, context.run_id))
    target.commit(transaction)


def _rejected_before(here: TableContext, found: BranchState) -> DataFrame | None:
    """Return rows that were rejected before the rebuild and not again by it, without those that the branch has resolved; None for none."""
    context, table = here.context, here.table
    rows = all_rows(context.spark, context.config, table)
    if rows is None:
        return None
    source, since = string_literal(table.source), rejected_since(found.rebuild)
    rejected = rows.where(f"source_table = {source} AND NOT {since} AND load = {found.progress.load}").select("id", "file", "etag")
    # At its end the rebuild has read what main has merged; `plan` asks before it has.
    main = here.target.progress()
    prefix, format_ = table_prefix(table.schema_name, table.table_name), context.config.bronze.format
    wanted = {(row.file, row.etag) for row in rejected.select("file", "etag").distinct().collect()}
    listing = list_files(context.store, prefix, main.reloaded_at, format_) if wanted else ()
    held = ((main.merged_key(one), one.etag) for one in listing if main.holds(one))
    read = [one for one in held if one in wanted]
    of_read = broadcast(context.spark.createDataFrame(read, "file string, etag string"))
    read_again = rejected.join(of_read, ["file", "etag"], "left_semi").select("id")
    # The version that replaced a file has ended rows of earlier ones, in the content that the rebuild replaces.
    ended = resolved_ids(context.spark, context.config, table, main.replay)
    if ended is not None:
        read_again = read_again.union(rejected.select("id").join(ended, "id", "left_semi")).distinct()
    resolved = resolved_ids(context.spark, context.config, table, found.progress.replay)
    return read_again if resolved is None else read_again.join(resolved, "id", "left_anti")
