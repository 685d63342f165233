"""What must hold before a repair of a table is written: all that speaks against it, so that an operator sees every reason at once."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress

from dms_iceberg.bronze.keys import REPAIR_FOLDER, BronzeFile, shown_time, table_prefix
from dms_iceberg.bronze.listing import list_files
from dms_iceberg.changes.clean import condition_columns
from dms_iceberg.changes.open_files import open_files
from dms_iceberg.errors import BronzeError, TargetError
from dms_iceberg.loads.epochs import branch_state
from dms_iceberg.progress.progress import Progress
from dms_iceberg.verify.cleaning import Cleaning, is_computable
from dms_iceberg.verify.columns import SourceColumn
from dms_iceberg.verify.compare import Comparison
from dms_iceberg.verify.facts import Facts, NotedSource, behind_silver
from dms_iceberg.verify.verdict import TableVerdict, shown_counts

_MOST_KEYS = 100_000
FEWEST_KEYS = 10
"""So many keys of a table are repaired whatever share of it they are, but not more than half of it: another table would differ in all."""
_OWN_PREFIX = "_cdc_"


def repaired_columns(cleaning: Cleaning) -> tuple[SourceColumn, ...]:
    """Return the source columns that a repair writes: those that the newest file of the table has, and no other.

    Where bronze has no merged file any more, or a damaged one, those that files have had.
    """
    context, table, progress = cleaning.context, cleaning.table, cleaning.target.progress()
    newest = newest_merged(context.listing(table, progress), progress)
    names = cleaning.in_files
    if newest is not None:
        with suppress(BronzeError):
            names = frozenset(name.lower() for group in open_files(context, table, [newest]) for name in group.columns.names)
    return tuple(column for column in cleaning.all_columns if column.name.lower() in names)


def newest_merged(listing: Iterable[object], progress: Progress) -> BronzeFile | None:
    """Return the newest file of the task that the table's content holds; None if bronze has none any more.

    A change file from before a reload in place is newer than the reload's LOAD files by its name, but has the columns of another load.
    """
    files = (file for file in listing if isinstance(file, BronzeFile) and progress.holds(file))
    of_task = (file for file in files if not file.relative.startswith(REPAIR_FOLDER))
    return max((file for file in of_task if not file.is_cdc or file.order > progress.since), default=None)


def lost_columns(cleaning: Cleaning, columns: Sequence[SourceColumn]) -> list[str]:
    """Return the silver columns that a repair with these source columns would make NULL, and the columns that conditions would lack."""
    names = {column.name.lower() for column in columns}
    live = [column for column in cleaning.shape.columns if not column.retired and not column.name.startswith(_OWN_PREFIX)]
    lost = [column.name for column in live if not is_computable(column, names)]
    known = names | {column.name.lower() for column in live if column.name not in lost}
    read = sorted(name for name in condition_columns(cleaning.table) if not name.lower().startswith(_OWN_PREFIX))
    return [*lost, *(name for name in read if name.lower() not in known and name not in lost)]


def allowed_keys(share: float, *rows: int) -> int:
    """Return how many keys may be repaired of a table that has so many ``rows`` on its sides."""
    return max(int(share * max(rows)), min(FEWEST_KEYS, max(rows) // 2))


def check_repair(
    comparison: Comparison,
    columns: Sequence[SourceColumn],
    counts: Mapping[str, int],
    noted: NotedSource | None,
    more: Sequence[str] = (),
) -> None:
    """Check everything that can be known before the first file of a repair is written.

    Args:
        comparison: the finished comparison.
        columns: the source columns that would be written.
        counts: number of keys that would be written, by kind.
        noted: what earlier comparisons have noted of the source.
        more: further reasons against it.

    Raises:
        TargetError: something speaks against the repair; the message has all of it.
    """
    reasons = [
        *_of_columns(comparison.cleaning, columns),
        *more,
        *_of_source(comparison, noted),
        *size_doubts(comparison.verdict, comparison.options.max_repair, counts),
        *_of_state(comparison.cleaning),
    ]
    reasons += doubts(comparison, comparison.facts, noted)
    refuse(comparison, reasons)


def _of_source(comparison: Comparison, noted: NotedSource | None) -> Iterator[str]:
    """Yield why nothing but the address says that the source is the right one."""
    verdict, token = comparison.verdict, comparison.facts.token
    if comparison.options.accept_source:
        return
    rows = f"{rows_in_common(verdict):,} of the {verdict.rows_silver:,} rows that silver has are the same there"
    if noted is None:
        yield (
            "no earlier comparison has noted its source, so nothing shows that "
            f"{comparison.source.name} is the database that DMS captures: {rows}. Run verify without --repair first, and look at what it "
            f"shows: it notes a source whose rows fit. If you are certain: --accept-source {token}"
        )
    elif verdict.rows_silver and not rows_in_common(verdict):
        yield f"{rows}: {comparison.source.name} has another table's rows, or was emptied. If it is right: --accept-source {token}"


def rows_in_common(verdict: TableVerdict) -> int:
    """Return how many rows of silver are known to be the same at the source."""
    differing = sum(verdict.differing[kind] for kind in ("surplus", "collided", "different"))
    return max(0, verdict.rows_silver - differing - verdict.unsettled)


def refuse(comparison: Comparison, reasons: Sequence[str]) -> None:
    """Refuse a repair if there is a reason.

    Raises:
        TargetError: there is one.
    """
    if reasons:
        written = comparison.verdict.repaired
        done = f"{written:,} changes were written before" if written else "nothing was written"
        raise TargetError(f"{comparison.cleaning.table.source}: cannot be repaired, because {'; and because '.join(reasons)} ({done})")


def doubts(comparison: Comparison, facts: Facts, noted: NotedSource | None) -> list[str]:
    """Return what the source itself shows against a repair: another source, a copy, one that is behind silver."""
    found = list(facts.doubts)
    if noted is not None:
        found += [f"{text}. If this is right: --accept-source {facts.token}" for text in noted.contradictions(facts)]
    first = comparison.facts
    if facts.identity != first.identity:
        found.append("the server or database has changed while it was compared")
    behind = behind_silver(facts, comparison.target.progress().committed, noted.repaired if noted else "")
    return found + ([behind] if behind else [])


def clock_doubt(comparison: Comparison, now: str) -> list[str]:
    """Return whether the source's clock, 20 digits, is before the newest change in silver, or the first look, or is out of sight."""
    if now < comparison.clock:
        return [f"the source's clock went back while it was compared, from {shown_time(comparison.clock[:17])} to {shown_time(now[:17])}"]
    progress = comparison.target.progress()
    if progress.since and now[: len(progress.since)] <= progress.since:
        return [
            f"the source's clock shows {shown_time(now[:17])}, by which a repair is named, and no run looks for files from before "
            f"{shown_time(progress.since)}: it would never be merged. Look at the clocks of the source and of the task"
        ]
    newest = progress.committed
    if newest <= now[: len(newest)]:
        return []
    return [
        f"silver holds a change committed at {shown_time(newest)}, but the source's clock shows {shown_time(now[: len(newest)])}: it went "
        "back. A repair written now would be older than that change; repair when the clock has passed it, or load the table again"
    ]


