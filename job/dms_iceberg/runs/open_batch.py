"""Opens the next batch of a table: the columns of its files or records, and what these make of the table."""

import time
from collections.abc import Sequence

import attrs

from dms_iceberg.bronze.keys import BronzeFile
from dms_iceberg.bronze.schema_groups import SchemaGroup
from dms_iceberg.changes.frames import ReadGroup
from dms_iceberg.changes.open_files import open_files
from dms_iceberg.config.former_names import former_names
from dms_iceberg.config.model import BronzeFormat
from dms_iceberg.failpoints import failpoint
from dms_iceberg.merge.history import untimed
from dms_iceberg.modes.lookup import table_mode
from dms_iceberg.progress.change_order import (
    is_tied,
    refuse_local_names,
    refuse_lost_sequence,
    refuse_ties,
)
from dms_iceberg.progress.pending import FileBatch, RecordBatch
from dms_iceberg.progress.progress import Progress
from dms_iceberg.quarantine.records import record_groups
from dms_iceberg.runs.state import OpenedBatch, TableState
from dms_iceberg.silver.analysis import analysed_evolution
from dms_iceberg.silver.memory.cleaning import Cleaning
from dms_iceberg.silver.memory.forgotten_names import refuse_forgotten_names
from dms_iceberg.silver.memory.held_columns import held_warnings, told_columns, without_held
from dms_iceberg.silver.memory.late_declarations import (
    refuse_both_names,
    refuse_reused_names,
    unfilled,
    unfilled_warning,
)
from dms_iceberg.silver.memory.name_changes import (
    before_return,
    follow,
    follow_lines,
    in_order,
    rename_questions,
    returned_warning,
    structure,
    without_reused_names,
)
from dms_iceberg.silver.memory.recorded_declarations import guarded, source_names
from dms_iceberg.silver.memory.table_memory import Memory
from dms_iceberg.silver.schema.backfill import lost_backfills
from dms_iceberg.silver.schema.diff import AddColumn, Types
from dms_iceberg.silver.schema.evolve import Evolution
from dms_iceberg.silver.schema.iceberg_limits import refuse_new_names, refuse_new_table
from dms_iceberg.silver.schema.unknown_columns import KnownTable, by_hand, check_named
from dms_iceberg.silver.table_context import TableContext


def open_batch(here: TableContext, state: TableState, batch: FileBatch | RecordBatch, *, predicted: bool = False) -> OpenedBatch:
    """Read the columns of a batch, and compare them with the configuration and the table.

    Args:
        here: the table.
        state: its state, or a predicted one.
        batch: what to look into.
        predicted: earlier batches were predicted, so the table does not remember their columns. Salts are not read again.

    Raises:
        DmsIcebergError: the batch cannot be merged; nothing was written.
    """
    began = time.monotonic()
    context, table, target = here.context, here.table, here.target
    existing, branch = state.columns, state.branch
    if isinstance(batch, RecordBatch) and state.records is not None:
        groups = record_groups(context, table, state.records.rows, state.records.layouts, existing or ())
    else:
        if context.config.bronze.change.orders_by_file:
            _refuse_no_order(here, batch.files, branch.progress)
        groups = open_files(context, table, batch.files, existing or ())
        files = [(file, group.columns.sequence is not None) for group in groups if group.group.is_cdc for file in group.group.files]
        refuse_lost_sequence(table, branch.progress, files, context.config.bronze.change.sequence_column)
    failpoint("after-inspect", table.source)
    since = None if branch.rebuild or isinstance(batch, RecordBatch) else branch.progress.frontier
    memory = guarded(here, groups, branch.branch, with_salts=not predicted, foreseen=state.foreseen, since=since)
    newly = memory.held.keys() - (state.foreseen or memory).withheld.held.keys()
    if isinstance(batch, FileBatch) and newly and (count := before_return(groups, newly)):
        # What is held back is left out of the whole batch, and until then the name was another column's.
        return open_batch(here, state, batch.first(count), predicted=predicted)
    lost = lost_backfills(target, branch.branch) if branch.branch is not None and branch.head is not None else ()
    if not groups:
        return OpenedBatch(batch, (), memory, table, lost_backfills=lost, began=began)
    is_new = not target.exists() or target.head() is None
    # Records of older files may lack a column: only one that no file ever had is reported.
    named = check_named(context, table, groups, batch.files, KnownTable(existing or {}, memory.seen, branch.progress, is_new, memory.held))
    evolution = analysed_evolution(context, without_held(table, memory.held), groups, existing, memory.texts, memory.salts)
    _refuse_unstorable(here, existing, evolution)
    warnings = (*evolution.warnings, *held_warnings(table, memory.withheld, {**memory.kept_out, **memory.held}))
    memory, further = _follow_names(here, state, OpenedBatch(batch, groups, memory, table, evolution=evolution))
    if not isinstance(batch, RecordBatch):
        foreign = by_hand(table, evolution.shape, source_names(groups), memory.seen) if not predicted else ()
        warnings = (*named.warnings, *warnings, *foreign, *further, *untimed(table, groups, context.config.bronze.change))
    foreseen = memory.after(without_held(table, memory.held), evolution.shape, source_names(groups))
    return OpenedBatch(batch, groups, memory, table, named, evolution, lost, warnings, began, foreseen)


