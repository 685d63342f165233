"""Files that are read by ranges, for libraries that read Python files."""

import io
from collections.abc import Callable

from dms_iceberg.storage.store import ObjectStore


class RangeReader(io.RawIOBase):
    """A file of which any range can be read."""

    def __init__(self, size: int, fetch: Callable[[int, int], bytes]) -> None:
        """Take a file of ``size`` bytes; ``fetch`` returns as many of them as it is asked for, from a position on."""
        super().__init__()
        self._size, self._fetch, self._at = size, fetch, 0

    def readable(self) -> bool:
        """Whether it can be read: yes."""
        return True

    def seekable(self) -> bool:
        """Whether it can be read in any order: yes."""
        return True

    def tell(self) -> int:
        """Return the position of the next byte."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to a position, counted from the start, from here or from the end."""
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        return self._at

    def read(self, size: int = -1) -> bytes:
        """Return the next ``size`` bytes, all of the rest if it is negative."""
        left = max(0, self._size - self._at)
        wanted = left if size is None or size < 0 else min(size, left)
        data = self._fetch(self._at, wanted) if wanted else b""
        self._at += len(data)
        return data


def object_reader(store: ObjectStore, key: str, size: int) -> RangeReader:
    """Return an object of a store, of which ``size`` bytes are read at most."""
    return RangeReader(size, lambda start, length: store.read(key, start, length))
