"""The word by which a document publishes on purpose."""

from typing import Any

import pytest

from dms_iceberg.config.parse import parse_config
from dms_iceberg.config.publish import column_word, published_columns, publishes_filter
from dms_iceberg.errors import ConfigError
from unit.config.config_documents import changed

T = "tables/public.orders"


def problems(document: dict[str, Any]) -> list[str]:
    with pytest.raises(ConfigError) as caught:
        parse_config(document)
    return caught.value.problems


def test_columns_and_the_filter() -> None:
    table = parse_config(changed(f"{T}/publish", ["email", "`filter`"])).tables["public.orders"]
    assert (published_columns(table), publishes_filter(table)) == (["email", "filter"], False)
    document = changed(f"{T}/publish", ["filter"])
    del document["tables"]["public.orders"]["filter"]
    table = parse_config(document).tables["public.orders"]
    assert (published_columns(table), publishes_filter(table)) == ([], True)
    assert (column_word("email"), column_word("filter")) == ("email", "`filter`")


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        (f"{T}/publish", ["filter"], 'tables."public.orders".publish[0]: the table has a filter; remove one of them'),
        (f"{T}/publish", ["Location"], "tables.\"public.orders\".publish[0]: 'Location' is also in drop; remove it from one of them"),
        (f"{T}/publish", ["email", "EMAIL"], "tables.\"public.orders\".publish[1]: 'EMAIL' is there twice"),
        (f"{T}/publish", [" "], 'tables."public.orders".publish[0]: must not be empty'),
        (f"{T}/publish", "email", 'tables."public.orders".publish: expected a list'),
        ("defaults", {"publish": ["email"]}, "defaults.publish: belongs to each table, not to defaults"),
    ],
)
def test_what_cannot_be_meant_is_refused(path: str, value: object, problem: str) -> None:
    assert any(line.startswith(problem) for line in problems(changed(path, value)))


def test_where_the_columns_are_known_an_unknown_one_is_refused() -> None:
    document = changed(f"{T}/publish", ["emial"])
    document["bronze"] |= {"format": "csv", "csv": {"header": False}}
    document["tables"]["public.orders"]["source_columns"] = ["order_id", "ordered_at", "location", "email", "deleted_by_app", "amount"]
    assert problems(document) == ["tables.\"public.orders\".publish[0]: there is no column 'emial'; did you mean 'email'?"]
