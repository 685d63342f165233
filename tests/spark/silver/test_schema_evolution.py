"""Schema change: every table is loaded in one run, meets its change in a second one, and the plan printed before is what was done."""

import datetime as dt
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from dms_iceberg.iceberg.new_table import create_table
from dms_iceberg.runs.preview import TablePreview, preview
from dms_iceberg.runs.report import RunReport
from dms_iceberg.sql.quoting import quote_path, string_literal
from support.lake import Lake
from support.text_files import cdc_name

T1, T2, T3 = "20260301100100", "20260301100200", "20260301100300"
ID = ("id", pa.int64())
V = ("v", pa.string())
N32, N64 = ("n", pa.int32()), ("n", pa.int64())
EXTRA = ("extra", pa.int32())
NUMBERS = [ID, N32, ("f", pa.float32()), ("m", pa.decimal128(10, 2)), ("s", pa.int16())]
WIDER = [ID, N64, ("f", pa.float64()), ("m", pa.decimal128(12, 2)), ("s", pa.int32())]

BEFORE: dict[str, dict[str, Any]] = {
    "public.added": {},
    "public.widened": {},
    "public.dropped": {},
    "public.shuffled": {},
    "public.recased": {"columns": [{"name": "upper_v", "expr": "upper(V)"}], "filter": "V <> 'x'"},
    "public.narrower": {},
    "public.backfilled": {},
    "public.became_text": {},
    "public.new_column": {"type_changes": "new_column"},
    "public.no_change": {"type_changes": "fail"},
    "public.held": {"schema_changes": "quarantine"},
    "public.held_type": {"schema_changes": "quarantine"},
    "public.strict_added": {"schema_changes": "strict"},
    "public.strict_wider": {"schema_changes": "strict"},
    "public.strict_declared": {"schema_changes": "strict"},
    "public.contradicted": {},
}
AFTER = BEFORE | {
    "public.backfilled": {
        "columns": [
            {"name": "extra", "type": "int", "backfill": 7},
            {"name": "flag", "type": "boolean", "backfill": True},
            {"name": "plain", "type": "string"},
        ]
    },
    "public.strict_declared": {"schema_changes": "strict", "columns": [{"name": "extra", "type": "bigint"}]},
    "public.contradicted": {"columns": [{"name": "v", "type": "int"}]},
}


def write_before(lake: Lake) -> None:
    for table in BEFORE:
        match table.removeprefix("public."):
            case "widened":
                lake.load(table, NUMBERS, [(1, 1, 0.5, Decimal("1.25"), 3), (2, 2, 1.5, Decimal("99999999.99"), 4)])
            case "shuffled":
                lake.load(table, [ID, V, N32], [(1, "a", 10), (2, "b", 20)])
            case "recased":
                lake.load(table, [ID, V, N32], [(1, "a", 10)])
                lake.load(table, [ID, ("V", pa.string()), ("N", pa.int64())], [(2, "b", 20)], number=2)
            case "dropped":
                lake.load(table, [ID, V, N32], [(1, "a", 10), (2, "b", 20)])
            case "narrower":
                lake.load(table, [ID, N64], [(1, 10), (2, 20)])
            case "became_text" | "new_column" | "no_change" | "held_type" | "strict_wider":
                lake.load(table, [ID, N32], [(1, 10), (2, 20)])
            case "backfilled":
                lake.load(table, [ID, V], [(1, "a"), (2, "b"), (4, "d")])
            case _:
                lake.load(table, [ID, V], [(1, "a"), (2, "b")])


