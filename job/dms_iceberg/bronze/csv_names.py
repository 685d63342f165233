"""Names of CSV columns: from the header line, or without one from DMS's order of columns and the configuration."""

from collections import Counter
from collections.abc import Sequence
from itertools import groupby

from dms_iceberg.bronze.csv_shapes import FileColumn, Record, Role, examine, image_readings, possible_columns, readings, shapes
from dms_iceberg.bronze.keys import BronzeFile
from dms_iceberg.bronze.rival_verdict import Weighed, weigh
from dms_iceberg.config.former_names import key_in_file
from dms_iceberg.config.model import BeforeImage, Bronze, Table
from dms_iceberg.errors import BronzeError
from dms_iceberg.storage.store import join

_MOST_READINGS = 3
_MOST_SHAPES = 12


def header_names(fields: Sequence[str], file: BronzeFile, bronze: Bronze, table: Table, root: str) -> Sequence[str]:
    """Return the column names in a header line.

    Raises:
        BronzeError: a name is not UTF-8, or the line is not a header: then it is data, which no message may quote.
    """
    for number, field in enumerate(fields, 1):
        try:
            field.encode()
        except UnicodeEncodeError as error:
            raise BronzeError(
                f"{join(root, file.key)}: the name of column {number} in the header is not UTF-8. DMS writes UTF-8; whatever "
                "rewrote this file has changed its encoding. Restore the original."
            ) from error
    expected = {bronze.change.op_column, *table.key, *key_in_file(fields, table).values()}
    if not {name.lower() for name in expected} & {field.lower() for field in fields}:
        raise BronzeError(
            f"{join(root, file.key)}: its first line names neither the operation column {bronze.change.op_column!r} nor a key column of "
            f"{table.source} ({', '.join(table.key)}), so it is taken for data. If the task writes no header (AddColumnName is false), set "
            "bronze.csv.header to false and declare source_columns; otherwise correct bronze.csv.delimiter, bronze.change.op_column or key."
        )
    return fields


def headerless_columns(file: BronzeFile, records: Sequence[Record], bronze: Bronze, table: Table, root: str) -> Weighed:
    """Return the columns of a file without a header, those that the configuration names, or refuse the file.

    Only its place identifies a column, so nothing may be missing: the file must have as many columns as the configuration names, and each
    service column must have values of its kind. One odd row says nothing about its file; it is checked alone later. Before-images of all
    columns, where only those of the key are expected, are recognised by the number of columns, and so is a file without any where the
    document says that there are such files; the place of the sequence shows that no source column was added or dropped. Whether the file
    may have other service columns, as many of them, is weighed for the caller to judge with the other files.

    Args:
        records: the first records of the file, at least one.

    Raises:
        BronzeError: most records have another number of columns, or the values in a service column cannot be what it is for.
    """
    possible = possible_columns(bronze, table, is_cdc=file.is_cdc)
    by_width = {len(columns): columns for columns in possible}
    widths = Counter(map(len, records))
    width = max(widths, key=lambda width: (widths[width], width in by_width, width))
    alike = [record for record in records if len(record) == width]
    columns = by_width.get(width, possible[0])
    wrong = []
    if width == len(columns):
        found = examine(columns, alike, bronze, is_cdc=file.is_cdc)
        wrong = [column.name for column, one in zip(columns, found, strict=True) if one.contradicts]
        if not wrong:
            _refuse_header(file, columns, records[0], root)
            return weigh(columns, alike, bronze, table, is_cdc=file.is_cdc)
    problem = _what_is_wrong(width, columns, wrong, bronze, table)
    raise BronzeError(
        f"{join(root, file.key)}: {problem} Without a header the place is all that tells a column, so "
        f"nothing is guessed. In the first {len(alike)} rows of that width columns hold: {_shapes_text(alike, bronze)}. "
        f"{_advice(columns, alike, file, bronze, table)}"
    )


def _refuse_header(file: BronzeFile, columns: Sequence[FileColumn], first: Record, root: str) -> None:
    """Refuse a file whose first row is its header where that would become a row: without an operation column every row is an insert."""
    if any(column.role is Role.OPERATION for column in columns):
        return
    places = [number for number, column in enumerate(columns) if column.role is Role.SOURCE]
    cells = {first[place].casefold() for place in places if place < len(first)}
    names = {columns[place].name.casefold() for place in places}
    if cells == names:
        raise BronzeError(
            f"{join(root, file.key)}: its first row has the names of the source columns, so the file has a header. Set bronze.csv.header "
            "to true if all files of the task have one (AddColumnName is true); else write the others again that way."
        )


def _what_is_wrong(width: int, columns: Sequence[FileColumn], wrong: Sequence[str], bronze: Bronze, table: Table) -> str:
    before = [column.name for column in columns if column.role in (Role.OPERATION, Role.TIME)]
    after = [column.name for column in columns[len(before) + len(table.source_columns) :]]
    named = ", ".join([*before, f"the {len(table.source_columns)} source_columns", *after])
    if wrong:
        return f"{', '.join(wrong)} of {table.source} cannot be what stands there. The document names, in this order: {named}."
    return f"{width} columns, but the document names {len(columns)} for {table.source}: {named}{_optional(columns, bronze)}."


def _optional(columns: Sequence[FileColumn], bronze: Bronze) -> str:
    if bronze.change.before_image is not BeforeImage.OPTIONAL:
        return ""
    without = sum(column.role is not Role.IMAGE for column in columns)
    return f"; or {without} without before-images, as bronze.change.before_image is 'optional'"


def _shapes_text(records: Sequence[Record], bronze: Bronze) -> str:
    parts, number = list[str](), 0
    for shape, run in groupby(shapes(records, bronze)):
        count = len(list(run))
        parts.append(f"{number + 1}: {shape}" if count == 1 else f"{number + 1} to {number + count}: {shape}")
        number += count
    if len(parts) > _MOST_SHAPES:
        parts[_MOST_SHAPES // 3 : -_MOST_SHAPES * 2 // 3] = ["..."]
    return "; ".join(parts)


def _advice(columns: Sequence[FileColumn], records: Sequence[Record], file: BronzeFile, bronze: Bronze, table: Table) -> str:
    texts = [" and ".join(map(_without, absent)) for absent in readings(columns, records, bronze, is_cdc=file.is_cdc)]
    if bronze.change.load_without_op and not file.is_cdc:
        with_op = (FileColumn(bronze.change.op_column, Role.OPERATION), *columns)
        if len(with_op) == len(records[0]) and not any(one.contradicts for one in examine(with_op, records, bronze, is_cdc=False)):
            texts.append("bronze.change.load_without_op to false")
    would_fit = ", or with ".join(texts[:_MOST_READINGS])
    unwritten = f"The rows would fit with {would_fit}: set that only if it is what the task writes. " if texts else ""
    later = " and ".join(image_readings(records, bronze, table, is_cdc=file.is_cdc))
    switched = f"If the task has before-images in some files and none in others, set {later}. " if later else ""
    return (
        f'{unwritten}{switched}If a source column was added or dropped, bring tables."{table.source}".source_columns up to date; files '
        "from before need the old ones (merge them first, with batch.max_files 1, or load the table into a new epoch). Or let DMS write "
        "headers (AddColumnName) or Parquet."
    )


def _without(setting: str) -> str:
    return f"bronze.change.{setting} {'to true' if setting == 'load_without_op' else 'to null'}"
