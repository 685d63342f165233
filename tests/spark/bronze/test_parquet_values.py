"""Values of Parquet that Spark would take for others: bytes that are no text, types it reads in part or not at all."""

import datetime as dt
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from dms_iceberg.runs.preview import preview
from support.bad_input import ID_V, Case, Outcome, Writer, judge, run_cases
from support.lake import COMMIT, Lake, sequence
from support.text_files import cdc_name

T1, T2 = "20260301100100", "20260301100200"
NO_TEXT = (b"stra\xdfe", b"a\x80b", b"\xfc", b"\xed\xa0\x80", b"\xf0\x9f\x98", b"\xc0\x80", b"\xf5\x80\x80\x80", b"\xe4\xf6\xfc\xdf")
"""Latin-1, half characters, overlong forms, beyond Unicode."""
TEXT = ("straße \ufffd €", "", "\x00", "😀\U0010ffff", "\u2028")


def as_texts(values: Sequence[bytes | str | None]) -> pa.Array:
    """A text column with whatever bytes."""
    return pa.array([value.encode() if isinstance(value, str) else value for value in values], pa.binary()).view(pa.string())


def write(lake: Lake, table: str, name: str, columns: dict[str, Any], **options: Any) -> None:
    pq.write_table(pa.table(columns), lake.path(table, name), **options)


def load(**columns: Sequence[Any] | pa.Array) -> Writer:
    """A LOAD file with whole numbers for ids."""
    rows = len(next(iter(columns.values())))
    service = {"Op": ["I"] * rows, "dms_commit_ts": [COMMIT] * rows}
    ids = {"id": pa.array(range(1, rows + 1), pa.int64())} if "id" not in columns else {}
    return lambda lake, table: write(lake, table, "LOAD00000001.parquet", {**service, **ids, **columns, "dms_change_seq": [""] * rows})


def int96(lake: Lake, table: str) -> None:
    at = pa.array([dt.datetime(2026, 3, 1, 10, 0, 0, 123456), dt.datetime(1583, 1, 1), None], pa.timestamp("us"))
    columns = {"Op": ["I"] * 3, "dms_commit_ts": [COMMIT] * 3, "id": pa.array([1, 2, 3], pa.int64()), "at": at, "dms_change_seq": [""] * 3}
    write(lake, table, "LOAD00000001.parquet", columns, use_deprecated_int96_timestamps=True)


def moved(lake: Lake, table: str) -> None:
    """A key change whose before-image is no text."""
    load(id=as_texts(["a", "b"]), v=["x", "y"])(lake, table)
    columns = {"Op": ["U", "U"], "dms_commit_ts": [COMMIT] * 2, "id": as_texts(["c", "d"]), "v": ["X", "Y"]}
    sequences = [sequence(T1, 61), sequence(T1, 65)]
    write(lake, table, cdc_name(1), {**columns, "dms_change_seq": sequences, "BI_id": as_texts(["a", b"b\xdf"])})


def deleted(lake: Lake, table: str) -> None:
    """Deletes with the whole row, as of MySQL, of which a value is no text."""
    load(id=as_texts(["a", "b"]), v=["x", "y"])(lake, table)
    columns = {"Op": ["D", "U"], "dms_commit_ts": [COMMIT] * 2, "id": as_texts(["a", "b"]), "v": as_texts([b"\xdf", b"\xdf"])}
    write(lake, table, cdc_name(1), {**columns, "dms_change_seq": [sequence(T1, 61), sequence(T1, 65)]})


def moved_from(type_: pa.DataType, **service: pa.Array) -> Writer:
    """A key change with a before-image of a type."""

    def written(lake: Lake, table: str) -> None:
        load(v=["x"])(lake, table)
        columns = {"Op": ["U"], "dms_commit_ts": [COMMIT], "id": pa.array([2], pa.int64()), "v": ["X"]}
        image = pa.array([Decimal(1) if pa.types.is_decimal(type_) else 1], type_)
        write(lake, table, cdc_name(1), {**columns, "dms_change_seq": [sequence(T1, 61)], "BI_id": image, **service})

    return written


def formerly_named(lake: Lake, table: str) -> None:
    """A delete and a key change in a file from before the key column was renamed, with keys that are no text."""
    load(id=as_texts(["a", "b"]), v=["x", "y"])(lake, table)
    columns = {"Op": ["D", "U"], "dms_commit_ts": [COMMIT] * 2, "id": as_texts([b"\xfc", "c"]), "v": ["x", "Y"]}
    sequences = [sequence(T1, 61), sequence(T1, 65)]
    write(lake, table, cdc_name(1), {**columns, "dms_change_seq": sequences, "BI_id": as_texts([None, b"b\xdf"])})


