"""The direct path of a small batch: its latest changes come to the driver, which finds their rows and writes the delta. No MERGE.

A MERGE plans, optimises and compiles a join each time, which costs more than everything else about a small batch. Spark reads and collapses
the batch on both paths. This module only looks up keys and writes rows. In doubt the batch takes the MERGE, and the reason is reported.
"""

from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

import pyarrow as pa
from pyspark.sql import SparkSession

from dms_iceberg.changes.partial_updates import kept_columns
from dms_iceberg.iceberg.format_v3 import has_row_lineage
from dms_iceberg.iceberg.rows.arrow_schema import field_ids
from dms_iceberg.iceberg.rows.delta import Delta, add_delta, columns_of, refusal
from dms_iceberg.iceberg.rows.live_files import FileCache, LiveFiles, live_files
from dms_iceberg.iceberg.rows.lookup import Lookup
from dms_iceberg.iceberg.rows.not_possible import NotPossibleError, reading_files
from dms_iceberg.iceberg.rows.partitions import PartitionField, new_partition, partition_fields, split
from dms_iceberg.iceberg.transaction import Transaction
from dms_iceberg.merge.batch_context import BatchContext
from dms_iceberg.merge.direct.rows import DirectTable, has_a_key_twice
from dms_iceberg.modes.lookup import table_mode
from dms_iceberg.modes.statement import mergeable
from dms_iceberg.sql.cdc_columns import POSITION, STORED_POSITION
from dms_iceberg.sql.quoting import quote

DIRECT, MERGE = "direct", "merge"
PATH_KEY = "dms-iceberg.path"
"""In the summary of a batch's snapshot: `DIRECT`, or `MERGE` and the reason."""
REPLACED_KEY = "dms-iceberg.replaced-rows"
"""In the summary of a direct batch's snapshot: how many rows of the table it has deleted or replaced."""
ROWS = "_cdc_direct_rows"
"""The column of `rows_figures` with the rows themselves."""
MOST_ROWS = 10_000
MOST_TEXT = 16 << 20
"""The most rows, and bytes of text in them, that come to the driver."""
MOST_BYTES, MOST_COMPRESSED_BYTES = 4 << 20, 64 << 10
"""A batch of larger files takes the MERGE: compressed text files hide how many rows they have, Parquet files do not."""
MOST_PARTITIONS = 32
"""With more, a MERGE writes their files in parallel and sooner."""
MOST_VECTORS = 128
"""In format 3 each data file with deletes gets a new deletion vector, which takes some three milliseconds here."""
BRIEF_ROWS, BRIEF_BYTES = 4_000, 512 << 10
"""A batch with at most so many rows (of a Parquet file) or bytes (of text files) is read with a plan that is not compiled."""
_COUNT, _LONG_ROWS = "_cdc_direct_count", "_cdc_direct_long"
# Equality of floats is not that of Arrow: NaN equals NaN, and 0.0 equals -0.0. Binaries have no text to be compared with bounds.
_UNFIT_KEYS = ("float", "double", "binary")
_LONG = ("string", "binary")
_CACHES: "WeakKeyDictionary[SparkSession, FileCache]" = WeakKeyDictionary()


def planned_path(batch: BatchContext) -> str:
    """Return `DIRECT` for a batch that may be written directly, else `merge_path`, as far as this is known before anything is read."""
    if batch.not_direct is not None:
        return merge_path(batch.not_direct)
    planned, table, shape = batch.planned, batch.table, batch.shape
    compressed = sum(file.size for file in planned.batch.files if file.extension.endswith(".gz"))
    checks = {
        "mode": table_mode(table.mode).direct_select is None,
        "first batch": planned.branch_state.head is None,
        "branch": planned.branch_state.branch is not None,
        "size": planned.is_replay or planned.batch.size > MOST_BYTES or compressed > MOST_COMPRESSED_BYTES,
        "rows": rows_in_files(batch) > MOST_ROWS,
        "type of the key": any(shape.types[name] in _UNFIT_KEYS for name in shape.key),
        "columns that updates leave out": bool(kept_columns(batch.context.config.bronze, table, shape.columns)),
    }
    reason = next((reason for reason, applies in checks.items() if applies), None)
    if reason is not None:
        return merge_path(reason)
    try:
        _table_files(batch, batch.target.iceberg)
    except NotPossibleError as error:
        return merge_path(str(error))
    return DIRECT


def is_brief(batch: BatchContext) -> bool:
    """Whether a batch, of those that may be written directly, has so few rows that compiling its plan would not pay."""
    rows = rows_in_files(batch)
    return rows <= BRIEF_ROWS if rows else batch.planned.batch.size <= BRIEF_BYTES


def merge_path(reason: str) -> str:
    """Return the path of a batch that takes the MERGE for a ``reason``."""
    return f"{MERGE} ({reason})"


