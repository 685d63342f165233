"""A TRUNCATE of a source table. DMS does not write it: the operator states it, and the job records it as an object in bronze.

Bronze is the log, so a table that is rebuilt from it is truncated again, at the same place in the order. A truncate deletes every key at
its moment, and no file names these keys. So the progress remembers the moment instead, and whatever is older loses against it, whenever
it arrives (`merge.late.changes`).
"""

import json

import structlog

from dms_iceberg.bronze.keys import ZONE_HOURS, earlier, shown_time, table_prefix, truncate_key
from dms_iceberg.bronze.position import truncate_position
from dms_iceberg.config.model import Table
from dms_iceberg.context import BranchState, RunContext
from dms_iceberg.errors import BronzeError, TargetError
from dms_iceberg.failpoints import failpoint
from dms_iceberg.loads.moments import Effect
from dms_iceberg.loads.truncate_sql import goes_sql, truncate_row, truncate_sql
from dms_iceberg.modes.lookup import mode_of, table_mode
from dms_iceberg.progress.pending import Pending
from dms_iceberg.progress.progress import Progress
from dms_iceberg.silver.row_counts import RowCounts, summary_properties
from dms_iceberg.silver.table import TargetTable
from dms_iceberg.silver.table_context import TableContext

_LOG = structlog.get_logger("dms_iceberg")


def record_truncate(context: RunContext, table: Table, at: str) -> None:
    """Record in bronze that the source table was truncated; the run that reaches this moment in the order applies it."""
    document = {"table": table.source, "truncated_at": at, "run_id": context.run_id}
    key = truncate_key(table_prefix(table.schema_name, table.table_name), at)
    context.store.put(key, json.dumps(document).encode())
    _LOG.info("truncate_told", table=table.source, run_id=context.run_id, file=key)
    failpoint("after-truncate-recorded", table.source)


def refuse_truncate(table: Table, found: BranchState, pending: Pending, at: str) -> bool:
    """Return whether exactly this truncate is already applied. Pure.

    Args:
        table: its configuration.
        found: the state of main.
        pending: what is listed for it.
        at: 17 digits, when the source table was truncated.

    Raises:
        TargetError: the table holds nothing yet, is being loaded, or its state contradicts that moment.
    """
    if found.branch is not None:
        raise TargetError(
            f"{table.source}: is being loaded again, and the load has what the source has since. If it is still needed, truncate the table "
            "once the new load is its content."
        )
    if found.head is None:
        raise TargetError(f"{table.source}: --truncate, but {table.target} holds nothing yet. Let its full load be merged first.")
    progress = found.progress
    if at == progress.truncated:
        return True
    if at < progress.truncated:
        raise TargetError(
            f"{table.source}: --truncated-at {shown_time(at)} is before the truncate of {shown_time(progress.truncated)}, which "
            f"{table.target} has already. What was committed between the two is gone from the source as well."
        )
    loaded = max([progress.reloaded_at, progress.load_written, *(file.modified for file in pending.loads)])
    if at <= loaded:
        raise TargetError(
            f"{table.source}: --truncated-at {shown_time(at)}, but the full load was written until {shown_time(loaded)}: its rows may be "
            "from after the truncate, and nothing tells which. If the table was loaded since, it needs no truncate; else load it again."
        )
    if table.track_columns and progress.high_water >= truncate_position(progress.load, at):
        raise TargetError(
            f"{table.source}: --truncated-at {shown_time(at)}, but later changes are merged already. With track_columns, "
            f"{table.target} does not have those of them that left these columns as they were before the truncate. Load the table again."
        )
    return False


