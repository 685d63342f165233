"""The direct path of a small batch: its latest changes come to the driver, which finds their rows and writes the delta. No MERGE.

A MERGE plans, optimises and compiles a join each time, which costs more than everything else about a small batch. What a batch is, and
which change of a key is the latest, Spark says in both cases; here only keys are looked up and rows written. Whatever is in doubt takes
the MERGE, and the reason is reported.
"""

from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

import attrs
import pyarrow as pa
import pyarrow.compute as pc
from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession

from dms_iceberg.changes.partial_updates import kept_columns
from dms_iceberg.config.model import Mode
from dms_iceberg.iceberg.arrow_schema import field_ids
from dms_iceberg.iceberg.java_maps import to_dict
from dms_iceberg.iceberg.live_files import FileCache, NotPossibleError, find_rows, live_files
from dms_iceberg.iceberg.row_delta import Delta, add_delta, columns_of, refusal
from dms_iceberg.iceberg.transaction import Transaction
from dms_iceberg.merge.batch_context import BatchContext
from dms_iceberg.merge.statement import insert_columns
from dms_iceberg.silver.metadata_columns import METADATA_COLUMNS
from dms_iceberg.spark.arrow import to_arrow
from dms_iceberg.sql.cdc_columns import DELETE
from dms_iceberg.sql.quoting import quote

PATH_KEY = "dms-iceberg.path"
"""In the summary of a batch's snapshot: ``direct``, or ``merge`` and the reason."""
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


@attrs.frozen(eq=False)
class DirectPath:
    """How the rows of a batch become files of its table.

    Attributes:
        columns: of the table's data files.
        ids: field ids of the key columns.
        long: silver columns whose values may be long.
    """

    columns: pa.Schema
    ids: tuple[int, ...]
    long: tuple[str, ...]

    def figures(self) -> dict[str, str]:
        """Aggregates over the latest changes, for `unless_large`. A small file may hold much: text that repeats, or is compressed."""
        lengths = [f"coalesce(octet_length({quote(name)}), 0)" for name in self.long]
        text = f"sum(CAST({' + '.join(lengths)} AS bigint))" if lengths else "0"
        return {_ROWS: "count(1)", _TEXT: f"coalesce({text}, 0)"}

    def unless_large(self, figures: Mapping[str, Any]) -> "DirectPath | str":
        """Return the path, or why the rows do not come to the driver."""
        if figures[_ROWS] > MOST_ROWS:
            return "rows"
        return self if figures[_TEXT] <= MOST_TEXT else "long values"


def direct_path(batch: BatchContext) -> DirectPath | str:
    """Return the direct path of a batch, or why it takes the MERGE, in a few words."""
    reason = _unfit(batch) or refusal(_jvm(batch), batch.target.iceberg, batch.target.raw_properties())
    if reason is not None:
        return reason
    try:
        columns = columns_of(_jvm(batch), batch.target.iceberg)
    except NotPossibleError as error:
        return str(error)
    shape = batch.shape
    if set(columns.names) != {*shape.key, *shape.values, *METADATA_COLUMNS}:
        return "columns that the batch does not have"
    places = {columns.field(number).name: id_ for id_, number in field_ids(columns).items()}
    long = tuple(name for name in (*shape.key, *shape.values) if shape.types[name] in _LONG)
    return DirectPath(columns, tuple(places[name] for name in shape.key), long)


def _unfit(batch: BatchContext) -> str | None:
    planned, table, shape = batch.planned, batch.table, batch.shape
    checks = {
        "mode": table.mode is not Mode.MIRROR,
        "first batch": planned.branch_state.head is None,
        "branch": planned.branch_state.branch is not None,
        "size": planned.is_replay or planned.batch.size > MOST_BYTES,
        "type of the key": any(shape.types[name] in _UNFIT_KEYS for name in shape.key),
        "columns that updates leave out": bool(kept_columns(batch.context.config.bronze, table, shape.columns)),
    }
    return next((reason for reason, applies in checks.items() if applies), None)


def add_directly(batch: BatchContext, path: DirectPath, transaction: Transaction, latest: DataFrame, properties: Mapping[str, str]) -> None:
    """Write the latest changes of a batch into a transaction; its snapshot carries ``properties``.

    Args:
        batch: the batch.
        path: how its rows become files.
        transaction: of the table, on the state that the batch was planned on.
        latest: the rows that a MERGE would get.
        properties: for the snapshot's summary.

    Raises:
        NotPossibleError: the table's files do not allow it; nothing was added to the transaction.
    """
    cache = _CACHES.setdefault(batch.context.spark, FileCache())
    try:
        delta = _delta(batch, path, transaction, latest, cache)
    except (pa.ArrowException, OSError, UnicodeDecodeError, Py4JJavaError) as error:
        # Whatever a file has that cannot be read here, Spark reads it, or reports it as ever.
        raise NotPossibleError(f"{type(error).__name__} while files were read") from error
    replaced = {REPLACED_KEY: str(sum(len(positions) for _, positions in delta.deleted))}
    add_delta(_jvm(batch), transaction.table, delta, cache, {**properties, **replaced})


def _delta(batch: BatchContext, path: DirectPath, transaction: Transaction, latest: DataFrame, cache: FileCache) -> Delta:
    jvm, table = _jvm(batch), transaction.table
    # Another writer may have changed more than rows since the batch was planned.
    reason = refusal(jvm, table, to_dict(jvm, table.properties()))
    if reason is not None:
        raise NotPossibleError(reason)
    if not columns_of(jvm, table).equals(path.columns, check_metadata=True):
        raise NotPossibleError("columns that have changed")
    files = live_files(jvm, table, cache)
    rows = to_arrow(latest.selectExpr(*insert_columns([*batch.shape.key, *batch.shape.values]), DELETE))
    keys = pa.table({str(n): rows[name].cast(path.columns.field(name).type) for n, name in enumerate(batch.shape.key)})
    found = [(file, find_rows(table.io(), file, keys, path.ids, cache)) for file in files.data.values()]
    written = rows.filter(pc.invert(rows[DELETE]))
    new = pa.Table.from_arrays([written[field.name].cast(field.type) for field in path.columns], schema=path.columns)
    if any(not field.nullable and new[field.name].null_count for field in path.columns):
        raise NotPossibleError("NULL in a required column")
    return Delta(new, [(file, positions) for file, positions in found if len(positions)], files, path.ids)


def _jvm(batch: BatchContext) -> Any:
    return batch.context.spark._jvm
