"""What a person sees: every number, names as they are, times as one reads them, and what comes next."""

import io
import sys
from datetime import UTC, datetime

import attrs
import pytest

from dms_iceberg.cli.grid import console, print_grid
from dms_iceberg.cli.print_plan import print_plan
from dms_iceberg.cli.print_quarantine import Place, place_in, print_quarantine
from dms_iceberg.cli.print_run import print_report, verdict
from dms_iceberg.cli.terminal import print_maintenance, print_status, print_verdict
from dms_iceberg.config.model import Bronze, BronzeFormat, Csv
from dms_iceberg.gold.preview import ModelPreview
from dms_iceberg.gold.status import ModelStatus
from dms_iceberg.maintenance.report import MaintenanceReport, MaintenanceRun, Outcome, StepReport
from dms_iceberg.quarantine.details import AFTER_REPAIR
from dms_iceberg.quarantine.examples import Example
from dms_iceberg.quarantine.listing import OpenReason, OpenRows
from dms_iceberg.runs.preview import TablePreview
from dms_iceberg.runs.report import BatchReport, RunReport, TableReport
from dms_iceberg.runs.status import TableStatus
from dms_iceberg.verify.verdict import TableVerdict, Verdict

ODD = "public.[red]:key:[/]"
NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


def batch(**numbers: int) -> BatchReport:
    books = {"rows_read": 1234, "applied": 1000, "superseded": 200, "stale": 30, "filtered": 3, "quarantined": 1} | numbers
    return BatchReport(files=2, bytes=10, snapshot_id=1, frontier="20260301100130000", seconds=0.5, lag_seconds=61.25, **books)


def test_report_shows_books_warnings_and_errors(capsys: pytest.CaptureFixture[str]) -> None:
    good = TableReport(table="public.t", target="silver.t", batches=[batch(), batch()], ddl=["ALTER TABLE t ADD COLUMN `[b]` int"])
    bad = TableReport(table="public.u", target="silver.u", error="public.u: [bold] is no column", warnings=["public.u: look [here]"])
    print_report(RunReport("r", {"public.t": good, "public.u": bad}, 1.0))
    table, rest = capsys.readouterr().out.split("public.u", 1)
    words = ["public.t", "4", "2,468", "2,000", "400", "60", "6", "2", "1", "min", "1", "s", "0.0", "s"]
    assert table.splitlines()[-1].split() == words
    assert "schema: ALTER TABLE t ADD COLUMN `[b]` int" in rest
    assert "warning: public.u: look [here]" in rest
    assert "failed: public.u: [bold] is no column" in rest


def test_report_leaves_out_columns_without_a_number_and_tables_without_news(capsys: pytest.CaptureFixture[str]) -> None:
    plain = batch(rows_read=5, applied=5, superseded=0, stale=0, filtered=0, quarantined=0)
    idle = TableReport(table="public.idle", target="silver.idle")
    print_report(RunReport("r", {"public.t": TableReport(table="public.t", target="t", batches=[plain]), "public.idle": idle}, 1.0))
    shown = capsys.readouterr().out
    assert shown.splitlines()[0].split() == ["table", "files", "rows", "read", "applied", "lag", "time"]
    assert "public.idle" not in shown


def told(*tables: TableReport, config: str = "shop.json") -> list[str]:
    return list(verdict(RunReport("r", {one.table: one for one in tables}, 65.0), config))


def table(name: str, *batches: BatchReport, **facts: object) -> TableReport:
    return TableReport(table=name, target=name, batches=list(batches), **facts)  # type: ignore[arg-type]


def test_a_run_ends_with_a_verdict_and_the_next_command() -> None:
    clean = batch(quarantined=0)
    assert told(table("a", clean), table("b")) == [
        "merged 2 files with 1,234 rows into 1 table in 1 min 5 s",
        "next: dms-iceberg status shop.json",
    ]
    assert told(table("a"), table("b"), config="my shop.json") == [
        "nothing new: 2 tables, and no file that is not merged",
        "next: dms-iceberg status 'my shop.json'",
    ]
    assert told(table("a", batch()))[1:] == [
        "1 row went to quarantine; silver keeps the last good version of their keys",
        "next: dms-iceberg quarantine list shop.json",
    ]
    left = told(table("a", batch(), lost_versions=True))[1]
    assert left == "1 row went to quarantine; silver keeps the last good version of their keys, except where a warning above says otherwise"
    assert told(table("a", waits=True))[1] == "waits until its load is complete, as status shows: a"
    assert told(table("a", error="a: odd"), table("b", clean))[1].startswith("failed: a; the others are not affected.")


