"""Open rows of the quarantine that do not identify the row they change (`merge.crowded.crowding`), and what resolves them.

A replay cannot resolve them. But a repair (``verify --repair``) writes what the source has for all their keys: from then on silver lacks
nothing of them.
"""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql.functions import broadcast

from dms_iceberg.bronze.keys import REPAIR_FOLDER
from dms_iceberg.changes.frames import Cleaner
from dms_iceberg.changes.normalise import AMBIGUOUS
from dms_iceberg.changes.shape import Shape
from dms_iceberg.config.model import Table
from dms_iceberg.context import RunContext
from dms_iceberg.merge.batch_context import BatchContext
from dms_iceberg.modes.lookup import table_mode
from dms_iceberg.progress.progress import Progress
from dms_iceberg.quarantine.records import record_groups
from dms_iceberg.quarantine.rejected_rows import open_rows
from dms_iceberg.spark.broadcast import materialised
from dms_iceberg.sql.cdc_columns import POSITION, ROW_ID
from dms_iceberg.sql.quoting import quote, string_literal


def ambiguous_keys(context: RunContext, table: Table, progress: Progress, shape: Shape) -> DataFrame | None:
    """Return `ROW_ID` and each silver key, old and new, of open rows with reason `AMBIGUOUS`; None without any."""
    rows = open_rows(context.spark, context.config, table, progress)
    if rows is None:
        return None
    rows = rows.where(f"reason = {string_literal(AMBIGUOUS)} AND layout IS NOT NULL")
    layouts = [row.layout for row in rows.select("layout").distinct().collect()]
    return _keys(context, table, progress, shape, rows, layouts) if layouts else None


def keys_of_rows(context: RunContext, table: Table, progress: Progress, shape: Shape, rows: DataFrame) -> DataFrame:
    """Return each silver key, old and new, of rows of the quarantine; ``rows`` are few, and have a layout."""
    layouts = [row.layout for row in rows.select("layout").distinct().collect()]
    return materialised(_keys(context, table, progress, shape, rows, layouts).drop(ROW_ID).distinct())


def _keys(context: RunContext, table: Table, progress: Progress, shape: Shape, rows: DataFrame, layouts: Sequence[str]) -> DataFrame:
    groups = record_groups(context, table, rows, layouts, [column.name for column in shape.columns])
    cleaned = Cleaner(context, table, shape, progress.load).clean(groups)
    return cleaned.select(ROW_ID, *(quote(name) for name in shape.key))


def touched_by(batch: BatchContext, latest: DataFrame) -> DataFrame | None:
    """Return the keys of open `AMBIGUOUS` rows that a late batch changes: its changes may identify their rows. None without any."""
    keys = ambiguous_keys(batch.context, batch.table, batch.planned.progress, batch.shape)
    if keys is None:
        return None
    names = [quote(name) for name in batch.shape.key]
    touched = materialised(keys.select(*names).join(latest.select(*names), batch.shape.key, "left_semi").distinct())
    return None if touched.isEmpty() else touched


def closed_by_repair(batch: BatchContext, latest: DataFrame) -> DataFrame | None:
    """Return the ids of open `AMBIGUOUS` rows for all of whose keys a batch with a repair has a usable change; None without a repair."""
    repairs = any(f"/{REPAIR_FOLDER}" in f"/{file.relative}" for file in batch.planned.batch.files)
    keys = (
        ambiguous_keys(batch.context, batch.table, batch.planned.progress, batch.shape)
        if repairs and table_mode(batch.table.mode).is_verified
        else None
    )
    if keys is None:
        return None
    keys = materialised(keys)
    written = latest.where(f"{POSITION} IS NOT NULL").select(*(quote(name) for name in batch.shape.key))
    left = keys.join(written, batch.shape.key, "left_anti").select(ROW_ID)
    return materialised(keys.select(ROW_ID).distinct().join(broadcast(left), ROW_ID, "left_anti").withColumnRenamed(ROW_ID, "id"))
