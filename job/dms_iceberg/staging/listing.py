"""Finding a table's change files without listing old bronze again."""

from collections.abc import Iterator

from dms_iceberg.config.model import BronzeFormat
from dms_iceberg.errors import BronzeError
from dms_iceberg.staging.keys import BronzeFile, Truncate, digits_of, parse_key, parse_truncate, resume_after
from dms_iceberg.staging.store import ObjectStore, join


def list_files(store: ObjectStore, prefix: str, since: str, format_: BronzeFormat, committed: str | None = None) -> Iterator[BronzeFile]:
    """Yield a table's LOAD files and its CDC files; see `list_bronze`."""
    return (found for found in list_bronze(store, prefix, since, format_, committed) if isinstance(found, BronzeFile))


def list_bronze(
    store: ObjectStore, prefix: str, since: str, format_: BronzeFormat, committed: str | None = None
) -> Iterator[BronzeFile | Truncate]:
    """Yield a table's LOAD files, CDC files and truncates, in key order and in constant memory.

    Date folders and file names that lie wholly before ``since`` (17 digits, "" for all) are jumped over: the listing restarts
    behind them, so its cost follows the look-back, not the age of bronze. A few files from before ``since`` may still be yielded.
    Date folders are not jumped over from ``committed`` on (17 digits): they are named after commits, which may lie days before the close.

    Raises:
        BronzeError: a change file has another format than the configuration says.
    """
    start = ""
    while True:
        for found in store.list(prefix, start):
            target = resume_after(found.key.removeprefix(prefix), since, committed)
            if target is not None and prefix + target > found.key:
                start = prefix + target
                break
            if (truncate := parse_truncate(prefix, found.key)) is not None:
                yield truncate
                continue
            file = parse_key(prefix, found.key, found.size, found.etag, digits_of(found.modified))
            if file is None:
                continue
            if not file.extension.startswith(format_.value):
                raise BronzeError(
                    f"{join(store.root, file.key)}: a .{file.extension} file, but bronze.format is {format_.value!r}. Set bronze.format "
                    "to what the DMS endpoint writes, or give each format a pipeline and a bucket folder of its own."
                )
            yield file
        else:
            return
