"""Names that the job, DMS or Terraform has for itself: what becomes of a table that has them."""

from typing import Any

import attrs
import pytest

from dms_iceberg.config import model as config
from dms_iceberg.discover.catalog import Catalog, Column, Generated, Identity, Index, Table
from dms_iceberg.discover.hcl import for_terraform
from dms_iceberg.discover.proposal import Declared, Entry, LeftOut
from dms_iceberg.discover.propose import propose
from dms_iceberg.dms.types import DmsType, Kind
from dms_iceberg.silver.schema.unknown_columns import misspelt_drops
from dms_iceberg.source.address import Engine


def column(name: str, type_: str = "int4", **values: Any) -> Column:
    dms = DmsType(Kind.DATETIME if type_ == "timestamp" else Kind.TIME if type_ == "time" else Kind.INT4)
    return Column(name=name, type=type_, shown=type_, nullable=False, dms=dms, **values)


def table(*columns: Column, name: str = "t", schema: str = "s", key: str = "id") -> Table:
    primary = Index(name="pk", columns=(key,), primary=True)
    return Table(schema=schema, name=name, columns=columns, unique=(primary,), identity=Identity.PRIMARY_KEY)


def proposed(*tables: Table) -> list[Entry | LeftOut]:
    return list(propose(Catalog(engine=Engine.POSTGRESQL, database="shop", tables=tables), tables))


def entry(*columns: Column) -> Entry:
    (found,) = proposed(table(column("id"), *columns))
    assert isinstance(found, Entry)
    return found


def test_a_column_named_like_an_image_is_declared() -> None:
    found = entry(column("bi_tool"), column("tool"))
    assert found.declared == (Declared(name="bi_tool", why="named like a before-image, so it must be declared"),)


def test_an_image_of_a_column_that_the_document_names_cannot_be_declared() -> None:
    found = entry(column("BI_at", "timestamp"), column("at", "timestamp"))
    assert [one.name for one in found.declared] == ["at"]
    assert any(note.startswith("BI_at: named like a before-image, so it cannot be declared") for note in found.notes)


def test_a_column_that_a_dropped_one_resembles_is_declared_so_that_no_run_warns_of_the_name_in_drop() -> None:
    found = entry(column("length"), column("lengths", generated=Generated.STORED), column("g", generated=Generated.VIRTUAL), column("big"))
    assert [name for name, _ in found.dropped] == ["lengths", "g"]
    assert found.declared == (Declared(name="length", why="named like lengths in drop, so declared: it is meant to be there"),)
    declared = tuple(config.Column(name=one.name, type=one.type or None) for one in found.declared)
    entered = config.Table(source="s.t", target="n.t", key=("id",), columns=declared, drop=("lengths", "g"))
    assert misspelt_drops(entered, ["id", "length", "big"]) == []
    assert misspelt_drops(attrs.evolve(entered, columns=()), ["id", "length", "big"]) != []


def test_names_of_iceberg_and_spark_get_another_that_is_free() -> None:
    found = entry(column("_file"), column("file"), column("_pos", "timestamp"), column("a\tb", "timestamp"))
    assert [(one.name, one.source, one.type) for one in found.declared] == [
        ("file_2", "_file", ""),
        ("pos", "_pos", "timestamp_ntz"),
        ("a_b", "a\tb", "timestamp_ntz"),
    ]


def test_names_that_spark_needs_to_read_files_are_dropped() -> None:
    found = entry(column("_metadata"), column("_CDC_x", "timestamp"))
    assert [name for name, _ in found.dropped] == ["_metadata", "_CDC_x"]
    assert found.declared == ()


@pytest.mark.parametrize(
    ("one", "says"),
    [
        (table(column("_cdc_id"), key="_cdc_id"), "the key column _cdc_id has a name that Spark or the job needs"),
        (table(column("id"), column("BI_ID")), "named like before-images of the key: BI_ID"),
        (table(column("id"), column("dms_commit_ts")), "columns named like those that DMS adds: dms_commit_ts"),
        (table(column("id"), column(" ")), "a column has a blank name"),
        (table(column("id"), schema="a.b"), "its schema has a dot"),
        (table(column("id"), name="a/b%"), "its name has % /, which DMS does not take"),
        (table(column("id"), name="a\nb"), "characters that cannot be printed"),
        (table(column("id"), name="AWSDMS_x"), "DMS's own"),
        (table(column("id", "time")), "the key column id is a time of day"),
    ],
)
def test_what_cannot_be_named_leaves_the_table_out(one: Table, says: str) -> None:
    (found,) = proposed(one)
    assert isinstance(found, LeftOut)
    assert any(says in reason for reason in found.reasons), found.reasons


def test_all_reasons_are_given_at_once() -> None:
    (found,) = proposed(table(column("id"), column("Op"), column("op"), name="a/b", schema="x.y"))
    assert isinstance(found, LeftOut)
    assert len(found.reasons) == 4


def test_tables_of_one_name_but_for_case_are_left_out_together() -> None:
    found = proposed(table(column("id"), name="T"), table(column("id"), name="t"), table(column("id"), name="u"))
    assert [type(one) for one in found] == [LeftOut, LeftOut, Entry]


def test_terraform_does_not_get_what_it_would_change() -> None:
    proposals = proposed(table(column("id"), column("e\u0301"), name="plain"), table(column("id"), name="e\u0301"))
    assert [type(one) for one in for_terraform(proposals)] == [Entry, LeftOut]
