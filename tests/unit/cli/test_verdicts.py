"""The last lines of `status`, `maintain` and `watch`: the result, what comes next, in 80 columns."""

from typing import Any

import pytest

from dms_iceberg.cli.stopping import Committed
from dms_iceberg.cli.terminal import print_maintenance, print_status
from dms_iceberg.cli.verdicts import maintenance_verdict, status_verdict, watch_verdict
from dms_iceberg.gold.status import ModelStatus
from dms_iceberg.maintenance.report import MaintenanceReport, MaintenanceRun, Outcome, StepReport
from dms_iceberg.runs.report import BatchReport
from dms_iceberg.runs.status import TableStatus

DOCUMENT = "shop.json"


def table(name: str, **facts: Any) -> TableStatus:
    return TableStatus(table=name, target=name, **({"exists": True} | facts))


def told(*tables: TableStatus, models: tuple[ModelStatus, ...] = ()) -> list[str]:
    lines = list(status_verdict(tables, models, DOCUMENT))
    assert all(len(line) <= 80 for line in lines), lines
    return lines


GOOD = [table(name) for name in "abc"]


@pytest.mark.parametrize(
    ("facts", "line"),
    [
        ({}, "all 4 tables are up to date"),
        ({"new_files": 2}, "1 of 4 tables has files that wait: dms-iceberg run shop.json"),
        ({"last_error": "t: odd"}, "1 of 4 tables has an error (above). Once corrected: dms-iceberg run shop.json"),
        ({"problem": "t: odd", "new_files": 2}, "1 of 4 tables has an error (above). Once corrected: dms-iceberg run shop.json"),
        ({"new_files": None}, "1 of 4 tables has no file so far, or none could be looked for (above)"),
        ({"building": ["2"]}, "1 table is still being built beside the content"),
    ],
)
def test_status_ends_with_what_it_comes_to(facts: dict[str, Any], line: str) -> None:
    assert told(*GOOD, table("t", **facts)) == [line]


def test_rows_in_quarantine_and_maintenance_are_matters_of_their_own() -> None:
    rejected = table("t", quarantined=1234, quarantined_keys=7, maintenance={"compact": "many"})
    assert told(rejected) == [
        "the table is up to date",
        "1,234 rows of 1 table are in quarantine: dms-iceberg quarantine list shop.json",
        "1 table needs maintenance: dms-iceberg maintain shop.json",
    ]
    assert told(table("t", new_files=1), table("u", new_files=1, quarantined=1)) == [
        "2 of 2 tables have files that wait: dms-iceberg run shop.json",
        "1 row of 1 table is in quarantine: dms-iceberg quarantine list shop.json",
    ]


def test_models_are_counted_with_the_tables() -> None:
    assert told(*GOOD, models=(ModelStatus(model="gold.a"),)) == ["3 tables and 1 gold model are up to date"]
    behind = ModelStatus(model="gold.b", behind=["silver.t", "clock"]), ModelStatus(model="gold.c", behind=["clock"])
    assert told(*GOOD, models=behind) == [
        "1 gold model is out of date: dms-iceberg run shop.json",
        "1 gold model reads the clock, as of the last refresh: dms-iceberg run shop.json",
    ]
    assert told(*GOOD, models=(ModelStatus(model="gold.a", behind=["silver.t"]),)) == [
        "1 gold model is out of date: dms-iceberg run shop.json"
    ]
    assert told(*GOOD, models=(ModelStatus(model="gold.a", error="gold.a: odd"),)) == [
        "1 of 4 tables has an error (above). Once corrected: dms-iceberg run shop.json"
    ]


def maintained(*outcomes: Outcome, error: str | None = None) -> list[str]:
    steps = [StepReport(name="t", step="compact", reason="many", outcome=one) for one in outcomes]
    report = MaintenanceReport(table="a", target="t", steps=steps, error=error)
    lines = list(maintenance_verdict(MaintenanceRun({"a": report, "b": MaintenanceReport(table="b", target="u")}, {}, 65.0), DOCUMENT))
    assert all(len(line) <= 80 for line in lines), lines
    return lines


def test_maintain_ends_with_what_it_did_and_how_to_go_on() -> None:
    assert maintained() == ["no table needs anything"]
    assert maintained(Outcome.DONE, Outcome.DONE) == ["maintained 1 of 2 tables: 2 steps in 1 min 5 s"]
    assert maintained(Outcome.GAVE_WAY) == ["1 step gave way to other commits; again: dms-iceberg maintain shop.json"]
    assert maintained(Outcome.DONE, Outcome.NO_TIME)[1:] == ["the time was over before 1 step; go on: dms-iceberg maintain shop.json"]
    assert maintained(error="a: odd") == ["failed: a. Once corrected: dms-iceberg maintain shop.json"]


def watched(*batches: int, failed: tuple[str, ...] = (), **rejected: int | None) -> list[str]:
    committed = Committed()
    for rows in batches:
        committed.merged("t", BatchReport(files=2, bytes=1, snapshot_id=1, frontier="", seconds=1.0, rows_read=rows))
    lines = list(watch_verdict(committed, 65.0, failed, rejected, DOCUMENT))
    assert all(len(line) <= 80 for line in lines), lines
    return lines


def test_a_watch_ends_with_what_it_merged_and_what_is_open() -> None:
    assert watched() == ["merged no file in 1 min 5 s"]
    assert watched(600, 17, t=0) == ["merged 4 files with 617 rows into 1 table in 1 min 5 s"]
    assert watched(1, failed=("t",))[1:] == ["failed: t; the log has the error. Once corrected: dms-iceberg watch shop.json"]
    assert watched(1, t=3, u=None)[1:] == ["3 rows are in quarantine: dms-iceberg quarantine list shop.json"]
    assert watched(1, t=0, u=None)[1:] == ["rows may be open in quarantine: dms-iceberg quarantine list shop.json"]


def test_the_verdict_is_the_last_that_is_printed_and_quotes_the_document(capsys: pytest.CaptureFixture[str]) -> None:
    print_status([table("t", new_files=1)], config="my shop.json")
    assert capsys.readouterr().out.splitlines()[-1] == "1 of 1 table has files that wait: dms-iceberg run 'my shop.json'"
    print_maintenance(MaintenanceRun({"a": MaintenanceReport(table="a", target="t", error="a: odd")}, {}, 1.0), "my shop.json")
    assert capsys.readouterr().out.splitlines() == ["failed: a: odd", "failed: a. Once corrected: dms-iceberg maintain 'my shop.json'"]


def test_what_is_for_people_is_not_in_the_document() -> None:
    assert "new_files" not in table("t", new_files=2).to_document()
