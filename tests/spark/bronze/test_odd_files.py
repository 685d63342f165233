"""Files that are odd but not beyond use: what can be merged is merged, and the rest says why not.

Every format's tables are merged in one run.
"""

import gzip
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
