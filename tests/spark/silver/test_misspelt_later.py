"""Columns that a changed document names: misspelt ones stop a table that has rows, those that the source had do not."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from dms_iceberg.context import RunRequest
from dms_iceberg.runs.preview import TablePreview, preview
from dms_iceberg.runs.report import RunReport
from dms_iceberg.runs.run import run
from support.lake import Lake
from support.text_files import cdc_name

T1, T2, T3 = "20260301100100", "20260301100200", "20260301100300"
ID, AMOUNT, NOTE = ("id", pa.int64()), ("amt", pa.int32()), ("note", pa.string())
PAID = {"columns": [{"name": "amount", "from": "amt"}]}


def paid(source: str, **more: Any) -> dict[str, Any]:
    return {"columns": [{"name": "amount", "from": source}], **more}


MISSPELT = {
    "copied": paid("amtt"),
    "typed": {"columns": [{"name": "amount", "from": "amtt", "type": "int"}]},
    "computed": {"columns": [*PAID["columns"], {"name": "twice", "expr": "2 * amtt", "type": "int"}]},
    "ruled": paid("amt", rules=[{"name": "positive", "expr": "amtt >= 0"}]),
    "filtered": paid("amt", filter="amtt >= 0"),
    "told": paid("amt", publish=["nothing"]),
    "filled_later": {"columns": [{"name": "amount", "from": "amtt", "type": "int", "backfill": 0}]},
    **{mode: paid("amtt", mode=mode) for mode in ("soft_delete", "history", "append")},
}
BEFORE = {mode: {**PAID, "mode": mode} for mode in ("soft_delete", "history", "append")}
HAD = {
    "dropped": {"columns": [*PAID["columns"], {"name": "remark", "from": "note"}]},
    "comes": {"columns": [*PAID["columns"], {"name": "remark", "from": "later"}]},
    "renamed": {"columns": [{"name": "amount", "from": "sum", "renamed_from": "amt"}]},
    "filled": {"columns": [*PAID["columns"], {"name": "later", "type": "int", "backfill": 7}]},
}
TABLES = {**MISSPELT, **HAD}


@attrs.frozen
class Changed:
    lake: Lake
    states: dict[str, str]
    plans: dict[str, TablePreview]
    report: RunReport


@pytest.fixture(scope="module")
def changed(spark: SparkSession, warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Changed]:
    lake = Lake(spark, warehouse, tmp_path_factory.mktemp("misspelt"))
    before = lake.config({f"public.{name}": BEFORE.get(name, PAID) for name in TABLES})
    for name in TABLES:
        lake.load(f"public.{name}", [ID, AMOUNT, NOTE], [(1, 10, "x"), (2, 20, "y")])
        lake.changes(f"public.{name}", cdc_name(1), [ID, AMOUNT], [("I", T1, 61, 3, 30)])
    assert lake.run(before).errors == {}
    states = {name: lake.target(name).metadata_location() for name in TABLES}
    for name in TABLES:
        lake.changes(f"public.{name}", cdc_name(2), [ID, AMOUNT], [("U", T2, 61, 1, 11)])
    lake.changes("public.comes", cdc_name(3), [ID, AMOUNT, ("later", pa.string())], [("U", T3, 61, 2, 21, "z")])
    after = lake.config({f"public.{name}": entry for name, entry in TABLES.items()}, batch={"max_files": 1})
    plans = {plan.table: plan for plan in preview(spark, after)}
    yield Changed(lake, states, plans, lake.run(after))


@pytest.mark.long
@pytest.mark.parametrize("name", MISSPELT)
def test_a_column_that_no_file_ever_had_stops_an_existing_table(changed: Changed, name: str) -> None:
    plan, report = changed.plans[f"public.{name}"], changed.report.tables[f"public.{name}"]
    assert f'tables."public.{name}".' in (report.error or "")
    words = "neither the table nor any file has the column 'nothing'" if name == "told" else "no file has the column 'amtt'"
    assert words in (report.error or "")
    assert name == "told" or "Did you mean 'amt'?" in (report.error or "")
    assert plan.error == report.error
    assert changed.lake.target(name).metadata_location() == changed.states[name]
    assert changed.lake.rows(name, "id, amount") == [(1, 10), (2, 20), (3, 30)]


@pytest.mark.long
@pytest.mark.parametrize("name", HAD)
def test_a_column_that_the_source_had_or_gets_is_another_thing(changed: Changed, name: str) -> None:
    plan, report = changed.plans[f"public.{name}"], changed.report.tables[f"public.{name}"]
    assert report.error is None
    assert plan.warnings == report.warnings
    lacking = {"dropped": "note", "comes": "later"}
    told = [f"the new files lack the column {lacking[name]!r}"] if name in lacking else []
    assert ["the new files lack the column" in text for text in report.warnings if "lack" in text] == [True] * len(told)
    assert all(any(words in text for text in report.warnings) for words in told)


@pytest.mark.long
def test_their_rows(changed: Changed) -> None:
    rows = changed.lake.rows
    assert rows("dropped", "id, amount, note") == [(1, 11, None), (2, 20, "y"), (3, 30, None)]
    assert rows("comes", "id, amount, remark") == [(1, 11, None), (2, 21, "z"), (3, 30, None)]
    assert rows("renamed", "id, amount") == [(1, 11), (2, 20), (3, 30)]
    assert rows("filled", "id, later") == [(1, 7), (2, 7), (3, 7)]


def test_text_files_with_a_header(lake: Lake) -> None:
    bronze = {"format": "csv"}
    load, change = lake.path("public.t", "LOAD00000001.csv"), lake.path("public.t", cdc_name(1, "csv"))
    load.write_text("Op,dms_commit_ts,id,amt,dms_change_seq\nI,2026-03-01 10:00:00,1,10,\n")
    assert lake.run(lake.config({"public.t": paid("amt")}, bronze=bronze)).errors == {}
    change.write_text(f"Op,dms_commit_ts,id,amt,dms_change_seq\nU,2026-03-01 10:01:00,1,11,{T1}00{61:019d}\n")
    assert "no file has the column 'amtt'" in (lake.run_one(lake.config({"public.t": paid("amtt")}, bronze=bronze), fails=True).error or "")
    assert lake.rows("t", "id, amount") == [("1", "10")]


def test_a_misspelt_column_that_had_a_backfill_all_along(lake: Lake) -> None:
    def filled(source: str) -> dict[str, Any]:
        return {"columns": [{"name": "amount", "from": source, "type": "int", "backfill": 0}]}

    lake.load("public.t", [ID, AMOUNT], [(1, 10)])
    lake.run(lake.config({"public.t": filled("amt")}))
    lake.changes("public.t", cdc_name(1), [ID, AMOUNT], [("U", T1, 61, 1, 11)])
    (plan,) = preview(lake.spark, lake.config({"public.t": filled("amtt")}))
    report = lake.run_one(lake.config({"public.t": filled("amtt")}), fails=True)
    assert "no file has the column 'amtt'" in (report.error or "")
    assert plan.error == report.error
    assert lake.rows("t", "id, amount") == [(1, 10)]
    assert lake.run_one(lake.config({"public.t": filled("amt")})).warnings == []
    assert lake.rows("t", "id, amount") == [(1, 11)]


def json_lines(lake: Lake, name: str, **values: Any) -> None:
    members = {"Op": "I", "dms_commit_ts": "2026-03-01 10:00:00", **values}
    lake.path("public.t", name).write_text(json.dumps({"dms_change_seq": "", **members}) + "\n")


def test_json_lines_that_had_the_column_under_another_name(lake: Lake) -> None:
    bronze = {"format": "json"}
    json_lines(lake, "LOAD00000001.json", id=1, amt=10)
    lake.run(lake.config({"public.t": paid("amt")}, bronze=bronze))
    json_lines(lake, cdc_name(1, "json"), Op="U", id=1, amt=11, dms_change_seq=f"{T1}00{61:019d}")
    report = lake.run_one(lake.config({"public.t": paid("amtt")}, bronze=bronze), fails=True)
    assert "no file has the column 'amtt', so it would be NULL in every row. Did you mean 'amt'?" in (report.error or "")
    assert lake.rows("t", "id, amount") == [("1", "10")]


LINE = {"tenant": "acme", "amt": 10, "email": "a@example.org"}
TYPED_WRONG: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "filter": ({"filter": "tenant = 'acme'"}, {"filter": "tenent = 'acme'"}, "'tenant'"),
    "from": ({"columns": [{"name": "amt"}]}, {"columns": [{"name": "amt", "from": "amtt"}]}, "'amt'"),
    "mask": (
        {"columns": [{"name": "email", "mask": "redact"}]},
        {"columns": [{"name": "email", "mask": "redact", "from": "emial"}]},
        "'email'",
    ),
}


@pytest.mark.parametrize("case", TYPED_WRONG)
def test_json_lines_whose_column_silver_shows_under_its_own_name(lake: Lake, case: str) -> None:
    """The row left silver, or lost its value, with a warning."""
    right, wrong, meant = TYPED_WRONG[case]
    form = {"format": "json"}
    json_lines(lake, "LOAD00000001.json", id=1, **LINE)
    lake.run(lake.config({"public.t": right}, bronze=form))
    before = lake.rows("t", "id, tenant, amt, email")
    json_lines(lake, cdc_name(1, "json"), Op="U", id=1, dms_change_seq=f"{T1}00{61:019d}", **LINE)
    report = lake.run_one(lake.config({"public.t": wrong}, bronze=form), fails=True)
    assert f"Did you mean {meant}?" in (report.error or "")
    assert lake.rows("t", "id, tenant, amt, email") == before


def test_json_lines_of_a_new_table_with_a_misspelt_mask(lake: Lake) -> None:
    json_lines(lake, "LOAD00000001.json", id=1, **LINE)
    entry = {"columns": [{"name": "emial", "mask": "redact"}]}
    report = lake.run_one(lake.config({"public.t": entry}, bronze={"format": "json"}), fails=True)
    assert "Did you mean 'email'?" in (report.error or "")


def test_json_lines_that_had_the_column_before_a_reload(lake: Lake) -> None:
    """What the load has had is known when it becomes the table's content."""
    form = {"format": "json"}
    for epoch in (1, 2):
        lake.enter(epoch)
        json_lines(lake, "LOAD00000001.json", id=1, amt=10)
        word = RunRequest(load_complete=frozenset({"public.t"}))
        assert run(lake.spark, lake.config({"public.t": paid("amt")}, bronze=form), request=word).errors == {}
    json_lines(lake, cdc_name(1, "json"), Op="U", id=1, amt=11, dms_change_seq=f"{T1}00{61:019d}")
    report = lake.run_one(lake.config({"public.t": paid("amtt")}, bronze=form), fails=True)
    assert "no file has the column 'amtt'" in (report.error or "")
    assert lake.rows("t", "id, amount") == [("1", "10")]


