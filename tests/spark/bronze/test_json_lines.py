"""JSON lines: every digit comes into silver, the quarantine and a replay; a line that is not one whole object is quarantined."""

import json
import random
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from dms_iceberg.runs.replay import replay
from support.lake import COMMIT, Lake, sequence
from support.text_files import write_bytes

T1 = "20260301100100"
JSON = {"format": "json"}

NUMBERS = [
    "1.10",
    "1e5",
    "1E+05",
    "-0.0",
    "-0",
    "0.1e-7",
    "1E400",
    "-1e-400",
    "12345678901234567.89",
    "1234567890" * 4,
    "9" * 1_001,
    "0." + "0123456789" * 120,
    "9007199254740993.0",
    "NaN",
    "Infinity",
    "-Infinity",
]


def member(name: str, json_text: str, id_: int, extra: str = "") -> str:
    return f'{{"Op":"I","dms_commit_ts":"{COMMIT}","id":{id_},"{name}":{json_text}{extra}}}'


def read(json_text: str, value: str) -> tuple[str, str]:
    return json_text, value


VALUES = [
    *(read(number, number) for number in NUMBERS),
    *(
        read(f'{{"a": {number} , "b":[{number},{{"c":{number}}}]}}', f'{{"a":{number},"b":[{number},{{"c":{number}}}]}}')
        for number in NUMBERS
    ),
    read('"1.10"', "1.10"),
    read('"a 1.10, \\" 2.50: {3.0}"', 'a 1.10, " 2.50: {3.0}'),
    read('{"1.10": "2.50", "x\\\\": 3.10}', '{"1.10":"2.50","x\\\\":3.10}'),
    read("true", "true"),
    read("{}", "{}"),
    read("[]", "[]"),
    read('"\\u00e9\\ud83d\\ude00\\u0000\\/\\\\ud800"', "é😀\x00/\\ud800"),
    read("\t [ 1.0 ,\t 2 ]", "[1.0,2]"),
    read('"\ufffd"', "\ufffd"),
    read("[" * 900 + "1.50" + "]" * 900, "[" * 900 + "1.50" + "]" * 900),
    read("[" + ",".join(["1.250"] * 20_000) + "]", "[" + ",".join(["1.250"] * 20_000) + "]"),
    read('"' + '\\"1.10' * 20_000 + '"', '"1.10' * 20_000),
]
SPOILED = {
    "trailing text": member("v", "1", 1) + " xyz",
    "two objects": member("v", "1", 1) + member("v", "2", 2),
    "two objects, one brace": member("v", "1", 1) + ",}",
    "array of objects": "[" + member("v", "1", 1) + "," + member("v", "2", 2) + "]",
    "member twice": member("v", "1", 1, ',"v":2'),
    "member twice, one NaN": member("v", "NaN", 1, ',"v":2'),
    "half a character": member("v", '"\\ud800x"', 1),
    "other half": member("v", '"x\\uDFFF"', 1),
    "half behind a whole one": member("v", '"\\ud83d\\ude00\\ude00"', 1),
    "half behind a backslash": member("v", '"\\\\ud83d\\ude00"', 1),
    "single quotes": member("v", "1", 1).replace('"', "'"),
    "number as name": member("v", "1", 1).replace('"v"', "1.5"),
    "leading zero": member("v", "01.50", 1),
    "no digit behind the point": member("v", "1.", 1),
    "no digit before the point": member("v", ".5", 1),
    "plus": member("v", "+1.5", 1),
    "signed NaN": member("v", "-NaN", 1),
    "INF": member("v", "+INF", 1),
    "number and letters": member("v", "1.5abc", 1),
    "two numbers": member("v", "1.5 2.5", 1),
    "comment": member("v", "1.5", 1) + "/* */",
    "comma": member("v", "1.5,", 1),
    "tab in text": member("v", '"a\tb"', 1),
    "no end": member("v", "1.5", 1)[:-1],
    "no end but of what is inside": member("v", '{"a":1.5', 1),
    "text without end": member("v", '"1.5', 1),
    "word": member("v", "tru", 1),
    "too deep": member("v", "[" * 1_100 + "1.5" + "]" * 1_100, 1),
    "null": "null",
    "number": "1.5",
    "nothing": "{}",
    "no name": member("", "1.5", 1),
}


