"""Object stores: S3 and a local directory behind one interface.

Keys are relative to the store's root and use ``/``. Listing is in key order (UTF-8 bytes, as S3 sorts) and in constant memory.
"""

import hashlib
import os
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Protocol

import attrs

from dms_iceberg.errors import BronzeError
from dms_iceberg.storage.folders import Folders


@attrs.frozen
class StoredObject:
    """One listed object. ``etag`` changes when the content does; ``size`` is in bytes; ``modified`` is when it was written."""

    key: str
    size: int
    etag: str
    modified: datetime


class ObjectStore(Protocol):
    """What the package needs of a store. ``root`` is the URI that Spark reads below."""

    root: str

    def list(self, prefix: str, start_after: str = "") -> Iterator[StoredObject]:
        """Yield the objects under ``prefix`` whose keys sort after ``start_after``, in key order."""
        ...

    def folders(self, prefix: str) -> Folders:
        """Return the folders directly in ``prefix`` ("" or with a slash at its end), and what was not looked through for them."""
        ...

    def read(self, key: str, start: int = 0, length: int | None = None) -> bytes:
        """Return ``length`` bytes from ``start`` (all when None); raises `BronzeError` for a missing object."""
        ...

    def put(self, key: str, data: bytes) -> None:
        """Write an object whole: a reader sees the old content or the new, never a part."""
        ...

    def delete(self, key: str) -> None:
        """Remove an object; a missing one is no error."""
        ...


def join(root: str, key: str) -> str:
    """Return the URI of ``key`` below ``root``."""
    return f"{root.rstrip('/')}/{key}"


class LocalStore:
    """A directory. The ETag consists of size, modification time and inode, which a rewrite changes."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        # Not percent-encoded: Hadoop takes the text after the scheme as it is.
        self.root = f"file://{directory}"

    def list(self, prefix: str, start_after: str = "") -> Iterator[StoredObject]:
        """Yield files in key order; folders that sort wholly before ``start_after`` are not entered."""
        folder, _, name_prefix = prefix.rpartition("/")
        base = f"{folder}/" if folder else ""
        yield from self._walk(base, base + name_prefix, start_after)

    def _walk(self, base: str, prefix: str, start_after: str) -> Iterator[StoredObject]:
        try:
            with os.scandir(self.directory / base) as scan:
                # A folder sorts as its name with the slash that follows it in every key below.
                named = ((base + e.name + ("/" if e.is_dir() else ""), e) for e in scan)
                # Most names of a large folder come before ``start_after``, and sorting takes most of the time.
                wanted = (one for one in named if one[0] > start_after or (one[0].endswith("/") and start_after.startswith(one[0])))
                entries = sorted(wanted)
        except (FileNotFoundError, NotADirectoryError):
            return
        for key, entry in entries:
            if not key.startswith(prefix):
                continue
            if key.endswith("/"):
                yield from self._walk(key, key, start_after)
            elif not entry.name.startswith("."):
                try:
                    stat = entry.stat()
                except FileNotFoundError:
                    continue
                yield StoredObject(key, stat.st_size, f"{stat.st_size:x}-{stat.st_mtime_ns:x}-{stat.st_ino:x}", _time(stat))

    def folders(self, prefix: str) -> Folders:
        """Return the names of a directory's directories."""
        try:
            with os.scandir(self.directory / prefix) as scan:
                return Folders(tuple(sorted(entry.name for entry in scan if entry.is_dir() and not entry.name.startswith("."))))
        except (FileNotFoundError, NotADirectoryError):
            return Folders(())

    def read(self, key: str, start: int = 0, length: int | None = None) -> bytes:
        """Read a part of a file."""
        try:
            with (self.directory / key).open("rb") as file:
                file.seek(start)
                return file.read(-1 if length is None else length)
        except FileNotFoundError as error:
            raise vanished(self.root, key) from error

    def put(self, key: str, data: bytes) -> None:
        """Write to a hidden file beside the target, then rename."""
        path = self.directory / key
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(prefix=".", dir=path.parent)
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            Path(name).chmod(0o644)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise

    def delete(self, key: str) -> None:
        """Remove a file."""
        (self.directory / key).unlink(missing_ok=True)


def _time(stat: os.stat_result) -> datetime:
    return datetime.fromtimestamp(stat.st_mtime, UTC)


def vanished(root: str, key: str) -> BronzeError:
    """The error for an object that was listed and is gone."""
    return BronzeError(
        f"{join(root, key)}: the object does not exist (it was listed or is needed, and is gone). Bronze is the log: "
        "nothing may delete it while it is being merged. Restore the object, or check lifecycle rules and the DMS setting "
        "TargetTablePrepMode."
    )


def digest(text: str, size: int) -> bytes:
    """Return ``size`` bytes that stand for ``text``; stable across runs and machines."""
    return hashlib.blake2b(text.encode(), digest_size=size).digest()
