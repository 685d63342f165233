"""What silver keeps from its readers stays so when the document changes: one run before, a plan and a run after, for all cases.

And in every other way to write it: rebuilds, reloads, replays, idle runs, tables of an earlier version.
"""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from dms_iceberg.context import RunRequest
from dms_iceberg.runs.preview import TablePreview, preview
from dms_iceberg.runs.replay import replay
from dms_iceberg.runs.report import RunReport, TableReport
from dms_iceberg.runs.run import run
from dms_iceberg.runs.status import table_statuses
from dms_iceberg.silver.memory.withheld import WITHHELD_PROPERTY
from support.lake import Lake
from support.text_files import cdc_name

T1 = "20260301100100"
PERSON = [("id", pa.int64()), ("email", pa.string()), ("ssn", pa.string())]
SALTS = {"SALT_A": "pepper", "SALT_B": "other", "SALT_C": "pepper"}
HASHED = {"name": "email", "mask": "sha256", "mask_salt": "env:SALT_A"}
CONTACT = {"name": "contact", "from": "email", "mask": "redact"}


@attrs.frozen
class Refused:
    """A configuration and its change, which is refused in these words (``silver`` stands for the namespace)."""

    before: dict[str, Any]
    after: dict[str, Any]
    words: str


@attrs.frozen
class Allowed:
    """A configuration and its change, and what silver shows of ``columns`` afterwards."""

    before: dict[str, Any]
    after: dict[str, Any]
    columns: str
    rows: list[tuple[Any, ...]]


def masked(**changes: Any) -> dict[str, Any]:
    return {"columns": [{**HASHED, **changes}]}


