"""Damaged and impossible files: each ends in quarantine or in an error that says what to do, and harms no other table.

One run a format holds a table for every case; the cases are then judged one by one.
"""

import gzip
import json
import random
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import attrs
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from dms_iceberg.report import TableReport
from dms_iceberg.staging.store import LocalStore
from support.lake import COMMIT, Lake, sequence
from support.text_files import HEADER, cdc_name, change_line, load_line, write_bytes, write_text

ID_V = [("id", pa.int64()), ("v", pa.string())]
T1 = "20260301100100"
Writer = Callable[[Lake, str], object]


@attrs.frozen
class Case:
    """A table whose files are wrong in one way.

    Attributes:
        error: what the table's error must say; empty when the run must succeed.
        rows: (id, v) afterwards, None when there must be no table.
        rejected: (reason, part of the detail) in quarantine.
    """

    name: str
    write: Writer
    error: tuple[str, ...] = ()
    rows: list[tuple[Any, ...]] | None = None
    rejected: list[tuple[str, str]] = attrs.field(factory=list)
    table: dict[str, Any] = attrs.field(factory=dict)

    @property
    def source(self) -> str:
        return f"public.{self.name}"


@attrs.frozen
class Outcome:
    lake: Lake
    tables: dict[str, TableReport]


def run_cases(spark: SparkSession, warehouse: Path, folder: Path, cases: list[Case], bronze: dict[str, Any]) -> Outcome:
    lake = Lake(spark, warehouse, folder)
    for case in cases:
        case.write(lake, case.source)
    config = lake.config({case.source: case.table for case in cases}, bronze=bronze)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LocalStore, "read", vanishing_read)
        return Outcome(lake, lake.run(config).tables)


_read = LocalStore.read


def vanishing_read(store: LocalStore, key: str, start: int = 0, length: int | None = None) -> bytes:
    """Let files vanish between listing and inspection, or between inspection and reading."""
    if "gone_before_inspection" in key:
        store.delete(key)
    data = _read(store, key, start, length)
    if "gone_before_reading" in key:
        store.delete(key)
    return data


def judge(case: Case, outcome: Outcome) -> None:
    lake, report = outcome.lake, outcome.tables[case.source]
    for batch in report.batches:
        assert batch.rows_read == batch.applied + batch.superseded + batch.stale + batch.filtered + batch.quarantined
    if case.error:
        assert report.error is not None, "no error"
        missing = [part for part in case.error if part not in report.error]
        assert not missing, f"{missing} not in: {report.error}"
        assert len(report.error) < 1500, "a page of stack trace is no explanation"
    else:
        assert report.error is None, report.error
    exists = lake.spark.catalog.tableExists(f"lake.{lake.namespace}.{case.name}")
    assert exists == (case.rows is not None)
    if case.rows is not None:
        assert lake.rows(case.name, "id, v") == case.rows
    found = lake.quarantine(case.name) if report.quarantined else []
    assert [reason for reason, _ in found] == [reason for reason, _ in case.rejected]
    for (_, detail), (_, part) in zip(found, case.rejected, strict=True):
        assert part in detail
    assert report.quarantined == len(case.rejected)


# --- Parquet ---------------------------------------------------------------------------------------------------------------------


def load(lake: Lake, table: str, rows: list[tuple[Any, ...]] | None = None) -> Path:
    return lake.load(table, ID_V, [(1, "a"), (2, "b")] if rows is None else rows)


def damage(change: Callable[[bytes], bytes]) -> Writer:
    def write(lake: Lake, table: str) -> None:
        path = load(lake, table, [(number, "x" * 50) for number in range(2_000)])
        path.write_bytes(change(path.read_bytes()))

    return write


def cut_in_the_middle(data: bytes) -> bytes:
    return data[: len(data) // 3] + data[len(data) // 2 :]


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


READING = ("_metadata", "_cdc_op", "_cdc_file")
"""Names that reading needs."""


def named(name: str) -> Writer:
    return lambda lake, table: lake.load(table, [*ID_V, (name, pa.string())], [(1, "a", "x")])


def zero_rows_then_changes(lake: Lake, table: str) -> None:
    load(lake, table, [])
    lake.changes(table, cdc_name(1), ID_V, [("I", T1, 61, 1, "a")])


PARQUET = [
    Case("good", load, rows=[(1, "a"), (2, "b")]),
    Case("truncated", damage(lambda data: data[: len(data) // 2]), error=("LOAD00000001.parquet", "no Parquet footer", "Restore")),
    Case("cut_in_the_middle", damage(cut_in_the_middle), error=("LOAD00000001.parquet", "more data than the file holds", "Restore")),
    Case("overwritten", damage(overwritten_in_the_middle), error=("LOAD00000001.parquet", "Restore"), rows=[]),
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
    Case("time_column", time_column, error=("'opens'", "time32[ms]", "change-data-type", '"column-name": "opens"', "drop")),
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
    Case("missing_key_column", csv_load(load_line(1, "a")), error=("key column 'code'", "id, v"), table={"key": ["code"]}),
    Case(
        "rounds",
        csv_load(*(load_line(n, v) for n, v in enumerate(["1.2377", "001.500", "15e1", "15e-3", "-.5"], 1))),
        rows=[(2, Decimal("1.50")), (3, Decimal(150)), (5, Decimal("-0.50"))],
        rejected=[("cast", "v does not fit decimal(10,2)")] * 2,
        table={"columns": [{"name": "id", "type": "bigint"}, {"name": "v", "type": "decimal(10,2)"}]},
    ),
    Case("reserved", csv_load(load_line(1, "a"), header="Op,_metadata,id,v,dms_change_seq"), error=("'_metadata'", "mapping rule")),
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
        error=("LOAD00000001.csv", "3 columns", "4 to 7", "source_columns", "AddColumnName"),
        table=SOURCE_COLUMNS,
    ),
    Case(
        "too_wide",
        csv_load("I,2026-03-01 10:00:00.000000,1,a,new,,,9", header=None),
        error=("LOAD00000001.csv", "8 columns", "4 to 7", "source_columns"),
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
        rejected=[("malformed", "parse")],
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
    "parquet": (PARQUET, {"format": "parquet"}),
    "csv": (CSV, {"format": "csv"}),
    "headerless": (HEADERLESS, {"format": "csv", "csv": {"header": False}}),
    "json": (JSON, {"format": "json"}),
}


@pytest.fixture(scope="module")
def outcomes(spark: SparkSession, warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Outcome]]:
    """Every format's cases in one run each."""
    yield {name: run_cases(spark, warehouse, tmp_path_factory.mktemp(name), cases, bronze) for name, (cases, bronze) in FORMATS.items()}


@pytest.mark.parametrize(
    ("format_", "case"), [pytest.param(name, case, id=f"{name}-{case.name}") for name, (cases, _) in FORMATS.items() for case in cases]
)
def test_bad_input(outcomes: dict[str, Outcome], format_: str, case: Case) -> None:
    judge(case, outcomes[format_])
