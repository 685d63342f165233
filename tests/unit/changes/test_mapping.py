"""Which silver columns a table has, and the SQL that cleans each: golden texts."""

from typing import Any

import pytest

from dms_iceberg.changes.clean import checked_select, masked_select, typed_steps
from dms_iceberg.changes.mapping import SALT_PREFIX, SilverColumn, masked_sql, salt_names, silver_columns, typed_sql
from dms_iceberg.changes.shape import Shape
from dms_iceberg.config.model import Column, Mask, OnFail, OtherColumns, Rule, Table
from dms_iceberg.errors import ConfigError


def table(*columns: Column, **options: Any) -> Table:
    return Table(**{"source": "public.t", "target": "n.t", "key": ("id",), "columns": columns, **options})


def names(one: Table, *source: str) -> list[tuple[str, str | None, bool]]:
    return [(c.name, c.source, c.is_key) for c in silver_columns(one, source)]


def test_declared_columns_come_first_and_the_rest_is_kept() -> None:
    one = table(Column(name="city", expr="split(location, ',')[0]"), Column(name="title", source="Name"))
    assert names(one, "id", "name", "location") == [
        ("city", None, False),
        ("title", "name", False),
        ("id", "id", True),
        ("location", "location", False),
    ]


def test_columns_wins_over_drop_and_drop_over_other_columns() -> None:
    one = table(Column(name="a"), drop=("a", "B"))
    assert [name for name, *_ in names(one, "id", "a", "b", "c")] == ["a", "id", "c"]


def test_key_columns_are_always_there() -> None:
    assert names(table(drop=("x",), other_columns=OtherColumns.DROP), "x", "ID") == [("ID", "ID", True)]


def test_renamed_key_is_the_key_once() -> None:
    one = table(Column(name="order_id", source="id"), Column(name="copy", source="id"))
    assert names(one, "id") == [("order_id", "id", True), ("copy", "id", False)]


def test_silver_columns_that_differ_in_case_only_are_refused() -> None:
    with pytest.raises(ConfigError, match="differ in case only"):
        silver_columns(table(), ["id", "city", "City"])


def column(**options: Any) -> SilverColumn:
    declared = Column(**{"name": "v", **options})
    return SilverColumn("v", None if declared.expr else "v", False, declared)


@pytest.mark.parametrize(
    ("options", "source", "target", "expected"),
    [
        ({}, "int", "int", "`v`"),
        ({}, "int", "bigint", "try_cast(`v` AS bigint)"),
        ({"trim": True}, "string", "string", "trim(`v`)"),
        ({"trim": True}, "bigint", "bigint", "`v`"),
        ({"expr": "a + b"}, None, "int", "try_cast((a + b) AS int)"),
        ({"type": "date", "format": "dd.MM.yyyy"}, "string", "date", "CAST(try_to_timestamp(CAST(`v` AS string), 'dd.MM.yyyy') AS date)"),
        ({"type": "timestamp", "format": "yyyy"}, "string", "timestamp", "try_to_timestamp(CAST(`v` AS string), 'yyyy')"),
        ({"mask": Mask.REDACT}, "int", "string", "`v`"),
        ({"mask": Mask.REDACT, "type": "int"}, "string", "string", "try_cast(`v` AS int)"),
        ({"type": "bigint"}, "string", "bigint", "try_cast(`v` AS bigint)"),
    ],
)
def test_value_in_its_type(options: dict[str, Any], source: str | None, target: str, expected: str) -> None:
    assert typed_sql(column(**options), source, target) == expected


def test_text_of_an_expression_is_read_as_text_of_a_file() -> None:
    """Bytes are hexadecimal digits there: Spark's cast would take the digits for the bytes."""
    typed = typed_sql(column(expr="substr(a, 3)", type="binary"), None, "binary")
    text = "CAST((substr(a, 3)) AS string)"
    hexadecimal = f"CASE WHEN octet_length({text}) % 2 = 0 THEN unhex({text}) END"
    assert typed.startswith(f"CASE WHEN typeof((substr(a, 3))) = 'string' THEN {hexadecimal} ")
    assert typed.endswith("ELSE try_cast((substr(a, 3)) AS binary) END")