def refuse_later_loads(table: Table, progress: Progress, pending: Pending) -> None:
    """Refuse a LOAD file that was written after a truncate: it may have rows from after it, which would go with those from before. Pure.

    All loaded rows lie below a truncate, whenever DMS read them. A copy of bronze has new times, though, which show nothing. There a
    change file that was closed before the truncate shows that the load was complete: DMS writes a table's changes after its load.
    (It does not in a reload in place, where a file may have been open when the load began.)

    Args:
        table: its configuration.
        progress: of the branch that the files would be merged into.
        pending: what is listed for it.

    Raises:
        BronzeError: there is such a file, and it is not merged, or the truncate is not applied.
    """
    at = max([progress.truncated, *pending.truncates])
    is_applied = at == progress.truncated
    loads = [file for file in pending.files if not file.is_cdc] if is_applied else pending.loads
    later = [file for file in loads if file.modified >= at] if at else []
    # Bronze may keep its full load for a while only: the progress knows when it was written.
    is_gone = not later and not is_applied and progress.load_written >= at
    if not later and not is_gone:
        return
    first = min([*filter(None, [progress.first]), *(file.order for file in pending.files if file.is_cdc)], default="~")
    if not progress.reload and first < earlier(at, hours=ZONE_HOURS):
        return
    marker = truncate_key(table_prefix(table.schema_name, table.table_name), at)
    way_out = "" if is_applied else f" If the source table was not truncated at that time, remove {marker} instead."
    raise BronzeError(
        f"{table.source}: full-load file {later[0].key if later else '(no longer in bronze)'} was written at "
        f"{shown_time(later[0].modified if later else progress.load_written)}, after the truncate of "
        f"{shown_time(at)}, which is {f'applied to {table.target}' if is_applied else f'recorded in bronze ({marker})'}. Its rows may "
        "be from after the truncate, and nothing tells which, so nothing is merged. A LOAD file must be older than the "
        f"truncate, or a change file of the table older than it by {ZONE_HOURS} hours. Let DMS load the table again into a new load "
        f"epoch, which shows what the source has now.{way_out}"
    )


def apply_truncate(here: TableContext, found: BranchState, at: str) -> tuple[str, ...]:
    """Truncate the table, which has the declared mode, in one commit with the progress; return the statements that were executed.

    Raises:
        PlanIsStaleError: another writer committed after ``found`` was read.
    """
    context, table, target = here.context, here.table, here.target
    load, mode = found.progress.load, table_mode(table.mode)
    properties = summary_properties(found.progress.with_truncate(at), RowCounts(), 0, context.run_id, truncated_at=at)
    transaction = target.transaction(found.head, found.branch)
    sql = truncate_sql(target.sql_name, mode, load, at)
    if sql is None:
        transaction.append(context.spark.range(1).selectExpr(*truncate_row(target.all_columns(), load, at)), properties)
    else:
        transaction.execute(lambda name: str(truncate_sql(name, mode, load, at)), properties)
        if transaction.head() == found.head:
            transaction.touch(properties)
    failpoint("before-publish", table.source)
    target.commit(transaction)
    failpoint("after-commit", table.source)
    _LOG.info("truncated", table=table.source, run_id=context.run_id, truncated_at=at)
    return (sql or f"INSERT INTO {target.sql_name}: a row of its own for the truncate of {shown_time(at)}",)


def preview_truncate(table: Table, target: TargetTable, found: BranchState, at: str) -> tuple[str | None, str]:
    """Return the statement of a truncate, and what it would do to the present rows; change nothing."""
    load, mode = found.progress.load, mode_of(target.all_columns())
    goes = goes_sql(mode, load, at)
    if goes is None:
        return None, f"{table.source}: a truncate at {shown_time(at)} would add a row of its own to {table.target}"
    effect = truncate_effect(target, found, at)
    return truncate_sql(target.sql_name, mode, load, at), (
        f"{table.source}: a truncate at {shown_time(at)} would end {effect.leave:,} of the {effect.rows:,} rows that {table.target} has now"
    )


def truncate_effect(target: TargetTable, found: BranchState, at: str) -> Effect:
    """Count how many present rows a truncate ends; the log of mode ``append`` loses none."""
    goes = goes_sql(mode_of(target.all_columns()), found.progress.load, at) or "false"
    rows = target.rows().selectExpr("count(1) AS n", f"count_if({goes}) AS gone").collect()[0]
    return Effect(rows.gone, rows.n - rows.gone)
