"""Change files in DMS's format, directly from arrays: the emulator writes row by row, which takes too long for millions of rows.

Formats: Parquet plain and uncompressed with row groups of 10,000 rows; CSV with a header, quotes only where a field needs them and an
empty field for NULL; a PostgreSQL delete has only its key; service columns before (``Op``, commit time) and after the table's own.
"""

import csv
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final

import attrs
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.changes import DELETE, Changes
from benchmarks.shapes import ORDERS, Shape
from benchmarks.shop import LOADED, SCHEMA_NAME, Keys

OP, COMMITTED, SEQUENCE, STREAM_POSITION = "Op", "dms_commit_ts", "dms_change_seq", "dms_stream_position"
LOAD_ROWS: Final = 500_000
FILE_ROWS: Final = 25_000
"""Changes in a file, as if DMS closed one every quarter of a minute at this rate."""
TRANSACTION_ROWS: Final = 8
BATCH_SECONDS: Final = 60
_LOADED_AT: Final = datetime(2026, 4, 1, tzinfo=UTC)
_FIRST_CHANGE: Final = datetime(2026, 4, 2, tzinfo=UTC)
_OP_LETTERS: Final = pa.array(["I", "U", "D"])
_ROW_GROUP_ROWS: Final = 10_000
_FIRST_COUNTER: Final = 61  # a new DMS task's first change has this number


@attrs.frozen
class BatchFiles:
    """A batch's files: the same changes as Parquet and, if requested, as CSV, each in a bronze folder of its own."""

    parquet: tuple[Path, ...]
    csv: tuple[Path, ...] = ()


def table_folder(bronze: Path, shape: Shape = ORDERS) -> Path:
    """Return the folder of the table's files below a bronze folder."""
    return bronze / SCHEMA_NAME / shape.table


def file_schema(shape: Shape) -> pa.Schema:
    """Return the columns of a change file: service columns before and after the table's own, and the old values of the key."""
    return pa.schema(
        [
            pa.field(OP, pa.string(), nullable=False),
            pa.field(COMMITTED, pa.string(), nullable=False),
            *shape.schema,
            pa.field(SEQUENCE, pa.string()),
            pa.field(STREAM_POSITION, pa.string()),
            *(pa.field(f"BI_{name}", shape.schema.field(name).type) for name in shape.key),
        ]
    )


def write_load(bronze: Path, count: int, shape: Shape = ORDERS) -> list[Path]:
    """Write the full load of keys 0 to ``count`` as Parquet; return the files."""
    folder, schema = table_folder(bronze, shape), file_schema(shape)
    folder.mkdir(parents=True)
    paths = []
    for number, start in enumerate(range(0, count, LOAD_ROWS), 1):
        keys = np.arange(start, min(count, start + LOAD_ROWS))
        table = shape.rows(keys, np.full(len(keys), LOADED))
        blank = pa.repeat("", len(keys))
        loaded_at = pa.repeat(_text(_LOADED_AT), len(keys))
        columns = [pa.repeat("I", len(keys)), loaded_at, *table.columns, blank, blank, *_no_old_key(shape, len(keys))]
        paths.append(folder / f"LOAD{number:08X}.parquet")
        _write_parquet(pa.Table.from_arrays(columns, schema=schema), paths[-1])
    return paths


