"""The first rows of a file, whatever its format, as texts: a bounded read of each file, with pyarrow or Python's own parsers."""

import datetime as dt
import json
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from typing import Any

import attrs
import pyarrow as pa
import pyarrow.parquet as pq

from dms_iceberg.bronze.gzip_checks import decompress
from dms_iceberg.bronze.keys import BronzeFile
from dms_iceberg.bronze.schema_groups import spark_type
from dms_iceberg.errors import BronzeError
from dms_iceberg.storage.ranges import object_reader
from dms_iceberg.storage.store import ObjectStore, join

ROWS = 2_000
"""Rows of a file that are looked at."""
_HEAD_BYTES = 1 << 18
_MOST_HEAD_BYTES = 1 << 24
_BUFFER_BYTES = 1 << 20
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"

Row = tuple[str | None, ...]


@attrs.frozen(kw_only=True)
class Sample:
    """The first rows of a file.

    Attributes:
        names: its columns; empty for CSV whose header is not known yet, and for a file without rows.
        types: Spark types of Parquet's columns (in ``<>`` what Spark cannot read), Arrow's for unsigned integers; else empty.
        rows: values as texts; None for NULL and for empty fields of CSV.
        text: the beginning of a CSV file.
        whole: the rows are all rows of the file.
    """

    file: BronzeFile
    names: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    rows: tuple[Row, ...] = attrs.field(default=(), repr=False)
    text: str = attrs.field(default="", repr=False)
    whole: bool = True

    def values(self, name: str) -> list[str | None]:
        """Return the values of a column; those of a column that the file does not have are none at all."""
        if name not in self.names:
            return []
        place = self.names.index(name)
        return [row[place] for row in self.rows]

    def cells(self) -> Iterator[dict[str, str | None]]:
        """Yield each row as its values by column."""
        yield from (dict(zip(self.names, row, strict=True)) for row in self.rows)

    def type_of(self, name: str) -> str:
        """Return the type of a column, "" where it is not known."""
        return self.types[self.names.index(name)] if self.types and name in self.names else ""


def read_sample(store: ObjectStore, file: BronzeFile) -> Sample:
    """Return the first rows of a file; of CSV only its text, as its form is not known yet.

    Raises:
        BronzeError: the file is missing, damaged, or not what its name says.
    """
    if file.size == 0:
        return Sample(file=file)
    if file.extension == "parquet":
        return _parquet(store, file)
    text, whole = _head(store, file)
    if file.extension.startswith("csv"):
        return Sample(file=file, text=text, whole=whole)
    return _json(text, file, store.root, whole=whole)


def _head(store: ObjectStore, file: BronzeFile) -> tuple[str, bool]:
    """Return the beginning of a text file with at least two lines, if it has so many, and whether it is the whole file."""
    size = _HEAD_BYTES
    while True:
        data = store.read(file.key, 0, min(size, file.size))
        whole = len(data) >= file.size
        data = decompress(data, file, store.root)
        if data.startswith(_BYTE_ORDER_MARK):
            raise BronzeError(
                f"{join(store.root, file.key)}: begins with a byte order mark. DMS writes none; whatever rewrote this file may have "
                "changed more. Restore the original"
            )
        if whole or data.count(b"\n") > 1 or size >= _MOST_HEAD_BYTES:
            return data.decode(errors="surrogateescape"), whole
        size *= 8


def _parquet(store: ObjectStore, file: BronzeFile) -> Sample:
    small = file.size <= _MOST_HEAD_BYTES
    source: Any = pa.BufferReader(store.read(file.key)) if small else pa.PythonFile(object_reader(store, file.key, file.size), mode="r")
    try:
        # Without a buffer of its own the reader takes whole column chunks, which a large file has in one row group.
        opened = pq.ParquetFile(source, buffer_size=0 if small else _BUFFER_BYTES, pre_buffer=False)
        schema = opened.schema_arrow
        batch = next(opened.iter_batches(batch_size=ROWS), None)
        rows = () if batch is None else tuple(zip(*(map(_shown, column.to_pylist()) for column in batch.columns), strict=True))
        total = opened.metadata.num_rows
    except (pa.ArrowException, OSError, ValueError) as error:
        raise BronzeError(
            f"{join(store.root, file.key)}: it cannot be read as Parquet ({type(error).__name__}). Restore the file"
        ) from error
    types = tuple(str(field.type) if pa.types.is_unsigned_integer(field.type) else spark_type(field.type) for field in schema)
    return Sample(file=file, names=tuple(schema.names), types=types, rows=rows, whole=total <= len(rows))


def _shown(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=None).isoformat(" ", "microseconds")
    if isinstance(value, bytes):
        return value.hex()
    return f"{value:f}" if isinstance(value, Decimal) else str(value)


def _json(text: str, file: BronzeFile, root: str, *, whole: bool) -> Sample:
    lines = text.split("\n")
    # The last line may be cut.
    lines = [line for line in (lines if whole else lines[:-1]) if line.strip()][:ROWS]
    try:
        objects = [json.loads(line, parse_float=str, parse_int=str) for line in lines]
    except ValueError as error:
        raise BronzeError(f"{join(root, file.key)}: a line is not JSON. Each line must be one object. Restore the file") from error
    if not all(isinstance(one, dict) for one in objects):
        raise BronzeError(f"{join(root, file.key)}: a line is not a JSON object. Each line must be one object. Restore the file")
    names = tuple(dict.fromkeys(name for one in objects for name in one))
    rows = tuple(tuple(_member(one.get(name)) for name in names) for one in objects)
    return Sample(file=file, names=names, rows=rows, whole=whole and len(rows) < ROWS)


def _member(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return ("true" if value else "false") if isinstance(value, bool) else json.dumps(value, ensure_ascii=False)


def all_values(samples: Iterable[Sample], name: str) -> list[str | None]:
    """Return the values of a column in several files."""
    return [value for sample in samples for value in sample.values(name)]


def all_names(samples: Sequence[Sample]) -> tuple[str, ...]:
    """Return the columns of several files, in the order in which they come."""
    return tuple(dict.fromkeys(_names(samples)))


def _names(samples: Sequence[Sample]) -> Iterator[str]:
    for sample in samples:
        yield from sample.names
