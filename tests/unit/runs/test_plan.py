"""What comes next for a table: every action, and every pair that could come in two orders. Without Spark."""

from datetime import UTC, datetime
from typing import Any

import attrs
import pytest

from dms_iceberg.bronze.keys import BronzeFile, parse_key, shown_time
from dms_iceberg.config.model import Batch, Mode, Table
from dms_iceberg.context import BatchPlan, BranchState, RunRequest
from dms_iceberg.errors import BronzeError, DmsIcebergError, TargetError
from dms_iceberg.loads.load_marker import LoadMarker
from dms_iceberg.loads.moments import UNMERGED, Effect
from dms_iceberg.loads.no_files import NoFiles
from dms_iceberg.progress.look_back import LookBack
from dms_iceberg.progress.merged_loads import MergedLoads
from dms_iceberg.progress.pending import FileBatch, Pending, RecordBatch
from dms_iceberg.progress.progress import Progress
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
from dms_iceberg.runs.plan import MOST_COMPARISONS, is_rebuild_next, is_truncate_seen, plan
from dms_iceberg.runs.predict import after
from dms_iceberg.runs.state import OpenedBatch, RunMemory, TableState
from dms_iceberg.runs.wording import words
from dms_iceberg.silver.schema.diff import AddColumn, SchemaPlan
from dms_iceberg.silver.schema.rename import RenameColumn

NOW = datetime(2026, 3, 2, tzinfo=UTC)
TABLE = Table(source="public.t", target="sales.t", key=("id",))
LOG = attrs.evolve(TABLE, mode=Mode.APPEND)
LOADED = Progress(epoch=1, frontier="20260301100000000", high_water="1")
SWITCH = ("ALTER TABLE t ADD COLUMN _cdc_deleted boolean",)
RENAME = RenameColumn("old", "new")
ADDED = AddColumn("note", "string")
FILLED = AddColumn("note", "string", "none")
SOONER, AT, LATER = "20260301100000000", "20260301110000000", "20260301120000000"
REBUILD = "20260302000000000"


def file(name: str) -> BronzeFile:
    found = parse_key("public/t/", f"public/t/{name}", 10, f"etag of {name}", "20260301010000000")
    assert found is not None
    return attrs.evolve(found, modified=found.order) if found.is_cdc else found


LOAD, LOAD_2 = file("LOAD00000001.parquet"), file("LOAD00000002.parquet")
EARLY, LATE = file("2026/03/01/10/20260301-103000000.parquet"), file("2026/03/01/11/20260301-113000000.parquet")


def pending(*files: BronzeFile, truncates: tuple[str, ...] = (), loads: tuple[BronzeFile, ...] = ()) -> Pending:
    return Pending(list(files), [*loads, *(one for one in files if not one.is_cdc)], [], list(truncates))


def main(progress: Progress = LOADED, head: int | None = 7) -> BranchState:
    return BranchState(progress, head)


def load(head: int | None = 8, reload: int = 0) -> BranchState:
    return BranchState(Progress(epoch=2, reload=reload), head, "dms_iceberg_epoch_2")


def before(head: int | None = None) -> dict[str, Any]:
    """Main, which is to get a file from before a reload in place; its branch has the file of the load and a later change."""
    return {"pending": pending(EARLY), "then": state(branch=load(head, 1), pending=pending(LOAD, LATE))}


def expired() -> BranchState:
    """The branch of a load whose file was merged."""
    return attrs.evolve(load(), progress=load().progress.after([LOAD], LookBack(24.0, NOW), [LOAD]))


def rebuilt(head: int | None = 9) -> BranchState:
    return BranchState(LOADED.start, head, "dms_iceberg_rebuild_1", REBUILD)


def state(**given: Any) -> TableState:
    """A table that has all there is, changed by what is given."""
    found = {"table": TABLE, "columns": {"id": "int"}, "main": main(), "pending": pending(), "bounds": Batch(), "uri": "s3://b/dms"}
    found |= {"look_back": LookBack(24.0, NOW), "branch": given.get("main", main()), **given}
    return TableState(**found)


