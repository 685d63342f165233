"""Recompute the groups of a model in which rows came, went or changed, unless all of the model costs less."""

from collections.abc import Mapping, Sequence

import attrs
from pyspark.sql import DataFrame

from dms_iceberg.config.incremental import KEY, PRESENT, GroupColumn, group_columns
from dms_iceberg.config.model import Model, Refresh
from dms_iceberg.config.model_sql import Reference, replaced
from dms_iceberg.context import RunContext
from dms_iceberg.gold.changed_groups import gone_each_way, touched_groups
from dms_iceberg.gold.choice import Choice, Figures, choose
from dms_iceberg.gold.group_values import GroupValues, values_of
from dms_iceberg.iceberg.scan_files import planned_rows
from dms_iceberg.merge.write import named_view
from dms_iceberg.silver.table import TargetTable
from dms_iceberg.spark.broadcast import broadcast_if_small
from dms_iceberg.sql.quoting import quote


@attrs.frozen
class Change:
    """A change of the only table of a model since the model's last refresh: from one snapshot to another."""

    table: TargetTable
    since: int
    until: int

    @property
    def sql_name(self) -> str:
        """The table as it is now, for FROM."""
        return f"{self.table.sql_name} VERSION AS OF {self.until}"

    def refusal(self) -> str | None:
        """Return why rows of the two snapshots cannot be read by the table's present schema, None if they can."""
        # The table as the session has it: another thread may have changed it, or made the catalog load it again.
        present = TargetTable(self.table.spark, self.table.parts[0], self.table.name).fields()
        if self.table.fields(self.since).items() <= self.table.fields(self.until).items() <= present.items():
            return None
        return "columns of the table were renamed, dropped or got another type"


@attrs.frozen
class Replaced:
    """A number of groups that were replaced, and why not all of the model was."""

    groups: int
    reason: str


def replace_changed_groups(
    context: RunContext, model: Model, target: TargetTable, change: Change, summary: Mapping[str, str]
) -> Replaced | str:
    """Recompute the changed groups in one commit, or return why the refresh must be full, or better is.

    Args:
        context: the context of the run.
        model: a model that can be refreshed group by group. It is, whatever that costs, if it says ``incremental``.
        target: its table.
        change: what it must follow.
        summary: for the snapshot's summary.
    """
    work = _Work(context, model, target, change, group_columns(model.sql))
    head = target.head()
    rows = target.total("records", head.id) if head is not None else 0
    known = Figures(rows=change.table.total("records", change.until), files=change.table.total("data-files", change.until), model_rows=rows)
    if (choice := work.choice(known)).refresh is Refresh.FULL:
        return choice.reason
    gone = gone_each_way(context.spark, change.table, change.since, change.until)
    known = attrs.evolve(known, searched=sum(one.rows for one in gone))
    if (choice := work.choice(known)).refresh is Refresh.FULL:
        return choice.reason
    with touched_groups(context.spark, change.table, [one.source for one in work.groups], gone) as found:
        touched = found.persist()
        try:
            # Only now are the frames planned. They read by the schema that the table had at that moment.
            return change.refusal() or work.replace(touched, known, summary)
        finally:
            touched.unpersist()


@attrs.frozen(eq=False)
class _Work:
    context: RunContext
    model: Model
    target: TargetTable
    change: Change
    groups: Sequence[GroupColumn]

    @property
    def _is_configured(self) -> bool:
        return self.model.refresh is Refresh.INCREMENTAL

    def choice(self, known: Figures) -> Choice:
        """Return the way to refresh the model, as far as is known."""
        return Choice(Refresh.INCREMENTAL, "configured") if self._is_configured else choose(known)

    def replace(self, touched: DataFrame, known: Figures, summary: Mapping[str, str]) -> Replaced | str:
        """Replace groups, or return why a full refresh costs less."""
        head = self.target.head()
        transaction = self.target.transaction(head.id if head is not None else None)
        count = touched.count()
        if count == 0:
            transaction.touch(summary)
            reason = "no row came, went or changed"
        else:
            values = values_of(touched, count)
            choice = self.choice(known if self._is_configured else self._with_files(known, values))
            if choice.refresh is Refresh.FULL:
                return choice.reason
            reason = choice.reason
            with named_view(self.context, broadcast_if_small(touched, count)) as keys:
                fresh = _fresh_sql(self.model.sql, self.change.sql_name, keys, self.groups, values)
                columns = list(self.target.all_columns())
                transaction.execute(lambda name: _merge_sql(name, fresh, keys, self.groups, columns, values), summary)
        self.target.commit(transaction)
        return Replaced(count, reason)

    def _with_files(self, known: Figures, values: GroupValues) -> Figures:
        """Add how many rows the files have that may hold a changed group."""
        source = values.sql("t", [one.source for one in self.groups])
        model = values.sql("t", [one.output for one in self.groups])
        queries = (
            f"SELECT 1 FROM {table} t WHERE {where}" for table, where in ((self.change.sql_name, source), (self.target.sql_name, model))
        )
        read, rewritten = (planned_rows(self.context.spark.sql(query)) for query in queries)
        return attrs.evolve(known, read=read, rewritten=rewritten)


def _fresh_sql(sql: str, table: str, keys: str, groups: Sequence[GroupColumn], values: GroupValues) -> str:
    """Return the model's query over the rows of the changed groups."""
    on = " AND ".join(f"t.{quote(one.source)} <=> k.{KEY}{n}" for n, one in enumerate(groups))
    where = values.sql("t", [one.source for one in groups])

    def text_of(one: Reference) -> str:
        rows = f"SELECT t.* FROM {table} t LEFT SEMI JOIN {keys} k ON {on} WHERE {where}"
        return f"({rows})" + ("" if one.has_alias else f" {quote(one.alias)}")

    return replaced(sql, text_of)


def _merge_sql(name: str, fresh: str, keys: str, groups: Sequence[GroupColumn], columns: Sequence[str], values: GroupValues) -> str:
    """Return the MERGE that replaces the changed groups; groups that have no rows any more are deleted."""
    joined = " AND ".join(f"k.{KEY}{n} <=> n.{quote(one.output)}" for n, one in enumerate(groups))
    matched = " AND ".join(f"g.{quote(one.output)} <=> s.{KEY}{n}" for n, one in enumerate(groups))
    pruning = values.sql("g", [one.output for one in groups])
    names = [quote(column) for column in columns]
    source = f"SELECT k.*, n.* FROM {keys} k LEFT JOIN (SELECT *, true AS {PRESENT} FROM ({fresh}\n)) n ON {joined}"
    return (
        f"MERGE INTO {name} g USING ({source}) s ON {matched} AND {pruning} "
        f"WHEN MATCHED AND s.{PRESENT} IS NULL THEN DELETE "
        f"WHEN MATCHED THEN UPDATE SET {', '.join(f'g.{column} = s.{column}' for column in names)} "
        f"WHEN NOT MATCHED AND s.{PRESENT} THEN INSERT ({', '.join(names)}) VALUES ({', '.join(f's.{column}' for column in names)})"
    )
