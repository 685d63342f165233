"""The report's texts and figures, for both the page and the terminal."""

from collections.abc import Iterator
from typing import Final

from dms_demo.lag import FIRST_BATCHES, Lags
from dms_demo.report import DemoReport, TableOutcome
from dms_demo.shop import BAD_ORDER, STORY_ORDER
from dms_demo.source_side import FLUSH_SECONDS
from dms_demo.story import Rejected

_TABLE_COLUMNS: Final = (
    "table", "rows", "loaded", "changes", "superseded", "quarantined", "lag p50", "lag p95", "all p50", "all p95", "checksum", "equal"
)  # fmt: skip
TABLE_COLUMNS_IN_SHORT: Final = ("table", "rows", "changes", "lag p50", "lag p95", "all p95", "checksum", "equal")
STORY_COLUMNS: Final = ("source commit", "in Iceberg at", "snapshot", "status", "amount")

_WITH_MICROSECONDS: Final = "PostgreSQL"

TABLES_NOTE: Final = (
    "Both sides are brought to the same text on separate paths: the database cleans the source with SQL of its own, Spark reads the"
    " Iceberg table. The MD5 of all rows, sorted, must be the same. A change in quarantine leaves its row as it was: for that one key the"
    " source's last good version is expected. Changes applied, superseded by a newer one of their key in the same batch, and quarantined"
    f" add up to the rows of the change files. The lag is that of the changes after the table's first {FIRST_BATCHES} batches of changes,"
    " and of all."
)
LAG_NOTE: Final = (
    f"Each dot is a change file, larger for more changes. The emulated DMS task closes a file {FLUSH_SECONDS:g} s after its first change"
    " (DMS: 60 s unless told otherwise), so that time is part of the lag. Percentiles count every single change, from the commit time"
    f" in its file to the time of the first snapshot whose progress covers that file. Hollow dots are of the first {FIRST_BATCHES} batches"
    " of each table, in a session that is still cold: Java loads and compiles its code. The lines leave them out. The session is set for"
    " small tables: Spark interprets its plans, and Java's optimising compiler is off."
)
QUARANTINE_NOTE: Final = (
    f"Order {BAD_ORDER} was given a negative amount, against the declared rule amount >= 0. The table goes on without it, silver keeps the"
    " order's last good version, and the change waits with everything a replay needs:"
)
SCHEMA_NOTE: Final = "A column was added at the source while everything ran. The configuration does not name it; the job did this:"


def story_note() -> str:
    """Return the caption of the story's table."""
    return f"Order {STORY_ORDER} as SELECT ... VERSION AS OF each snapshot shows it."


def verdict(report: DemoReport) -> str:
    """Return the result in a word or two."""
    if report.equal:
        return "equal"
    return "NOT equal: " + ", ".join(table.source for table in report.tables if not table.equal)


def conclusion(report: DemoReport) -> str:
    """Return the result in one line, with the number of changes."""
    return f"{verdict(report)}: {report.changes:,} changes"


def lag_lines(report: DemoReport) -> Iterator[str]:
    """Yield the lag of the changes after the first batches, and that of all."""
    captured = sum(table.captured for table in report.tables)
    if report.later_changes:
        first = f"after the first {FIRST_BATCHES} batches of each table"
        yield _lag_line(first, report.later_lags, report.later_changes)
        yield _lag_line("with them, in a session that is still cold", report.lags, captured)
    else:
        yield _lag_line(f"with no more than {FIRST_BATCHES} batches of a table, in a session that is still cold", report.lags, captured)
    if report.source != _WITH_MICROSECONDS:
        yield "commit times of this source are whole seconds: each lag is up to a second too long"


def _lag_line(of: str, lags: Lags, changes: int) -> str:
    return f"lag {of}: p50 {_seconds(lags.p50)}, p95 {_seconds(lags.p95)} ({changes:,} changes)"


def subtitle(report: DemoReport) -> str:
    """Return a description of what was done."""
    done = report.transactions
    return (
        f"{done['commits']:,} transactions ({done['rollbacks']:,} more rolled back, {done['key_changes']:,} key changes) in"
        f" {report.seconds:.0f} s of writing, mirrored by a watch in {report.batches} batches;"
        f" {report.started_at:%Y-%m-%d %H:%M} UTC."
    )


def figures(report: DemoReport) -> list[tuple[str, str]]:
    """Return the few numbers that matter, as name and value."""
    equal = sum(table.equal for table in report.tables)
    return [
        ("tables equal to their source", f"{equal} of {len(report.tables)}"),
        ("changes applied", f"{report.changes:,}"),
        ("median lag after the first batches", _seconds(report.later_lags.p50)),
        ("95 % of changes within, after the first batches", _seconds(report.later_lags.p95)),
        ("95 % of all changes within", _seconds(report.lags.p95)),
        ("row in quarantine" if len(report.quarantined) == 1 else "rows in quarantine", f"{len(report.quarantined)}"),
        ("snapshots of a run without news", f"{report.idle_snapshots}"),
    ]


def table_rows(report: DemoReport) -> list[dict[str, str]]:
    """Return the cells of each table by the name of their column."""
    return [dict(zip(_TABLE_COLUMNS, cells, strict=True)) for cells in _table_cells(report)]


def _table_cells(report: DemoReport) -> list[list[str]]:
    return [
        [
            table.source,
            f"{table.comparison.silver_rows:,}",
            f"{table.loaded:,}",
            f"{table.books.applied:,}",
            f"{table.books.superseded:,}",
            f"{table.books.quarantined:,}",
            _seconds(table.later_lags.p50),
            _seconds(table.later_lags.p95),
            _seconds(table.lags.p50),
            _seconds(table.lags.p95),
            _checksums(table),
            "yes" if table.equal else "NO",
        ]
        for table in report.tables
    ]


def _checksums(table: TableOutcome) -> str:
    source, silver = table.comparison.source_md5[:8], table.comparison.silver_md5[:8]
    return silver if source == silver else f"{source} / {silver}"


def problems(report: DemoReport) -> Iterator[str]:
    """Yield a line for everything that is wrong."""
    for table in report.tables:
        if not table.comparison.equal:
            yield f"{table.source}: {_difference(table)}"
        if table.problem is not None:
            yield f"{table.source}: {table.problem}"


def _difference(table: TableOutcome) -> str:
    found = table.comparison
    return (
        f"{found.source_rows:,} rows at the source, {found.silver_rows:,} in silver, {found.differing:,} on one side only;"
        f" first keys: {', '.join(found.examples)}"
    )


def story_rows(report: DemoReport) -> list[list[str]]:
    """Return cells in the order of `STORY_COLUMNS`."""
    return [
        [
            f"{chapter.committed_at:%H:%M:%S.%f}"[:-3] if chapter.committed_at else "full load",
            f"{chapter.snapshot_at:%H:%M:%S.%f}"[:-3],
            str(chapter.snapshot_id),
            str(chapter.values["status"]),
            str(chapter.values["amount"]),
        ]
        for chapter in report.story
    ]


def rejected(row: Rejected) -> str:
    """Return which change is in quarantine, and why. Rows are counted from 1 for people, from 0 where the number is kept."""
    return f"{row.table} {row.key}: {row.reason} {row.detail} (operation {row.op}, row {row.row_number + 1:,} of {row.file})"


def footer(report: DemoReport) -> str:
    """Return versions, and how long the whole demo took."""
    versions = ", ".join(f"{name} {value}" for name, value in report.environment.items() if name != "processors")
    return f"{versions} on {report.environment['processors']} processors; {report.total_seconds:.0f} s from start to report."


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f} s"
