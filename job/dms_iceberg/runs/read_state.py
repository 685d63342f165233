"""Read the state of a table: from the catalog, from bronze, and, once a batch is chosen, from its files."""

from datetime import UTC, datetime

import attrs

from dms_iceberg.bronze.keys import Truncate
from dms_iceberg.config.salts import refuse_unset_salts
from dms_iceberg.context import BranchState
from dms_iceberg.failpoints import failpoint
from dms_iceberg.loads.changes_alone import told_load
from dms_iceberg.loads.epochs import branch_state, built_by_other_configuration, discard_sql, is_replaced
from dms_iceberg.loads.kept_rows import is_made_as_declared, load_effect
from dms_iceberg.loads.load_marker import read_marker
from dms_iceberg.loads.moments import Effect
from dms_iceberg.loads.no_files import find_no_files
from dms_iceberg.loads.rebuild import left_rebuilds, read_rebuild
from dms_iceberg.loads.rebuilt_quarantine import has_unresolved
from dms_iceberg.loads.takeover import begun_again, refuse_second_load, to_take_over
from dms_iceberg.loads.truncate import truncate_effect
from dms_iceberg.progress.change_order import (
    refuse_other_order,
    refuse_truncates,
)
from dms_iceberg.progress.pending import Pending, changes_until, pending_files
from dms_iceberg.progress.progress import Progress
from dms_iceberg.quarantine.records import open_records
from dms_iceberg.quarantine.tables import refuse_moved
from dms_iceberg.runs.actions import CountRows
from dms_iceberg.runs.plan import is_rebuild_next
from dms_iceberg.runs.state import RunMemory, TableState
from dms_iceberg.silver.check_configuration import is_checked
from dms_iceberg.silver.load_branches import branch_of
from dms_iceberg.silver.memory.cleaning import refuse_other_key_values
from dms_iceberg.silver.memory.key import refuse_other_key
from dms_iceberg.silver.memory.late_declarations import (
    refuse_late_renames,
    standing_warnings,
)
from dms_iceberg.silver.memory.recorded_declarations import refuse_declared
from dms_iceberg.silver.schema.backfill import lost_backfills
from dms_iceberg.silver.schema.iceberg_limits import refuse_new_names
from dms_iceberg.silver.schema.rename import renamed_properties, renames
from dms_iceberg.silver.schema.switch_mode import silver_types, switch_statements
from dms_iceberg.silver.table_context import TableContext


def read_state(here: TableContext, memory: RunMemory, *, predicted_rebuild: bool = False) -> TableState:
    """Read the state of a table.

    Args:
        here: the table.
        memory: what the run remembers.
        predicted_rebuild: a rebuild is taken to be published, so that it does not count how the present content was built.

    Raises:
        DmsIcebergError: the configuration contradicts the table, or bronze lacks what the table was merged from.
    """
    context, table, target = here.context, here.table, here.target
    refuse_unset_salts(table)
    exists = target.exists()
    if exists:
        target.refresh()
    others = to_take_over(here)
    if exists:
        refuse_moved(context.config, table, target)
        refuse_declared(here)
    columns = silver_types(target, table)
    head = target.head() if exists else None
    main = BranchState(target.progress() if head else Progress(epoch=context.config.bronze.epoch), head.id if head else None)
    state = TableState(
        table=table,
        columns=columns,
        main=main,
        branch=main,
        pending=Pending([], [], [], []),
        uri=context.config.bronze.uri,
        bounds=context.config.batch,
        look_back=context.look_back(),
        to_take_over=others,
        renames=tuple(renames(table, target.all_columns())) if exists else (),
        switch=tuple(switch_statements(target, table)) if exists else (),
        memory=memory,
    )
    if state.renames:
        types = target.all_columns()
        left = {name: type_ for name, type_ in types.items() if name not in {one.old for one in state.renames}}
        refuse_new_names(table, left, {one.new: types[one.old] for one in state.renames}, target.partition_names())
    if context.request.replay is not None:
        return _with_records(here, state)
    if is_rebuild_next(state, context.request):
        return _with_rebuild(here, state)
    # What is merged into a table without content is made by the present configuration.
    memory.rebuilt = memory.rebuilt or main.head is None or main.progress.is_empty
    return _with_bronze(here, state, predicted_rebuild=predicted_rebuild)


def _with_rebuild(here: TableContext, state: TableState) -> TableState:
    found = read_rebuild(here, state.main.progress)
    failpoint("after-listing", here.table.source)
    state = attrs.evolve(state, branch=found.branch, pending=found.pending, outdated=found.outdated)
    if state.branch.head is None or state.files or state.truncate is not None:
        return state
    return attrs.evolve(state, unresolved=has_unresolved(here, state.branch))


