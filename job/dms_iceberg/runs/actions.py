"""What can be done to a table next: frozen values that `runs.plan` chooses, `runs.apply` carries out and `runs.predict` thinks through."""

from collections.abc import Mapping

import attrs

from dms_iceberg.context import BatchPlan, BranchState
from dms_iceberg.progress.pending import FileBatch, RecordBatch
from dms_iceberg.silver.rename import RenameColumn
from dms_iceberg.silver.schema_diff import AddColumn, SchemaPlan


@attrs.frozen
class RecordTruncate:
    """Write down in bronze that the source table was truncated at ``at`` (17 digits), as the operator says."""

    at: str


@attrs.frozen
class RenameColumns:
    """Give columns their declared new names."""

    columns: tuple[RenameColumn, ...]


@attrs.frozen
class DropBranches:
    """Remove branches that another configuration has begun."""

    names: tuple[str, ...]


@attrs.frozen
class RestoreBackfills:
    """Give rows of main (or of ``branch``) the values again that a rollback took from them."""

    columns: tuple[AddColumn, ...]
    branch: str | None = None


@attrs.frozen
class SwitchMode:
    """Give a mirror the columns of the declared mode; ``statements`` is what that runs."""

    statements: tuple[str, ...]


@attrs.frozen
class ReadFiles:
    """Look into the files (or the records of the quarantine) of the next batch; then plan again, knowing their columns."""

    batch: FileBatch | RecordBatch


@attrs.frozen
class EvolveSchema:
    """Add or widen columns before a batch is merged."""

    plan: SchemaPlan


@attrs.frozen(eq=False)
class SkipFiles:
    """Move the frontier over files that hold nothing, not even columns."""

    plan: BatchPlan


@attrs.frozen(eq=False)
class MergeBatch:
    """Merge a batch in one commit with the progress; ``creates`` are the columns of a table that it makes first."""

    plan: BatchPlan
    creates: Mapping[str, str] | None = None


@attrs.frozen
class ApplyTruncate:
    """End the rows that are older than a truncate of the source table at ``at`` (17 digits)."""

    branch: BranchState
    at: str


@attrs.frozen
class CompleteLoad:
    """Make the branch of a complete load the content of the table."""

    branch: BranchState
    main: int | None


@attrs.frozen
class ResolveRejected:
    """Resolve rows of the quarantine that a rebuild has not rejected again."""

    branch: BranchState


@attrs.frozen
class PublishRebuild:
    """Check the rebuilt content and make it the content of the table."""

    branch: BranchState
    main: int | None


@attrs.frozen
class CreateTable:
    """Create the table without a row.

    Attributes:
        columns: Spark types by column; None for a table that is there.
        is_loaded: a snapshot says that its load, of an empty source table, is complete.
    """

    columns: Mapping[str, str] | None
    is_loaded: bool = False


@attrs.frozen
class Wait:
    """Nothing can be merged into a load that is not complete."""

    warnings: tuple[str, ...] = ()


@attrs.frozen
class Done:
    """Nothing is left to merge; ``checks`` asks for the configuration to be compared with the newest merged file."""

    warnings: tuple[str, ...] = ()
    checks: bool = False


Action = (
    RecordTruncate
    | RenameColumns
    | DropBranches
    | RestoreBackfills
    | SwitchMode
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
