"""The report's texts and figures, for both the page and the terminal."""

from collections.abc import Iterator
from typing import Final

from dms_demo.report import DemoReport, TableOutcome
from dms_demo.shop import BAD_ORDER, STORY_ORDER
from dms_demo.source_side import FLUSH_SECONDS
from dms_demo.story import Rejected

_TABLE_COLUMNS: Final = (
    "table", "rows", "loaded", "changes", "superseded", "quarantined", "lag p50", "lag p95", "checksum", "equal"
)  # fmt: skip
TABLE_COLUMNS_IN_SHORT: Final = ("table", "rows", "changes", "lag p50", "lag p95", "checksum", "equal")
STORY_COLUMNS: Final = ("source commit", "in Iceberg at", "snapshot", "status", "amount")

TABLES_NOTE: Final = (
    "Both sides are brought to the same text on separate paths: PostgreSQL cleans the source with SQL of its own, Spark reads the Iceberg"
    " table. The MD5 of all rows, sorted, must be the same. A change in quarantine leaves its row as it was: for that one key the"
    " source's last good version is expected. Changes applied, superseded by a newer one of their key in the same batch, and quarantined"
    " add up to the rows of the change files."
)
LAG_NOTE: Final = (
    f"Each dot is a change file, larger for more changes. The emulated DMS task closes a file {FLUSH_SECONDS:g} s after its first change"
    " (DMS: 60 s unless told otherwise), so that time is part of the lag. Percentiles count every single change, from the commit time"
    " in its file to the time of the first snapshot whose progress covers that file. The first merges take longest: Spark is still cold."
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
    """Return the result in one line, with the number of changes and the time."""
    return f"{verdict(report)}: {report.changes:,} changes, lag p50 {_seconds(report.lags.p50)}, p95 {_seconds(report.lags.p95)}"


def subtitle(report: DemoReport) -> str:
    """Return a description of what was done."""
    done = report.transactions
    return (
        f"{done['commits']:,} transactions ({done['rollbacks']:,} more rolled back, {done['key_changes']:,} key changes) in"
        f" {report.seconds:.0f} s of writing, mirrored in {report.runs} runs of the job in one Spark session;"
        f" {report.started_at:%Y-%m-%d %H:%M} UTC."
    )


def figures(report: DemoReport) -> list[tuple[str, str]]:
    """Return the few numbers that matter, as name and value."""
    equal = sum(table.equal for table in report.tables)
    return [
        ("tables equal to their source", f"{equal} of {len(report.tables)}"),
        ("changes applied", f"{report.changes:,}"),
        ("median lag", _seconds(report.lags.p50)),
        ("95 % of changes within", _seconds(report.lags.p95)),
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
    """Return which change is in quarantine, and why."""
    return f"{row.table} {row.key}: {row.reason} {row.detail} (operation {row.op}, row {row.row_number} of {row.file})"


def footer(report: DemoReport) -> str:
    """Return versions, and how long the whole demo took."""
    versions = ", ".join(f"{name} {value}" for name, value in report.environment.items() if name != "processors")
    return f"{versions} on {report.environment['processors']} processors; {report.total_seconds:.0f} s from start to report."


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f} s"