def end_doubt(comparison: Comparison, keys: Sequence[Sequence[str]]) -> list[str]:
    """Return whether differing keys are an end of the calendar."""
    lookup = comparison.cleaning.lookup or ()
    return [
        f"differing keys hold the first or last time of the calendar in {column.name!r}, which stands for everything beyond it as well. "
        "Load the table again"
        for column, texts in zip(lookup, zip(*keys, strict=True), strict=False)
        if any(text in column.ends for text in texts)
    ]


def fit_doubt(comparison: Comparison, keys: Collection[tuple[str, ...]]) -> list[str]:
    """Return whether a file cannot have differing keys of silver: written, they would be other keys, or none."""
    unfit = len({*keys} - comparison.written_keys(keys))
    columns = ", ".join(f"{column.name} ({column.lookup_type or column.type})" for column in comparison.lookup.columns or ())
    return [
        f"{unfit:,} differing keys of silver are none that a file of the table can have in {columns}, so a change for them would be one of "
        "another key. Load the table again"
    ] * bool(unfit)


def _of_columns(cleaning: Cleaning, columns: Sequence[SourceColumn]) -> Iterator[str]:
    if cleaning.lookup is None:
        yield (
            "its key in silver is masked, trimmed, cast, rounded or made by an expression, so that a surplus row does not tell which key "
            "was deleted at the source. Load the table again"
        )
    unknown = [column.name for column in columns if column.unknown is not None]
    if unknown:
        yield f"nobody can say what DMS writes of the column {unknown[0]!r}, and a repair writes whole rows. Load the table again"
    lost = lost_columns(cleaning, columns)
    absent = [name for name in lost_columns(cleaning, cleaning.all_columns) if name in lost]
    if absent:
        yield (
            f"the source has no column for {', '.join(absent)}, or does not show it to this user, so a repair would make it NULL: a "
            "mapping rule of the task adds or renames it, or the source has dropped it. Where it is dropped, put it into drop; else load "
            "the table again"
        )
    if held := [name for name in lost if name not in absent]:
        yield (
            f"the newest file of the table has no column for {', '.join(held)}, so a repair would make it NULL, or publish what the task "
            "removes by now. If a mapping rule removes it, put it into drop; else run the job once the next change is there"
        )