def opened(*operations: AddColumn, groups: bool = True, lost: tuple[AddColumn, ...] = (), **given: Any) -> dict[str, Any]:
    """What is known of the columns of a batch; the frames behind them are nobody's business here."""
    shape = _Shape((_Named("id"), _Named("note")), {"id": "int", "note": "string"})
    evolution = _Evolution(SchemaPlan({}, operations), shape) if groups else None
    batch = OpenedBatch(_FILES, ("a group",) if groups else (), None, TABLE, evolution=evolution, lost_backfills=lost)  # type: ignore[arg-type]
    return {"opened": batch, "pending": pending(EARLY), **given}


@attrs.frozen
class _Named:
    name: str


@attrs.frozen
class _Shape:
    columns: tuple[_Named, ...]
    types: dict[str, str]


@attrs.frozen
class _Evolution:
    plan: SchemaPlan
    shape: _Shape


@attrs.frozen
class _Records:
    layouts: tuple[str, ...]
    batch: RecordBatch = attrs.field(factory=lambda: RecordBatch(10))
    untried: None = None


_FILES = FileBatch((EARLY,), 0)
NO_FILES = NoFiles("public.t: no files")
EMPTY = NoFiles("")
NOTHING, MARKER = RunRequest(), LoadMarker("s3://m", "20260302000000000", 2, 0, "20260301000000000")
COMPLETE = RunRequest(load_complete=frozenset({"public.t"}))
CONFIRMED = attrs.evolve(COMPLETE, confirm_rows={"public.t": 3})
OF_ANOTHER = RunRequest(load_complete=frozenset({"public.other"}), confirm_rows={"public.other": 3})
UNKNOWN = attrs.evolve(LOADED, loads=MergedLoads(frozenset({b"8 bytes."})))
TRUNCATE = RunRequest(truncate=frozenset({"public.t"}), truncated_at=AT)
AGREED = attrs.evolve(TRUNCATE, confirm_rows={"public.t": 3})
REPLAY = RunRequest(replay=())
REBUILT = RunRequest(rebuild=frozenset({"public.t"}))
TOLD = RunMemory(truncate_seen=True)
FRESH = {"columns": None, "main": main(Progress(epoch=1), None)}

