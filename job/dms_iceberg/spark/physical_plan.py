"""A physical plan that is run again over other files. All that this package knows of Spark's physical plans is here."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import attrs
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from dms_iceberg.spark.versions import present

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject

_SCAN = "org.apache.spark.sql.execution.FileSourceScanExec"


@attrs.frozen(eq=False)
class PhysicalPlan:
    """How Spark runs a frame over files of one data source.

    Attributes:
        session: whose settings the plan was made with.
        dataset: the frame, for the types of its columns.
        nodes: the plan without its leaf, from the top; each has one child.
        scan: the leaf, which reads the files, as the arguments of its constructor.
        copy: makes a leaf of such arguments.
        schema: of the result.
    """

    session: SparkSession
    dataset: "JavaObject"
    nodes: tuple["JavaObject", ...]
    scan: tuple[Any, ...]
    copy: Any
    schema: pa.Schema

    def is_of(self, relation: "JavaObject") -> bool:
        """Whether Spark takes a relation for that of the plan: it compares paths only, and keeps the sizes that the files had."""
        return bool(relation.equals(self.scan[0]))

    def rows(self, relation: "JavaObject") -> pa.Table:
        """Return all rows of the frame over other files.

        Args:
            relation: Spark's relation of the files (`relation_of`), read with the same schema and options. It must not be that of the
                plan: a node of a plan that gets the child that it has is returned as it is, and has run (``TreeNode.withNewChildren``).

        Raises:
            Py4JError, PySparkException: the plan does not run.
        """
        jvm: Any = self.session._jvm
        with _as_if_of(self.session):
            plan = self.copy(relation, *self.scan[1:])
            nil = getattr(getattr(jvm.scala.collection.immutable, "Nil$"), "MODULE$")
            for node in reversed(self.nodes):
                plan = node.withNewChildren(getattr(nil, "$colon$colon")(plan))
            found = self.dataset.toArrowBatchRdd(plan).collect()
        batches = [pa.ipc.read_record_batch(pa.py_buffer(bytes(one)), self.schema) for one in found]
        return pa.Table.from_batches(batches, self.schema)


def physical_plan(frame: DataFrame, schema: pa.Schema) -> PhysicalPlan | None:
    """Return the plan of a frame that was run, None if it is not one that reads files of one data source step by step.

    Args:
        frame: the frame; its session neither adapts plans nor compiles them.
        schema: of its rows as Arrow.
    """
    top = node = frame._jdf.queryExecution().executedPlan()
    nodes = []
    while not (children := node.children()).isEmpty():
        if children.size() > 1:
            return None
        nodes.append(node)
        node = children.apply(0)
    # The result of a subquery is kept in the plan.
    if node.getClass().getName() != _SCAN or not top.subqueriesAll().isEmpty():
        return None
    scan = tuple(node.productElement(number) for number in range(node.productArity()))
    return PhysicalPlan(frame.sparkSession, frame._jdf, tuple(nodes), scan, node.copy, schema)


def relation_of(files: DataFrame) -> "JavaObject":
    """Return Spark's relation of files that were read by a data source of files, without any step on them."""
    return files._jdf.queryExecution().analyzed().relation()


@lru_cache(maxsize=4)
def _settings(session: SparkSession) -> "JavaObject":
    """Return the settings of a session that are not changed any more."""
    jvm: Any = session._jvm
    found, settings = jvm.java.util.Properties(), session._jsparkSession.sessionState().conf().getAllConfs().iterator()
    while settings.hasNext():
        setting = settings.next()
        found.setProperty(setting._1(), setting._2())
    return found


@contextmanager
def _as_if_of(session: SparkSession) -> Iterator[None]:
    """Run what follows with the settings of a session, in the driver and in tasks, as Spark does for a query.

    See ``SQLExecution.withSQLConfPropagated`` and ``SparkSession.withActive``, which take functions of Scala.
    """
    jvm: Any = session._jvm
    sessions, context = present().sessions(jvm), session.sparkContext._jsc.sc()
    active, properties = sessions.getActiveSession(), context.getLocalProperties()
    own = properties.clone()
    own.putAll(_settings(session))
    try:
        sessions.setActiveSession(session._jsparkSession)
        context.setLocalProperties(own)
        yield
    finally:
        context.setLocalProperties(properties)
        if active.isDefined():
            sessions.setActiveSession(active.get())
        else:
            sessions.clearActiveSession()
