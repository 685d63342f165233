"""Values that cannot be in a partition of their table: Iceberg's writer would refuse the whole batch, so their rows are quarantined."""

from collections.abc import Iterator

from dms_iceberg.changes.mapping import SilverColumn, masked_sql
from dms_iceberg.config.model import Mask, Table
from dms_iceberg.config.partition import PartitionField, parse_partition
from dms_iceberg.modes.lookup import table_mode
from dms_iceberg.sql.cdc_columns import OP
from dms_iceberg.sql.quoting import string_literal
from dms_iceberg.sql.types import decimal_of

LONGEST = 700
"""The most bytes of all partition values of a row in the path of its file, as Iceberg encodes them (``URLEncoder``; binaries in Base64).

A key of S3 has 1,024 bytes at most, and the table's location and the file's name need some.
"""


def partition_problems(table: Table, column: SilverColumn, value: str, type_: str) -> Iterator[str]:
    """Yield a WHEN clause for each way in which a value of a column cannot be in a partition.

    Args:
        table: the table's configuration.
        column: one of its silver columns.
        value: SQL of its value, before its mask.
        type_: its type.
    """
    if column.declared.mask is Mask.PARTIAL:
        # The others make short texts.
        value = masked_sql(column.name, Mask.PARTIAL, None, f"CAST({value} AS string)")
    elif column.declared.mask is not None:
        return
    # A delete writes its key only where deletes are rows.
    guard = "" if column.is_key and table_mode(table.mode).is_log else f"{OP} <> 'D' AND "
    for text in table.partition_by:
        field = parse_partition(text)
        if field.column.casefold() != column.name.casefold():
            continue
        most = LONGEST // len(table.partition_by)
        found = {
            f"below the lowest partition of {text}": _too_low_sql(field, value, type_),
            f"too long for a partition ({most} bytes in a path at most)": _too_long_sql(field, value, type_, most),
        }
        for what, condition in found.items():
            if condition is not None:
                yield f"WHEN {guard}{condition} THEN {string_literal(f'partition: {column.name} has a value {what}')}"


def _too_low_sql(field: PartitionField, value: str, type_: str) -> str | None:
    """SQL that is true for a decimal whose truncated value has more digits than its type."""
    digits = decimal_of(type_)
    if digits is None or field.transform != "truncate" or field.argument is None:
        return None
    precision, scale = digits
    lowest = (10**precision - 1) // field.argument * field.argument
    return f"{value} < CAST('-{lowest}E-{scale}' AS {type_})"


def _too_long_sql(field: PartitionField, value: str, type_: str, most: int) -> str | None:
    """SQL that is true for a text or binary that is too long in a path."""
    if type_ not in ("string", "binary") or field.transform not in ("identity", "truncate"):
        return None
    part = f"substr({value}, 1, {field.argument})" if field.argument is not None else value
    return f"length(url_encode({part if type_ == 'string' else f'base64({part})'})) > {most}"
