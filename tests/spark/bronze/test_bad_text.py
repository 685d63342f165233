"""Damaged and impossible CSV and JSON files: each ends in quarantine or in an error that says what to do, and harms no other table."""

import gzip
import json
import random
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import attrs
import pytest
from pyspark.sql import SparkSession

from support.bad_input import Case, Outcome, Writer, judge, load, run_cases
from support.lake import COMMIT, Lake, sequence
from support.text_files import HEADER, ONLY_SEQUENCE, cdc_name, change_line, load_line, write_text

T1 = "20260301100100"
TYPED = {"columns": [{"name": "id", "type": "bigint"}, {"name": "v", "type": "string"}]}

# --- CSV -------------------------------------------------------------------------------------------------------------------------


def csv_load(*lines: str | bytes, header: str | bytes | None = HEADER, name: str = "LOAD00000001.csv") -> Writer:
    return lambda lake, table: write_text(lake, table, name, lines, header)


def raw(data: bytes, name: str = "LOAD00000001.csv") -> Writer:
    def write(lake: Lake, table: str) -> None:
        lake.path(table, name).write_bytes(data)

    return write


def empty_then_changes(lake: Lake, table: str) -> None:
    write_text(lake, table, "LOAD00000001.csv", [], header=None)
    write_text(lake, table, cdc_name(1, "csv"), [change_line("I", T1, 61, 1, "a")])


PADDING = [load_line(number, "pad" * 40) for number in range(100, 1_000)]
"""More than the bytes that are looked at for the header."""
PADDED = [(number, "pad" * 40) for number in range(100, 1_000)]