def test_a_backfill_under_a_misspelt_source_column(lake: Lake) -> None:
    columns = [ID, ("active", pa.bool_())]
    lake.load("public.t", columns, [(1, True), (2, False)])
    entry = {"columns": [{"name": "active", "from": "active0", "type": "boolean", "backfill": True}], "filter": "active"}
    report = lake.run_one(lake.config({"public.t": entry}), fails=True)
    assert "'active0', so it would be its backfill or NULL in every row. Did you mean 'active'?" in (report.error or "")
    given = lake.config({"public.t": {"columns": [{"name": "is_on", "from": "active0", "type": "boolean", "backfill": True}]}})
    (warning,) = lake.run_one(given).warnings
    assert "no file has had the column 'active0' yet, so rows have the backfill. Did you mean 'active'?" in warning


def test_json_lines_with_a_backfill_under_a_misspelt_source_column(lake: Lake) -> None:
    json_lines(lake, "LOAD00000001.json", id=1, active=True)
    entry = {"columns": [{"name": "active", "from": "active0", "type": "boolean", "backfill": True}]}
    (warning,) = lake.run_one(lake.config({"public.t": entry}, bronze={"format": "json"})).warnings
    assert "no file has had the column 'active0' yet, so rows have the backfill. Did you mean 'active'?" in warning


