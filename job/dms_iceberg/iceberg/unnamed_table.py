"""Statements, appends and reads of an Iceberg table that is in no catalog, such as that of a transaction.

Spark finds the target of a statement by its name. Here it is put into the parsed plan, as Iceberg itself does to read metadata tables
(`SparkTableUtil.loadMetadataTable`). Parser, analyser, optimiser and writers are Spark's and Iceberg's.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession

from dms_iceberg.spark.versions import present

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject

TARGET = "dms_iceberg_target"


class UnnamedTable:
    """An Iceberg table in the plans of Spark."""

    def __init__(self, spark: SparkSession, table: "JavaObject", catalog: str) -> None:
        """Take Iceberg's own table; ``catalog`` is any of Iceberg in the session, where Spark finds the functions of partitions."""
        self._spark = spark
        self._table = table
        self._jvm: Any = spark._jvm
        self._session: Any = spark._jsparkSession
        self._catalog = catalog

    def execute(self, statement: Callable[[str], str]) -> None:
        """Run a MERGE or UPDATE; ``statement`` returns the SQL for the quoted name of the table, which it has once, as the target."""
        # Spark parses by the settings of the active session.
        self._jvm.org.apache.spark.sql.SparkSession.setActiveSession(self._session)
        plan = self._session.sessionState().sqlParser().parsePlan(statement(TARGET))
        children = [plan.children().apply(number) for number in range(plan.children().size())]
        children[0] = self._with_target(children[0], self._relation(present().target(self._jvm, self._table), {}))
        self._run(plan.withNewChildren(self._seq(children)))

    def append(self, frame: DataFrame, properties: Mapping[str, str]) -> None:
        """Append the rows of ``frame``; the snapshot carries ``properties``."""
        self._append(
            frame, present().target(self._jvm, self._table), {f"snapshot-property.{key}": value for key, value in properties.items()}
        )

    def stage(self, frame: DataFrame, name: str) -> None:
        """Write the rows of ``frame`` into data files that belong to no snapshot; `FileRewriteCoordinator` has them under ``name``."""
        self._append(frame, *present().rewriting(self._jvm, self._table, name))

    def staged_rows(self, name: str) -> DataFrame:
        """Return the rows of the files whose tasks `ScanTaskSetManager` has under ``name``, by the table's present schema."""
        return DataFrame(self._run(self._relation(*present().rewriting(self._jvm, self._table, name))), self._spark)

    def _append(self, frame: DataFrame, target: "JavaObject", options: Mapping[str, str]) -> None:
        of_scala = self._jvm.org.apache.spark.api.python.PythonUtils.toScalaMap(dict(options))
        relation, rows = self._relation(target, {}), frame._jdf.queryExecution().logical()
        self._run(self._jvm.org.apache.spark.sql.catalyst.plans.logical.AppendData.byName(relation, rows, of_scala))

    def _relation(self, target: "JavaObject", options: Mapping[str, str]) -> "JavaObject":
        return present().relation(self._jvm, target, self._session.sessionState().catalogManager().catalog(self._catalog), options)

    def _with_target(self, node: "JavaObject", relation: "JavaObject") -> "JavaObject":
        """Return a statement's target with ``relation`` in the place of the name, which may be below an alias."""
        if node.children().size() == 1:
            return node.withNewChildren(self._seq([self._with_target(node.children().apply(0), relation)]))
        if node.nodeName() != "UnresolvedRelation" or node.tableName() != TARGET:
            raise ValueError(f"the target of the statement is {node.nodeName()}, not {TARGET}")
        return relation

    def _seq(self, nodes: Sequence["JavaObject"]) -> "JavaObject":
        return self._jvm.org.apache.spark.api.python.PythonUtils.toSeq(list(nodes))

    def _run(self, plan: "JavaObject") -> "JavaObject":
        return present().rows(self._jvm, self._session, plan)
