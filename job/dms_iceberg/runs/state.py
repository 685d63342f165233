"""Everything about a table that decides what comes next. `runs.read_state` reads it, once for each action."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import attrs

from dms_iceberg.bronze.keys import BronzeFile
from dms_iceberg.config.model import Batch, Table
from dms_iceberg.context import BranchState
from dms_iceberg.loads.load_marker import LoadMarker
from dms_iceberg.loads.no_files import NoFiles
from dms_iceberg.progress.pending import FileBatch, Pending, RecordBatch, next_truncate, until
from dms_iceberg.progress.progress import LookBack
from dms_iceberg.silver.rename import RenameColumn
from dms_iceberg.silver.schema_diff import AddColumn, Types
from dms_iceberg.silver.unknown_columns import Lacking

if TYPE_CHECKING:
    from dms_iceberg.changes.frames import ReadGroup
    from dms_iceberg.silver.evolve import Evolution
    from dms_iceberg.silver.quarantine_records import OpenRecords
    from dms_iceberg.silver.remembered import Memory


@attrs.define
class RunMemory:
    """What a run remembers of a table from one action to the next, because the table itself does not.

    Attributes:
        skipped: keys of files without columns that were met before the table exists.
        unread: how many objects the operator was warned of that are not read.
        truncate_seen: the operator's word of a truncate was looked at.
        rebuilt: the operator wanted the table rebuilt, and that is done.
        comparisons: how often the rebuilt content was compared with the old one, to be published.
    """

    skipped: set[str] = attrs.field(factory=set)
    unread: int = 0
    truncate_seen: bool = False
    rebuilt: bool = False
    comparisons: int = 0


@attrs.frozen(eq=False)
class OpenedBatch:
    """The columns of a batch, beside those of the table.

    Attributes:
        batch: what was opened.
        groups: its files or records by their columns; none for files without even columns.
        memory: what the table remembers of how it was made.
        named: what is said of columns that the configuration names and the files lack.
        evolution: what the batch does to the table's schema; None without groups.
        lost_backfills: columns to backfill again on the branch that the batch goes to.
        warnings: what the operator must know of all that.
        began: by `time.monotonic`, when the batch was begun with.
    """

    batch: FileBatch | RecordBatch
    groups: "Sequence[ReadGroup]"
    memory: "Memory"
    named: Lacking = attrs.field(factory=Lacking)
    evolution: "Evolution | None" = None
    lost_backfills: tuple[AddColumn, ...] = ()
    warnings: tuple[str, ...] = ()
    began: float = 0.0

    @property
    def evolved(self) -> "Evolution":
        """What the batch does to the schema, of a batch that has columns."""
        if self.evolution is None:
            raise TypeError("files without columns have no evolution")
        return self.evolution


@attrs.frozen(eq=False, kw_only=True)
class TableState:
    """A table as it is, and what waits for it in bronze. `runs.plan` goes by nothing else.

    Attributes:
        table: its configuration.
        columns: Spark types of its silver columns; None for a table that is not there.
        main: the state of main.
        branch: the state of the branch that the next batch goes to: main, or that of a load or a rebuild.
        pending: what is listed for that branch and not merged.
        uri: of bronze, for messages.
        bounds: of a batch.
        look_back: how far back late files are told from merged ones.
        marker: DMS's word that the load is complete.
        renames: declared renames that are still to be done.
        outdated: branches that another configuration has begun.
        lost_backfills: columns of main to backfill again.
        switch: the statements that give the table its declared mode.
        no_files: what is to be said of a table without any file; looked for only where there is nothing to merge.
        is_checked: the configuration was compared with the table as it is.
        records: rows of the quarantine that are tried again; None where none are.
        unresolved: rows of the quarantine are to be resolved before the rebuild is published.
        memory: what the run remembers.
        opened: the next batch with its columns, once it was read.
        warnings: what the operator must know of all that.
    """

    table: Table
    columns: Types | None = None
    main: BranchState
    branch: BranchState
    pending: Pending
    uri: str = ""
    bounds: Batch
    look_back: LookBack
    marker: LoadMarker | None = None
    renames: tuple[RenameColumn, ...] = ()
    outdated: tuple[str, ...] = ()
    lost_backfills: tuple[AddColumn, ...] = ()
    switch: tuple[str, ...] = ()
    no_files: NoFiles | None = None
    is_checked: bool = True
    records: "OpenRecords | None" = None
    unresolved: bool = False
    memory: RunMemory = attrs.field(factory=RunMemory)
    opened: OpenedBatch | None = None
    warnings: tuple[str, ...] = ()

    @property
    def exists(self) -> bool:
        """Whether the table is in the catalog."""
        return self.columns is not None

    @property
    def is_rebuilding(self) -> bool:
        """Whether the next batch goes to the branch of a rebuild."""
        return bool(self.branch.rebuild)

    @property
    def truncate(self) -> str | None:
        """The next truncate to apply, 17 digits.

        A table without content has nothing to lose yet, and the branch of a load gets its truncates when it is the content.
        """
        waits = self.branch.head is None or (self.branch.branch is not None and not self.is_rebuilding)
        return None if waits else next_truncate(self.pending.truncates, self.branch.progress)

    @property
    def files(self) -> list[BronzeFile]:
        """The files that come next: those before the next truncate."""
        files = [file for file in self.pending.files if file.key not in self.memory.skipped]
        return until(files, self.truncate)
