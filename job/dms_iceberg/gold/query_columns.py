"""The columns of a model's query: they may change though no row of its tables does, where it takes all columns with ``*``."""

from collections.abc import Mapping

from pyspark.sql import SparkSession

from dms_iceberg.gold.model_inputs import Input, ModelInputs
from dms_iceberg.silver.table import TargetTable
from dms_iceberg.sql.types import stored


def query_columns(spark: SparkSession, sql: str) -> dict[str, str]:
    """Return the types by column that a table has if it is made from a query."""
    return {field.name: stored(field.dataType.simpleString()) for field in spark.sql(sql).schema.fields}


def tables_with_other_columns(
    sql: str, target: TargetTable, tables: Mapping[str, TargetTable], last: ModelInputs, now: ModelInputs
) -> list[str]:
    """Return the tables, by name in folded case, whose columns changed so that the query has other columns than the model; mostly none.

    Args:
        sql: the model's query, as it reads the tables now (`ModelInputs.pinned`).
        target: the table of the model.
        tables: the tables that it reads.
        last: what its present content was built from.
        now: what it would be built from.
    """
    changed = [name for name, table in tables.items() if name in last.inputs and _have_changed(table, last.inputs[name], now.inputs[name])]
    return changed if changed and query_columns(target.spark, sql) != target.all_columns() else []


def _have_changed(table: TargetTable, was: Input, now: Input) -> bool:
    if was.snapshot == now.snapshot or now.snapshot is None:
        return False
    # An expired snapshot does not tell what columns the table had.
    return was.snapshot is None or not table.has_snapshot(was.snapshot) or table.fields(was.snapshot) != table.fields(now.snapshot)
