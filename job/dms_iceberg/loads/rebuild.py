"""Build a table again from bronze with the present configuration, while readers see the old content (``run --rebuild``).

A run reads the files that the table has merged again, from the start, onto a branch that begins without rows. This is like a reload, but
the positions stay the same. When the branch has reached the table's progress, it is checked against the table and becomes its content in
one commit.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

import attrs
import structlog

from dms_iceberg.bronze.keys import BronzeFile, Truncate, digits_of, earlier, shown_time, table_prefix
from dms_iceberg.bronze.listing import list_bronze
from dms_iceberg.bronze.moved_keys import without_copies
from dms_iceberg.bronze.position import load_prefix
from dms_iceberg.config.model import Table
from dms_iceberg.context import BranchState
from dms_iceberg.errors import BronzeError, TargetError
from dms_iceberg.failpoints import failpoint
from dms_iceberg.loads.epochs import discard_sql
from dms_iceberg.loads.kept_rows import kept_rows, switch_transaction
from dms_iceberg.loads.rebuild_check import check_rebuilt
from dms_iceberg.modes.lookup import table_mode
from dms_iceberg.progress.pending import Pending, applied_truncates, new_loads, pending_files
from dms_iceberg.progress.progress import Progress
from dms_iceberg.silver.check_configuration import configuration_text
from dms_iceberg.silver.load_branches import REBUILD_BRANCH, building, rebuild_branches
from dms_iceberg.silver.table import TargetTable
from dms_iceberg.silver.table_context import TableContext
from dms_iceberg.sql.cdc_columns import POSITION, ROW_POSITION
from dms_iceberg.storage.store import digest

_LOG = structlog.get_logger("dms_iceberg")
_DIGEST_BYTES = 6
_LEFT_AFTER_HOURS = 24


def is_rebuilding(target: TargetTable) -> bool:
    """Whether a rebuild of the table has begun and is not done."""
    return bool(rebuild_branches(target))


def left_rebuilds(table: Table, target: TargetTable) -> list[str]:
    """Return a warning for each unfinished rebuild that began long ago: its files stay until the operator continues it or gives it up."""
    if not target.exists():
        return []
    floor = earlier(digits_of(datetime.now(UTC)), hours=_LEFT_AFTER_HOURS)
    return [
        f"{table.source}: a rebuild that was begun at {shown_time(name.removeprefix(REBUILD_BRANCH)[:14])} is not done, and its files are "
        f"kept. Go on with --rebuild {table.source}, or give it up: {target.drop_branch_sql(name)}."
        for name in rebuild_branches(target)
        if name.removeprefix(REBUILD_BRANCH) < floor
    ]


def branch_state(here: TableContext, main: Progress, now: datetime) -> BranchState:
    """Return the state of the branch for the next batch of a rebuild: one begun with the same configuration, else a new branch."""
    target = here.target
    # A rebuild by another configuration, or from before a reload, cannot be continued.
    mark = f"_{main.load}_{digest(configuration_text(here.context.config, here.table), _DIGEST_BYTES).hex()}"
    branch = next((name for name in rebuild_branches(target) if name.endswith(mark)), f"{REBUILD_BRANCH}{digits_of(now)}{mark}")
    started = branch.removeprefix(REBUILD_BRANCH).removesuffix(mark)
    head = target.head(branch)
    if head is None:
        # What was said of the load holds for the rebuild, which reads the same files.
        start = attrs.evolve(main.start, load_told=main.load_told, built_since=main.built_since)
        return BranchState(start, None, branch, started)
    return BranchState(target.progress(branch), head.id, branch, started)


@attrs.frozen
class Rebuild:
    """A rebuild that is under way, or that would begin.

    Attributes:
        branch: the state of the branch that its next batch goes to.
        pending: the files that the table has merged and the rebuild has not; its truncates are those that the table has applied.
        outdated: branches of rebuilds by another configuration, or of a load that is no longer the table's content.
    """

    branch: BranchState
    pending: Pending
    outdated: tuple[str, ...] = ()


def read_rebuild(here: TableContext, main: Progress) -> Rebuild:
    """Return the state of a table's rebuild; ``main`` is the progress that it must reach.

    Raises:
        BronzeError: bronze lacks some files that were merged, or holds another load than the table.
        TargetError: the table holds rows of earlier loads.
    """
    now = datetime.now(UTC)
    found = branch_state(here, main, now)
    pending = _pending(here, main, found, now)
    truncates = applied_truncates(pending.truncates, main)
    outdated = tuple(rebuild_branches(here.target)) if found.head is None else ()
    return Rebuild(found, attrs.evolve(pending, truncates=truncates), outdated)


def _pending(here: TableContext, main: Progress, found: BranchState, now: datetime) -> Pending:
    """Return the files that the table has merged and the rebuild has not.

    Raises:
        BronzeError: bronze lacks some that were merged, or holds another load than the table.
        TargetError: the table holds rows of earlier loads, which are not in bronze.
    """
    context, table, target = here.context, here.table, here.target
    if context.config.bronze.epoch != main.epoch or building(target):
        raise BronzeError(
            f"{table.source}: bronze.uri {context.config.bronze.uri} holds load epoch {context.config.bronze.epoch}, {table.target} epoch "
            f"{main.epoch}; or a reload is under way. A rebuild reads the load that the table holds. Complete the reload: it is made by "
            "the present configuration. Nothing was written."
        )
    begins = found.head is None
    since, committed = (main.reloaded_at, None) if begins else (found.progress.since, found.progress.to_come(context.look_back()))
    prefix = table_prefix(table.schema_name, table.table_name)
    everything = list(list_bronze(context.store, prefix, since, context.config.bronze.format, committed))
    listing = [one for one in everything if isinstance(one, BronzeFile)]
    loads = [file for file in listing if not file.is_cdc and file.modified >= main.reloaded_at]
    new_loads(loads, main, table.source)
    lost = (main.lost([*loads, *(file for file in listing if file.is_cdc)]) or _lost_between(listing, main)) if begins else None
    if lost is not None or not main.loads.are_all_in(loads):
        raise BronzeError(
            f"{table.source}: {table.target} cannot be rebuilt, because bronze no longer has all that it was made of: {lost or 'files'} "
            f"are missing below {context.config.bronze.uri}. Restore them (versions of the bucket, a backup), or let DMS load the table "
            "again into a new load epoch, which is made by the present configuration. Nothing was written."
        )
    if begins:
        _refuse_earlier_loads(table, target, main)
    merged = [file for file in listing if (main.has_merged(file) if file.is_cdc else main.loads.has(file))]
    truncates = (one for one in everything if isinstance(one, Truncate))
    return pending_files([*without_copies(merged), *truncates], found.progress, table.source, now, discard_sql(target, found))


def _lost_between(listing: Sequence[BronzeFile], main: Progress) -> str | None:
    """Say how many merged change files are missing in a listing of all, by their number; None where none is known to be."""
    there = {file.order for file in listing if file.is_cdc and file.order > main.reloaded_at and main.has_merged_version(file)}
    lost = main.changes.lost(there)
    return f"at least {lost:,} of the {main.changes.count:,} change files" if lost else None


def _refuse_earlier_loads(table: Table, target: TargetTable, main: Progress) -> None:
    if table_mode(table.mode).is_replaced_by_load:
        return
    columns = [name for name in (POSITION, ROW_POSITION) if name in target.all_columns()]
    oldest = f"min(least({', '.join(columns)}))" if len(columns) > 1 else f"min({POSITION})"
    ((low,),) = target.rows().selectExpr(oldest).collect()
    if low is not None and low < load_prefix(main.load):
        raise TargetError(
            f"{table.source}: {table.target} (mode {table.mode.value}) holds rows of earlier full loads, which the files of epoch "
            f"{main.epoch} do not show: a rebuild would lose them. Give the table a new target, or leave its rows "
            "as they are. Nothing was written."
        )


def publish_rebuild(here: TableContext, found: BranchState, planned_on: int | None) -> tuple[str, ...]:
    """Publish the rebuilt content, after a check against the row counts of its batches and the table's keys; return warnings.

    Raises:
        TargetError: the check failed; the branch is removed, and readers see the old content.
        PlanIsStaleError: another writer committed after ``planned_on``, main's head, was read.
    """
    table, target = here.table, here.target
    kept = kept_rows(here, found, str(found.branch))
    warnings = check_rebuilt(here, found, planned_on, kept)
    failpoint("before-switch", table.source)
    transaction = switch_transaction(here, found, str(found.branch), planned_on, kept)
    transaction.remove_branches(rebuild_branches(target))
    target.commit(transaction)
    failpoint("after-switch", table.source)
    _LOG.info("rebuilt", table=table.source, run_id=here.context.run_id, warnings=list(warnings))
    return warnings
