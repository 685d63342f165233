"""Commits data and progress in one Iceberg snapshot, on exactly the state of the table that the batch was planned on."""

import uuid
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from py4j.protocol import Py4JJavaError

from dms_iceberg.context import PlanIsStaleError
from dms_iceberg.iceberg.commit_errors import is_misjudged, is_refused
from dms_iceberg.iceberg.commit_properties import commit_with
from dms_iceberg.iceberg.format_v3 import session_for
from dms_iceberg.iceberg.java_maps import to_dict
from dms_iceberg.iceberg.staged_files import Staged
from dms_iceberg.iceberg.unnamed_table import UnnamedTable
from dms_iceberg.spark.java_errors import missing_metadata

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import DataFrame, SparkSession

MAIN = "main"


class Transaction:
    """Changes of a table that only this object sees, until `commit` makes them the table's state in one step, or not at all.

    Iceberg's own conflict checks compare files, so they miss the commits that matter most here. A batch that changes no row in the end, or
    holds only rejected rows, adds no file. A batch planned before it would be merged over it, bring deleted rows back and move the
    progress back. So a transaction is committed by compare-and-swap on the table's whole metadata. Until then it reads the state that it
    began with, whatever other sessions or threads see.
    """

    def __init__(
        self,
        spark: "SparkSession",
        table: "JavaObject",
        catalog: str,
        planned_on: int | None,
        branch: str | None = None,
        begun: int | None = None,
    ) -> None:
        """Begin a transaction of ``table``.

        Args:
            catalog: name of its catalog in the session.
            planned_on: id of the snapshot that the changes were planned on, None for a table (or branch) without one.
            branch: the changes go to this branch, which begins without a row. Within the transaction it is main.
            begun: id of the snapshot that the branch has where ``planned_on`` is None, and that the transaction replaces; None for none.

        Raises:
            PlanIsStaleError: main (or the branch) has another head, or the table another schema by now.
        """
        self._spark = spark
        self._published = table.operations()
        schema = table.schema().schemaId()
        transaction = table.newTransaction()
        self._start = transaction.startMetadata()
        operations = transaction.table().operations()
        self._operations = operations
        # A transaction's own table refuses scans; the same operations under a plain table allow them.
        self._table = spark._jvm.org.apache.iceberg.BaseTable(operations, table.name())  # type: ignore[union-attr]
        self._plans = UnnamedTable(spark, self._table, catalog)
        self.branch = branch
        self._of_every_branch: dict[str, str] = {}
        there = begun if branch is not None and planned_on is None else planned_on
        if self._head_of(branch) != there or self._start.currentSchemaId() != schema:
            raise PlanIsStaleError
        if branch is not None and planned_on is not None:
            self._table.manageSnapshots().setCurrentSnapshot(planned_on).commit()
        elif branch is not None:
            always: Any = spark._jvm.org.apache.iceberg.expressions.Expressions  # type: ignore[union-attr]
            self._table.newDelete().deleteFromRowFilter(always.alwaysTrue()).commit()

    @property
    def table(self) -> "JavaObject":
        """Iceberg's own table within the transaction: what is committed to it belongs to the transaction."""
        return self._table

    def _head_of(self, branch: str | None) -> int | None:
        ref = self._start.ref(branch or MAIN)
        return ref.snapshotId() if ref is not None else None

    def head(self) -> int | None:
        """Return the id of the transaction's current snapshot, None without one."""
        current = self._operations.current().currentSnapshot()
        return current.snapshotId() if current is not None else None

    def is_new(self, snapshot: int) -> bool:
        """Whether a snapshot was created since the transaction began."""
        return self._start.snapshot(snapshot) is None

    def summary(self) -> dict[str, str]:
        """Return the summary of the transaction's current snapshot, empty without one."""
        current = self._operations.current().currentSnapshot()
        return to_dict(self._spark._jvm, current.summary()) if current is not None else {}

    def execute(self, statement: Callable[[str], str], properties: Mapping[str, str]) -> None:
        """Run a MERGE or UPDATE; its snapshot carries ``properties`` in its summary.

        Args:
            statement: returns the SQL for the quoted name of the table.
            properties: for the snapshot's summary.
        """
        with session_for(self._spark, self._table):
            commit_with(self._spark, properties, lambda: self._plans.execute(statement))

    def append(self, frame: "DataFrame", properties: Mapping[str, str]) -> None:
        """Append the rows of ``frame``; the snapshot carries ``properties``."""
        self._plans.append(frame, properties)

    def stage(self, frame: "DataFrame") -> Staged:
        """Write the rows of ``frame`` into data files of the table that belong to no snapshot."""
        name = uuid.uuid4().hex
        self._plans.stage(frame, name)
        return Staged(self._spark, self._table, name)

    def append_staged(self, staged: Staged, properties: Mapping[str, str]) -> None:
        """Append data files that `stage` wrote; the snapshot carries ``properties``."""
        append = self._table.newAppend()
        for file in staged.files:
            append = append.appendFile(file)
        for key, value in properties.items():
            append = append.set(key, value)
        append.commit()
        staged.files = []

    def touch(self, properties: Mapping[str, str]) -> None:
        """Create a snapshot that changes no row and carries ``properties``, without a Spark job."""
        append = self._table.newFastAppend()
        for key, value in properties.items():
            append = append.set(key, value)
        append.commit()

    def set_properties(self, properties: Mapping[str, str]) -> None:
        """Set table properties."""
        update = self._table.updateProperties()
        for key, value in properties.items():
            update = update.set(key, value)
        update.commit()

    def set_properties_of_every_branch(self, properties: Mapping[str, str]) -> None:
        """Set table properties that say nothing of rows, so that a transaction of a branch sets them as well."""
        self._of_every_branch.update(properties)
        if self.branch is None:
            self.set_properties(properties)

    def remove_properties(self, names: Iterable[str]) -> None:
        """Remove table properties."""
        update = self._table.updateProperties()
        for name in names:
            update = update.remove(name)
        update.commit()

    def add_column(self, name: str, type_: str) -> None:
        """Add a column of a Spark type."""
        # Only the variant with a parent accepts names with dots.
        self._table.updateSchema().addColumn(None, name, self._iceberg_type(type_)).commit()

    def rename_column(self, name: str, new: str) -> None:
        """Give a column another name; its values stay, in branches and older snapshots as well."""
        self._table.updateSchema().renameColumn(name, new).commit()

    def widen_column(self, name: str, type_: str) -> None:
        """Give a column a wider Spark type."""
        self._table.updateSchema().updateColumn(name, self._iceberg_type(type_)).commit()

    def _iceberg_type(self, type_: str) -> "JavaObject":
        jvm: Any = self._spark._jvm
        return jvm.org.apache.iceberg.spark.SparkSchemaUtil.convert(jvm.org.apache.spark.sql.types.DataType.fromDDL(type_))

    def replace_main(self, branch: str) -> None:
        """Make a branch's newest snapshot the head of main."""
        jvm: Any = self._spark._jvm
        current = self._operations.current()
        main = jvm.org.apache.iceberg.SnapshotRef.branchBuilder(current.ref(branch).snapshotId()).build()
        self._operations.commit(current, jvm.org.apache.iceberg.TableMetadata.buildFrom(current).setRef(MAIN, main).build())

    def remove_branches(self, names: Iterable[str]) -> None:
        """Remove branches."""
        jvm: Any = self._spark._jvm
        current = self._operations.current()
        metadata = jvm.org.apache.iceberg.TableMetadata.buildFrom(current)
        for name in names:
            metadata = metadata.removeRef(name)
        self._operations.commit(current, metadata.build())

    def commit(self) -> None:
        """Make the transaction the table's state.

        When the answer of the catalog is lost, the transaction's files stay where they are: they may be the table's by now.

        Raises:
            Py4JJavaError: another writer committed since the transaction began (see `is_conflict`); the table shows nothing of the
                transaction. Or the catalog failed, and may have done the commit (see `is_unknown`).
        """
        metadata = self._operations.current() if self.branch is None else self._with_branch(self.branch)
        try:
            self._published.commit(self._start, metadata)
        except Py4JJavaError as error:
            if is_misjudged(error):
                if self._is_done_all_the_same(metadata):
                    return
            elif is_refused(error):
                self._discard()
            raise

    def _is_done_all_the_same(self, metadata: "JavaObject") -> bool:
        """Check whether Glue did the commit that Iceberg reported as refused; if so, restore the metadata file that Iceberg deleted."""
        try:
            self._published.refresh()
        except Py4JJavaError as error:
            location = missing_metadata(error)
            if location is None or not location.startswith(self._start.location()):
                raise
            parser: Any = self._spark._jvm.org.apache.iceberg.TableMetadataParser  # type: ignore[union-attr]
            parser.overwrite(metadata, self._published.io().newOutputFile(location))
            self._published.refresh()
        return self.is_done()

    def is_done(self) -> bool:
        """Whether the table, as last refreshed, has the transaction's snapshot, or has main where the transaction put it."""
        head, main = self.head(), self._head_of(None)
        if head is None or self._published.current().snapshot(head) is None:
            return False
        if self.is_new(head):
            return True
        jvm: Any = self._spark._jvm
        table = jvm.org.apache.iceberg.BaseTable(self._published, self._table.name())
        now = table.currentSnapshot()
        return head != main and now is not None and jvm.org.apache.iceberg.util.SnapshotUtil.isAncestorOf(table, now.snapshotId(), head)

    def _with_branch(self, branch: str) -> "JavaObject":
        """Return the metadata that the transaction began with, plus its new snapshots on the branch. Main and its log never have them.

        Of the properties that the transaction sets it has those of every branch: others are of the rows of the branch.
        """
        jvm: Any = self._spark._jvm
        current = self._operations.current()
        metadata = jvm.org.apache.iceberg.TableMetadata.buildFrom(self._start)
        for snapshot in current.snapshots():
            if self.is_new(snapshot.snapshotId()):
                metadata = metadata.addSnapshot(snapshot)
        ref = jvm.org.apache.iceberg.SnapshotRef.branchBuilder(self.head()).build()
        if self._of_every_branch:
            metadata = metadata.setProperties(self._of_every_branch)
        return metadata.setRef(branch, ref).build()

    def _discard(self) -> None:
        """Delete the files of a transaction that is known not to be committed; the removal of orphan files deletes what is left."""
        files = self._operations.io()
        for snapshot in self._operations.current().snapshots():
            if not self.is_new(snapshot.snapshotId()):
                continue
            for added in (*snapshot.addedDataFiles(files), *snapshot.addedDeleteFiles(files)):
                files.deleteFile(added.location())
            for manifest in snapshot.allManifests(files):
                if manifest.snapshotId() == snapshot.snapshotId():
                    files.deleteFile(manifest.path())
            files.deleteFile(snapshot.manifestListLocation())
