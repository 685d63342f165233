"""Names of CSV columns: those in the header line, or without one those that DMS's order and the configuration give."""

from collections.abc import Mapping, Sequence

from dms_iceberg.config.model import Bronze, Table
from dms_iceberg.errors import BronzeError
from dms_iceberg.staging.keys import BronzeFile
from dms_iceberg.staging.store import join


def header_names(fields: Sequence[str], file: BronzeFile, bronze: Bronze, table: Table, root: str) -> Sequence[str]:
    """Return the column names in a header line.

    Raises:
        BronzeError: a name is not UTF-8, or the line is none: then it is data, which no message may quote.
    """
    for number, field in enumerate(fields, 1):
        try:
            field.encode()
        except UnicodeEncodeError as error:
            raise BronzeError(
                f"{join(root, file.key)}: the name of column {number} in the header is not UTF-8. DMS writes UTF-8; whatever "
                "rewrote this file has changed its encoding. Restore the original."
            ) from error
    expected = {bronze.change.op_column, *table.key}
    if not {name.lower() for name in expected} & {field.lower() for field in fields}:
        raise BronzeError(
            f"{join(root, file.key)}: its first line names neither the operation column {bronze.change.op_column!r} nor a key column of "
            f"{table.source} ({', '.join(table.key)}), so it is taken for data. If the task writes no header (AddColumnName is false), set "
            "bronze.csv.header to false and declare source_columns; otherwise correct bronze.csv.delimiter, bronze.change.op_column or key."
        )
    return fields


def headerless_names(file: BronzeFile, widths: Mapping[int, int], bronze: Bronze, table: Table, root: str) -> list[str]:
    """Return the names of a file's columns, in the order in which DMS writes them.

    Args:
        widths: how many of the first records have how many fields. The commonest count; the other rows are damaged.

    Raises:
        BronzeError: the table's source columns and DMS's service columns do not give that width.
    """
    change = bronze.change
    leading = [change.timestamp_column] if change.timestamp_column else []
    if file.is_cdc or not change.load_without_op:
        leading.insert(0, change.op_column)
    trailing = [name for name in (change.sequence_column, change.stream_position_column) if name]
    if change.before_image_prefix:
        trailing += [change.before_image_prefix + key for key in table.key]
    names = [*leading, *table.source_columns, *trailing]
    least = len(names) - len(trailing)
    width = max(widths, key=lambda width: (widths[width], least <= width <= len(names), width))
    if not least <= width <= len(names):
        raise BronzeError(
            f"{join(root, file.key)}: {width} columns, but {table.source} may have {least} to {len(names)}: {', '.join(leading)}, the "
            f"{len(table.source_columns)} source_columns, then {', '.join(trailing)} as far as the task writes them. "
            f'A source column was added or dropped: bring tables."{table.source}".source_columns up to date, or let DMS write headers '
            f"(AddColumnName) or Parquet."
        )
    return names[:width]
