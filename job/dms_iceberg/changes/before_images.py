"""Which columns of a file are before-images: what a row held before its change (mapping rule ``add-before-image-columns``)."""

from collections.abc import Collection

from dms_iceberg.config.model import Table


def before_images(names: Collection[str], prefix: str | None, known: Collection[str] = ()) -> frozenset[str]:
    """Return those of a file's columns that are the prefix and another column's name, whatever the case.

    Those of key columns tell that a row has moved. The others (column-filter ``all`` and ``non-lob``) hold a row's data again, where no
    mask and no ``drop`` of the column would reach it. A source column that only looks like one stays what it is.

    Args:
        known: source columns known from elsewhere, because JSON lines may leave out what is NULL.
    """
    if not prefix:
        return frozenset()
    columns = {name.lower() for name in (*names, *known)}
    return frozenset(name for name in names if name.lower().startswith(prefix.lower()) and name.lower()[len(prefix) :] in columns)


def configured_columns(table: Table) -> set[str]:
    """Return the source columns that the configuration names as such."""
    copied = {column.source_name for column in table.columns if column.source_name is not None}
    return {*table.key, *table.drop, *table.source_columns, *copied}
