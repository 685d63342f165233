"""How a batch's rows are shaped for a table that has another structure: plans, without Spark."""

from typing import Any, cast

import attrs
import pytest
from pyspark.sql import DataFrame

from dms_iceberg.bronze.columns import split_columns
from dms_iceberg.bronze.keys import BronzeFile
from dms_iceberg.bronze.schema_groups import SchemaGroup
from dms_iceberg.changes.clean import checked_select, masked_select, typed_steps
from dms_iceberg.changes.frames import ReadGroup
from dms_iceberg.config.model import Bronze, Change, Column, Mask, OtherColumns, Table
from dms_iceberg.errors import SchemaChangeError
from dms_iceberg.silver.schema.evolve import Evolution, plan_evolution
from dms_iceberg.silver.schema.unknown_columns import misspelt_drops, unused_drops

SERVICE = {"Op": "string", "dms_commit_ts": "string", "dms_change_seq": "string"}
TABLE = {"id": "bigint", "email": "string", "n": "int"}


def table(*columns: Column, **options: Any) -> Table:
    return Table(**{"source": "public.t", "target": "s.t", "key": ("id",), "columns": columns, **options})


def evolution(one: Table, existing: dict[str, str] | None, *files: dict[str, str]) -> Evolution:
    """What the columns of ``files`` (without service columns) do to a table."""
    groups, known = [], [name for file in files for name in file]
    for number, file in enumerate(files):
        found = [*SERVICE.items(), *file.items()]
        group = SchemaGroup(True, "", tuple(found), (BronzeFile(True, f"{number:017d}", "f", "f", 1, "e", "parquet"),), 1)
        columns = split_columns(group, found, Bronze(uri="x"), one, known, existing or ())
        groups.append(ReadGroup(group, cast(DataFrame, None), columns))
    return plan_evolution(one, groups, {}, existing, change=Change(), ntz=False)


def final_sql(one: Table, planned: Evolution, source: dict[str, str]) -> tuple[list[str], list[str], list[str]]:
    shape = planned.shape
    _, typed = typed_steps(one, shape, source)
    return typed, checked_select(one, shape.columns), masked_select(shape.columns)


def test_a_column_that_the_configuration_leaves_out_later_gets_no_value_any_more() -> None:
    hashed = Column(name="email_hash", source="email", mask=Mask.SHA256, mask_salt="env:S")
    for one in (table(drop=("EMAIL",)), table(Column(name="n"), other_columns=OtherColumns.DROP), table(hashed)):
        planned = evolution(one, TABLE, TABLE)
        typed, checked, masked = final_sql(one, planned, TABLE)
        assert [sql for sql in (*typed, *checked) if sql.endswith("AS `email`") or sql == "`email`"] == []
        assert "CAST(NULL AS string) AS `email`" in masked
        (warning,) = planned.warnings
        assert "s.t has the column 'email'" in warning and "NULL in every row" in warning and "DROP COLUMN" in warning


def test_names_of_icebergs_own_columns_are_refused_before_there_is_a_table() -> None:
    file = {"id": "bigint", "_File": "string"}
    with pytest.raises(SchemaChangeError, match=r"'_File'.*Iceberg's own.*\"from\": \"_File\".*drop.*mapping rule"):
        evolution(table(), None, file)
    for one in (table(drop=("_file",)), table(Column(name="file", source="_file"))):
        assert "_File" not in evolution(one, None, file).shape.types


def test_a_filter_reads_a_dropped_column_from_the_files_although_the_table_still_has_it() -> None:
    one = table(drop=("n",), filter="n > 0")
    typed, checked, masked = final_sql(one, evolution(one, TABLE, TABLE), TABLE)
    assert typed.count("`n`") == 1
    assert "NOT coalesce((n > 0), false)" in checked[-3]
    assert "CAST(NULL AS int) AS `n`" in masked


def test_a_column_that_the_source_has_no_more_is_nobodys_concern() -> None:
    one = table()
    planned = evolution(one, TABLE, {"id": "bigint", "n": "int"})
    typed, _, _ = final_sql(one, planned, {"id": "bigint", "n": "int"})
    assert "CAST(NULL AS string) AS `email`" in typed
    assert planned.warnings == ()


def test_a_table_that_still_has_an_old_name_gets_no_second_column_beside_it() -> None:
    with pytest.raises(SchemaChangeError, match=r"still has the column 'email' that the configuration renames to 'mail'"):
        evolution(table(Column(name="mail", renamed_from="email")), TABLE, {"id": "bigint", "mail": "string"})


def test_names_in_drop_that_no_file_has_are_told_where_they_look_like_a_column_that_is_kept() -> None:
    source = ["id", "email", "BI_note"]
    (warning,) = misspelt_drops(table(drop=("emial", "etl_time", "ID_OLD", "BI_NOTE")), source)
    assert warning.startswith("tables.\"public.t\".drop[0]: the files have no column 'emial'")
    assert "If 'email' was to be left out, correct the name. If it is to be there, declare it in columns" in warning
    assert misspelt_drops(table(drop=("etl_time",)), source) == []
    assert misspelt_drops(table(drop=("emial", "email")), source) == []
    for written, there in (("email", "email_address"), ("EmailAddress", "emailaddress_2"), ("work_email", "email")):
        (warning,) = misspelt_drops(table(drop=(written,)), ["id", there])
        assert f"If {there!r} was to be left out" in warning
    # Files do not show whether a name like no other is misspelt: a plan notes it, and a run does not warn of a computed column.
    (note,) = unused_drops(table(drop=("etl_time", "Email", "social", "social")), source)
    assert "leaves out nothing by 'etl_time', 'social'" in note and "the source computes" in note
    assert unused_drops(table(drop=("EMAIL",)), source) == []
    # The entry says otherwise that the column is meant to be there.
    for one in (table(Column(name="email")), table(Column(name="mail", expr="lower(email)")), table(filter="email is not null")):
        assert misspelt_drops(attrs.evolve(one, drop=("emial",)), source) == []