RENAMED_KEY = {"name": "key_2", "renamed_from": "id"}
TIMES = ["opens", "closes", "lunch", "tea", "dinner"]
HUGE = pa.array([Decimal("1234567890123456789012345678901234567890.12")], pa.decimal256(42, 2))
NANOS = pa.array([1], pa.timestamp("ns"))
CASES = [
    Case(
        "bytes_that_are_no_text",
        load(v=as_texts([*NO_TEXT, *TEXT, None])),
        rows=[(len(NO_TEXT) + 1 + n, text) for n, text in enumerate([*TEXT, None])],
        rejected=[("encoding", "not UTF-8")] * len(NO_TEXT),
    ),
    Case(
        "key_that_is_no_text",
        load(id=as_texts(["a", b"\xfc", "ü"]), v=["x", "y", "z"]),
        rows=[("a", "x"), ("ü", "z")],
        rejected=[("encoding", "not UTF-8")],
    ),
    Case("before_image_that_is_no_text", moved, rows=[("b", "y"), ("c", "X")], rejected=[("encoding", "not UTF-8")]),
    Case("delete_of_a_row_with_a_value_that_is_no_text", deleted, rows=[("b", "y")], rejected=[("encoding", "not UTF-8")]),
    Case(
        "keys_that_are_no_text_under_the_former_name",
        formerly_named,
        rows=[("a", "x"), ("b", "y")],
        rejected=[("encoding", "not UTF-8")] * 2,
        table={"key": ["key_2"], "columns": [RENAMED_KEY]},
        columns="key_2, v",
    ),
    Case("dropped_column_that_is_no_text", load(v=["x"], note=as_texts([b"\xfc"])), rows=[(1, "x")], table={"drop": ["note"]}),
    Case(
        "column_of_the_filter_that_is_no_text",
        load(v=["x", "y"], note=as_texts([b"\xfc", "u"])),
        rows=[(2, "y")],
        rejected=[("encoding", "not UTF-8")],
        table={"drop": ["note"], "filter": "note <> 'x'"},
    ),
    Case(
        "bytes_declared_as_text",
        load(v=pa.array([b"ok", b"\xfc", b"\xc3\xbc"], pa.binary())),
        rows=[(1, "ok"), (3, "ü")],
        rejected=[("cast", "v does not fit string")],
        table={"columns": [{"name": "v", "type": "string"}]},
    ),
    Case(
        "number_declared_as_boolean",
        load(v=pa.array([0, 1, 2, None], pa.int16())),
        rows=[(1, False), (2, True), (4, None)],
        rejected=[("cast", "v does not fit boolean")],
        table={"columns": [{"name": "v", "type": "boolean"}]},
    ),
    Case(
        "many_times",
        load(v=["x"], **{name: pa.array([1], pa.time32("ms")) for name in TIMES}),
        error=("columns ", *(f"'{name}' (time32[ms])" for name in TIMES), *(f'"column-name":"{name}"' for name in TIMES), "drop"),
    ),
    Case(
        "time_that_an_expression_reads",
        load(v=["x"], opens=pa.array([1], pa.time32("ms"))),
        error=("column 'opens' (time32[ms])", "mapping rule that makes it text"),
        table={"drop": ["opens"], "columns": [{"name": "v", "expr": "concat(v, opens)"}]},
    ),
    Case(
        "too_many_digits",
        load(v=HUGE),
        error=("column 'v' (decimal256(42, 2))", "too_many_digits/LOAD00000001.parquet", "change-data-type", "drop"),
    ),
    # Spark would not see the column, and the old row stayed.
    Case(
        "before_image_of_too_many_digits", moved_from(pa.decimal256(50, 2)), error=("column 'BI_id' (decimal256(50, 2))",), rows=[(1, "x")]
    ),
    Case(
        "before_image_of_too_many_digits_under_the_former_name",
        moved_from(pa.decimal256(50, 2)),
        error=("column 'BI_id' (decimal256(50, 2))",),
        rows=[(1, "x")],
        table={"key": ["key_2"], "columns": [RENAMED_KEY]},
        columns="key_2, v",
    ),
    Case(
        "too_many_digits_under_the_former_name",
        load(n=HUGE),
        error=("column 'n' (decimal256(42, 2))",),
        table={"other_columns": "drop", "columns": [{"name": "v", "renamed_from": "n"}]},
    ),
    Case(
        "sequence_of_too_many_digits",
        moved_from(pa.decimal128(20, 0), dms_change_seq=pa.array([Decimal(20260301100100 * 10**30)], pa.decimal256(50, 0))),
        error=("column 'dms_change_seq' (decimal256(50, 0))",),
        rows=[(1, "x")],
        table={"other_columns": "drop", "columns": [{"name": "v"}]},
    ),
    Case(
        "sequence_that_is_no_text",
        moved_from(pa.int64(), dms_change_seq=pa.array([True])),
        error=("column 'dms_change_seq' is boolean; DMS writes string", "bronze.change.sequence_column"),
        rows=[(1, "x")],
    ),
    Case(
        "commit_time_that_is_no_time",
        moved_from(pa.int64(), dms_commit_ts=pa.array([True])),
        error=("column 'dms_commit_ts' is boolean", "bronze.change.timestamp_column"),
        rows=[(1, "x")],
    ),
    Case("too_many_digits_dropped", load(v=["x"], n=HUGE), rows=[(1, "x")], table={"drop": ["n"]}),
    Case("nanoseconds", load(v=NANOS), error=("column 'v' (timestamp[ns])", "nanoseconds/LOAD00000001.parquet")),
    Case(
        "int96",
        int96,
        rows=[(1, "2026-03-01 10:00:00.123456"), (2, "1583-01-01 00:00:00"), (3, None)],
        table={"columns": [{"name": "v", "expr": "CAST(at AS string)"}], "drop": ["at"]},
    ),
    Case(
        "dictionaries_of_arrow",
        load(
            id=pa.array([1, 2, 3, 4], pa.int64()).dictionary_encode(),
            Op=pa.array(["I"] * 4).dictionary_encode(),
            t=pa.array(["ü", None, "", "ü"]).dictionary_encode(),
            n=pa.array([1 << 40, 2, None, 1 << 40], pa.int64()).dictionary_encode(),
            d=pa.array([Decimal("1.50"), None, Decimal("-2.25"), None], pa.decimal128(12, 2)).dictionary_encode(),
            at=pa.array([0, 86_400_000_000, None, None], pa.timestamp("us")).dictionary_encode(),
        ),
        rows=[(1, f"ü|{1 << 40}|1.50|1970-01-01 00:00:00"), (2, "2|1970-01-02 00:00:00"), (3, "|-2.25"), (4, f"ü|{1 << 40}")],
        table={"columns": [{"name": "v", "expr": "concat_ws('|', t, n, d, at)"}], "drop": ["t", "n", "d", "at"]},
    ),
    Case(
        "bytes_that_are_no_text_in_a_dictionary",
        load(v=as_texts(["a", b"\xfc", "a"]).dictionary_encode()),
        rows=[(1, "a"), (3, "a")],
        rejected=[("encoding", "not UTF-8")],
    ),
    Case(
        "null_number_as_key",
        load(id=pa.array([None, Decimal("1.5")], pa.decimal128(5, 2)), v=["x", "y"]),
        rows=[(Decimal("1.50"), "y")],
        rejected=[("null_key", "NaN or infinite")],
    ),
]


