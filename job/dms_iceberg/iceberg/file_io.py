"""A table's files, read and written through the table's own FileIO: its storage, credentials and settings, on any catalog."""

import io
from typing import Any


class FileReader(io.RawIOBase):
    """A file of a table, read by ranges; for libraries that read Python files."""

    # Python closes an object that could not be opened as well, and from 3.13 on tells of every error there.
    _stream: Any = None

    def __init__(self, file_io: Any, location: str) -> None:
        """Open the file at ``location`` with an Iceberg ``FileIO``."""
        file = file_io.newInputFile(location)
        self._size = int(file.getLength())
        self._stream = file.newStream()
        self._at = 0

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
        if not wanted:
            return b""
        self._stream.seek(self._at)
        data = bytes(self._stream.readNBytes(wanted))
        self._at += len(data)
        return data

    def close(self) -> None:
        """Close the file's stream."""
        if not self.closed and self._stream is not None:
            self._stream.close()
        super().close()


def write_file(file_io: Any, location: str, data: bytes) -> None:
    """Write a new file; a file that is there already is an error."""
    stream = file_io.newOutputFile(location).create()
    try:
        stream.write(data)
    finally:
        stream.close()
