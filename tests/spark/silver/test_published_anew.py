"""What silver keeps back stays so in every other way to write it: rebuilds, reloads, replays, idle runs, tables of an earlier version."""

import hashlib
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest

from dms_iceberg.context import RunRequest
from dms_iceberg.replay.run import replay
from dms_iceberg.runs.preview import preview
from dms_iceberg.runs.report import RunReport, TableReport
from dms_iceberg.runs.run import run
from dms_iceberg.runs.status import table_statuses
from support.earlier_tables import as_made_before
from support.lake import Lake
from support.text_files import cdc_name

PERSON = [("id", pa.int64()), ("email", pa.string()), ("ssn", pa.string())]
T1, T2 = "20260301100100", "20260301100200"
HASHED = {"name": "email", "mask": "sha256", "mask_salt": "env:OWN_SALT"}
MASKED: dict[str, Any] = {"columns": [HASHED]}
MISSPELT: dict[str, Any] = {"columns": [{**HASHED, "name": "emial"}]}
USUAL = {"name": "email", "mask": "sha256"}
CLEAR = "t.email was masked and would now receive clear text. Did you mean 'email'?"


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


def changed(lake: Lake, number: int = 1) -> None:
    lake.changes("public.t", cdc_name(number), PERSON, [("I", T1, 60 + number, 1 + number, "b", "2")])


def of(report: RunReport) -> TableReport:
    return report.tables["public.t"]


def test_a_rebuild_by_a_misspelt_document_publishes_nothing(lake: Lake) -> None:
    loaded(lake, MASKED)
    state, config = lake.target("t").metadata_location(), lake.config({"public.t": MISSPELT})
    word = RunRequest(rebuild=frozenset({"public.t"}))
    assert CLEAR in (of(run(lake.spark, config, request=word)).error or "")
    (plan,) = preview(lake.spark, config, request=word)
    assert CLEAR in (plan.error or "")
    assert lake.target("t").metadata_location() == state
    said = lake.config({"public.t": {"publish": ["email"]}})
    assert run(lake.spark, said, request=word).errors == {}
    assert lake.rows("t", "id, email") == [(1, "a")]
    # What is published is no secret any more, and a mask that comes back is one again.
    assert lake.run_one(lake.config({"public.t": {}})).warnings == []
    assert run(lake.spark, lake.config({"public.t": MASKED}), request=word).errors == {}
    assert lake.rows("t", "id, email") == [(1, hashed("a"))]
    assert CLEAR in (lake.run_one(config, fails=True).error or "")


@pytest.mark.parametrize("mode", ["mirror", "soft_delete"])
def test_a_reload_by_a_misspelt_document_publishes_nothing(lake: Lake, mode: str) -> None:
    lake.enter(1)
    loaded(lake, {**MASKED, "mode": mode})
    lake.enter(2)
    lake.load("public.t", PERSON, [(1, "a", "1"), (2, "b", "2")])
    wrong = lake.config({"public.t": {**MISSPELT, "mode": mode}})
    assert CLEAR in (lake.run_one(wrong, fails=True).error or "")
    assert lake.target("t").branches() == []
    right = lake.config({"public.t": {**MASKED, "mode": mode}})
    word = RunRequest(load_complete=frozenset({"public.t"}))
    assert run(lake.spark, right, request=word).errors == {}
    assert lake.rows("t", "id, email") == [(1, hashed("a")), (2, hashed("b"))]
    lake.changes("public.t", cdc_name(1), PERSON, [("I", T1, 61, 3, "c", "3")])
    assert CLEAR in (lake.run_one(wrong, fails=True).error or "")


def test_a_replay_by_a_misspelt_document_publishes_nothing(lake: Lake) -> None:
    rule = {"rules": [{"name": "known", "expr": "ssn <> 'x'"}]}
    loaded(lake, {**MASKED, **rule}, [(1, "a", "1"), (2, "b", "x")])
    state = lake.target("t").metadata_location()
    assert CLEAR in (of(replay(lake.spark, lake.config({"public.t": MISSPELT}))).error or "")
    unknown = lake.config({"public.t": {"columns": [HASHED, {"name": "number", "from": "snn"}]}})
    assert "no file has the column 'snn'" in (of(replay(lake.spark, unknown)).error or "")
    assert lake.target("t").metadata_location() == state
    assert replay(lake.spark, lake.config({"public.t": MASKED})).errors == {}
    assert lake.rows("t", "id, email") == [(1, hashed("a")), (2, hashed("b"))]


