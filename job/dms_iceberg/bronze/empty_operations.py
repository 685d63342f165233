"""LOAD files whose operation column is there and has no value in any row, where the document says that loads have no operation.

The whole file decides. Among rows with an operation, one without any is damaged, and goes to quarantine (``unknown_op``).
"""

from collections.abc import Callable, Iterator
from urllib.parse import unquote

import attrs
from pyspark.sql import DataFrame
from pyspark.sql.functions import count, expr, lit

from dms_iceberg.bronze.schema_groups import SchemaGroup
from dms_iceberg.config.model import Change
from dms_iceberg.sql.cdc_columns import FILE
from dms_iceberg.sql.quoting import quote


def without_empty_operations(
    group: SchemaGroup, change: Change, read: Callable[[SchemaGroup], DataFrame]
) -> Iterator[tuple[SchemaGroup, DataFrame]]:
    """Yield a group with its rows, its files without any operation apart: these then have no such column.

    For LOAD files that have the column, with ``load_without_op``, this starts a Spark job, which reads that column.

    Args:
        read: returns the rows of a group.
    """
    frame = read(group)
    op = next((name for name in frame.columns if name.lower() == change.op_column.lower()), None)
    if group.is_cdc or op is None or not change.load_without_op:
        yield group, frame
        return
    filled = count(expr(f"nullif(CAST({quote(op)} AS string), '')"))
    counts = [(unquote(path), has, rows) for path, has, rows in frame.groupBy(FILE).agg(filled, count(lit(1))).collect()]
    with_some = {file.key for file in group.files if any(has and path.endswith(f"/{file.key}") for path, has, _ in counts)}
    parts = [tuple(file for file in group.files if (file.key in with_some) is there) for there in (True, False)]
    for files, there in zip(parts, (True, False), strict=True):
        if not files:
            continue
        rows = None if group.rows is None else sum(rows for _, has, rows in counts if bool(has) is there)
        part = group if files == group.files else attrs.evolve(group, files=files, rows=rows)
        shown = frame if part is group else read(part)
        if there:
            yield part, shown
        else:
            others = [quote(name) for name in shown.columns if name != op]
            yield attrs.evolve(part, columns=tuple(one for one in part.columns if one[0] != op)), shown.selectExpr(*others)
