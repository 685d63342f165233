"""The parts of a change file: DMS's column types, a table's layout, one change, a file's shape.

Everything here is a frozen value without I/O, so that tests can build millions of changes without a database.
Facts about DMS are marked *real files* if objects of a real task showed them, and *guide* if only AWS's user guide
states them; where the two disagree, the code follows the files.
"""

from collections.abc import Iterable, Mapping
from enum import Enum, StrEnum
from types import MappingProxyType
from typing import Final, TypeAlias

import attrs

from dms_iceberg.dms.types import LOB_KINDS, DmsType, DmsValue


class NotSupplied(Enum):
    """The value of a column that the source's log did not contain (for example an unchanged TOAST value)."""

    NOT_SUPPLIED = "not supplied"


NOT_SUPPLIED: Final = NotSupplied.NOT_SUPPLIED

# Bytes of a text that are not UTF-8 are lone surrogates in it (``errors="surrogateescape"``), and bytes again in files.
Value: TypeAlias = DmsValue | NotSupplied


def _as_type(value: "DmsType | str") -> DmsType:
    return value if isinstance(value, DmsType) else DmsType.parse(value)


@attrs.frozen
class Column:
    """A source column as it is in the files. The type may be text: ``Column("id", "int4", key=True)``."""

    name: str
    type: DmsType = attrs.field(converter=_as_type)
    key: bool = False


def _as_columns(columns: Iterable[Column]) -> tuple[Column, ...]:
    return tuple(columns)


@attrs.frozen
class TableLayout:
    """A source table at one moment; a DDL statement gives it another layout."""

    schema: str
    name: str
    columns: tuple[Column, ...] = attrs.field(converter=_as_columns)

    @property
    def key_indexes(self) -> tuple[int, ...]:
        """Indexes in ``columns`` of the primary key's columns, in source order."""
        return tuple(index for index, column in enumerate(self.columns) if column.key)

    @property
    def key_columns(self) -> tuple[Column, ...]:
        """The primary key's columns, in source order."""
        return tuple(column for column in self.columns if column.key)

    def imaged_indexes(self, images: "BeforeImages") -> tuple[int, ...]:
        """Indexes in ``columns`` of those that get a before-image; LOBs never get one (guide)."""
        if images is BeforeImages.PK_ONLY:
            return self.key_indexes
        return tuple(index for index, column in enumerate(self.columns) if column.key or column.type.kind not in LOB_KINDS)


@attrs.frozen
class Change:
    """One row of a file.

    Attributes:
        op: ``I``, ``U`` or ``D``.
        commit_us: the timestamp column, microseconds since 1970 UTC: the commit time of the transaction; for a LOAD
            row the start of the task.
        values: one for each column of the layout. A key-only delete has None for the others.
        sequence: 35 digits of ``ChangeSequence``; empty on LOAD rows.
        stream_position: the source's own identifier of the change; empty on LOAD rows.
        before: old values of *all* key columns, in the order of ``TableLayout.key_columns``; None unless this
            is a ``U`` that changed the key.
        row_before: old values of all columns, for a ``U`` if the source's log has them; only written with `BeforeImages.ALL`.
    """

    op: str
    commit_us: int
    values: tuple[Value, ...]
    sequence: str = ""
    stream_position: str = ""
    before: tuple[Value, ...] | None = None
    row_before: tuple[Value, ...] | None = None


class BeforeImages(StrEnum):
    """``column-filter`` of the rule ``add-before-image-columns``: which columns have a before-image."""

    PK_ONLY = "pk-only"
    ALL = "all"


class FileFormat(StrEnum):
    """``DataFormat`` of the S3 endpoint. DMS does not write JSON lines; other writers do."""

    PARQUET = "parquet"
    CSV = "csv"
    JSON = "json"


@attrs.frozen(kw_only=True)
class CsvShape:
    """The format of CSV files.

    Attributes:
        header: ``AddColumnName``.
        delimiter: ``CsvDelimiter``.
        null: ``CsvNullValue``. Real files had an empty field, unlike the documented default ``NULL``.
        no_supplement: ``CsvNoSupValue``; None writes ``null`` for a column that the log did not contain.
        rfc4180: quote fields that contain a delimiter, a quote or a line end; False quotes nothing.
    """

    header: bool = False
    delimiter: str = ","
    null: str = ""
    no_supplement: str | None = None
    rfc4180: bool = True


_DMS_WORDS: Final = MappingProxyType({"I": "I", "U": "U", "D": "D"})


@attrs.frozen(kw_only=True)
class FileShape:
    """Everything that an endpoint and its mapping rules determine about the bytes of a file.

    Attributes:
        op_words: words for ``I``, ``U`` and ``D``; DMS writes exactly these.
        op_on_full_load: ``IncludeOpForFullLoad``. False leaves ``Op`` out of LOAD files.
        timestamp_column: ``TimestampColumnName``; None for no such column.
        sequence_column: the ``add-column`` rule for ``$AR_H_CHANGE_SEQ``, or None.
        stream_position_column: the ``add-column`` rule for ``$AR_H_STREAM_POSITION``, or None.
        before_image_prefix: the ``add-before-image-columns`` rule, or None.
        before_images: its ``column-filter``.
        gzip: ``CompressionType=GZIP``: around CSV and JSON (the name gets ``.gz``), inside Parquet.
        timestamp_millis: ``ParquetTimestampInMillisecond``; the timestamp *string* column keeps microseconds.
        json_nulls: a NULL is a member of its JSON line; otherwise the line omits it.
        json_numbers: decimals in JSON lines are numbers, with every digit; otherwise text as in CSV.
    """

    format: FileFormat = attrs.field(default=FileFormat.PARQUET, converter=FileFormat)
    op_column: str = "Op"
    op_words: Mapping[str, str] = _DMS_WORDS
    op_on_full_load: bool = True
    timestamp_column: str | None = "dms_commit_ts"
    sequence_column: str | None = "dms_change_seq"
    stream_position_column: str | None = "dms_stream_position"
    before_image_prefix: str | None = "BI_"
    before_images: BeforeImages = BeforeImages.PK_ONLY
    csv: CsvShape = CsvShape()
    gzip: bool = False
    timestamp_millis: bool = False
    json_nulls: bool = True
    json_numbers: bool = False

    @property
    def extension(self) -> str:
        """The ending of a file's name, without the dot. Compressed Parquet keeps ``parquet``."""
        if self.format is FileFormat.PARQUET or not self.gzip:
            return self.format.value
        return f"{self.format.value}.gz"

    def has_op(self, *, load: bool) -> bool:
        """Whether a file has the ``Op`` column."""
        return self.op_on_full_load or not load