@pytest.fixture(scope="module")
def lake(spark: SparkSession, warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lake]:
    """The cases that are read, and beside them those that are not, each line with one that is good."""
    lake = Lake(spark, warehouse, tmp_path_factory.mktemp("json"))
    good = [member("v", text, number).encode() for number, (text, _) in enumerate(VALUES)]
    # Blank lines, a byte order mark and other line ends are no rows and no part of one.
    write_bytes(lake, "public.read", "LOAD00000001.json", b"\xef\xbb\xbf" + b"\r\n\n \t\r\n".join(good))
    bad = [member("v", "1.10", 0), *SPOILED.values()]
    latin = member("v", '"stra\xdfe"', 1).encode("latin-1")
    write_bytes(lake, "public.spoiled", "LOAD00000001.json", b"\n".join([*(line.encode() for line in bad), latin]))
    report = lake.run(lake.config({"public.read": {}, "public.spoiled": {}}, bronze=JSON))
    assert report.errors == {}
    yield lake


def test_values_are_what_the_line_says(lake: Lake) -> None:
    rows = dict(lake.rows("read", "CAST(id AS int), v"))
    assert [(VALUES[n][0][:80], rows.get(n, "")[:80]) for n in range(len(VALUES)) if rows.get(n) != VALUES[n][1]] == []
    assert len(rows) == len(VALUES)


def test_a_line_that_is_not_one_whole_object_is_quarantined_as_it_is(lake: Lake) -> None:
    assert lake.rows("spoiled", "id, v") == [("0", "1.10")]
    found = lake.quarantine("spoiled", "reason, get_json_object(record, '$._cdc_corrupt')")
    assert [reason for reason, _ in found] == ["malformed"] * len(SPOILED) + ["encoding"]
    assert dict(zip(SPOILED, (line for _, line in found), strict=False)) == SPOILED


def generated(rng: random.Random, depth: int = 0) -> str:
    """Some JSON, with odd white space."""
    space = rng.choice(["", "", " ", "\t", "  "])
    kind = rng.random()
    if kind < 0.45 or depth > 4:
        made = rng.choice([rng.choice(NUMBERS[:10]), f"{rng.uniform(-1e3, 1e3):.{rng.randint(0, 25)}e}", str(rng.randrange(10**30))])
    elif kind < 0.6:
        made = json.dumps("".join(rng.choices('ab"\\ 1.5,:{}[]é😀\n-NaN', k=rng.randint(0, 12))), ensure_ascii=rng.random() < 0.5)
    elif kind < 0.7:
        made = rng.choice(["true", "false", "null"])
    elif kind < 0.85:
        made = "[" + ",".join(generated(rng, depth + 1) for _ in range(rng.randint(0, 4))) + space + "]"
    else:
        names = [f"{rng.choice(['x', '1.5', 'NaN', '']) if depth else 'm'}{n}" for n in range(rng.randint(0, 4))]
        made = "{" + ",".join(f"{json.dumps(name)}{space}:{generated(rng, depth + 1)}" for name in names) + space + "}"
    return space + made + space


def parsed(json_text: str) -> Any:
    """JSON as Python reads it, numbers as the texts they are and told from texts; members in their order."""

    def number(text: str) -> tuple[str, str]:
        return ("number", text)

    return json.loads(json_text, parse_float=number, parse_int=number, parse_constant=number, object_pairs_hook=list)


def is_same(found: str | None, json_text: str) -> bool:
    """Whether silver's text of a member is what the line says."""
    expected = parsed(json_text)
    if isinstance(expected, str) or expected is None:
        return found == expected
    return found is not None and parsed(found) == expected


