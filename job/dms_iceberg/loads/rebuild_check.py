"""The check of rebuilt content before it is published: against the row counts of its batches, and the keys of the table."""

import json
from collections.abc import Collection
from datetime import UTC, datetime, timedelta

from dms_iceberg.bronze.keys import NAME_AHEAD_HOURS, digits_of
from dms_iceberg.config.model import Table
from dms_iceberg.context import BranchState, RunContext
from dms_iceberg.errors import TargetError
from dms_iceberg.loads.kept_rows import Kept
from dms_iceberg.loads.rebuilt_keys import Difference, compare
from dms_iceberg.progress.merged_changes import FOUND
from dms_iceberg.progress.progress import ACCOUNTING_KEY, Progress
from dms_iceberg.quarantine.rejected_rows import all_rows, open_rows, rejected_since
from dms_iceberg.silver.memory.cleaning import Cleaning
from dms_iceberg.silver.memory.key import KEY_PROPERTY, key_property
from dms_iceberg.silver.memory.withheld import Withheld
from dms_iceberg.silver.row_counts import COUNTS, RowCounts
from dms_iceberg.silver.schema.backfill import BACKFILL_KEY
from dms_iceberg.silver.table_context import TableContext


def check_rebuilt(here: TableContext, found: BranchState, planned_on: int | None, kept: Kept) -> tuple[str, ...]:
    """Compare the rebuilt content with the row counts of its batches and with the table's keys; return warnings.

    Args:
        here: the table.
        found: the state of the rebuild's branch.
        planned_on: main's head.
        kept: rows of main that stay beside the rebuilt content.

    Raises:
        TargetError: they differ.
    """
    table, target = here.table, here.target
    counts = RowCounts()
    for snapshot in target.lineage(found.branch):
        if ACCOUNTING_KEY not in snapshot.summary and BACKFILL_KEY not in snapshot.summary:
            # At this snapshot the branch was emptied.
            break
        accounting = json.loads(snapshot.summary.get(ACCOUNTING_KEY, "{}"))
        counts += RowCounts(*(accounting.get(name, 0) for name in COUNTS))
    key = json.loads(key_property(table, target.column_types())[KEY_PROPERTY])
    refused, same = counts.filtered + counts.quarantined, _same_keys(here, key)
    difference = compare(here, found, key, same=same)
    lost, main = difference.lost, target.progress()
    deletes = 0 if same else _rejected_deletes(here.context, table, found)
    unread = unread_changes(main, found.progress, datetime.now(UTC))
    problem = None
    if unread:
        problem = (
            f"at least {unread:,} of the {main.changes.count:,} change files that were merged were not read again: bronze has lost them "
            "since the rebuild began, or they were uploaded again. Restore them; merge what was uploaded again by a run without --rebuild; "
            "or let DMS load the table again into a new load epoch"
        )
    elif counts.rows_read != counts.accounted:
        problem = f"{counts.rows_read} rows were read and {counts.accounted} are accounted for. Report this defect"
    elif difference.doubled:
        problem = f"{difference.doubled} keys have more than one row. Report this defect"
    elif same and lost > refused:
        problem = (
            f"it lacks {lost} keys that the table has, and only {refused} rows were filtered or quarantined. Either files "
            "of bronze have lost rows since they were merged, or the table has rows that did not come from them. Restore the files; "
            "or load into a new target"
        )
    elif deletes:
        problem = (
            f"{deletes} deletes were quarantined, so deleted rows would be there again. A delete carries only the source's own key: if "
            "the new key has other columns, let DMS load the table again into a new load epoch"
        )
    if problem is not None:
        # A new rebuild sees restored files, whatever their modification times are.
        target.remove_branch(str(found.branch))
        raise TargetError(
            f"{table.source}: the rebuilt content of {table.target} is not published: {problem}. Readers see the old content."
        )
    stay = kept.rows.count() if kept.rows is not None and kept.stay else 0
    earlier = difference.earlier - stay
    warnings = [_missing_earlier(here, earlier, kept, planned_on, same=same)] if earlier > 0 else []
    warnings += [_missing_keys(here, lost, counts, planned_on)] if same and lost else []
    further = found.progress.changes.count - main.changes.count
    further_words = [_further_files(further)] if further > FOUND else []
    if same and not further:
        further_words += unexplained(difference, counts, _excused(here, main))
    return (*warnings, *(f"{table.source}: {one} The content before is snapshot {planned_on}." for one in further_words))


def unread_changes(main: Progress, rebuilt: Progress, now: datetime) -> int:
    """Return how many change files that the table has merged are not in rebuilt content, at least, as far as progress shows it.

    Merged files that are named far ahead of now are left to later runs (`pending.pending_files`).
    """
    limit, again = digits_of(now + timedelta(hours=NAME_AHEAD_HOURS)), {time for time, _ in rebuilt.recent}
    ahead = {time for time, _ in main.recent if time > limit} - again
    return main.changes.minus(ahead).lost_by(rebuilt.changes)