CSV = [
    Case("good", csv_load(load_line(1, "a")), rows=[(1, "a")]),
    Case(
        "wrong_widths",
        csv_load(load_line(1, "a"), "I,2026-03-01 10:00:00.000000,2", load_line(3, "c") + ",too,many", load_line(4, "d")),
        rows=[(1, "a"), (4, "d")],
        rejected=[("malformed", "columns")] * 2,
    ),
    Case("empty_csv", csv_load(header=None), rows=[], table=TYPED),
    Case("empty_csv_then_changes", empty_then_changes, rows=[(1, "a")]),
    Case("header_only", csv_load(), rows=[]),
    Case("garbage_csv", raw(b"\x9c\x01" + random.Random(3).randbytes(5000)), error=("LOAD00000001.csv",)),
    Case("ascii_garbage", raw(b"hello world\nthis is no csv\n"), error=("LOAD00000001.csv", "'Op'", "taken for data")),
    Case("endless_quote", raw(b'"' + b"x" * 200_000), error=("LOAD00000001.csv", "first record is not valid CSV")),
    Case(
        "latin1_header",
        csv_load(load_line(1, "a"), header="Op,dms_commit_ts,id,straße,dms_change_seq".encode("latin-1")),
        error=("LOAD00000001.csv", "column 4", "not UTF-8", "Restore"),
    ),
    Case(
        "latin1_row",
        csv_load(load_line(1, "a"), load_line(2, "stra\xdfe").encode("latin-1"), load_line(3, "straße \ufffd €")),
        rows=[(1, "a"), (3, "straße \ufffd €")],
        rejected=[("encoding", "not UTF-8")],
    ),
    Case(
        "latin1_row_far_down",
        csv_load(*PADDING, load_line(2, "stra\xdfe").encode("latin-1"), load_line(3, "straße")),
        rows=[(3, "straße"), *PADDED],
        rejected=[("encoding", "not UTF-8")],
    ),
    Case("byte_order_mark", raw(b"\xef\xbb\xbf" + f"{HEADER}\n{load_line(1, 'a')}\n".encode()), error=("byte order mark", "Restore")),
    Case("utf16", raw(f"{HEADER}\n{load_line(1, 'a')}\n".encode("utf-16")), error=("byte order mark",)),
    Case(
        "texts_of_expressions",
        csv_load(*(load_line(number, text) for number, text in enumerate(["2026-03-01", "2026-03-01 garbage", ""], 1))),
        rows=[(1, date(2026, 3, 1)), (3, None)],
        rejected=[("cast", "v does not fit date")],
        table={"columns": [{"name": "id", "type": "bigint"}, {"name": "v", "expr": "nullif(v, '')", "type": "date"}]},
    ),
    Case(
        "number_texts_of_expressions",
        csv_load(*(load_line(number, text) for number, text in enumerate(["1.50", "1e400", "0x1p3", "n"], 1))),
        rows=[(1, 1.5), (4, None)],
        rejected=[("cast", "v does not fit double")] * 2,
        table={"columns": [{"name": "id", "type": "bigint"}, {"name": "v", "expr": "nullif(v, 'n')", "type": "double"}]},
    ),
    Case(
        "hexadecimal_texts_of_expressions",
        csv_load(*(load_line(number, text) for number, text in enumerate(["0xDEADBEEF", "0xde", "0xDEA", "0xno", "0x"], 1))),
        rows=[(1, b"\xde\xad\xbe\xef"), (2, b"\xde"), (5, b"")],
        rejected=[("cast", "v does not fit binary")] * 2,
        table={"columns": [{"name": "id", "type": "bigint"}, {"name": "v", "expr": "substr(v, 3)", "type": "binary"}]},
    ),
    Case(
        "bytes_of_expressions",
        csv_load(load_line(1, "DEAD")),
        rows=[(1, b"DEAD")],
        table={"columns": [{"name": "id", "type": "bigint"}, {"name": "v", "expr": "CAST(v AS binary)", "type": "binary"}]},
    ),
    Case(
        "numbers_of_expressions",
        csv_load(load_line(1, "1.2377")),
        rows=[(1, Decimal("1.24"))],
        table={
            "columns": [
                {"name": "id", "type": "bigint"},
                {"name": "v", "expr": "CAST(v AS decimal(10,4))", "type": "decimal(10,2)"},
            ]
        },
    ),
    Case(
        "no_insert",
        csv_load(load_line(1, "a"), load_line(1, "b", op="U"), load_line(2, "c", op="D")),
        rows=[(1, "a")],
        rejected=[("unknown_op", "only inserts")] * 2,
    ),
    Case("unknown_op", csv_load(load_line(1, "a", op="x"), load_line(2, "b", op="")), rows=[], rejected=[("unknown_op", "allowed")] * 2),
    Case("big_field_first", csv_load(load_line(1, "z" * 10_000_000), load_line(2, "b")), rows=[(1, "z" * 10_000_000), (2, "b")]),
    Case("big_field_gzip", csv_load(load_line(1, "z" * 10_000_000), name="LOAD00000001.csv.gz"), rows=[(1, "z" * 10_000_000)]),
    Case(
        "not_gzip", raw(f"{HEADER}\n{load_line(1, 'a')}\n".encode(), "LOAD00000001.csv.gz"), error=("LOAD00000001.csv.gz", "not gzip data")
    ),
    Case(
        "truncated_gzip",
        raw(gzip.compress("\n".join([HEADER, *PADDING]).encode())[:-200], "LOAD00000001.csv.gz"),
        error=("LOAD00000001.csv.gz", "cut off", "Restore"),
        rows=[],
    ),
    Case(
        "gzip_in_two_members",
        raw(gzip.compress(f"{HEADER}\n".encode()) + gzip.compress(f"{load_line(1, 'a')}\n".encode()), "LOAD00000001.csv.gz"),
        rows=[(1, "a")],
    ),
    Case("gone_before_reading", csv_load(load_line(1, "a")), error=("gone_before_reading/LOAD00000001.csv", "Restore")),
    Case("other_extension", lambda lake, t: load(lake, t), error=("LOAD00000001.parquet", "bronze.format is 'csv'")),
    Case("service_columns_only", csv_load("I", header="Op"), error=("key column 'id'", "service_columns_only/LOAD00000001.csv")),
    Case("missing_key_column", csv_load(load_line(1, "a")), error=("key column 'code'", "id, v"), table={"key": ["code"]}),
    Case(
        "rounds",
        csv_load(*(load_line(n, v) for n, v in enumerate(["1.2377", "001.500", "15e1", "15e-3", "-.5"], 1))),
        rows=[(2, Decimal("1.50")), (3, Decimal(150)), (5, Decimal("-0.50"))],
        rejected=[("cast", "v does not fit decimal(10,2)")] * 2,
        table={"columns": [{"name": "id", "type": "bigint"}, {"name": "v", "type": "decimal(10,2)"}]},
    ),
    Case("reserved", csv_load(load_line(1, "a"), header="Op,_metadata,id,v,dms_change_seq"), error=("'_metadata'", "mapping rule")),
    Case(
        "nameless",
        csv_load(load_line(1, "a,x"), header="Op,dms_commit_ts,id,v,,dms_change_seq"),
        error=("LOAD00000001.csv", "column 5 of 6"),
    ),
    Case("same_name_twice", csv_load(load_line(1, "a"), header="Op,dms_commit_ts,id,id,dms_change_seq"), error=("'id' and 'id'",)),
    Case(
        "key_that_is_no_number",
        csv_load(load_line("one", "a"), load_line(2, "b")),
        rows=[(2, "b")],
        rejected=[("cast", "id does not fit bigint")],
        table={"columns": [{"name": "id", "type": "bigint"}]},
    ),
    Case(
        "impossible_times",
        lambda lake, t: write_text(
            lake,
            t,
            cdc_name(1, "csv"),
            [f"I,2026-03-01 25:00:00,1,a,{sequence(T1, 61)}", f"I,never,2,b,{sequence(T1, 65)}", change_line("I", T1, 69, 3, "c")],
        ),
        rows=[(3, "c")],
        rejected=[("bad_timestamp", "impossible")] * 2,
    ),
]
CSV = [
    attrs.evolve(case, table={"columns": [{"name": "id", "type": "bigint"}], **case.table}) if case.table.get("key") is None else case
    for case in CSV
]