def rows_figures(batch: BatchContext, *, late_keys: int | None = None) -> dict[str, str]:
    """Aggregates over the latest changes: those that a MERGE would write, as one list, and what `measured_path` asks.

    A Parquet file hides how much text it has, as text that repeats is stored once; and in ``soft_delete`` a late delete comes with values
    of older files. So the list has no row with more than its share of `MOST_TEXT`; the share is rounded to a power of two, because the
    generated code contains it.

    Args:
        batch: the batch.
        late_keys: the latest changes are rows of `late.collapse_late`, of so many keys, and may lose to newer rows of the table.
    """
    shape, mode = batch.shape, table_mode(batch.table.mode)
    lengths = [f"coalesce(octet_length({quote(name)}), 0)" for name in (*shape.key, *shape.values) if shape.types[name] in _LONG]
    rows = max(rows_in_files(batch), late_keys or 0)
    is_long = f"{' + '.join(['0L', *lengths])} > {MOST_TEXT >> rows.bit_length()}L"
    # A row that is only marked has two positions, and each is compared with the row that is read to mark it.
    compares = late_keys is not None and mode.forgets_older
    is_written = f"{mergeable()} AND coalesce({STORED_POSITION} < {POSITION}, true)" if compares else mergeable()
    catalog = batch.context.config.catalog.name
    fields = partition_fields(batch.context.spark._jvm, batch.target.iceberg)
    partition = (f"{field.sql(catalog)} AS {quote(field.name)}" for field in fields)
    select = mode.direct_select or mode.row_select
    columns = ", ".join([*select([*shape.key, *shape.values]), *partition])
    return {
        _COUNT: f"count_if({is_written})",
        _LONG_ROWS: f"count_if({is_written} AND {is_long})",
        ROWS: f"collect_list(CASE WHEN {is_written} AND NOT ({is_long}) THEN struct({columns}) END)",
    }


def measured_path(path: str, figures: Mapping[str, Any], rows: pa.Table | None) -> str:
    """Return the path of a batch once the results of `rows_figures` are known; ``rows`` are those of `ROWS`."""
    if path != DIRECT:
        return path
    checks = {"values": rows is None, "rows": figures[_COUNT] > MOST_ROWS, "long values": figures[_LONG_ROWS] > 0}
    return next((merge_path(reason) for reason, applies in checks.items() if applies), DIRECT)


def add_directly(batch: BatchContext, transaction: Transaction, rows: pa.Table, properties: Mapping[str, str], *, is_late: bool) -> None:
    """Write the latest changes of a batch into a transaction; its snapshot carries ``properties``.

    Args:
        batch: the batch.
        transaction: of the table, on the state that the batch was planned on.
        rows: those of `ROWS`.
        properties: for the snapshot's summary.
        is_late: the rows may lose to newer rows of the table.

    Raises:
        NotPossibleError: the table, or its files, do not allow it; nothing was added to the transaction.
    """
    cache = _cache(batch)
    jvm: Any = batch.context.spark._jvm
    with reading_files():
        delta = _delta(batch, transaction.table, rows, is_late=is_late)
    replaced = {REPLACED_KEY: str(sum(len(one.positions) for one in delta.deleted))}
    add_delta(jvm, transaction.table, delta, cache, {**properties, **replaced})


def rows_in_files(batch: BatchContext) -> int:
    """Return how many rows the batch's Parquet files have by their footers; 0 for other files."""
    return sum(group.group.rows or 0 for group in batch.groups)


def _cache(batch: BatchContext) -> FileCache:
    return _CACHES.setdefault(batch.context.spark, FileCache())


def _table_files(batch: BatchContext, table: Any) -> tuple[pa.Schema, tuple[PartitionField, ...], LiveFiles]:
    """Return the Arrow schema of a table's new files, their partition fields, and its files.

    Raises:
        NotPossibleError: the table is not one to be written to directly.
    """
    jvm: Any = batch.context.spark._jvm
    reason = refusal(jvm, table)
    if reason is not None:
        raise NotPossibleError(reason)
    fields = partition_fields(jvm, table)
    # A row that is only marked as deleted stays in its partition.
    if any(field.column in table_mode(batch.table.mode).metadata_columns for field in fields):
        raise NotPossibleError("a partition by a metadata column")
    with reading_files():
        return columns_of(jvm, table), fields, live_files(jvm, table, batch.shape.key, _cache(batch))


def _delta(batch: BatchContext, table: Any, rows: pa.Table, *, is_late: bool) -> Delta:
    # The table within the transaction: another writer may have changed more than rows since the batch was planned.
    columns, fields, files = _table_files(batch, table)
    shape, mode = batch.shape, table_mode(batch.table.mode)
    if set(columns.names) != {*shape.key, *shape.values, *mode.metadata_columns}:
        raise NotPossibleError("columns that the batch does not have")
    if any(field.name not in rows.column_names for field in fields):
        raise NotPossibleError("partitions that are not those of before")
    ids = {columns.field(number).name: id_ for id_, number in field_ids(columns).items()}
    jvm: Any = batch.context.spark._jvm
    lookup = Lookup(table.io(), tuple(ids[name] for name in shape.key), _cache(batch), has_row_lineage(jvm, table))
    target = DirectTable(shape.key, columns, fields, lookup)
    wanted = target.keys(rows)
    if has_a_key_twice([wanted]):
        raise NotPossibleError("a key that the table has twice")
    found = lookup.find(files.data.values(), wanted)
    if has_a_key_twice([one.keys.select(wanted.column_names) for one in found]):
        raise NotPossibleError("a key that the table has twice")
    written = target.soft_deleted(rows, found, compare=is_late) if mode.keeps_deleted else target.mirrored(rows, found)
    parts = split(written.new, written.partitions)
    if len(parts) > MOST_PARTITIONS or len({one.file.partition for one in written.deleted}) > MOST_PARTITIONS:
        raise NotPossibleError("many partitions")
    if lookup.has_row_ids and len(written.deleted) > MOST_VECTORS:
        raise NotPossibleError("deletes in many files")
    known = {file.partition.values: file.partition for file in files.data.values()}
    by_partition = {known.get(values) or new_partition(jvm, table, fields, values): part for values, part in parts.items()}
    return Delta(by_partition, written.deleted, files, lookup.ids)
