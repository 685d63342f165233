"""The text by which the source finds a key: by the column's type in a file, whatever type silver has."""

import pytest

from dms_iceberg.verify.columns import SourceColumn
from dms_iceberg.verify.lookup import KeyLookup, is_certain, lookup_text

NUMBERS = ["tinyint", "smallint", "int", "bigint", "decimal(20,0)", "decimal(9,3)", "decimal(12,2)", "decimal(30,5)", "float", "double"]
TYPES = [*NUMBERS, "binary", "date", "timestamp", "timestamp_ntz", "boolean", "string"]
TEXT, BYTES, EXACT = "CAST(`k` AS string)", "lower(hex(`k`))", "the number's in the file's type"
# Beside the same type and string.
PAIRS = {
    **{("tinyint", wide): TEXT for wide in ("smallint", "int", "bigint")},
    **{("smallint", wide): TEXT for wide in ("int", "bigint")},
    ("int", "bigint"): TEXT,
    **{(small, "decimal(9,3)"): EXACT for small in ("tinyint", "smallint")},
    **{(small, "decimal(12,2)"): EXACT for small in ("tinyint", "smallint", "int")},
    **{(one, "decimal(20,0)"): EXACT for one in ("tinyint", "smallint", "int", "bigint")},
    **{(one, "decimal(30,5)"): EXACT for one in ("tinyint", "smallint", "int", "bigint", "decimal(20,0)", "decimal(9,3)", "decimal(12,2)")},
    ("float", "double"): EXACT,
    ("timestamp", "timestamp_ntz"): TEXT,
    ("timestamp_ntz", "timestamp"): TEXT,
    ("binary", "binary"): BYTES,
    ("binary", "string"): BYTES,
}


@pytest.mark.parametrize("file", TYPES)
@pytest.mark.parametrize("silver", TYPES)
def test_each_pair_of_types_has_an_exact_text_or_none(file: str, silver: str) -> None:
    expected = PAIRS.get((file, silver), TEXT if silver in (file, "string") else None)
    found = lookup_text("k", file, silver)
    if expected == EXACT:
        assert found is not None
        assert f"CAST(try_cast(`k` AS {file}) AS {silver}) <=> `k`" in found
    else:
        assert found == expected


@pytest.mark.parametrize(
    ("file", "silver", "certain"),
    [
        ("bigint", "bigint", True),
        ("int", "decimal(12,2)", True),
        ("int", "string", False),
        ("string", "string", False),
        ("double", "double", False),
    ],
)
def test_only_integers_are_found_by_every_source(file: str, silver: str, certain: bool) -> None:
    column = SourceColumn("k", "", file)
    assert is_certain(column, silver) == certain
    assert KeyLookup([column], ["k"], [silver]).is_certain == certain


def test_a_key_that_does_not_give_the_sources_has_no_texts() -> None:
    assert (KeyLookup(None, ["k"], ["string"]).columns, KeyLookup(None, ["k"], ["string"]).texts) == (None, [])