# --- CSV without header ----------------------------------------------------------------------------------------------------------

SOURCE_COLUMNS = {"source_columns": ["id", "v"], "columns": [{"name": "id", "type": "bigint"}]}
HEADERLESS = [
    Case("good", csv_load(load_line(1, "a"), header=None), rows=[(1, "a")], table=SOURCE_COLUMNS),
    Case(
        "too_narrow",
        csv_load("I,2026-03-01 10:00:00.000000,1", header=None),
        error=("LOAD00000001.csv", "3 columns", "names 5", "source_columns", "AddColumnName"),
        table=SOURCE_COLUMNS,
    ),
    Case(
        "too_wide",
        csv_load("I,2026-03-01 10:00:00.000000,1,a,new,,,9", header=None),
        error=("LOAD00000001.csv", "8 columns", "names 5", "source_columns"),
        table=SOURCE_COLUMNS,
    ),
    Case(
        "one_wrong_row",
        csv_load(load_line(1, "a"), load_line(2, "b") + ",extra", load_line(3, "c"), header=None),
        rows=[(1, "a"), (3, "c")],
        rejected=[("malformed", "columns")],
        table=SOURCE_COLUMNS,
    ),
    Case("empty_headerless", csv_load(header=None), rows=[], table=SOURCE_COLUMNS | TYPED),
]

# --- JSON lines ------------------------------------------------------------------------------------------------------------------


def json_line(**values: Any) -> str:
    return json.dumps({"Op": "I", "dms_commit_ts": COMMIT, **values}, ensure_ascii=False)


def json_load(*lines: str | bytes, name: str = "LOAD00000001.json") -> Writer:
    return csv_load(*lines, header=None, name=name)


DECLARED_ID = {"columns": [{"name": "id", "type": "bigint"}]}
JSON = [
    Case("good", json_load(json_line(id=1, v="a")), rows=[(1, "a")], table=DECLARED_ID),
    Case(
        "corrupt_lines",
        json_load(json_line(id=1, v="a"), '{"Op": "I", "id": 2, "v"', "[1", "no json", json_line(id=3, v="c")),
        rows=[(1, "a"), (3, "c")],
        rejected=[("malformed", "parse")] * 3,
        table=DECLARED_ID,
    ),
    Case(
        "latin1_line",
        json_load(json_line(id=1, v="straße"), json_line(id=2, v="stra\xdfe").encode("latin-1"), json_line(id=3, v="\ufffd")),
        rows=[(1, "straße"), (3, "\ufffd")],
        rejected=[("encoding", "not UTF-8")],
        table=DECLARED_ID,
    ),
    Case(
        "garbage_json", raw(random.Random(4).randbytes(3000), "LOAD00000001.json"), error=("LOAD00000001.json", "'Op'"), table=DECLARED_ID
    ),
    Case("empty_json", json_load(), rows=[], table=TYPED),
    Case("not_gzip", raw(json_line(id=1, v="a").encode(), "LOAD00000001.json.gz"), error=("json.gz", "not gzip"), table=DECLARED_ID),
    Case("big_field", json_load(json_line(id=1, v="z" * 10_000_000)), rows=[(1, "z" * 10_000_000)], table=DECLARED_ID),
    Case(
        "twins",
        json_load(json_line(id=1, v="a"), json_line(ID=2, v="b")),
        error=("'id'", "case only", "LOAD00000001.json"),
        table=DECLARED_ID,
    ),
    Case("gone_before_reading", json_load(json_line(id=1, v="a"), name="LOAD00000001.json.gz"), error=("gone_before_reading", "Restore")),
    Case("null_op", json_load(json_line(Op=None, id=1, v="a")), rows=[], rejected=[("unknown_op", "allowed")], table=DECLARED_ID),
]

FORMATS: dict[str, tuple[list[Case], dict[str, Any]]] = {
    "csv": (CSV, {"format": "csv"}),
    "headerless": (HEADERLESS, {"format": "csv", "csv": {"header": False}, "change": ONLY_SEQUENCE}),
    "json": (JSON, {"format": "json"}),
}


@pytest.fixture(scope="module")
def outcomes(spark: SparkSession, warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Outcome]]:
    """Every format's cases in one run each."""
    yield {name: run_cases(spark, warehouse, tmp_path_factory.mktemp(name), cases, bronze) for name, (cases, bronze) in FORMATS.items()}


@pytest.mark.parametrize(
    ("format_", "case"), [pytest.param(name, case, id=f"{name}-{case.name}") for name, (cases, _) in FORMATS.items() for case in cases]
)
def test_bad_text(outcomes: dict[str, Outcome], format_: str, case: Case) -> None:
    judge(case, outcomes[format_])