def test_a_run_that_replaces_or_ends_content_is_not_nothing_new() -> None:
    following = "next: dms-iceberg status shop.json"
    assert told(table("a", content=["published a full load"]), table("b")) == ["published a full load: a", following]
    both = table("a", batch(quarantined=0), content=["applied a truncate", "published a rebuild"])
    assert told(both, table("b", content=["published a rebuild"])) == [
        "merged 2 files with 1,234 rows into 1 table in 1 min 5 s",
        "applied a truncate: a",
        "published a rebuild: a, b",
        following,
    ]


def test_a_run_says_that_older_rows_are_still_in_quarantine() -> None:
    clean = batch(quarantined=0)
    assert told(table("a", clean, older=2), table("b", older=1))[1:] == [
        "3 rows of earlier runs are still open in quarantine",
        "next: dms-iceberg quarantine list shop.json",
    ]
    assert told(table("a", older=1)) == [
        "nothing new: 1 table, and no file that is not merged",
        "1 row of earlier runs is still open in quarantine",
        "next: dms-iceberg quarantine list shop.json",
    ]
    assert told(table("a", batch(), older=1))[1:] == [
        "1 row went to quarantine; silver keeps the last good version of their keys",
        "1 row of earlier runs is still open in quarantine",
        "next: dms-iceberg quarantine list shop.json",
    ]
    assert told(table("a", older=None), table("b"))[1:] == [
        "the quarantine has rows of earlier runs that may be open: a",
        "next: dms-iceberg quarantine list shop.json",
    ]
    assert told(table("a", clean, stopped=True, older=1))[-1] == "next: dms-iceberg run shop.json"


def test_the_loser_of_two_runs_says_that_another_has_done_it() -> None:
    assert told(table("a", lost_races=1)) == [
        "another run was first: it has merged what was new in a, and left nothing to do",
        "next: dms-iceberg status shop.json",
    ]
    assert not any("another run" in line for line in told(table("a", batch(quarantined=0), lost_races=2)))


def test_a_run_that_was_stopped_says_what_is_committed_and_how_to_go_on() -> None:
    assert told(table("a", batch(quarantined=0), stopped=True), *(table(name, stopped=True) for name in "bcdefg")) == [
        "merged 2 files with 1,234 rows into 1 table in 1 min 5 s",
        "stopped before the end of a, b, c, d, e and 2 more: what is merged is committed, and the next run goes on there",
        "next: dms-iceberg run shop.json",
    ]
    assert told(table("a", stopped=True))[0].startswith("stopped before the end of a")
    for models_wait, end in ((True, "; gold models wait for the next run"), (False, "")):
        in_time = RunReport("r", {"a": table("a", batch(quarantined=0))}, 1.0, models_wait=models_wait)
        lines = list(verdict(in_time, "shop.json", is_stopping=True))
        assert lines[1] == f"stopped after the last batch: no file was left to merge{end}"


def test_a_replay_says_what_is_still_open(capsys: pytest.CaptureFixture[str]) -> None:
    done = table("a", batch(rows_read=5, applied=3, superseded=0, stale=0, filtered=0, quarantined=2))
    print_report(RunReport("r", {"a": done}, 1.0), "shop.json", is_replay=True)
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "replayed 5 rows: 3 rows resolved, 2 rows still open",
        "next: dms-iceberg quarantine list shop.json",
    ]
    print_report(RunReport("r", {"a": table("a")}, 1.0), "shop.json", is_replay=True)
    assert capsys.readouterr().out.splitlines()[-1] == "no row was replayed"


