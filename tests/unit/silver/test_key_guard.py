"""The key a table was made with, and refusing another."""

from typing import Any

import pytest

from dms_iceberg.config.model import Column, Table
from dms_iceberg.errors import SchemaChangeError
from dms_iceberg.silver.memory.key import KEY_PROPERTY, key_property, refuse_other_key


def table(*key: str, columns: tuple[Column, ...] = (), **options: Any) -> Table:
    return Table(**{"source": "public.t", "target": "s.t", "key": key, "columns": columns, **options})


RENAMED = (Column(name="order_id", source="id"),)


def test_the_property_has_the_names_that_the_table_has() -> None:
    assert key_property(table("ID", "größe", columns=RENAMED), ["Größe", "order_id"]) == {KEY_PROPERTY: '["order_id","Größe"]'}


@pytest.mark.parametrize("same", [table("id", "n"), table("N", "ID"), table("x", "n", columns=(Column(name="id", source="x"),))])
def test_order_and_case_and_names_at_the_source_do_not_count(same: Table) -> None:
    refuse_other_key(same, {KEY_PROPERTY: '["id","n"]'})


@pytest.mark.parametrize("other", [table("id"), table("id", "m"), table("id", "n", columns=RENAMED)])
def test_another_key_is_refused(other: Table) -> None:
    with pytest.raises(SchemaChangeError, match=r'tables\."public\.t"\.key: .* one row for each id, n '):
        refuse_other_key(other, {KEY_PROPERTY: '["id","n"]'})


def test_a_table_of_an_earlier_version_does_not_tell_its_key() -> None:
    refuse_other_key(table("id"), {})
