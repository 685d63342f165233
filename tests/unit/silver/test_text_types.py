"""Which columns become text of a type that the table remembers, and which type that is."""

from types import SimpleNamespace
from typing import Any

import pytest

from dms_iceberg.changes.mapping import SilverColumn, typed_sql
from dms_iceberg.config.model import Column, Mask
from dms_iceberg.silver.schema.text_types import are_text, first_types

CENTS, WIDER = "decimal(10,2)", "decimal(12,3)"


def silver(*, is_key: bool = False, source: str | None = "Code", **declared: Any) -> SilverColumn:
    return SilverColumn("code", source, is_key, Column(name="code", **declared))


@pytest.mark.parametrize(
    ("column", "type_", "found"),
    [
        (silver(is_key=True, type="string"), "string", True),
        (silver(is_key=True), "string", True),
        (silver(is_key=True), CENTS, False),
        (silver(is_key=True, type="binary"), "binary", False),
        (silver(type="string"), "string", False),
        (silver(mask=Mask.SHA256, type="STRING"), "string", True),
        (silver(mask=Mask.PARTIAL, type="string", is_key=True), "string", True),
        (silver(mask=Mask.REDACT, type="string"), "string", False),
        # Their texts are those of the remembered or declared type anyway.
        (silver(mask=Mask.SHA256), "string", False),
        (silver(mask=Mask.SHA256, type=CENTS, is_key=True), "string", False),
        (silver(is_key=True, type="string", source=None, expr="code * 2"), "string", False),
    ],
)
def test_columns_that_are_text(column: SilverColumn, type_: str, found: bool) -> None:
    assert bool(are_text([column], {"code": type_})) is found


@pytest.mark.parametrize(
    ("files", "type_"),
    [
        ([[("code", CENTS)], [("CODE", WIDER)]], CENTS),
        ([[("code", "string")], [("code", "void")], [("other", "int")], [("code", WIDER)]], WIDER),
        ([[("code", "string")], [("code", "binary")]], None),
    ],
)
def test_the_first_type_that_is_no_text_counts(files: list[list[tuple[str, str]]], type_: str | None) -> None:
    groups: Any = [SimpleNamespace(columns=SimpleNamespace(source=source)) for source in files]
    assert first_types([silver(is_key=True)], groups).get("code") == type_


def test_only_values_that_are_no_text_get_the_texts_of_a_type() -> None:
    key = silver(is_key=True, type="string")
    assert typed_sql(key, CENTS, "string", CENTS) == "CAST(`Code` AS string)"
    assert "decimal(38,2)) = `Code` THEN" in typed_sql(key, WIDER, "string", CENTS)
    assert typed_sql(key, "string", "string", CENTS) == "`Code`"
    assert typed_sql(key, WIDER, "string") == "try_cast(`Code` AS string)"
