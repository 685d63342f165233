"""What `validate` warns of: conditions that take text for a number, and salts that are not set."""

import json
from pathlib import Path
from typing import Any

import pytest

from dms_iceberg.cli.app import main
from dms_iceberg.config.advice import advice
from dms_iceberg.config.model import Change
from dms_iceberg.config.numeric_text import columns_as_numbers
from dms_iceberg.config.orders import order_of, weaker_order
from dms_iceberg.config.parse import parse_config
from dms_iceberg.config.typed_text import columns_as_types
from unit.config.config_documents import SAMPLE, changed

T = "tables/public.orders"


@pytest.mark.parametrize(
    ("condition", "columns"),
    [
        ("amount >= 0", {"amount"}),
        ("0 <= amount and note <> 'x'", {"amount"}),
        ("not (-amount < -1.5)", {"amount"}),
        ("a between 1 and b", {"a", "b"}),
        ("a in (1, 2) or b in ('1', '2')", {"a"}),
        ("a <=> 1", {"a"}),
        ("price * quantity > total", {"price", "quantity", "total"}),
        ("a % 2 = 0", {"a"}),
        ("coalesce(amount, 0) >= 0", {"amount"}),
        ("case when kind = 'x' then a else b end < 3", {"a", "b"}),
        ("if(kind = 'x', a, b) < 3", {"a", "b"}),
        ("round(a, 2) = 1 and abs(b) > 0", {"a", "b"}),
        ("`unit price` > 0", {"unit price"}),
        ("cast(amount as decimal(12,2)) >= 0", set()),
        ("try_cast(amount as int) > 0 and length(note) > 3", set()),
        ("ordered_at - interval 1 day > shipped_at", set()),
        ("status = 'open' and location is not null", set()),
        ("point.x > 0", set()),
        ("size(split(location, ',')) = 2", set()),
    ],
)
def test_columns_that_a_condition_takes_for_numbers(condition: str, columns: set[str]) -> None:
    assert columns_as_numbers(condition) == columns


@pytest.mark.parametrize(
    ("condition", "columns"),
    [
        ("seen > DATE'2024-01-01'", {"seen": "date"}),
        ("seen >= TIMESTAMP '2024-01-01 00:00:00'", {"seen": "timestamp"}),
        ("seen between DATE'2024-01-01' and until", {"seen": "date", "until": "date"}),
        ("seen < current_timestamp() and day <= current_date()", {"seen": "timestamp", "day": "date"}),
        ("year(seen) > 2000 or hour(at) = 1", {"seen": "date", "at": "timestamp"}),
        ("datediff(seen, made) > 3", {"seen": "date", "made": "date"}),
        ("to_date(seen) > '2020-01-01'", {"seen": "date"}),
        ("date_add(seen, 1) > '2020-01-01'", {"seen": "date"}),
        ("active = true", {"active": "boolean"}),
        ("NOT active", {"active": "boolean"}),
        ("active", {"active": "boolean"}),
        ("(active OR paid) AND status = 'x'", {"active": "boolean", "paid": "boolean"}),
        ("active IS TRUE", {"active": "boolean"}),
        ("pmod(n, 2) = 0", {"n": "decimal(12,2)"}),
        ("greatest(n, 0) >= 0 and least(m, 5) > k", {"n": "decimal(12,2)", "m": "decimal(12,2)"}),
        ("CAST(n AS int) >= 0 and m::bigint > 0", {"n": "int", "m": "bigint"}),
        ("int(n) >= 0", {"n": "int"}),
        ("CAST(seen AS date) > '2020'", {"seen": "date"}),
        ("n >= 0", {"n": "decimal(12,2)"}),
        # Text, what is meant so, and what cannot be told.
        ("try_cast(n AS int) >= 0", {}),
        ("n IS NULL OR try_cast(n AS int) IS NOT NULL", {}),
        ("CAST(n AS int) IS NOT NULL AND to_date(d) IS NOT NULL", {}),
        ("CAST(n AS string) = 'x' AND lower(n) = 'y' AND n <> m", {}),
        ("active = 'true' AND note IS NOT NULL AND name LIKE 'a%'", {}),
        ("case when kind = 'x' then status else note end = 'y'", {}),
    ],
)
def test_columns_that_a_condition_takes_for_another_type(condition: str, columns: dict[str, str]) -> None:
    assert columns_as_types(condition) == columns


