"""Files that are odd but not beyond use: what can be merged is merged, and the rest says why not.

Every format's tables are merged in one run.
"""

import gzip
import json
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from dms_iceberg.runs.report import TableReport
from support.lake import COMMIT, Lake, sequence
from support.text_files import ONLY_SEQUENCE, cdc_name, change_line, load_line, write_bytes, write_text

T1 = "20260301100100"
SOURCE_COLUMNS = {"source_columns": ["id", "v"], "columns": [{"name": "id", "type": "bigint"}]}
DECLARED = {"columns": [{"name": "id", "type": "bigint"}, {"name": "v", "type": "string"}]}
JSON_LINE = f'{{"Op": "I", "dms_commit_ts": "{COMMIT}", "id": 1, "v": "a"}}'
NULLS: list[tuple[str, Any]] = [("id", pa.int64()), ("v", pa.null()), ("w", pa.null()), ("x", pa.null())]


class Ran:
    """A lake whose tables were merged, and what was reported."""

    def __init__(self, lake: Lake) -> None:
        self.lake, self.tables = lake, dict[str, TableReport]()

    def run(self, tables: dict[str, dict[str, Any]], **bronze: Any) -> None:
        for name, report in self.lake.run(self.lake.config(tables, bronze=bronze)).tables.items():
            assert report.error is None, report.error
            self.tables[name.partition(".")[2]] = report

    def rejected(self, table: str) -> list[str]:
        assert self.tables[table].quarantined > 0
        return [reason for (reason,) in self.lake.quarantine(table, "reason")]


@pytest.fixture(scope="module")
def ran(spark: SparkSession, warehouse: Any, tmp_path_factory: pytest.TempPathFactory) -> Ran:
    lake = Lake(spark, warehouse, tmp_path_factory.mktemp("odd_files"))
    ran = Ran(lake)
    headerless(ran)
    json_lines(ran)
    parquet(ran)
    empty_operations(ran)
    return ran


def headerless(ran: Ran) -> None:
    def load(table: str, *lines: str) -> None:
        write_text(ran.lake, f"public.{table}", "LOAD00000001.csv", lines, header=None)

    load("loaded_with_sequence", f"I,{COMMIT},1,a,{sequence(T1, 61)}", load_line(2, "b"))
    load("short_first_line", f"I,{COMMIT},1", load_line(2, "b"), load_line(3, "c"))
    load("long_first_line", load_line(1, "a") + ",,,,x", load_line(2, "b"))
    write_text(ran.lake, "public.changes", cdc_name(1, "csv"), ["D", change_line("I", T1, 65, 2, "b")], header=None)
    names = ("loaded_with_sequence", "short_first_line", "long_first_line", "changes")
    ran.run({f"public.{name}": SOURCE_COLUMNS for name in names}, format="csv", csv={"header": False}, change=ONLY_SEQUENCE)


def json_lines(ran: Ran) -> None:
    for name, data in {"blank": b"\n  \n", "blank_gzip": gzip.compress(b""), "blank_beside_rows": b"\n"}.items():
        suffix = "json.gz" if name == "blank_gzip" else "json"
        ran.lake.path(f"public.{name}", f"LOAD00000001.{suffix}").write_bytes(data)
    write_bytes(ran.lake, "public.blank_beside_rows", "LOAD00000002.json", JSON_LINE.encode() + b"\n\n")
    ran.run({f"public.{name}": DECLARED for name in ("blank", "blank_gzip", "blank_beside_rows")}, format="json")


def parquet(ran: Ran) -> None:
    lake = ran.lake
    typed = [("id", pa.int64()), ("v", pa.string()), ("w", pa.int32())]
    lake.load("public.nulls_first", NULLS, [(1, None, None, None)])
    lake.changes("public.nulls_first", cdc_name(1), typed, [("U", T1, 61, 1, "a", 7), ("I", T1, 65, 2, "b", 8)])
    lake.load("public.nulls_later", typed, [(1, "a", 7), (2, "b", 8)])
    lake.changes("public.nulls_later", cdc_name(1), NULLS, [("U", T1, 61, 1, None, None, None)])
    service = [("Op", pa.string()), ("dms_commit_ts", pa.null()), *typed, ("dms_change_seq", pa.null()), ("BI_id", pa.null())]
    lake.parquet("public.null_service_columns", "LOAD00000001.parquet", service, [("I", None, 1, "a", 7, None, None)])
    lake.load("public.null_in_conditions", NULLS, [(1, None, None, None), (2, None, None, None)])
    conditions = {
        "columns": [{"name": "v", "mask": "redact"}, {"name": "loud", "expr": "upper(w)"}],
        "filter": "x IS NULL",
        "rules": [{"name": "positive", "expr": "w > 0"}, {"name": "first", "expr": "id = 1"}],
        "drop": ["x"],
    }
    ran.run(
        {
            "public.nulls_first": {},
            "public.nulls_later": {"columns": [{"name": "w", "backfill": 9}]},
            "public.null_service_columns": {},
            "public.null_in_conditions": conditions,
        },
        format="parquet",
    )