def _missing_earlier(here: TableContext, rows: int, kept: Kept, planned_on: int | None, *, same: bool) -> str:
    """Return the warning about rows that stayed with the load, and do not stay with its rebuild."""
    table, made = here.table, Cleaning.from_properties(here.target.properties())
    why = []
    if not same or not kept.stay or made is None or not made.is_that_of(table):
        why.append("they were made with another configuration of key, columns, masks, filter or rules")
    if kept.unreadable:
        why.append(f"{kept.unreadable:,} rejected row{'' if kept.unreadable == 1 else 's'} of the load have no readable key")
    return (
        f"{table.source}: {rows:,} row{' is' if rows == 1 else 's are'} not in the rebuilt content of {table.target}, which had kept "
        f"{'it' if rows == 1 else 'them'} from before its full load, because the load had rejected the newer version of "
        f"{'its key' if rows == 1 else 'their keys'}: {'; '.join(why) or 'the newer version is not in quarantine any more'}. "
        + ("" if same else "Keys are built in another way now, so whether the newer version is there was not compared. ")
        + f"Correct the cause and replay the quarantine. The content before is snapshot {planned_on}."
    )


def _missing_keys(here: TableContext, lost: int, counts: RowCounts, planned_on: int | None) -> str:
    """Return the warning about keys whose absence the counts of rows allow: whether these rows had the keys is not compared."""
    table = here.table
    made, now = Cleaning.from_properties(here.target.properties()), Cleaning.of(table)
    unchanged = made is not None and (made.filter, made.rules) == (now.filter, now.rules)
    return (
        f"{table.source}: the rebuilt content of {table.target} lacks {lost} key{'s' if lost > 1 else ''} that the content before has. "
        f"{counts.filtered} rows were filtered and {counts.quarantined} quarantined, which may have had these keys, or others. "
        + ("Filter and rules are those that the table was made with, which makes others likely. " if unchanged else "")
        + "If these keys should be there, the table had them from elsewhere, or files have lost rows since: compare with the source "
        f"(verify). The content before is snapshot {planned_on}: restore the files, roll the table back to it, and rebuild again."
    )


def _excused(here: TableContext, main: Progress) -> int | None:
    """Return how many rows may be live now, or not any more, as they were in quarantine; None where filter and rules let pass others."""
    table, made, now = here.table, Cleaning.from_properties(here.target.properties()), Cleaning.of(here.table)
    if made is None or (made.filter, made.rules) != (now.filter, now.rules) or ((now.filter or now.rules) and not made.is_that_of(table)):
        return None
    rows = open_rows(here.context.spark, here.context.config, table, main)
    return rows.count() if rows is not None else 0


def unexplained(difference: Difference, counts: RowCounts, excused: int | None) -> list[str]:
    """Return what of a difference nothing explains, in sentences, where both contents are of the same files.

    Args:
        difference: of two contents whose keys are built alike.
        counts: of the rebuilt content.
        excused: how many rows were in quarantine; None where others pass filter and rules than before.
    """
    found = []
    if excused is not None and difference.back + difference.ended > excused:
        found.append(
            f"the rebuilt content has rows of {difference.back:,} keys that the table had no row of, or an ended one; and of "
            f"{difference.ended:,} keys only an ended one that the table had a row of. Filter and rules are those that the table was made "
            f"with, its change files are those that it has merged, and {excused:,} rows were in quarantine. So rows were changed in the "
            "table or removed from its quarantine by hand, or files have other content or are read otherwise (bronze) than when they were "
            "merged. Compare with the source (verify)."
        )
    left_out = counts.filtered + counts.quarantined
    if difference.fewer > left_out:
        found.append(
            f"the rebuilt content has {difference.fewer:,} rows fewer of some keys than the table, and only {left_out:,} rows were "
            "filtered or quarantined. So the table has rows that were not written by this job, or files have other content or are read "
            "otherwise (bronze) than when they were merged. Compare both."
        )
    return found


def _further_files(further: int) -> str:
    return (
        f"the rebuilt content has {further:,} change files more than the table had merged: they came when they were older than the "
        "look-back. Whether bronze lacks some that were merged cannot be told among so many. Compare with the source (verify)."
    )


def _same_keys(here: TableContext, key: Collection[str]) -> bool:
    """Whether the configuration builds keys as the table's were built; otherwise the keys cannot be compared."""
    properties = here.target.properties()
    made, withheld = Cleaning.from_properties(properties), Withheld.from_properties(properties)
    names = {name.lower() for name in key}
    same = {name.lower() for name in json.loads(properties.get(KEY_PROPERTY, "[]"))} == names
    return same and made is not None and not made.other_columns(here.table, names, withheld)


def _rejected_deletes(context: RunContext, table: Table, found: BranchState) -> int:
    rows = all_rows(context.spark, context.config, table)
    return rows.where(f"op = 'D' AND {rejected_since(found.rebuild)}").count() if rows is not None else 0
