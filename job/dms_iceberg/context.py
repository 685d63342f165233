"""What every step of a run receives: the context of the run, and the plan of the batch."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import attrs

from dms_iceberg.bronze.keys import ZONE_HOURS, BronzeFile, earlier, table_prefix
from dms_iceberg.bronze.listing import Found, list_bronze
from dms_iceberg.bronze.position import ZONE_MINUTES
from dms_iceberg.config.model import Config, Table
from dms_iceberg.progress.look_back import LookBack
from dms_iceberg.progress.pending import FileBatch, RecordBatch
from dms_iceberg.progress.progress import Progress
from dms_iceberg.storage.store import ObjectStore

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@attrs.frozen
class RunRequest:
    """What the operator requests or reports for a run, because DMS's files do not show it.

    Attributes:
        load_complete: source names of tables whose full load is complete, though no change, or no file at all, has followed.
        reload_started: 17 digits, when DMS began to load the chosen tables again in place; "" without such a reload.
        truncate: source names of tables that were truncated at the source.
        truncated_at: 17 digits, when they were truncated.
        confirm_rows: how many rows the operator expects to leave tables of ``truncate`` or ``load_complete``, by their source names.
        rebuild: source names of tables to be rebuilt from bronze.
        take_over: source names of tables, and names of models, that were another owner's and are this document's from now on.
        replay: reasons of the quarantined rows to replay instead of merging files; an empty tuple means all rows, None means no replay.
    """

    load_complete: frozenset[str] = frozenset()
    reload_started: str = ""
    truncate: frozenset[str] = frozenset()
    truncated_at: str = ""
    rebuild: frozenset[str] = frozenset()
    confirm_rows: Mapping[str, int] = attrs.field(factory=dict)
    take_over: frozenset[str] = frozenset()
    replay: tuple[str, ...] | None = None


NO_REQUEST = RunRequest()


@attrs.frozen(eq=False)
class RunContext:
    """What every step of every table needs: the session, the configuration, the object store of bronze.

    Attributes:
        run_id: names the run in logs, reports and records.
        request: what the operator requests or reports.
    """

    spark: "SparkSession"
    config: Config
    store: ObjectStore
    run_id: str
    request: RunRequest = NO_REQUEST

    def listing(self, table: Table, progress: Progress) -> Iterator[Found]:
        """Yield what bronze has for a table, without what ``progress`` no longer needs; see `list_bronze` for order and errors."""
        prefix = table_prefix(table.schema_name, table.table_name)
        since = progress.since
        if since == progress.reloaded_at:
            # Change files of a zone behind UTC would be passed over for hours without a word: `progress.pending.is_named_before_reload`.
            since = earlier(since, hours=ZONE_HOURS, minutes=ZONE_MINUTES)
        return list_bronze(self.store, prefix, since, self.config.bronze.format, progress.to_come(self.look_back()))

    def look_back(self) -> LookBack:
        """Return how far back from now a run looks for late files."""
        return LookBack(self.config.batch.look_back_hours, datetime.now(UTC))


@attrs.frozen
class BranchState:
    """The state of main, or of the branch of a reload or rebuild.

    Attributes:
        progress: what is merged into the branch.
        head: id of its newest snapshot, None before the first.
        branch: name of the branch, None for main.
        rebuild: 17 digits, when the rebuild of this branch began; "" for main and for the branch of a reload.
        begun: id of the newest snapshot of a branch whose content is not gone on with: the first batch replaces it. None without one.
    """

    progress: Progress
    head: int | None
    branch: str | None = None
    rebuild: str = ""
    begun: int | None = None


@attrs.frozen(eq=False)
class BatchPlan:
    """The next batch of a table, and the state of the table it was planned on.

    Attributes:
        branch_state: main, or the branch that the batch is merged into.
        main: id of main's newest snapshot, None without one.
        loads: all LOAD files as listed.
        truncates: 17 digits each: truncates in bronze that are applied.
        following: truncates in bronze that are still to be applied. The batch may have changes from after them.
        untried: open rows of the quarantine that a replay does not try; None where there are none, and for a batch of files.
    """

    batch: FileBatch | RecordBatch
    branch_state: BranchState
    main: int | None
    loads: Sequence[BronzeFile]
    truncates: Sequence[str] = ()
    following: Sequence[str] = ()
    untried: "DataFrame | None" = None

    @property
    def is_replay(self) -> bool:
        """Whether the batch consists of quarantined rows."""
        return isinstance(self.batch, RecordBatch)

    @property
    def progress(self) -> Progress:
        """The progress of the branch."""
        return self.branch_state.progress

    @property
    def effective_truncates(self) -> list[str]:
        """The truncates that a change may be older than, in order. Those that bronze has lost are among them."""
        return sorted({*self.truncates, *self.progress.truncates})


class PlanIsStaleError(Exception):
    """Another writer committed to the table after the batch was planned: plan again."""
