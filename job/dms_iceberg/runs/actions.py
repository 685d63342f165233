"""What a run can do next to a table: frozen values that `runs.plan` chooses, `runs.apply` executes and `runs.predict` simulates."""

from collections.abc import Mapping

import attrs

from dms_iceberg.context import BatchPlan, BranchState
from dms_iceberg.progress.pending import FileBatch, RecordBatch
from dms_iceberg.silver.schema.diff import AddColumn, SchemaPlan
from dms_iceberg.silver.schema.rename import RenameColumn


@attrs.frozen
class RecordTruncate:
    """Record in bronze that the source table was truncated at ``at`` (17 digits), as the operator requested."""

    at: str


@attrs.frozen
class TakeOver:
    """Record the document as owner of the table and of its quarantine; ``tables`` are those that were another's, each with that owner."""

    tables: tuple[str, ...]


@attrs.frozen
class RenameColumns:
    """Give columns their declared new names."""

    columns: tuple[RenameColumn, ...]


@attrs.frozen
class DropBranches:
    """Remove branches that were built with another configuration."""

    names: tuple[str, ...]


@attrs.frozen
class BeginLoad:
    """Record on its branch that a reload in place has begun, in place of what was built there of another moment or configuration."""

    branch: BranchState


@attrs.frozen
class RestoreBackfills:
    """Write the backfill values again that a rollback removed, into rows of main or of ``branch``."""

    columns: tuple[AddColumn, ...]
    branch: str | None = None


@attrs.frozen
class SwitchMode:
    """Give a mirror the columns of the declared mode; ``statements`` are the SQL statements that do it."""

    statements: tuple[str, ...]


@attrs.frozen
class CountRows:
    """Count which rows leave by the truncate at ``at`` (17 digits), or with the load of ``branch`` where ``at`` is ""; then plan again."""

    branch: BranchState
    at: str = ""


@attrs.frozen
class ReadFiles:
    """Read the columns of the next batch, from its files or its quarantine records; then plan again with these columns known."""

    batch: FileBatch | RecordBatch


@attrs.frozen
class EvolveSchema:
    """Add or widen columns before a batch is merged."""

    plan: SchemaPlan


@attrs.frozen(eq=False)
class SkipFiles:
    """Move the frontier past files that have no rows and no columns."""

    plan: BatchPlan


@attrs.frozen(eq=False)
class MergeBatch:
    """Merge a batch and its progress in one commit; ``creates`` are the columns of the table if it must be created first."""

    plan: BatchPlan
    creates: Mapping[str, str] | None = None


@attrs.frozen
class ApplyTruncate:
    """End the rows that are older than a truncate of the source table at ``at`` (17 digits)."""

    branch: BranchState
    at: str


@attrs.frozen
class CompleteLoad:
    """Publish the branch of a complete load as the table's content."""

    branch: BranchState
    main: int | None


@attrs.frozen
class ResolveRejected:
    """Resolve rows of the quarantine that a rebuild did not reject again."""

    branch: BranchState


@attrs.frozen
class PublishRebuild:
    """Check the rebuilt content and publish it as the table's content."""

    branch: BranchState
    main: int | None


@attrs.frozen
class CreateTable:
    """Create the table without rows.

    Attributes:
        columns: Spark types by column; None for a table that exists.
        is_loaded: add a snapshot which records that the load of the empty source table is complete.
    """

    columns: Mapping[str, str] | None
    is_loaded: bool = False


@attrs.frozen
class Wait:
    """Do nothing: a load is not complete, and there is nothing to merge into it."""

    warnings: tuple[str, ...] = ()


@attrs.frozen
class Done:
    """Nothing is left to merge; ``checks`` asks to compare the configuration with the newest merged file."""

    warnings: tuple[str, ...] = ()
    checks: bool = False


Action = (
    RecordTruncate
    | TakeOver
    | RenameColumns
    | DropBranches
    | BeginLoad
    | RestoreBackfills
    | SwitchMode
    | CountRows
    | ReadFiles
    | EvolveSchema
    | SkipFiles
    | MergeBatch
    | ApplyTruncate
    | CompleteLoad
    | ResolveRejected
    | PublishRebuild
    | CreateTable
    | Wait
    | Done
)
