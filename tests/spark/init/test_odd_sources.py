"""The document of the cookbook for odd sources, over such files: what the page says of it is seen to be so."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from dms_iceberg.config.parse import parse_config
from dms_iceberg.errors import ConfigError
from dms_iceberg.init.run import examine
from support.lake import Lake

PAGE = (Path(__file__).parents[3] / "docs" / "cookbook.md").read_text("utf-8")
Row = tuple[Any, ...]
T1, T2 = "20260301100100", "20260301100200"
TEXT, NUMBER = pa.string(), pa.int64()
UPPER, LOWER = "A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11", "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"


def document(lake: Lake) -> dict[str, Any]:
    (found,) = (one for text in re.findall(r"```json\n(.*?)```", PAGE, re.DOTALL) if (one := json.loads(text))["pipeline"] == "odd")
    assert isinstance(found, dict)
    text = json.dumps({**found, "catalog": {"name": "lake", "type": "hadoop", "warehouse": str(lake.warehouse)}})
    text = text.replace("silver.", f"{lake.namespace}.").replace("gold.", f"gold_{lake.namespace}.")
    made = json.loads(text)
    made["bronze"]["uri"] = str(lake.bronze)
    return {**made, "quarantine": {"namespace": f"quarantine_{lake.namespace}"}}


def put(lake: Lake, table: str, columns: Sequence[tuple[str, pa.DataType]], loaded: Sequence[Row], changes: Sequence[Row]) -> None:
    lake.load(table, columns, loaded)
    if changes:
        lake.changes(table, "20260301-100330000.parquet", columns, changes, key=())


def test_the_document_of_the_page(lake: Lake) -> None:
    keyed = [("id", TEXT), ("v", TEXT)]
    changes = [("U", T1, 61, LOWER, "a2"), ("D", T2, 65, LOWER[:-1] + "2", None)]
    put(lake, "app.guids", keyed, [(UPPER, "a"), (UPPER[:-1] + "2", "b")], changes)
    codes = [("code", TEXT), ("v", TEXT)]
    put(lake, "app.codes", codes, [("K1   ", "a"), ("K2   ", "b")], [("U", T1, 61, "K1", "a2"), ("D", T2, 65, "K2", None)])
    moments = [("id", NUMBER), ("at", TEXT)]
    loaded = [(1, "2026-03-01 10:00:00.1234567 +02:00"), (2, "2026-03-01 10:00:00 -05:00"), (3, None)]
    put(lake, "app.moments", moments, loaded, [("I", T1, 61, 4, "2026-03-01 10:00:00.5 +00:00")])
    log = [("kind", TEXT), ("note", TEXT)]
    put(lake, "app.log", log, [("in", "x"), ("in", "x"), ("out", "y")], [("I", T1, 61, "in", "x"), ("I", T2, 65, "in", "x")])
    orders = [("id", NUMBER), ("v", TEXT)]
    put(lake, "shard1.orders", orders, [(1, "s1")], [])
    put(lake, "shard2.orders", orders, [(1, "s2"), (2, "t2")], [("U", T1, 61, 1, "s2b")])
    report = lake.run(parse_config(document(lake), base=str(lake.folder)))
    assert report.exit_code == 0
    assert lake.rows("guids", "id, v") == [(LOWER, "a2")]
    assert lake.rows("codes", "code, v") == [("K1", "a2")]
    seconds = ["2026-03-01 08:00:00.123456", "2026-03-01 15:00:00", None, "2026-03-01 10:00:00.5"]
    texts = [text for _, text in loaded] + ["2026-03-01 10:00:00.5 +00:00"]
    assert lake.rows("moments", "id, string(at), at_text") == list(zip(range(1, 5), seconds, texts, strict=True))
    assert lake.rows("log", "kind, note", "1, 2") == [("in", "x")] * 4 + [("out", "y")]
    model = lake.spark.table(f"lake.gold_{lake.namespace}.orders").select("shard", "id", "v")
    assert sorted(map(tuple, model.collect())) == [(1, 1, "s1"), (2, 1, "s2b"), (2, 2, "t2")]


def test_what_the_page_says_is_refused(lake: Lake) -> None:
    found = document(lake)
    found["tables"]["app.log"]["key"] = []
    found["tables"]["shard2.orders"]["target"] = found["tables"]["shard1.orders"]["target"]
    with pytest.raises(ConfigError) as refused:
        parse_config(found)
    assert any("key: must not be empty" in problem for problem in refused.value.problems)
    assert any("each table needs its own" in problem for problem in refused.value.problems)
    put(lake, "app.log", [("kind", TEXT), ("note", TEXT)], [("in", "x"), ("in", "x")], [("I", T1, 61, "in", "x")])
    (left_out,) = examine(str(lake.bronze), None, lambda names: names).proposals
    assert "no key can be proposed" in left_out.reasons[0]  # type: ignore[union-attr]
