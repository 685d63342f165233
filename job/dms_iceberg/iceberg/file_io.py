"""A table's files, read and written through the table's own FileIO: its storage, credentials and settings, on any catalog."""

from typing import Any

from dms_iceberg.storage.ranges import RangeReader


class FileReader(RangeReader):
    """A file of a table."""

    # Python closes an object that could not be opened as well, and from 3.13 on tells of every error there.
    _stream: Any = None

    def __init__(self, file_io: Any, location: str) -> None:
        """Open the file at ``location`` with an Iceberg ``FileIO``."""
        file = file_io.newInputFile(location)
        super().__init__(int(file.getLength()), self._bytes)
        self._stream = file.newStream()

    def _bytes(self, start: int, length: int) -> bytes:
        self._stream.seek(start)
        return bytes(self._stream.readNBytes(length))

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
