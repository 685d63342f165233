"""Change files that were uploaded again with another ETag: what becomes of quarantined rows of their earlier versions.

The new version is merged as a late file, and its rejected rows become separate rows of the quarantine. A change that it has, merged or
rejected, must not be read from an earlier version any more: it would count twice. A row that the new version lacks stays open, because only
the quarantine has it.
"""

from pyspark.sql import DataFrame

from dms_iceberg.merge.batch_context import BatchContext
from dms_iceberg.quarantine.rejected_key import rejected_key_sql
from dms_iceberg.quarantine.rejected_rows import open_rows
from dms_iceberg.sql.cdc_columns import OLD_KEY, POSITION


def rewritten_rows(batch: BatchContext) -> DataFrame | None:
    """Return the open rows (column ``id``) of earlier versions of the batch's files whose changes these files hold; None without any.

    The batch resolves them as a replay does (``docs/adr/0010-replays-are-a-chain.md``). Costs nothing where no file of the batch was merged
    with another ETag.
    """
    # A branch is built from the present versions of files.
    files = batch.planned.progress.rewritten(batch.planned.batch.files) if batch.planned.branch_state.branch is None else []
    # Only rows of merged files are open, so these are rows of earlier versions.
    in_quarantine = open_rows(batch.context.spark, batch.context.config, batch.table, batch.planned.progress) if files else None
    if in_quarantine is None:
        return None
    earlier = in_quarantine.where(in_quarantine["file"].isin([file.key for file in files])).select("id", "position", "key")
    if earlier.isEmpty():
        return None
    cleaned = batch.clean(with_record=True)
    there = cleaned.where(f"{OLD_KEY} = 0").selectExpr(f"{POSITION} AS position", f"{rejected_key_sql(batch.shape)} AS key").distinct()
    ended = earlier.join(there, ["position", "key"], "left_semi")
    return None if ended.isEmpty() else ended