def test_json_lines_that_have_not_had_a_column_yet(lake: Lake) -> None:
    bronze = {"format": "json"}
    config = lake.config({"public.t": {"columns": [{"name": "amount", "from": "amt"}, {"name": "amt2"}]}}, bronze=bronze)
    json_lines(lake, "LOAD00000001.json", id=1, amt=10)
    lake.run(config)
    json_lines(lake, cdc_name(1, "json"), Op="U", id=1, amt=11, dms_change_seq=f"{T1}00{61:019d}")
    (warning,) = lake.run_one(config).warnings
    assert "no line so far has had the column 'amt2'" in warning
    assert lake.rows("t", "id, amount") == [("1", "11")]


def test_a_column_that_somebody_added_is_told_of(lake: Lake) -> None:
    lake.load("public.t", [ID, AMOUNT], [(1, 10), (2, 20)])
    config = lake.config({"public.t": {}})
    assert lake.run_one(config).warnings == []
    lake.spark.sql(f"ALTER TABLE lake.{lake.namespace}.t ADD COLUMN remark string")
    lake.spark.sql(f"UPDATE lake.{lake.namespace}.t SET remark = 'mine'")
    lake.changes("public.t", cdc_name(1), [ID, AMOUNT, NOTE], [("U", T1, 61, 1, 11, "n")])
    (plan,) = preview(lake.spark, config)
    report = lake.run_one(config)
    assert plan.warnings == report.warnings
    (warning,) = report.warnings
    assert "a column 'remark' that no file and no configuration ever had" in warning
    assert lake.rows("t", "id, amt, remark, note") == [(1, 11, None, "n"), (2, 20, "mine", None)]
