"""What a load means for the rows that the table has now: which leave, and which stay because the load only rejected their newer version.

A rejected row is at the source, so its key did not vanish: the last good version of the key stays, as with any rejected change. Modes
that keep what a load lacks merge the load so (`reload`); into the new content of a mirror these rows are copied, by a rebuild as well.
"""

import attrs
from pyspark.sql import DataFrame
from pyspark.sql.functions import expr

from dms_iceberg.bronze.position import is_load_sql, load_prefix
from dms_iceberg.context import BranchState
from dms_iceberg.iceberg.transaction import Transaction
from dms_iceberg.loads.moments import Effect
from dms_iceberg.modes.lookup import mode_of
from dms_iceberg.progress.progress import PROGRESS_KEY
from dms_iceberg.quarantine.rejected_key import silver_key_sql
from dms_iceberg.quarantine.rejected_rows import open_rows
from dms_iceberg.silver.branch_summary import branch_summary, withheld_by
from dms_iceberg.silver.memory.cleaning import Cleaning
from dms_iceberg.silver.memory.key import key_property, silver_key_of
from dms_iceberg.silver.memory.withheld import Withheld
from dms_iceberg.silver.table_context import TableContext
from dms_iceberg.sql.cdc_columns import POSITION
from dms_iceberg.sql.quoting import string_literal

_KEY = "_cdc_key"


@attrs.frozen(eq=False)
class Kept:
    """Rows of the present content whose keys the load has rejected and does not have otherwise.

    Attributes:
        rows: they; None where the load has rejected nothing.
        stay: whether they stay. In a mirror they do not if other declarations made them, as they would show what the present ones change.
        unreadable: how many rejected rows tell no key, so nobody knows which present rows they are.
    """

    rows: DataFrame | None = None
    stay: bool = True
    unreadable: int = 0

    @property
    def to_copy(self) -> DataFrame | None:
        """The rows that stay, None without any."""
        return self.rows if self.rows is not None and self.stay and not self.rows.isEmpty() else None

    def warnings(self, here: TableContext) -> tuple[str, ...]:
        """Return what must be said before these rows leave with the switch to the load."""
        table, head = here.table, here.target.head()
        before = f"The content before is snapshot {head.id if head else None}."
        found = []
        leave = self.rows.count() if self.rows is not None and not self.stay else 0
        if leave:
            found.append(
                f"{table.source}: {leave:,} row{'' if leave == 1 else 's'} of {table.target} left with the load, which rejected the newer "
                "version of their keys: they were made with another configuration of key, columns, masks, filter or rules, so they "
                f"could not stay beside the rows of the load. Correct the cause and replay the quarantine. {before}"
            )
        if self.unreadable:
            found.append(
                f"{table.source}: {self.unreadable:,} row{'' if self.unreadable == 1 else 's'} that the load rejected have no readable "
                f"key. The rows that {table.target} had of them, if any, left with the load. Correct the cause and replay the "
                f"quarantine. {before}"
            )
        return tuple(found)


def is_earlier_sql(load: int) -> str:
    """SQL that is true for rows of a mirror from before ``load``: they stayed with it, and no change of their keys was merged since."""
    return f"coalesce({POSITION} < {string_literal(load_prefix(load))}, false)"


def kept_rows(here: TableContext, found: BranchState, branch: str) -> Kept:
    """Return which present rows stay with the load, or the rebuild of a load, that is built on ``branch``.

    A rebuild has all rows of the load again, so only those may stay that stayed with the load: they are in none of its files.
    """
    context, table, target = here.context, here.table, here.target
    rejected = open_rows(context.spark, context.config, table, found.progress) if found.head is not None else None
    mode = mode_of(target.all_columns())
    if rejected is None or mode.is_log or target.head() is None or (found.rebuild and not mode.is_replaced_by_load):
        return Kept()
    # A change that was rejected is newer than the load, which has the row of its key.
    rejected = rejected.where(f"position IS NULL OR {is_load_sql('position', found.progress.load)}")
    types = target.column_types()
    names = silver_key_of(table, types)
    keys = rejected.select(expr(silver_key_sql("key", {name: types[name] for name in names})).alias(_KEY))
    readable = keys.where(f"{_KEY} IS NOT NULL").select(f"{_KEY}.*").distinct()
    present = target.rows().where(is_earlier_sql(found.progress.load) if found.rebuild else mode.present)
    loaded = target.rows(branch).where(mode.present).select(*names)
    # Joined by values as in a MERGE: a double -0.0 is the key 0.0, and NaN is NaN.
    rows = present.join(readable, names, "left_semi").join(loaded, names, "left_anti").select(*target.all_columns())
    return Kept(rows, not mode.is_replaced_by_load or _is_made_alike(here, branch), keys.where(f"{_KEY} IS NULL").count())


def is_made_as_declared(here: TableContext) -> bool:
    """Whether main's rows have the declared key, and were made by the declared columns, filter and rules."""
    table, properties = here.table, here.target.properties()
    made = Cleaning.from_properties(properties)
    return made is not None and made.is_that_of(table) and key_property(table, here.target.column_types()).items() <= properties.items()


def _is_made_alike(here: TableContext, branch: str) -> bool:
    """Whether the rows of main and of a load have the same key, and were made and withheld in the same way."""
    properties = here.target.properties()
    built, present = Withheld.from_properties(branch_summary(here.target, branch)), Withheld.from_properties(properties)
    if built is None or present is None:
        return False
    return is_made_as_declared(here) and built.masks.items() <= present.masks.items() and built.sources.items() <= present.sources.items()


def switch_transaction(here: TableContext, found: BranchState, branch: str, planned_on: int | None, kept: Kept) -> Transaction:
    """Return a transaction, not yet committed, that makes a branch the content of a mirror, with the rows that stay beside it.

    Args:
        here: the table.
        found: the state of the branch.
        branch: its name.
        planned_on: main's head.
        kept: rows of the present content (`kept_rows`).

    Raises:
        PlanIsStaleError: another writer committed since ``planned_on``.
    """
    table, target, rows, cleaning = here.table, here.target, kept.to_copy, Cleaning.of(here.table)
    if rows is not None and (before := Cleaning.from_properties(target.properties())) is not None:
        cleaning = attrs.evolve(cleaning, columns={**cleaning.columns, **before.unfilled()})
    made = key_property(table, target.column_types()) | cleaning.to_properties() | withheld_by(target, branch)
    transaction = target.transaction_of_branch(branch, planned_on, made)
    if rows is not None:
        transaction.append(rows, {PROGRESS_KEY: found.progress.to_json()})
    return transaction


def load_effect(here: TableContext, found: BranchState, branch: str) -> Effect:
    """Count how many present rows leave with a load, by key; the log of mode ``append`` loses none."""
    table, target = here.table, here.target
    mode = mode_of(target.all_columns())
    present = target.rows().where(mode.present)
    rows = present.count()
    if mode.is_log:
        return Effect(0, rows)
    if found.head is None:
        return Effect(rows)
    names = silver_key_of(table, target.column_types())
    loaded = target.rows(branch).where(mode.present).select(*names)
    kept = kept_rows(here, found, branch)
    stay = kept.rows.count() if kept.rows is not None and kept.stay else 0
    leave = present.join(loaded, names, "left_anti").count() - stay
    return Effect(leave, rows - leave)
