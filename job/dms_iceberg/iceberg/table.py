"""An Iceberg table, through the session's catalog: its state, its snapshots, and transactions on it."""

import contextlib
import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import attrs
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from dms_iceberg.iceberg.java_maps import names, to_dict
from dms_iceberg.iceberg.transaction import MAIN, Transaction
from dms_iceberg.spark.failures import FAILURES
from dms_iceberg.spark.java_errors import missing_metadata
from dms_iceberg.sql.quoting import quote, quote_path

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject

_FILE_COUNTS = frozenset({"added-data-files", "added-delete-files", "deleted-data-files", "removed-delete-files"})


@attrs.frozen
class Snapshot:
    """The facts about a snapshot that progress and reports need. ``timestamp_ms`` is UTC milliseconds."""

    id: int
    parent_id: int | None
    timestamp_ms: int
    summary: Mapping[str, str]


class IcebergTable:
    """An Iceberg table through the session's catalog.

    The catalog caches table instances without expiry and this class refreshes them, so that a batch is planned on one state. All changes go
    through a `Transaction`, which commits only if that state is still the table's.
    """

    def __init__(self, spark: SparkSession, catalog: str, target: str) -> None:
        self.spark = spark
        self.parts = (catalog, *target.split("."))
        self.name = target
        self.sql_name = quote_path(self.parts)
        self._is_known = False
        self._properties: tuple[str, dict[str, str]] = ("", {})
        self._last: Snapshot | None = None

    def exists(self) -> bool:
        """Whether the table is in the catalog; asks the catalog until it is, as the catalog caches the table without expiry as well."""
        self._is_known = self._is_known or self.spark.catalog.tableExists(self.sql_name)
        return self._is_known

    @cached_property
    def _java(self) -> "JavaObject":
        jvm: Any = self.spark._jvm
        return jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(self.spark._jsparkSession, self.sql_name)

    @property
    def iceberg(self) -> "JavaObject":
        """Iceberg's own table, as of the last `refresh`."""
        return self._java

    def metadata_location(self) -> str:
        """Return the path of the metadata file, which differs for every state of the table."""
        return str(self._java.operations().current().metadataFileLocation())

    def refresh(self) -> None:
        """Load the table's newest state, with commits of other writers."""
        self._java.refresh()

    def all_columns(self) -> dict[str, str]:
        """Return Spark types by column, metadata columns included."""
        jvm: Any = self.spark._jvm
        schema = json.loads(jvm.org.apache.iceberg.spark.SparkSchemaUtil.convert(self._java.schema()).json())
        return {field.name: field.dataType.simpleString() for field in StructType.fromJson(schema).fields}

    def transaction(self, planned_on: int | None, branch: str | None = None, begun: int | None = None) -> Transaction:
        """Begin changes that were planned on snapshot ``planned_on`` of main or of a branch; see `Transaction` for the errors raised."""
        return Transaction(self.spark, self._java, self.parts[0], planned_on, branch, begun)

    def rows(self, branch: str | None = None) -> DataFrame:
        """Return the rows of main or of a branch."""
        if branch is None:
            return self.spark.table(self.sql_name)
        return self.spark.read.option("branch", branch).table(self.sql_name)

    def rows_at(self, snapshot: int) -> DataFrame:
        """Return the rows of a snapshot, with the columns that the table had then."""
        return self.spark.sql(f"SELECT * FROM {self.sql_name} VERSION AS OF {snapshot}")

    def remove_branch(self, name: str) -> None:
        """Remove a branch; its snapshots go when they expire."""
        self._java.manageSnapshots().removeBranch(name).commit()

    def drop_branch_sql(self, name: str) -> str:
        """Return the statement by which an operator removes a branch."""
        return f"ALTER TABLE {self.sql_name} DROP BRANCH {quote(name)}"

    def is_off_the_line(self, snapshot: int, branch: str | None = None) -> bool:
        """Whether ``snapshot`` is in the metadata, but not among the head of main (or of a branch) and its ancestors."""
        if self._java.snapshot(snapshot) is None:
            return False
        jvm: Any = self.spark._jvm
        head = self._java.snapshot(branch or MAIN)
        return head is None or not jvm.org.apache.iceberg.util.SnapshotUtil.isAncestorOf(self._java, head.snapshotId(), snapshot)

    def uuid(self) -> str:
        """Return the table's UUID: a table that is dropped and made again has another one."""
        return str(self._java.uuid())

    def raw_properties(self) -> dict[str, str]:
        """Return all table properties, read once for each state of the table."""
        state = self.metadata_location()
        if state != self._properties[0]:
            self._properties = (state, to_dict(self.spark._jvm, self._java.properties()))
        return self._properties[1]

    def head(self, branch: str | None = None) -> Snapshot | None:
        """Return the newest snapshot of main or of a branch, None without one."""
        current = self._java.snapshot(branch or MAIN)
        return self._snapshot(current) if current is not None else None

    def has_snapshot(self, snapshot: int) -> bool:
        """Whether a snapshot is still in the metadata."""
        return self._java.snapshot(snapshot) is not None

    def content(self) -> tuple[int | None, int | None]:
        """Return the ids of main's head, and of its newest ancestor that changed a row: neither compaction nor progress alone does.

        Both are None for a table without a snapshot.
        """
        head = current = self._java.snapshot(MAIN)
        while current is not None:
            parent = current.parentId()
            before = self._java.snapshot(parent) if parent is not None else None
            changed = current.operation() != "replace" and not _FILE_COUNTS.isdisjoint(to_dict(self.spark._jvm, current.summary()))
            if changed or before is None:
                return int(head.snapshotId()), int(current.snapshotId())
            current = before
        return None, None

    def has_equality_deletes(self, snapshot: int) -> bool:
        """Whether a snapshot has equality deletes: other writers write them, this package does not."""
        return self.total("equality-deletes", snapshot) > 0

    def total(self, what: str, snapshot: int) -> int:
        """Return a total of a snapshot's summary: its ``records``, ``data-files`` and others; 0 if the summary does not tell it."""
        return int(to_dict(self.spark._jvm, self._java.snapshot(snapshot).summary()).get(f"total-{what}", 0))

    def fields(self, snapshot: int | None = None) -> dict[str, tuple[int, str]]:
        """Return id and type by name of a snapshot's columns, or of the present ones.

        A column that was dropped and added again has another id.
        """
        schema = self._java.schema() if snapshot is None else self._java.schemas().get(self._java.snapshot(snapshot).schemaId())
        return {field.name(): (int(field.fieldId()), str(field.type().toString())) for field in schema.columns()}

    def forget(self) -> None:
        """Make the catalog load the table again at its next use."""
        self._is_known = False
        with contextlib.suppress(*FAILURES):
            self.spark.sql(f"REFRESH TABLE {self.sql_name}")

    def branches(self) -> list[str]:
        """Return the names of all branches but main."""
        refs = self._java.refs()
        return [name for name in names(self.spark._jvm, refs) if name != MAIN and refs.get(name).isBranch()]

    def snapshot_count(self) -> int:
        """Return how many snapshots the metadata holds."""
        return len(list(self._java.snapshots()))

    def snapshots(self) -> list[Snapshot]:
        """Return all snapshots in the metadata, of all branches."""
        return [self._snapshot(one) for one in self._java.snapshots()]

    def lineage(self, branch: str | None = None) -> Iterator[Snapshot]:
        """Yield the head of main or of a branch and its ancestors as far as they are in the metadata, newest first."""
        current = self._java.snapshot(branch or MAIN)
        while current is not None:
            yield self._snapshot(current)
            parent = current.parentId()
            current = self._java.snapshot(parent) if parent is not None else None

    def whole_lineage(self, branch: str | None) -> Iterator[Snapshot]:
        """Yield the lineage, then also expired ancestors, as far as earlier metadata files still exist and have them."""
        last = None
        for last in self.lineage(branch):
            yield last
        wanted = last.parent_id if last is not None else None
        if wanted is None:
            return
        jvm: Any = self.spark._jvm
        operations = self._java.operations()
        for entry in reversed(list(operations.current().previousFiles())):
            try:
                earlier = jvm.org.apache.iceberg.TableMetadataParser.read(operations.io(), entry.file())
            except Py4JJavaError as error:
                if missing_metadata(error) is None:
                    raise
                return
            while wanted is not None and (found := earlier.snapshot(wanted)) is not None:
                yield self._snapshot(found)
                wanted = found.parentId()

    def _snapshot(self, java: "JavaObject") -> Snapshot:
        # A snapshot never changes, and the newest is read again and again; its summary may be long.
        id_ = java.snapshotId()
        if self._last is None or self._last.id != id_:
            self._last = Snapshot(id_, java.parentId(), java.timestampMillis(), to_dict(self.spark._jvm, java.summary()))
        return self._last