def test_random_documents_keep_every_digit(lake: Lake) -> None:
    rng = random.Random(2)
    texts = [generated(rng) for _ in range(1_500)]
    lines = [member("v", text, number) for number, text in enumerate(texts)]
    write_bytes(lake, "public.random", "LOAD00000001.json", "\n".join(lines).encode())
    assert lake.run(lake.config({"public.random": {}}, bronze=JSON)).errors == {}
    rows = dict(lake.rows("random", "CAST(id AS int), v"))
    assert [(text, rows.get(n)) for n, text in enumerate(texts) if n not in rows or not is_same(rows[n], text)] == []


def test_declared_numbers_are_exact_or_quarantined_and_replayed_as_they_were(lake: Lake) -> None:
    numbers = ["12345678901234567.89", "1.10", "1.105", "1e400", "12345678901234567890.10", '"7.25"', "1e2"]
    write_bytes(lake, "public.typed", "LOAD00000001.json", "\n".join(member("v", n, i) for i, n in enumerate(numbers)).encode())

    def declared(type_: str) -> dict[str, dict[str, Any]]:
        return {"public.typed": {"columns": [{"name": "id", "type": "int"}, {"name": "v", "type": type_}]}}

    config = lake.config(declared("decimal(19,2)"), bronze=JSON)
    lake.run_one(config)
    stored = [(0, "12345678901234567.89"), (1, "1.10"), (5, "7.25"), (6, "100.00")]
    assert lake.rows("typed", "id, v") == [(n, Decimal(text)) for n, text in stored]
    found = lake.quarantine("typed", "reason, detail, get_json_object(record, '$.v')")
    assert found == [("cast", "v does not fit decimal(19,2)", numbers[n]) for n in (2, 3, 4)]
    (report,) = replay(lake.spark, lake.config(declared("decimal(38,3)"), bronze=JSON)).tables.values()
    assert report.error is not None and "declared as decimal(38,3)" in report.error
    lake.spark.sql(f"ALTER TABLE lake.{lake.namespace}.typed ALTER COLUMN v TYPE decimal(38,2)")
    (report,) = replay(lake.spark, lake.config(declared("decimal(38,2)"), bronze=JSON)).tables.values()
    assert (report.error, report.applied) == (None, 1)
    assert (4, Decimal("12345678901234567890.10")) in lake.rows("typed", "id, v")


def test_key_change_and_delete_by_numbers(lake: Lake) -> None:
    def change(op: str, counter: int, id_: str, old: str = "null") -> str:
        return f'{{"Op":"{op}","id":{id_},"v":"{op}{counter}","dms_change_seq":"{sequence(T1, counter)}","BI_id":{old}}}'

    entry = {"public.moved": {"columns": [{"name": "id", "type": "decimal(30,2)"}]}}
    config = lake.config(entry, bronze=JSON)
    ids = ["12345678901234567.10", "12345678901234567.11", "12345678901234567.12"]
    write_bytes(
        lake, "public.moved", "LOAD00000001.json", "\n".join(member("v", '"load"', 0).replace('"id":0', f'"id":{n}') for n in ids).encode()
    )
    lake.run_one(config)
    lines = [change("U", 61, "12345678901234567.20", ids[0]), change("D", 65, ids[1])]
    write_bytes(lake, "public.moved", "20260301-100130000.json", "\n".join(lines).encode())
    lake.run_one(config)
    assert lake.rows("moved", "id, v") == [(Decimal(ids[2]), "load"), (Decimal("12345678901234567.20"), "U61")]


def test_twins_are_named_with_their_file(lake: Lake) -> None:
    write_bytes(lake, "public.twins", "LOAD00000001.json", member("v", "1", 1).encode())
    write_bytes(lake, "public.twins", "LOAD00000002.json", member("V", "1", 2).encode())
    report = lake.run_one(lake.config({"public.twins": {}}, bronze=JSON), fails=True)
    assert "twins/LOAD00000001.json" in str(report.error) and "'V' and 'v'" in str(report.error)
    assert "twins/LOAD00000002.json" in str(report.error)
