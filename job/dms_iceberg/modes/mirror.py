"""Mode ``mirror``: the rows that the source has now. Pure."""

from collections.abc import Sequence

from dms_iceberg.modes.metadata_columns import row_columns
from dms_iceberg.modes.statement import MergeSource
from dms_iceberg.modes.table_mode import TableMode, Truncate
from dms_iceberg.sql.cdc_columns import DELETE, POSITION
from dms_iceberg.sql.quoting import quote


def merge_sql(target: str, source: MergeSource, key: Sequence[str], values: Sequence[str], *, compare: bool) -> str:
    """Return the MERGE of a batch's latest changes.

    Args:
        target: quoted name of the table.
        source: the latest changes; their ``rewrite`` is used only with ``compare``.
        key: silver key columns.
        values: the other silver columns.
        compare: the batch may have positions below the table's high-water position, so rows must be compared one by one. For a batch in
            order the MERGE does not even read the position column of the target.

    There is always a WHEN MATCHED clause: without one Spark plans an append, which no concurrent commit can conflict with.
    """
    newer = f"s.{POSITION} > t.{POSITION}"
    if source.rewrite is not None:
        newer = f"({newer} OR s.{source.rewrite})"
    newer = f" AND {newer}" if compare else ""
    columns = row_columns([*key, *values])
    assignments = ", ".join(f"t.{column} = s.{column}" for column in columns)
    return (
        f"MERGE INTO {target} t USING {source.view} s ON {source.on([quote(name) for name in key])} "
        f"WHEN MATCHED AND s.{DELETE}{newer} THEN DELETE "
        f"WHEN MATCHED{newer} THEN UPDATE SET {assignments} "
        f"WHEN NOT MATCHED AND NOT s.{DELETE} THEN INSERT ({', '.join(columns)}) VALUES ({', '.join(f's.{c}' for c in columns)})"
    )


MIRROR = TableMode(
    name="mirror",
    inserted=f"NOT {DELETE}",
    merge_sql=merge_sql,
    direct_select=lambda columns: [*row_columns(columns), DELETE],
    truncate=Truncate(
        lambda position, _: f"{POSITION} < {position}",
        lambda name, ends, *_: f"DELETE FROM {name} WHERE {ends}",
    ),
    forgets_older=True,
    is_replaced_by_load=True,
    takes_partial_updates=True,
    is_bulk_loaded=True,
    is_verified=True,
)
