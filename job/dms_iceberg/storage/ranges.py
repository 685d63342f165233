"""An object of a store as a file that is read by ranges, for libraries that read Python files."""

import io

from dms_iceberg.storage.store import ObjectStore


class ObjectReader(io.RawIOBase):
    """An object, read by ranges."""

    def __init__(self, store: ObjectStore, key: str, size: int) -> None:
        """Take the object ``key`` of a store, of which ``size`` bytes are read at most."""
        super().__init__()
        self._store, self._key, self._size, self._at = store, key, size, 0

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
        left = max(self._size - self._at, 0)
        wanted = left if size is None or size < 0 else min(size, left)
        data = self._store.read(self._key, self._at, wanted) if wanted else b""
        self._at += len(data)
        return data
