"""A table as this package creates and reads it."""

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from dms_iceberg.config.model import Table
from dms_iceberg.context import BranchState, PlanIsStaleError
from dms_iceberg.errors import TargetError
from dms_iceberg.iceberg.commit_errors import is_there_already, is_unknown
from dms_iceberg.iceberg.commit_properties import GOLD_KEY
from dms_iceberg.iceberg.new_table import create_table
from dms_iceberg.iceberg.replacement import Replacement
from dms_iceberg.iceberg.table import IcebergTable
from dms_iceberg.iceberg.transaction import Transaction
from dms_iceberg.modes.metadata_columns import METADATA_COLUMNS
from dms_iceberg.progress.progress import PROGRESS_KEY, Progress
from dms_iceberg.silver.memory.cleaning import CLEANING_PROPERTY
from dms_iceberg.silver.memory.key import KEY_PROPERTY
from dms_iceberg.silver.memory.recorded_progress import find_progress
from dms_iceberg.silver.memory.withheld import WITHHELD_PROPERTY
from dms_iceberg.silver.owner import Conflict, Kind, Owner, has_own_properties
from dms_iceberg.silver.schema.ddl import columns_sql, created_properties, partition_fields
from dms_iceberg.sql.quoting import quote_path

PROGRESS_PROPERTY = "dms-iceberg.progress-copy"
QUARANTINE_COLUMNS = (frozenset({"id", "file", "etag", "row_number", "reason", "record"}), frozenset({"id", "replay", "parent", "run_id"}))
"""Columns by which the tables of a quarantine are known that do not record their owner, such as copies made by hand."""
MADE_PROPERTIES = (KEY_PROPERTY, CLEANING_PROPERTY, WITHHELD_PROPERTY)
BEFORE_PROPERTY = "dms-iceberg.before."
"""Prefix, followed by a snapshot id, of one property per switch of main to a branch: the `MADE_PROPERTIES` before the switch."""
BACKFILL_PROPERTY = "dms-iceberg.backfill."
"""Prefix of one property per column that was added with a value for existing rows: the value, and the snapshot that wrote it."""

ADDED_PROPERTY = "dms-iceberg.added."
"""Prefix of one property per column that was added to a table that recognises repeated changes: the clock that it had reached."""


