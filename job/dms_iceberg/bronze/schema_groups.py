"""Finds the columns of change files: Parquet footers and first records of CSV by ranged GETs in a thread pool, without Spark."""

from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

import attrs
import pyarrow as pa
import pyarrow.parquet as pq

from dms_iceberg.bronze.csv_names import header_names, headerless_columns
from dms_iceberg.bronze.csv_sample import FirstRecord, first_record, refuse_unquoted
from dms_iceberg.bronze.csv_shapes import further_rows, has_empty_images, possible_columns
from dms_iceberg.bronze.gzip_checks import is_blank, refuse_cut_off
from dms_iceberg.bronze.keys import BronzeFile
from dms_iceberg.bronze.rival_verdict import Weighed, refuse_doubtful
from dms_iceberg.config.model import Bronze, BronzeFormat, Table
from dms_iceberg.errors import BronzeError
from dms_iceberg.sql.types import VOID
from dms_iceberg.storage.store import ObjectStore, join

_TAIL_BYTES = 1 << 16
_MAGIC = b"PAR1"
_THREADS = 16
MAX_PRECISION = 38
"""Digits of the widest decimal that Spark and Iceberg support."""

__all__ = ["Columns", "FirstRecord", "SchemaGroup", "first_record", "inspect", "refuse_twins", "spark_type"]

Columns = tuple[tuple[str, str], ...]
"""(name, Spark type) of a file's columns in file order; a type in ``<>`` is an Arrow type that Spark cannot read."""


@attrs.frozen
class SchemaGroup:
    """Files of one kind with the same columns, to be read together. ``rows`` is known for Parquet only.

    ``segment`` is the first part of `BronzeFile.order`, which full-load files of one parallel segment share; "" for CDC.
    ``line_end`` is the line end of CSV records; Spark's own detection takes a carriage return inside the first quoted field for it.
    ``images_show_null``: the files distinguish a before-image that is NULL from one that is empty text.
    """

    is_cdc: bool
    segment: str
    columns: Columns
    files: tuple[BronzeFile, ...]
    rows: int | None
    line_end: str = "\n"
    images_show_null: bool = True

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
    images_show_null: bool = True
    weighed: Weighed | None = None


def inspect(store: ObjectStore, files: Sequence[BronzeFile], bronze: Bronze, table: Table) -> list[SchemaGroup]:
    """Return ``files`` grouped by kind and columns, in order of first appearance. Files without a row are left out.

    When no file has a row, the files that at least have columns are returned, so that a table can be created from an empty load.
    JSON files form one group per kind with no columns: Spark finds these later, as every line may differ.

    Raises:
        BronzeError: a file is missing, truncated, or has columns that the configuration or Spark does not allow.
    """
    with ThreadPoolExecutor(_THREADS) as pool:
        found = list(pool.map(lambda file: _inspect(store, file, bronze, table), files))
    refuse_doubtful([(one.file, one.weighed) for one in found if one.weighed is not None], bronze, table, store.root)
    filled = [one for one in found if one.rows != 0]
    found = filled or [one for one in found if one.columns]
    groups: dict[SchemaGroup, list[_Inspected]] = {}
    for one in found:
        _refuse_nameless(one.file, one.columns, store.root)
        refuse_twins(table, one.file, (name for name, _ in one.columns))
        segment = "" if one.file.is_cdc else one.file.order[:9]
        alike = SchemaGroup(one.file.is_cdc, segment, one.columns, (), None, one.line_end, one.images_show_null)
        groups.setdefault(alike, []).append(one)
    return [
        attrs.evolve(alike, files=tuple(m.file for m in members), rows=_total(m.rows for m in members)) for alike, members in groups.items()
    ]


def _refuse_nameless(file: BronzeFile, columns: Columns, root: str) -> None:
    nameless = [number for number, (name, _) in enumerate(columns, 1) if not name]
    if nameless:
        raise BronzeError(
            f"{join(root, file.key)}: column {nameless[0]} of {len(columns)} has no name, so it cannot be a column of a table. DMS writes "
            "none like that: restore the file, or give the column a name with a DMS mapping rule."
        )


