"""Lists a table's change files without listing old bronze again."""

import re
from collections.abc import Callable, Iterator

from dms_iceberg.bronze.keys import (
    BronzeFile,
    Truncate,
    Unread,
    digits_of,
    is_foreign,
    layout_starts,
    parse_key,
    parse_truncate,
    resume_after,
)
from dms_iceberg.config.model import BronzeFormat
from dms_iceberg.errors import BronzeError
from dms_iceberg.storage.store import ObjectStore, join

Found = BronzeFile | Truncate | Unread


def list_files(
    store: ObjectStore, prefix: str, since: str, format_: BronzeFormat, committed: str | None = None, start: str = ""
) -> Iterator[BronzeFile]:
    """Yield a table's LOAD files and its CDC files; see `list_bronze`."""
    return (found for found in list_bronze(store, prefix, since, format_, committed, start) if isinstance(found, BronzeFile))


def oldest_change(store: ObjectStore, prefix: str, format_: BronzeFormat, first: str, wanted: Callable[[BronzeFile], bool]) -> str:
    """Return the close time of the oldest ``wanted`` CDC file, "" without one. The search ends at one closed up to ``first`` (17 digits).

    Where a layout sorts by time, its first file is its oldest, and its listing stops there. The endpoint's layout may have been changed
    in the life of a table: then each place where files of another layout may begin gets a listing.
    """
    starts, oldest, year, layouts = [""], "", "", set[str]()
    for start in starts:
        for file in list_files(store, prefix, "", format_, start=start):
            if not file.is_cdc or not wanted(file):
                continue
            oldest = min(file.order, oldest or file.order)
            if oldest <= first:
                return oldest
            if others := layout_starts(file.relative, year or file.relative[:4]):
                year = year or file.relative[:4]
                layout = re.sub("[0-9]", "0", file.relative.rpartition("/")[0])
                starts += [one for one in others if layout not in layouts and one > file.relative and one not in starts]
                layouts.add(layout)
                break
    return oldest


def list_bronze(
    store: ObjectStore, prefix: str, since: str, format_: BronzeFormat, committed: str | None = None, start: str = ""
) -> Iterator[Found]:
    """Yield a table's LOAD files, CDC files, truncates, and objects with unknown names, in key order and in constant memory.

    The listing skips date folders and file names that are wholly before ``since`` (17 digits, "" for all): it restarts after
    them, so its cost depends on the look-back, not on the age of bronze. It may still yield a few files from before ``since``.
    It skips no date folder from ``committed`` on (17 digits; "" or with ``since`` "" for none): folders are named after commits, which
    may be days before the close of a file. It begins after the key ``start`` below the prefix.

    Raises:
        BronzeError: a change file has another format than the configuration says.
    """
    after = prefix + start if start else ""
    while True:
        for found in store.list(prefix, after):
            target = resume_after(found.key.removeprefix(prefix), since, committed)
            if target is not None and prefix + target > found.key:
                after = prefix + target
                break
            if (truncate := parse_truncate(prefix, found.key)) is not None:
                yield truncate
                continue
            file = parse_key(prefix, found.key, found.size, found.etag, digits_of(found.modified))
            if file is None:
                if not is_foreign(found.key.removeprefix(prefix)):
                    yield Unread(found.key)
                continue
            if not file.extension.startswith(format_.value):
                raise BronzeError(
                    f"{join(store.root, file.key)}: a .{file.extension} file, but bronze.format is {format_.value!r}. Set bronze.format "
                    "to what the DMS endpoint writes, or give each format a pipeline and a bucket folder of its own."
                )
            yield file
        else:
            return
