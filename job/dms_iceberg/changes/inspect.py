"""What columns a change file has: Parquet footers and CSV first records by ranged GETs in a thread pool, never one Spark read a file."""

import csv
import io
import zlib
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

import attrs
import pyarrow as pa
import pyarrow.parquet as pq

from dms_iceberg.config.model import Bronze, BronzeFormat, Table
from dms_iceberg.errors import BronzeError
from dms_iceberg.staging.keys import BronzeFile
from dms_iceberg.staging.store import ObjectStore, join

_TAIL_BYTES = 1 << 16
_HEAD_BYTES = 1 << 16
_MAX_RECORD_BYTES = 64 << 20
_MAGIC = b"PAR1"
_THREADS = 16

Columns = tuple[tuple[str, str], ...]
"""(name, Spark type) of a file's columns in file order; a type in ``<>`` is one Spark cannot read."""


@attrs.frozen
class SchemaGroup:
    """Files of one kind with the same columns, to be read together. ``rows`` is known for Parquet only.

    ``segment`` is the first part of `BronzeFile.order`, which full-load files of one parallel segment share; "" for CDC.
    """

    is_cdc: bool
    segment: str
    columns: Columns
    files: tuple[BronzeFile, ...]
    rows: int | None

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in file order."""
        return tuple(name for name, _ in self.columns)


@attrs.frozen
class _Inspected:
    file: BronzeFile
    columns: Columns
    rows: int | None


def inspect(store: ObjectStore, files: Sequence[BronzeFile], bronze: Bronze, table: Table) -> list[SchemaGroup]:
    """Return ``files`` grouped by kind and columns, in order of first appearance. Files without a row are left out.

    JSON files make one group per kind with no columns: Spark finds them, as every line may differ.

    Raises:
        BronzeError: a file is missing, truncated, or has a number of columns that the configuration does not allow.
    """
    with ThreadPoolExecutor(_THREADS) as pool:
        found = list(pool.map(lambda file: _inspect(store, file, bronze, table), files))
    groups: dict[tuple[bool, str, Columns], list[_Inspected]] = {}
    for one in found:
        if one.rows != 0:
            segment = "" if one.file.is_cdc else one.file.order[:9]
            groups.setdefault((one.file.is_cdc, segment, one.columns), []).append(one)
    return [
        SchemaGroup(is_cdc, segment, columns, tuple(m.file for m in members), _total(m.rows for m in members))
        for (is_cdc, segment, columns), members in groups.items()
    ]


def _total(rows: Iterable[int | None]) -> int | None:
    known = list(rows)
    return None if None in known else sum(row or 0 for row in known)


def _inspect(store: ObjectStore, file: BronzeFile, bronze: Bronze, table: Table) -> _Inspected:
    if bronze.format is BronzeFormat.PARQUET:
        return _inspect_parquet(store, file)
    if file.size == 0:
        return _Inspected(file, (), 0)
    if bronze.format is BronzeFormat.JSON:
        return _Inspected(file, (), None)
    record, only = first_record(store, file, bronze.csv.delimiter)
    if not record:
        return _Inspected(file, (), 0)
    if bronze.csv.header:
        names: Sequence[str] = record
    else:
        names, only = _headerless_names(file, len(record), bronze, table, store.root), False
    return _Inspected(file, tuple((name, "string") for name in names), 0 if only else None)


def _inspect_parquet(store: ObjectStore, file: BronzeFile) -> _Inspected:
    tail_size = min(file.size, _TAIL_BYTES)
    tail = store.read(file.key, file.size - tail_size, tail_size) if tail_size else b""
    if len(tail) < 12 or tail[-4:] != _MAGIC:
        raise BronzeError(
            f"{join(store.root, file.key)}: not a whole Parquet file ({file.size} bytes, no Parquet footer at its end). It is truncated or "
            "damaged. Restore it from the source task (or from a bucket version), or move it away if its changes may be missing."
        )
    footer = int.from_bytes(tail[-8:-4], "little") + 8
    if footer > len(tail):
        tail = store.read(file.key, max(file.size - footer, 0), footer)
    try:
        metadata = pq.read_metadata(pa.BufferReader(tail))
        schema = metadata.schema.to_arrow_schema()
    except (pa.ArrowException, OSError) as error:
        raise BronzeError(
            f"{join(store.root, file.key)}: the Parquet footer cannot be read ({type(error).__name__}). Restore the file."
        ) from error
    return _Inspected(file, tuple((field.name, spark_type(field.type)) for field in schema), metadata.num_rows)


_SIMPLE_TYPES: dict[pa.DataType, str] = {
    pa.bool_(): "boolean",
    pa.int8(): "tinyint",
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    # Spark reads unsigned integers as the next wider signed type, 64 bits as a decimal.
    pa.uint8(): "smallint",
    pa.uint16(): "int",
    pa.uint32(): "bigint",
    pa.uint64(): "decimal(20,0)",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.large_string(): "string",
    pa.binary(): "binary",
    pa.large_binary(): "binary",
    pa.date32(): "date",
    pa.null(): "string",
}


def spark_type(type_: pa.DataType) -> str:
    """Return the Spark type a Parquet column is read as, or the Arrow type in ``<>`` when Spark 3.5 cannot read it (TIME)."""
    if type_ in _SIMPLE_TYPES:
        return _SIMPLE_TYPES[type_]
    if pa.types.is_decimal(type_):
        return f"decimal({type_.precision},{type_.scale})"
    if pa.types.is_timestamp(type_) and type_.unit in ("ms", "us"):
        return "timestamp" if type_.tz else "timestamp_ntz"
    if pa.types.is_fixed_size_binary(type_):
        return "binary"
    return f"<{type_}>"


def first_record(store: ObjectStore, file: BronzeFile, delimiter: str) -> tuple[list[str], bool]:
    """Return the first record of a CSV file, and whether it is the only one.

    Raises:
        BronzeError: the file is not UTF-8, not gzip although named so, or its first record has no end.
    """
    size = _HEAD_BYTES
    while True:
        data = store.read(file.key, 0, min(size, file.size))
        whole = len(data) >= file.size
        text = _decode(_decompress(data, file, store.root), file, store.root, whole)
        reader = csv.reader(io.StringIO(text.removeprefix("\ufeff"), newline=""), delimiter=delimiter, strict=True)
        try:
            record = next(reader, [])
            following = next(reader, None)
        except csv.Error as error:
            if not whole and size < _MAX_RECORD_BYTES:
                size *= 8
                continue
            raise BronzeError(f"{join(store.root, file.key)}: the first record is not valid CSV ({error}).") from error
        if whole or following is not None or size >= _MAX_RECORD_BYTES:
            return record, whole and following is None
        size *= 8


def _decompress(data: bytes, file: BronzeFile, root: str) -> bytes:
    if not file.extension.endswith(".gz"):
        return data
    try:
        return zlib.decompressobj(wbits=31).decompress(data)
    except zlib.error as error:
        raise BronzeError(f"{join(root, file.key)}: named .gz but not gzip data ({error}).") from error


def _decode(data: bytes, file: BronzeFile, root: str, whole: bool) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        # A character cut by the end of the range is no fault of the file.
        if (not whole or file.extension.endswith(".gz")) and error.start >= len(data) - 3:
            return data[: error.start].decode()
        raise BronzeError(
            f"{join(root, file.key)}: not UTF-8 (byte {error.start}). DMS writes UTF-8; whatever rewrote this file has "
            "changed its encoding. Restore the original."
        ) from error


def _headerless_names(file: BronzeFile, width: int, bronze: Bronze, table: Table, root: str) -> list[str]:
    change = bronze.change
    leading = [change.timestamp_column] if change.timestamp_column else []
    if file.is_cdc or not change.load_without_op:
        leading.insert(0, change.op_column)
    trailing = [name for name in (change.sequence_column, change.stream_position_column) if name]
    if change.before_image_prefix:
        trailing += [change.before_image_prefix + key for key in table.key]
    names = [*leading, *table.source_columns, *trailing]
    least = len(names) - len(trailing)
    if not least <= width <= len(names):
        raise BronzeError(
            f"{join(root, file.key)}: {width} columns, but {table.source} may have {least} to {len(names)}: {', '.join(leading)}, the "
            f"{len(table.source_columns)} source_columns, then {', '.join(trailing)} as far as the task writes them. "
            f'A source column was added or dropped: bring tables."{table.source}".source_columns up to date, or let DMS write headers '
            f"(AddColumnName) or Parquet."
        )
    return names[:width]