def refuse_twins(table: Table, file: BronzeFile, names: Iterable[str], others: Iterable[BronzeFile] = ()) -> None:
    """Refuse columns whose names differ in case only: Spark, Athena and Iceberg's catalogs treat them as one.

    Args:
        others: further files that have some of these columns, where ``file`` does not have all.

    Raises:
        BronzeError: there are such columns.
    """
    names = list(names)
    counts = Counter(name.lower() for name in names)
    twins = [name for name in names if counts[name.lower()] > 1]
    if twins:
        raise BronzeError(
            f"{', '.join(one.key for one in (file, *others))}: the columns {' and '.join(repr(name) for name in twins)} of {table.source} "
            "differ in case only (or not at all), "
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
    found = _inspect_csv(store, file, bronze, table)
    if found.rows == 0:
        refuse_cut_off(store, file)
    return found


def _inspect_csv(store: ObjectStore, file: BronzeFile, bronze: Bronze, table: Table) -> _Inspected:
    form = bronze.csv
    first = first_record(store, file, form.delimiter, rfc4180=form.rfc4180)
    if not first.fields:
        return _Inspected(file, (), 0)
    names: Sequence[str] = header_names(first.fields, file, bronze, table, store.root) if form.header else ()
    if form.rfc4180:
        possible = [names] if form.header else [[c.name for c in one] for one in possible_columns(bronze, table, is_cdc=file.is_cdc)]
        rows_in_a_value = [further_rows(one, bronze, is_cdc=file.is_cdc) for one in possible]
        further = "|".join(dict.fromkeys(one for one in rows_in_a_value if one is not None)) or None
        refuse_unquoted(first, file, form.delimiter, further, store.root)
    weighed = None if form.header else headerless_columns(file, first.records, bronze, table, store.root)
    if weighed is not None:
        names = [column.name for column in weighed.columns]
    rows = 0 if form.header and first.only else None
    images_show_null = not (file.is_cdc and has_empty_images(names, first.records[1 if form.header else 0 :], bronze, table))
    columns = tuple((name, "string") for name in names)
    return _Inspected(file, columns, rows, first.line_end, images_show_null and form.null != "", weighed)


def _inspect_parquet(store: ObjectStore, file: BronzeFile) -> _Inspected:
    tail_size = min(file.size, _TAIL_BYTES)
    tail = store.read(file.key, file.size - tail_size, tail_size) if tail_size else b""
    if len(tail) < 12 or tail[-4:] != _MAGIC:
        raise BronzeError(
            f"{join(store.root, file.key)}: not a whole Parquet file ({file.size} bytes, no Parquet footer at its end). It is truncated, "
            "damaged, or of another format. Restore it from the source task (or from a bucket version), or move it away if its changes may "
            "be missing."
        )
    footer = int.from_bytes(tail[-8:-4], "little") + 8
    if footer > len(tail):
        tail = store.read(file.key, max(file.size - footer, 0), footer)
    try:
        metadata = pq.read_metadata(pa.BufferReader(tail))
        schema = metadata.schema.to_arrow_schema()
        is_consistent = _names_its_chunks(metadata)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise BronzeError(
            f"{join(store.root, file.key)}: the Parquet footer cannot be read ({type(error).__name__}). Restore the file."
        ) from error
    if not is_consistent:
        raise BronzeError(
            f"{join(store.root, file.key)}: its Parquet footer gives columns and their data different names: it is damaged. Restore the "
            "file from the source task (or from a bucket version)."
        )
    if _data_end(metadata) > file.size - footer:
        raise BronzeError(
            f"{join(store.root, file.key)}: its Parquet footer describes more data than the file holds ({file.size} bytes): a part in "
            "the middle is missing. Restore the file from the source task (or from a bucket version)."
        )
    leaves = (metadata.schema.column(number) for number in range(len(metadata.schema)))
    int96 = {leaf.path for leaf in leaves if leaf.physical_type == "INT96"}
    columns = ((field.name, "timestamp" if field.name in int96 else spark_type(field.type)) for field in schema)
    return _Inspected(file, tuple(columns), metadata.num_rows)


def _names_its_chunks(metadata: pq.FileMetaData) -> bool:
    """Whether all row groups have the schema's columns; if not, Spark's error names no file."""
    paths = [metadata.schema.column(number).path for number in range(len(metadata.schema))]
    groups = (metadata.row_group(number) for number in range(metadata.num_row_groups))
    return all([group.column(number).path_in_schema for number in range(group.num_columns)] == paths for group in groups)


def _data_end(metadata: pq.FileMetaData) -> int:
    """Return the offset after the last column chunk; chunks of the last row group are the last in the file."""
    if metadata.num_row_groups == 0:
        return 0
    group = metadata.row_group(metadata.num_row_groups - 1)
    ends = []
    for number in range(group.num_columns):
        column = group.column(number)
        # Writers without a dictionary omit this offset, or set it to 0.
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

    It cannot read TIME, decimals of more than 38 digits, and nanoseconds, except those of INT96, which older Spark and Hive write: of
    these it keeps the microseconds. What Arrow calls a dictionary, such as a category of pandas, is a column of plain values in Parquet.
    """
    if pa.types.is_dictionary(type_):
        return spark_type(type_.value_type)
    if type_ in _SIMPLE_TYPES:
        return _SIMPLE_TYPES[type_]
    if pa.types.is_decimal(type_) and type_.precision <= MAX_PRECISION:
        return f"decimal({type_.precision},{type_.scale})"
    if pa.types.is_timestamp(type_) and type_.unit in ("ms", "us"):
        return "timestamp" if type_.tz else "timestamp_ntz"
    if pa.types.is_fixed_size_binary(type_):
        return "binary"
    return f"<{type_}>"