def write_after(lake: Lake) -> None:
    first, second = cdc_name(1), cdc_name(2)
    for table in ("public.added", "public.held", "public.strict_added", "public.strict_declared"):
        lake.changes(table, first, [ID, V], [("U", T1, 61, 1, "A")])
        lake.changes(table, second, [ID, V, EXTRA], [("I", T2, 73, 3, "c", 5)])
    lake.changes("public.widened", first, NUMBERS, [("U", T1, 61, 1, 11, 2.5, Decimal("2.50"), 5)])
    lake.changes("public.widened", second, WIDER, [("I", T2, 73, 3, 2**40, 0.1, Decimal("9999999999.99"), 70_000)])
    lake.changes("public.dropped", first, [ID, N32], [("U", T1, 61, 1, 11), ("I", T1, 65, 3, 30)])
    lake.changes("public.shuffled", first, [N32, ID, V], [("U", T1, 61, 11, 1, "A"), ("I", T1, 65, 30, 3, "c")])
    lake.changes("public.recased", first, [ID, ("V", pa.string()), ("N", pa.int64())], [("U", T1, 61, 1, "A", 11)])
    lake.changes("public.recased", second, [ID, V, N32], [("I", T2, 73, 3, "c", 30), ("I", T2, 77, 4, "x", 40)])
    lake.changes("public.narrower", first, [ID, N32], [("U", T1, 61, 1, 11)])
    extended = [ID, V, EXTRA, ("flag", pa.bool_()), ("plain", pa.string())]
    lake.changes("public.backfilled", first, [ID, V], [("U", T1, 61, 1, "A"), ("I", T1, 65, 5, "e")])
    lake.changes("public.backfilled", second, extended, [("U", T2, 73, 2, "B", None, None, None), ("I", T2, 77, 3, "c", 1, False, "x")])
    texts = [("U", T1, 61, 1, "12"), ("U", T1, 65, 2, "twelve"), ("I", T1, 69, 3, "012"), ("I", T1, 73, 4, None), ("D", T1, 77, 9, None)]
    lake.changes("public.became_text", first, [ID, ("n", pa.string())], texts)
    lake.changes("public.new_column", first, [ID, ("n", pa.string())], texts)
    # A late file of the old type, and one that comes back to it.
    lake.changes("public.new_column", cdc_name(0), [ID, N32], [("I", T1, 57, 5, 50)])
    lake.changes("public.new_column", second, [ID, N64], [("U", T2, 81, 2, 2**40)])
    lake.changes("public.no_change", first, [ID, ("n", pa.string())], texts)
    lake.changes("public.held_type", first, [ID, ("n", pa.string())], texts[:1])
    lake.changes("public.held_type", second, [ID, N32], [("U", T2, 81, 2, 22)])
    lake.changes("public.strict_wider", first, [ID, N64], [("U", T1, 61, 1, 2**40)])
    lake.changes("public.contradicted", first, [ID, V], [("U", T1, 61, 1, "A")])


@attrs.frozen
class Evolved:
    lake: Lake
    plans: dict[str, TablePreview]
    report: RunReport
    created: list[tuple[Any, ...]]
    create_plans: dict[str, TablePreview]

    def rows(self, table: str, columns: str) -> list[tuple[Any, ...]]:
        one = self.report.tables[f"public.{table}"]
        assert one.error is None, one.error
        assert one.rows_read == one.applied + one.superseded + one.stale + one.filtered + one.quarantined
        return self.lake.rows(table, columns)

    def refused(self, table: str) -> str:
        """The error of a table that must be as it was."""
        one = self.report.tables[f"public.{table}"]
        assert one.error is not None and one.batches == [] and one.ddl == []
        assert self.lake.snapshots(table) == 1
        return one.error


@pytest.fixture(scope="module")
def evolved(spark: SparkSession, warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Evolved]:
    lake = Lake(spark, warehouse, tmp_path_factory.mktemp("evolution"))
    write_before(lake)
    before, after = lake.config(BEFORE), lake.config(AFTER)
    create_plans = preview(spark, before)
    created: list[tuple[Any, ...]] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dms_iceberg.silver.table.create_table", lambda *args: (created.append(args), create_table(*args))[1])
        assert lake.run(before).failed == []
    write_after(lake)
    plans = preview(spark, after)
    yield Evolved(lake, {p.table: p for p in plans}, lake.run(after), created, {p.table: p for p in create_plans})


@pytest.mark.parametrize("table", AFTER)
def test_plan_prints_exactly_what_the_run_executes(evolved: Evolved, table: str) -> None:
    plan, report = evolved.plans[table], evolved.report.tables[table]
    assert plan.error == report.error
    assert plan.sql == report.ddl


