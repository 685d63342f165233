"""Replaces all of a table (its columns, partitions and rows) in one commit, on exactly the state that the replacement was planned on."""

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from dms_iceberg.config.partition import PartitionField
from dms_iceberg.context import PlanIsStaleError
from dms_iceberg.errors import TargetError
from dms_iceberg.iceberg.java_maps import to_java_map
from dms_iceberg.iceberg.new_table import partition_spec
from dms_iceberg.iceberg.transaction import Transaction
from dms_iceberg.iceberg.unnamed_table import UnnamedTable

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import DataFrame, SparkSession


class Replacement(Transaction):
    """What CREATE OR REPLACE TABLE AS does, but by compare-and-swap on the table's whole metadata.

    That statement takes over whatever the table is when its query has ended: also another owner, who came meanwhile. Like it, this keeps
    the table's former snapshots, its format version and its properties, and adds to the latter.
    """

    def __init__(self, spark: "SparkSession", table: "JavaObject", catalog: str, planned_on: int | None) -> None:
        """Begin a replacement of ``table``.

        Args:
            catalog: name of its catalog in the session.
            planned_on: id of the snapshot that the replacement was planned on, None for a table without one.

        Raises:
            PlanIsStaleError: the table has another snapshot by now.
        """
        # Not the initialiser of `Transaction`: Iceberg has another transaction for this, which begins with the new columns (`fill`).
        self._spark = spark
        self._catalog = catalog
        self._name = table.name()
        self._published = table.operations()
        self._start = self._published.refresh()
        self._operations = self._published
        self._table = table
        self.branch = None
        self._of_every_branch = {}
        if self._head_of(None) != planned_on:
            raise PlanIsStaleError

    def fill(self, frame: "DataFrame", fields: Iterable[PartitionField], properties: Mapping[str, str], summary: Mapping[str, str]) -> None:
        """Give the table the columns and rows of ``frame``.

        Args:
            fields: its partition fields, which get Iceberg's own names.
            properties: table properties, added to those that it has.
            summary: for the summary of the snapshot.

        Raises:
            TargetError: a column has the name of a former partition field.
        """
        jvm: Any = self._spark._jvm
        self._refuse_former_fields(frame.columns)
        # Columns of a table are optional, whatever a query knows of its values.
        schema = jvm.org.apache.iceberg.spark.SparkSchemaUtil.convert(frame._jdf.schema().asNullable())
        spec = partition_spec(jvm, schema, fields, own_names=False)
        unsorted = jvm.org.apache.iceberg.SortOrder.unsorted()
        metadata = self._start.buildReplacement(schema, spec, unsorted, self._start.location(), to_java_map(jvm, properties))
        transaction = jvm.org.apache.iceberg.Transactions.replaceTableTransaction(self._name, self._published, metadata)
        self._operations = transaction.table().operations()
        self._table = jvm.org.apache.iceberg.BaseTable(self._operations, self._name)
        self._plans = UnnamedTable(self._spark, self._table, self._catalog)
        self.append(frame, summary)

    def _refuse_former_fields(self, columns: Iterable[str]) -> None:
        """Refuse a column that has the name of a former partition field of another column: the metadata keeps that field for ever."""
        new, schema = set(columns), self._start.schema()
        for spec in self._start.specs():
            for field in spec.fields():
                name = field.name()
                column = schema.findField(name)
                if name in new and (column is None or column.fieldId() != field.sourceId()):
                    raise TargetError(
                        f"{self._name}: the table was partitioned by another column {name!r} before, and Iceberg keeps that name for it. "
                        "Give the column another name (AS), or drop the table: the next run makes it anew"
                    )