def test_a_table_without_new_files_fails_and_status_says_so(lake: Lake) -> None:
    loaded(lake, {**MASKED, "filter": "ssn <> 'x'"})
    state = lake.target("t").metadata_location()
    for entry, words in ((MISSPELT, CLEAR), (MASKED, "t was filtered, and the configuration has no filter now")):
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
    changed(lake)
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


class TestEarlierVersion:
    """Tables that tell only digests of how they were made."""

    @pytest.mark.parametrize(
        ("before", "after", "words"),
        [
            (MASKED, MISSPELT, CLEAR),
            ({"columns": [USUAL]}, {}, "t.email was masked and would now receive clear text."),
            ({"columns": [{**USUAL, "type": "decimal(7,3)"}]}, {}, "t.email was masked and would now receive clear text."),
            (MASKED, {}, "with a declaration that is gone; it may have been masked and would now receive clear text."),
            ({"columns": [{"name": "email", "mask": "redact", "trim": True}]}, MASKED, "t.email was masked with 'redact'"),
            (MASKED, {"columns": [{**HASHED, "mask_salt": "env:NEW_SALT"}]}, "it may have been masked with another salt"),
            ({"columns": [{"name": "email", "expr": "lower(email)"}]}, {}, "t.email was made by an earlier version with a declaration"),
            ({"columns": [{"name": "contact", "from": "email", "mask": "redact"}]}, {}, "the source column 'email' was left out"),
            ({"drop": ["ssn"]}, {"drop": ["snn"]}, "the source column 'ssn' was left out and would now be published. Did you mean 'ssn'?"),
            ({"filter": "ssn <> 'x'"}, {}, "t was filtered, and the configuration has no filter now"),
        ],
        ids=["misspelt", "removed", "typed", "salted", "weaker", "resalted", "expression", "renamed", "left_out", "unfiltered"],
    )
    def test_what_was_kept_back_is_found_out(
        self, lake: Lake, monkeypatch: pytest.MonkeyPatch, before: dict[str, Any], after: dict[str, Any], words: str
    ) -> None:
        monkeypatch.setenv("NEW_SALT", "new")
        loaded(lake, before, [(1, "1.500", "1")])
        as_made_before(lake, lake.config({"public.t": before}), "t")
        state = lake.target("t").metadata_location()
        changed(lake)
        error = lake.run_one(lake.config({"public.t": after}), fails=True).error or ""
        assert words in error
        assert lake.target("t").metadata_location() == state

    def test_an_unchanged_document_is_merged_without_a_word_and_remembered(self, lake: Lake) -> None:
        entry = {**MASKED, "drop": ["ssn"], "filter": "ssn <> 'x'"}
        loaded(lake, entry)
        config = lake.config({"public.t": entry})
        as_made_before(lake, config, "t")
        # Also where nothing is to be merged.
        assert lake.run_one(config).warnings == []
        state = lake.target("t").metadata_location()
        assert lake.run_one(config).batches == []
        assert lake.target("t").metadata_location() == state
        changed(lake)
        assert lake.run_one(config).warnings == []
        assert lake.rows("t", "id, email") == [(1, hashed("a")), (2, hashed("b"))]
        changed(lake, 2)
        for wrong, words in (({**entry, **MISSPELT}, CLEAR), ({**entry, "drop": ["snn"]}, "Did you mean 'ssn'?")):
            assert words in (lake.run_one(lake.config({"public.t": wrong}), fails=True).error or "")

    def test_a_column_that_the_source_adds_is_no_secret(self, lake: Lake) -> None:
        loaded(lake, {"drop": ["ssn"]})
        config = lake.config({"public.t": {"drop": ["ssn"]}})
        as_made_before(lake, config, "t")
        rows = [("I", T1, 61, 2, "b", "2", "new")]
        lake.changes("public.t", cdc_name(1), [*PERSON, ("extra", pa.string())], rows)
        assert lake.run_one(config).warnings == []
        assert lake.rows("t", "id, extra") == [(1, None), (2, "new")]


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
    assert CLEAR in (lake.run_one(lake.config({"public.t": MISSPELT}, bronze=bronze), fails=True).error or "")
    assert lake.run_one(lake.config({"public.t": MASKED}, bronze=bronze)).warnings == []
    assert lake.rows("t", "id, email") == [("1", hashed("a")), ("2", hashed("b"))]
