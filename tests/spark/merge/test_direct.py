"""Small batches that are written directly: what takes the MERGE all the same, and what must come out alike."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors.exceptions.captured import IllegalArgumentException

from dms_iceberg.iceberg.rows import stored_rows
from dms_iceberg.iceberg.rows.lookup import Lookup
from dms_iceberg.iceberg.rows.not_possible import NotPossibleError
from dms_iceberg.merge.direct import delta as direct
from dms_iceberg.runs.report import BatchReport
from support.lake import Lake
from support.pause import Pause

ID_V = [("id", pa.int64()), ("v", pa.string())]

_LOADED_AT = 1_772_355_600
"""2026-03-01 09:00 UTC."""


def name(number: int) -> str:
    return f"2026/03/01/10/20260301-10{number:02d}30000.parquet"


def at(number: int, second: int = 0) -> str:
    return f"2026030110{number:02d}{second:02d}00"


def merged(lake: Lake, number: int, *rows: tuple[Any, ...], columns: list[tuple[str, pa.DataType]] = ID_V, **entry: Any) -> BatchReport:
    """Write a file of changes (operation, then the values) of one commit and merge it."""
    return _merged(lake, number, [(at(number), *row) for row in rows], columns, entry)


def merged_apart(lake: Lake, number: int, *rows: tuple[Any, ...], **entry: Any) -> BatchReport:
    """Do the same with a commit for each change."""
    return _merged(lake, number, [(at(number, second), *row) for second, row in enumerate(rows)], ID_V, entry)


def _merged(lake: Lake, number: int, rows: list[tuple[Any, ...]], columns: list[tuple[str, pa.DataType]], entry: Any) -> BatchReport:
    changes = [(op, commit, 61 + 4 * n, *values, None) for n, (commit, op, *values) in enumerate(rows)]
    lake.changes("public.t", name(number), columns, changes)
    (report,) = lake.run_one(lake.config({"public.t": entry})).batches
    return report


def loaded(
    lake: Lake, rows: int = 10, columns: list[tuple[str, pa.DataType]] = ID_V, make: Callable[[int], Any] = lambda n: n, entry: Any = None
) -> None:
    path = lake.load("public.t", columns, [(make(number), f"a{number}") for number in range(rows)])
    # Before every change: an insert that the load may contain is none of a live key.
    os.utime(path, (_LOADED_AT, _LOADED_AT))
    lake.run_one(lake.config({"public.t": entry or {}}))


def test_a_batch_in_order_is_written_directly_and_its_snapshot_says_so(lake: Lake) -> None:
    loaded(lake)
    report = merged(lake, 1, ("U", 1, "b"), ("I", 77, "new"), ("D", 2, None), ("D", 99, None))
    assert (report.path, report.applied) == ("direct", 4)
    assert lake.rows("t", "id, v")[:3] == [(0, "a0"), (1, "b"), (3, "a3")]
    head = lake.target("t").head()
    assert head is not None
    assert (head.summary[direct.PATH_KEY], head.summary[direct.REPLACED_KEY]) == ("direct", "2")


SOFT_DELETE = {"mode": "soft_delete"}


def marks(lake: Lake) -> list[tuple[Any, ...]]:
    return lake.rows("t", "id, v, _cdc_deleted, _cdc_op, minute(_cdc_committed_at), minute(_cdc_deleted_at)")


def test_a_row_that_is_only_marked_as_deleted_keeps_its_values(lake: Lake) -> None:
    loaded(lake, 4, entry=SOFT_DELETE)
    changes = [("D", 0, None), ("U", 1, "b"), ("D", 1, None), ("D", 99, None), ("I", 5, "new"), ("D", 5, None)]
    assert merged_apart(lake, 1, *changes, **SOFT_DELETE).path == "direct"
    assert marks(lake) == [
        (0, "a0", True, "I", 0, 1),
        (1, "b", True, "U", 1, 1),
        (2, "a2", False, "I", 0, None),
        (3, "a3", False, "I", 0, None),
        (5, "new", True, "I", 1, 1),
    ]
    assert merged_apart(lake, 2, ("I", 0, "back"), ("D", 5, None), ("D", 2, None), **SOFT_DELETE).path == "direct"
    assert marks(lake)[:3] == [(0, "back", False, "I", 2, None), (1, "b", True, "U", 1, 1), (2, "a2", True, "I", 0, 2)]
    assert marks(lake)[4:] == [(5, "new", True, "I", 1, 2)]
    before = marks(lake)
    assert merged_apart(lake, 3, ("D", 98, None), ("D", 99, None), **SOFT_DELETE).path == "direct"
    assert marks(lake) == before


def test_a_marked_row_of_an_older_file_gets_the_columns_of_the_table(lake: Lake) -> None:
    loaded(lake, 4, entry=SOFT_DELETE)
    wider = [*ID_V, ("added", pa.int32())]
    assert merged(lake, 1, ("U", 1, "b", 7), columns=wider, **SOFT_DELETE).path.startswith("direct")
    assert merged(lake, 2, ("D", 0, None, None), ("D", 1, None, None), columns=wider, **SOFT_DELETE).path == "direct"
    rows = lake.rows("t", "id, v, added, _cdc_deleted")
    assert rows[:3] == [(0, "a0", None, True), (1, "b", 7, True), (2, "a2", None, False)]


def test_deletes_in_large_files_take_the_merge(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded(lake, 4, entry=SOFT_DELETE)
    monkeypatch.setattr(stored_rows, "MOST_VALUES", 4)
    assert merged(lake, 1, ("D", 0, None), **SOFT_DELETE).path == "merge (deleted rows in large files)"
    assert merged(lake, 2, ("U", 1, "b"), **SOFT_DELETE).path == "direct"
    assert marks(lake)[:2] == [(0, "a0", True, "I", 0, 1), (1, "b", False, "U", 2, None)]


def test_deletes_of_rows_with_long_values_take_the_merge(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is small: its text repeats."""
    path = lake.load("public.t", ID_V, [(number, "x" * 50_000) for number in range(600)])
    os.utime(path, (_LOADED_AT, _LOADED_AT))
    lake.run_one(lake.config({"public.t": SOFT_DELETE}))
    assert merged(lake, 1, *(("D", number, None) for number in range(400)), **SOFT_DELETE).path == "merge (long values)"
    assert merged(lake, 2, *(("D", number, None) for number in range(400, 600)), **SOFT_DELETE).path == "direct"
    assert lake.rows("t", "count(1), count_if(_cdc_deleted), sum(length(v))") == [(600, 600, 30_000_000)]
    monkeypatch.setattr(stored_rows, "MOST_COMPRESSED_BYTES", 100)
    assert merged(lake, 3, ("D", 1, None), **SOFT_DELETE).path == "merge (deleted rows in large files)"


