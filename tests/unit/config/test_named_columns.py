"""The columns that the configuration names, and what is said of those that files lack."""

from dms_iceberg.config.model import Column, Rule, Table
from dms_iceberg.config.named_columns import absent, nearest

TABLE = Table(
    source="public.t",
    target="s.t",
    key=("id",),
    columns=(Column(name="total", source="amount"), Column(name="note"), Column(name="size", expr="length(body) + x.y")),
    filter="total > 0 AND kind = 'a' AND _cdc_op = 'I'",
    rules=(Rule(name="r", expr="forall(tags, t -> t <> size)"),),
)


def test_conditions_see_silver_columns_and_expressions_do_not() -> None:
    found = [(one.path.removeprefix('tables."public.t".'), one.column, one.is_filter) for one in absent(TABLE, ["id", "BODY"])]
    assert found == [
        ("columns[0].from", "amount", False),
        ("columns[1].name", "note", False),
        ("columns[2].expr", "x", False),
        ("filter", "kind", True),
        ("rules[0].expr", "tags", False),
    ]


def test_nothing_is_absent_from_files_that_have_it_all() -> None:
    assert absent(TABLE, ["id", "AMOUNT", "note", "body", "X", "kind", "tags"]) == []


def test_column_with_a_backfill_may_be_declared_before_the_source_has_it() -> None:
    table = Table(source="public.t", target="s.t", key=("id",), columns=(Column(name="w", type="int", backfill=7),))
    assert absent(table, ["id"]) == []


def test_a_source_that_has_the_column_is_not_still_to_add_it_under_another_name() -> None:
    table = Table(source="public.t", target="s.t", key=("id",), columns=(Column(name="w", source="ww", type="int", backfill=7),))
    assert absent(table, ["id"]) == []
    assert [one.column for one in absent(table, ["id", "W"])] == ["ww"]


def test_near_miss_or_what_there_is() -> None:
    assert nearest("emial", ["id", "Email"]) == "Did you mean 'Email'?"
    assert nearest("zzz", ["id", "Email"]) == "They have id, Email."
    assert nearest("zzz", [f"c{n}" for n in range(40)]).endswith("c29 and 10 more.")