def test_plan_prints_the_create_statement_that_the_run_executes(evolved: Evolved) -> None:
    planned = [plan.sql for plan in evolved.create_plans.values()]
    assert all(len(sql) == 1 and sql[0].startswith("CREATE TABLE") for sql in planned)
    created = set()
    for _, parts, columns, _, properties in evolved.created:
        options = ", ".join(f"{string_literal(name)} = {string_literal(value)}" for name, value in sorted(properties.items()))
        created.add(f"CREATE TABLE IF NOT EXISTS {quote_path(parts)} ({columns}) USING iceberg TBLPROPERTIES ({options})")
    assert {sql[0] for sql in planned} == created


def test_added_column_appears(evolved: Evolved) -> None:
    assert evolved.rows("added", "id, v, extra") == [(1, "A", None), (2, "b", None), (3, "c", 5)]


def test_types_widen_and_int_and_bigint_files_share_a_batch(evolved: Evolved) -> None:
    rows = evolved.rows("widened", "id, n, f, m, s")
    assert rows == [
        (1, 11, 2.5, Decimal("2.50"), 5),
        (2, 2, 1.5, Decimal("99999999.99"), 4),
        (3, 2**40, 0.1, Decimal("9999999999.99"), 70_000),
    ]
    assert len(evolved.report.tables["public.widened"].batches) == 1
    types = dict(evolved.lake.spark.table(f"lake.{evolved.lake.namespace}.widened").dtypes)
    assert (types["n"], types["f"], types["m"], types["s"]) == ("bigint", "double", "decimal(12,2)", "int")


def test_dropped_column_is_null_for_later_rows(evolved: Evolved) -> None:
    assert evolved.rows("dropped", "id, v, n") == [(1, None, 11), (2, "b", 20), (3, None, 30)]


def test_column_order_does_not_matter(evolved: Evolved) -> None:
    assert evolved.rows("shuffled", "id, v, n") == [(1, "A", 11), (2, "b", 20), (3, "c", 30)]


def test_names_in_another_case_are_the_same_columns_in_one_batch_and_in_two(evolved: Evolved) -> None:
    assert evolved.rows("recased", "id, v, n, upper_v") == [(1, "A", 11, "A"), (2, "b", 20, "B"), (3, "c", 30, "C")]
    columns = evolved.lake.spark.table(f"lake.{evolved.lake.namespace}.recased").columns
    assert columns[:5] == ["upper_v", "id", "v", "n", "_cdc_position"]


def test_narrower_file_needs_no_change(evolved: Evolved) -> None:
    assert evolved.rows("narrower", "id, n") == [(1, 11), (2, 20)]
    assert evolved.report.tables["public.narrower"].ddl == []


def test_backfill_reaches_existing_rows_and_rows_of_files_from_before_the_change(evolved: Evolved) -> None:
    assert evolved.rows("backfilled", "id, v, extra, flag, plain") == [
        (1, "A", 7, True, None),
        (2, "B", None, None, None),
        (3, "c", 1, False, "x"),
        (4, "d", 7, True, None),
        (5, "e", 7, True, None),
    ]


def test_incompatible_type_keeps_what_survives_and_quarantines_the_rest(evolved: Evolved) -> None:
    assert evolved.rows("became_text", "id, n") == [(1, 12), (2, 20), (4, None)]
    assert evolved.lake.quarantine("became_text") == [("cast", "n does not fit int")] * 2
    (warning,) = evolved.plans["public.became_text"].warnings
    assert "column n is string in the files and int in the table" in warning


def test_values_of_another_type_go_to_a_column_of_their_own(evolved: Evolved) -> None:
    name = f"`lake`.`{evolved.lake.namespace}`.`new_column`"
    assert evolved.plans["public.new_column"].sql == [
        f"ALTER TABLE {name} ALTER COLUMN `n` TYPE bigint",
        f"ALTER TABLE {name} ADD COLUMN `n__string` string",
    ]
    rows = [(1, None, "12"), (2, 2**40, None), (3, None, "012"), (4, None, None), (5, 50, None)]
    assert evolved.rows("new_column", "id, n, n__string") == rows
    assert evolved.report.tables["public.new_column"].quarantined == 0


def test_type_changes_that_fail_write_nothing(evolved: Evolved) -> None:
    assert "type_changes is 'fail' and column n is string in the files and int in" in evolved.refused("no_change")


