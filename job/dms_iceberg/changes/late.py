"""Changes that arrive behind what was already applied.

A deleted key leaves nothing in the table, so a late change cannot be compared with it there. Bronze is the log: the merged
files that can hold something newer than the oldest late change are read again for just the late keys, and compete for the winner
without being counted. A file is closed after the commits it holds, so only names not before that commit (minus slack for two
clocks) are needed. In-order batches never come here.
"""

from collections.abc import Iterable, Sequence

from pyspark.sql import DataFrame
from pyspark.sql.functions import broadcast, expr, lit

from dms_iceberg.changes.collapse import BATCH_POSITION, CONTEXT, HIGH
from dms_iceberg.changes.frames import Shape, collapse
from dms_iceberg.changes.normalise import POSITION, PROBLEM
from dms_iceberg.changes.position import clock_of, is_load_position
from dms_iceberg.identifiers import quote, string_literal
from dms_iceberg.progress import Progress
from dms_iceberg.staging.keys import BronzeFile, earlier

SLACK_HOURS = 1.0
STALE = "_cdc_stale"
_STORED = "_cdc_stored_position"


def is_late(low: str, progress: Progress) -> bool:
    """Whether a batch whose lowest position is ``low`` may hold changes older than applied ones.

    Among LOAD files alone nothing was ever deleted: their rows are compared with the table's own.
    """
    return bool(low) and low <= progress.high_water


def needs_bronze(progress: Progress) -> bool:
    """Whether deletes may have been applied, so that late changes must be looked up."""
    return not is_load_position(progress.high_water, progress.epoch)


def context_since(low: str) -> str:
    """Return the earliest close time (17 digits) of a file that can hold a change newer than position ``low``."""
    clock = clock_of(low)
    return earlier(clock, hours=SLACK_HOURS) if clock.strip("0") else "0" * len(clock)


def context_files(listing: Iterable[BronzeFile], since: str, progress: Progress, batch: Sequence[BronzeFile]) -> list[BronzeFile]:
    """Return the merged CDC files closed at or after ``since`` that are not part of the batch itself."""
    own = {file.key for file in batch}
    return sorted(file for file in listing if file.is_cdc and file.order >= since and file.key not in own and progress.has_merged(file))


def collapse_late(batch: DataFrame, context: DataFrame | None, target: DataFrame, shape: Shape, high_water: str) -> DataFrame:
    """Return winners of a late batch, with `STALE` and the position each key has in the table.

    Args:
        batch: cleaned changes of the batch.
        context: cleaned changes of older files, None when there are none.
        target: the table; key and position columns are read.
    """
    rows = batch.withColumn(CONTEXT, lit(False))
    if context is not None:
        keys = [quote(name) for name in shape.key]
        late = batch.where(f"{POSITION} <= {string_literal(high_water)} AND {PROBLEM} IS NULL").select(*keys).distinct()
        older = context.where(f"{PROBLEM} IS NULL").join(broadcast(late), on=shape.key, how="left_semi")
        rows = rows.unionByName(older.withColumn(CONTEXT, lit(True)).select(*rows.columns))
    winners = collapse(rows, shape, context=True)
    stored = target.selectExpr(*(quote(name) for name in shape.key), f"{POSITION} AS {_STORED}")
    looked_up = stored.join(broadcast(winners.select(*(quote(name) for name in shape.key))), on=shape.key, how="left_semi")
    joined = winners.join(looked_up, on=shape.key, how="left")
    # The batch's newest change of a key is stale when the table, or a change read again from bronze, is newer.
    loses = f"{POSITION} IS NOT NULL AND ({CONTEXT} OR coalesce({_STORED} >= {POSITION}, false))"
    return joined.withColumn(STALE, expr(f"({loses}) AND {BATCH_POSITION} = {HIGH}"))

