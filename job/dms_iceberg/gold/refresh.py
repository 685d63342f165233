"""Refresh one model: check whether its tables have changed, then rebuild it or only its changed groups."""

from collections.abc import Mapping, Sequence

import attrs
import structlog
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from dms_iceberg.config.incremental import KEY, PRESENT, GroupColumn, group_columns
from dms_iceberg.config.model import Model, Refresh
from dms_iceberg.config.model_sql import Reference, pinned, references, replaced
from dms_iceberg.context import RunContext
from dms_iceberg.gold.changed_groups import touched_groups
from dms_iceberg.gold.model_inputs import Input, Made, definition_of, last_made
from dms_iceberg.gold.report import ModelReport
from dms_iceberg.iceberg.commit_properties import commit_with
from dms_iceberg.merge.write import named_view
from dms_iceberg.silver.ddl import METADATA_SETTINGS, partition_sql
from dms_iceberg.silver.table import TargetTable
from dms_iceberg.spark.broadcast import broadcast_if_small
from dms_iceberg.spark.failures import describe
from dms_iceberg.sql.quoting import quote, quote_path, string_literal
from dms_iceberg.sql.types import stored

_LOG = structlog.get_logger("dms_iceberg")
_PROPERTIES = {
    # A model is read more often than written: no reader should have to apply deletes.
    "write.merge.mode": "copy-on-write",
    **METADATA_SETTINGS,
}


def tables_of(spark: SparkSession, catalog: str, model: Model) -> dict[str, TargetTable]:
    """Return the tables that a model reads, by name in folded case."""
    return {one.name: TargetTable(spark, catalog, ".".join(one.parts[-2:])) for one in references(model.sql)}


def refresh_model(context: RunContext, name: str, model: Model, report: ModelReport) -> None:
    """Refresh a model if its tables have changed, and record in ``report`` what was done.

    If two full refreshes run at once, the later commit wins, and the next refresh finds out if it was built from older tables.

    Raises:
        PlanIsStaleError: another writer committed to the model before its groups were replaced.
    """
    tables = tables_of(context.spark, context.config.catalog.name, model)
    missing = [table.name for table in tables.values() if not table.exists()]
    if missing:
        report.waits_for = missing
        return
    made = Made(definition_of(model), {one: Input.of(table) for one, table in tables.items()})
    target = TargetTable(context.spark, context.config.catalog.name, name)
    last = None
    if target.exists():
        target.refresh()
        last = last_made(target)
        if last is not None and last.is_of(made):
            return
    snapshots = {one: read.snapshot for one, read in made.inputs.items() if read.snapshot is not None}
    due = _Refresh(context, model, target, made, pinned(model.sql, context.config.catalog.name, snapshots))
    change = due.change(tables, last) if model.refresh is Refresh.INCREMENTAL else None
    if isinstance(change, Change):
        try:
            report.groups = due.follow(change)
            report.refresh = Refresh.INCREMENTAL
        except AnalysisException as error:
            change = f"Spark refuses the refresh of groups: {describe(error)}"
    if not isinstance(change, Change):
        if change is not None:
            _LOG.info("model_made_anew", model=name, run_id=context.run_id, reason=change)
        due.replace_all()
        report.refresh = Refresh.FULL
    head = target.head()
    if head is not None:
        report.snapshot_id, report.rows = head.id, int(head.summary.get("total-records", 0))


@attrs.frozen
class Change:
    """A change of the only table of an incremental model since the model's last refresh: from one snapshot to another."""

    table: TargetTable
    since: int
    until: int


