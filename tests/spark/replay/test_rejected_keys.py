"""The keys of rejected rows, as `quarantine list` shows them: with every digit, and also those that do not fit their type."""

from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from dms_iceberg.replay.listing import list_quarantine
from dms_iceberg.replay.run import replay
from dms_iceberg.runs.status import table_statuses
from support.lake import Lake

SOURCE = "public.t"
LONG = Decimal("12345678901234567890123456789012345.671")
WHOLE, OTHER = Decimal("12345678901234567890123456789012345671"), Decimal("12345678901234567890123456789012345672")
RULE = {"rules": [{"name": "never", "expr": "v <> 'a'", "on_fail": "quarantine"}]}


def listed(lake: Lake, table: dict[str, Any], columns: Any, rows: list[tuple[Any, ...]]) -> tuple[list[str], int]:
    config = lake.config({SOURCE: table})
    lake.load(SOURCE, columns, rows)
    assert lake.run_one(config).quarantined == len(rows)
    (found,) = list_quarantine(lake.spark, config, examples=10)
    (status,) = table_statuses(lake.spark, config)
    keys = sum(one.keys for one in found.reasons)
    assert status.quarantined_keys == keys
    return sorted(example.key for one in found.reasons for example in one.examples), keys


def test_keys_with_many_digits(lake: Lake) -> None:
    rows = [(LONG, "a"), (Decimal("12345678901234567890123456789012345.672"), "a"), (Decimal("0.100"), "a")]
    keys, count = listed(lake, RULE, [("id", pa.decimal128(38, 3)), ("v", pa.string())], rows)
    assert keys == [
        '{"id":0.100}',
        '{"id":12345678901234567890123456789012345.671}',
        '{"id":12345678901234567890123456789012345.672}',
    ]
    assert count == 3


@pytest.mark.parametrize(
    ("type_", "source", "values", "shown"),
    [
        ("int", pa.string(), ["12x", "13x", "9999999999"], ['"12x"', '"13x"', '"9999999999"']),
        ("bigint", pa.decimal128(38, 0), [WHOLE, OTHER], [f'"{WHOLE}"', f'"{OTHER}"']),
        ("date", pa.string(), ["2024-02-30", "2024-02-31"], ['"2024-02-30"', '"2024-02-31"']),
        ("int", pa.string(), [None, "x"], ['"x"', "null"]),
    ],
)
def test_keys_that_do_not_fit_are_shown_as_the_file_has_them(
    lake: Lake, type_: str, source: pa.DataType, values: list[Any], shown: list[str]
) -> None:
    columns = [{"name": "id", "type": type_}]
    keys, count = listed(lake, {"columns": columns}, [("id", source), ("v", pa.string())], [(value, "a") for value in values])
    assert keys == [f'{{"id":{text}}}' for text in shown]
    assert count == len(values)


def test_a_part_that_fits_stands_beside_one_that_does_not(lake: Lake) -> None:
    table = {"key": ["id", "n"], "columns": [{"name": "n", "type": "int"}]}
    columns = [("id", pa.decimal128(38, 3)), ("n", pa.string())]
    keys, count = listed(lake, table, columns, [(LONG, "x"), (LONG, "y")])
    assert keys == [f'{{"n":"{one}","id":"{LONG}"}}' for one in ("x", "y")]
    assert count == 2


def test_a_text_that_looks_like_another_key_is_not_shown(lake: Lake) -> None:
    """A reload would take the row of that key for the rejected one."""
    columns = [{"name": "id", "type": "date", "format": "dd.MM.yyyy"}]
    keys, _ = listed(lake, {"columns": columns}, [("id", pa.string()), ("v", pa.string())], [("2024-02-29", "a"), ("29/02/2024", "a")])
    assert keys == ['{"id":"29/02/2024"}', '{"id":null}']


def test_a_masked_key_is_hidden(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DMS_ICEBERG_MASK_SALT", "salt")
    table = {"columns": [{"name": "id", "type": "int", "mask": "sha256"}]}
    keys, count = listed(lake, table, [("id", pa.string()), ("v", pa.string())], [("12x", "a"), ("13x", "a")])
    # Any text could be a key of the masked column, so that the quarantine keeps none.
    assert keys == ['{"id":null}'] * 2
    assert count == 1


def test_a_replay_keeps_the_text(lake: Lake) -> None:
    config = lake.config({SOURCE: {"columns": [{"name": "id", "type": "int"}]}})
    lake.load(SOURCE, [("id", pa.string()), ("v", pa.string())], [("1", "a"), ("12x", "a"), ("13x", "a")])
    lake.run_one(config)
    before = lake.quarantine("t", "key, reason")
    replay(lake.spark, config)
    assert lake.quarantine("t", "key, reason") == before
    assert sorted(key for key, _ in before) == ['{"id":"12x"}', '{"id":"13x"}']