CLEAR = "was masked and would now receive clear text."
REFUSED = {
    "misspelt": Refused(
        masked(),
        masked(name="emial"),
        f"silver.misspelt.email {CLEAR} Did you mean 'email'? tables.\"public.misspelt\".columns[0].name says 'emial'",
    ),
    "unmasked": Refused(
        masked(), {"columns": [{"name": "email", "type": "string"}]}, f"silver.unmasked.email {CLEAR} The mask was 'sha256'."
    ),
    "removed": Refused(masked(), {}, f"silver.removed.email {CLEAR}"),
    "soft": Refused({**masked(), "mode": "soft_delete"}, {**masked(name="emial"), "mode": "soft_delete"}, f"silver.soft.email {CLEAR}"),
    "versions": Refused({**masked(), "mode": "history"}, {**masked(name="emial"), "mode": "history"}, f"silver.versions.email {CLEAR}"),
    "log": Refused({**masked(), "mode": "append"}, {**masked(name="emial"), "mode": "append"}, f"silver.log.email {CLEAR}"),
    "in_key": Refused({**masked(), "key": ["email"]}, {"key": ["email"]}, f"silver.in_key.email {CLEAR}"),
    "weaker": Refused(
        masked(),
        {"columns": [{"name": "email", "mask": "partial"}]},
        "silver.weaker.email was masked with 'sha256' and would now be masked with 'partial'",
    ),
    "weakest": Refused(
        {"columns": [{"name": "email", "mask": "redact"}]},
        masked(),
        "silver.weakest.email was masked with 'redact' and would now be masked with 'sha256'",
    ),
    "resalted": Refused(
        masked(), masked(mask_salt="env:SALT_B"), "silver.resalted.email was masked with another salt (it was env:SALT_A and is env:SALT_B)"
    ),
    "renamed": Refused(masked(), {"columns": [{"name": "mail", "renamed_from": "email"}]}, f"silver.renamed.mail {CLEAR}"),
    "beside_a_rename": Refused(
        masked(),
        {"columns": [{**HASHED, "name": "emial"}, {"name": "number", "renamed_from": "ssn"}]},
        f"silver.beside_a_rename.email {CLEAR} Did you mean 'email'?",
    ),
    "copied": Refused({"columns": [CONTACT]}, {}, f"silver.copied.email {CLEAR} The mask was 'redact'."),
    "copied_too": Refused(
        {"columns": [CONTACT]}, {"columns": [CONTACT, {"name": "mail", "from": "email"}]}, f"silver.copied_too.mail {CLEAR}"
    ),
    "expression": Refused(
        {"columns": [{"name": "email", "expr": "lower(email)", "mask": "redact"}]},
        {"columns": [{"name": "emali", "expr": "lower(email)", "mask": "redact"}]},
        f"silver.expression.email {CLEAR} Did you mean 'email'?",
    ),
    "left_out": Refused(
        {"drop": ["ssn"]},
        {"drop": ["snn"]},
        "silver.left_out.ssn: the source column 'ssn' was left out and would now be published. Did you mean 'ssn'? "
        "tables.\"public.left_out\".drop[0] says 'snn'",
    ),
    "undropped": Refused({"drop": ["ssn"]}, {}, "silver.undropped.ssn: the source column 'ssn' was left out and would now be published."),
    "all_kept": Refused(
        {"columns": [{"name": "email"}], "other_columns": "drop"},
        {"columns": [{"name": "email"}]},
        "silver.all_kept.ssn: the source column 'ssn' was left out",
    ),
    "unfiltered": Refused({"filter": "ssn <> 'x'"}, {}, "silver.unfiltered was filtered, and the configuration has no filter now"),
}
ALLOWED = {
    "stronger": Allowed(masked(), {"columns": [{"name": "email", "mask": "redact"}]}, "email", [("#a",), ("***",)]),
    "dropped": Allowed(masked(), {"drop": ["email"]}, "email", [("#a",), (None,)]),
    "moved_salt": Allowed(masked(), masked(mask_salt="env:SALT_C"), "email", [("#a",), ("#b",)]),
    "moved_type": Allowed(masked(), masked(type="string"), "email", [("#a",), ("#b",)]),
    "said": Allowed(masked(), {"publish": ["EMAIL"]}, "email", [("#a",), ("b",)]),
    "said_of_source": Allowed({"columns": [CONTACT]}, {"publish": ["email"]}, "email", [(None,), ("b",)]),
    "said_of_drop": Allowed({"drop": ["ssn"]}, {"publish": ["ssn"]}, "ssn", [(None,), ("2",)]),
    "said_of_filter": Allowed({"filter": "ssn <> '2'"}, {"publish": ["filter"]}, "ssn", [("1",), ("2",)]),
    "said_of_salt": Allowed(masked(), {**masked(mask_salt="env:SALT_B"), "publish": ["email"]}, "email", [("#a",), ("@b",)]),
    "declared": Allowed({"drop": ["ssn"]}, {"columns": [{"name": "ssn", "type": "string"}]}, "ssn", [(None,), ("2",)]),
    "changed_filter": Allowed({"filter": "ssn <> 'x'"}, {"filter": "ssn <> 'y'"}, "ssn", [("1",), ("2",)]),
    "renamed_masked": Allowed(masked(), masked(name="mail", renamed_from="email"), "mail", [("#a",), ("#b",)]),
}


def shown(text: str | None) -> str | None:
    """``#a`` is the hash of a with the first salt, ``@a`` with the second."""
    salts = {"#": SALTS["SALT_A"], "@": SALTS["SALT_B"]}
    return hashlib.sha256((salts[text[0]] + text[1:]).encode()).hexdigest() if text and text[0] in salts else text


@attrs.frozen
class Changed:
    lake: Lake
    states: dict[str, str]
    plans: dict[str, TablePreview]
    report: RunReport


