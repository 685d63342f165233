"""The direct path of a small batch: its latest changes come to the driver, which finds their rows and writes the delta. No MERGE.

A MERGE plans, optimises and compiles a join each time, which costs more than everything else about a small batch. What a batch is, and
which change of a key is the latest, Spark says in both cases; here only keys are looked up and rows written. Whatever is in doubt takes
the MERGE, and the reason is reported.
"""

from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

import pyarrow as pa
import pyarrow.compute as pc
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession

from dms_iceberg.changes.partial_updates import kept_columns
from dms_iceberg.changes.shape import Shape
from dms_iceberg.config.model import Mode
from dms_iceberg.iceberg.arrow_schema import field_ids
from dms_iceberg.iceberg.live_files import FileCache, NotPossibleError, find_rows, live_files
from dms_iceberg.iceberg.row_delta import Delta, add_delta, columns_of, refusal
from dms_iceberg.iceberg.transaction import Transaction
from dms_iceberg.merge.batch_context import BatchContext
from dms_iceberg.merge.statement import insert_columns
from dms_iceberg.silver.metadata_columns import METADATA_COLUMNS
from dms_iceberg.spark.arrow import to_arrow
from dms_iceberg.sql.cdc_columns import DELETE
from dms_iceberg.sql.quoting import quote

DIRECT, MERGE = "direct", "merge"
PATH_KEY = "dms-iceberg.path"
"""In the summary of a batch's snapshot: `DIRECT`, or `MERGE` and the reason."""
REPLACED_KEY = "dms-iceberg.replaced-rows"
"""In the summary of a direct batch's snapshot: how many rows of the table it has deleted or replaced."""
MOST_ROWS = 10_000
MOST_TEXT = 16 << 20
"""The most rows, and bytes of text in them, that come to the driver."""
MOST_BYTES = 4 << 20
"""A batch of larger files takes the MERGE."""
_ROWS, _TEXT = "_cdc_direct_rows", "_cdc_direct_text"
# Equality of floats is not that of Arrow: NaN equals NaN, and 0.0 equals -0.0. Binaries have no text to be compared with bounds.
_UNFIT_KEYS = ("float", "double", "binary")
_LONG = ("string", "binary")
_CACHES: "WeakKeyDictionary[SparkSession, FileCache]" = WeakKeyDictionary()


def planned_path(batch: BatchContext) -> str:
    """Return `DIRECT` for a batch that may be written directly, else `merge_path`, as far as this is known before anything is read."""
    planned, table, shape = batch.planned, batch.table, batch.shape
    checks = {
        "mode": table.mode is not Mode.MIRROR,
        "first batch": planned.branch_state.head is None,
        "branch": planned.branch_state.branch is not None,
        "size": planned.is_replay or planned.batch.size > MOST_BYTES,
        "type of the key": any(shape.types[name] in _UNFIT_KEYS for name in shape.key),
        "columns that updates leave out": bool(kept_columns(batch.context.config.bronze, table, shape.columns)),
    }
    return next((merge_path(reason) for reason, applies in checks.items() if applies), DIRECT)


def merge_path(reason: str) -> str:
    """Return the path of a batch that takes the MERGE for a ``reason``."""
    return f"{MERGE} ({reason})"


def size_figures(shape: Shape) -> dict[str, str]:
    """Aggregates over the latest changes, for `measured_path`. A small file may hold much: text that repeats, or is compressed."""
    lengths = [f"coalesce(octet_length({quote(name)}), 0)" for name in (*shape.key, *shape.values) if shape.types[name] in _LONG]
    text = f"coalesce(sum(CAST({' + '.join(lengths)} AS bigint)), 0)" if lengths else "0"
    return {_ROWS: "count(1)", _TEXT: text}


def measured_path(path: str, figures: Mapping[str, Any]) -> str:
    """Return the path of a batch once the results of `size_figures` are known: many rows, and long ones, do not come to the driver."""
    if path != DIRECT:
        return path
    if figures[_ROWS] > MOST_ROWS:
        return merge_path("rows")
    return DIRECT if figures[_TEXT] <= MOST_TEXT else merge_path("long values")


def add_directly(batch: BatchContext, transaction: Transaction, latest: DataFrame, properties: Mapping[str, str]) -> None:
    """Write the latest changes of a batch into a transaction; its snapshot carries ``properties``.

    Args:
        batch: the batch.
        transaction: of the table, on the state that the batch was planned on.
        latest: the rows that a MERGE would get.
        properties: for the snapshot's summary.

    Raises:
        NotPossibleError: the table, or its files, do not allow it; nothing was added to the transaction.
    """
    cache = _CACHES.setdefault(batch.context.spark, FileCache())
    jvm: Any = batch.context.spark._jvm
    try:
        delta = _delta(jvm, batch.shape, transaction.table, latest, cache)
    except (pa.ArrowException, OSError, UnicodeDecodeError, Py4JJavaError) as error:
        # Whatever a file has that cannot be read here, Spark reads it, or reports it as ever.
        raise NotPossibleError(f"{type(error).__name__} while files were read") from error
    replaced = {REPLACED_KEY: str(sum(len(positions) for _, positions in delta.deleted))}
    add_delta(jvm, transaction.table, delta, cache, {**properties, **replaced})


def _delta(jvm: Any, shape: Shape, table: Any, latest: DataFrame, cache: FileCache) -> Delta:
    # The table within the transaction: another writer may have changed more than rows since the batch was planned.
    reason = refusal(jvm, table)
    if reason is not None:
        raise NotPossibleError(reason)
    columns = columns_of(jvm, table)
    if set(columns.names) != {*shape.key, *shape.values, *METADATA_COLUMNS}:
        raise NotPossibleError("columns that the batch does not have")
    ids = {columns.field(number).name: id_ for id_, number in field_ids(columns).items()}
    of_key = tuple(ids[name] for name in shape.key)
    files = live_files(jvm, table, cache)
    rows = to_arrow(latest.selectExpr(*insert_columns([*shape.key, *shape.values]), DELETE))
    keys = pa.table({str(number): rows[name].cast(columns.field(name).type) for number, name in enumerate(shape.key)})
    found = [(file, find_rows(table.io(), file, keys, of_key, cache)) for file in files.data.values()]
    written = rows.filter(pc.invert(rows[DELETE]))
    new = pa.Table.from_arrays([written[field.name].cast(field.type) for field in columns], schema=columns)
    if any(not field.nullable and new[field.name].null_count for field in columns):
        raise NotPossibleError("NULL in a required column")
    return Delta(new, [(file, positions) for file, positions in found if len(positions)], files, of_key)
