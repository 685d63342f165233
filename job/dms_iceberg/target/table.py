"""A silver table as this package creates and reads it: DDL text, properties, and a thin handle on Iceberg's Table."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import attrs

from dms_iceberg.config.model import Table
from dms_iceberg.config.partition import parse_partition
from dms_iceberg.identifiers import quote, quote_path, string_literal
from dms_iceberg.progress import PROGRESS_KEY, Progress, find_progress
from dms_iceberg.target.commit import MAIN, Draft
from dms_iceberg.target.java_maps import to_dict
from dms_iceberg.target.key import key_property
from dms_iceberg.target.metadata import METADATA_COLUMNS, metadata_columns

if TYPE_CHECKING:
    from py4j.java_gateway import JavaObject
    from pyspark.sql import DataFrame, SparkSession

PROGRESS_PROPERTY = "dms-iceberg.progress-copy"
BACKFILL_PROPERTY = "dms-iceberg.backfill."
"""Prefix of one property per column that was added with a value for existing rows: that value, and the snapshot that gave it to them."""


def default_properties(table: Table) -> dict[str, str]:
    """Return the table properties this package sets at creation.

    Position deletes in format v2 are what Athena, Trino and Snowflake all read. MERGE must stay serializable: with snapshot isolation
    two jobs that insert the same new key would both succeed. ``write.metadata`` bounds the number of metadata files.
    """
    # Hashing a batch's few rows by target file would leave them to a single writer; a partitioned table needs its rows together, and so
    # does format v3: with two deletion vectors for one data file, written by two tasks, a table cannot be read any more.
    together = table.partition_by or table.format_version > 2
    distribution = {} if together else {"write.merge.distribution-mode": "none"}
    return {
        "format-version": str(table.format_version),
        "write.merge.mode": table.write_mode,
        "write.update.mode": table.write_mode,
        "write.delete.mode": table.write_mode,
        "write.merge.isolation-level": "serializable",
        "write.target-file-size-bytes": str(table.target_file_size_mb << 20),
        "write.parquet.compression-codec": "zstd",
        "write.metadata.delete-after-commit.enabled": "true",
        "write.metadata.previous-versions-max": "50",
        **distribution,
        **table.table_properties,
    }


def create_sql(name: str, columns: Mapping[str, str], table: Table) -> str:
    """Return the CREATE TABLE statement: silver columns in their order, then the metadata columns."""
    body = [f"{quote(column)} {type_}" for column, type_ in columns.items()]
    body += [f"{quote(name)} {one.type} COMMENT {string_literal(one.comment)}" for name, one in metadata_columns(table.mode).items()]
    settings = default_properties(table) | key_property(table, columns)
    properties = ", ".join(f"{string_literal(k)} = {string_literal(v)}" for k, v in sorted(settings.items()))
    partition = f" PARTITIONED BY ({', '.join(map(_partition_sql, table.partition_by))})" if table.partition_by else ""
    return f"CREATE TABLE IF NOT EXISTS {name} ({', '.join(body)}) USING iceberg{partition} TBLPROPERTIES ({properties})"


def _partition_sql(text: str) -> str:
    field = parse_partition(text)
    if field.transform == "identity":
        return quote(field.column)
    argument = "" if field.argument is None else f"{field.argument}, "
    return f"{field.transform}({argument}{quote(field.column)})"


@attrs.frozen
class Snapshot:
    """The facts about a snapshot that progress and reports need. ``timestamp_ms`` is UTC milliseconds."""

    id: int
    parent_id: int | None
    timestamp_ms: int
    summary: Mapping[str, str]


class TargetTable:
    """An Iceberg table through the session's catalog.

    The catalog caches table instances for ever and this class refreshes them, so that a batch is planned on one state. Changes are made
    in a `Draft`, which is published only if that state is still the table's.
    """

    def __init__(self, spark: "SparkSession", catalog: str, target: str) -> None:
        self.spark = spark
        self.parts = (catalog, *target.split("."))
        self.name = target
        self.sql_name = quote_path(self.parts)

    def exists(self) -> bool:
        """Whether the table is in the catalog."""
        return self.spark.catalog.tableExists(self.sql_name)

    def create(self, columns: Mapping[str, str], table: Table) -> None:
        """Create namespace and table unless they exist."""
        self.spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {quote_path(self.parts[:-1])}")
        self.spark.sql(create_sql(self.sql_name, columns, table))

    @cached_property
    def _java(self) -> "JavaObject":
        jvm: Any = self.spark._jvm
        return jvm.org.apache.iceberg.spark.Spark3Util.loadIcebergTable(self.spark._jsparkSession, self.sql_name)

    def refresh(self) -> None:
        """See what others committed."""
        self._java.refresh()

    def column_types(self) -> dict[str, str]:
        """Return Spark types by column of the current schema, without the metadata columns."""
        return {name: type_ for name, type_ in self.all_columns().items() if name not in METADATA_COLUMNS}

    def all_columns(self) -> dict[str, str]:
        """Return Spark types by column, metadata columns included."""
        from pyspark.sql.types import StructType

        jvm: Any = self.spark._jvm
        schema = json.loads(jvm.org.apache.iceberg.spark.SparkSchemaUtil.convert(self._java.schema()).json())
        return {field.name: field.dataType.simpleString() for field in StructType.fromJson(schema).fields}

    def draft(self, planned_on: int | None, branch: str | None = None) -> Draft:
        """Begin changes that were planned on snapshot ``planned_on``, of main or of a branch; see `Draft` for the errors raised."""
        return Draft(self.spark, self._java, planned_on, branch)

    def rows(self, branch: str | None = None) -> "DataFrame":
        """Return the rows of main or of a branch."""
        if branch is None:
            return self.spark.table(self.sql_name)
        return self.spark.read.option("branch", branch).table(self.sql_name)

    def publish(self, draft: Draft) -> None:
        """Publish a draft of this table and see the result.

        The progress that its snapshot carries is copied to a table property by the same commit, for the day somebody else's expiry
        removes that snapshot.
        """
        progress = draft.summary().get(PROGRESS_KEY)
        if progress is not None and draft.branch is None:
            copy = {"snapshot": str(draft.head()), "progress": progress}
            draft.set_properties({PROGRESS_PROPERTY: json.dumps(copy, separators=(",", ":"))})
        draft.publish()
        self.refresh()

    def replace_main(self, branch: str, planned_on: int | None, remove: Iterable[str]) -> None:
        """Make a branch the content of the table, and remove branches, in one commit; see `Draft` for the errors raised."""
        draft = self.draft(planned_on)
        draft.replace_main(branch, remove)
        self.publish(draft)

    def is_rolled_back(self, snapshot: int) -> bool:
        """Whether ``snapshot`` is in the metadata, but not among the head and its ancestors."""
        if self._java.snapshot(snapshot) is None:
            return False
        jvm: Any = self.spark._jvm
        head = self._java.currentSnapshot()
        return head is None or not jvm.org.apache.iceberg.util.SnapshotUtil.isAncestorOf(self._java, head.snapshotId(), snapshot)

    def properties(self) -> dict[str, str]:
        """Return the table properties."""
        return to_dict(self.spark._jvm, self._java.properties())

    def head(self, branch: str | None = None) -> Snapshot | None:
        """Return the newest snapshot of main or of a branch, None without one."""
        current = self._java.snapshot(branch or MAIN)
        return self._snapshot(current) if current is not None else None

    def branches(self) -> list[str]:
        """Return the names of all branches but main."""
        return [name for name, ref in self._java.refs().items() if ref.isBranch() and name != MAIN]

    def snapshot_count(self) -> int:
        """Return how many snapshots the metadata holds."""
        return len(list(self._java.snapshots()))

    def lineage(self, branch: str | None = None) -> Iterator[Snapshot]:
        """Yield the head of main or of a branch and its ancestors as far as they are in the metadata, newest first."""
        current = self._java.snapshot(branch or MAIN)
        while current is not None:
            yield self._snapshot(current)
            parent = current.parentId()
            current = self._java.snapshot(parent) if parent is not None else None

    def progress(self, branch: str | None = None) -> Progress:
        """Return how far the content of main or of a branch has come."""
        text = self.properties().get(PROGRESS_PROPERTY) if branch is None else None
        return find_progress(
            ({**s.summary, "parent-id": str(s.parent_id or "")} for s in self.lineage(branch)),
            json.loads(text) if text else None,
            # Asked for only when expiry has cut the line of ancestors.
            (str(s.snapshotId()) for s in self._java.snapshots()) if text else (),
        )

    def _snapshot(self, java: "JavaObject") -> Snapshot:
        return Snapshot(java.snapshotId(), java.parentId(), java.timestampMillis(), to_dict(self.spark._jvm, java.summary()))

    def set_properties(self, properties: Mapping[str, str]) -> None:
        """Set table properties in one metadata commit."""
        update = self._java.updateProperties()
        for key, value in properties.items():
            update = update.set(key, value)
        update.commit()


def ordered(columns: Sequence[str], types: Mapping[str, str]) -> dict[str, str]:
    """Return ``types`` in the order of ``columns``, those without a type left out."""
    return {name: types[name] for name in columns if name in types}