@pytest.fixture(scope="module")
def changed(spark: SparkSession, warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Changed]:
    cases = {**REFUSED, **ALLOWED}
    with pytest.MonkeyPatch.context() as patch:
        for name, salt in SALTS.items():
            patch.setenv(name, salt)
        lake = Lake(spark, warehouse, tmp_path_factory.mktemp("published"))
        for name in cases:
            lake.load(f"public.{name}", PERSON, [(1, "a", "1")])
        assert lake.run(lake.config({f"public.{name}": case.before for name, case in cases.items()})).errors == {}
        states = {name: lake.target(name).metadata_location() for name in cases}
        for name, case in cases.items():
            key = case.before.get("key", ["id"])
            lake.changes(f"public.{name}", cdc_name(1), PERSON, [("I", T1, 61, 2, "b", "2")], key=key)
        after = lake.config({f"public.{name}": case.after for name, case in cases.items()})
        plans = {plan.table: plan for plan in preview(spark, after)}
        yield Changed(lake, states, plans, lake.run(after))


@pytest.mark.parametrize("name", REFUSED)
def test_what_was_kept_back_is_not_published_and_nothing_is_written(changed: Changed, name: str) -> None:
    plan, report = changed.plans[f"public.{name}"], changed.report.tables[f"public.{name}"]
    error = (report.error or "").replace(changed.lake.namespace, "silver")
    assert REFUSED[name].words in error
    assert 'say so there with "publish": ["' in error
    assert plan.error == report.error
    assert changed.lake.target(name).metadata_location() == changed.states[name]


@pytest.mark.parametrize("name", ALLOWED)
def test_what_is_meant_is_done(changed: Changed, name: str) -> None:
    plan, report = changed.plans[f"public.{name}"], changed.report.tables[f"public.{name}"]
    assert (plan.error, report.error) == (None, None)
    case = ALLOWED[name]
    assert changed.lake.rows(name, case.columns, "id") == [tuple(map(shown, row)) for row in case.rows]