def _with_bronze(here: TableContext, state: TableState, *, predicted_rebuild: bool) -> TableState:
    context, table, target, memory = here.context, here.table, here.target, state.memory
    found = branch_state(here, context.request.reload_started)
    outdated = built_by_other_configuration(table, target, found)
    found = begun_again(here, state.main.progress, found) if state.to_take_over else found
    warnings = [*filter(None, [outdated]), *left_rebuilds(table, target)]
    if target.exists() and not predicted_rebuild:
        if not is_replaced(table, found):
            properties = target.properties() | renamed_properties(state.renames, target.properties())
            refuse_other_key(table, properties)
            refuse_other_key_values(table, properties)
            refuse_late_renames(table, properties, target.column_types())
        warnings += standing_warnings(target, table)
    # Read the marker before the listing, so that the listing has every file that existed when the marker was written.
    marker = read_marker(context.store, table) if found.branch is not None else None
    listing = context.listing(table, found.progress)
    discard = discard_sql(target, found)
    pending = pending_files(listing, found.progress, table.source, datetime.now(UTC), discard)
    refuse_second_load(here, found.progress, pending)
    told = told_load(context, table, found, pending)
    found = attrs.evolve(found, progress=told.progress)
    warnings += [*pending.warnings(table.source, memory.unread), *told.warnings]
    memory.unread = max(memory.unread, pending.unread_count)
    failpoint("after-listing", table.source)
    refuse_other_order(table, found.progress, context.config.bronze.change)
    refuse_truncates(table, pending.truncates, context.config.bronze.change)
    state = attrs.evolve(
        state,
        branch=found,
        pending=pending,
        discard=discard,
        marker=marker,
        outdated=(str(found.branch),) if outdated is not None and not found.progress.reload else (),
        begins=bool(found.branch and found.progress.reload) and found.head is None and (found.begun is None or outdated is not None),
        lost_backfills=lost_backfills(target) if target.exists() else (),
        tells_load=told.is_new,
        warnings=tuple(warnings),
    )
    return _with_older(here, _with_no_files(here, state))


def _with_no_files(here: TableContext, state: TableState) -> TableState:
    context, table, found, pending = here.context, here.table, state.branch, state.pending
    if state.files or state.truncate is not None:
        return state
    is_begun = found.branch is not None and found.head is not None
    return attrs.evolve(
        state,
        no_files=None if is_begun else find_no_files(context, table, found, pending),
        is_checked=state.main.head is None or is_checked(here),
    )


def _with_older(here: TableContext, state: TableState) -> TableState:
    """Return main's state, if files from before a reload in place are to be merged into it; ``state``, that of the reload, otherwise.

    Modes that keep what was before the reload keep their changes, and a rejected row of the reload keeps its last good version. A mirror
    that was made by another configuration keeps nothing.
    """
    context, table, found, main = here.context, here.table, state.branch, state.main.progress
    if found.branch is None or not found.progress.reload or table.source in context.request.truncate:
        return state
    if is_replaced(table, found) and not is_made_as_declared(here):
        return state
    pending = changes_until(context.listing(table, main), main, table.source, found.progress.reloaded_at, datetime.now(UTC))
    older = attrs.evolve(state, branch=state.main, pending=pending, marker=None, no_files=None, then=state)
    if not older.files and older.truncate is None:
        return state
    refuse_other_order(table, main, context.config.bronze.change)
    return older


def _with_records(here: TableContext, state: TableState) -> TableState:
    context, table, target = here.context, here.table, here.target
    if state.main.head is None:
        return state
    refuse_other_key(table, target.properties())
    refuse_other_key_values(table, target.properties())
    refuse_late_renames(table, target.properties(), target.column_types())
    found = branch_state(here)
    refuse_other_order(table, found.progress, context.config.bronze.change)
    state = attrs.evolve(state, branch=found, lost_backfills=lost_backfills(target))
    if found.branch is not None or state.lost_backfills:
        return state
    records = open_records(context, table, found.progress, context.request.replay or ())
    if records is None:
        return state
    told = (one.at for one in context.listing(table, found.progress) if isinstance(one, Truncate))
    pending = attrs.evolve(state.pending, truncates=sorted(at for at in told if at > found.progress.reloaded_at))
    return attrs.evolve(state, records=records, pending=pending)


def count_rows(here: TableContext, action: CountRows) -> Effect:
    """Count which rows a truncate or a complete load takes from the content that the table has now."""
    if action.at:
        return truncate_effect(here.target, action.branch, action.at)
    progress = action.branch.progress
    return load_effect(here, action.branch, branch_of(progress.epoch, progress.reload))