class TargetTable(IcebergTable):
    """A table as this package creates and reads it: with its progress, and with what it remembers of key, cleaning and masks.

    Args:
        owner: whose table it must be to be written; None for a table that is only read.
    """

    def __init__(self, spark: SparkSession, catalog: str, target: str, owner: Owner | None = None) -> None:
        super().__init__(spark, catalog, target)
        self.owner = owner

    def create(self, columns: Mapping[str, str], table: Table) -> None:
        """Create namespace and table unless they exist.

        Raises:
            TargetError: the catalog has something else of that name, or another document has created the table meanwhile.
        """
        self.spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {quote_path(self.parts[:-1])}")
        if not self.exists():
            self._create(columns, table)
        self.refresh()
        self.refuse_other_owner()

    def _create(self, columns: Mapping[str, str], table: Table) -> None:
        fields = partition_fields(table.partition_by, columns)
        try:
            create_table(self.spark, self.parts, columns_sql(columns, table), fields, created_properties(columns, table, self.owned))
        except Py4JJavaError as error:
            if not is_there_already(error):
                raise
            if not self.exists():
                raise TargetError(
                    f"{table.source}: the catalog has something of the name {self.name} that is no Iceberg table, such as a table of "
                    "another format or a view. Remove it there, or give the table another target. Nothing was written."
                ) from error

    @property
    def owned(self) -> dict[str, str]:
        """The table properties that record the owner."""
        return self.owner.properties() if self.owner is not None else {}

    def conflict(self) -> Conflict | None:
        """Return why the table, as of the last `refresh`, is not the owner's; None if it is. It must exist."""
        return self.owner.conflict(self.name, self.raw_properties(), self._evidence) if self.owner is not None else None

    def refuse_other_owner(self) -> None:
        """Refuse a table, as of the last `refresh`, that is not the owner's.

        Raises:
            TargetError: it is another document's, or another kind of table, or not of this package at all.
        """
        if found := self.conflict():
            raise TargetError(found.text)

    def take_over(self, more: Mapping[str, str] | None = None, useless: Collection[str] = ()) -> None:
        """Record the owner, and ``more`` properties, in a table of the same kind, which exists and was another's.

        Args:
            more: further table properties.
            useless: branches that the same commit removes.

        Raises:
            Py4JJavaError: another writer committed meanwhile.
            PlanIsStaleError: the table has another owner by now than the one that the takeover was weighed against.
        """
        head, weighed = self.head(), self.conflict()
        transaction = super().transaction(head.id if head is not None else None)
        if self.conflict() != weighed:
            raise PlanIsStaleError
        transaction.set_properties({**self.owned, **(more or {})})
        if useless:
            transaction.remove_branches(useless)
        transaction.commit()
        self.refresh()

    def _evidence(self) -> Kind | None:
        """Return what a table is whose properties do not name what it was made from."""
        summaries = [one.summary for one in self.snapshots()]
        if any(GOLD_KEY in one for one in summaries):
            return Kind.MODEL
        if any(PROGRESS_KEY in one for one in summaries) or has_own_properties(self.raw_properties()):
            return Kind.TABLE
        is_quarantine = any(columns <= self.all_columns().keys() for columns in QUARANTINE_COLUMNS)
        return Kind.QUARANTINE if is_quarantine else None

    def transaction(self, planned_on: int | None, branch: str | None = None, begun: int | None = None) -> Transaction:
        """Begin changes; see `IcebergTable.transaction`.

        Raises:
            TargetError: the table has another owner by now.
        """
        transaction = super().transaction(planned_on, branch, begun)
        # What the transaction has begun with is what it will be compared with when it is committed.
        self.refuse_other_owner()
        return transaction

    def replacement(self, planned_on: int | None) -> Replacement:
        """Begin to replace all of the table; see `Replacement` and `transaction`.

        Raises:
            TargetError: the table has another owner by now.
        """
        replacement = Replacement(self.spark, self._java, self.parts[0], planned_on)
        self.refuse_other_owner()
        return replacement

    def transaction_on(self, state: BranchState) -> Transaction:
        """Begin changes of main or of a branch that were planned on ``state``; see `transaction`."""
        return self.transaction(state.head, state.branch, state.begun)

    def partition_names(self) -> dict[str, str]:
        """Return the names of the fields of all partition specs, former ones included, each with the column that it is of.

        Of a field that is no identity the column is ""; Iceberg lets no column have its name.
        """
        jvm: Any = self.spark._jvm
        found: dict[str, str] = {}
        columns = {number: name for name, (number, _) in self.fields().items()}
        for spec in self._java.specs().values():
            for field in json.loads(str(jvm.org.apache.iceberg.PartitionSpecParser.toJson(spec)))["fields"]:
                found[field["name"]] = columns.get(field["source-id"], "") if field["transform"] == "identity" else ""
        return found

    def column_types(self) -> dict[str, str]:
        """Return Spark types by column of the current schema, without the metadata columns."""
        return {name: type_ for name, type_ in self.all_columns().items() if name not in METADATA_COLUMNS}

    def commit(self, transaction: Transaction) -> None:
        """Commit a transaction of this table, and refresh the table.

        The same commit copies the progress in the snapshot's summary to a table property, in case another writer's expiry removes that
        snapshot.

        Raises:
            Py4JJavaError: another writer committed first, or the catalog failed (see `Transaction.commit`).
        """
        progress = transaction.summary().get(PROGRESS_KEY)
        # Of a branch too: the rows that it has rejected are where the document says now.
        if not self.owned.items() <= self.raw_properties().items():
            transaction.set_properties_of_every_branch(self.owned)
        if progress is not None and transaction.branch is None:
            copy = {"snapshot": str(transaction.head()), "progress": progress}
            transaction.set_properties({PROGRESS_PROPERTY: json.dumps(copy, separators=(",", ":"))})
        try:
            transaction.commit()
        except Py4JJavaError as error:
            if not is_unknown(error):
                raise
            self.refresh()
            if not transaction.is_done():
                raise
        self.refresh()

    def transaction_of_branch(self, branch: str, planned_on: int | None, made: Mapping[str, str]) -> Transaction:
        """Return a transaction that makes a branch the content of main; ``made`` are the `MADE_PROPERTIES` of its rows.

        Raises:
            PlanIsStaleError: another writer committed after snapshot ``planned_on``.
        """
        transaction = self.transaction(planned_on)
        transaction.replace_main(branch)
        properties = self.properties()
        # Rows of a branch got their backfills when they were written. The snapshot that backfilled the old content may not be an ancestor.
        done = {key: json.loads(text) for key, text in properties.items() if key.startswith(BACKFILL_PROPERTY)}
        transaction.set_properties(
            {key: json.dumps({**one, "snapshot": transaction.head()}, separators=(",", ":")) for key, one in done.items()}
        )
        self.record_properties(transaction, made)
        before = {key: properties[key] for key in MADE_PROPERTIES if key in properties}
        transaction.set_properties({f"{BEFORE_PROPERTY}{transaction.head()}": json.dumps(before, separators=(",", ":"))})
        return transaction

    def added_columns(self) -> dict[str, str]:
        """Return, by column that was added later, the clock (`clock_prefix`) up to which changes may have been merged without it."""
        return {key.removeprefix(ADDED_PROPERTY): clock for key, clock in self.properties().items() if key.startswith(ADDED_PROPERTY)}

    def record_properties(self, transaction: Transaction, made: Mapping[str, str]) -> None:
        """Let a transaction set `MADE_PROPERTIES`. Properties of switches that main was rolled back from are removed."""
        properties = self.properties()
        transaction.set_properties({name: properties[name] for name in MADE_PROPERTIES if name in properties} | dict(made))
        useless = [name for name, switch in _switches(properties) if self._java.snapshot(switch) is None or self.is_off_the_line(switch)]
        transaction.remove_properties(useless)

    def record_changed_properties(self, transaction: Transaction, made: Mapping[str, str]) -> None:
        """Let a transaction set properties, unless the table has all of them already."""
        if not made.items() <= self.properties().items():
            self.record_properties(transaction, made)

    def properties(self) -> dict[str, str]:
        """Return the table properties; if main was rolled back to before a switch, `MADE_PROPERTIES` have their values from before it."""
        found = self.raw_properties()
        left = [(self._java.snapshot(switch).sequenceNumber(), name) for name, switch in _switches(found) if self.is_off_the_line(switch)]
        if not left:
            return dict(found)
        before: dict[str, str] = json.loads(found[min(left)[1]])
        return {name: text for name, text in found.items() if name not in MADE_PROPERTIES} | before

    def progress(self, branch: str | None = None) -> Progress:
        """Return the progress of main or of a branch.

        Raises:
            TargetError: the table has rows, and nothing shows which files they are from (`find_progress`).
        """
        text = self.properties().get(PROGRESS_PROPERTY) if branch is None else None
        return find_progress(
            self.parts,
            ({**s.summary, "parent-id": str(s.parent_id or "")} for s in self.whole_lineage(branch)),
            json.loads(text) if text else None,
            self._carriers(),
        )

    def _carriers(self) -> Iterator[tuple[int, bool]]:
        # A generator: it is read only when no ancestor has the progress.
        for one in self.snapshots():
            yield one.id, PROGRESS_KEY in one.summary


def _switches(properties: Mapping[str, str]) -> list[tuple[str, int]]:
    return [(name, int(name.removeprefix(BEFORE_PROPERTY))) for name in properties if name.startswith(BEFORE_PROPERTY)]
