"""The name under which a file has a source column: a file from before a rename (``columns[].renamed_from``) has the former one."""

from collections.abc import Iterable, Iterator

from dms_iceberg.config.model import Table


def former_names(table: Table) -> Iterator[tuple[str, str]]:
    """Yield the former and the present name of each source column that was renamed; not of one that is renamed in silver only."""
    for column in table.columns:
        old, new = column.renamed_from, column.source_name
        if old is not None and new is not None and old.lower() != new.lower():
            yield old, new


def former_in_file(names: Iterable[str], table: Table) -> dict[str, str]:
    """Return the former name of each column, by its present one in lower case, that a file with columns ``names`` has under that only."""
    there = {name.lower() for name in names}
    return {new.lower(): old for old, new in former_names(table) if old.lower() in there and new.lower() not in there}


def key_in_file(names: Iterable[str], table: Table) -> dict[str, str]:
    """Return the name that each column of the key has in a file with columns ``names``."""
    former = former_in_file(names, table)
    return {key: former.get(key.lower(), key) for key in table.key}
