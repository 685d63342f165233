"""A table's files, read and written through the table's own FileIO: its storage, credentials and settings, on any catalog."""

from base64 import b64decode
from functools import lru_cache
from typing import Any

import attrs
from pyspark import SparkContext

from dms_iceberg.storage.ranges import RangeReader

_BRIEF = 8192
"""More bytes come as text: of an array, Py4J decodes each byte by itself in Python, in a second for ten million (``decode_bytearray``)."""
_PIECE = 8 << 20
"""So many bytes, at most, are text at once: Java has three copies of it."""


@attrs.frozen(eq=False)
class _Classes:
    """Java's and Parquet's classes, looked up once."""

    read: Any
    encoder: Any
    charset: Any
    text: Any


@lru_cache(maxsize=1)
def _classes(jvm: Any) -> _Classes:
    # A word of Python's.
    read = getattr(jvm.org.apache.iceberg.shaded.org.apache.parquet.bytes.BytesInput, "from")
    return _Classes(
        read, jvm.java.util.Base64.getEncoder(), jvm.java.nio.charset.StandardCharsets.ISO_8859_1, jvm.java.util.Objects.toString
    )


def _next_bytes(stream: Any, size: int) -> bytes:
    classes = _classes(SparkContext._jvm)
    encoded = classes.encoder.encode(classes.read(stream, size).toByteBuffer())
    # A method called on the text itself would keep it in Java until Python's collector finds the cycle that Py4J makes of both.
    return b64decode(classes.text(classes.charset.decode(encoded)))


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
        if length <= _BRIEF:
            return bytes(self._stream.readNBytes(length))
        sizes = (min(_PIECE, length - done) for done in range(0, length, _PIECE))
        return b"".join(_next_bytes(self._stream, size) for size in sizes)

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