def _follow_names(here: TableContext, state: TableState, opened: OpenedBatch) -> tuple[Memory, tuple[str, ...]]:
    """Return what a batch's table remembers of the names in its files, and warnings about names that change.

    Raises:
        SchemaChangeError: nothing shows which of two names is that of a renamed column (`refuse_both_names`), or a file has an earlier one.
    """
    table, target, branch, memory = here.table, here.target, state.branch, opened.memory
    made = Cleaning.from_properties(target.properties()) if target.exists() else None
    json = here.context.config.bronze.format is BronzeFormat.JSON
    ordered, behind = in_order(opened.groups, branch.progress.frontier)
    is_replay = isinstance(opened.batch, RecordBatch)
    groups, older = ([*map(_names_in_files, some)] for some in (opened.groups, opened.groups if branch.rebuild or is_replay else behind))
    refuse_forgotten_names(table, groups, older, made, state.columns or (), by_row=json)
    if is_replay:
        return memory, ()
    if branch.head is None:
        refuse_both_names(table, opened.groups, made)
    if branch.rebuild:
        # Its files are followed already, and its content gets their names one after the other once more.
        return memory, ()
    known = state.foreseen or memory
    seen = known.seen.renamed(former_names(table))
    if json:
        found = follow_lines(seen, [structure(group) for group in opened.groups])
    else:
        refuse_reused_names(table, [one.group for one in ordered], seen)
        own, seen = without_reused_names([(one.group.names, structure(one)) for one in ordered], table, seen, known.withheld.held)
        found = follow(seen, own)
    added = [one.name for one in opened.evolved.plan.operations if isinstance(one, AddColumn)]
    # A column with the former name of a renamed one is another one.
    shown = {(one.source or "").lower() for one in opened.evolved.shape.columns if not one.retired}
    shown -= {old.lower() for old, _ in former_names(table)}
    is_stale = branch.branch is None and not table_mode(table.mode).is_log
    returned = found.returned & shown if is_stale else frozenset[str]()
    late = unfilled(table, added, known.withheld, known.seen) if branch.branch is None else set[str]()
    warnings = [
        *rename_questions(table.source, found.switches, {*told_columns(table), *memory.held, *memory.kept_out}),
        *([returned_warning(table.source, table.target, returned)] if returned else []),
        *([unfilled_warning(table, late)] if late else []),
    ]
    gone = found.gone | (known.seen.names - seen.names)
    return attrs.evolve(memory, seen=attrs.evolve(known.seen, gone=gone, own=seen.own), returned=returned), tuple(warnings)


def _names_in_files(one: ReadGroup) -> SchemaGroup:
    """Return a group by the names of its files; of JSON lines only the rows show them."""
    return one.group if one.group.columns else attrs.evolve(one.group, columns=tuple((name, "") for name in one.columns.names))


def _refuse_unstorable(here: TableContext, existing: Types | None, evolution: Evolution) -> None:
    """Refuse what Iceberg would refuse once the batch is merged."""
    if existing is None:
        refuse_new_table(here.table, evolution.shape.types)
        return
    added = {one.name: one.type for one in evolution.plan.operations if isinstance(one, AddColumn)}
    if added:
        refuse_new_names(here.table, existing, added, here.target.partition_names() if here.target.exists() else {})


def _refuse_no_order(here: TableContext, files: Sequence[BronzeFile], progress: Progress) -> None:
    refuse_local_names(here.table, files)
    if is_tied(files, progress):
        refuse_ties(here.table, files, (one for one in here.context.listing(here.table, progress) if isinstance(one, BronzeFile)))
