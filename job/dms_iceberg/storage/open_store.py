"""Which store a URI names."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlparse

from dms_iceberg.errors import BronzeError
from dms_iceberg.storage.store import LocalStore, ObjectStore

_S3 = ("s3", "s3a", "s3n")


@contextmanager
def explained_errors(uri: str) -> Iterator[None]:
    """Raise `BronzeError`, with what to do, if the store at ``uri`` refuses something."""
    if urlparse(uri).scheme in _S3:
        from dms_iceberg.storage.s3 import explained

        with explained(uri):
            yield
        return
    try:
        yield
    except OSError as error:
        raise BronzeError(f"{uri}: it cannot be read: {error.strerror}. Compare the path and its rights") from error


def open_store(uri: str) -> ObjectStore:
    """Open the store at ``s3://bucket/prefix``, ``file:///path`` or a plain path."""
    parsed = urlparse(uri)
    if parsed.scheme in _S3:
        # boto3 costs a third of a second to import, which a local folder does not need.
        from dms_iceberg.storage.s3 import S3Store

        return S3Store(parsed.netloc, parsed.path.strip("/"))
    path = unquote(parsed.path) if parsed.scheme == "file" else uri
    return LocalStore(Path(path).absolute())