def test_put_right_the_tables_go_on_where_they_were(changed: Changed, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, salt in SALTS.items():
        monkeypatch.setenv(name, salt)
    names = ("misspelt", "resalted", "renamed", "left_out")
    report = changed.lake.run(changed.lake.config({f"public.{name}": REFUSED[name].before for name in names}))
    assert report.errors == {}
    assert [table.warnings for table in report.tables.values()] == [[]] * len(names)
    for name in names[:3]:
        assert changed.lake.rows(name, "id, email") == [(1, shown("#a")), (2, shown("#b"))]
    assert "ssn" not in changed.lake.spark.table(f"lake.{changed.lake.namespace}.left_out").columns


def test_a_word_that_stays_publishes_nothing_more(changed: Changed, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, salt in SALTS.items():
        monkeypatch.setenv(name, salt)
    after = {name: ALLOWED[name].after for name in ("said", "said_of_filter", "moved_salt")}
    report = changed.lake.run(changed.lake.config({f"public.{name}": entry for name, entry in after.items()}))
    assert report.errors == {}
    # The salt is where it was not, and is the same: its rows are as ever.
    assert report.tables["public.moved_salt"].warnings == []
    assert ["another configuration of column email" in text for text in report.tables["public.said"].warnings] == [True]


OWN = {"name": "email", "mask": "sha256", "mask_salt": "env:OWN_SALT"}
MASKED: dict[str, Any] = {"columns": [OWN]}
MISSPELT: dict[str, Any] = {"columns": [{**OWN, "name": "emial"}]}
USUAL = {"name": "email", "mask": "sha256"}
MISSPELT_CLEAR = "t.email was masked and would now receive clear text. Did you mean 'email'?"


@pytest.fixture(autouse=True)
def _salt(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("OWN_SALT", "pepper")
    monkeypatch.setenv("DMS_ICEBERG_MASK_SALT", "paprika")
    yield


def hashed(text: str, salt: str = "pepper") -> str:
    return hashlib.sha256((salt + text).encode()).hexdigest()


def loaded(lake: Lake, entry: dict[str, Any], rows: list[tuple[Any, ...]] | None = None) -> None:
    lake.load("public.t", PERSON, rows or [(1, "a", "1")])
    assert lake.run(lake.config({"public.t": entry})).errors == {}


def write_change(lake: Lake, number: int = 1) -> None:
    lake.changes("public.t", cdc_name(number), PERSON, [("I", T1, 60 + number, 1 + number, "b", "2")])


def of(report: RunReport) -> TableReport:
    return report.tables["public.t"]


@pytest.mark.long
def test_a_rebuild_by_a_misspelt_document_publishes_nothing(lake: Lake) -> None:
    loaded(lake, MASKED)
    state, config = lake.target("t").metadata_location(), lake.config({"public.t": MISSPELT})
    word = RunRequest(rebuild=frozenset({"public.t"}))
    assert MISSPELT_CLEAR in (of(run(lake.spark, config, request=word)).error or "")
    (plan,) = preview(lake.spark, config, request=word)
    assert MISSPELT_CLEAR in (plan.error or "")
    assert lake.target("t").metadata_location() == state
    said = lake.config({"public.t": {"publish": ["email"]}})
    assert run(lake.spark, said, request=word).errors == {}
    assert lake.rows("t", "id, email") == [(1, "a")]
    # What is published is no secret any more, and a mask that comes back is one again.
    assert lake.run_one(lake.config({"public.t": {}})).warnings == []
    assert run(lake.spark, lake.config({"public.t": MASKED}), request=word).errors == {}
    assert lake.rows("t", "id, email") == [(1, hashed("a"))]
    assert MISSPELT_CLEAR in (lake.run_one(config, fails=True).error or "")


@pytest.mark.long
@pytest.mark.parametrize("mode", ["mirror", "soft_delete"])
def test_a_reload_by_a_misspelt_document_publishes_nothing(lake: Lake, mode: str) -> None:
    lake.enter(1)
    loaded(lake, {**MASKED, "mode": mode})
    lake.enter(2)
    lake.load("public.t", PERSON, [(1, "a", "1"), (2, "b", "2")])
    wrong = lake.config({"public.t": {**MISSPELT, "mode": mode}})
    assert MISSPELT_CLEAR in (lake.run_one(wrong, fails=True).error or "")
    assert lake.target("t").branches() == []
    right = lake.config({"public.t": {**MASKED, "mode": mode}})
    word = RunRequest(load_complete=frozenset({"public.t"}))
    assert run(lake.spark, right, request=word).errors == {}
    assert lake.rows("t", "id, email") == [(1, hashed("a")), (2, hashed("b"))]
    lake.changes("public.t", cdc_name(1), PERSON, [("I", T1, 61, 3, "c", "3")])
    assert MISSPELT_CLEAR in (lake.run_one(wrong, fails=True).error or "")


@pytest.mark.long
def test_a_replay_by_a_misspelt_document_publishes_nothing(lake: Lake) -> None:
    rule = {"rules": [{"name": "known", "expr": "ssn <> 'x'"}]}
    loaded(lake, {**MASKED, **rule}, [(1, "a", "1"), (2, "b", "x")])
    state = lake.target("t").metadata_location()
    assert MISSPELT_CLEAR in (of(replay(lake.spark, lake.config({"public.t": MISSPELT}))).error or "")
    unknown = lake.config({"public.t": {"columns": [OWN, {"name": "number", "from": "snn"}]}})
    assert "no file has the column 'snn'" in (of(replay(lake.spark, unknown)).error or "")
    assert lake.target("t").metadata_location() == state
    assert replay(lake.spark, lake.config({"public.t": MASKED})).errors == {}
    assert lake.rows("t", "id, email") == [(1, hashed("a")), (2, hashed("b"))]


def test_a_table_without_new_files_fails_and_status_says_so(lake: Lake) -> None:
    loaded(lake, {**MASKED, "filter": "ssn <> 'x'"})
    state = lake.target("t").metadata_location()
    for entry, words in ((MISSPELT, MISSPELT_CLEAR), (MASKED, "t was filtered, and the configuration has no filter now")):
        entry = entry if entry is MASKED else {**entry, "filter": "ssn <> 'x'"}
        config = lake.config({"public.t": entry})
        (status,) = table_statuses(lake.spark, config)
        (plan,) = preview(lake.spark, config)
        error = lake.run_one(config, fails=True).error
        assert words in (error or "")
        assert plan.error == status.problem == error
    assert lake.target("t").metadata_location() == state


def test_another_salt_in_the_same_place_is_noticed(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded(lake, MASKED)
    state, config = lake.target("t").metadata_location(), lake.config({"public.t": MASKED})
    monkeypatch.setenv("OWN_SALT", "paprika")
    write_change(lake)
    error = lake.run_one(config, fails=True).error or ""
    assert "t.email was masked with another salt (the content of env:OWN_SALT has changed)" in error
    assert lake.target("t").metadata_location() == state
    assert "paprika" not in str(lake.target("t").properties()) and "pepper" not in str(lake.target("t").properties())
    monkeypatch.setenv("OWN_SALT", "pepper")
    assert lake.run_one(config).warnings == []


def test_a_salt_that_is_not_set_stops_a_table_before_anything_else(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OWN_SALT")
    lake.load("public.t", PERSON, [(1, "a", "1")])
    lake.load("public.other", PERSON, [(1, "a", "1")])
    config = lake.config({"public.t": MASKED, "public.other": {}})
    report = lake.run(config)
    assert list(report.errors) == ["public.t"]
    assert 'tables."public.t".columns[0].mask_salt: the environment variable OWN_SALT is not set.' in (of(report).error or "")
    plan = {one.table: one for one in preview(lake.spark, config)}
    assert plan["public.t"].error == of(report).error


def test_a_table_whose_record_somebody_took_away_is_refused(lake: Lake) -> None:
    """Nothing else shows what it has masked; neither a batch nor a rebuild may guess."""
    loaded(lake, MASKED)
    lake.spark.sql(f"ALTER TABLE lake.{lake.namespace}.t UNSET TBLPROPERTIES ('{WITHHELD_PROPERTY}')")
    state = lake.target("t").metadata_location()
    write_change(lake)
    anew = RunRequest(rebuild=frozenset({"public.t"}))
    for entry in (MASKED, MISSPELT, {}):
        config = lake.config({"public.t": entry})
        for error in (lake.run_one(config, fails=True).error, *run(lake.spark, config, request=anew).errors.values()):
            assert f"the table property {WITHHELD_PROPERTY}" in (error or "")
            assert "metadata.json" in (error or "")
    assert lake.target("t").metadata_location() == state


@pytest.mark.parametrize("form", ["csv", "json"])
def test_text_formats(lake: Lake, form: str) -> None:
    bronze = {"format": form}
    lines = {
        "csv": (
            "Op,dms_commit_ts,id,email,dms_change_seq\nI,2026-03-01 10:00:00,1,a,\n",
            "Op,dms_commit_ts,id,email,dms_change_seq\nI,2026-03-01 10:01:00,2,b,{}\n",
        ),
        "json": (
            '{"Op":"I","dms_commit_ts":"2026-03-01 10:00:00","id":1,"email":"a","dms_change_seq":""}\n',
            '{{"Op":"I","dms_commit_ts":"2026-03-01 10:01:00","id":2,"email":"b","dms_change_seq":"{}"}}\n',
        ),
    }[form]
    lake.path("public.t", f"LOAD00000001.{form}").write_text(lines[0])
    assert lake.run(lake.config({"public.t": MASKED}, bronze=bronze)).errors == {}
    lake.path("public.t", cdc_name(1).replace("parquet", form)).write_text(lines[1].format("2026030110010000" + "0" * 17 + "61"))
    assert MISSPELT_CLEAR in (lake.run_one(lake.config({"public.t": MISSPELT}, bronze=bronze), fails=True).error or "")
    assert lake.run_one(lake.config({"public.t": MASKED}, bronze=bronze)).warnings == []
    assert lake.rows("t", "id, email") == [("1", hashed("a")), ("2", hashed("b"))]
