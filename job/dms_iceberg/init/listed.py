"""A store whose folders are listed once, however often they are asked for, and that says which of them could not be listed whole."""

from collections.abc import Collection, Iterator

from dms_iceberg.storage.folders import Folders
from dms_iceberg.storage.store import ObjectStore, StoredObject, join


class ListedStore:
    """Another store, read only. Threads may share it."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        self._known: dict[str, Folders] = {}
        self.root = store.root

    def list(self, prefix: str, start_after: str = "") -> Iterator[StoredObject]:
        """Yield the objects, as the other store does."""
        return self._store.list(prefix, start_after)

    def folders(self, prefix: str) -> Folders:
        """Return the folders, listed at the first call."""
        if (found := self._known.get(prefix)) is None:
            found = self._known[prefix] = self._store.folders(prefix)
        return found

    def read(self, key: str, start: int = 0, length: int | None = None) -> bytes:
        """Return a part of an object, as the other store does."""
        return self._store.read(key, start, length)

    def put(self, key: str, data: bytes) -> None:
        """Refuse: `init` writes nothing."""
        raise NotImplementedError(key)

    def delete(self, key: str) -> None:
        """Refuse: `init` deletes nothing."""
        raise NotImplementedError(key)

    def warnings(self, but: Collection[str] = ()) -> Iterator[str]:
        """Yield the places that have more objects than were looked through for folders.

        Args:
            but: places whose folders nobody needs whole.
        """
        for prefix, found in sorted(self._known.items()):
            if found.unseen and prefix not in but:
                yield (
                    f"WARNING: {join(self.root, prefix)} has very many objects. It was not looked through for folders with names "
                    f"{' and '.join(found.unseen)}. If folders of schemas or tables are among them, write the entries of their tables by "
                    "hand"
                )
