"""Refresh one model: check whether its tables have changed, then rebuild it or only its changed groups."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

import attrs
import structlog
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from dms_iceberg.config.incremental import group_columns, incremental_problems
from dms_iceberg.config.model import Config, Model, Refresh
from dms_iceberg.config.model_meaning import clock_of
from dms_iceberg.config.model_sql import references, taken_columns
from dms_iceberg.config.partition import parse_partition
from dms_iceberg.context import PlanIsStaleError, RunContext
from dms_iceberg.errors import TargetError
from dms_iceberg.gold.model_inputs import ModelInputs, recorded_inputs
from dms_iceberg.gold.query_columns import give_snapshot_present_columns, query_columns
from dms_iceberg.gold.replace_groups import Change, Replaced, replace_changed_groups
from dms_iceberg.gold.report import ModelReport
from dms_iceberg.iceberg.commit_errors import is_conflict, refusal
from dms_iceberg.iceberg.commit_properties import commit_with
from dms_iceberg.silver.owner import owner_of, owner_of_model
from dms_iceberg.silver.schema.ddl import METADATA_SETTINGS, partition_sql
from dms_iceberg.silver.table import TargetTable
from dms_iceberg.spark.failures import FAILURES, describe
from dms_iceberg.sql.quoting import quote_path, string_literal

_LOG = structlog.get_logger("dms_iceberg")
_PROPERTIES = {
    # A model is read more often than written: no reader should have to apply deletes.
    "write.merge.mode": "copy-on-write",
    **METADATA_SETTINGS,
}


def tables_of(spark: SparkSession, config: Config, model: Model) -> dict[str, TargetTable]:
    """Return the tables that a model reads, by name in folded case: each must be the document's own (`refuse_other_owners`)."""
    # Where the rejected rows are is not a model's to record: a run may refuse to look for them elsewhere.
    owners = {one.target.casefold(): attrs.evolve(owner_of(config, one), quarantine="") for one in config.tables.values()}
    owners |= {one.casefold(): owner_of_model(config, one) for one in config.gold}
    return {one.name: TargetTable(spark, config.catalog.name, ".".join(one.parts[-2:]), owners[one.name]) for one in references(model.sql)}


def refuse_other_owners(tables: Iterable[TargetTable], taken_over: Collection[str] = ()) -> None:
    """Load the newest state of those tables that exist, and refuse one that is another owner's.

    Args:
        tables: models, or tables that they read.
        taken_over: source tables and models that are the document's by now, though another's before.

    Raises:
        TargetError: a table is another's.
    """
    for table in tables:
        if not table.exists():
            continue
        table.refresh()
        conflict = table.conflict()
        if conflict is not None and not (conflict.former and table.owner is not None and table.owner.name in taken_over):
            raise TargetError(conflict.text)


def refresh_model(context: RunContext, name: str, model: Model, report: ModelReport) -> None:
    """Refresh a model if its tables have changed, or the clock that it reads has gone on; record in ``report`` what was done.

    Of two refreshes that run at once one commits, and the other looks again.

    Raises:
        TargetError: the model, or a table that it reads, is another owner's.
        PlanIsStaleError: another writer committed to a table before it got a snapshot of its present columns, or to the model before it
            or its groups were replaced.
    """
    tables = tables_of(context.spark, context.config, model)
    target = TargetTable(context.spark, context.config.catalog.name, name, owner_of_model(context.config, name))
    refuse_other_owners((target,), context.request.take_over)
    # Those that this run takes over have this owner by now, unless that was refused.
    refuse_other_owners(tables.values())
    missing = [table.name for table in tables.values() if not table.exists()]
    if missing:
        report.waits_for = missing
        return
    for table in tables.values():
        give_snapshot_present_columns(table, model.sql)
    now = ModelInputs.of(model, tables)
    last = None
    if target.exists():
        target.refresh()
        _claim(context, target)
        last = recorded_inputs(target)
    if last is not None and now.is_of(last, clock_of(model.sql)):
        return
    head = target.head() if target.exists() else None
    due = _Refresh(context, model, target, now, now.pinned(model.sql, context.config.catalog.name), head.id if head is not None else None)
    done = due.replace_groups(tables, last)
    if isinstance(done, str):
        due.replace_all()
        report.refresh, report.reason = Refresh.FULL, done
    else:
        report.refresh, report.reason, report.groups = Refresh.INCREMENTAL, done.reason, done.groups
    head = target.head()
    if head is not None:
        report.snapshot_id, report.rows = head.id, int(head.summary.get("total-records", 0))


def _claim(context: RunContext, target: TargetTable) -> None:
    """Refuse a model of another owner, or take it over if the operator has declared that.

    Raises:
        TargetError: the table is another's.
    """
    conflict = target.conflict()
    if conflict is None:
        return
    if not conflict.former or target.name not in context.request.take_over:
        raise TargetError(conflict.text)
    target.take_over()
    _LOG.warning("table_taken_over", table=target.name, run_id=context.run_id, former=[conflict.former])