@attrs.frozen(eq=False)
class _Refresh:
    """A refresh that is due, because the tables of the model or its definition have changed.

    Attributes:
        context: the context of the run.
        model: the model's configuration.
        target: the table of the model.
        made: what the model will be built from.
        sql: its query over exactly these snapshots.
    """

    context: RunContext
    model: Model
    target: TargetTable
    made: Made
    sql: str

    def replace_all(self) -> None:
        """Replace the whole model in one commit; readers see the old content until then."""
        spark, target, model = self.context.spark, self.target, self.model
        # An existing table keeps its format version, because Iceberg cannot lower it.
        settings = {**({} if target.exists() else {"format-version": "2"}), **_PROPERTIES, **model.table_properties}
        properties = ", ".join(f"{string_literal(k)} = {string_literal(v)}" for k, v in settings.items())
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {quote_path(target.parts[:-1])}")
        statement = (
            f"CREATE OR REPLACE TABLE {target.sql_name} USING iceberg{partition_sql(model.partition_by)} "
            f"TBLPROPERTIES ({properties}) AS {self.sql}"
        )
        commit_with(spark, self.made.to_summary(), lambda: spark.sql(statement))
        target.refresh()

    def change(self, tables: Mapping[str, TargetTable], last: Made | None) -> Change | str:
        """Return the change that the model must follow, or why this refresh must be full.

        Args:
            tables: the model's only table, by its name.
            last: what the present content was built from, None if that is unknown.
        """
        ((name, table),) = tables.items()
        if last is None or name not in last.inputs:
            return "nothing is known of its present content"
        if last.definition != self.made.definition:
            return "the configuration has changed"
        until, was = self.made.inputs[name].snapshot, last.inputs[name]
        since = next((one for one in (was.snapshot, was.content) if one is not None and table.has_snapshot(one)), None)
        if until is None or since is None:
            return "the snapshot that it was made of has expired"
        if table.has_equality_deletes(since) or table.has_equality_deletes(until):
            return "another writer wrote equality deletes"
        before = table.fields(since)
        if not before.items() <= table.fields(until).items():
            return "columns of the table were renamed, dropped or got another type"
        if not {one.source.casefold() for one in group_columns(self.model.sql)} <= {column.casefold() for column in before}:
            return "the table got a column to group by"
        columns = {field.name: stored(field.dataType.simpleString()) for field in self.context.spark.sql(self.sql).schema.fields}
        return Change(table, since, until) if columns == self.target.all_columns() else "its columns or their types have changed"

    def follow(self, change: Change) -> int:
        """Recompute the changed groups in one commit; return their number."""
        table, target, summary = change.table.sql_name, self.target, self.made.to_summary()
        groups = group_columns(self.model.sql)
        head = target.head()
        transaction = target.transaction(head.id if head is not None else None)
        touched = touched_groups(self.context.spark, table, [one.source for one in groups], change.since, change.until).persist()
        try:
            count = touched.count()
            if count == 0:
                transaction.touch(summary)
            else:
                with named_view(self.context, broadcast_if_small(touched, count)) as keys:
                    fresh = _fresh_sql(self.model.sql, f"{table} VERSION AS OF {change.until}", keys, groups)
                    columns = list(target.all_columns())
                    transaction.execute(lambda name: _merge_sql(name, fresh, keys, groups, columns), summary)
            target.commit(transaction)
        finally:
            touched.unpersist()
        return count


def _fresh_sql(sql: str, table: str, keys: str, groups: Sequence[GroupColumn]) -> str:
    """Return the model's query over the rows of the changed groups."""
    on = " AND ".join(f"t.{quote(one.source)} <=> k.{KEY}{n}" for n, one in enumerate(groups))

    def text_of(one: Reference) -> str:
        return f"(SELECT t.* FROM {table} t LEFT SEMI JOIN {keys} k ON {on})" + ("" if one.has_alias else f" {quote(one.alias)}")

    return replaced(sql, text_of)


def _merge_sql(name: str, fresh: str, keys: str, groups: Sequence[GroupColumn], columns: Sequence[str]) -> str:
    """Return the MERGE that replaces the changed groups; groups that have no rows any more are deleted."""
    joined = " AND ".join(f"k.{KEY}{n} <=> n.{quote(one.output)}" for n, one in enumerate(groups))
    matched = " AND ".join(f"g.{quote(one.output)} <=> s.{KEY}{n}" for n, one in enumerate(groups))
    names = [quote(column) for column in columns]
    source = f"SELECT k.*, n.* FROM {keys} k LEFT JOIN (SELECT *, true AS {PRESENT} FROM ({fresh}\n)) n ON {joined}"
    return (
        f"MERGE INTO {name} g USING ({source}) s ON {matched} "
        f"WHEN MATCHED AND s.{PRESENT} IS NULL THEN DELETE "
        f"WHEN MATCHED THEN UPDATE SET {', '.join(f'g.{column} = s.{column}' for column in names)} "
        f"WHEN NOT MATCHED AND s.{PRESENT} THEN INSERT ({', '.join(names)}) VALUES ({', '.join(f's.{column}' for column in names)})"
    )
