"""Finds folders with files of DMS beside those that `init` takes for tables, so that none is passed over without a word."""

from collections.abc import Iterator
from itertools import islice

from dms_iceberg.bronze.nearest_folders import may_be_source, some
from dms_iceberg.errors import BronzeError
from dms_iceberg.init.folders import EPOCH, MOST_TOP_FOLDERS, PAGE, first_files, folder_of_table
from dms_iceberg.init.listed import ListedStore
from dms_iceberg.storage.open_store import open_store
from dms_iceberg.storage.store import ObjectStore, join


def refuse_other_tasks(store: ObjectStore, path: str) -> None:
    """Refuse a folder above those of several tasks: which of them is meant cannot be told.

    Args:
        store: the folder that was named.
        path: the folder of the tables below it, "" if it is that itself.

    Raises:
        BronzeError: another folder beside ``path`` has files of DMS, too.
    """
    top = path.partition("/")[0]
    if not top or EPOCH.fullmatch(top):
        return
    names = islice((name for name in store.folders("").names if may_be_source(name) and name != top), MOST_TOP_FOLDERS)
    # A file that lies about is no task: tables are two folders deep.
    others = [name for name in names if any(len(folder_of_table(file)) > 2 for file in first_files(store, f"{name}/"))]
    if others:
        raise BronzeError(
            f"{store.root}: several folders in it have files of DMS: {some(sorted([top, *others]))}. They are of several tasks, or at "
            f"different depths. Name the one that you mean, such as {store.root}/{top}/, and give each task a document of its own"
        )


def refuse_transactions(store: ObjectStore) -> None:
    """Refuse a folder that has, or has beside those of tables, the one to which ``PreserveTransactions`` writes all changes.

    Raises:
        BronzeError: naming that folder.
    """
    folders = islice(filter(may_be_source, store.folders("").names), MOST_TOP_FOLDERS)
    for place in ("", *(f"{name}/" for name in folders)):
        if found := next((one.key for one in islice(store.list(place), PAGE) if "CDC_TXN-" in one.key), None):
            raise BronzeError(
                f"{join(store.root, found.rpartition('/')[0])}: files CDC_TXN-* have the changes of all tables in one folder "
                "(PreserveTransactions), which cannot be read. Let the endpoint write without it (CdcPath and PreserveTransactions unset), "
                "and load again into another folder"
            )


def passed_over(store: ObjectStore) -> Iterator[str]:
    """Yield that folders like ``_orders`` have files of DMS: the source may have such tables, and others may have put them away there."""
    schemas = filter(may_be_source, store.folders("").names)
    names = [f"{schema}/{name}/" for schema in schemas for name in store.folders(f"{schema}/").names if name.startswith("_")]
    if found := sorted(name for name in names[:MOST_TOP_FOLDERS] if any(first_files(store, name))):
        yield (
            "WARNING: folders that begin with _ have files of DMS and are taken for no tables. If they are, write their entries: "
            f"{some(found)}"
        )
    if len(names) > MOST_TOP_FOLDERS:
        yield f"WARNING: {len(names):,} folders begin with _ and are taken for no tables. Only {MOST_TOP_FOLDERS} were looked into"


def only_in_older(store: ObjectStore) -> Iterator[str]:
    """Yield which tables the load before that in ``store``, a folder ``epoch-N``, has and it lacks.

    That is the load epoch before it, or the first load.
    """
    place, _, newest = store.root.rpartition("/")
    if EPOCH.fullmatch(newest) is None:
        return
    above = ListedStore(open_store(place.removeprefix("file://")))
    number = int(newest.rpartition("-")[2])
    older = sorted((int(match[1]), name) for name in above.folders("").names if (match := EPOCH.fullmatch(name)) and int(match[1]) < number)
    before = f"{older[-1][1]}/" if older else ""
    if missing := sorted(_tables(above, before) - _tables(store, "")):
        yield (
            f"WARNING: {join(above.root, before).rstrip('/')}/ has tables that the newest load epoch lacks: {some(missing)}. They are not "
            "in the document. If the task still captures them, wait until DMS has loaded all tables"
        )
    yield from above.warnings()


def _tables(store: ObjectStore, path: str) -> set[str]:
    schemas = [name for name in store.folders(path).names if may_be_source(name) and not EPOCH.fullmatch(name)]
    return {f"{schema}.{table}" for schema in schemas for table in store.folders(f"{path}{schema}/").names if may_be_source(table)}
