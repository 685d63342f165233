"""The keys of rejected rows, as `quarantine list` shows them: with every digit, and also those that do not fit their type."""

import hashlib
import json
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from dms_iceberg.context import RunRequest
from dms_iceberg.quarantine.listing import list_quarantine
from dms_iceberg.runs.replay import replay
from dms_iceberg.runs.run import run
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


def test_a_text_that_looks_like_another_key_is_none(lake: Lake) -> None:
    """A reload would take the row of that key for the rejected one."""
    columns, there = [("id", pa.string()), ("v", pa.string())], [("29.02.2024", "a"), ("01.03.2024", "b")]
    lake.enter(1)
    lake.load(SOURCE, columns, there)
    table = {"columns": [{"name": "id", "type": "date", "format": "dd.MM.yyyy"}]}
    lake.run_one(lake.config({SOURCE: table}))
    lake.enter(2)
    lake.load(SOURCE, columns, [there[1], ("2024-02-29", "a"), ("2024-02-28", "a"), ("29/02/2024", "a")])
    config = lake.config({SOURCE: table})
    report = run(lake.spark, config, request=RunRequest(load_complete=frozenset({SOURCE}))).tables[SOURCE]
    assert "3 rows that the load rejected have no readable key" in report.warnings[-1]
    assert lake.rows("t", "v") == [("b",)]
    (found,) = list_quarantine(lake.spark, config, examples=10)
    keys = [example.key for one in found.reasons for example in one.examples]
    assert sorted(keys) == ['{"id":"2024-02-28"}', '{"id":"2024-02-29"}', '{"id":"29/02/2024"}']
    assert [one.keys for one in found.reasons] == [3]


def test_a_masked_key_is_shown_by_its_hash(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the text of the file looks like a hash, and beside a part that fits."""
    monkeypatch.setenv("DMS_ICEBERG_MASK_SALT", "salt")
    secret = hashlib.sha256(b"not shown").hexdigest()
    columns = [{"name": "id", "type": "int", "mask": "sha256"}, {"name": "n", "type": "int"}]
    table = {"key": ["id", "n"], "columns": columns}
    rows = [("12x", "1"), ("13x", "1"), (secret, "1"), (secret, "x"), ("14", "x"), (None, "1")]
    keys, count = listed(lake, table, [("id", pa.string()), ("n", pa.string())], rows)

    def key(text: str | None, n: str) -> str:
        return f'{{"id":{json.dumps(text and hashlib.sha256(f"salt{text}".encode()).hexdigest())},"n":{n}}}'

    wanted = [key("12x", '"1"'), key("13x", '"1"'), key(secret, '"1"'), key(secret, '"x"'), key("14", '"x"'), key(None, "1")]
    assert keys == sorted(wanted)
    assert count == len(rows)
    stored = [text for (text,) in lake.quarantine("t", "key")]
    assert [text for text in stored if any(f'"{one}"' in text for one in ("12x", "13x", secret, "14"))] == []


def test_a_replay_keeps_the_text(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DMS_ICEBERG_MASK_SALT", "salt")
    names = ("plain", "masked")
    masks: tuple[dict[str, Any], ...] = ({}, {"mask": "sha256"})
    tables = {f"public.{name}": {"columns": [{"name": "id", "type": "int", **mask}]} for name, mask in zip(names, masks, strict=True)}
    config = lake.config(tables)
    for name in tables:
        lake.load(name, [("id", pa.string()), ("v", pa.string())], [("1", "a"), ("12x", "a"), ("13x", "a")])
    lake.run(config)
    before = {name: lake.quarantine(name, "key, reason") for name in names}
    assert replay(lake.spark, config).errors == {}
    assert {name: lake.quarantine(name, "key, reason") for name in names} == before
    assert [len(set(keys)) for keys in before.values()] == [2, 2]
    assert sorted(json.loads(key)["id"] for key, _ in before["plain"]) == ["12x", "13x"]