def test_masks() -> None:
    assert masked_sql("a b", Mask.SHA256, f"{SALT_PREFIX}0") == "sha2(concat(_cdc_salt_0, CAST(`a b` AS string)), 256)"
    assert masked_sql("a", Mask.REDACT, None) == "CASE WHEN CAST(`a` AS string) IS NOT NULL THEN '***' END"
    assert "right(CAST(`a` AS string), 4)" in masked_sql("a", Mask.PARTIAL, None)


def test_one_salt_column_for_each_place_of_a_salt() -> None:
    columns = [column(mask=Mask.SHA256, mask_salt=place) for place in ("env:A", "env:B", "env:A")]
    assert salt_names(columns) == {"env:A": "_cdc_salt_0", "env:B": "_cdc_salt_1"}


def selects(one: Table, source: dict[str, str], target: dict[str, str]) -> tuple[list[str], list[str], list[str]]:
    columns = silver_columns(one, list(source))
    made, typed = typed_steps(one, Shape(tuple(columns), target), source)
    return [*made, *typed], checked_select(one, columns), masked_select(columns)


def test_first_select_casts_and_finds_problems_but_never_on_what_a_delete_carries() -> None:
    typed, _, _ = selects(table(Column(name="n", type="int")), {"id": "bigint", "n": "string"}, {"id": "bigint", "n": "int"})
    assert typed[:4] == ["*", "try_cast(`n` AS int) AS _cdc_value_0", "_cdc_value_0 AS `n`", "`id` AS `id`"]
    unfit = "WHEN _cdc_op <> 'D' AND `n` IS NOT NULL AND _cdc_value_0 IS NULL THEN 'cast: n does not fit int'"
    no_key = "WHEN `id` IS NULL THEN 'null_key: key column id is NULL'"
    assert typed[-2:] == [
        f"coalesce(_cdc_problem, CASE {no_key} END) AS _cdc_problem",
        f"CASE {unfit} END AS _cdc_value_problem",
    ]


@pytest.mark.parametrize(
    ("source", "to", "check"),
    [
        ("double", "int", "NOT coalesce(try_cast(_cdc_value_0 AS double) = `n`, false)"),
        ("bigint", "double", "NOT coalesce(try_cast(_cdc_value_0 AS bigint) = `n` AND _cdc_value_0 < 9223372036854775808D, false)"),
        ("float", "bigint", "NOT coalesce(try_cast(_cdc_value_0 AS float) = `n` AND `n` < 9223372036854775808D, false)"),
        ("decimal(12,4)", "decimal(10,2)", "NOT coalesce(try_cast(_cdc_value_0 AS decimal(12,4)) = `n`, false)"),
        ("int", "boolean", "NOT coalesce(try_cast(_cdc_value_0 AS int) = `n`, false)"),
        ("timestamp", "bigint", "NOT coalesce(try_cast(_cdc_value_0 AS timestamp) = `n`, false)"),
        ("double", "timestamp", "NOT coalesce(try_cast(_cdc_value_0 AS double) = `n`, false)"),
        ("int", "bigint", "`n` IS NOT NULL AND _cdc_value_0 IS NULL THEN"),
        ("int", "timestamp", "`n` IS NOT NULL AND _cdc_value_0 IS NULL THEN"),
        ("timestamp", "date", "`n` IS NOT NULL AND _cdc_value_0 IS NULL THEN"),
    ],
)
def test_declared_cast_that_would_lose_digits_is_a_failing_cast(source: str, to: str, check: str) -> None:
    for mask in (None, Mask.SHA256):
        one = table(Column(name="n", type=to, mask=mask))
        typed, _, _ = selects(one, {"id": "bigint", "n": source}, {"id": "bigint", "n": "string" if mask else to})
        assert check in typed[-1]


