"""What silver keeps from its readers stays so when the document changes: one run before, a plan and a run after, for all cases."""

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from dms_iceberg.runs.preview import TablePreview, preview
from dms_iceberg.runs.report import RunReport
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
