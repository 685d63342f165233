"""Records of the quarantine as read groups, so that the job cleans them like rows of their files.

A replay always reads the record, also where bronze still has the file: the file may have expired, and to find a row by its number in a text
file takes a reading of the whole file. The record does not have the file's bytes: a row that did not parse, or was not text, stays
rejected.
"""

from collections.abc import Collection, Iterable, Sequence

import attrs
from pyspark.sql import DataFrame
from pyspark.sql.functions import expr

from dms_iceberg.bronze.layout import layout_group
from dms_iceberg.bronze.misread_values import unknown_image_sql
from dms_iceberg.bronze.position import COUNTER_DIGITS
from dms_iceberg.bronze.schema_groups import SchemaGroup
from dms_iceberg.changes.frames import ReadGroup, classify_columns
from dms_iceberg.config.model import Bronze, BronzeFormat, Table
from dms_iceberg.config.service_columns import is_sequenced
from dms_iceberg.context import RunContext
from dms_iceberg.progress.pending import RecordBatch
from dms_iceberg.progress.progress import Progress
from dms_iceberg.quarantine.rejected_rows import open_rows, reason_is
from dms_iceberg.sql.cdc_columns import CORRUPT, FILE, FILE_NAME, NOT_TEXT, ROW, ROW_ID
from dms_iceberg.sql.json_text import WHOLE, options_sql
from dms_iceberg.sql.quoting import quote, string_literal
from dms_iceberg.sql.types import VOID

_PARSED = "_cdc_parsed"
_UNPARSED = "_cdc_unparsed"


@attrs.frozen(eq=False)
class OpenRecords:
    """Open rows of the quarantine that a replay tries again.

    Attributes:
        rows: these rows.
        layouts: the layouts that they were read with (`bronze.layout`).
        batch: the size of these rows.
        untried: the open rows that the replay does not try; None where there are none.
    """

    rows: DataFrame
    layouts: tuple[str, ...]
    batch: RecordBatch
    untried: DataFrame | None = None


def open_records(context: RunContext, table: Table, progress: Progress, reasons: Sequence[str]) -> OpenRecords | None:
    """Return the open rows with one of ``reasons``, or all if there are none; None where nothing is open."""
    rows = open_rows(context.spark, context.config, table, progress)
    if rows is None:
        return None
    chosen = reason_is(reasons)
    counted = rows.where(chosen).groupBy("layout").agg(expr("sum(octet_length(record)) AS bytes")).collect()
    untried = rows.where(f"NOT coalesce({chosen}, false)") if reasons else None
    return OpenRecords(rows.where(chosen), tuple(row.layout for row in counted), RecordBatch(sum(row.bytes for row in counted)), untried)


def record_groups(context: RunContext, table: Table, rows: DataFrame, layouts: Iterable[str], existing: Collection[str]) -> list[ReadGroup]:
    """Return rows of the quarantine, grouped by their ``layouts``; see `classify_columns` for ``existing`` and the errors raised."""
    read = []
    for layout in sorted(layouts):
        group = layout_group(layout)
        found = rows.where(f"layout = {string_literal(layout)}")
        parsed = found.selectExpr("id", "file", "row_number", "position", "reason", f"{parsed_sql(group)} AS {_PARSED}")
        rows_read = parsed.selectExpr(*record_select(group, context.store.root, context.config.bronze))
        unknown = unknown_image_sql(group, context.config.bronze, table)
        read.append((group, rows_read.withColumn(CORRUPT, expr(f"coalesce({CORRUPT}, {unknown})"))))
    return classify_columns(read, context.config, table, existing)


def parsed_sql(group: SchemaGroup) -> str:
    """SQL of a record as a struct of its file's columns. If a member does not fit its type, `_UNPARSED` has the record."""
    columns = [*((name, type_) for name, type_ in group.columns if type_ != VOID), (CORRUPT, "string"), (_UNPARSED, "string")]
    schema = ", ".join(f"{quote(name)} {type_}" for name, type_ in columns)
    options = {**WHOLE, "columnNameOfCorruptRecord": _UNPARSED}
    return f"from_json(record, {string_literal(schema)}, {options_sql(options)})"


def record_select(group: SchemaGroup, root: str, bronze: Bronze) -> list[str]:
    """Select list over rows with `_PARSED`: the columns of `read_group`, and `ROW_ID`."""
    by_time = not is_sequenced(group.names, bronze.change)
    # In text files `ROW`, the place in the order, is not the row's number; the position contains it.
    place = f"coalesce(try_cast(right(position, {COUNTER_DIGITS}) AS bigint), row_number)" if group.is_cdc and by_time else "row_number"
    return [
        *(f"{_value_sql(name, type_, bronze)} AS {quote(name)}" for name, type_ in group.columns),
        f"concat({string_literal(root.rstrip('/') + '/')}, file) AS {FILE}",
        f"substring_index(file, '/', -1) AS {FILE_NAME}",
        f"{place} AS {ROW}",
        f"coalesce({_PARSED}.{CORRUPT}, {_PARSED}.{_UNPARSED}) AS {CORRUPT}",
        # The record of such a row has replacement characters, which are valid text.
        f"reason = 'encoding' AS {NOT_TEXT}",
        f"id AS {ROW_ID}",
    ]


def _value_sql(name: str, type_: str, bronze: Bronze) -> str:
    if type_ == VOID:
        return "NULL"
    value = f"{_PARSED}.{quote(name)}"
    # The text that stands for NULL may have been declared after the row was quarantined.
    return f"nullif({value}, {string_literal(bronze.csv.null)})" if bronze.format is BronzeFormat.CSV and bronze.csv.null else value
