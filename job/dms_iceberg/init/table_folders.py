"""Finds the folders of tables, looks at those that were chosen, and refuses folders of tables at different depths."""

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice

from dms_iceberg.bronze.nearest_folders import may_be_source
from dms_iceberg.errors import BronzeError
from dms_iceberg.init.folders import MOST_TOP_FOLDERS, TableFiles, first_files, folder_of_table, look
from dms_iceberg.init.progress import Progress, Silent
from dms_iceberg.storage.store import ObjectStore, join

_THREADS = 16

Place = tuple[str, str]
"""Schema and table, as their folders are called."""


def places_of_tables(store: ObjectStore) -> list[Place]:
    """Return the folders ``<schema>/<table>/`` of a store, whatever is in them, in the order of their names."""
    schemas = [name for name in store.folders("").names if may_be_source(name)]
    with ThreadPoolExecutor(_THREADS) as pool:
        tables = pool.map(lambda schema: store.folders(f"{schema}/").names, schemas)
        return [(schema, table) for schema, names in zip(schemas, tables, strict=True) for table in names if may_be_source(table)]


def find_tables(
    store: ObjectStore, places: Sequence[Place], others: Sequence[Place] = (), progress: Progress | None = None
) -> list[TableFiles]:
    """Return those of the tables' folders that have files of DMS.

    Args:
        others: folders beside them that are no concern, but where one of these may be no table.

    Raises:
        BronzeError: one of them has folders of several tables.
    """
    shown = progress or Silent()
    shown.say(f"looking at the folder{'s' * (len(places) != 1)} of {len(places):,} table{'s' * (len(places) != 1)}")
    found = list[TableFiles]()
    with ThreadPoolExecutor(_THREADS) as pool:
        for number, (place, one) in enumerate(zip(places, pool.map(lambda names: look(store, *names), places), strict=True), 1):
            shown.now(f"{number:,} of {len(places):,}: {'.'.join(place)}")
            if one.load or one.changes:
                found.append(one)
    _refuse_other_depths(store, found, others)
    return found


def _refuse_other_depths(store: ObjectStore, tables: Sequence[TableFiles], others: Sequence[Place]) -> None:
    """Refuse a folder of tables that is taken for one: the rows of different tables would be mixed.

    Below a table's folder DMS writes date folders, and segments of its load.
    """
    for table in tables:
        folder = (table.schema, table.name)
        # Copies of files in a folder below are read like files: they are there twice.
        if table.changes and not _has_files_of_its_own(table):
            below = table.changes[0]
            parts = folder_of_table(below)
            raise BronzeError(
                f"{join(store.root, below.key)}: {'/'.join(folder)}/ was looked at as the folder of a table, and has change files in the "
                f"folder {'/'.join(parts)}/ below it: those of several tables. Folders of tables must be two below the one that is named, "
                "<schema>/<table>/, and here they are at different depths. Name one of these folders above schemas: "
                f"{join(store.root, '/'.join(parts[:-2]))}/ for this file"
            )
    for table in tables:
        segments = {file.key.rpartition("/")[0] for file in table.load} - {f"{table.schema}/{table.name}"}
        if len(segments) < 2 or _has_files_of_its_own(table):
            continue
        # Another table of the schema that has files of its own shows the depth.
        of_its_own = {one.schema for one in tables if _has_files_of_its_own(one)} | set(_schemas_of_tables(store, table.schema, others))
        if of_its_own and table.schema not in of_its_own:
            schema = join(store.root, table.schema)
            raise BronzeError(
                f"{schema}/{table.name}/ has LOAD files in folders only ({', '.join(sorted(segments)[:3])}), "
                "and others at its depth have files of their own. It may be one table whose load has segments, or the schema of "
                f"several tables. If they are tables, name {schema}/; if it is one, run init again when it has a change file"
            )


def _has_files_of_its_own(table: TableFiles) -> bool:
    """Whether files are directly in a table's folder, or in its date folders."""
    folder = (table.schema, table.name)
    return any(folder_of_table(file) == folder for file in (*table.load, *table.changes))


def _schemas_of_tables(store: ObjectStore, schema: str, places: Sequence[Place]) -> Iterator[str]:
    """Yield the schemas of some folders that have files of their own; those in ``schema`` are looked at first."""
    for place in islice(sorted(places, key=lambda one: one[0] != schema), MOST_TOP_FOLDERS):
        if any(folder_of_table(file) == place for file in first_files(store, "/".join(place) + "/")):
            yield place[0]