@pytest.fixture(scope="module")
def outcome(spark: SparkSession, warehouse: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Outcome]:
    """All cases in one run."""
    yield run_cases(spark, warehouse, tmp_path_factory.mktemp("values"), CASES, {"format": "parquet"})


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_parquet_values(outcome: Outcome, case: Case) -> None:
    judge(case, outcome)


@pytest.mark.parametrize("mode", ["soft_delete", "history", "append"])
def test_bytes_that_are_no_text_are_quarantined_in_every_mode(lake: Lake, mode: str) -> None:
    load(v=as_texts(["a", b"\xfc", "c"]))(lake, "public.t")
    report = lake.run_one(lake.config({"public.t": {"mode": mode}}))
    assert report.quarantined == 1
    assert lake.rows("t", "id, v") == [(1, "a"), (3, "c")]


def test_no_hint_says_that_a_dropped_time_is_not_there(lake: Lake) -> None:
    load(v=["x"], opens=pa.array([1], pa.time32("ms")))(lake, "public.t")
    config = lake.config({"public.t": {"drop": ["opens"]}})
    (planned,) = preview(lake.spark, config)
    assert (planned.error, planned.warnings) == (None, [])
    assert lake.run_one(config).warnings == []
    lake.changes("public.t", cdc_name(1), [*ID_V, ("opens", pa.time32("ms"))], [("U", T1, 61, 1, "y", 1)])
    assert lake.run_one(config).warnings == []
    assert lake.rows("t", "id, v") == [(1, "y")]


def test_a_row_that_an_earlier_version_merged_is_kept_until_it_changes(lake: Lake) -> None:
    load(v=["a", "b"])(lake, "public.t")
    config = lake.config({"public.t": {}})
    lake.run_one(config)
    lake.spark.sql(f"UPDATE lake.{lake.namespace}.t SET v = CAST(X'FC' AS string)")
    columns = {"Op": ["U", "U"], "dms_commit_ts": [COMMIT] * 2, "id": pa.array([1, 2], pa.int64()), "v": as_texts([b"\xfc", "B"])}
    write(lake, "public.t", cdc_name(1), {**columns, "dms_change_seq": [sequence(T1, 61), sequence(T1, 65)]})
    assert lake.run_one(config).quarantined == 1
    assert lake.rows("t", "id, hex(v)") == [(1, "FC"), (2, "42")]
