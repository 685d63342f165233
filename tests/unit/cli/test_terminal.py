"""What a person sees: every number, and names as they are."""

import pytest

from dms_iceberg.cli.terminal import print_maintenance, print_plan, print_report, print_status
from dms_iceberg.gold.preview import ModelPreview
from dms_iceberg.gold.status import ModelStatus
from dms_iceberg.maintenance.report import MaintenanceReport, MaintenanceRun, Outcome, StepReport
from dms_iceberg.runs.preview import TablePreview
from dms_iceberg.runs.report import BatchReport, RunReport, TableReport
from dms_iceberg.runs.status import TableStatus

ODD = "public.[red]:key:[/]"


def batch(**numbers: int) -> BatchReport:
    books = {"rows_read": 1234, "applied": 1000, "superseded": 200, "stale": 30, "filtered": 3, "quarantined": 1} | numbers
    return BatchReport(files=2, bytes=10, snapshot_id=1, frontier="20260301100130000", seconds=0.5, lag_seconds=61.25, **books)


def test_report_shows_books_warnings_and_errors(capsys: pytest.CaptureFixture[str]) -> None:
    good = TableReport(table="public.t", target="silver.t", batches=[batch(), batch()], ddl=["ALTER TABLE t ADD COLUMN `[b]` int"])
    bad = TableReport(table="public.u", target="silver.u", error="public.u: [bold] is no column", warnings=["public.u: look [here]"])
    print_report(RunReport("r", {"public.t": good, "public.u": bad}, 1.0))
    table, rest = capsys.readouterr().out.split("public.u", 1)
    numbers = ["2,468", "2,000", "400", "60", "6", "2", "4", "61.2", "0.0"]
    assert table.splitlines()[-1].split() == ["public.t", *numbers]
    assert "schema: ALTER TABLE t ADD COLUMN `[b]` int" in rest
    assert "warning: public.u: look [here]" in rest
    assert "failed: public.u: [bold] is no column" in rest


def test_markup_in_names_is_shown_not_obeyed(capsys: pytest.CaptureFixture[str]) -> None:
    print_report(RunReport("r", {ODD: TableReport(table=ODD, target="t")}, 1.0))
    print_plan([TablePreview(table=ODD, rebuilt_files=2, sql=[f"CREATE TABLE `{ODD}`"], warnings=[f"{ODD}: odd"], error=f"{ODD}: odd")])
    print_status([TableStatus(table=ODD, target=ODD, last_error=f"{ODD}: odd", warnings=[f"{ODD}: old"])])
    shown = capsys.readouterr().out
    assert shown.count(ODD) == 1 + 5 + 5
    assert "[/]" in shown
    assert f"{ODD}: 2 merged files are read again" in shown


def test_plan_and_status_show_what_is_not_known_as_such(capsys: pytest.CaptureFixture[str]) -> None:
    print_plan([TablePreview(table="a", files=1234, bytes=5, rows=None, batches=2), TablePreview(table="b", rows=1000)])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split() for line in lines[1:3]] == [["a", "1,234", "5", "?", "2"], ["b", "0", "0", "1,000", "0"]]
    print_plan([TablePreview(table=ODD, steps=["rename columns", "merge a batch", "merge a batch"])])
    assert capsys.readouterr().out.splitlines()[-1] == f"{ODD} would rename columns; merge a batch (2 times)"
    print_status([TableStatus(table="a", target="t", epoch=2, frontier="20260301", rows=1000, lag_seconds=1.0, snapshots=3)])
    assert capsys.readouterr().out.splitlines()[1].split() == ["a", "t", "2", "20260301", "1,000", "1.0", "3", "0", "0", "0"]


def test_maintenance_shows_what_became_of_each_step(capsys: pytest.CaptureFixture[str]) -> None:
    print_status([TableStatus(table="a", target="t", maintenance={"delete_files": "9 delete files for 2 data files"})])
    assert capsys.readouterr().out.splitlines()[-1] == "a: needs delete files: 9 delete files for 2 data files"
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
    told = capsys.readouterr().out.splitlines()
    assert told[-3:] == [
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
    print_status([], models)
    told = capsys.readouterr().out
    for text in ("1,000", "2026-03-01T10:00", "silver.t", "silver.u", "gold.c: no such column", "gold.c: needs compact: 9 files are small"):
        assert text in told