WITHOUT_OP = {**ONLY_SEQUENCE, "load_without_op": True}
EMPTY_OPERATIONS = {
    # The whole file decides: of two files the second has operations, as does a row of the third table's file.
    "none": {"LOAD00000001": [("", 1, "a"), ("", 2, "b")]},
    "one_of_two": {"LOAD00000001": [("", 1, "a"), ("", 2, "b")], "LOAD00000002": [("I", 3, "c")]},
    "mixed": {"LOAD00000001": [("I", 1, "a"), ("", 2, "b"), ("I", 3, "c")]},
    "in_changes": {"LOAD00000001": [("", 1, "a")], "20260301-100130000": [("", 2, "b"), ("I", 3, "c")]},
}
EMPTY = {"parquet": (None, "", pa.null()), "csv": (None,), "json": (None, "")}
"""By format, what stands for an empty operation: a value, or a type that has none."""


def empty_operations(ran: Ran) -> None:
    for form, nothing in EMPTY.items():
        tables = dict[str, dict[str, Any]]()
        for number, empty in enumerate(nothing):
            for case, files in EMPTY_OPERATIONS.items():
                table = f"public.{case}_{form}_{number}"
                for name, rows in files.items():
                    _put(ran.lake, table, f"{name}.{form}", rows, empty)
                tables[table] = DECLARED
        ran.run(tables, format=form, change=WITHOUT_OP)


def _put(lake: Lake, table: str, name: str, rows: list[tuple[str, int, str]], empty: Any) -> None:
    is_load, form = name.startswith("LOAD"), name.rpartition(".")[2]
    untyped = isinstance(empty, pa.DataType) and not any(op for op, *_ in rows)
    shown = [
        (op or (None if isinstance(empty, pa.DataType) else empty), COMMIT, key, v, None if is_load else sequence(T1, 61 + key))
        for op, key, v in rows
    ]
    columns = ["Op", "dms_commit_ts", "id", "v", "dms_change_seq"]
    if form == "parquet":
        types = [pa.null() if untyped else pa.string(), pa.string(), pa.int64(), pa.string(), pa.string()]
        lake.parquet(table, name, list(zip(columns, types, strict=True)), shown)
    elif form == "json":
        write_text(lake, table, name, [json.dumps(dict(zip(columns, row, strict=True))) for row in shown], header=None)
    else:
        write_text(lake, table, name, [",".join("" if cell is None else str(cell) for cell in row) for row in shown])


@pytest.mark.parametrize(("form", "number"), [(form, number) for form, nothing in EMPTY.items() for number in range(len(nothing))])
def test_loads_whose_operation_is_empty(ran: Ran, form: str, number: int) -> None:
    def rows(case: str) -> list[tuple[Any, ...]]:
        return ran.lake.rows(f"{case}_{form}_{number}", "id, v, _cdc_op")

    def rejected(case: str) -> list[tuple[Any, ...]]:
        return ran.lake.quarantine(f"{case}_{form}_{number}")

    assert rows("none") == [(1, "a", "I"), (2, "b", "I")]
    assert rows("one_of_two") == [(1, "a", "I"), (2, "b", "I"), (3, "c", "I")]
    assert rows("mixed") == [(1, "a", "I"), (3, "c", "I")]
    assert rows("in_changes") == [(1, "a", "I"), (3, "c", "I")]
    ((reason, detail),) = rejected("mixed")
    assert reason == "unknown_op"
    assert "the row has no operation" in detail
    assert "Either other rows of its LOAD file have one" in detail
    ((reason, detail),) = rejected("in_changes")
    assert (reason, detail) == ("unknown_op", "the row has no operation; allowed are I, U, D")
    assert [ran.tables[f"{case}_{form}_{number}"].quarantined for case in ("none", "one_of_two")] == [0, 0]


def test_a_headerless_load_may_have_a_sequence(ran: Ran) -> None:
    assert ran.lake.rows("loaded_with_sequence", "id, v") == [(1, "a"), (2, "b")]


def test_one_odd_first_line_does_not_stop_a_headerless_table(ran: Ran) -> None:
    assert ran.lake.rows("short_first_line", "id, v") == [(2, "b"), (3, "c")]
    assert ran.lake.rows("long_first_line", "id, v") == ran.lake.rows("changes", "id, v") == [(2, "b")]
    assert [ran.rejected(name) for name in ("short_first_line", "long_first_line", "changes")] == [["malformed"]] * 3


@pytest.mark.parametrize(("table", "rows"), [("blank", []), ("blank_gzip", []), ("blank_beside_rows", [(1, "a")])])
def test_json_file_without_any_row_is_just_empty(ran: Ran, table: str, rows: list[tuple[Any, ...]]) -> None:
    assert ran.lake.rows(table, "id, v") == rows


def test_parquet_column_of_type_null_is_null_and_has_no_type_yet(ran: Ran) -> None:
    assert ran.lake.rows("nulls_first", "id, v, w") == [(1, "a", 7), (2, "b", 8)]
    assert ran.lake.rows("nulls_later", "id, v, w") == [(1, None, None), (2, "b", 8)]
    assert ran.lake.rows("null_service_columns", "id, v, w") == [(1, "a", 7)]
    for table in ("nulls_first", "nulls_later"):
        types = dict(ran.lake.spark.table(f"lake.{ran.lake.namespace}.{table}").dtypes)
        assert (types["v"], types["w"], "x" in types) == ("string", "int", False)


def test_parquet_column_of_type_null_in_expressions_masks_and_conditions(ran: Ran) -> None:
    assert ran.lake.rows("null_in_conditions", "id, v, loud") == [(1, None, None)]
    assert ran.rejected("null_in_conditions") == ["rule"]
