"""What columns a change file has: Parquet footers and CSV first records by ranged GETs in a thread pool, never one Spark read a file."""

import csv
import io
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

import attrs
import pyarrow as pa
import pyarrow.parquet as pq

from dms_iceberg.changes.csv_names import header_names, headerless_names
from dms_iceberg.changes.gzipped import decompress, is_blank
from dms_iceberg.changes.mapping import VOID
from dms_iceberg.config.model import Bronze, BronzeFormat, Table
from dms_iceberg.errors import BronzeError
from dms_iceberg.staging.keys import BronzeFile
from dms_iceberg.staging.store import ObjectStore, join

_TAIL_BYTES = 1 << 16
_HEAD_BYTES = 1 << 16
_MAX_RECORD_BYTES = 64 << 20
_MAGIC = b"PAR1"
_THREADS = 16
MAX_PRECISION = 38
"""Digits of the largest decimal that Spark and Iceberg have."""
_BYTE_ORDER_MARKS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")

# The module's default of 128 KiB is less than a LOB may have.
csv.field_size_limit(sys.maxsize)

Columns = tuple[tuple[str, str], ...]
"""(name, Spark type) of a file's columns in file order; a type in ``<>`` is one Spark cannot read."""


@attrs.frozen
class SchemaGroup:
    """Files of one kind with the same columns, to be read together. ``rows`` is known for Parquet only.

    ``segment`` is the first part of `BronzeFile.order`, which full-load files of one parallel segment share; "" for CDC.
    ``line_end`` is what ends a CSV record; left to guess, Spark takes a carriage return inside the first quoted field for it.
    """

    is_cdc: bool
    segment: str
    columns: Columns
    files: tuple[BronzeFile, ...]
    rows: int | None
    line_end: str = "\n"

    @property
    def names(self) -> tuple[str, ...]:
        """Column names in file order."""
        return tuple(name for name, _ in self.columns)


@attrs.frozen
class _Inspected:
    file: BronzeFile
    columns: Columns
    rows: int | None
    line_end: str = "\n"


@attrs.frozen
class FirstRecord:
    """The first record of a CSV file, whether it is the only one, what ends it, and how many fields the first records have."""

    fields: tuple[str, ...]
    only: bool
    line_end: str = "\n"
    widths: Counter[int] = attrs.field(factory=Counter, eq=False)


def inspect(store: ObjectStore, files: Sequence[BronzeFile], bronze: Bronze, table: Table) -> list[SchemaGroup]:
    """Return ``files`` grouped by kind and columns, in order of first appearance. Files without a row are left out.

    When no file has a row, those that at least have columns are returned, so that a table can be made from an empty load.
    JSON files make one group per kind with no columns: Spark finds them, as every line may differ.

    Raises:
        BronzeError: a file is missing, truncated, or has columns that the configuration or Spark does not allow.
    """
    with ThreadPoolExecutor(_THREADS) as pool:
        found = list(pool.map(lambda file: _inspect(store, file, bronze, table), files))
    filled = [one for one in found if one.rows != 0]
    found = filled or [one for one in found if one.columns]
    groups: dict[tuple[bool, str, Columns, str], list[_Inspected]] = {}
    for one in found:
        refuse_twins(table, one.file, (name for name, _ in one.columns))
        segment = "" if one.file.is_cdc else one.file.order[:9]
        groups.setdefault((one.file.is_cdc, segment, one.columns, one.line_end), []).append(one)
    return [
        SchemaGroup(is_cdc, segment, columns, tuple(m.file for m in members), _total(m.rows for m in members), line_end)
        for (is_cdc, segment, columns, line_end), members in groups.items()
    ]


def refuse_twins(table: Table, file: BronzeFile, names: Iterable[str]) -> None:
    """Refuse columns that differ in case only: Spark, Athena and Iceberg's catalogs take them for one.

    Raises:
        BronzeError: there are such columns.
    """
    names = list(names)
    counts = Counter(name.lower() for name in names)
    twins = [name for name in names if counts[name.lower()] > 1]
    if twins:
        raise BronzeError(
            f"{file.key}: the columns {' and '.join(repr(name) for name in twins)} of {table.source} differ in case only (or not at all), "
            "and Spark and Athena take them for one. Give all but one another name, or leave them out, with a DMS mapping rule (rename or "
            "remove-column), and load the table again."
        )


def _total(rows: Iterable[int | None]) -> int | None:
    known = list(rows)
    return None if None in known else sum(row or 0 for row in known)