def test_a_rule_on_a_date_or_a_truth_value_is_told_with_the_declaration_to_add() -> None:
    rules = [{"name": "new", "expr": "seen > DATE'2024-01-01'"}, {"name": "live", "expr": "active"}]
    document = changed(f"{T}/rules", rules)
    texts = advice(parse_config({**document, "bronze": {**document["bronze"], "format": "csv"}}))
    day, truth = (text for text in texts if "is text in files" in text)
    assert 'add {"name": "seen", "type": "date"}' in day and "a value that is no date is NULL here" in day
    assert 'add {"name": "active", "type": "boolean"}' in truth and "a value that is no boolean is NULL here" in truth


def warnings(document: dict[str, Any], form: str = "csv") -> list[str]:
    return [text for text in advice(parse_config({**document, "bronze": {**document["bronze"], "format": form}})) if "number" in text]


def test_a_rule_on_text_is_told_with_the_declaration_to_add() -> None:
    (warning,) = warnings(SAMPLE)
    assert warning.startswith("tables.\"public.orders\".rules[0].expr: 'amount' is text in files of format 'csv'")
    assert 'add {"name": "amount", "type": "decimal(12,2)"} to tables."public.orders".columns' in warning
    assert "lets the row pass" in warning
    assert len(warnings(SAMPLE, "json")) == 1
    assert warnings(SAMPLE, "parquet") == []


def test_what_is_declared_is_what_it_says() -> None:
    assert warnings(changed(f"{T}/columns", [{"name": "Amount", "type": "int"}])) == []
    assert warnings(changed(f"{T}/columns", [{"name": "amount", "expr": "size(split(location, ','))"}])) == []
    (warning,) = warnings(changed(f"{T}/columns", [{"name": "amount", "trim": True}]))
    assert 'add "type": "decimal(12,2)" to tables."public.orders".columns[0]' in warning
    (warning,) = warnings(changed(f"{T}/drop", ["amount"]))
    assert "let a rule say amount IS NULL OR try_cast(amount AS decimal(12,2)) IS NOT NULL" in warning
    warning, _ = warnings(changed(f"{T}/filter", "order_no > 7"))
    assert warning.startswith("tables.\"public.orders\".filter: 'order_no' is text") and "leaves out the row" in warning


@pytest.mark.parametrize(
    ("change", "order", "words"),
    [
        (Change(), "by the sequence", ()),
        (Change(timestamp_column=None), "by the sequence", ()),
        (
            Change(sequence_column=None),
            "by commit time, file and place in the file",
            ("verify --repair is refused", "$AR_H_CHANGE_SEQ", "the load may go on"),
        ),
        (
            Change(timestamp_column=None, sequence_column=None),
            "by file and place in the file",
            ("'history' and 'append'", "--truncate", "$AR_H_CHANGE_SEQ", "TimestampColumnName", "new load epoch, or a rebuild"),
        ),
    ],
)
def test_an_order_is_told_with_what_it_does_not_promise_and_what_would(change: Change, order: str, words: tuple[str, ...]) -> None:
    weaker = weaker_order(change)
    assert order_of(change) == order
    assert (weaker is not None) == bool(words)
    assert weaker is None or all(word in weaker for word in (f"changes are ordered {order}, ", *words)), weaker


def test_a_salt_that_is_not_set_here_is_a_warning(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("DMS_ICEBERG_MASK_SALT", raising=False)
    path = tmp_path / "shop.json"
    path.write_text(json.dumps(SAMPLE))
    words = 'tables."public.orders".columns[3].mask_salt: the environment variable DMS_ICEBERG_MASK_SALT is not set.'
    _command("validate", str(path))
    out = capsys.readouterr().out
    assert "valid, 1 table\n" in out and f"warning: {words}" in out
    _command("validate", str(path), "--json")
    document = json.loads(capsys.readouterr().out)
    assert (document["valid"], document["problems"]) == (True, [])
    assert document["warnings"][0].startswith(words)
    monkeypatch.setenv("DMS_ICEBERG_MASK_SALT", "pepper")
    _command("validate", str(path), "--json")
    assert json.loads(capsys.readouterr().out) == {"valid": True, "problems": []}


def _command(*arguments: str) -> None:
    with pytest.raises(SystemExit) as ended:
        main(list(arguments))
    assert ended.value.code == 0


def test_a_model_that_draws_its_values_is_told_when_they_change() -> None:
    gold = {
        "gold.drawn": {"sql": "SELECT uuid() AS id, count(*) AS n FROM silver.orders"},
        "gold.plain": {"sql": "SELECT 1 AS uuid FROM silver.orders"},
    }
    (warning,) = (text for text in advice(parse_config({**SAMPLE, "gold": gold})) if text.startswith("gold"))
    assert warning.startswith('gold."gold.drawn".sql: uuid() gives other values at each refresh')
