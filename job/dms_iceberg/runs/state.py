"""The facts about a table that decide what comes next. `runs.read_state` reads them, once for each action."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import attrs

from dms_iceberg.bronze.keys import BronzeFile, is_time
from dms_iceberg.config.model import Batch, Table
from dms_iceberg.context import BranchState
from dms_iceberg.loads.load_marker import LoadMarker
from dms_iceberg.loads.moments import Effect
from dms_iceberg.loads.no_files import NoFiles
from dms_iceberg.progress.look_back import LookBack
from dms_iceberg.progress.pending import FileBatch, Pending, RecordBatch, next_truncate, until
from dms_iceberg.silver.memory.held_columns import without_held
from dms_iceberg.silver.schema.diff import AddColumn, Types
from dms_iceberg.silver.schema.rename import RenameColumn
from dms_iceberg.silver.schema.unknown_columns import Lacking

if TYPE_CHECKING:
    from dms_iceberg.changes.frames import ReadGroup
    from dms_iceberg.quarantine.records import OpenRecords
    from dms_iceberg.silver.memory.table_memory import Memory
    from dms_iceberg.silver.schema.evolve import Evolution


@attrs.define
class RunMemory:
    """What a run remembers of a table between two actions, because the table itself does not.

    Attributes:
        skipped: versions of files without columns that were found before the table existed. A run may go on for months (`watch`), so
            a file that is uploaded again with rows must not be taken for the empty one.
        unread: the number of objects which are not read and about which the run warned.
        truncate_seen: whether the run has looked at the operator's request for a truncate.
        rebuilt: whether a requested rebuild is done, or the table had nothing to rebuild.
        comparisons: how often the rebuilt content was compared with the old one before publishing it.
        statements: schema statements that no batch has reported yet.
    """

    skipped: set[tuple[str, str]] = attrs.field(factory=set)
    unread: int = 0
    truncate_seen: bool = False
    rebuilt: bool = False
    comparisons: int = 0
    statements: tuple[str, ...] = ()


@attrs.frozen(eq=False)
class OpenedBatch:
    """The columns of a batch, beside those of the table.

    Attributes:
        batch: what was opened.
        groups: its files or records by their columns; empty for files without columns.
        memory: what the table remembers of the configuration it was built with.
        table: the table's configuration.
        named: columns that the configuration names and the files lack.
        evolution: what the batch changes in the table's schema; None without groups.
        lost_backfills: columns to backfill again on the branch of the batch.
        warnings: about all of this, for the operator.
        began: when work on the batch began (`time.monotonic`).
        foreseen: what the table will remember once it is merged; None for files without columns.
    """

    batch: FileBatch | RecordBatch
    groups: "Sequence[ReadGroup]"
    memory: "Memory"
    table: Table
    named: Lacking = attrs.field(factory=Lacking)
    evolution: "Evolution | None" = None
    lost_backfills: tuple[AddColumn, ...] = ()
    warnings: tuple[str, ...] = ()
    began: float = 0.0
    foreseen: "Memory | None" = None

    @property
    def merged_as(self) -> Table:
        """The configuration by which the batch is merged: columns that are held back are left out."""
        return without_held(self.table, self.memory.held)

    @property
    def evolved(self) -> "Evolution":
        """What the batch changes in the schema; the batch must have columns."""
        if self.evolution is None:
            raise TypeError("files without columns have no evolution")
        return self.evolution


@attrs.frozen(eq=False, kw_only=True)
class TableState:
    """A table as it is, and what is pending for it in bronze. `runs.plan` uses nothing else.

    Attributes:
        table: its configuration.
        columns: Spark types of its silver columns; None if the table does not exist.
        main: the state of main.
        branch: the state of the branch that the next batch goes to: main, or that of a load or a rebuild.
        pending: files and truncates that are listed for that branch and not merged.
        uri: of bronze, for messages.
        bounds: limits of a batch.
        look_back: the interval in which late files are looked for.
        discard: the statement that discards what is built on the branch of a load; "" for main.
        marker: DMS's statement that the load is complete.
        to_take_over: tables of another owner that the operator has declared to be this document's, each with that owner.
        renames: declared renames that are still to be done.
        outdated: branches that were built with another configuration.
        begins: whether a reload in place is still to be recorded on its branch, which alone knows when it began.
        then: the state of that branch, where files from before the reload are to be merged into main first; None otherwise.
        lost_backfills: columns of main to backfill again.
        switch: the statements that change the table to its declared mode.
        tells_load: the operator says that a load without a file is complete, and the table does not remember it yet.
        no_files: what to report of a table without any file; determined only if there is nothing to merge.
        is_checked: whether the configuration was compared with the present table.
        records: rows of the quarantine to replay; None without a replay.
        unresolved: whether rows of the quarantine must be resolved before the rebuild is published.
        memory: what the run remembers.
        opened: the next batch with its columns, once they are read.
        told: 17 digits, the truncate that the operator tells and that waits for files from before it; "" for none.
        effect: which rows the requested truncate or the complete load takes, once they are counted.
        foreseen: what the table will remember after batches whose outcome was predicted; None before the first.
        warnings: about all of this, for the operator.
    """

    table: Table
    columns: Types | None = None
    main: BranchState
    branch: BranchState
    pending: Pending
    uri: str = ""
    bounds: Batch
    look_back: LookBack
    discard: str = ""
    marker: LoadMarker | None = None
    to_take_over: tuple[str, ...] = ()
    renames: tuple[RenameColumn, ...] = ()
    outdated: tuple[str, ...] = ()
    begins: bool = False
    then: "TableState | None" = None
    lost_backfills: tuple[AddColumn, ...] = ()
    switch: tuple[str, ...] = ()
    tells_load: bool = False
    no_files: NoFiles | None = None
    is_checked: bool = True
    records: "OpenRecords | None" = None
    unresolved: bool = False
    memory: RunMemory = attrs.field(factory=RunMemory)
    opened: OpenedBatch | None = None
    told: str = ""
    effect: Effect | None = None
    foreseen: "Memory | None" = None
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
        """The next truncate to apply, 17 digits; None without one.

        A table without content has no rows to truncate. The branch of a load gets its truncates once it is the content.
        """
        waits = self.branch.head is None or (self.branch.branch is not None and not self.is_rebuilding)
        return None if waits else next_truncate([*self.pending.truncates, *filter(None, [self.told])], self.branch.progress)

    @property
    def files(self) -> list[BronzeFile]:
        """The files that come next: those before the next truncate."""
        files = [file for file in self.pending.files if file.version not in self.memory.skipped]
        if self.is_rebuilding and self.branch.head is None:
            # The truncate needs a snapshot of the branch, so a rebuild begins with files even where all are from after it.
            return until(files, next_truncate(self.pending.truncates, self.branch.progress)) or files
        return until(files, self.truncate)

    @property
    def blocked_files(self) -> list[BronzeFile]:
        """The files that are listed and not merged now: a truncate comes first, or the time in their names has not come."""
        following, listed = self.files, self.pending.files
        not_next = [] if len(following) == len(listed) else sorted({*listed} - {*following})
        return not_next + [file for file in self.pending.incredible if is_time(file.order)]