def test_markup_in_names_is_shown_not_obeyed(capsys: pytest.CaptureFixture[str]) -> None:
    print_report(RunReport("r", {ODD: TableReport(table=ODD, target="t", batches=[batch()])}, 1.0))
    print_plan([TablePreview(table=ODD, rebuilt_files=2, sql=[f"CREATE TABLE `{ODD}`"], warnings=[f"{ODD}: odd"], error=f"{ODD}: odd")])
    print_status([TableStatus(table=ODD, target=ODD, exists=True, last_error=f"{ODD}: odd", warnings=[f"{ODD}: old"])])
    shown = capsys.readouterr().out
    assert shown.count(ODD) == 1 + 4 + 6
    assert "[/]" in shown
    assert "2 merged files would be read again" in shown


def test_plan_names_the_table_first_and_what_is_new(capsys: pytest.CaptureFixture[str]) -> None:
    print_plan(
        [TablePreview(table="a", files=1234, bytes=5_300_000, rows=None, batches=2, steps=["merge a batch"]), TablePreview(table="b")]
    )
    assert capsys.readouterr().out.splitlines() == [
        "a: 1,234 files, an unknown number of rows, 5.3 MB, in 2 batches",
        "  would merge a batch",
        "b: no new file",
        "1 of 2 tables would change: dms-iceberg run CONFIG",
    ]
    print_plan([TablePreview(table=ODD, steps=["rename columns", "merge a batch", "merge a batch"])])
    assert capsys.readouterr().out.splitlines()[1] == "  would rename columns; merge a batch (2 times)"
    print_plan([TablePreview(table="a", rows=0)], words="shop.json")
    assert capsys.readouterr().out.splitlines() == ["a: no new file", "nothing new in 1 table"]
    print_plan([TablePreview(table="a", leaving=2, error="unsure")], words="shop.json", confirming="shop.json --confirm-rows 2")
    assert capsys.readouterr().out.splitlines()[2:] == [
        "1 table would fail or do nothing; correct what is named above",
        "compare the rows that would leave with the source; if they are right: dms-iceberg run shop.json --confirm-rows 2",
    ]


def test_plan_shows_long_sql_only_when_asked(capsys: pytest.CaptureFixture[str]) -> None:
    long = f"CREATE TABLE t ({', '.join(f'column_{n} string' for n in range(40))})"
    one = TablePreview(table="a", files=1, rows=1, bytes=1, batches=1, sql=["ALTER TABLE t ADD COLUMN x int", long], steps=["do it"])
    print_plan([one])
    shown = capsys.readouterr().out
    assert "  ALTER TABLE t ADD COLUMN x int;" in shown and "CREATE" not in shown and "1 statement more with --sql" in shown
    print_plan([one], with_sql=True)
    shown = capsys.readouterr().out
    assert f"  {long};\n" in shown and "--sql" not in shown


def test_status_shows_times_as_one_reads_them(capsys: pytest.CaptureFixture[str]) -> None:
    statuses = [
        TableStatus(table="a", target="t", exists=True, epoch=2, frontier="20260301105559500", rows=1000, lag_seconds=2.31, snapshots=3),
        TableStatus(table="b", target="u", exists=True, quarantined=5, quarantined_keys=3, building=["rebuild"]),
        TableStatus(table="c", target="v"),
    ]
    print_status(statuses, now=NOW)
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["a", "1,000", "1", "h", "4", "min", "ago", "2.3", "s", "0"]
    assert lines[2].split() == ["b", "5", "(3", "keys)"]
    assert lines[5].split() == ["a", "t", "2", "3", "0"]
    assert lines[7:9] == ["b: is being built beside the content: rebuild", "c: the table does not exist yet"]


