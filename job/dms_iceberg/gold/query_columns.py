"""The columns of a model's query, and the columns with which it reads its tables."""

from pyspark.sql import SparkSession

from dms_iceberg.config.model_meaning import meaning_of_names
from dms_iceberg.silver.table import TargetTable
from dms_iceberg.sql.types import stored


def query_columns(spark: SparkSession, sql: str) -> dict[str, str]:
    """Return the types by column that a table has if it is made from a query."""
    return {field.name: stored(field.dataType.simpleString()) for field in spark.sql(sql).schema.fields}


def has_other_names(table: TargetTable, sql: str) -> bool:
    """Whether a query's names mean other columns in the table than in its newest snapshot, with whose columns a model reads it.

    That is so after an ALTER TABLE by hand, until the next snapshot: the job's own renames come with one.
    """
    head = table.head()
    return head is not None and meaning_of_names(sql, table.fields(head.id)) != meaning_of_names(sql, table.fields())


def give_snapshot_present_columns(table: TargetTable, sql: str) -> None:
    """Let a table's newest snapshot have its present columns, if a query's names mean other ones there. No row changes.

    Args:
        table: the table, refreshed.
        sql: the query.

    Raises:
        TargetError: the table is another owner's.
        Py4JJavaError: another writer committed meanwhile, or the catalog failed.
    """
    head = table.head()
    if head is None or not has_other_names(table, sql):
        return
    transaction = table.transaction(head.id)
    transaction.touch({})
    table.commit(transaction)
