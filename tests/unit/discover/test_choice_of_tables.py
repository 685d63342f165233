"""Patterns of names, and the names of the silver tables."""

import pytest

from dms_iceberg.discover.catalog import Kind, Table
from dms_iceberg.discover.patterns import chosen
from dms_iceberg.discover.targets import keeps_its_name, targets
from dms_iceberg.errors import ConfigError

TABLES = (
    Table(schema="public", name="orders"),
    Table(schema="public", name="Orders[1]"),
    Table(schema="sales", name="orders"),
    Table(schema="sales", name="events_1", kind=Kind.PARTITION, parent="sales.events"),
)


@pytest.mark.parametrize(
    ("schemas", "names", "found"),
    [
        ([], [], ["public.orders", "public.Orders[1]", "sales.orders"]),
        (["sales"], [], ["sales.orders"]),
        (["s*", "public"], [], ["public.orders", "public.Orders[1]", "sales.orders"]),
        ([], ["*.orders"], ["public.orders", "sales.orders"]),
        ([], ["*.[Oo]rders*"], ["public.orders", "public.Orders[1]", "sales.orders"]),
        ([], ["public.Orders[1]"], ["public.Orders[1]"]),
        (["sales"], ["*"], ["sales.orders", "sales.events_1"]),
    ],
)
def test_tables_are_chosen(schemas: list[str], names: list[str], found: list[str]) -> None:
    assert [table.full_name for table in chosen(TABLES, schemas, names)] == found


@pytest.mark.parametrize(
    ("schemas", "names", "says"),
    [
        (["slaes"], [], "--schema 'slaes': the source has no such schema, or the user may not see it; did you mean 'sales'?"),
        ([], ["public.order"], "--table 'public.order': the source has no such table, or the user may not see it; did you mean"),
        ([], ["PUBLIC.ORDERS"], "no such table"),
        (["sales"], ["public.*"], "no table fits both"),
        (["sales", "nope"], ["*.x"], "--table '*.x'"),
    ],
)
def test_a_pattern_that_fits_nothing_is_refused(schemas: list[str], names: list[str], says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        chosen(TABLES, schemas, names)
    assert says in str(caught.value)


def test_an_empty_source_has_no_tables() -> None:
    assert chosen((), [], []) == ()


def test_targets_differ_and_keep_the_name_where_they_can() -> None:
    names = ["a.orders", "b.orders", "a.Lines", "a.b_orders", "a.é", "a.ü", "a.c__replays", "a.c", "a.b.c"]
    assert targets(names, "silver") == {
        "a.orders": "silver.a_orders",
        "b.orders": "silver.b_orders_2",
        "a.Lines": "silver.lines",
        "a.b_orders": "silver.b_orders",
        "a.é": "silver.a__",
        "a.ü": "silver.a___2",
        # The quarantine of the table c has this name.
        "a.c__replays": "silver.c__replays",
        "a.c": "silver.c_2",
        "a.b.c": "silver.b_c",
    }


@pytest.mark.parametrize(
    ("table", "target", "keeps"), [("a.Lines", "s.lines", True), ("a.b.c", "s.b_c", False), ("a.\u212a", "s.k", False)]
)
def test_a_target_may_be_left_out_where_the_module_makes_the_same(table: str, target: str, keeps: bool) -> None:
    assert keeps_its_name(table, target) is keeps
