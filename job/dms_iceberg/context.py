"""What every step of a batch is given: the job and the plan."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import attrs

from dms_iceberg.bronze.keys import BronzeFile, table_prefix
from dms_iceberg.bronze.listing import Found, list_bronze
from dms_iceberg.config.model import Config, Table
from dms_iceberg.progress.pending import FileBatch, RecordBatch
from dms_iceberg.progress.progress import LookBack, Progress
from dms_iceberg.storage.store import ObjectStore

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@attrs.frozen
class RunRequest:
    """What DMS's files do not tell.

    Attributes:
        load_complete: source names of tables whose full load is complete, though no change, or no file at all, has followed.
        reload_started: 17 digits, when the chosen tables were loaded again in place; "" for never.
        truncate: source names of tables that were truncated at the source.
        truncated_at: 17 digits, when they were.
        rebuild: source names of tables to be rebuilt from bronze.
        replay: rows of the quarantine are tried again instead of files: those with one of these reasons, all if there are none.
    """

    load_complete: frozenset[str] = frozenset()
    reload_started: str = ""
    truncate: frozenset[str] = frozenset()
    truncated_at: str = ""
    rebuild: frozenset[str] = frozenset()
    replay: tuple[str, ...] | None = None


NO_REQUEST = RunRequest()


@attrs.frozen(eq=False)
class RunContext:
    """What every step of every table needs.

    Attributes:
        request: what the operator says of reloads, truncates and rebuilds.
    """

    spark: "SparkSession"
    config: Config
    store: ObjectStore
    run_id: str
    request: RunRequest = NO_REQUEST

    def listing(self, table: Table, progress: Progress) -> Iterator[Found]:
        """Yield what bronze has for a table, from where ``progress`` no longer needs it on; see `list_bronze` for order and errors."""
        prefix = table_prefix(table.schema_name, table.table_name)
        return list_bronze(self.store, prefix, progress.since, self.config.bronze.format, progress.committed)

    def look_back(self) -> LookBack:
        """Return how far back from now late files are told from merged ones."""
        return LookBack(self.config.batch.look_back_hours, datetime.now(UTC))


@attrs.frozen
class BranchState:
    """A line of a table's snapshots: main, or the branch on which a reload or a rebuild is made.

    Attributes:
        progress: how far the line has come.
        head: id of its newest snapshot, None before the first.
        branch: name of the branch, None for main.
        rebuild: 17 digits, when the rebuild that the branch is for began; "" for other lines.
    """

    progress: Progress
    head: int | None
    branch: str | None = None
    rebuild: str = ""


@attrs.frozen(eq=False)
class BatchPlan:
    """The next batch of a table, and the state of the table it was planned on.

    Attributes:
        standing: the line of snapshots that the batch goes to.
        main: id of main's newest snapshot, None without one.
        loads: all LOAD files as listed.
        truncates: 17 digits each: truncates in bronze that are applied.
        more: a truncate waits behind the batch.
        waiting: open rows of the quarantine that a replay leaves alone; None where there are none, and for a batch of files.
    """

    batch: FileBatch | RecordBatch
    branch_state: BranchState
    main: int | None
    loads: Sequence[BronzeFile]
    truncates: Sequence[str] = ()
    more: bool = False
    waiting: "DataFrame | None" = None

    @property
    def is_replay(self) -> bool:
        """Whether the batch is made of quarantined rows."""
        return isinstance(self.batch, RecordBatch)

    @property
    def progress(self) -> Progress:
        """How far the line has come."""
        return self.branch_state.progress

    @property
    def effective_truncates(self) -> list[str]:
        """The truncates that changes may be from before, in order: the last one also where bronze has lost it."""
        return sorted({*self.truncates, self.progress.truncated} - {""})


class PlanIsStaleError(Exception):
    """Somebody committed to the table after the batch was planned: plan again."""
