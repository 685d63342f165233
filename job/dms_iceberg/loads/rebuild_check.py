"""The check of rebuilt content before it is published: against the row counts of its batches, and the keys of the table."""

import json
from collections.abc import Collection, Sequence

from dms_iceberg.config.model import Mode, Table
from dms_iceberg.context import BranchState, RunContext
from dms_iceberg.errors import TargetError
from dms_iceberg.loads.kept_rows import Kept, is_earlier_sql
from dms_iceberg.progress.progress import ACCOUNTING_KEY
from dms_iceberg.silver.backfill import BACKFILL_KEY
from dms_iceberg.silver.cleaning import Cleaning
from dms_iceberg.silver.key import KEY_PROPERTY, key_property
from dms_iceberg.silver.quarantine import all_rows, rejected_since
from dms_iceberg.silver.row_counts import COUNTS, RowCounts
from dms_iceberg.silver.table_context import TableContext
from dms_iceberg.silver.withheld import Withheld
from dms_iceberg.sql.cdc_columns import IS_CURRENT
from dms_iceberg.sql.quoting import quote


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
    doubled, lost, earlier = _compare(here, found, key, same=same)
    deletes = 0 if same else _rejected_deletes(here.context, table, found)
    problem = None
    if counts.rows_read != counts.accounted:
        problem = f"{counts.rows_read} rows were read and {counts.accounted} are accounted for. Report this defect"
    elif doubled:
        problem = f"{doubled} keys have more than one row. Report this defect"
    elif same and lost > refused:
        problem = (
            f"it lacks {lost} keys that the table has, and only {refused} rows were filtered or quarantined. Either bronze no longer has "
            "all change files that were merged, or the table has rows that did not come from them. Restore the files; "
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
    found_missing = [_missing_earlier(here, earlier - stay, kept, planned_on, same=same)] if earlier > stay else []
    return (*found_missing, *([_missing_keys(here, lost, counts, planned_on)] if same and lost else []))


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
        + "If these keys should be there, bronze has lost change files between the first and the latest ones: compare with the source "
        f"(verify). The content before is snapshot {planned_on}: restore the files, roll the table back to it, and rebuild again."
    )


def _compare(here: TableContext, found: BranchState, key: Sequence[str], *, same: bool) -> tuple[int, int, int]:
    """Count keys that the branch has more than once, and keys of the table that it lacks, in one pass.

    Those lacked are of rows of the load, and of rows that stayed with it; without the ``same`` keys in both, of the latter are all counted.
    """
    table, target, branch = here.table, here.target, str(found.branch)
    counted = {Mode.HISTORY: f"CAST({IS_CURRENT} AS int)", Mode.APPEND: "0"}.get(table.mode, "1")
    # In one column: so no key column's name can collide with one that Spark gives an aggregate.
    one = f"struct({', '.join(map(quote, key))}) AS _cdc_key"
    # Other modes refuse rows of earlier loads (`_refuse_earlier_loads`).
    earlier = f"CAST({is_earlier_sql(found.progress.load)} AS int)" if table.mode is Mode.MIRROR else "0"
    old = target.rows().selectExpr(one, f"1 - {earlier} AS _cdc_old", f"{earlier} AS _cdc_earlier", "0 AS _cdc_new", "0 AS _cdc_rows")
    new = target.rows(branch).selectExpr(one, "0 AS _cdc_old", "0 AS _cdc_earlier", "1 AS _cdc_new", f"{counted} AS _cdc_rows")
    highest = dict.fromkeys(("_cdc_old", "_cdc_earlier", "_cdc_new"), "max")
    by_key = old.union(new).groupBy("_cdc_key").agg({**highest, "_cdc_rows": "sum"})
    lacked = "`max(_cdc_{0})` > `max(_cdc_new)`".format
    row = by_key.selectExpr(
        "count_if(`sum(_cdc_rows)` > 1)",
        f"count_if({lacked('old')})",
        f"count_if({lacked('earlier') if same else '`max(_cdc_earlier)` = 1'})",
    ).collect()[0]
    return row[0], row[1], row[2]


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
