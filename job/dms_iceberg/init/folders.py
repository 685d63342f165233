"""Finds the folder above those of schemas, and a few files of each table. The number of requests does not grow with that of objects.

Per table that is a page of the listing, and for a table of more objects some twenty more: a search by halves for the newest change file, as
the names sort by time, and one page for each place between the first file and the last.
"""

import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice

import attrs

from dms_iceberg.bronze.keys import REPAIR_FOLDER, BronzeFile, parse_key, time_of
from dms_iceberg.bronze.nearest_folders import may_be_source, two_slashes
from dms_iceberg.errors import BronzeError
from dms_iceberg.storage.store import ObjectStore

PAGE = 1000
"""Objects that S3 lists in one request."""
_MOST_CHANGES = 6
_MOST_LOADS = 3
_MOST_SEGMENTS = 3
_SEARCHES = 40
MOST_TOP_FOLDERS = 30
"""So many folders of one place are looked into: one request each."""
# As `DatePartitionSequence` and `DatePartitionDelimiter` put the parts of a date together.
_YEAR = r"(?:19|20)\d\d"
_DATES = re.compile(rf"(?:^|/)(?:{_YEAR}([-_/]?)\d\d(?:\1\d\d(?:\1\d\d)?)?|\d\d([-_/]?){_YEAR}\2\d\d|\d\d([-_/]?)\d\d\3{_YEAR})$", re.ASCII)
_IN_DATES = re.compile(r"[0-9]{2}|[0-9]{4}([-_]?[0-9]{2}){0,3}|[0-9]{2}[-_]?[0-9]{2,4}[-_]?[0-9]{2,4}")
"""Folders directly in that of a table that are, or begin, date folders."""
EPOCH = re.compile(r"epoch-(\d{1,9})", re.ASCII)
"""The name of a load epoch's folder."""


@attrs.frozen(kw_only=True)
class TableFiles:
    """A table's folder and the files of it that are looked at.

    Attributes:
        load: of its LOAD files the first, the last that is known, and one of each segment, in order.
        changes: of its CDC files the oldest, the newest, and some between them, in the order of their close times.
        listed: objects that were listed.
        complete: these are all of its objects.
        notes: what a person should know of its folder.
    """

    schema: str
    name: str
    load: tuple[BronzeFile, ...]
    changes: tuple[BronzeFile, ...]
    listed: int
    complete: bool
    notes: tuple[str, ...] = ()

    @property
    def full_name(self) -> str:
        """``schema.table``, as configurations name it."""
        return f"{self.schema}.{self.name}"


@attrs.frozen(kw_only=True)
class Root:
    """Where the folders of schemas are.

    Attributes:
        path: their folder below the given store, with a slash at its end; "" for the store itself.
        above: they are that many folders above the given one instead.
        notes: what a person should know of it.
    """

    path: str = ""
    above: int = 0
    notes: tuple[str, ...] = ()


def find_root(store: ObjectStore) -> Root | None:
    """Return the folder above the schema folders, found from change files; None if there are none.

    It is the given folder, one below it (such as that of the newest load epoch), or up to two above it.

    Raises:
        BronzeError: the files are below a folder without a name.
    """
    found = list(first_files(store, ""))
    if not found:
        tops = islice((name for name in store.folders("").names if may_be_source(name)), MOST_TOP_FOLDERS)
        found = next((files for top in tops if (files := list(first_files(store, f"{top}/")))), [])
    if not found:
        return None
    places = [folder_of_table(file) for file in found]
    # A file that lies about above the folders says nothing.
    parts = min([one for one in places if len(one) > 1] or places, key=len)
    if "" in parts:
        raise BronzeError(two_slashes(store, found[places.index(parts)].key))
    if epoch := next((one for one in places if len(one) > len(parts) and EPOCH.fullmatch(one[-3]) and one[:-3] == parts[:-2]), None):
        # A bucket folder may have the first load itself, and later ones in folders epoch-N.
        root = _newest_epoch(store, epoch[:-2])
        return attrs.evolve(root, notes=(*root.notes, f"an older load beside it, which it replaces: {'/'.join(parts[:-1])}/"))
    if len(parts) < 2:
        return Root(above=2 - len(parts), notes=(f"the folders of schemas are {2 - len(parts)} above the one that was given",))
    return _newest_epoch(store, parts[:-2])


def _newest_epoch(store: ObjectStore, parts: Sequence[str]) -> Root:
    path = "".join(f"{part}/" for part in parts)
    notes = [f"the folders of schemas are in {path}, below the one that was given"] if path else []
    if not parts or not EPOCH.fullmatch(parts[-1]):
        return Root(path=path, notes=tuple(notes))
    above = "".join(f"{part}/" for part in parts[:-1])
    epochs = sorted((int(match[1]), name) for name in store.folders(above).names if (match := EPOCH.fullmatch(name)))
    filled = next(name for _, name in reversed(epochs) if name == parts[-1] or any(first_files(store, f"{above}{name}/")))
    names = [name for _, name in epochs]
    others = names[: names.index(filled)]
    notes = [f"the newest load epoch that has files: {above}{filled}/"]
    notes += [f"older load epochs, which it replaces: {', '.join(others)}"] if others else []
    return Root(path=f"{above}{filled}/", notes=tuple(notes))