BEFORE = before()
CASES: list[tuple[str, dict[str, Any], RunRequest, type[Action]]] = [
    ("nothing is left", {}, NOTHING, Done),
    ("a file waits", {"pending": pending(EARLY)}, NOTHING, ReadFiles),
    ("a file of a new table", {**FRESH, "pending": pending(LOAD)}, NOTHING, ReadFiles),
    ("its columns are those of the table", opened(), NOTHING, MergeBatch),
    ("a new table is made with its first batch", opened(**FRESH), NOTHING, MergeBatch),
    ("a new column", opened(ADDED), NOTHING, EvolveSchema),
    ("files without columns", opened(groups=False), NOTHING, SkipFiles),
    ("another mode before new columns", opened(ADDED, switch=SWITCH), NOTHING, SwitchMode),
    ("another mode before files without columns", opened(groups=False, switch=SWITCH), NOTHING, SwitchMode),
    ("another mode waits for a batch", {"switch": SWITCH}, NOTHING, Done),
    ("a mode of a table to come", opened(**FRESH, switch=SWITCH), NOTHING, MergeBatch),
    (
        "values of a branch before new columns",
        opened(ADDED, lost=(FILLED,), branch=load(), pending=pending(LOAD_2)),
        NOTHING,
        RestoreBackfills,
    ),
    ("a takeover before a rename", {"to_take_over": ("t",), "renames": (RENAME,), "pending": pending(EARLY)}, NOTHING, TakeOver),
    ("a takeover without a file", {"to_take_over": ("t",)}, NOTHING, TakeOver),
    ("a rename before a file", {"renames": (RENAME,), "pending": pending(EARLY)}, NOTHING, RenameColumns),
    ("a rename without a file", {"renames": (RENAME,)}, NOTHING, RenameColumns),
    ("a rename before lost values", {"renames": (RENAME,), "lost_backfills": (FILLED,)}, NOTHING, RenameColumns),
    ("a rename before a branch is dropped", {"renames": (RENAME,), "outdated": ("b",), "branch": load()}, NOTHING, RenameColumns),
    ("lost values before a file", {"lost_backfills": (FILLED,), "pending": pending(EARLY)}, NOTHING, RestoreBackfills),
    ("a load by another configuration", {"outdated": ("b",), "branch": load(None), "pending": pending(LOAD)}, NOTHING, DropBranches),
    ("a branch is dropped before lost values", {"outdated": ("b",), "lost_backfills": (FILLED,)}, NOTHING, DropBranches),
    ("a truncate without a file", {"pending": pending(truncates=(AT,))}, NOTHING, ApplyTruncate),
    ("a file before a truncate", {"pending": pending(EARLY, truncates=(AT,))}, NOTHING, ReadFiles),
    ("a truncate before a file", {"pending": pending(LATE, truncates=(AT,))}, NOTHING, ApplyTruncate),
    ("another mode before a truncate", {"pending": pending(truncates=(AT,)), "switch": SWITCH}, NOTHING, SwitchMode),
    ("a truncate that is applied", {"main": main(attrs.evolve(LOADED, truncated=AT)), "pending": pending(truncates=(AT,))}, NOTHING, Done),
    ("a truncate of a table without content", {**FRESH, "pending": pending(LATE, truncates=(AT,))}, NOTHING, ReadFiles),
    ("a truncate waits until a load is the content", {"branch": load(), "pending": pending(truncates=(AT,))}, NOTHING, Wait),
    ("the operator tells of a truncate", {"effect": Effect(0, 3)}, TRUNCATE, RecordTruncate),
    ("whose rows are counted", {"pending": pending(LATE)}, TRUNCATE, CountRows),
    ("and confirmed", {"pending": pending(LATE), "effect": Effect(3)}, AGREED, RecordTruncate),
    ("once older files are merged", {"pending": pending(EARLY, LATE)}, AGREED, ReadFiles),
    ("beside an older truncate", {"pending": pending(LATE, truncates=(SOONER,))}, AGREED, CountRows),
    ("where it is not there already", {"pending": pending(EARLY, truncates=(AT,))}, TRUNCATE, RecordTruncate),
    ("or takes no row from a log", {"table": LOG, "pending": pending(EARLY), "effect": Effect(0, 3)}, TRUNCATE, RecordTruncate),
    ("a takeover comes before older files", {"to_take_over": ("t",), "pending": pending(EARLY)}, TRUNCATE, TakeOver),
    ("which is told once", {"pending": pending(EARLY, truncates=(AT,)), "memory": TOLD}, TRUNCATE, ReadFiles),
    ("and before a rename", {"renames": (RENAME,), "effect": Effect(0)}, TRUNCATE, RecordTruncate),
    ("a truncate that is applied is not told", {"main": main(attrs.evolve(LOADED, truncated=AT))}, TRUNCATE, Done),
    (
        "a LOAD file after the load was complete, which the operator says is of it",
        {"pending": attrs.evolve(pending(LOAD_2), late=(LOAD_2,))},
        attrs.evolve(COMPLETE, confirm_rows={"public.t": 0}),
        ReadFiles,
    ),
    ("a load has files left", {"branch": load(), "pending": pending(LOAD_2, EARLY)}, COMPLETE, ReadFiles),
    ("changes complete a load", {"branch": load(), "pending": pending(EARLY, loads=(LOAD,))}, NOTHING, CompleteLoad),
    ("also if bronze has lost its files", {"branch": expired(), "pending": pending(EARLY)}, NOTHING, CompleteLoad),
    ("but none in place", {"branch": load(reload=1), "pending": pending(EARLY, loads=(LOAD,))}, NOTHING, Wait),
    ("a reload in place is recorded first", {"branch": load(None, 1), "begins": True, "pending": pending(LOAD)}, NOTHING, BeginLoad),
    ("also where it has no file yet", {"branch": load(None, 1), "begins": True, "pending": pending()}, NOTHING, BeginLoad),
    ("and before what it waits for", {**BEFORE, "begins": True}, COMPLETE, BeginLoad),
    ("files from before it are merged into main", BEFORE, COMPLETE, ReadFiles),
    ("and truncates from before it applied", {**BEFORE, "pending": pending(truncates=(AT,))}, NOTHING, ApplyTruncate),
    ("where the operator does", {"branch": load(reload=1), "pending": pending(EARLY, loads=(LOAD,))}, COMPLETE, CompleteLoad),
    ("a load waits for its first change", {"branch": load(), "pending": pending(loads=(LOAD,))}, NOTHING, Wait),
    (
        "whatever number is confirmed of another table",
        {"branch": load(), "pending": pending(EARLY, loads=(LOAD,))},
        OF_ANOTHER,
        CompleteLoad,
    ),
    ("or for DMS", {"branch": load(), "pending": pending(loads=(LOAD,)), "marker": MARKER}, NOTHING, CompleteLoad),
    ("whose word is not taken of an empty folder", {"branch": load(None), "marker": MARKER}, NOTHING, Wait),
    ("a load without a LOAD file is counted", {"branch": load(None)}, COMPLETE, CountRows),
    ("and published once its number is confirmed", {"branch": load(None), "effect": Effect(3)}, CONFIRMED, CompleteLoad),
    ("or where the table has no row", {"branch": load(None), "effect": Effect(0)}, COMPLETE, CompleteLoad),
    ("a number is compared where it need not be given", {"branch": load(), "pending": pending(loads=(LOAD,))}, CONFIRMED, CountRows),
    ("a truncate of a load of unknown time is counted", {"main": main(UNKNOWN)}, TRUNCATE, CountRows),
    (
        "and recorded once its number is confirmed",
        {"main": main(UNKNOWN), "effect": Effect(3)},
        attrs.evolve(TRUNCATE, confirm_rows={"public.t": 3}),
        RecordTruncate,
    ),
    (
        "another mode before a load is the content",
        {"branch": load(), "pending": pending(loads=(LOAD,)), "switch": SWITCH},
        COMPLETE,
        SwitchMode,
    ),
    ("a rebuild reads", {"branch": rebuilt(), "pending": pending(EARLY)}, NOTHING, ReadFiles),
    (
        "a rebuild begins behind the branches of others",
        {"branch": rebuilt(None), "outdated": ("b",), "pending": pending(LOAD)},
        NOTHING,
        DropBranches,
    ),
    ("a rebuild is truncated", {"branch": rebuilt(), "pending": pending(LATE, truncates=(AT,))}, NOTHING, ApplyTruncate),
    ("a rebuild resolves before it is published", {"branch": rebuilt(), "unresolved": True}, NOTHING, ResolveRejected),
    ("a rebuild is published", {"branch": rebuilt()}, NOTHING, PublishRebuild),
    ("no file at all", {**FRESH, "no_files": NO_FILES}, NOTHING, Done),
    ("an empty source table, its columns untyped", {**FRESH, "no_files": EMPTY}, COMPLETE, Done),
    ("an empty source table that is there", {"main": main(Progress(epoch=1), None), "no_files": EMPTY}, COMPLETE, CreateTable),
    ("a replay of rows", {"records": _Records(("l",))}, REPLAY, ReadFiles),
    ("a replay of rows that are read", opened(records=_Records(("l",))), REPLAY, MergeBatch),
    ("a replay in another mode", opened(records=_Records(("l",)), switch=SWITCH), REPLAY, SwitchMode),
    ("a replay of rows with a new column", opened(ADDED, records=_Records(("l",))), REPLAY, EvolveSchema),
    ("a replay of nothing", {}, REPLAY, Done),
    ("a replay leaves files alone", {"pending": pending(EARLY)}, REPLAY, Done),
    ("a replay after a rollback", {"records": _Records(("l",)), "lost_backfills": (FILLED,)}, REPLAY, RestoreBackfills),
    ("a replay of a table without content", {**FRESH, "records": _Records(("l",))}, REPLAY, Done),
]


