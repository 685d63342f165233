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
from pyspark.sql import DataFrame, Row, SparkSession

from dms_iceberg.changes.partial_updates import kept_columns
from dms_iceberg.changes.shape import Shape
from dms_iceberg.config.model import Mode
from dms_iceberg.iceberg.arrow_schema import field_ids
from dms_iceberg.iceberg.live_files import FileCache, NotPossibleError, find_rows, live_files
from dms_iceberg.iceberg.row_delta import Delta, add_delta, columns_of, refusal
from dms_iceberg.iceberg.transaction import Transaction
from dms_iceberg.merge.batch_context import BatchContext
from dms_iceberg.merge.statement import insert_columns, mergeable
from dms_iceberg.silver.metadata_columns import METADATA_COLUMNS
from dms_iceberg.spark.arrow import to_arrow
from dms_iceberg.sql.cdc_columns import DELETE

PATH_KEY = "dms-iceberg.path"
"""In the summary of a batch's snapshot: ``direct``, or ``merge``."""
MOST_ROWS = 10_000
MOST_BYTES = 4 << 20
"""A batch of more rows, or of larger files, takes the MERGE."""
# Equality of floats is not that of Arrow: NaN equals NaN, and 0.0 equals -0.0.
_ROWS = "_cdc_merged_rows"
_FLOATS = ("float", "double")
_CACHES: "WeakKeyDictionary[SparkSession, FileCache]" = WeakKeyDictionary()


@attrs.frozen(eq=False)
class DirectPath:
    """How the rows of a batch become files of its table.

    Attributes:
        columns: of the table's data files.
        ids: field ids of the key columns.
    """

    columns: pa.Schema
    ids: tuple[int, ...]


def direct_path(batch: BatchContext) -> DirectPath | str:
    """Return the direct path of a batch, or why it takes the MERGE, in a few words."""
    reason = _unfit(batch) or refusal(_jvm(batch), batch.target.iceberg, batch.target.raw_properties())
    if reason is not None:
        return reason
    try:
        columns = columns_of(_jvm(batch), batch.target.iceberg)
    except NotPossibleError as error:
        return str(error)
    if set(columns.names) != {*batch.shape.key, *batch.shape.values, *METADATA_COLUMNS}:
        return "columns that the batch does not have"
    places = {columns.field(number).name: id_ for id_, number in field_ids(columns).items()}
    return DirectPath(columns, tuple(places[name] for name in batch.shape.key))


def _unfit(batch: BatchContext) -> str | None:
    planned, table, shape = batch.planned, batch.table, batch.shape
    checks = {
        "mode": table.mode is not Mode.MIRROR,
        "first batch": planned.branch_state.head is None,
        "branch": planned.branch_state.branch is not None,
        "size": planned.is_replay or planned.batch.size > MOST_BYTES,
        "key of floats": any(shape.types[name] in _FLOATS for name in shape.key),
        "columns that updates leave out": bool(kept_columns(batch.context.config.bronze, table, shape.columns)),
    }
    return next((reason for reason, applies in checks.items() if applies), None)


def rows_select(path: DirectPath | str, shape: Shape) -> list[str]:
    """Select list over the latest changes, for `one_row`: the rows that a MERGE would get, NULL if they are too many for the driver."""
    if isinstance(path, str):
        return []
    row = f"struct({', '.join([*insert_columns([*shape.key, *shape.values]), DELETE])})"
    return [f"IF(count(1) <= {MOST_ROWS}, collect_list(CASE WHEN {mergeable()} THEN {row} END), NULL) AS {_ROWS}"]


def one_row(frame: DataFrame) -> tuple[Row, pa.Table | None]:
    """Return the one row of a frame with the column of `rows_select`, without that, and the rows that it holds."""
    found = to_arrow(frame)
    listed = found[_ROWS].combine_chunks()
    values = found.drop_columns([_ROWS]).to_pylist()[0]
    rows = None if listed.null_count else pa.Table.from_struct_array(listed.flatten())
    return Row(**values), rows


def add_directly(batch: BatchContext, path: DirectPath, transaction: Transaction, rows: pa.Table, properties: Mapping[str, str]) -> None:
    """Write the latest changes of a batch into a transaction; its snapshot carries ``properties``.

    Args:
        batch: the batch.
        path: how its rows become files.
        transaction: of the table, on the state that the batch was planned on.
        rows: the result of `rows_figure`.
        properties: for the snapshot's summary.

    Raises:
        NotPossibleError: the table's files do not allow it; nothing was added to the transaction.
    """
    jvm, table = _jvm(batch), transaction.table
    cache = _CACHES.setdefault(batch.context.spark, FileCache())
    files = live_files(jvm, table, cache)
    try:
        keys = pa.table({str(n): rows[name].cast(path.columns.field(name).type) for n, name in enumerate(batch.shape.key)})
        found = [(file, find_rows(table.io(), file, keys, path.ids, cache)) for file in files.data.values()]
        written = rows.filter(pc.invert(rows[DELETE]))
        new = pa.Table.from_arrays([written[field.name].cast(field.type) for field in path.columns], schema=path.columns)
    except (pa.ArrowException, UnicodeDecodeError) as error:
        raise NotPossibleError(type(error).__name__) from error
    if any(not field.nullable and new[field.name].null_count for field in path.columns):
        raise NotPossibleError("NULL in a required column")
    delta = Delta(new, [(file, positions) for file, positions in found if len(positions)], files, path.ids)
    add_delta(jvm, table, delta, cache, properties)


def _jvm(batch: BatchContext) -> Any:
    return batch.context.spark._jvm