@attrs.frozen(eq=False)
class _Refresh:
    """A refresh that is due, because the tables of the model or its definition have changed.

    Attributes:
        context: the context of the run.
        model: the model's configuration.
        target: the table of the model.
        now: what the model will be built from.
        sql: its query over exactly these snapshots.
        head: id of the model's snapshot, None without one: what is committed meanwhile is not replaced.
    """

    context: RunContext
    model: Model
    target: TargetTable
    now: ModelInputs
    sql: str
    head: int | None

    def replace_all(self) -> None:
        """Replace the whole model in one commit; readers see the old content until then.

        Raises:
            TargetError: a column has a name with which nobody could read the table (a select list with ``*`` does not show it), or the
                model is another owner's by now.
            PlanIsStaleError: another writer has created the table meanwhile, or written to it.
            Py4JJavaError: the same, or the catalog failed.
        """
        rows = self.context.spark.sql(self.sql)
        self._refuse_names(rows.columns)
        if not self.target.exists():
            self._create()
            return
        # An existing table keeps its format version, because Iceberg cannot lower it.
        replacement = self.target.replacement(self.head)
        fields = [parse_partition(text) for text in self.model.partition_by]
        replacement.fill(rows, fields, self._properties, self.now.to_summary())
        self.target.commit(replacement)

    @property
    def _properties(self) -> dict[str, str]:
        return {**_PROPERTIES, **self.model.table_properties, **self.target.owned}

    def _create(self) -> None:
        spark, target = self.context.spark, self.target
        settings = {"format-version": "2", **self._properties}
        properties = ", ".join(f"{string_literal(k)} = {string_literal(v)}" for k, v in settings.items())
        partitioned = partition_sql(self.model.partition_by)
        spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {quote_path(target.parts[:-1])}")
        # A table that another writer creates meanwhile is not replaced: whose it is, the next try sees.
        statement = f"CREATE TABLE {target.sql_name} USING iceberg{partitioned} TBLPROPERTIES ({properties}) AS {self.sql}"
        try:
            commit_with(spark, self.now.to_summary(), lambda: spark.sql(statement))
        except FAILURES as error:
            if target.exists():
                raise PlanIsStaleError from error
            raise
        target.refresh()

    def _refuse_names(self, columns: Sequence[str]) -> None:
        if taken := taken_columns(columns):
            raise TargetError(
                f"{self.target.name}: the query has the column {', '.join(taken)}, and Iceberg has a column of its own with that name. "
                "Name the columns instead of '*', and give this one another name with AS. The table is as it was."
            )
        twice = [name for name, count in Counter(name.lower() for name in columns).items() if count > 1]
        if twice:
            raise TargetError(
                f"{self.target.name}: the query has more than one column {', '.join(twice)} (capitals make no difference). Give each "
                "another name with AS. The table is as it was."
            )
        self._refuse_partition_names(columns)

    def _refuse_partition_names(self, columns: Sequence[str]) -> None:
        """Refuse a column with the name that Iceberg gives a partition field; SQL cannot give it another one."""
        names = {name.lower(): name for name in columns}
        for text in self.model.partition_by:
            field = parse_partition(text)
            name = names.get(field.iceberg_name.lower())
            if name is not None and field.transform != "identity":
                raise TargetError(
                    f"{self.target.name}: the query has the column {name}, and Iceberg gives that name to the partition field of {text}. "
                    "Give the column another name with AS, or partition otherwise. The table is as it was."
                )

    def replace_groups(self, tables: Mapping[str, TargetTable], last: ModelInputs | None) -> Replaced | str:
        """Replace the changed groups in one commit, or return why this refresh must be full, or better is.

        Args:
            tables: the tables that the model reads, by name.
            last: what the present content was built from, None if that is unknown.

        Raises:
            TargetError: Spark or the catalog failed. Its statements hold values of groups, which the error does not quote.
        """
        if self.model.refresh is Refresh.FULL:
            return "configured"
        if not self.target.exists():
            return "new"
        if refused := incremental_problems(self.model.sql, self.context.config.gold):
            return refused[0]
        ((name, table),) = tables.items()
        change = self._change(name, table, last)
        if isinstance(change, str):
            return change
        try:
            return replace_changed_groups(self.context, self.model, self.target, change, self.now.to_summary())
        except AnalysisException as error:
            return f"Spark refuses the refresh of groups: {describe(error, has_values=True)}"
        except FAILURES as error:
            if is_conflict(error):
                raise
            raise TargetError(f"{self.target.name}: {refusal(error) or describe(error, has_values=True)}") from None

    def _change(self, name: str, table: TargetTable, last: ModelInputs | None) -> Change | str:
        if last is None or name not in last.inputs:
            return "nothing is known of its present content"
        if last.definition != self.now.definition:
            return "the configuration has changed"
        until, was = self.now.inputs[name].snapshot, last.inputs[name]
        since = next((one for one in (was.snapshot, was.content) if one is not None and table.has_snapshot(one)), None)
        if until is None or since is None:
            return "the snapshot that it was made of has expired"
        if table.has_equality_deletes(since) or table.has_equality_deletes(until):
            return "another writer wrote equality deletes"
        change = Change(table, since, until)
        if refused := change.refusal():
            return refused
        if not {one.source.lower() for one in group_columns(self.model.sql)} <= {column.lower() for column in table.fields(since)}:
            return "the table got a column to group by"
        if was.names != self.now.inputs[name].names:
            # A new column may come before an alias, in groups without a changed row as well.
            return "a name in its query means another column"
        columns = query_columns(self.context.spark, self.sql)
        return change if columns == self.target.all_columns() else "its columns or their types have changed"