def test_maintenance_shows_what_became_of_each_step(capsys: pytest.CaptureFixture[str]) -> None:
    print_status([TableStatus(table="a", target="t", exists=True, maintenance={"delete_files": "9 delete files for 2 data files"})])
    assert "a: needs delete files: 9 delete files for 2 data files" in capsys.readouterr().out.splitlines()
    counts = {"data_files_before": 1234, "data_files_after": 1}
    done = StepReport(name="t", step="compact", reason="many", outcome=Outcome.DONE, counts=counts, seconds=1.25)
    late = StepReport(name=ODD, step="orphan_files", reason="why", outcome=Outcome.GAVE_WAY)
    report = MaintenanceReport(table="a", target="t", steps=[done, late], error=f"{ODD}: odd")
    print_maintenance(MaintenanceRun({"a": report}, {}, 1.0))
    shown = capsys.readouterr().out
    assert "data files before 1,234, data files after 1" in shown
    assert "gave way" in shown
    assert f"failed: {ODD}: odd" in shown
    print_maintenance(MaintenanceRun({"a": MaintenanceReport(table="a", target="t")}, {}, 1.0))
    assert capsys.readouterr().out == "no table needs anything\n"


def test_plan_shows_what_becomes_of_models(capsys: pytest.CaptureFixture[str]) -> None:
    models = [
        ModelPreview(model="gold.a", refresh="incremental", because=["silver.t"]),
        ModelPreview(model="gold.b", waits_for=["silver.u"]),
        ModelPreview(model="gold.c"),
        ModelPreview(model="gold.d", error="no such column"),
    ]
    print_plan([], models)
    shown = capsys.readouterr().out.splitlines()
    assert shown[:-1] == [
        "gold.a: incremental refresh, because of: silver.t",
        "gold.b would wait for silver.u",
        "gold.d would fail: no such column",
    ]


