"""Shows, from the key column of a load's Parquet files alone, that every key comes once: DMS reads a source by its primary key.

Spark would shuffle all keys for it, which takes a third of a large load. Where files do not show it, nothing is known.
"""

import io
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

import attrs
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from dms_iceberg.bronze.keys import BronzeFile
from dms_iceberg.config.model import BronzeFormat
from dms_iceberg.errors import BronzeError
from dms_iceberg.merge.batch_context import BatchContext
from dms_iceberg.storage.store import ObjectStore

MOST_ROWS = 64_000_000
"""The driver reads the keys of at most so many rows, a piece of a file at a time."""
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

    def __add__(self, later: "RisingKeys | None") -> "RisingKeys | None":
        """Return these keys and ``later`` ones; None if the later ones do not all come after these."""
        if later is None or not later.rows or not self.rows:
            return later if later is None or later.rows else self
        if self.high is None or later.low is None or self.high >= later.low:
            return None
        return RisingKeys(self.rows + later.rows, self.low, later.high)


def rising_keys(batch: BatchContext) -> RisingKeys | None:
    """Return the keys of a load whose files hold them in rising order, each file in a range of its own; None where that is not seen.

    Only a key of one integer that is copied to an integer is looked at: no cast makes one of two.
    """
    files = _files(batch)
    if files is None:
        return None
    store = batch.context.store
    with ThreadPoolExecutor(_THREADS) as pool:
        found = list(pool.map(lambda one: _of_file(store, *one), files))
    known = sorted((one for one in found if one is not None), key=lambda one: one.low or 0)
    return _together(known) if len(known) == len(found) else None


def _together(parts: Iterable[RisingKeys | None]) -> RisingKeys | None:
    total: RisingKeys | None = RisingKeys()
    for part in parts:
        total = total + part if total is not None else None
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


def _of_file(store: ObjectStore, file: BronzeFile, name: str) -> RisingKeys | None:
    """Return the keys of a file; None if they do not rise, one is NULL, or the file cannot be read, which Spark then says."""
    try:
        with pq.ParquetFile(_Object(store, file), pre_buffer=True) as opened:
            return _together(_of_piece(piece.column(0)) for piece in opened.iter_batches(_PIECE, columns=[name]))
    except (pa.ArrowException, OSError, BronzeError):
        return None


def _of_piece(keys: pa.Array) -> RisingKeys | None:
    if not len(keys):
        return RisingKeys()
    if keys.null_count or not pc.all(pc.less(keys[:-1], keys[1:]), min_count=0).as_py():
        return None
    return RisingKeys(len(keys), keys[0].as_py(), keys[-1].as_py())


class _Object(io.RawIOBase):
    """An object of bronze as a file that is read by ranges."""

    def __init__(self, store: ObjectStore, file: BronzeFile) -> None:
        self._store, self._file, self._at = store, file, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._file.size}[whence]
        return self._at

    def read(self, size: int = -1) -> bytes:
        left = max(0, self._file.size - self._at)
        wanted = left if size is None or size < 0 else min(size, left)
        data = self._store.read(self._file.key, self._at, wanted) if wanted else b""
        self._at += len(data)
        return data
