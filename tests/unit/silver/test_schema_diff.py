"""Schema plans: from the types of files and table to operations."""

from typing import Any

import pytest

from dms_iceberg.changes.mapping import SilverColumn, silver_columns
from dms_iceberg.config.model import Column, Mode, Table
from dms_iceberg.silver.schema.diff import AddColumn, Incompatible, SchemaPlan, WidenColumn, diff, wanted_types


def columns(*names: str, **declared: Any) -> tuple[SilverColumn, ...]:
    entries = tuple(Column(name=name, **options) for name, options in declared.items())
    return silver_columns(Table(source="public.t", target="s.t", key=("id",), columns=entries), ["id", *names])


def test_first_file_gives_the_table_its_types() -> None:
    found = columns("v", n={"type": "decimal(5,1)"})
    wanted = wanted_types(found, [{"id": "smallint", "v": "string", "n": "string"}], {}, ntz=False)
    assert wanted == {"n": "decimal(5,1)", "id": "int", "v": "string"}
    assert diff(found, wanted, None) == SchemaPlan(wanted)


@pytest.mark.parametrize(
    ("types", "expected"),
    [
        (("int", "bigint"), "bigint"),
        (("bigint", "smallint"), "bigint"),
        (("decimal(5,2)", "int"), "decimal(12,2)"),
        (("int", "date"), "string"),
    ],
)
def test_files_that_differ_want_what_holds_both(types: tuple[str, str], expected: str) -> None:
    wanted = wanted_types(columns("v"), [{"id": "int", "v": type_} for type_ in types], {}, ntz=False)
    assert wanted["v"] == expected


def test_column_of_which_no_file_knows_has_no_type() -> None:
    found = (*columns("v"), SilverColumn("gone", "gone", False, Column(name="gone")))
    assert "gone" not in wanted_types(found, [{"id": "int", "v": "int"}], {}, ntz=False)


def test_expression_has_the_type_spark_found_or_none_yet() -> None:
    found = columns("v", twice={"expr": "v * 2"}, later={"expr": "w"})
    wanted = wanted_types(found, [{"id": "int", "v": "int"}], {"twice": "smallint"}, ntz=False)
    assert (wanted["twice"], "later" in wanted) == ("int", False)


def test_wall_clocks_when_the_pipeline_says_so() -> None:
    sources = [{"id": "int", "at": "timestamp"}]
    assert wanted_types(columns("at"), sources, {}, ntz=True)["at"] == "timestamp_ntz"
    assert wanted_types(columns("at"), sources, {}, ntz=False)["at"] == "timestamp"
    assert wanted_types(columns(at={"type": "timestamp"}), sources, {}, ntz=True)["at"] == "timestamp"


def test_masked_column_is_text() -> None:
    assert wanted_types(columns(n={"mask": "redact", "type": "int"}), [{"id": "int", "n": "int"}], {}, ntz=False)["n"] == "string"


def test_names_match_without_case_and_order_does_not_matter() -> None:
    plan = diff(columns("V", "n"), {"id": "int", "V": "string", "n": "int"}, {"n": "int", "v": "string", "ID": "int"})
    assert plan.operations == () and plan.incompatible == ()


def test_added_and_widened() -> None:
    plan = diff(
        columns("v", extra={"type": "int", "backfill": 7}), {"id": "bigint", "v": "string", "extra": "int"}, {"id": "int", "v": "string"}
    )
    assert plan.operations == (AddColumn("extra", "int", 7), WidenColumn("id", "int", "bigint"))
    assert plan.target_types == {"id": "bigint", "v": "string", "extra": "int"}


@pytest.mark.parametrize("want", ["string", "double", "decimal(12,1)", "date"])
def test_what_cannot_be_widened_keeps_the_type_of_the_table(want: str) -> None:
    plan = diff(columns("v"), {"id": "int", "v": want}, {"id": "int", "v": "int"})
    assert plan.incompatible == (Incompatible("v", "int", want),)
    assert plan.target_types["v"] == "int"
    assert plan.operations == ()


def test_decimal_grows_to_hold_file_and_table() -> None:
    plan = diff(columns("v"), {"id": "int", "v": "decimal(12,1)"}, {"id": "int", "v": "decimal(10,2)"})
    assert plan.operations == (WidenColumn("v", "decimal(10,2)", "decimal(13,2)"),)


def test_statements() -> None:
    assert AddColumn("two words", "int").sql("`c`.`t`") == "ALTER TABLE `c`.`t` ADD COLUMN `two words` int"
    assert AddColumn("a", "int").backfill_sql("t") is None
    assert AddColumn("a", "boolean", True).backfill_sql("t") == "UPDATE t SET `a` = CAST('true' AS boolean) WHERE `a` IS NULL"
    of_a_log = "UPDATE t SET `a` = CAST('7' AS int) WHERE `a` IS NULL AND _cdc_op NOT IN ('D', 'T')"
    assert AddColumn("a", "int", 7).backfill_sql("t", Mode.APPEND) == of_a_log
    assert AddColumn("a", "string", "it's").backfill_sql("t") == "UPDATE t SET `a` = CAST('it\\'s' AS string) WHERE `a` IS NULL"
    assert WidenColumn("a`b", "int", "bigint").sql("t") == "ALTER TABLE t ALTER COLUMN `a``b` TYPE bigint"