def write_batch(
    changes: Changes,
    number: int,
    parquet: Path,
    csv_: Path | None = None,
    shape: Shape = ORDERS,
    shuffle: np.random.Generator | None = None,
    file_rows: int = FILE_ROWS,
) -> BatchFiles:
    """Write a batch into the two bronze folders.

    Args:
        number: number of the batch, from 0: it determines commit times, sequence and file names.
        csv_: None for Parquet alone.
        shuffle: puts the rows of each file into a random order; without it they are in the order of their sequence.
        file_rows: changes per file.
    """
    table = _file_table(changes, number, shape)
    written: dict[str, list[Path]] = {"parquet": [], "csv": []}
    for start in range(0, len(table), file_rows):
        part = table.slice(start, file_rows)
        closed_at = _commit_time(number, start + len(part) - 1, len(table)) + timedelta(milliseconds=50)
        if shuffle is not None:
            part = part.take(pa.array(shuffle.permutation(len(part))))
        relative = Path(closed_at.strftime("%Y/%m/%d"), closed_at.strftime("%Y%m%d-%H%M%S") + f"{closed_at.microsecond // 1000:03d}")
        for kind, bronze, write in (("parquet", parquet, _write_parquet), ("csv", csv_, _write_csv)):
            if bronze is None:
                continue
            path = table_folder(bronze, shape) / f"{relative}.{kind}"
            path.parent.mkdir(parents=True, exist_ok=True)
            write(part, path)
            written[kind].append(path)
    return BatchFiles(tuple(written["parquet"]), tuple(written["csv"]))


def _no_old_key(shape: Shape, size: int) -> list[pa.Array]:
    return [pa.nulls(size, shape.schema.field(name).type) for name in shape.key]


def _file_table(changes: Changes, number: int, shape: Shape) -> pa.Table:
    size = len(changes)
    table = shape.rows(changes.keys, changes.versions)
    gone = pa.array(changes.ops == DELETE)
    columns = [
        column if name in shape.key else pc.if_else(gone, pa.scalar(None, column.type), column)
        for name, column in zip(table.column_names, table.columns, strict=True)
    ]
    commits = [_commit_time(number, row, size) for row in range(0, size, TRANSACTION_ROWS)]
    transactions = np.arange(size) // TRANSACTION_ROWS
    ops = pc.take(_OP_LETTERS, pa.array(changes.ops.astype(np.int64)))
    stream = pc.binary_join_element_wise("0", pc.cast(pa.array(changes.versions * 64), pa.string()), "/")
    return pa.Table.from_arrays(
        [
            ops,
            pc.take(pa.array([_text(commit) for commit in commits]), pa.array(transactions)),
            *columns,
            _sequences(commits, transactions, changes.versions),
            stream,
            *_no_old_key(shape, size),
        ],
        schema=file_schema(shape),
    )


def _commit_time(number: int, row: int, size: int) -> datetime:
    # The last second is reserved for the close of the last file.
    inside = timedelta(seconds=(BATCH_SECONDS - 1) * row / size)
    return _FIRST_CHANGE + timedelta(seconds=number * BATCH_SECONDS) + inside


def _text(time: datetime) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S.%f")


def _sequences(commits: list[datetime], transactions: Keys, versions: Keys) -> pa.Array:
    clocks = pa.array([commit.strftime("%Y%m%d%H%M%S") + f"{commit.microsecond // 10_000:02d}" for commit in commits])
    counters = pc.utf8_lpad(pc.cast(pa.array(_FIRST_COUNTER + 4 * versions), pa.string()), 19, "0")
    return pc.binary_join_element_wise(pc.take(clocks, pa.array(transactions)), counters, "")


def _write_parquet(table: pa.Table, path: Path) -> None:
    pq.write_table(
        table,
        path,
        version="1.0",
        data_page_version="1.0",
        use_dictionary=False,
        column_encoding=dict.fromkeys(table.column_names, "PLAIN"),
        compression="NONE",
        store_schema=False,
        row_group_size=_ROW_GROUP_ROWS,
    )


def _write_csv(table: pa.Table, path: Path) -> None:
    texts = [_as_text(column).to_pylist() for column in table.columns]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(table.column_names)
        writer.writerows(zip(*texts, strict=True))


def _as_text(column: pa.ChunkedArray) -> pa.ChunkedArray:
    if pa.types.is_timestamp(column.type):
        return pc.strftime(column, "%Y-%m-%d %H:%M:%S")
    return column if pa.types.is_string(column.type) else pc.cast(column, pa.string())