def test_policy_quarantine_holds_the_structure(evolved: Evolved) -> None:
    assert evolved.rows("held", "id, v") == [(1, "A"), (2, "b")]
    assert evolved.lake.quarantine("held") == [("schema_change", "column extra (int) is new")]
    assert evolved.rows("held_type", "id, n") == [(1, 10), (2, 22)]
    assert evolved.lake.quarantine("held_type") == [("schema_change", "column n is string in the files and int in the table")]
    assert "extra" in evolved.lake.quarantine("held", "record")[0][0]


def test_policy_strict_writes_nothing(evolved: Evolved) -> None:
    for part in ("schema_changes is 'strict'", "column extra (int) is new", "Declare", "evolve"):
        assert part in evolved.refused("strict_added")
    assert "column n would widen from int to bigint" in evolved.refused("strict_wider")


def test_declared_change_is_done_under_strict(evolved: Evolved) -> None:
    assert evolved.rows("strict_declared", "id, v, extra") == [(1, "A", None), (2, "b", None), (3, "c", 5)]


def test_declared_type_that_contradicts_the_table(evolved: Evolved) -> None:
    error = evolved.refused("contradicted")
    for part in ("'v' is declared as int", "is string", "int to bigint", "new target"):
        assert part in error


def test_an_expression_without_a_type_keeps_what_survives_and_quarantines_the_rest(lake: Lake) -> None:
    price, at = ("price", pa.int32()), ("at", pa.date32())
    entry = {
        "drop": ["price", "qty", "unit", "at"],
        "columns": [
            {"name": "gross", "expr": "price * 2"},
            {"name": "total", "expr": "qty * unit"},
            {"name": "day", "expr": "at"},
            # Whoever declares a type has decided that SQL's cast rounds.
            {"name": "about", "expr": "price * 2", "type": "int"},
        ],
    }
    before = [ID, price, ("qty", pa.int32()), ("unit", pa.decimal128(10, 2)), at]
    lake.load("public.t", before, [(1, 10, 2, Decimal("1.25"), dt.date(2026, 3, 1)), (2, 10, 2, Decimal("1.25"), dt.date(2026, 3, 1))])
    config = lake.config({"public.t": entry})
    lake.run_one(config)
    after = [ID, ("price", pa.float64()), ("qty", pa.int32()), ("unit", pa.decimal128(12, 4)), ("at", pa.timestamp("us"))]
    noon, midnight = dt.datetime(2026, 3, 2, 12), dt.datetime(2026, 3, 2)
    changes = [
        ("U", T1, 61, 1, 10.3, 2, Decimal("1.25"), midnight),
        ("U", T1, 65, 1, 10.5, 2, Decimal("1.2525"), midnight),
        ("U", T1, 69, 1, 10.5, 2, Decimal("1.25"), noon),
        ("U", T1, 73, 2, 10.5, 2, Decimal("1.2550"), midnight),
        ("D", T1, 77, 3, 10.3, None, None, noon),
    ]
    lake.changes("public.t", cdc_name(1), after, changes)
    assert lake.run_one(config).quarantined == 3
    assert lake.quarantine("t", "detail") == [
        ("gross does not fit int",),
        ("total does not fit decimal(21,2)",),
        ("day does not fit date",),
    ]
    first, second = (1, 20, Decimal("2.50"), dt.date(2026, 3, 1), 20), (2, 21, Decimal("2.51"), dt.date(2026, 3, 2), 21)
    assert lake.rows("t", "id, gross, total, day, about") == [first, second]


def test_files_of_one_batch_give_an_expression_a_type_that_holds_the_values_of_all(lake: Lake) -> None:
    config = lake.config({"public.t": {"drop": ["price"], "columns": [{"name": "gross", "expr": "price * 2"}]}})
    lake.changes("public.t", cdc_name(1), [ID, ("price", pa.float64())], [("I", T1, 61, 1, 10.3)])
    lake.changes("public.t", cdc_name(2), [ID, ("price", pa.int32())], [("I", T2, 65, 2, 10)])
    assert lake.run_one(config).applied == 2
    # As of a column that is copied: no number holds every double and every integer.
    assert lake.rows("t", "id, gross") == [(1, "20.6"), (2, "20")]
