"""Reads older files of bronze for keys of which the batch alone is not enough: those with late changes, and crowded ones."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import attrs
from pyspark.sql import DataFrame
from pyspark.sql.functions import col, expr, lit

from dms_iceberg.bronze.keys import BronzeFile, digits_of, earlier, table_prefix
from dms_iceberg.bronze.listing import list_files, oldest_change
from dms_iceberg.bronze.position import clock_of, is_load_sql
from dms_iceberg.changes.frames import ReadGroup, committed_since
from dms_iceberg.changes.normalise import AMBIGUOUS
from dms_iceberg.changes.open_files import open_files
from dms_iceberg.changes.unshared import unshared_columns
from dms_iceberg.context import BatchPlan
from dms_iceberg.merge.batch_context import BatchContext, Transform
from dms_iceberg.merge.late import changes as late
from dms_iceberg.modes.lookup import table_mode
from dms_iceberg.quarantine.rejected_rows import late_files, open_rows, rejected_since
from dms_iceberg.sql.cdc_columns import CONTEXT, FILE, FILE_NAME, IN_QUARANTINE, OLD_KEY, POSITION
from dms_iceberg.sql.json_text import json_sql
from dms_iceberg.sql.quoting import string_literal


@attrs.frozen(eq=False)
class OlderFiles:
    """Merged files that a batch must be compared with.

    Attributes:
        groups: the files, opened.
        since: 17 digits, the earliest commit time that is needed; "" for all.
        oldest: close time of the oldest merged change file that bronze still has.
        is_cut: bronze has lost change files that were merged.
        is_whole: the files are all merged files of the load.
        moved: of files that have been moved since they were merged, their keys and the former ones.
    """

    groups: Sequence[ReadGroup] = ()
    since: str = ""
    oldest: str = ""
    is_cut: bool = False
    is_whole: bool = False
    moved: Mapping[str, str] = attrs.field(factory=dict)


@attrs.frozen(eq=False)
class SecondLook:
    """Compares the suspects of a batch with bronze.

    Attributes:
        compare: adds changes of older files to those of the batch, and compares them (`late.compare_with_older`).
        keys: the suspects: keys with changes for which the batch alone is not enough.
        is_cut: bronze has lost change files that were merged.
    """

    compare: Transform
    keys: DataFrame
    is_cut: bool

    def of_suspects(self, rows: DataFrame) -> DataFrame:
        """Return the changes of suspects."""
        return rows.join(self.keys, self.keys.columns, "left_semi")

    def of_others(self, rows: DataFrame) -> DataFrame:
        """Return the rows of other keys."""
        return rows.join(self.keys, self.keys.columns, "left_anti")

    def compare_suspects(self, rows: DataFrame) -> DataFrame:
        """Compare the changes of suspects, and leave the others unchanged."""
        others = self.of_others(rows).withColumn(CONTEXT, lit(False))
        return self.compare(self.of_suspects(rows)).unionByName(others, allowMissingColumns=True)


def rows_in_quarantine(batch: BatchContext) -> DataFrame | None:
    """Return the open rows of the quarantine that are not in the batch: their files are merged, they are not."""
    in_quarantine = (
        batch.planned.untried
        if batch.planned.is_replay
        else open_rows(batch.context.spark, batch.context.config, batch.table, batch.planned.progress)
    )
    if in_quarantine is not None and batch.planned.branch_state.rebuild:
        # Rows that the old configuration rejected may be in the rebuilt content.
        return in_quarantine.where(rejected_since(batch.planned.branch_state.rebuild))
    return in_quarantine


def older_files(
    batch: BatchContext,
    low: str,
    in_quarantine: DataFrame | None,
    *,
    completes: bool = False,
    whole: bool = False,
) -> OlderFiles:
    """Return the merged files that a batch whose lowest position is ``low`` must be compared with.

    Args:
        in_quarantine: see `rows_in_quarantine`.
        completes: a late change may complete another one, whose updates leave columns out.
        whole: return all files of the load, not only those that can hold something newer than the oldest late change.
    """
    progress = batch.planned.progress
    if not whole and not late.needs_bronze(progress):
        return OlderFiles()
    prefix, format_ = table_prefix(batch.table.schema_name, batch.table.table_name), batch.context.config.bronze.format
    start = "" if whole else late.context_since(low, progress)
    listing = list(list_files(batch.context.store, prefix, start, format_))
    files = late.context_files(listing, start, progress, batch.planned.batch.files)
    is_whole = False
    if whole:
        loads = [file for file in listing if not file.is_cdc and file.modified >= progress.reloaded_at]
        changes = [file for file in listing if file.is_cdc]
        # As `late.context_files`.
        again = [file for file in progress.rewritten(changes) if not progress.has_merged(file)]
        own_keys = {file.key for file in batch.planned.batch.files}
        files = [*files, *(file for file in loads if progress.loads.has(file)), *(file for file in again if file.key not in own_keys)]
        files.sort()
        is_whole = progress.lost([*loads, *changes], again=again) is None
    own = {file.key for file in batch.planned.batch.files}
    own |= late_files(
        open_rows(batch.context.spark, batch.context.config, batch.table, progress) if batch.planned.is_replay else in_quarantine
    )

    def is_merged(file: BronzeFile) -> bool:
        # A file from before the first one came when bronze had lost older files.
        return file.order >= progress.first and progress.merged_key(file) not in own and progress.has_merged_version(file)

    oldest = oldest_change(batch.context.store, prefix, format_, progress.first, is_merged)
    is_gone = not oldest and (batch.planned.is_replay or progress.first not in {file.order for file in batch.planned.batch.files})
    if (oldest > progress.first or is_gone) and _begins_with_first_again(batch.planned):
        changes = list(list_files(batch.context.store, prefix, earlier(progress.first, seconds=1), format_))
        if progress.lost_changes(changes, again=progress.rewritten(changes)) is None:
            oldest, is_gone = progress.first, False
    # In a mirror, changes older than the oldest late change have no effect. In other modes they do: as a version, as the values of a
    # deleted row (which a table that was a mirror lacks), or to complete a change.
    since = clock_of(low) if table_mode(batch.table.mode).forgets_older and not completes and not whole else ""
    groups = open_files(batch.context, batch.table, files, [column.name for column in batch.shape.columns])
    moved = {file.key: former for file in files if (former := progress.merged_key(file)) != file.key}
    return OlderFiles(groups, since, oldest, bool(progress.first) and (oldest > progress.first or is_gone), is_whole, moved)


def _begins_with_first_again(planned: BatchPlan) -> bool:
    """Whether the first merged file was uploaded again, and is in the batch.

    The operator may have restored it after bronze had lost the files that came with it, so the caller checks for the others. Progress
    remembers all files merged since the first one as long as it remembers the first.
    """
    again = planned.progress.rewritten(planned.batch.files)
    return not planned.is_replay and any(file.order == planned.progress.first for file in again)


def second_look(
    batch: BatchContext,
    files: OlderFiles,
    keys: DataFrame,
    in_quarantine: DataFrame | None,
    *,
    with_quarantined: bool = False,
    moves: bool = True,
) -> SecondLook:
    """Return the comparison of the changes of ``keys``, the suspects, with older files.

    Args:
        files: the older files.
        in_quarantine: those of `rows_in_quarantine` that are marked among the rows of these files, None for none of them.
        with_quarantined: see `late.compare_with_older`.
        moves: see `late.compare_with_older`.
    """
    progress = batch.planned.progress
    # Files that are merged are not rejected now, whatever the schema policy says about those of the batch.
    plain, older = attrs.evolve(batch.shape, refused={}), None
    if files.groups:
        older = attrs.evolve(batch, groups=committed_since(files.groups, files.since), shape=plain).clean()
        if in_quarantine is not None:
            older = _mark_quarantined(older, in_quarantine, batch.shape.key, progress.load, files.moved)

    # In comparison with a file named ahead of now, other files only look late: a clock that went back must still be noticed.
    frontier = progress.frontier_until(digits_of(datetime.now(UTC)))
    unshared = unshared_columns(plain, [*batch.groups, *files.groups], batch.context.config.bronze.format)
    changes = late.OlderChanges(older, keys, frontier, files.oldest, files.is_cut, unshared)

    def compare(rows: DataFrame) -> DataFrame:
        return late.compare_with_older(batch, rows, changes, with_quarantined=with_quarantined, moves=moves)

    return SecondLook(compare, keys, files.is_cut)


def _mark_quarantined(older: DataFrame, in_quarantine: DataFrame, key: Sequence[str], load: int, moved: Mapping[str, str]) -> DataFrame:
    """Mark, among rows of merged files, those that are in quarantine (`IN_QUARANTINE`).

    The delete of such a row's old key is merged, unless the row does not identify the row it changes, or that key had something newer.
    Two date folders may have files of one name with the same changes: a row that is quarantined from one may be merged from the other.
    All rows of a LOAD file have one position, so only their key distinguishes them.

    Args:
        key: silver key columns.
        load: number of the load that the files belong to.
        moved: see `OlderFiles`. The quarantine names files as they were merged.
    """
    details = ", ".join(map(string_literal, late.NO_END_OF_OLD_KEY))
    stays = f"reason = {string_literal(late.OLDER_CLOCK)} AND detail IN ({details})"
    whole = f"reason = {string_literal(AMBIGUOUS)} OR {stays}"
    columns = {
        "_cdc_quarantine_name": "substring_index(file, '/', -1)",
        "_cdc_quarantine_file": "concat('/', file)",
        "_cdc_quarantine_position": "position",
        "_cdc_quarantine_half": f"explode(CASE WHEN {whole} THEN array(0, 1) ELSE array(0) END)",
        "_cdc_quarantine_key": f"CASE WHEN {is_load_sql('position', load)} THEN key ELSE '' END",
    }
    known = in_quarantine.where("position IS NOT NULL").selectExpr(*(f"{sql} AS {name}" for name, sql in columns.items())).distinct()
    # Spark returns percent-encoded paths, in which a plus is not a space.
    path = f"url_decode(replace({FILE}, '+', '%2B'))"
    if moved:
        cases = (f"WHEN endswith({path}, {string_literal(f'/{now}')}) THEN {string_literal(f'/{was}')}" for now, was in moved.items())
        path = f"CASE {' '.join(cases)} ELSE {path} END"
    same = (
        f"{FILE_NAME} = _cdc_quarantine_name AND {POSITION} = _cdc_quarantine_position AND {OLD_KEY} = _cdc_quarantine_half "
        f"AND CASE WHEN {is_load_sql(POSITION, load)} THEN {json_sql(key)} ELSE '' END = _cdc_quarantine_key "
        f"AND endswith({path}, _cdc_quarantine_file)"
    )
    return older.join(known, expr(same), "left").withColumn(IN_QUARANTINE, col("_cdc_quarantine_name").isNotNull()).drop(*columns)
