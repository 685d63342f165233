"""Tables whose configuration changes after they were loaded: one run before, one plan and one run after, for every case together."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from dms_iceberg.runs.preview import TablePreview, preview
from dms_iceberg.runs.report import RunReport, TableReport
from dms_iceberg.silver.memory.key import KEY_PROPERTY
from support.lake import Lake, sequence, timestamp
from support.text_files import cdc_name

T1 = "20260301100100"
ID = ("id", pa.int64())
PERSON = [ID, ("email", pa.string()), ("name", pa.string())]

IMAGED = [*PERSON, ("BI_tag", pa.string())]

LATER = ("misspelt_later", "misspelt_filter", "gone_copy", "gone_filter", "refused_later")
BEFORE: dict[str, dict[str, Any]] = {
    "public.left_out": {},
    "public.imaged": {"drop": ["name"], "columns": [{"name": "BI_tag"}]},
    **{f"public.{name}": {} for name in ("other_key", "renamed_key", "same_key", "older_version")},
    **{f"public.{name}": {} for name in LATER},
    "public.renamed": {"columns": [{"name": "email", "mask": "redact"}, {"name": "tag", "type": "string", "backfill": "t"}]},
    "public.renamed_id": {},
}
AFTER: dict[str, dict[str, Any]] = {
    "public.left_out": {
        "columns": [{"name": "contact", "from": "email", "mask": "redact"}],
        "drop": ["name"],
        "filter": "name <> 'test'",
    },
    "public.imaged": {"drop": ["name"], "columns": [{"name": "BI_tag"}]},
    "public.other_key": {"key": ["id", "email"]},
    "public.renamed_key": {"columns": [{"name": "person_id", "from": "id"}]},
    "public.same_key": {"key": ["PERSON"], "columns": [{"name": "Id", "from": "person"}]},
    "public.older_version": {},
    "public.renamed": {
        "columns": [
            {"name": "Mail", "renamed_from": "email", "mask": "redact"},
            {"name": "label", "from": "tag", "renamed_from": "tag", "type": "string", "backfill": "t"},
        ]
    },
    "public.renamed_id": {"key": ["person"], "columns": [{"name": "person", "renamed_from": "id"}, {"name": "contact", "from": "email"}]},
    "public.misspelt": {
        "columns": [{"name": "mail", "from": "emial"}, {"name": "loud", "expr": "upper(nam)", "type": "string"}],
        "filter": "Idd > 0",
        "rules": [{"name": "has_mail", "expr": "loud is not null and emali is not null"}],
    },
    "public.misspelt_later": {"columns": [{"name": "mail", "from": "emial"}]},
    "public.misspelt_filter": {"filter": "nam <> 'test'"},
    "public.gone_copy": {"columns": [{"name": "person", "from": "name"}]},
    "public.gone_filter": {"filter": "coalesce(name, '') <> 'test'"},
    "public.comes_later": {"columns": [{"name": "note", "from": "tag"}], "filter": "tag is null or tag <> 'x'"},
    "public.refused": {
        "columns": [{"name": "parts", "expr": "sort_of(email)", "type": "string"}],
        "rules": [{"name": "known", "expr": "id + 1"}],
    },
    "public.refused_later": {"filter": "no_such_function(email)"},
}
"""The key of ``same_key`` is what it was: the source renamed its column."""


def write_before(lake: Lake) -> None:
    lake.load("public.left_out", PERSON, [(1, "a@x.org", "Ada"), (2, "b@x.org", "Bo")])
    for table in ("other_key", "renamed_key", "same_key", "older_version", "renamed", "renamed_id", *LATER):
        lake.load(f"public.{table}", PERSON, [(1, "a@x.org", "Ada")])
    lake.load("public.imaged", IMAGED, [(1, "a@x.org", "Ada", "t")])


def write_after(lake: Lake) -> None:
    first = cdc_name(1)
    changes = [("U", T1, 61, 1, "new@x.org", "Ada L"), ("I", T1, 65, 3, "c@x.org", "Cy"), ("I", T1, 69, 4, "t@x.org", "test")]
    lake.changes("public.left_out", first, PERSON, changes)
    for table in ("public.other_key", "public.renamed_key", "public.older_version"):
        lake.changes(table, first, PERSON, [("U", T1, 61, 1, "b@x.org", "Bea")])
    for table in ("public.misspelt", "public.comes_later", "public.refused"):
        lake.load(table, PERSON, [(1, "a@x.org", "Ada")])
    lake.changes("public.comes_later", first, [*PERSON, ("tag", pa.string())], [("U", T1, 61, 1, "b@x.org", "Bea", "t")])
    for table in LATER:
        lake.changes(f"public.{table}", first, PERSON[:2], [("U", T1, 61, 1, "b@x.org")])
    lake.changes("public.same_key", first, [("person", pa.int64()), *PERSON[1:]], [("U", T1, 61, 1, "b@x.org", "Bea")], key=("person",))
    lake.changes("public.renamed", first, PERSON, [("U", T1, 61, 1, "b@x.org", "Bea")])
    lake.changes("public.renamed", cdc_name(2), [ID, ("mail", pa.string()), PERSON[2]], [("I", T1, 65, 2, "c@x.org", "Cy")])
    lake.changes("public.renamed_id", first, PERSON, [("U", T1, 61, 2, "b@x.org", "Bea", 1)])
    moved = [("U", T1, 65, 3, "c@x.org", "Cy", 2)]
    lake.changes("public.renamed_id", cdc_name(2), [("person", pa.int64()), *PERSON[1:]], moved, key=("person",))
    # A task may rename the column alone, and not its image.
    seq, image = ("dms_change_seq", pa.string()), ("BI_id", pa.int64())
    columns = [("Op", pa.string()), ("dms_commit_ts", pa.string()), ("person", pa.int64()), *PERSON[1:], seq, image]
    row = ("U", timestamp(T1), 4, "d@x.org", "Cy", sequence(T1, 69), 3)
    lake.parquet("public.renamed_id", cdc_name(3), columns, [row])
    images = ("id", "email", "name")
    rows = [
        ("U", T1, 61, 1, "b@x.org", "Bea", "u", 1, "a@x.org", "Ada"),
        ("U", T1, 65, 2, "c@x.org", "Bea", "u", 1, "b@x.org", "Bea"),
    ]
    lake.changes("public.imaged", first, IMAGED, rows, key=images)


@attrs.frozen
class Changed:
    lake: Lake
    plans: dict[str, TablePreview]
    report: RunReport

    def done(self, table: str) -> TableReport:
        """The report of a table that went well."""
        one = self.report.tables[f"public.{table}"]
        assert one.error is None, one.error
        assert one.rows_read == one.applied + one.superseded + one.stale + one.filtered + one.quarantined
        return one

    def error(self, table: str) -> str:
        one = self.report.tables[f"public.{table}"]
        assert one.error is not None and one.batches == []
        return one.error


@pytest.fixture(scope="module")
def changed(spark: SparkSession, warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Changed]:
    lake = Lake(spark, warehouse, tmp_path_factory.mktemp("changed"))
    write_before(lake)
    assert lake.run(lake.config(BEFORE)).failed == []
    spark.sql(f"ALTER TABLE lake.{lake.namespace}.older_version UNSET TBLPROPERTIES ('{KEY_PROPERTY}')")
    write_after(lake)
    after = lake.config(AFTER)
    plans = {plan.table: plan for plan in preview(spark, after)}
    yield Changed(lake, plans, lake.run(after))


@pytest.mark.parametrize("table", AFTER)
def test_plan_says_what_the_run_says(changed: Changed, table: str) -> None:
    plan, report = changed.plans[table], changed.report.tables[table]
    assert (plan.error, plan.warnings) == (report.error, report.warnings)


def test_a_column_that_is_dropped_or_masked_later_is_null_from_then_on(changed: Changed) -> None:
    one = changed.done("left_out")
    assert changed.lake.rows("left_out", "id, email, name, contact") == [
        (1, None, None, "***"),
        (2, "b@x.org", "Bo", None),
        (3, None, None, "***"),
    ]
    assert one.filtered == 1
    told, *left_out = one.warnings
    assert "made with another configuration of the filter. " in told and "--rebuild public.left_out" in told
    assert ["'email'" in text or "'name'" in text or "NULL (or have the backfill) in 'contact'" in text for text in left_out] == [True] * 3


def test_before_images_of_every_column_stay_out_and_those_of_the_key_still_tell_a_move(changed: Changed) -> None:
    changed.done("imaged")
    assert changed.lake.rows("imaged", "id, email, BI_tag") == [(2, "c@x.org", "u")]
    columns = changed.lake.spark.table(f"lake.{changed.lake.namespace}.imaged").columns
    assert columns[:4] == ["BI_tag", "id", "email", "_cdc_position"]


def test_a_changed_key_would_leave_rows_behind_and_is_refused(changed: Changed) -> None:
    for name, found in (("other_key", "id, email"), ("renamed_key", "person_id")):
        error = changed.error(name)
        for part in (f'tables."public.{name}".key', f"is now {found}", "one row for each id ", "--rebuild public."):
            assert part in error
        assert changed.lake.rows(name, "id, email, name") == [(1, "a@x.org", "Ada")]


def test_a_key_column_renamed_at_the_source_is_the_same_key(changed: Changed) -> None:
    changed.done("same_key")
    assert changed.lake.rows("same_key", "id, email") == [(1, "b@x.org")]


def test_declared_renames_keep_the_values_and_read_old_files_by_the_old_name(changed: Changed) -> None:
    one = changed.done("renamed")
    name = f"`lake`.`{changed.lake.namespace}`.`renamed`"
    expected = [f"ALTER TABLE {name} RENAME COLUMN `email` TO `Mail`", f"ALTER TABLE {name} RENAME COLUMN `tag` TO `label`"]
    assert (changed.plans["public.renamed"].sql, one.ddl, one.warnings) == (expected, expected, [])
    assert changed.lake.rows("renamed", "id, mail, name, label") == [(1, "***", "Bea", "t"), (2, "***", "Cy", "t")]
    changed.done("renamed_id")
    assert changed.lake.rows("renamed_id", "person, contact, name") == [(4, "d@x.org", "Cy")]
    properties = dict(changed.lake.spark.sql(f"SHOW TBLPROPERTIES lake.{changed.lake.namespace}.renamed_id").collect())
    assert properties[KEY_PROPERTY] == '["person"]'


def test_a_table_of_an_earlier_version_learns_its_key(changed: Changed) -> None:
    changed.done("older_version")
    properties = dict(changed.lake.spark.sql(f"SHOW TBLPROPERTIES lake.{changed.lake.namespace}.older_version").collect())
    assert properties[KEY_PROPERTY] == '["id"]'


def test_columns_that_no_file_has_are_named_before_a_table_is_made(changed: Changed) -> None:
    error = changed.error("misspelt")
    for path, name, meant in (
        ("columns[0].from", "emial", "email"),
        ("columns[1].expr", "nam", "name"),
        ("filter", "Idd", "id"),
        ("rules[0].expr", "emali", "email"),
    ):
        assert f'tables."public.misspelt".{path}: no file has the column {name!r}' in error
        assert f"Did you mean {meant!r}?" in error
    assert not changed.lake.spark.catalog.tableExists(f"lake.{changed.lake.namespace}.misspelt")


def test_a_column_that_no_file_ever_had_fills_no_column_of_a_table(changed: Changed) -> None:
    error = changed.error("misspelt_later")
    assert "tables.\"public.misspelt_later\".columns[0].from: no file has the column 'emial'" in error and "Did you mean 'email'?" in error
    assert changed.lake.rows("misspelt_later", "id, email, name") == [(1, "a@x.org", "Ada")]


def test_a_filter_over_a_column_that_no_file_ever_had_empties_no_table(changed: Changed) -> None:
    assert "tables.\"public.misspelt_filter\".filter: no file has the column 'nam'" in changed.error("misspelt_filter")
    assert changed.lake.rows("misspelt_filter", "id, email") == [(1, "a@x.org")]


def test_a_column_that_only_the_new_files_lack_is_warned_of(changed: Changed) -> None:
    warning, _ = changed.done("gone_copy").warnings
    assert "columns[0].from: the new files lack the column 'name': it is NULL for their rows. " in warning
    _, warning = changed.done("gone_filter").warnings
    assert "filter: the new files lack the column 'name': the filter lets no row pass whose condition is NULL" in warning
    assert changed.lake.rows("gone_filter", "id, email, name") == [(1, "b@x.org", None)]


def test_a_column_that_only_later_files_have_stops_no_rebuild(changed: Changed) -> None:
    warnings = changed.done("comes_later").warnings
    assert ["the new files lack the column 'tag'" in text for text in warnings] == [True, True]
    assert changed.lake.rows("comes_later", "id, email, note") == [(1, "b@x.org", "t")]


def test_what_spark_refuses_is_told_with_its_key_path(changed: Changed) -> None:
    error = changed.error("refused")
    assert 'tables."public.refused".columns[0].expr: Spark refuses it: ' in error
    assert 'tables."public.refused".rules[0].expr: Spark refuses it: ' in error and "DATATYPE_MISMATCH" in error
    assert not changed.lake.spark.catalog.tableExists(f"lake.{changed.lake.namespace}.refused")
    assert 'tables."public.refused_later".filter: Spark refuses it: ' in changed.error("refused_later")


def test_plan_finds_what_spark_refuses_although_there_is_no_new_file(changed: Changed) -> None:
    config = changed.lake.config({"public.older_version": {"filter": "sort_of(email)"}, "public.same_key": AFTER["public.same_key"]})
    wrong, right = preview(changed.lake.spark, config)
    assert 'tables."public.older_version".filter: Spark refuses it: ' in (wrong.error or "")
    assert (wrong.files, right.error, right.sql) == (0, None, [])