def _inspect(store: ObjectStore, file: BronzeFile, bronze: Bronze, table: Table) -> _Inspected:
    if bronze.format is BronzeFormat.PARQUET:
        return _inspect_parquet(store, file)
    if file.size == 0:
        return _Inspected(file, (), 0)
    if bronze.format is BronzeFormat.JSON:
        return _Inspected(file, (), 0 if is_blank(store, file) else None)
    first = first_record(store, file, bronze.csv.delimiter)
    if not first.fields:
        return _Inspected(file, (), 0)
    if bronze.csv.header:
        names = header_names(first.fields, file, bronze, table, store.root)
    else:
        names = headerless_names(file, first.widths, bronze, table, store.root)
    rows = 0 if bronze.csv.header and first.only else None
    return _Inspected(file, tuple((name, "string") for name in names), rows, first.line_end)


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
    if _data_end(metadata) > file.size - footer:
        raise BronzeError(
            f"{join(store.root, file.key)}: its Parquet footer describes more data than the file holds ({file.size} bytes): a part in "
            "the middle is missing. Restore the file from the source task (or from a bucket version)."
        )
    leaves = (metadata.schema.column(number) for number in range(len(metadata.schema)))
    int96 = {leaf.path for leaf in leaves if leaf.physical_type == "INT96"}
    columns = ((field.name, "timestamp" if field.name in int96 else spark_type(field.type)) for field in schema)
    return _Inspected(file, tuple(columns), metadata.num_rows)


def _data_end(metadata: pq.FileMetaData) -> int:
    """Return the offset behind the last column chunk; chunks of the last row group are the last in the file."""
    if metadata.num_row_groups == 0:
        return 0
    group = metadata.row_group(metadata.num_row_groups - 1)
    ends = []
    for number in range(group.num_columns):
        column = group.column(number)
        # Writers without a dictionary leave the offset out, or set it to 0.
        start = column.dictionary_page_offset or column.data_page_offset
        ends.append(start + column.total_compressed_size)
    return max(ends, default=0)


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
    pa.null(): VOID,
}


def spark_type(type_: pa.DataType) -> str:
    """Return the Spark type a Parquet column is read as, or the Arrow type in ``<>`` when Spark 3.5 cannot read it.

    It cannot read TIME, decimals of more than 38 digits, and nanoseconds, but for those of INT96, which older Spark and Hive write: of
    them it keeps the microseconds.
    """
    if type_ in _SIMPLE_TYPES:
        return _SIMPLE_TYPES[type_]
    if pa.types.is_decimal(type_) and type_.precision <= MAX_PRECISION:
        return f"decimal({type_.precision},{type_.scale})"
    if pa.types.is_timestamp(type_) and type_.unit in ("ms", "us"):
        return "timestamp" if type_.tz else "timestamp_ntz"
    if pa.types.is_fixed_size_binary(type_):
        return "binary"
    return f"<{type_}>"


def first_record(store: ObjectStore, file: BronzeFile, delimiter: str) -> FirstRecord:
    """Return the first record of a CSV file; bytes that are not UTF-8 become lone surrogates.

    Raises:
        BronzeError: the file is not gzip although named so, begins with a byte order mark, or its first record has no end.
    """
    size = _HEAD_BYTES
    while True:
        data = store.read(file.key, 0, min(size, file.size))
        whole = len(data) >= file.size
        data = decompress(data, file, store.root)
        _refuse_byte_order_mark(data, file, store.root)
        text = data.decode(errors="surrogateescape")
        found = _parse_first(text, delimiter)
        if isinstance(found, FirstRecord) and (whole or not found.only):
            return attrs.evolve(found, widths=_widths(text, delimiter, whole=whole))
        if whole or size >= _MAX_RECORD_BYTES:
            reason = "it has no end" if isinstance(found, FirstRecord) else str(found)
            raise BronzeError(
                f"{join(store.root, file.key)}: the first record is not valid CSV ({reason}). Check bronze.csv against the endpoint's "
                "settings (CsvDelimiter, Rfc4180), or restore the file."
            )
        size *= 8


def _parse_first(text: str, delimiter: str) -> FirstRecord | csv.Error:
    last = ""

    def lines() -> Iterator[str]:
        nonlocal last
        # Not universal newlines: a lone carriage return ends no record.
        for line in stream:
            last = line
            yield line

    stream = io.StringIO(text, newline="\n")
    try:
        record = next((fields for fields in csv.reader(lines(), delimiter=delimiter, strict=True) if fields), [])
    except csv.Error as error:
        return error
    only = not stream.read().strip("\r\n")
    return FirstRecord(tuple(record), only, "\r\n" if last.endswith("\r\n") else "\n")


def _widths(text: str, delimiter: str, *, whole: bool) -> Counter[int]:
    """Count the fields of the records that ``text`` begins with."""
    widths = []
    try:
        for fields in csv.reader(io.StringIO(text, newline="\n"), delimiter=delimiter, strict=True):
            if fields:
                widths.append(len(fields))
    except csv.Error:
        # The end of the sample, or a record that Spark will not parse either.
        whole = True
    # The last record may be cut off.
    return Counter(widths if whole or len(widths) == 1 else widths[:-1])


def _refuse_byte_order_mark(data: bytes, file: BronzeFile, root: str) -> None:
    if data.startswith(_BYTE_ORDER_MARKS):
        raise BronzeError(
            f"{join(root, file.key)}: begins with a byte order mark. DMS writes UTF-8 without one; whatever rewrote this file may "
            "have changed more. Restore the original."
        )
