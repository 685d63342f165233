"""The columns of a file, in DMS's order, before any format is chosen."""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import attrs

from dms_emulator.layout import BeforeImages, Change, Column, FileShape, TableLayout, Value
from dms_emulator.sequence import timestamp_text
from dms_iceberg.dms.types import DmsType, Kind

TEXT: Final = DmsType(Kind.STRING)


@attrs.frozen
class FileColumn:
    """One column of one file. ``required`` columns are the service columns that DMS never sets to NULL."""

    name: str
    type: DmsType
    cells: Sequence[Any]
    required: bool = False


def file_columns(layout: TableLayout, changes: Sequence[Change], shape: FileShape, *, load: bool = False) -> list[FileColumn]:
    """Return Op, timestamp, source columns, added columns and before-images, in the order of real files.

    Args:
        layout: the table.
        changes: the file's rows; may be empty.
        shape: has the names of the service columns.
        load: whether it is a full load file, which may lack ``Op``.
    """
    columns = list(_leading(changes, shape, load=load))
    columns += _values(layout.columns, [change.values for change in changes])
    if shape.sequence_column is not None:
        columns.append(FileColumn(shape.sequence_column, TEXT, [change.sequence for change in changes]))
    if shape.stream_position_column is not None:
        positions = [change.stream_position for change in changes]
        columns.append(FileColumn(shape.stream_position_column, TEXT, positions))
    if shape.before_image_prefix is not None:
        columns += _images(layout, changes, shape, shape.before_image_prefix)
    return columns


def _images(layout: TableLayout, changes: Sequence[Change], shape: FileShape, prefix: str) -> Iterator[FileColumn]:
    if shape.before_images is BeforeImages.PK_ONLY:
        nothing = (None,) * len(layout.key_columns)
        return _values(layout.key_columns, [change.before or nothing for change in changes], prefix)
    places, keys = layout.imaged_indexes(shape.before_images), layout.key_indexes

    def image(change: Change) -> list[Value]:
        if change.row_before is not None:
            return [change.row_before[place] for place in places]
        known = dict(zip(keys, change.before or (), strict=False))
        return [known.get(place) for place in places]

    return _values([layout.columns[place] for place in places], [image(change) for change in changes], prefix)


def column_names(layout: TableLayout, shape: FileShape, *, load: bool = False) -> list[str]:
    """Return the names of a file's columns in order."""
    return [column.name for column in file_columns(layout, (), shape, load=load)]


def _leading(changes: Sequence[Change], shape: FileShape, *, load: bool) -> Iterator[FileColumn]:
    if shape.has_op(load=load):
        words = [shape.op_words[change.op] for change in changes]
        yield FileColumn(shape.op_column, TEXT, words, required=True)
    if shape.timestamp_column is not None:
        # Rows of a transaction share their time, so its text is built once.
        texts = {micros: timestamp_text(micros) for micros in {change.commit_us for change in changes}}
        stamps = [texts[change.commit_us] for change in changes]
        yield FileColumn(shape.timestamp_column, TEXT, stamps, required=True)


def _values(columns: Sequence[Column], rows: Sequence[Sequence[Any]], prefix: str = "") -> Iterator[FileColumn]:
    cells = zip(*rows, strict=True) if rows else iter(((),) * len(columns))
    for column, column_cells in zip(columns, cells, strict=True):
        yield FileColumn(prefix + column.name, column.type, column_cells)