@pytest.mark.parametrize(("given", "request_", "action"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_what_comes_next(given: dict[str, Any], request_: RunRequest, action: type[Action]) -> None:
    found = plan(state(**given), request_)
    assert type(found) is action, found
    assert (words(found) is None) == (action in (ReadFiles, CountRows, Done)), "`plan` names all that is done to a table"
    assert plan(state(**given), request_) == found or isinstance(found, MergeBatch | SkipFiles), "planning changes nothing"


@pytest.mark.parametrize(
    ("given", "request_", "is_seen"),
    [
        ({}, NOTHING, True),
        ({}, TRUNCATE, True),
        ({"pending": pending(LATE)}, TRUNCATE, True),
        ({"pending": pending(EARLY)}, TRUNCATE, False),
        ({"pending": pending(LOAD)}, TRUNCATE, False),
        ({"pending": pending(EARLY), "memory": TOLD}, TRUNCATE, True),
        ({"pending": pending(EARLY)}, RunRequest(truncate=frozenset({"public.u"}), truncated_at=AT), True),
        ({"pending": pending(EARLY, truncates=(AT,))}, TRUNCATE, True),
        ({"pending": pending(EARLY), "main": main(attrs.evolve(LOADED, truncated=AT))}, TRUNCATE, True),
        ({"pending": pending(EARLY), "table": LOG}, TRUNCATE, True),
    ],
)
def test_a_truncate_is_looked_at_once_older_files_are_merged(given: dict[str, Any], request_: RunRequest, is_seen: bool) -> None:
    assert is_truncate_seen(state(**given), request_) is is_seen


def test_words_tell_what_a_batch_is_for() -> None:
    branches = {"": main(), " for the load": load(), " for the rebuild": rebuilt()}
    for words_, branch in branches.items():
        assert words(plan(state(**opened(branch=branch, pending=pending(LOAD_2))), NOTHING)) == f"merge a batch{words_}"
    assert words(plan(state(**opened(**FRESH)), NOTHING)) == "create the table and merge a batch"
    made = CreateTable({"id": "int"}, is_loaded=True)
    assert words(made) == "create the table and record its load as complete"


def test_every_action_is_in_the_table() -> None:
    assert {case[3] for case in CASES} == set(Action.__args__)


FIRST: list[tuple[dict[str, Any], RunRequest, type[Action]]] = [
    ({"table": LOG, "effect": Effect(0)}, TRUNCATE, RecordTruncate),
    ({"to_take_over": ("t",)}, NOTHING, TakeOver),
    ({"renames": (RENAME,)}, NOTHING, RenameColumns),
    ({"outdated": ("b",)}, NOTHING, DropBranches),
    ({"begins": True}, NOTHING, BeginLoad),
    ({"lost_backfills": (FILLED,)}, NOTHING, RestoreBackfills),
]
"""What precedes everything else, in this order."""
THEN: list[tuple[dict[str, Any], type[Action]]] = [
    ({"pending": pending(truncates=(LATER,))}, ApplyTruncate),
    ({"pending": pending(truncates=(LATER,)), "switch": SWITCH}, SwitchMode),
    ({"pending": pending(EARLY)}, ReadFiles),
    (opened(switch=SWITCH), SwitchMode),
    (opened(ADDED), EvolveSchema),
    (opened(), MergeBatch),
    (opened(groups=False), SkipFiles),
    ({"branch": load(), "pending": pending(loads=(LOAD,)), "marker": MARKER}, CompleteLoad),
    ({"branch": load(), "pending": pending(loads=(LOAD,))}, Wait),
    ({"branch": rebuilt()}, PublishRebuild),
    ({"branch": rebuilt(), "unresolved": True}, ResolveRejected),
    ({}, Done),
]


@pytest.mark.parametrize("later", THEN, ids=lambda one: one[1].__name__)
@pytest.mark.parametrize("number", range(len(FIRST)), ids=[one[2].__name__ for one in FIRST])
def test_what_prepares_a_table_comes_before_all_else_and_in_order(number: int, later: tuple[dict[str, Any], type[Action]]) -> None:
    assert type(plan(state(**later[0]), NOTHING)) is later[1]
    given, request_, action = FIRST[number]
    for other, _, _ in [({}, NOTHING, action), *FIRST[number + 1 :]]:
        found = state(**{**later[0], **other, **given})
        if action is RecordTruncate and "branch" in later[0]:
            # A run that is asked for a rebuild as well looks at main first (`is_rebuild_next`).
            with pytest.raises(TargetError, match="is being loaded again"):
                plan(found, request_)
        else:
            assert type(plan(found, request_)) is action


@pytest.mark.parametrize(
    ("given", "request_", "is_next"),
    [
        ({}, REBUILT, True),
        ({}, NOTHING, False),
        ({}, attrs.evolve(REBUILT, rebuild=frozenset({"public.other"})), False),
        ({"memory": RunMemory(rebuilt=True)}, REBUILT, False),
        (FRESH, REBUILT, False),
        ({"main": main(Progress(epoch=1))}, REBUILT, False),
        ({}, attrs.evolve(TRUNCATE, rebuild=REBUILT.rebuild), False),
        ({"memory": TOLD}, attrs.evolve(TRUNCATE, rebuild=REBUILT.rebuild), True),
        ({}, attrs.evolve(REBUILT, truncate=frozenset({"public.other"}), truncated_at=AT), True),
    ],
    ids=["asked for", "not", "another table", "done", "no table", "no content", "truncate first", "truncate told", "another's truncate"],
)
def test_a_rebuild_is_next_once_a_truncate_is_told(given: dict[str, Any], request_: RunRequest, is_next: bool) -> None:
    assert is_rebuild_next(state(**given), request_) is is_next


IGNORED: dict[str, Any] = {
    "main": main(attrs.evolve(LOADED, loads=MergedLoads().plus([LOAD], [LOAD]))),
    "branch": load(reload=1),
    "pending": attrs.evolve(pending(), left=(LOAD,)),
}
"""A LOAD file that a reload in place leaves out, as the content's own load had it."""
REFUSED: list[tuple[str, dict[str, Any], RunRequest, type[DmsIcebergError], str]] = [
    ("truncate of a load", {"branch": load()}, TRUNCATE, TargetError, "is being loaded again"),
    ("truncate of nothing", FRESH, TRUNCATE, TargetError, "holds nothing yet"),
    ("truncate before another", {"main": main(attrs.evolve(LOADED, truncated=LATER))}, TRUNCATE, TargetError, "is before the truncate of"),
    ("replay of a load", {"branch": load()}, REPLAY, TargetError, "is being loaded again"),
    *(
        (
            "a LOAD file after the load was complete",
            {"pending": attrs.evolve(pending(LOAD_2), late=(LOAD_2,))},
            word,
            BronzeError,
            "after the load of sales.t was complete",
        )
        for word in (NOTHING, COMPLETE, CONFIRMED, attrs.evolve(NOTHING, confirm_rows={"public.t": 0}))
    ),
    ("changes without a load", {"branch": load(None), "pending": pending(EARLY)}, NOTHING, BronzeError, "no file of a full load"),
    ("rebuild of nothing", {"branch": rebuilt(None)}, NOTHING, BronzeError, "no file to rebuild sales.t of below s3://b/dms"),
    ("rebuild beside others", {"branch": rebuilt(), "memory": RunMemory(comparisons=MOST_COMPARISONS)}, NOTHING, TargetError, "gave up"),
    ("a load without a file", {"branch": load(None), "effect": Effect(3)}, COMPLETE, TargetError, "3 of the 3 rows that sales.t has now"),
    (
        "another number",
        {"branch": load(None), "effect": Effect(3, 1)},
        attrs.evolve(COMPLETE, confirm_rows={"public.t": 4}),
        TargetError,
        "--confirm-rows 4, but 3 of",
    ),
    ("a truncate", {"effect": Effect(3, 1)}, TRUNCATE, TargetError, f"run with --truncated-at {shown_time(AT)} --confirm-rows 3."),
    (
        "one of several truncates",
        {"effect": Effect(3, 1)},
        attrs.evolve(TRUNCATE, truncate=frozenset({"public.t", "public.u"})),
        TargetError,
        "--confirm-rows public.t=3.",
    ),
    ("another number for a truncate", {"effect": Effect(0, 4)}, AGREED, TargetError, "--confirm-rows 3, but 0 of the 4 rows"),
    ("a truncate to be counted", {"effect": UNMERGED}, TRUNCATE, TargetError, "it merges them, and then shows the number"),
    ("a load to be built", {"branch": load(None), "effect": Effect(None)}, CONFIRMED, TargetError, "is known once the load is built"),
    ("a reload beside what it ignores", IGNORED, COMPLETE, BronzeError, "would empty sales.t"),
    (
        "complete load in an empty bronze",
        {**FRESH, "no_files": NoFiles("", has_bronze=False)},
        COMPLETE,
        BronzeError,
        "s3://b/dms is empty. sales.t stays as it is",
    ),
]


@pytest.mark.parametrize(("given", "request_", "error", "text"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_what_is_refused(given: dict[str, Any], request_: RunRequest, error: type[DmsIcebergError], text: str) -> None:
    with pytest.raises(error) as caught:
        plan(state(**given), request_)
    assert text in str(caught.value)


def test_warnings_of_a_wait_name_the_way_out_and_the_missing_files() -> None:
    found = plan(state(branch=load(None), no_files=NO_FILES), NOTHING)
    assert isinstance(found, Wait)
    assert "--load-complete public.t" in found.warnings[0]
    assert found.warnings[1] == "public.t: no files"


def test_a_configuration_that_was_not_compared_is_compared_at_the_end() -> None:
    assert plan(state(is_checked=False), NOTHING) == Done(checks=True)
    assert plan(state(is_checked=False, no_files=NO_FILES), NOTHING) == Done(("public.t: no files",), checks=True)


def test_batch_has_what_it_was_planned_on() -> None:
    found = plan(
        state(**opened(main=main(attrs.evolve(LOADED, truncated=AT))) | {"pending": pending(EARLY, truncates=(AT, LATER))}), NOTHING
    )
    assert isinstance(found, MergeBatch)
    assert (found.plan.main, found.plan.truncates, found.plan.following, found.creates) == (7, [AT], [LATER], None)


def test_a_batch_before_a_truncate_that_is_told_does_not_know_it() -> None:
    found = plan(state(**opened() | {"pending": pending(EARLY, LATE)}), TRUNCATE)
    assert isinstance(found, MergeBatch)
    assert (found.plan.batch.files, found.plan.truncates, found.plan.following) == ((EARLY,), [], []), "it may be refused"
    waiting = plan(state(pending=pending(EARLY, LATE)), TRUNCATE)
    assert isinstance(waiting, ReadFiles)
    assert (waiting.batch.files, waiting.batch.remaining, waiting.batch.pending_since) == ((EARLY,), 0, "20260301000000000")


def test_table_is_made_with_the_columns_of_its_first_batch() -> None:
    found = plan(state(**opened(**FRESH)), NOTHING)
    assert isinstance(found, MergeBatch)
    assert found.creates is not None
    assert set(found.creates) >= {"id", "note"}


def steps(begin: TableState, request_: RunRequest = NOTHING, most: int = 20) -> list[str]:
    """The actions that are predicted, with files that hold the columns of the table."""
    taken = []
    while len(taken) < most:
        action = plan(begin, request_)
        begin.memory.truncate_seen = is_truncate_seen(begin, request_)
        if isinstance(action, ReadFiles):
            assert isinstance(action.batch, FileBatch)
            known = opened(*([ADDED] if "note" not in (begin.columns or {"note": ""}) else []))["opened"]
            begin = attrs.evolve(begin, opened=attrs.evolve(known, batch=action.batch))
            continue
        taken.append(type(action).__name__)
        if isinstance(action, Wait | Done | PublishRebuild):
            return taken
        begin = after(begin, action)
    raise AssertionError(taken)


PREDICTED: list[tuple[str, dict[str, Any], RunRequest, list[str]]] = [
    ("all at once", {"renames": (RENAME,), "lost_backfills": (FILLED,), "switch": SWITCH, "pending": pending(EARLY)}, NOTHING,
     ["RenameColumns", "RestoreBackfills", "SwitchMode", "EvolveSchema", "MergeBatch", "Done"]),
    ("a first load and its changes", {**FRESH, "pending": pending(LOAD, LOAD_2, EARLY)}, NOTHING, ["MergeBatch", "MergeBatch", "Done"]),
    ("a truncate between changes", {"columns": {"id": "int", "note": "string"}, "pending": pending(EARLY, LATE, truncates=(AT,))}, NOTHING,
     ["MergeBatch", "ApplyTruncate", "MergeBatch", "Done"]),
    ("a truncate that the operator tells of", {"columns": {"note": "string"}, "pending": pending(EARLY, LATE), "effect": Effect(3)}, AGREED,
     ["MergeBatch", "RecordTruncate", "ApplyTruncate", "MergeBatch", "Done"]),
    ("a new load", {"columns": {"note": "string"}, "branch": load(None), "pending": pending(LOAD, EARLY)}, NOTHING,
     ["MergeBatch", "CompleteLoad", "MergeBatch", "Done"]),
    ("a new load without changes", {"columns": {"note": "string"}, "branch": load(None), "pending": pending(LOAD)}, NOTHING,
     ["MergeBatch", "Wait"]),
    ("a load by another configuration", {"columns": {"note": "string"}, "branch": load(None), "outdated": ("b",), "pending": pending(LOAD)},
     COMPLETE, ["DropBranches", "MergeBatch", "CompleteLoad", "Done"]),
    ("a reload in place after older files", {"columns": {"note": "string"}, **BEFORE, "begins": True}, COMPLETE,
     ["BeginLoad", "MergeBatch", "MergeBatch", "CompleteLoad", "MergeBatch", "Done"]),
    ("and after a truncate", {"columns": {"note": "string"}, **BEFORE, "pending": pending(EARLY, truncates=(AT,))}, NOTHING,
     ["MergeBatch", "ApplyTruncate", "MergeBatch", "Wait"]),
    ("a rebuild", {"columns": {"note": "string"}, "branch": rebuilt(None), "pending": pending(LOAD, EARLY, LATE, truncates=(AT,))}, NOTHING,
     ["MergeBatch", "MergeBatch", "ApplyTruncate", "MergeBatch", "PublishRebuild"]),
    ("an empty table", {"main": main(Progress(epoch=1), None), "no_files": EMPTY}, COMPLETE, ["CreateTable", "Done"]),
]  # fmt: skip


@pytest.mark.parametrize(("given", "request_", "wanted"), [case[1:] for case in PREDICTED], ids=[case[0] for case in PREDICTED])
def test_prediction_comes_to_an_end_by_these_actions(given: dict[str, Any], request_: RunRequest, wanted: list[str]) -> None:
    memory = RunMemory()
    assert steps(state(**given, memory=memory), request_) == wanted


@pytest.mark.parametrize("action", [PublishRebuild(rebuilt(), 7), ReadFiles(_FILES), Done()])
def test_what_must_be_read_is_not_predicted(action: Action) -> None:
    with pytest.raises(TypeError):
        after(state(), action)


@pytest.mark.parametrize(("files", "first"), [((EARLY, LATE), (EARLY,)), ((LATE,), (LATE,)), ((EARLY,), (EARLY,))])
def test_a_rebuild_without_a_load_begins_with_the_changes_before_a_truncate(
    files: tuple[BronzeFile, ...], first: tuple[BronzeFile, ...]
) -> None:
    """As every other batch: it holds nothing from behind a truncate that is still to be applied."""
    found = plan(state(branch=rebuilt(None), pending=pending(*files, truncates=(AT,))), NOTHING)
    assert isinstance(found, ReadFiles)
    assert found.batch.files == first


def test_a_file_without_columns_is_passed_over_until_it_is_uploaded_again() -> None:
    """A watch remembers such files for months, as long as there is no table that could."""
    fresh: dict[str, Any] = {"columns": None, "main": main(Progress(epoch=1), None), "memory": RunMemory()}
    begun = state(**fresh, pending=pending(LOAD))
    (skipped,) = begun.files
    seen = after(begun, SkipFiles(BatchPlan(FileBatch((skipped,), 0), begun.branch, None, ())))
    assert seen.files == []
    again = attrs.evolve(LOAD, etag="etag of its next version")
    assert attrs.evolve(seen, pending=pending(again, LOAD_2)).files == [again, LOAD_2]


def test_what_is_not_counted_yet_is_not_nothing() -> None:
    """`plan` does not know the rows that files from before a reload in place will make of the table."""
    given: dict[str, Any] = {"branch": load(None, reload=1), "pending": pending()}
    assert isinstance(plan(state(**given, effect=Effect(0)), COMPLETE), CompleteLoad)
    with pytest.raises(TargetError, match=r"how many rows would leave|How many rows would leave"):
        plan(state(**given, effect=Effect(None)), COMPLETE)
