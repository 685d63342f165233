"""Keys that a file may have had before somebody moved it into a folder of its table, such as ``<table>/processed/``. Pure."""

from collections.abc import Iterator, Sequence

import attrs

from dms_iceberg.bronze.keys import BronzeFile, parse_key


def former_files(file: BronzeFile) -> Iterator[BronzeFile]:
    """Yield a file as it would be without some of its folders, the nearest place first.

    DMS's own date folders are among them: a file may lie in two of these. Whether it was in such a place, what is merged has to show.
    """
    prefix = file.key.removesuffix(file.relative)
    *folders, name = file.relative.split("/")
    for count in range(1, len(folders) + 1):
        for start in reversed(range(len(folders) - count + 1)):
            key = prefix + "/".join([*folders[:start], *folders[start + count :], name])
            former = parse_key(prefix, key, file.size, file.etag, file.modified)
            if former is not None:
                yield former


def without_copies(files: Sequence[BronzeFile]) -> list[BronzeFile]:
    """Return the files without those that somebody has copied into a folder beside them, of the same name and ETag."""
    there = {(file.key, file.etag) for file in files}
    return [file for file in files if not any((one.key, one.etag) in there for one in former_files(file))]


@attrs.frozen
class Moved:
    """A file that lies in another folder than the one from which it was merged.

    Attributes:
        file: where it is.
        former: where it was.
        is_same: it has the same ETag, so it is not read again.
    """

    file: BronzeFile
    former: BronzeFile
    is_same: bool
