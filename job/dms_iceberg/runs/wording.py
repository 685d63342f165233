"""What an action does, in plain words: `plan` shows them in their order. Pure."""

from dms_iceberg.bronze.keys import shown_time
from dms_iceberg.context import BranchState
from dms_iceberg.progress.pending import FileBatch
from dms_iceberg.runs.actions import (
    Action,
    ApplyTruncate,
    BeginLoad,
    CompleteLoad,
    CountRows,
    CreateTable,
    Done,
    DropBranches,
    EvolveSchema,
    MergeBatch,
    PublishRebuild,
    ReadFiles,
    RecordTruncate,
    RenameColumns,
    ResolveRejected,
    RestoreBackfills,
    SkipFiles,
    SwitchMode,
    TakeOver,
    Wait,
)


def words(action: Action) -> str | None:
    """Return what a run does to the table by an action; None if it only reads files, or ends."""
    match action:
        case RenameColumns() | RestoreBackfills() | SwitchMode() | EvolveSchema():
            return _schema_words(action)
        case MergeBatch() | SkipFiles() | ApplyTruncate():
            return _rows_words(action)
        case BeginLoad() | CompleteLoad() | ResolveRejected() | PublishRebuild():
            return _load_words(action)
        case RecordTruncate(at):
            return f"record in bronze the truncate at {shown_time(at)}"
        case TakeOver(tables):
            return f"take over {'; '.join(tables)}"
        case DropBranches(names):
            return f"remove what was built with another configuration ({', '.join(names)})"
        case CreateTable(columns, is_loaded):
            done = (["create the table"] if columns is not None else []) + (["record its load as complete"] if is_loaded else [])
            return " and ".join(done)
        case Wait():
            return "wait until the load is complete"
        case CountRows() | ReadFiles() | Done():
            return None


def under_way(action: Action) -> str:
    """Return what is about to be done by an action, for a line of progress."""
    match action:
        case ReadFiles(FileBatch(files=files)):
            return f"merge {len(files):,} file{'' if len(files) == 1 else 's'}"
        case ReadFiles():
            return "replay rows of the quarantine"
        case _:
            return words(action) or "check the table"


def _schema_words(action: RenameColumns | RestoreBackfills | SwitchMode | EvolveSchema) -> str:
    match action:
        case RenameColumns():
            return "rename columns"
        case RestoreBackfills():
            return "write backfill values again"
        case SwitchMode():
            return "switch the mode"
        case EvolveSchema():
            return "add or widen columns"


def _rows_words(action: MergeBatch | SkipFiles | ApplyTruncate) -> str:
    match action:
        case MergeBatch(planned, creates):
            return f"{'create the table and ' if creates is not None else ''}merge a batch{_place(planned.branch_state)}"
        case SkipFiles(planned):
            return f"go past files without rows and columns{_place(planned.branch_state)}"
        case ApplyTruncate(branch, at):
            return f"apply the truncate at {shown_time(at)}{_place(branch)}"


def _load_words(action: BeginLoad | CompleteLoad | ResolveRejected | PublishRebuild) -> str:
    match action:
        case BeginLoad(branch):
            return f"record that a reload in place began at {shown_time(branch.progress.reloaded_at)}"
        case CompleteLoad():
            return "publish the load"
        case ResolveRejected():
            return "resolve the quarantined rows that the rebuild did not reject again"
        case PublishRebuild():
            return "check and publish the rebuild"


def _place(state: BranchState) -> str:
    """Name what is built on the branch; "" for main."""
    if state.branch is None:
        return ""
    return " for the rebuild" if state.rebuild else " for the load"
