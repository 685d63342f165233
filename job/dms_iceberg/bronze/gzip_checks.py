"""Checks of gzip files with CSV or JSON lines: Spark's errors about them do not name the file."""

import zlib
from collections.abc import Sequence

from dms_iceberg.bronze.keys import BronzeFile
from dms_iceberg.errors import BronzeError
from dms_iceberg.storage.store import ObjectStore, join

_MAGIC = b"\x1f\x8b"
_GZIP = 31
_SMALL_BYTES = 1 << 16
_CHUNK_BYTES = 8 << 20


def decompress(data: bytes, file: BronzeFile, root: str) -> bytes:
    """Decompress the first bytes of a file; return them unchanged when the file is not named .gz.

    Raises:
        BronzeError: they are not gzip data.
    """
    if not _is_gzip(file):
        return data
    text = b""
    try:
        # A file that was concatenated from several holds several gzip streams.
        while data:
            stream = zlib.decompressobj(wbits=_GZIP)
            text += stream.decompress(data)
            data = stream.unused_data
    except zlib.error as error:
        raise _damaged(file, root) from error
    return text


def is_blank(store: ObjectStore, file: BronzeFile) -> bool:
    """Whether a small text file has only empty lines. A big file counts as filled; if it is named .gz, its first bytes are checked.

    Raises:
        BronzeError: it is named .gz and is not gzip data, or has no line because it is truncated.
    """
    if file.size > _SMALL_BYTES:
        if _is_gzip(file) and store.read(file.key, 0, len(_MAGIC)) != _MAGIC:
            raise _damaged(file, store.root)
        return False
    if decompress(store.read(file.key), file, store.root).strip():
        return False
    refuse_cut_off(store, file)
    return True


def refuse_cut_off(store: ObjectStore, file: BronzeFile) -> None:
    """Refuse a gzip file that has no row because it is truncated: Spark would read nothing from it, and raise no error.

    Raises:
        BronzeError: it is truncated or damaged.
    """
    if _is_gzip(file) and not _is_whole(store, file):
        raise _damaged(file, store.root)


def find_corrupt_gzip(store: ObjectStore, files: Sequence[BronzeFile], failure: BaseException) -> None:
    """Find the file that caused Spark's "unexpected end of input" by reading every gzip file of the batch, in chunks.

    Raises:
        BronzeError: a file is truncated or damaged.
    """
    if not any(word in str(failure) for word in ("EOFException", "ZipException", "ZlibDecompressor")):
        return
    for file in files:
        if _is_gzip(file) and not _is_whole(store, file):
            raise _damaged(file, store.root) from failure


def _is_whole(store: ObjectStore, file: BronzeFile) -> bool:
    stream = zlib.decompressobj(wbits=_GZIP)
    for start in range(0, file.size, _CHUNK_BYTES):
        data = store.read(file.key, start, min(_CHUNK_BYTES, file.size - start))
        while data:
            if stream.eof:
                stream = zlib.decompressobj(wbits=_GZIP)
            try:
                stream.decompress(data)
            except zlib.error:
                return False
            data = stream.unused_data
    return stream.eof


def _is_gzip(file: BronzeFile) -> bool:
    return file.extension.endswith(".gz")


def _damaged(file: BronzeFile, root: str) -> BronzeError:
    return BronzeError(
        f"{join(root, file.key)}: named .gz but it is not gzip data, or is cut off or damaged. Restore the file from the source "
        "task (or from a bucket version); if something unpacked it on the way, it must also take the .gz from the name."
    )