@pytest.mark.parametrize("mode", [pytest.param("mirror", marks=pytest.mark.long), "soft_delete"])
def test_rows_of_partitions_are_written_directly(lake: Lake, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row may leave its partition, its column be NULL; a row that is only marked stays where it is."""
    entry = {"mode": mode, "partition_by": ["bucket(2, id)", "v"]}
    loaded(lake, 6, entry=entry)
    report = merged(lake, 1, ("U", 1, "a2"), ("U", 2, None), ("I", 7, "a7"), ("D", 3, None), ("D", 99, None), **entry)
    assert report.path == "direct"
    expected = [(0, "a0"), (1, "a2"), (2, None), (4, "a4"), (5, "a5"), (7, "a7")]
    there = "true" if mode == "mirror" else "NOT _cdc_deleted"
    assert [row[:2] for row in lake.rows("t", f"id, v, {there} AS there") if row[2]] == expected
    if mode == "soft_delete":
        assert lake.rows("t", "id, v, _cdc_deleted")[3] == (3, "a3", True)
    name = f"lake.{lake.namespace}.t"
    written = f"SELECT partition._cdc_by_identity_v, sum(record_count) FROM {name}.files WHERE content = 0 GROUP BY 1"
    files = lake.spark.sql(written).collect()
    assert dict(map(tuple, files))[None] == 1
    assert lake.spark.table(name).where("v = 'a2'").select("id").collect() == [(1,)]
    for number in range(2, 12):
        assert merged(lake, number, ("U", 0, f"b{number}"), ("U", 4, f"b{number}"), ("D", 5, None), **entry).path == "direct"
    assert [row[:2] for row in lake.rows("t", f"id, v, {there} AS there") if row[2]] == [
        (0, "b11"), (1, "a2"), (2, None), (4, "b11"), (7, "a7"),
    ]  # fmt: skip
    monkeypatch.setattr(direct, "MOST_PARTITIONS", 2)
    assert merged(lake, 12, ("U", 0, "c0"), ("U", 1, "c1"), ("U", 2, "c2"), **entry).path == "merge (many partitions)"
    assert [row[1] for row in lake.rows("t", "id, v")[:3]] == ["c0", "c1", "c2"]


def test_a_late_batch_is_written_directly_but_for_rows_that_the_table_has_newer(lake: Lake) -> None:
    loaded(lake)
    assert merged(lake, 5, ("U", 1, "newer"), ("D", 2, None), ("I", 70, "newer")).path == "direct"
    # An update and a delete that lose to the table's row, an update that loses to a delete, and changes of other keys.
    late = [("U", 1, "older"), ("U", 2, "older"), ("D", 70, None), ("U", 3, "c"), ("D", 4, None), ("I", 71, "new")]
    report = merged(lake, 3, *late)
    assert (report.path, report.applied, report.stale) == ("direct", 3, 3)
    assert lake.rows("t", "id, v")[:5] == [(0, "a0"), (1, "newer"), (3, "c"), (5, "a5"), (6, "a6")]
    assert lake.rows("t", "id, v")[-2:] == [(70, "newer"), (71, "new")]
    head = lake.target("t").head()
    assert head is not None
    assert head.summary[direct.REPLACED_KEY] == "2"
    assert merged(lake, 2, ("U", 1, "oldest"), ("U", 5, "e")).path == "direct"
    assert lake.rows("t", "id, v")[1:4] == [(1, "newer"), (3, "c"), (5, "e")]


def test_a_late_batch_of_marked_rows_is_written_directly_and_each_half_of_a_row_is_compared(lake: Lake) -> None:
    entry, columns = {"mode": "soft_delete", "partition_by": ["truncate(1, v)"]}, "id, v, _cdc_deleted"
    loaded(lake, entry=entry)
    assert merged(lake, 5, ("U", 1, "newer"), ("D", 2, None), ("I", 70, "newer"), ("D", 3, None), **entry).path == "direct"
    # Older than both halves, values for a row that is only marked, a delete of a newer row, one of a key without a row, and other keys.
    late = [("U", 1, "older"), ("U", 2, "last"), ("D", 70, None), ("D", 99, None), ("U", 4, "c"), ("D", 5, None), ("I", 71, "new")]
    report = merged(lake, 4, *late, **entry)
    assert (report.path, report.stale) == ("direct", 2)
    assert lake.rows("t", columns)[1:6] == [(1, "newer", False), (2, "last", True), (3, "a3", True), (4, "c", False), (5, "a5", True)]
    assert lake.rows("t", columns)[-2:] == [(70, "newer", False), (71, "new", False)]
    deleted_at, row_position = ("date_format(_cdc_deleted_at, 'HH:mm')", "substr(_cdc_row_position, 3, 12)")
    assert lake.rows("t", f"id, {deleted_at}, {row_position}")[2] == (2, "10:05", at(4)[:12])
    # Older than the delete and than the values that came after it, and a row whose delete is known already.
    assert merged(lake, 3, ("U", 2, "oldest"), ("U", 5, "e"), ("I", 99, "x"), **entry).path == "direct"
    assert lake.rows("t", columns)[2:6] == [(2, "last", True), (3, "a3", True), (4, "c", False), (5, "e", True)]
    assert lake.rows("t", columns)[-1] == (99, "x", True)


def test_a_column_with_a_default_takes_the_merge(lake: Lake) -> None:
    """Format 3: older files lack it, and a row of theirs that is marked keeps what it stands for."""
    entry = {"mode": "soft_delete", "format_version": 3}
    loaded(lake, 3, entry=entry)
    iceberg: Any = lake.spark._jvm.org.apache.iceberg  # type: ignore[union-attr]
    five = iceberg.expressions.Literal.of(5)
    lake.target("t").iceberg.updateSchema().addColumn("x", iceberg.types.Types.IntegerType.get(), five).commit()
    columns = [*ID_V, ("x", pa.int32())]
    assert merged(lake, 1, ("D", 0, None, None), ("U", 1, "b", 7), columns=columns, **entry).path == "merge (a column's type)"
    assert lake.rows("t", "id, v, x, _cdc_deleted") == [(0, "a0", 5, True), (1, "b", 7, False), (2, "a2", 5, False)]


def test_long_values_of_older_files_take_the_merge(lake: Lake) -> None:
    """A late delete has no values of its own, and comes with those that its row had."""
    entry = {"mode": "soft_delete"}
    config = lake.config({"public.t": entry}, bronze={"format": "csv"})

    def changed(number: int, *rows: tuple[str, int, str]) -> str:
        moment = f"2026-03-01 10:{number:02d}:00.000000"
        lines = [f"{op},{moment},{id_},{v},{at(number)}{61 + 4 * n:019d}" for n, (op, id_, v) in enumerate(rows)]
        lake.path("public.t", name(number).replace(".parquet", ".csv")).write_text(
            "\n".join(["Op,dms_commit_ts,id,v,dms_change_seq", *lines, ""])
        )
        (report,) = lake.run_one(config).batches
        return str(report.path)

    changed(1, ("I", 999, "x"))
    changed(2, *(("I", number, "y" * 300_000) for number in range(100)))
    assert changed(5, ("U", 999, "z")) == "direct"
    assert changed(3, *(("D", number, "") for number in range(100))) == "merge (long values)"
    assert lake.rows("t", "count(1), count_if(_cdc_deleted), sum(length(v))", "1") == [(101, 100, 100 * 300_000 + 1)]


def test_files_without_a_deleted_row_are_not_opened(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = {"mode": "soft_delete"}
    loaded(lake, entry=entry)
    for number in (1, 2, 3):
        assert merged(lake, number, ("U", number, "b"), **entry).path == "direct"
    opened = list[str]()

    class Reader(stored_rows.FileReader):
        def __init__(self, file_io: Any, location: str) -> None:
            opened.append(location)
            super().__init__(file_io, location)

    monkeypatch.setattr(stored_rows, "FileReader", Reader)
    assert merged(lake, 4, ("U", 1, "c"), ("U", 2, "c"), ("U", 3, "c"), **entry).path == "direct"
    assert opened == []
    assert merged(lake, 5, ("U", 1, "d"), ("D", 2, None), **entry).path == "direct"
    assert len(opened) == 1


@pytest.mark.parametrize("mode", ["mirror", pytest.param("soft_delete", marks=pytest.mark.long)])
def test_rows_of_format_3_keep_their_ids_by_both_paths(lake: Lake, monkeypatch: pytest.MonkeyPatch, mode: str) -> None:
    entry = {"mode": mode, "format_version": 3}
    loaded(lake, entry=entry)
    ids = dict(lake.rows("t", "id, _row_id"))
    assert sorted(ids.values()) == list(range(10))
    for number in range(1, 7):
        is_direct = number % 3 != 0
        with monkeypatch.context() as patch:
            if not is_direct:
                patch.setattr(direct, "MOST_ROWS", 0)
            rows = [("U", 0, f"b{number}"), ("U", number, "c"), ("I", 70 + number, "new"), ("D", 9, None)]
            report = merged(lake, number, *rows, **entry)
        assert report.path == ("direct" if is_direct else "merge (rows)")
        found = lake.rows("t", "id, v, _row_id")
        assert {id_ for id_, _, _ in found} == {*range(10 if mode == "soft_delete" else 9), *range(71, 71 + number)}
        there = {id_: row for id_, _, row in found}
        assert {id_: row for id_, row in there.items() if id_ in ids} == {id_: row for id_, row in ids.items() if id_ in there}
        assert len({row for _, _, row in found}) == len(found)
        assert (found[0][1], found[number][1]) == (f"b{number}", "c")
        ids = there
    files = lake.spark.sql(f"SELECT file_format, count(1) FROM lake.{lake.namespace}.t.delete_files GROUP BY 1").collect()
    assert [one.file_format for one in files] == ["PUFFIN"]
    monkeypatch.setattr(direct, "MOST_VECTORS", 1)
    assert merged(lake, 7, ("U", 0, "d"), **entry).path == "direct"
    assert merged(lake, 8, ("U", 0, "e"), ("U", 7, "e"), **entry).path == "merge (deletes in many files)"
    values = dict(lake.rows("t", "id, v"))
    assert (values[0], values[7]) == ("e", "e")


def test_a_key_that_another_writer_doubled_is_not_doubled_again(lake: Lake) -> None:
    loaded(lake)
    assert merged(lake, 5, ("U", 1, "b")).path == "direct"
    table = f"lake.{lake.namespace}.t"
    lake.spark.sql(f"INSERT INTO {table} SELECT * FROM {table} WHERE id IN (1, 3)")
    assert merged(lake, 3, ("U", 3, "c")).path == "merge (a key that the table has twice)"
    assert lake.rows("t", "id, v")[3:6] == [(2, "a2"), (3, "c"), (3, "c")]
    # Both rows are newer than this change.
    merged(lake, 4, ("U", 1, "late"))
    assert lake.rows("t", "id, v")[1:3] == [(1, "b"), (1, "b")]
    assert lake.rows("t", "count(1)", "1") == [(12,)]


@pytest.mark.parametrize("partition", ["v", "truncate(10, v)", "bucket(4, v)"])
def test_a_partition_column_may_be_widened_between_two_batches_of_a_session(lake: Lake, partition: str) -> None:
    entry = {"partition_by": [partition]}
    narrow, wide = ([("id", pa.int64()), ("v", type_)] for type_ in (pa.int32(), pa.int64()))
    path = lake.load("public.t", narrow, [(1, 4), (2, 4)])
    os.utime(path, (_LOADED_AT, _LOADED_AT))
    lake.run_one(lake.config({"public.t": entry}))
    assert merged(lake, 1, ("I", 3, 4), columns=narrow, **entry).path == "direct"
    assert merged(lake, 2, ("I", 5, 4), ("U", 1, 1 << 40), ("D", 3, None), columns=wide, **entry).path == "direct"
    assert lake.rows("t", "id, v") == [(1, 1 << 40), (2, 4), (5, 4)]
    assert merged(lake, 3, ("U", 2, 5), ("U", 5, None), columns=wide, **entry).path == "direct"
    assert lake.rows("t", "id, v") == [(1, 1 << 40), (2, 5), (5, None)]


def test_binary_keys_take_the_merge(lake: Lake) -> None:
    columns = [("id", pa.binary()), ("v", pa.string())]
    loaded(lake, 2, columns, lambda number: bytes([255 - number]))
    assert merged(lake, 1, ("U", b"\xff", "b"), ("I", b"\x00", "c"), columns=columns).path == "merge (type of the key)"
    assert lake.rows("t", "hex(id), v") == [("00", "c"), ("FE", "a1"), ("FF", "b")]


def test_long_values_and_many_rows_in_a_small_file_take_the_merge(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    loaded(lake)
    # A dictionary makes a small file of them.
    text = "x" * 300_000
    assert merged(lake, 1, *(("U", number, text) for number in range(100))).path == "merge (long values)"
    assert merged(lake, 2, ("U", 1, "y" * (direct.MOST_TEXT >> 1))).path == "direct"
    monkeypatch.setattr(direct, "MOST_ROWS", 5)
    assert merged(lake, 3, *(("U", number, "b") for number in range(6))).path == "merge (rows)"
    assert merged(lake, 4, *(("U", number, "c") for number in range(5))).path == "direct"
    assert [value[:2] for (value,) in lake.rows("t", "v", "id")[:7]] == ["c", "c", "c", "c", "c", "b", "xx"]


@pytest.mark.parametrize("change", ["ADD PARTITION FIELD bucket(4, id)", "SET TBLPROPERTIES ('format-version' = '3')"])
def test_a_table_that_is_changed_meanwhile_is_written_as_it_is_then(lake: Lake, pause: Pause, change: str) -> None:
    loaded(lake)
    assert merged(lake, 1, ("U", 1, "b")).path == "direct"
    other = lake.spark.newSession()
    pause("before-merge", lambda: other.sql(f"ALTER TABLE lake.{lake.namespace}.t {change}"))
    assert merged(lake, 2, ("U", 1, "c"), ("U", 2, "c")).path.startswith("merge (")
    assert lake.rows("t", "id, v")[:4] == [(0, "a0"), (1, "c"), (2, "c"), (3, "a3")]
    assert lake.spark.sql(f"SELECT v FROM lake.{lake.namespace}.t WHERE id = 1").collect() == [("c",)]


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (lambda: NotPossibleError("data files that lack a key column"), "data files that lack a key column"),
        # Needs a session.
        (lambda: IllegalArgumentException(desc="of Java", stackTrace=""), "IllegalArgumentException while files were read"),
    ],
)
def test_what_the_files_do_not_allow_is_counted_again_and_merged(
    lake: Lake, pause: Pause, monkeypatch: pytest.MonkeyPatch, error: Callable[[], Exception], reason: str
) -> None:
    loaded(lake)

    def refuse(*_: Any) -> None:
        raise error()

    monkeypatch.setattr(Lookup, "find", refuse)

    def overwrite() -> None:
        lake.changes("public.t", name(1), ID_V, [("U", at(1), 61, 1, "OTHER", None), ("I", at(1), 65, 777, "OTHER", None)])

    pause("before-merge", overwrite)
    report = merged(lake, 1, ("U", 1, "first"))
    assert (report.path, report.applied) == (f"merge ({reason})", 2)
    rows = dict(lake.rows("t", "id, v"))
    assert (rows[1], rows[777], len(rows)) == ("OTHER", "OTHER", 11)


@pytest.mark.usefixtures("planned_as_on_glue")
@pytest.mark.parametrize("entry", [{}, {"partition_by": ["bucket(4, id)", "truncate(1, v)"]}], ids=["whole", "partitioned"])
def test_spark_compiles_nothing_for_a_batch_like_those_before(lake: Lake, entry: dict[str, Any]) -> None:
    """A literal that differs from batch to batch is part of the generated code: it would be compiled again, and run cold."""
    loaded(lake, entry=entry)
    jvm: Any = lake.spark._jvm
    compiled = jvm.org.apache.spark.metrics.source.CodegenMetrics.METRIC_COMPILATION_TIME()
    counts = []
    for number in range(1, 6):
        assert merged(lake, number, ("U", 1, f"v{number}"), ("I", 100 + number, "new"), ("D", 101 + number, None), **entry).path == "direct"
        counts.append(compiled.getCount())
    assert counts[-1] == counts[-3]


@pytest.mark.long
def test_a_duplicate_key_is_reported_where_delete_files_are_folded(lake: Lake) -> None:
    loaded(lake, 100)
    merged(lake, 1, *(("I", 1_000 + number, "b") for number in range(1, 60)))
    pairs = [[("U", number, "s"), ("U", 1_000 + number, "s")] for number in range(1, 11)]
    changes = [*pairs[:3], [("U", 50, "own")], [("U", 1_050, "own")], *pairs[3:8]]
    for number, rows in enumerate(changes, 2):
        assert merged(lake, number, *rows).path == "direct"
    report = merged(lake, 20, ("I", 60, "again"), ("I", 1_055, "again"), ("I", 61, "again"))
    assert report.path == "direct"
    assert [text for text in report.warnings if "came to a key that another row has, 3 times" in text]
    assert lake.rows("t", "count(1), count(DISTINCT id)") == [(159, 159)]


def test_a_damaged_file_without_the_batchs_keys_does_not_stop_the_table(lake: Lake) -> None:
    loaded(lake)
    table = f"lake.{lake.namespace}.t"
    before = {row[0] for row in lake.spark.sql(f"SELECT file_path FROM {table}.files").collect()}
    lake.spark.sql(f"INSERT INTO {table} SELECT id + 1000000, 'other', '0', 'I', timestamp '2026-01-01' FROM range(60000)")
    after = {row[0] for row in lake.spark.sql(f"SELECT file_path FROM {table}.files").collect()}
    for one in after - before:
        Path(one.removeprefix("file:")).unlink()
    assert merged(lake, 1, ("U", 5, "x")).path.endswith("while files were read)")
    assert lake.spark.sql(f"SELECT v FROM {table} WHERE id = 5").collect() == [("x",)]
