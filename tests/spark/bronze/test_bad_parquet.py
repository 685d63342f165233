"""Damaged and impossible Parquet files: each ends in quarantine or in an error that says what to do, and harms no other table."""

import random
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from support.bad_input import ID_V, Case, Outcome, Writer, judge, load, run_cases
from support.lake import COMMIT, Lake, sequence
from support.text_files import cdc_name, write_bytes, write_text

T1 = "20260301100100"


def damage(change: Callable[[bytes], bytes]) -> Writer:
    def write(lake: Lake, table: str) -> None:
        path = load(lake, table, [(number, "x" * 50) for number in range(2_000)])
        path.write_bytes(change(path.read_bytes()))

    return write


def cut_in_the_middle(data: bytes) -> bytes:
    return data[: len(data) // 3] + data[len(data) // 2 :]


def renamed_in_its_schema(data: bytes) -> bytes:
    """The last place where a name stands is that of the data of its column."""
    before, _, after = data.rpartition(b"dms_commit_ts")
    return before + b"dms_commit_tr" + after


def unknown_kind_of_page(data: bytes) -> bytes:
    """A byte of the footer, over which Arrow passes."""
    changed = data.replace(b"\x19\x1c\x15\x00\x15", b"\x19\x1c\x15\x69\x15").replace(b"\x19\x2c\x15\x04\x15", b"\x19\x2c\x15\x69\x15")
    assert changed != data
    return changed


def overwritten_in_the_middle(data: bytes) -> bytes:
    third = len(data) // 3
    return data[:third] + random.Random(1).randbytes(third) + data[2 * third :]


def service(rows: list[tuple[Any, ...]], columns: list[tuple[str, Any]], *, without: str = "") -> Writer:
    """A CDC Parquet file with every column given, service columns included."""

    def write(lake: Lake, table: str) -> None:
        names = ["Op", "dms_commit_ts", *(name for name, _ in columns), "dms_change_seq"]
        types = [pa.string(), pa.string(), *(type_ for _, type_ in columns), pa.string()]
        kept = [i for i, name in enumerate(names) if name != without]
        lake.parquet(table, cdc_name(1), [(names[i], types[i]) for i in kept], [[row[i] for i in kept] for row in rows])

    return write


def change(op: Any, counter: int, id_: Any, v: Any = "x", *, commit: Any = COMMIT, seq: Any = None) -> tuple[Any, ...]:
    return (op, commit, id_, v, sequence(T1, counter) if seq is None else seq)


def twins(lake: Lake, table: str) -> None:
    lake.load(table, [("id", pa.int64()), ("Name", pa.string()), ("NAME", pa.string())], [(1, "a", "b")])


def load_without_op(lake: Lake, table: str) -> None:
    lake.parquet(table, "LOAD00000001.parquet", [("dms_commit_ts", pa.string()), *ID_V], [(COMMIT, 1, "a")])


def time_column(lake: Lake, table: str) -> None:
    lake.load(table, [*ID_V, ("opens", pa.time32("ms"))], [(1, "a", 1000)])


def image_of_another_type(lake: Lake, table: str) -> None:
    """Names of two columns were swapped; the image would have stood in the place of the key."""
    load(lake, table)
    columns = [*ID_V, ("dms_change_seq", pa.string()), ("BI_id", pa.string())]
    named = [("Op", pa.string()), ("dms_commit_ts", pa.string()), *columns]
    lake.parquet(table, cdc_name(1), named, [("U", COMMIT, 1, "x", sequence(T1, 61), "b")])


READING = ("_metadata", "_cdc_op", "_cdc_file")
"""Names that reading needs."""


def named(name: str) -> Writer:
    return lambda lake, table: lake.load(table, [*ID_V, (name, pa.string())], [(1, "a", "x")])


def zero_rows_then_changes(lake: Lake, table: str) -> None:
    load(lake, table, [])
    lake.changes(table, cdc_name(1), ID_V, [("I", T1, 61, 1, "a")])


CASES = [
    Case("good", load, rows=[(1, "a"), (2, "b")]),
    Case("truncated", damage(lambda data: data[: len(data) // 2]), error=("LOAD00000001.parquet", "no Parquet footer", "Restore")),
    Case("cut_in_the_middle", damage(cut_in_the_middle), error=("LOAD00000001.parquet", "more data than the file holds", "Restore")),
    Case("overwritten", damage(overwritten_in_the_middle), error=("LOAD00000001.parquet", "Restore"), rows=[]),
    Case("kind_of_page", damage(unknown_kind_of_page), error=("LOAD00000001.parquet", "footer cannot be read", "Restore"), rows=[]),
    Case("other_name", damage(renamed_in_its_schema), error=("LOAD00000001.parquet", "different names", "Restore")),
    Case("empty_parquet", lambda lake, t: write_bytes(lake, t, "LOAD00000001.parquet", b""), error=("not a whole Parquet file (0 bytes",)),
    Case(
        "garbage_parquet",
        lambda lake, t: write_bytes(lake, t, "LOAD00000001.parquet", random.Random(2).randbytes(5000)),
        error=("LOAD00000001.parquet", "no Parquet footer"),
    ),
    Case(
        "garbage_footer",
        lambda lake, t: write_bytes(lake, t, "LOAD00000001.parquet", b"PAR1" + b"\x07" * 500 + (100).to_bytes(4, "little") + b"PAR1"),
        error=("LOAD00000001.parquet", "footer cannot be read", "Restore"),
    ),
    Case(
        "image_of_another_type",
        image_of_another_type,
        error=("20260301-100130000.parquet: the before-image 'BI_id' of column 'id' is string and the column bigint",),
        rows=[(1, "a"), (2, "b")],
    ),
    Case("zero_rows", lambda lake, t: load(lake, t, []), rows=[]),
    Case("zero_rows_then_changes", zero_rows_then_changes, rows=[(1, "a")]),
    Case(
        "unknown_op",
        service([change("X", 61, 1), change("I", 65, 2)], ID_V),
        rows=[(2, "x")],
        rejected=[("unknown_op", "allowed are I, U, D")],
    ),
    Case("null_op", service([change(None, 61, 1), change("I", 65, 2)], ID_V), rows=[(2, "x")], rejected=[("unknown_op", "allowed")]),
    Case("load_without_op", load_without_op, error=("LOAD00000001.parquet", "'Op'", "load_without_op", "IncludeOpForFullLoad")),
    Case("changes_without_op", service([change("I", 61, 1)], ID_V, without="Op"), error=("'Op'", "bronze.change.op_column")),
    Case(
        "impossible_commit_times",
        service(
            [
                change("I", 61, 1, commit="2026-13-45 99:00:00"),
                change("I", 65, 2, commit="2026-02-30 10:00:00"),
                change("I", 69, 3, commit="10:00:00"),
                change("I", 73, 4),
            ],
            ID_V,
        ),
        rows=[(4, "x")],
        rejected=[("bad_timestamp", "impossible")] * 3,
    ),
    Case(
        "impossible_declared_times",
        service([change("I", 61, 1, "2026-02-30 10:00:00"), change("I", 65, 2, "10:00:00"), change("I", 69, 3, None)], ID_V),
        rows=[(3, None)],
        rejected=[("cast", "v does not fit timestamp")] * 2,
        table={"columns": [{"name": "v", "type": "timestamp"}]},
    ),
    Case(
        "wrong_sequence",
        service([change("I", 61, 1, seq="123"), change("I", 61, 2, seq="x" * 35), change("I", 61, 3, seq=""), change("I", 61, 4)], ID_V),
        rows=[(4, "x")],
        rejected=[("no_position", "sequence")] * 3,
    ),
    *(
        Case(
            f"rounds_to_{name}",
            service([change("I", 61, 1, lost), change("I", 65, 2, kept)], [ID_V[0], ("v", found)]),
            rows=[(2, stored)],
            rejected=[("cast", f"v does not fit {type_}")],
            table={"columns": [{"name": "v", "type": type_}]},
        )
        for name, found, type_, lost, kept, stored in (
            ("cents", pa.float64(), "decimal(10,2)", 1.2377, 1.25, Decimal("1.25")),
            ("int", pa.float64(), "int", 1.5, 3.0, 3),
            ("double", pa.int64(), "double", 2**53 + 1, 2**53, float(2**53)),
        )
    ),
    Case(
        "rounded_by_expression",
        service([change("I", 61, 1, 1.2377)], [ID_V[0], ("v", pa.float64())]),
        rows=[(1, Decimal("1.24"))],
        table={"columns": [{"name": "v", "expr": "round(v, 2)", "type": "decimal(10,2)"}]},
    ),
    Case("null_key", service([change("I", 61, None), change("I", 65, 1)], ID_V), rows=[(1, "x")], rejected=[("null_key", "id is NULL")]),
    Case("missing_key_column", load, error=("LOAD00000001.parquet", "key column 'code'", "id, v", "tables."), table={"key": ["code"]}),
    Case("big_field", service([change("I", 61, 1, "y" * 10_000_000)], ID_V), rows=[(1, "y" * 10_000_000)]),
    Case("gone_before_inspection", load, error=("gone_before_inspection/LOAD00000001.parquet", "does not exist", "Restore")),
    Case("gone_before_reading", load, error=("gone_before_reading/LOAD00000001.parquet", "Restore")),
    Case(
        "other_extension",
        lambda lake, t: write_text(lake, t, "LOAD00000001.csv", []),
        error=("LOAD00000001.csv", "bronze.format is 'parquet'"),
    ),
    Case("time_column", time_column, error=("'opens'", "time32[ms]", "change-data-type", '"column-name":"opens"', "drop")),
    Case("time_column_dropped", time_column, rows=[(1, "a")], table={"drop": ["opens"]}),
    *(
        Case(
            f"named{name.lower()}",
            named(name),
            error=(f"'{name}'", "Iceberg's own", '"from": ', "drop", "mapping rule"),
        )
        for name in ("_file", "_pos", "_deleted", "_SPEC_ID", "_partition", "_row_id")
    ),
    *(Case(f"named{name}", named(name), error=(f"'{name}'", "LOAD00000001.parquet", "mapping rule")) for name in READING),
    *(Case(f"dropped{name}", named(name), rows=[(1, "a")], table={"drop": [name]}) for name in ("_file", *READING)),
    Case("renamed_file", named("_file"), rows=[(1, "a")], table={"columns": [{"name": "file", "from": "_file"}]}),
    Case("twins", twins, error=("'Name' and 'NAME'", "LOAD00000001.parquet", "mapping rule")),
]


@pytest.fixture(scope="module")
def outcome(spark: SparkSession, warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outcome]:
    """All cases in one run."""
    yield run_cases(spark, warehouse, tmp_path_factory.mktemp("parquet"), CASES, {"format": "parquet"})


@pytest.mark.long
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_bad_parquet(outcome: Outcome, case: Case) -> None:
    judge(case, outcome)
