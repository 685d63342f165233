"""Change files that were uploaded again under another ETag: what becomes of rows of their first version that wait in the quarantine.

The new version is merged as a late file, and its rejected rows are rows of their own there. A change that it holds, merged or rejected, is
no longer to be read from the version before it: it would count twice. What the new version lacks stays open, as nothing else knows of it.
"""

from pyspark.sql import DataFrame

from dms_iceberg.merge.batch_context import BatchContext
from dms_iceberg.silver.quarantine import open_rows
from dms_iceberg.sql.cdc_columns import OLD_KEY, POSITION
from dms_iceberg.sql.json_text import json_sql


def rewritten_rows(batch: BatchContext) -> DataFrame | None:
    """Return the open rows (column ``id``) of earlier versions of the batch's files whose changes these files hold; None without any.

    The batch settles them as a replay does (decision 10). Costs nothing where no file of the batch was merged under another ETag.
    """
    # A branch is made from the files as they are now.
    files = batch.planned.progress.rewritten(batch.planned.batch.files) if batch.planned.branch_state.branch is None else []
    # Rows of files that are not merged, as these are, are not open.
    waiting = open_rows(batch.context.spark, batch.context.config, batch.table, batch.planned.progress) if files else None
    if waiting is None:
        return None
    earlier = waiting.where(waiting["file"].isin([file.key for file in files])).select("id", "position", "key")
    if earlier.isEmpty():
        return None
    cleaned = batch.clean()
    there = cleaned.where(f"{OLD_KEY} = 0").selectExpr(f"{POSITION} AS position", f"{json_sql(batch.shape.key)} AS key").distinct()
    ended = earlier.join(there, ["position", "key"], "left_semi")
    return None if ended.isEmpty() else ended