def test_null_key_says_what_may_have_been_there() -> None:
    for source, why in {"bigint": "is NULL'", "decimal(10,2)": "numeric that is NaN or infinite'"}.items():
        typed, _, _ = selects(table(), {"id": source}, {"id": source})
        assert why in typed[-2]
    # Files of text formats tell no types.
    for declared, why in {"bigint": "is NULL'", "decimal(10,2)": "numeric that is NaN or infinite'"}.items():
        typed, _, _ = selects(table(Column(name="id", type=declared)), {"id": "string"}, {"id": declared})
        assert why in typed[-2]
    typed, _, _ = selects(table(Column(name="id", expr="nullif(code, 'x')"), drop=("code",)), {"code": "string"}, {"id": "string"})
    assert "is NULL by its expr'" in typed[-2]


def test_a_value_that_does_not_fit_stops_the_filter_only_where_the_filter_reads_it() -> None:
    columns = (Column(name="n", type="int"), Column(name="m", type="int"))
    source = {"id": "bigint", "n": "string", "m": "string"}
    typed, _, _ = selects(table(*columns, filter="n > 0"), source, {"id": "bigint", "n": "int", "m": "int"})
    assert "does not fit" in typed[-2] and "cast: n" in typed[-2] and "cast: m" not in typed[-2]
    assert "cast: m" in typed[-1] and "cast: n" not in typed[-1]


def test_first_select_hands_on_source_columns_that_conditions_read() -> None:
    one = table(drop=("status", "x"), filter="status = 'live'")
    typed, _, _ = selects(one, {"id": "int", "status": "string", "x": "int"}, {"id": "int"})
    assert "`status`" in typed and "`x`" not in typed


def test_file_without_a_column_has_null_or_the_backfill_for_it() -> None:
    one = table(Column(name="a", type="int"), Column(name="b", type="int", backfill=7))
    typed, _, _ = selects(one, {"id": "int"}, {"id": "int", "a": "int", "b": "int"})
    assert typed[1:3] == ["CAST(NULL AS int) AS `a`", "CAST('7' AS int) AS `b`"]


def test_second_select_checks_rows_that_are_no_deletes_and_have_no_problem() -> None:
    rules = (
        Rule(name="r1", expr="n > 0"),
        Rule(name="r2", expr="n < 9", on_fail=OnFail.DROP),
        Rule(name="r3", expr="n <> 5", on_fail=OnFail.FAIL),
    )
    _, checked, _ = selects(table(filter="n IS NOT NULL", rules=rules), {"id": "int", "n": "int"}, {"id": "int", "n": "int"})
    outside = "NOT coalesce((n < 9), true) OR NOT coalesce((n IS NOT NULL), false)"
    row = "_cdc_op <> 'D' AND _cdc_problem IS NULL"
    inside = f"{row} AND NOT ({outside})"
    assert checked[-3:] == [
        f"{row} AND ({outside}) AS _cdc_filtered",
        f"coalesce(_cdc_problem, CASE WHEN _cdc_op <> 'D' AND NOT ({outside}) THEN "
        "coalesce(_cdc_value_problem, CASE WHEN NOT coalesce((n > 0), true) THEN 'rule: r1' END) END) AS _cdc_problem",
        f"CASE WHEN {inside} AND _cdc_value_problem IS NULL AND NOT coalesce((n <> 5), true) THEN 'r3' END AS _cdc_failed_rule",
    ]


def test_third_select_masks() -> None:
    one = table(Column(name="id", mask=Mask.SHA256, mask_salt="env:S"))
    _, _, masked = selects(one, {"id": "string"}, {"id": "string"})
    assert masked[0] == "sha2(concat(_cdc_salt_0, CAST(`id` AS string)), 256) AS `id`"