def test_status_shows_models_and_what_they_are_behind(capsys: pytest.CaptureFixture[str]) -> None:
    models = [
        ModelStatus(model="gold.a", exists=True, rows=1000, snapshots=2, refreshed_at="2026-03-01T10:00:00+00:00", behind=["silver.t"]),
        ModelStatus(model="gold.b", waits_for=["silver.u"]),
        ModelStatus(model="gold.c", error="gold.c: no such column", maintenance={"compact": "9 files are small"}),
    ]
    print_status([], models, now=NOW)
    told = capsys.readouterr().out
    for text in ("1,000", "2 h ago", "silver.t", "silver.u", "gold.c: no such column", "gold.c: needs compact: 9 files are small"):
        assert text in told


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def narrow(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Make standard output a terminal of 80 columns."""
    stream = Terminal()
    monkeypatch.setattr(sys, "stdout", stream)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    return stream


LONG = "a_schema_with_a_long_name.and_a_table_with_a_name_that_is_longer_than_the_whole_terminal_is_wide"


def test_what_fits_80_columns_is_a_table(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = narrow(monkeypatch)
    print_grid(console(), ("table", "rows", "odd"), [["public.t", "1,000", "0"], ["public.order_lines", "5", "0"]], unless_zero=("odd",))
    assert [line.rstrip() for line in terminal.getvalue().splitlines()] == [
        "table                rows",
        "public.t            1,000",
        "public.order_lines      5",
    ]


def test_the_gaps_are_narrower_before_a_table_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = narrow(monkeypatch)
    print_grid(console(), ("table", "a", "b"), [["x" * 30, "y" * 30, "z" * 18]])
    assert terminal.getvalue().splitlines()[1] == f"{'x' * 30} {'y' * 30} {'z' * 18}"


def test_no_name_is_cut_where_a_table_is_too_wide(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = narrow(monkeypatch)
    print_status([TableStatus(table=LONG, target=LONG, exists=True, rows=1, snapshots=3, frontier="20260301105559500")], now=NOW)
    print_report(RunReport("r", {LONG: table(LONG, batch())}, 1.0))
    print_verdict(Verdict({LONG: TableVerdict(table=LONG, target=LONG, rows_source=5, rows_silver=5)}, 1.0))
    shown = terminal.getvalue()
    assert shown.count(LONG) >= 5
    assert "…" not in shown
    assert "  rows 1; newest merged file 1 h 4 min ago; in quarantine 0" in shown
    assert "  files 2; rows read 1,234; applied 1,000; superseded 200; stale 30; filtered 3;" in shown
    assert max(len(line) for line in shown.splitlines() if LONG not in line) <= 100, "sentences alone are left to the terminal"


def test_what_is_no_terminal_gets_a_row_in_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    print_grid(console(), ("table", "why"), [[LONG, "because " * 40]], left=2)
    assert len(capsys.readouterr().out.splitlines()) == 2


def quarantined(*examples: Example) -> OpenRows:
    reason = OpenReason(
        reason="cast",
        detail="amount is no decimal(12,2)",
        rows=1234,
        keys=1000,
        first="2026-03-01 10:00:00.5",
        last="2026-03-01 10:05:00",
        examples=examples,
    )
    return OpenRows(table="public.t", target="silver.t", reasons=(reason,))


def test_quarantine_numbers_rows_as_an_editor_does(capsys: pytest.CaptureFixture[str]) -> None:
    example = Example('{"id":7}', "U", "public/t/20260301-100000000.csv", 0)
    csv, headerless = Bronze(uri="b", format=BronzeFormat.CSV), Bronze(uri="b", format=BronzeFormat.CSV, csv=Csv(header=False))
    shown = {"parquet": Bronze(uri="b"), "csv": csv, "no header": headerless, "json": Bronze(uri="b", format=BronzeFormat.JSON)}
    assert {name: place_in(bronze).of(0) for name, bronze in shown.items()} == {
        "parquet": "row 1",
        "csv": "line 2",
        "no header": "line 1",
        "json": "line 1",
    }
    print_quarantine([quarantined(example)], place_in(csv), "shop.json")
    assert capsys.readouterr().out.splitlines() == [
        "public.t: 1,234 open rows",
        "  cast: amount is no decimal(12,2)",
        "    1,234 rows of 1,000 keys, committed at 2026-03-01 10:00:00 to 2026-03-01 10:05:00 (UTC)",
        '    {"id":7}: update, line 2 of public/t/20260301-100000000.csv',
        "    and 1,233 rows more",
        "Lines are counted as if no value spanned several lines and no line were empty.",
        "silver keeps the last good version of these keys. Once the cause is corrected:",
        "next: dms-iceberg quarantine replay shop.json",
    ]
    print_quarantine([quarantined()], Place())
    assert "Lines are counted" not in capsys.readouterr().out


def test_a_change_that_came_after_a_repair_has_no_last_good_version_and_no_replay(capsys: pytest.CaptureFixture[str]) -> None:
    other = quarantined()
    lost = attrs.evolve(other, reasons=(attrs.evolve(other.reasons[0], reason="older_clock", detail=AFTER_REPAIR),))
    print_quarantine([lost], config="shop.json")
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "silver has what a repair wrote for these keys. To see whether the source has the same:",
        "next: dms-iceberg verify shop.json --source ...",
    ]
    print_quarantine([lost, other], config="shop.json")
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "silver keeps the last good version of these keys, and what a repair wrote where a change came after one. Once the cause is "
        "corrected:",
        "next: dms-iceberg quarantine replay shop.json",
    ]


def test_a_comparison_shows_columns_of_one_side_and_what_a_repair_does(capsys: pytest.CaptureFixture[str]) -> None:
    partly = TableVerdict(
        table="public.t", target="silver.t", rows_source=2, rows_silver=2, one_sided=["ssn (at the source, not in silver)"]
    )
    counts = {"missing": 0, "surplus": 1, "collided": 0, "different": 2}
    dry = TableVerdict(table="public.u", target="silver.u", differing=counts, to_repair={"surplus": 1, "different": 2})
    done = TableVerdict(table="public.v", target="silver.v", differing=counts, to_repair={"surplus": 1, "different": 2}, repaired=3)
    print_verdict(Verdict({one.table: one for one in (partly, dry, done)}, 1.0))
    shown = capsys.readouterr().out
    assert [line.split()[-3] for line in shown.splitlines()[1:4]] == ["partly", "NO", "NO"]
    assert "public.t: columns that one side lacks: ssn (at the source, not in silver)" in shown
    assert "public.u: a repair would delete 1 row, replace 2 rows; nothing was written" in shown
    assert "public.v: 3 repairing changes written to bronze" in shown
