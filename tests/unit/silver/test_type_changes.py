"""Columns whose values come in a type that they cannot be widened to: where the values go."""

from typing import Any, cast

import pytest
from pyspark.sql import DataFrame

from dms_iceberg.bronze.columns import split_columns
from dms_iceberg.bronze.keys import BronzeFile
from dms_iceberg.bronze.schema_groups import SchemaGroup
from dms_iceberg.changes.clean import typed_steps
from dms_iceberg.changes.frames import ReadGroup
from dms_iceberg.config.model import Bronze, Change, Column, Mode, NullInUpdate, SchemaChanges, Table, TypeChanges
from dms_iceberg.errors import SchemaChangeError
from dms_iceberg.silver.schema.diff import AddColumn, Incompatible, WidenColumn
from dms_iceberg.silver.schema.evolve import Evolution, plan_evolution
from dms_iceberg.silver.schema.type_changes import column_for

SERVICE = {"Op": "string", "dms_commit_ts": "string", "dms_change_seq": "string"}
HAS = {"id": "bigint", "n": "int"}
INT, TEXT = {"id": "bigint", "n": "int"}, {"id": "bigint", "n": "string"}


def table(*columns: Column, **options: Any) -> Table:
    options = {"source": "public.t", "target": "s.t", "key": ("id",), "type_changes": TypeChanges.NEW_COLUMN, **options}
    return Table(columns=columns, **options)


def evolution(one: Table, existing: dict[str, str] | None, *files: dict[str, str], ntz: bool = False) -> Evolution:
    groups = []
    for number, file in enumerate(files):
        found = [*SERVICE.items(), *file.items()]
        group = SchemaGroup(True, "", tuple(found), (BronzeFile(True, f"{number:017d}", "f", "f", 1, "e", "parquet"),), 1)
        columns = split_columns(group, found, Bronze(uri="x"), one, known=[name for file in files for name in file])
        groups.append(ReadGroup(group, cast(DataFrame, None), columns))
    return plan_evolution(one, groups, {}, existing, change=Change(), ntz=ntz)


def values(one: Table, planned: Evolution, file: dict[str, str]) -> dict[str, str]:
    """Which of the columns made of ``n`` takes its values from a file."""
    shape = planned.shape
    made, selected = ([sql.rpartition(" AS ") for sql in step] for step in typed_steps(one, shape, file))
    by_name = {name: sql for sql, _, name in made}
    return {name.strip("`"): by_name.get(sql, sql) for sql, _, name in selected if name.startswith("`n")}


@pytest.mark.parametrize(
    ("type_", "name"),
    [("string", "n__string"), ("decimal(12,2)", "n__decimal_12_2"), ("array<struct<a:int>>", "n__array_struct_a_int")],
)
def test_names(type_: str, name: str) -> None:
    assert column_for("n", type_) == name


def test_values_of_another_type_get_a_column_of_their_own_and_old_ones_stay() -> None:
    one = table()
    planned = evolution(one, HAS, INT, TEXT)
    assert planned.plan.operations == (AddColumn("n__string", "string"),)
    assert planned.plan.incompatible == ()
    assert values(one, planned, INT) == {"n": "`n`", "n__string": "CAST(NULL AS string)"}
    assert values(one, planned, TEXT) == {"n": "CAST(NULL AS int)", "n__string": "`n`"}


def test_a_column_that_was_made_before_is_used_again_and_widened() -> None:
    one, has = table(), HAS | {"n__string": "string", "n__decimal_5_2": "decimal(5,2)"}
    assert evolution(one, has, TEXT).plan.operations == ()
    # What comes in the old type again, and files of either type that are read again, find their column.
    planned = evolution(one, has, INT)
    assert planned.plan.operations == () and planned.warnings == ()
    assert values(one, planned, TEXT)["n__string"] == "`n`"
    planned = evolution(one, has, {"id": "bigint", "n": "decimal(9,2)"})
    assert planned.plan.operations == (WidenColumn("n__decimal_5_2", "decimal(5,2)", "decimal(9,2)"),)
    assert evolution(one, HAS, {"id": "bigint", "n": "bigint"}).plan.operations == (WidenColumn("n", "int", "bigint"),)


def test_wall_clocks() -> None:
    one, file = table(), {"id": "bigint", "n": "timestamp"}
    planned = evolution(one, HAS, file, ntz=True)
    assert planned.plan.operations == (AddColumn("n__timestamp_ntz", "timestamp_ntz"),)
    assert values(one, planned, file)["n__timestamp_ntz"] == "try_cast(`n` AS timestamp_ntz)"


@pytest.mark.parametrize(
    "one",
    [
        table(type_changes=TypeChanges.QUARANTINE),
        table(Column(name="n", type_changes=TypeChanges.QUARANTINE)),
        table(filter="n > 0"),
        table(key=("id", "n")),
        table(Column(name="n", null_in_update=NullInUpdate.KEEP)),
        table(mode=Mode.HISTORY, track_columns=("N",)),
    ],
)
def test_what_has_one_place_is_quarantined(one: Table) -> None:
    planned = evolution(one, HAS, TEXT)
    assert planned.plan.operations == ()
    assert planned.plan.incompatible == (Incompatible("n", "int", "string"),)


def test_a_column_of_that_name_at_the_source_is_not_taken_for_it() -> None:
    planned = evolution(table(), HAS | {"n__string": "string"}, TEXT | {"n__string": "string"})
    assert planned.plan.incompatible == (Incompatible("n", "int", "string"),)


def test_held_structure_lets_only_a_columns_own_word_through() -> None:
    held = table(schema_changes=SchemaChanges.STRICT)
    with pytest.raises(SchemaChangeError, match="'strict'"):
        evolution(held, HAS, TEXT)
    own = table(Column(name="n", type_changes=TypeChanges.NEW_COLUMN), schema_changes=SchemaChanges.STRICT)
    assert evolution(own, HAS, TEXT).plan.operations == (AddColumn("n__string", "string"),)


def test_fail() -> None:
    with pytest.raises(SchemaChangeError, match=r"type_changes is 'fail' and column n is string in the files and int in s\.t"):
        evolution(table(type_changes=TypeChanges.FAIL), HAS, TEXT)
    assert evolution(table(type_changes=TypeChanges.FAIL), HAS, {"id": "bigint", "n": "bigint", "x": "int"}).plan.incompatible == ()


def test_a_table_that_is_made_has_one_column() -> None:
    assert evolution(table(), None, INT, TEXT).shape.types == {"id": "bigint", "n": "string"}
