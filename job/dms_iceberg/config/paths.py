"""Paths and URIs of the document, made absolute.

Local ones become plain paths, because Hadoop does not decode ``%20`` in a ``file:`` URI.
"""

import posixpath
import re
from pathlib import Path
from urllib.parse import unquote, urlparse

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
S3_SCHEMES = ("s3", "s3a", "s3n")


def scheme(uri: str) -> str:
    """Return the scheme in lower case; empty for a plain path."""
    return uri.split(":", 1)[0].lower() if _SCHEME.match(uri) else ""


def check_uri(uri: str) -> None:
    """Raise `ValueError`, with what is wrong, for a text that is neither a path nor a URI."""
    try:
        urlparse(uri)
    except ValueError as error:
        raise ValueError(f"'{escaped(uri)}' is neither a path nor a URI: {error}") from error
    if uri != (shown := escaped(uri)):
        raise ValueError(f"'{shown}' has bytes that are not UTF-8; choose another name")


def escaped(text: str) -> str:
    """Return a text in which halves of characters, which cannot be printed, are written as their numbers."""
    return text.encode("utf-8", "backslashreplace").decode()


def local_path(uri: str) -> str:
    """Return the path of a ``file:`` URI or plain path."""
    return unquote(urlparse(uri).path) if scheme(uri) == "file" else uri


def absolute(uri: str, base: str) -> str:
    """Return ``uri`` without a trailing slash; a relative one is resolved against ``base``.

    Args:
        uri: an S3 URI, a ``file:`` URI, a plain path, or a URI of any other scheme, which stays as it is.
        base: folder of the document: an S3 URI, a ``file:`` URI or a plain path.

    Raises:
        ValueError: a relative path leads above the bucket, an S3 URI lacks a bucket, or the text is no URI.
    """
    check_uri(uri)
    if scheme(uri) in S3_SCHEMES:
        if not urlparse(uri).netloc:
            raise ValueError(f"'{uri}' has no bucket; write s3://bucket/prefix")
        return uri.rstrip("/")
    if scheme(uri) == "file":
        return _normal(local_path(uri))
    if scheme(uri):
        return uri.rstrip("/")
    if scheme(base) in S3_SCHEMES and not uri.startswith("/"):
        return _below_s3(uri, base)
    folder = Path() if scheme(base) in S3_SCHEMES else Path(local_path(base)).absolute()
    return _normal(str(folder / uri))


def _normal(path: str) -> str:
    return posixpath.normpath(path)


def _below_s3(uri: str, base: str) -> str:
    parsed = urlparse(base)
    key = posixpath.normpath(posixpath.join(parsed.path.strip("/"), uri))
    if key == ".." or key.startswith("../"):
        raise ValueError(f"'{uri}' climbs above the bucket of the document at {base}")
    return f"{parsed.scheme}://{parsed.netloc}/{'' if key == '.' else key}".rstrip("/")


def folder_of(uri: str) -> str:
    """Return the folder that holds the object or file ``uri``, in the form `absolute` takes as base."""
    if scheme(uri) in S3_SCHEMES:
        return uri.rpartition("/")[0]
    return str(Path(local_path(uri)).absolute().parent)
