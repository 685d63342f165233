"""JSON lines of different structure in one batch: each row is judged by the columns that it has values in."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from dms_iceberg.config.model import Config
from dms_iceberg.context import RunRequest
from dms_iceberg.runs.preview import preview
from dms_iceberg.runs.replay import replay
from dms_iceberg.runs.run import run
from support.lake import COMMIT, Lake, sequence, timestamp
from support.text_files import cdc_name, write_bytes

JSON = {"format": "json"}
T0, T1, T2 = "20260301100000", "20260301100100", "20260301100200"
MAIL = {"name": "mail", "renamed_from": "email", "mask": "redact"}
TABLES: dict[str, dict[str, Any]] = {
    "public.masked": {"columns": [MAIL]},
    "public.code": {"key": ["code"], "columns": [{"name": "code", "renamed_from": "id"}]},
    "public.kept": {"columns": [{"name": "email", "from": "mail", "renamed_from": "email"}], "drop": ["other"]},
    "public.ruled": {"columns": [MAIL], "rules": [{"name": "positive", "expr": "CAST(n AS int) > 0", "on_fail": "quarantine"}]},
    "public.both": {"columns": [MAIL], "new_columns": "add"},
    "public.held": {"schema_changes": "quarantine"},
    "public.imaged": {"mode": "history", "columns": [MAIL]},
}


def load(lake: Lake, table: str, *rows: dict[str, Any]) -> None:
    lines = (json.dumps({"Op": "I", "dms_commit_ts": COMMIT, **row}) for row in rows)
    write_bytes(lake, table, "LOAD00000001.json", "\n".join(lines).encode())


def changes(lake: Lake, table: str, minute: int, *rows: tuple[str, str, int, dict[str, Any]]) -> None:
    """Write a change file; a row is (op, clock digits, counter, members)."""
    lines = (
        json.dumps({"Op": op, "dms_commit_ts": timestamp(clock), "dms_change_seq": sequence(clock, counter), **row})
        for op, clock, counter, row in rows
    )
    write_bytes(lake, table, cdc_name(minute, "json"), "\n".join(lines).encode())


@pytest.fixture(scope="module")
def lake(spark: SparkSession, warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    lake = Lake(spark, warehouse, tmp_path_factory.mktemp("structures"))
    for table in ("public.masked", "public.kept", "public.both"):
        load(lake, table, {"id": 1, "email": "ada@x.org"})
        changes(lake, table, 1, ("U", T1, 61, {"id": 1, "email": "CLEAR@x.org"}), ("I", T1, 65, {"id": 3, "email": None}))
        changes(lake, table, 2, ("I", T2, 69, {"id": 2, "mail": "bob@x.org"}), ("U", T2, 73, {"id": 3, "mail": "eve@x.org"}))
    # Both names have a value: the source uses the old one again.
    changes(lake, "public.both", 3, ("I", T2, 77, {"id": 4, "mail": "4@x.org", "email": "four@x.org"}), ("I", T2, 81, {"id": 5, "v": 1}))
    load(lake, "public.code", {"id": 1, "v": "a"}, {"id": 2, "v": "b"})
    changes(lake, "public.code", 1, ("U", T1, 61, {"id": 11, "v": "A", "BI_id": 1}), ("I", T1, 65, {"id": 3, "v": "c"}))
    changes(lake, "public.code", 2, ("U", T2, 69, {"code": 22, "v": "B", "BI_code": 2}), ("D", T2, 73, {"code": 3}))
    load(lake, "public.ruled", {"id": 1, "email": "ada@x.org", "n": 1})
    changes(lake, "public.ruled", 1, ("I", T1, 61, {"id": 2, "email": "CLEAR@x.org", "n": -2}), ("I", T1, 65, {"id": 3, "n": -3}))
    changes(lake, "public.ruled", 2, ("I", T2, 69, {"id": 4, "mail": "bob@x.org", "n": -4}))
    load(lake, "public.held", {"id": 1, "v": "a"}, {"id": 2, "v": "b"})
    load(lake, "public.imaged", {"id": 1, "email": "a"})
    changes(lake, "public.imaged", 1, ("U", T1, 61, {"id": 1, "email": "b", "BI_id": 1, "BI_email": "a"}))
    changes(lake, "public.imaged", 2, ("U", T2, 69, {"id": 1, "mail": "c", "BI_id": 1, "BI_mail": "b"}))
    assert lake.run(lake.config(TABLES, bronze=JSON)).errors == {}
    yield lake


def config(lake: Lake, table: str, **other: Any) -> Config:
    return lake.config({table: {**TABLES[table], **other}}, bronze=JSON)


def test_files_from_before_and_after_a_rename_share_a_batch(lake: Lake) -> None:
    masked = [("1", "***"), ("2", "***"), ("3", "***")]
    assert lake.rows("masked", "id, mail") == masked
    assert lake.rows("kept", "id, email") == [("1", "CLEAR@x.org"), ("2", "bob@x.org"), ("3", "eve@x.org")]
    for table, columns in (("masked", {"id", "mail"}), ("kept", {"id", "email"})):
        assert {name for name in lake.target(table).column_types() if not name.startswith("_cdc_")} == columns
    one = config(lake, "public.masked")
    # A late file, and a batch with only the old name.
    changes(lake, "public.masked", 0, ("I", T0, 57, {"id": 6, "email": "CLEAR@x.org"}))
    lake.run_one(one)
    assert lake.rows("masked", "id, mail") == [*masked, ("6", "***")]
    report = run(lake.spark, one, request=RunRequest(rebuild=frozenset({"public.masked"})))
    assert report.errors == {}
    assert lake.rows("masked", "id, mail") == [*masked, ("6", "***")]
    assert "email" not in lake.target("masked").column_types()


def test_a_renamed_key_column_and_its_before_image(lake: Lake) -> None:
    assert lake.rows("code", "code, v") == [("11", "A"), ("22", "B")]


def test_before_images_of_a_renamed_column_reach_no_reader(lake: Lake) -> None:
    assert lake.rows("imaged", "id, mail, _is_current", "_valid_from") == [("1", "***", False), ("1", "***", False), ("1", "***", True)]
    assert not {"email", "bi_email", "bi_mail"} & {name.lower() for name in lake.target("imaged").column_types()}


def test_a_replay_reads_the_records_by_their_present_names(lake: Lake) -> None:
    assert lake.rows("ruled", "id, mail") == [("1", "***")]
    assert lake.quarantine("ruled") == [("rule", "positive")] * 3
    (report,) = replay(lake.spark, config(lake, "public.ruled", rules=[])).tables.values()
    assert (report.error, report.applied) == (None, 3)
    assert lake.rows("ruled", "id, mail, n") == [("1", "***", "1"), ("2", "***", "-2"), ("3", None, "-3"), ("4", "***", "-4")]
    assert "email" not in lake.target("ruled").column_types()


def test_a_row_with_values_under_both_names_is_quarantined_until_the_configuration_decides(lake: Lake) -> None:
    rows = [("1", "***", None), ("2", "***", None), ("3", "***", None), ("5", None, "1")]
    assert lake.rows("both", "id, mail, v") == rows
    assert "email" not in lake.target("both").column_types()
    ((reason, detail, mail, email),) = lake.quarantine(
        "both", "reason, detail, get_json_object(record, '$.mail'), get_json_object(record, '$.email')"
    )
    assert (reason, mail, email) == ("ambiguous_rename", "4@x.org", "four@x.org")
    assert detail.startswith("the row has values of mail and of email, its former name (renamed_from)") and "@" not in detail
    (report,) = replay(lake.spark, config(lake, "public.both")).tables.values()
    assert (report.error, report.applied, report.quarantined) == (None, 0, 1)
    decided = [{"name": "mail", "mask": "redact"}, {"name": "email"}]
    (report,) = replay(lake.spark, config(lake, "public.both", columns=decided)).tables.values()
    assert '"publish": ["email"]' in (report.error or "")
    assert "email" not in lake.target("both").column_types()
    (report,) = replay(lake.spark, config(lake, "public.both", columns=decided, publish=["email"])).tables.values()
    assert (report.error, report.applied) == (None, 1)
    assert lake.rows("both", "id, mail, email")[3] == ("4", "***", "four@x.org")


def test_policy_quarantine_refuses_only_rows_with_a_value_in_a_new_column(lake: Lake) -> None:
    table = "public.held"
    changes(lake, table, 1, ("U", T1, 61, {"id": 1, "v": "A"}), ("D", T1, 65, {"id": 2}))
    new = {"extra": 5}
    changes(
        lake,
        table,
        2,
        ("I", T2, 69, {"id": 3, "v": "c", **new}),
        ("I", T2, 73, {"id": 4, "v": "d", "extra": None, "more": "x"}),
        ("I", T2, 77, {"id": 5, "v": "e", **new, "more": "y"}),
        ("I", T2, 81, {"id": 6, "v": "f", "extra": None}),
        ("U", T2, 85, {"id": 7, "v": "g", **new, "BI_id": 1}),
    )
    one = config(lake, table)
    (plan,) = preview(lake.spark, one)
    assert any("column extra (string) is new; column more (string) is new" in warning for warning in plan.warnings)
    report = lake.run_one(one)
    assert (report.rows_read, report.quarantined) == (7, 4)
    assert lake.rows("held", "id, v") == [("1", "A"), ("6", "f")]
    extra, more = "column extra (string) is new", "column more (string) is new"
    assert lake.quarantine("held") == [("schema_change", text) for text in (extra, more, f"{extra}; {more}", extra)]
    (replayed,) = replay(lake.spark, config(lake, table, schema_changes="evolve")).tables.values()
    assert (replayed.error, replayed.applied) == (None, 4)
    assert lake.rows("held", "id, v, extra, more") == [
        ("3", "c", "5", None),
        ("4", "d", None, "x"),
        ("5", "e", "5", "y"),
        ("6", "f", None, None),
        ("7", "g", "5", None),
    ]
