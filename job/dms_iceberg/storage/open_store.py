"""Which store a URI names."""

from pathlib import Path
from urllib.parse import unquote, urlparse

from dms_iceberg.storage.store import LocalStore, ObjectStore


def open_store(uri: str) -> ObjectStore:
    """Open the store at ``s3://bucket/prefix``, ``file:///path`` or a plain path."""
    parsed = urlparse(uri)
    if parsed.scheme in ("s3", "s3a", "s3n"):
        # boto3 costs a third of a second to import, which a local folder does not need.
        from dms_iceberg.storage.s3 import S3Store

        return S3Store(parsed.netloc, parsed.path.strip("/"))
    path = unquote(parsed.path) if parsed.scheme == "file" else uri
    return LocalStore(Path(path).absolute())