def first_files(store: ObjectStore, prefix: str) -> Iterator[BronzeFile]:
    """Yield the files of DMS among the first objects below a folder; costs one request."""
    for one in islice(store.list(prefix), PAGE):
        file = parse_key("", one.key, one.size, one.etag)
        if file is not None and REPAIR_FOLDER not in f"/{one.key}":
            yield file


def folder_of_table(file: BronzeFile) -> tuple[str, ...]:
    """Return the parts of a file's folder without date folders: those of its table, for all but segments of a parallel load."""
    folder = file.key.rpartition("/")[0]
    if file.is_cdc:
        folder = _DATES.sub("", folder)
    return tuple(folder.split("/")) if folder else ()


def look(store: ObjectStore, schema: str, table: str) -> TableFiles:
    """Return a few files of a table: all places in its history, but not all files."""
    prefix = f"{schema}/{table}/"
    page = _Page.of(store, prefix, "")
    load, changes, listed, notes = list(page.load), list(page.changes), page.objects, list[str]()
    if not page.ends:
        more = _Page.of(store, prefix + "LOAD", "", prefix)
        load += more.load
        listed += more.objects
        segments = [name for name in store.folders(prefix).names if may_be_source(name) and not _IN_DATES.fullmatch(name)]
        for segment in segments[:_MOST_SEGMENTS]:
            load += _Page.of(store, f"{prefix}{segment}/", "", prefix).load[:1]
        if changes:
            later = list(_later(store, prefix, changes[0]))
            if later:
                changes = [changes[0], *later]
            else:
                notes.append("its date folders do not sort by time, so the newest change files may not have been looked at")
            listed += len(later)
    return TableFiles(
        schema=schema,
        name=table,
        load=_spread(sorted(set(load)), _MOST_LOADS + _MOST_SEGMENTS),
        changes=_spread(sorted(set(changes)), _MOST_CHANGES),
        listed=listed,
        complete=page.ends,
        notes=tuple(notes),
    )


def _spread(files: Sequence[BronzeFile], most: int) -> tuple[BronzeFile, ...]:
    """Return the first, the last, and files at even distances between them."""
    if len(files) <= most:
        return tuple(files)
    return tuple(files[place * (len(files) - 1) // (most - 1)] for place in range(most))


@attrs.frozen
class _Page:
    """The first objects of a listing. ``ends``: there are no more."""

    load: tuple[BronzeFile, ...]
    changes: tuple[BronzeFile, ...]
    objects: int
    ends: bool

    @classmethod
    def of(cls, store: ObjectStore, prefix: str, start: str, table: str | None = None) -> "_Page":
        table = prefix if table is None else table
        found = list(islice(store.list(prefix, table + start if start else ""), PAGE))
        parsed = [(one.key.removeprefix(table), parse_key(table, one.key, one.size, one.etag)) for one in found]
        files = [file for relative, file in parsed if file is not None and not relative.startswith(REPAIR_FOLDER)]
        load = tuple(file for file in files if not file.is_cdc)
        return cls(load, tuple(file for file in files if file.is_cdc), len(found), len(found) < PAGE)


def _later(store: ObjectStore, prefix: str, first: BronzeFile) -> Iterator[BronzeFile]:
    """Yield CDC files at even distances in time, and the newest, where their names sort by time."""
    if (start := _starts(first.relative)) is None:
        return
    try:
        low = time_of(first.order)
    except ValueError:
        return
    begin, high = low, datetime.now(UTC) + timedelta(days=2)
    newest: BronzeFile | None = None
    for _ in range(_SEARCHES):
        middle = low + (high - low) / 2
        page = _Page.of(store, prefix, start(middle))
        later = [file for file in page.changes if file.relative > start(middle)]
        if not later:
            high = middle
            continue
        newest = later[-1]
        if page.ends or page.load:
            break
        low = max(middle, time_of(newest.order))
    if newest is None:
        return
    span = time_of(newest.order) - begin
    for part in range(1, _MOST_CHANGES - 1):
        yield from _Page.of(store, prefix, start(begin + span * part / (_MOST_CHANGES - 1))).changes[:1]
    yield newest


class _Start:
    """The key below a table's folder, in one layout of date folders, of a file that was closed at a time."""

    def __init__(self, folder: str) -> None:
        self._folder = folder

    def __call__(self, time: datetime) -> str:
        return time.strftime(self._folder + "%Y%m%d-%H%M%S") + f"{time.microsecond // 1000:03d}"


def _starts(relative: str) -> _Start | None:
    folder = relative.rpartition("/")[0]
    if not folder:
        return _Start("")
    found = re.fullmatch(rf"{_YEAR}([-_/]?)\d\d(\1\d\d)?(\1\d\d)?", folder, re.ASCII)
    if found is None:
        return None
    parts = ["%Y", "%m", *(["%d"] if found[2] else []), *(["%H"] if found[3] else [])]
    return _Start(found[1].join(parts) + "/")