def size_doubts(verdict: TableVerdict, max_repair: float, counts: Mapping[str, int]) -> Iterator[str]:
    """Yield why a repair is too large.

    Args:
        verdict: of the comparison; it has the number of rows on both sides.
        max_repair: the share of the table that may be written.
        counts: number of keys that would be written, by kind.
    """
    total = sum(counts.values())
    # Where neither side has a key, writing it is weighed like writing a row: such a table may be empty by now.
    # A key that one side lacks is a row as well.
    rows = max(1, max(verdict.rows_source, verdict.rows_silver + verdict.differing["missing"]) + counts.get("absent", 0))
    if total > _MOST_KEYS:
        yield f"{total:,} keys would be written, and at most {_MOST_KEYS:,} are. Load the table again"
    elif total > allowed_keys(max_repair, rows):
        yield (
            f"it would {shown_counts(counts)}, {total / rows:.1%} of {rows:,} rows, and --max-repair allows "
            f"{100 * max_repair:.4g}% of them ({allowed_keys(max_repair, rows):,} keys). So many differences are seldom lost changes: "
            "look whether --source is the database that DMS captures, and whether mapping rules of the task change the rows. If the "
            "source is right, allow more with --max-repair"
        )


def _of_state(cleaning: Cleaning) -> Iterator[str]:
    context, table = cleaning.context, cleaning.table
    found = branch_state(cleaning)
    if found.branch is not None:
        yield "it is being loaded again. Repair it, if it is still needed, once the new load is its content"
        return
    progress = found.progress
    prefix = table_prefix(table.schema_name, table.table_name)
    listing = list_files(context.store, prefix, progress.since, context.config.bronze.format, progress.to_come(context.look_back()))
    unmerged = sum(not (progress.has_merged(file) if file.is_cdc else _is_loaded(file, progress)) for file in listing)
    if unmerged:
        yield f"bronze has {unmerged:,} files that are not merged yet. Run the job first, then verify again"


def _is_loaded(file: BronzeFile, progress: Progress) -> bool:
    # After a reload in place, an older file is left over from the previous load.
    return file.modified < progress.reloaded_at or progress.loads.has(file)
