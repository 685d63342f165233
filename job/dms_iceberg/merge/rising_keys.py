"""Shows, from the key column of a load's Parquet files alone, that every key comes once.

It is seen where DMS has read the source in the order of its key. Spark would shuffle all keys for it, which takes a third of a large load.
Where files do not show it, nothing is known.
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event

import attrs
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dms_iceberg.bronze.keys import BronzeFile
from dms_iceberg.config.model import BronzeFormat
from dms_iceberg.errors import BronzeError
from dms_iceberg.merge.batch_context import BatchContext
from dms_iceberg.storage.ranges import object_reader
from dms_iceberg.storage.store import ObjectStore

MOST_ROWS = 64_000_000
"""The driver reads the keys of at most so many rows: half a gigabyte, without compression."""
_PIECE = 1 << 20
_THREADS = 4
_INTEGERS = ("tinyint", "smallint", "int", "bigint")


@attrs.frozen
class RisingKeys:
    """Keys of which each comes once.

    Attributes:
        rows: how many there are.
        low: the lowest, None without a row.
        high: the highest, None without a row.
    """

    rows: int = 0
    low: int | None = None
    high: int | None = None


def rising_keys(batch: BatchContext) -> RisingKeys | None:
    """Return the keys of a load whose files hold them in rising order, each file in a range of its own; None where that is not seen.

    Only a key of one integer that is copied to an integer is looked at: no cast makes one of two.
    """
    files = _files(batch)
    if files is None:
        return None
    store, falls = batch.context.store, Event()
    with ThreadPoolExecutor(_THREADS) as pool:
        found = list(pool.map(lambda one: _of_file(store, one[0], one[1], falls), files))
    known = sorted((one for one in found if one is not None), key=lambda one: one.low or 0)
    return _together(known) if len(known) == len(found) else None


def _together(parts: Iterable[RisingKeys | None]) -> RisingKeys | None:
    """Return the keys of all parts; None if one is None, or does not come after the one before it."""
    total = RisingKeys()
    for part in parts:
        if part is None or (total.high is not None and part.low is not None and total.high >= part.low):
            return None
        total = RisingKeys(
            total.rows + part.rows, part.low if total.low is None else total.low, total.high if part.high is None else part.high
        )
    return total


def _files(batch: BatchContext) -> list[tuple[BronzeFile, str]] | None:
    """Return the files and the name of their key column; None where its values are not silver's key as they are."""
    keys = [column for column in batch.shape.columns if column.is_key]
    if batch.context.config.bronze.format is not BronzeFormat.PARQUET or len(keys) != 1:
        return None
    key, rows = keys[0], sum(one.group.rows or 0 for one in batch.groups)
    if key.source is None or key.declared.mask or key.family or batch.shape.types[key.name] not in _INTEGERS or rows > MOST_ROWS:
        return None
    found = []
    for one in batch.groups:
        name = next((name for name, type_ in one.group.columns if name.lower() == key.source.lower() and type_ in _INTEGERS), None)
        # PyArrow takes a name with a point for a path.
        if name is None or "." in name or (name, dict(one.group.columns)[name]) not in one.columns.source:
            return None
        found += [(file, name) for file in one.group.files]
    return found


def _of_file(store: ObjectStore, file: BronzeFile, name: str, falls: Event) -> RisingKeys | None:
    """Return the keys of a file; None if they do not rise, one is NULL, another file ``falls``, or it cannot be read as Parquet."""

    def pieces(opened: pq.ParquetFile) -> Iterator[RisingKeys | None]:
        for piece in opened.iter_batches(_PIECE, columns=[name]):
            yield None if falls.is_set() else _of_piece(piece.column(0))

    try:
        with pq.ParquetFile(object_reader(store, file.key, file.size), pre_buffer=True) as opened:
            found = _together(pieces(opened))
    except (pa.ArrowException, OSError, BronzeError):
        found = None
    if found is None:
        falls.set()
    return found


def _of_piece(keys: pa.Array) -> RisingKeys | None:
    if not len(keys):
        return RisingKeys()
    if keys.null_count or not pc.all(pc.less(keys[:-1], keys[1:]), min_count=0).as_py():
        return None
    return RisingKeys(len(keys), keys[0].as_py(), keys[-1].as_py())
