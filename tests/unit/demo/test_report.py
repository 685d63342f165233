"""The demo's figures and its verdict, without running it."""

import json
from datetime import UTC, datetime
from pathlib import Path

import attrs
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

from dms_demo import pipeline, wording
from dms_demo.chart import lag_chart, nice_step
from dms_demo.check import Comparison
from dms_demo.lag import FIRST_BATCHES, Lags, applied_files
from dms_demo.page import render_page
from dms_demo.report import DemoReport, LagPoint, TableOutcome
from dms_demo.story import Chapter, Rejected
from dms_demo.writers import Event
from dms_iceberg.iceberg.table import Snapshot
from dms_iceberg.progress.progress import PROGRESS_KEY, Progress
from dms_iceberg.silver.row_counts import RowCounts

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
NOON_MS = int(NOON.timestamp() * 1000)


def comparison(**changes: object) -> Comparison:
    both = Comparison(source_rows=3, silver_rows=3, source_md5="aa", silver_md5="aa", columns=("id",))
    return attrs.evolve(both, **changes)


def report(**changes: object) -> DemoReport:
    outcome = TableOutcome(
        source="public.orders",
        target="silver.orders",
        comparison=comparison(),
        books=RowCounts(rows_read=7, applied=5, superseded=1, quarantined=1),
        lags=Lags(1.0, 4.0, 5.0),
        later_lags=Lags(0.5, 2.0, 3.0),
        loaded=2,
        captured=7,
        files=1,
        snapshots=2,
    )
    return DemoReport(
        started_at=NOON,
        seconds=10,
        total_seconds=30,
        tables=[attrs.evolve(outcome, **changes)],
        lags=outcome.lags,
        later_lags=outcome.later_lags,
        later_changes=4,
        points=[LagPoint("public.orders", 1.5, 4.0, 3, is_of_first=True), LagPoint("public.orders", 2.5, 0.5, 4)],
        events=[(2.0, Event(NOON, "<column> added"))],
        quarantined=[Rejected("public.orders", "rule", "<b>", "U", '{"order_id":2}', "", "f", 1, {"name": "<script>"})],
        story=[Chapter(4, NOON, None, {"status": "new", "amount": "1.00"})],
        schema_changes=["ALTER TABLE t ADD COLUMN c int"],
        transactions={"commits": 1, "rollbacks": 0, "key_changes": 0},
        batches=3,
        idle_snapshots=0,
        environment={"Spark": "3.5", "processors": "2"},
    )


def snapshot(number: int, frontier: str) -> Snapshot:
    summary = {PROGRESS_KEY: Progress(frontier=frontier).to_json()} if frontier else {}
    return Snapshot(number, number - 1, NOON_MS + number * 1000, summary)


def put(bronze: Path, name: str, commits: list[str]) -> None:
    path = bronze / "public" / "orders" / "2026" / "03" / "01" / "12" / f"{name}.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table({"Op": ["I"] * len(commits), "order_id": range(len(commits)), "dms_commit_ts": commits}), path)


def test_a_change_lags_until_the_first_snapshot_that_covers_its_file(tmp_path: Path) -> None:
    put(tmp_path, "20260301-120000500", ["2026-03-01 12:00:00.100000"])
    put(tmp_path, "20260301-120001500", ["2026-03-01 12:00:01.000000", "2026-03-01 12:00:01.250000"])
    put(tmp_path, "20260301-120009000", ["2026-03-01 12:00:08.900000"])
    # The second snapshot, a maintenance one, carries no progress; the fifth covers no new file.
    lineage = [snapshot(5, "20260301120001500"), snapshot(3, "20260301120001500"), snapshot(2, ""), snapshot(1, "20260301120000500")]
    files = applied_files(tmp_path, "public.orders", "order_id", lineage)
    assert [(file.snapshot.id, file.batch) for file in files] == [(1, 1), (3, 2)]
    assert [[round(lag, 6) for lag in file.lags] for file in files] == [[0.9], [2.0, 1.75]]
    assert Lags.of(files) == Lags(1.75, 1.975, 2.0)


def test_batches_are_counted_by_snapshots_and_the_first_ones_are_told_apart(tmp_path: Path) -> None:
    # Two files in each snapshot, the full load in an earlier one.
    names = [f"2026030112{minute:02d}00000" for minute in range(2 * FIRST_BATCHES + 2)]
    for name in names:
        put(tmp_path, f"{name[:8]}-{name[8:]}", ["2026-03-01 12:00:00"])
    lineage = [snapshot(number + 1, name) for number, name in enumerate(names) if number % 2]
    files = applied_files(tmp_path, "public.orders", "order_id", [*reversed(lineage), snapshot(0, "")])
    assert [file.batch for file in files] == [number // 2 + 1 for number in range(len(names))]
    assert [file.is_of_first for file in files] == [True] * 2 * FIRST_BATCHES + [False] * 2


def test_without_changes_there_is_no_lag() -> None:
    assert Lags.of([]) == Lags(None, None, None)


def test_the_lag_is_given_with_and_without_the_first_batches() -> None:
    assert list(wording.lag_lines(report())) == [
        "lag after the first 5 batches of each table: p50 0.5 s, p95 2.0 s (4 changes)",
        "lag with them, in a session that is still cold: p50 1.0 s, p95 4.0 s (7 changes)",
    ]
    document = report().to_document()
    assert (document["lag_p95_seconds"], document["lag_after_first_batches"]["p95_seconds"]) == (4.0, 2.0)


def test_a_short_demo_says_that_all_of_it_was_cold() -> None:
    short = attrs.evolve(report(), later_changes=0, later_lags=Lags.of([]))
    assert list(wording.lag_lines(short)) == [
        "lag with no more than 5 batches of a table, in a session that is still cold: p50 1.0 s, p95 4.0 s (7 changes)"
    ]


@pytest.mark.parametrize(("span", "step"), [(6, 1), (7, 2), (30, 5), (31, 10), (0.6, 0.1), (950, 200)])
def test_axis_steps_are_round(span: float, step: float) -> None:
    assert nice_step(span) == pytest.approx(step)


def test_a_chart_of_one_dot_and_of_none() -> None:
    assert lag_chart([LagPoint("t", 0.0, 0.0, 1)], [], {}).count("<circle") == 2
    assert "<svg" not in lag_chart([], [], {})


def test_dots_of_the_first_batches_are_hollow() -> None:
    chart = lag_chart(report().points, [], {})
    assert chart.count('class="t0 first"') == 1
    assert chart.count('class="t0"') == 2


def test_the_page_escapes_what_comes_from_data() -> None:
    page = render_page(report())
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "&lt;column&gt; added" in page


@pytest.mark.parametrize(
    ("changes", "code", "text"),
    [
        ({}, 0, "equal: 5 changes"),
        ({"comparison": comparison(silver_md5="bb", differing=2, examples=("17",))}, 1, "first keys: 17"),
        ({"problem": "the row counts do not add up"}, 1, "the row counts do not add up"),
    ],
)
def test_the_exit_code_is_the_verdict(
    changes: dict[str, object], code: int, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import typer

    from dms_demo.cli import demo

    monkeypatch.setattr(pipeline, "run_demo", lambda *_: report(**changes))
    app = typer.Typer()
    app.command()(demo)
    done = CliRunner().invoke(app, ["--directory", str(tmp_path)])
    assert done.exit_code == code, done.output
    assert text in done.output
    document = json.loads((tmp_path / "report.json").read_text())
    assert document["tables"]["public.orders"]["equal"] is (code == 0)
    assert ("NOT equal" in (tmp_path / "report.html").read_text()) is (code == 1)
